/* The master's objects as messages of the operator API. All are in the arena and borrow from the
 * master what they can. */
#ifndef MASTER_API_OBJECTS_H
#define MASTER_API_OBJECTS_H

#include "master/core.h"

/* A list of resources as endpoints show them. */
void api_put_resources(struct arena *arena, const struct resources *r, size_t *count,
		       Mesos__Resource ***out);
/* NULL for 0, which is unset. */
Mesos__TimeInfo *api_time(struct arena *arena, int64_t time);

Mesos__Master__Response__GetAgents *api_collect_agents(const struct master *m, struct arena *arena);
Mesos__Master__Response__GetFrameworks *api_collect_frameworks(const struct master *m,
							       struct arena *arena);
Mesos__Master__Response__GetExecutors *api_collect_executors(const struct master *m,
							     struct arena *arena);
Mesos__Master__Response__GetTasks *api_collect_tasks(const struct master *m, struct arena *arena);

#endif
