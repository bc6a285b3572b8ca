/* Scheduler drivers of v0 as the unit tests play them: what they send to the master of a
 * `struct driver`, which is that of these tests (master_driver.h). */
#ifndef TESTS_UNIT_MASTER_V0_H
#define TESTS_UNIT_MASTER_V0_H

#include "tests/unit/master_driver.h"

#define P1 "scheduler-1@127.0.0.1:6001"
#define P2 "scheduler-2@127.0.0.1:6002"
#define FID "\"framework_id\":{\"value\":\"M-0000\"}"

/* mesos.scheduler.Call, as JSON. */
#define v0_call(d, pid, ...)                                                                       \
	driver_message((d), (pid), &mesos__scheduler__call__descriptor, __VA_ARGS__)
/* A message of mesos.internal, as JSON. */
#define v0_send(d, pid, name, ...)                                                                 \
	driver_message((d), (pid), &mesos__internal__##name##_message__descriptor, __VA_ARGS__)

/* SUBSCRIBE with these members of FrameworkInfo (user and name are added). */
static inline void v0_subscribe(struct driver *d, const char *pid, const char *id, bool force,
				const char *members)
{
	char *quoted = id ? xprintf("\"value\":\"%s\"", id) : xstrdup("");

	d->force = force;
	v0_call(d, pid,
		"{\"type\":\"SUBSCRIBE\"%s%s%s,\"subscribe\":{\"framework_info\":"
		"{\"user\":\"u\",\"name\":\"n\"%s%s%s%s%s}}}",
		id ? ",\"framework_id\":{" : "", quoted, id ? "}" : "", id ? ",\"id\":{" : "",
		quoted, id ? "}" : "", members ? "," : "", members ? members : "");
	d->force = false;
	free(quoted);
}

/* A task of 1 cpu and 32 MB. */
#define V0_TASK(task, agent)                                                                       \
	"{\"name\":\"t\",\"task_id\":{\"value\":\"" task "\"},\"agent_id\":{\"value\":\"" agent    \
	"\"},\"resources\":" RESOURCES(1, 32) ",\"command\":{\"value\":\"true\"}}"

/* LaunchTasksMessage of one task on M-S0. */
#define v0_launch(d, pid, offer, task)                                                             \
	v0_send((d), (pid), launch_tasks,                                                          \
		"{" FID ",\"offer_ids\":[{\"value\":\"" offer                                      \
		"\"}],\"tasks\":[" V0_TASK(task, "M-S0") "],\"filters\":{\"refuse_seconds\":0}}")

#endif
