/* Frameworks on this agent. */
#ifndef AGENT_CORE_TASKS_FRAMEWORKS_H
#define AGENT_CORE_TASKS_FRAMEWORKS_H

#include "agent/core/objects.h"

struct framework *agent_framework_find(struct agent *agent, const char *id);
struct framework *agent_framework_create(struct agent *agent, const char *id);
void agent_framework_set(struct agent *agent, struct framework *framework,
			 const Mesos__FrameworkInfo *info, const char *pid);
void agent_framework_free(struct agent *agent, struct framework *framework);
/* Removes it if it is idle: no executors and no updates outstanding. */
void agent_framework_settle(struct agent *agent, struct framework *framework);
bool agent_framework_capable(const struct framework *framework,
			     Mesos__FrameworkInfo__Capability__Type capability);
Mesos__TaskState agent_dropped_state(const struct framework *framework); /* LOST/DROPPED */
Mesos__TaskState agent_gone_state(const struct framework *framework);	 /* LOST/GONE */
void agent_framework_shutdown(struct agent *agent, struct framework *framework);
/* The master of now need not know of shutdowns that were ordered before it took us in: it orders
 * those again that it wants. Until then it hears how tasks end. */
void agent_frameworks_reprieve(struct agent *agent);
void agent_handle_update_framework(struct agent *agent, const char *from,
				   Mesos__Internal__UpdateFrameworkMessage *message);
void agent_handle_shutdown_framework(struct agent *agent, const char *from,
				     Mesos__Internal__ShutdownFrameworkMessage *message);
/* `from` is our master or the framework's own driver. Logs `what` if not. */
bool agent_from_framework(struct agent *agent, const struct framework *framework, const char *from,
			  const char *what);
void agent_handle_to_executor(struct agent *agent, const char *from,
			      Mesos__Internal__FrameworkToExecutorMessage *message);
void agent_forward_to_framework(struct agent *agent, struct framework *framework,
				const char *executor_id, ProtobufCBinaryData data);

#endif
