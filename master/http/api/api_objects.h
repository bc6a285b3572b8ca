/* The master's objects as messages of the operator API. All are in the arena and borrow from the
 * master what they can. */
#ifndef MASTER_HTTP_API_API_OBJECTS_H
#define MASTER_HTTP_API_API_OBJECTS_H

#include "master/core/objects.h"
#include "master/core/view.h"

Mesos__Master__Response__GetAgents *api_collect_agents(const struct view *v, struct arena *arena);
Mesos__Master__Response__GetFrameworks *api_collect_frameworks(const struct view *v,
							       struct arena *arena);
Mesos__Master__Response__GetExecutors *api_collect_executors(const struct view *v,
							     struct arena *arena);

/* Tasks are many, and packed: they are gone through instead, those of all frameworks, live and
 * completed. */
void api_each_task(const struct view *v, enum view_tasks list,
		   void (*each)(void *context, const struct task_record *record), void *context);
/* A packed GetTasks: how long it is, and it itself, behind what is in the buffer. */
size_t api_packed_tasks_size(const struct view *v);
void api_pack_tasks(const struct view *v, struct buf *out);

#endif
