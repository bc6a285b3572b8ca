/* After a restart: what was stored goes on. */
#ifndef AGENT_CORE_STORE_RECOVERY_H
#define AGENT_CORE_STORE_RECOVERY_H

#include "agent/core/objects.h"

int agent_info_compatible(struct agent *agent, const Mesos__AgentInfo *old, struct err *err);

void agent_recovery_settle(struct agent *agent); /* one executor less to wait for */
void agent_recovery_timeout(struct agent *agent);

#endif
