/* Objects as messages of the operator API. They are in the arena, and borrow from the master what
 * they can. */
#ifndef MASTER_CORE_SHOW_H
#define MASTER_CORE_SHOW_H

#include "master/core/view.h"

/* A list of resources as endpoints show them. */
void show_resources(struct arena *arena, const struct resources *r, size_t *count,
		    Mesos__Resource ***out);
/* NULL for 0, which is unset. */
Mesos__TimeInfo *show_time(struct arena *arena, int64_t time);
/* A registered agent, with what of its resources may be seen. */
Mesos__Master__Response__GetAgents__Agent *
master_show_agent(const struct view *v, const struct agent *a, struct arena *arena);

#endif
