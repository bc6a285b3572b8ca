/* What the machine is and how busy it is. */
#ifndef NET_SYSTEM_STATS_H
#define NET_SYSTEM_STATS_H

#include "net/http.h"

struct system_stats {
	bool has_load, has_memory;
	double load[3];				/* of 1, 5 and 15 minutes */
	double cpus, memory_total, memory_free; /* bytes */
};
void system_stats_read(struct system_stats *stats);
/* GET /system/stats.json */
void system_stats_reply(struct http_request *request);

#endif
