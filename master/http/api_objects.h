/* The master's objects as messages of the operator API. All are in the arena and borrow from the
 * master what they can. */
#ifndef MASTER_HTTP_API_OBJECTS_H
#define MASTER_HTTP_API_OBJECTS_H

#include "master/core/objects.h"

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

/* Tasks are many, and packed: they are gone through instead. Each list has the number that it has
 * in Mesos.master.Response.GetTasks. */
enum api_tasks { API_TASKS = 2, API_COMPLETED_TASKS = 3, API_UNREACHABLE_TASKS = 5 };
void api_each_task(const struct master *m, enum api_tasks which,
		   void (*each)(void *context, const struct task_record *record), void *context);
/* A packed GetTasks: how long it is, and it itself, behind what is in the buffer. */
size_t api_packed_tasks_size(const struct master *m);
void api_pack_tasks(const struct master *m, struct buf *out);

#endif
