/* ResourceStatistics of containers, and how REST spells them. */
#ifndef AGENT_HTTP_CONTAINER_STATISTICS_H
#define AGENT_HTTP_CONTAINER_STATISTICS_H

#include "agent/containers/disk_watch.h"
#include "agent/core/show.h"
#include "agent/http/usage.h"
#include "base/json/json.h"

/* What it uses, and (`c` not NULL) what it may; borrows nothing. `disks` may be NULL. */
Mesos__ResourceStatistics statistics_of(const struct usage *usage, const struct shown_container *c,
					const struct disk_watch *disks);
/* The fields that are set, by name, into an open object. Messages inside are left out. */
void statistics_write(struct json_writer *w, const Mesos__ResourceStatistics *statistics);

#endif
