/* What tasks and agents look like. Plain: two resources of the role "*" and a name, lives as the
 * plan says. With --mix as people's: half of an agent's processors and memory is reserved for the
 * schedulers' role, a task takes of both halves and of the disk, so five resources; it has labels,
 * an environment and something to be discovered by; of twenty lives one is 30 s, three are 1 s and
 * sixteen end at once. */
#ifndef BENCH_LOAD_MIX_H
#define BENCH_LOAD_MIX_H

#include "bench/load/plan.h"
#include "proto/proto.h"

/* The role that the schedulers are in. */
const char *mix_role(const struct plan *plan);

void mix_agent_resources(const struct plan *plan, struct arena *arena, size_t *count,
			 Mesos__Resource ***list);
/* `role`: to which they are allocated; NULL: it is not said. */
void mix_task_resources(const struct plan *plan, struct arena *arena, const char *role,
			size_t *count, Mesos__Resource ***list);

/* What a TaskInfo has beside that, and the master's Task of it; NULL without --mix. */
Mesos__Labels *mix_labels(const struct plan *plan, struct arena *arena);
Mesos__DiscoveryInfo *mix_discovery(const struct plan *plan, struct arena *arena);
Mesos__Environment *mix_environment(const struct plan *plan, struct arena *arena);

/* The life of the task with this number under --mix, in ns. */
int64_t mix_life(uint32_t number);

#endif
