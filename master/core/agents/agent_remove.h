/* Agents that leave: disconnected, unreachable, gone, unregistered. */
#ifndef MASTER_CORE_AGENTS_AGENT_REMOVE_H
#define MASTER_CORE_AGENTS_AGENT_REMOVE_H

#include "master/core/objects.h"

void master_agent_exited(struct master *m, const char *pid);
void master_disconnect_agent(struct master *m, struct agent *a);
void master_reconnect_agent(struct master *m, struct agent *a);
void master_mark_unreachable(struct master *m, struct agent *a, const char *cause);
void master_unregister_agent(struct master *m, const char *from,
			     const Mesos__Internal__UnregisterSlaveMessage *message);
/* Registry first; then the tasks are lost and `a` is gone. An agent that unregistered counts as
 * such; a machine that goes down is a reason without a counter. */
void master_begin_remove_agent(struct master *m, struct agent *a, const char *cause,
			       bool unregistered);
/* The same without a write of its own: the caller's batch holds the removal. */
void master_remove_agent_now(struct master *m, struct agent *a, const char *cause);
void master_mark_gone(struct master *m, const char *agent_id, uint64_t request);
/* The same for one that is known, by nobody's request. */
void master_begin_gone(struct master *m, const char *agent_id);
/* Its offers and inverse offers are rescinded. */
void master_rescind_of_agent(struct master *m, struct agent *a);

#endif
