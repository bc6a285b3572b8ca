/* Agents that leave: disconnected, unreachable, gone, unregistered. */
#ifndef MASTER_CORE_AGENTS_AGENT_REMOVE_H
#define MASTER_CORE_AGENTS_AGENT_REMOVE_H

#include "master/core/objects.h"

void master_agent_exited(struct master *m, const char *pid);
void master_disconnect_agent(struct master *m, struct agent *a);
void master_reconnect_agent(struct master *m, struct agent *a);
/* CHANGE_UNREACHABLE goes now. */
void master_mark_unreachable(struct master *m, struct agent *a, const char *cause);
void master_unregister_agent(struct master *m, const char *from,
			     const Mesos__Internal__UnregisterSlaveMessage *message);
/* Removes the agent from the registry and, once that is durable, from memory; its tasks are lost
 * then. `change` says why, and goes now. */
void master_begin_remove_agent(struct master *m, struct agent *a, const char *cause,
			       enum agent_change change);
/* Removes the agent from memory alone: a batch of the caller removed it from the registry. */
void master_remove_agent_now(struct master *m, struct agent *a, const char *cause);
void master_mark_gone(struct master *m, const char *agent_id, uint64_t request);
/* Marks a known agent gone without a request to answer. */
void master_begin_gone(struct master *m, const char *agent_id);
/* Rescinds its offers and inverse offers. */
void master_rescind_of_agent(struct master *m, struct agent *a);

#endif
