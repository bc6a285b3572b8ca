#include "net/daemon/system_stats.h"

#include <stdlib.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/json/json.h"
#include "net/daemon/router.h"

void system_stats_read(struct system_stats *stats)
{
	struct sysinfo info;

	*stats = (struct system_stats){.cpus = (double)sysconf(_SC_NPROCESSORS_ONLN)};
	stats->has_load = getloadavg(stats->load, 3) == 3;
	stats->has_memory = !sysinfo(&info);
	if (!stats->has_memory)
		return;
	stats->memory_total = (double)info.totalram * info.mem_unit;
	stats->memory_free = (double)info.freeram * info.mem_unit;
}

void system_stats_reply(struct http_request *request)
{
	struct buf body = BUF_INIT;
	struct system_stats stats;
	struct json_writer w;

	system_stats_read(&stats);
	jw_init(&w, &body);
	jw_begin_object(&w);
	if (stats.has_load) {
		jw_kv_double(&w, "avg_load_1min", stats.load[0]);
		jw_kv_double(&w, "avg_load_5min", stats.load[1]);
		jw_kv_double(&w, "avg_load_15min", stats.load[2]);
	}
	jw_kv_double(&w, "cpus_total", stats.cpus);
	if (stats.has_memory) {
		jw_kv_double(&w, "mem_total_bytes", stats.memory_total);
		jw_kv_double(&w, "mem_free_bytes", stats.memory_free);
	}
	jw_end_object(&w);
	router_reply_json(request, &body);
	buf_free(&body);
}
