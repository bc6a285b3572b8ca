/* Draining. */
#ifndef AGENT_CORE_DRAIN_H
#define AGENT_CORE_DRAIN_H

#include "agent/core/objects.h"

void agent_handle_drain(struct agent *agent, const char *from,
			Mesos__Internal__DrainSlaveMessage *message);
void agent_drain_begin(struct agent *agent);  /* the order is stored */
void agent_drain_resume(struct agent *agent); /* after a restart */
void agent_drain_settle(struct agent *agent); /* over, if nothing is left */
/* Says of tasks that end why, in a status before it goes on. */
void agent_drain_adjust(const struct agent *agent, const struct framework *framework,
			Mesos__TaskStatus *status);

#endif
