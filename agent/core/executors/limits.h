/* Limits of containers: how they follow from what executors and tasks asked for. */
#ifndef AGENT_CORE_EXECUTORS_LIMITS_H
#define AGENT_CORE_EXECUTORS_LIMITS_H

#include "agent/core/objects.h"

struct agent_limits agent_executor_limits(const struct agent *agent,
					  const struct executor *executor);
/* Tells the container of the executor, if it keeps to limits: its tasks are others now. */
void agent_executor_limit(struct agent *agent, struct executor *executor);
/* What was used up, as statuses tell it, in the step's arena; NULL: nothing was. */
Mesos__TaskResourceLimitation *agent_limitation(struct agent *agent,
						const struct agent_event *event);
/* Of a container inside of others that has limits of its own. */
struct agent_limits agent_launch_limits(const struct agent *agent,
					const Mesos__Agent__Call__LaunchContainer *launch);

#endif
