/* Tasks of a group that no executor has yet: they go to it together, or end together. */
#ifndef AGENT_CORE_TASKS_GROUPS_H
#define AGENT_CORE_TASKS_GROUPS_H

#include "agent/core/objects.h"

/* The first of the queue are of this group. An executor of the v0 API cannot run it. */
void agent_group_deliver(struct agent *agent, struct executor *executor, uint64_t group);
/* One of the group was killed. */
void agent_group_kill(struct agent *agent, struct executor *executor, uint64_t group);

#endif
