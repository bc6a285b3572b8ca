/* What the agent has. */
#ifndef AGENT_CORE_RESOURCES_TOTAL_H
#define AGENT_CORE_RESOURCES_TOTAL_H

#include "agent/core/objects.h"

/* From the flags and `checkpointed`; ERR_INVALID in Mesos' words if they do not fit. */
int agent_total_recover(struct agent *agent, struct err *err);
void agent_new_version(struct agent *agent);
/* Makes the volumes and the change, of an operation or (`operation` NULL) to a full list. */
void agent_change(struct agent *agent, struct operation *operation,
		  const Mesos__Internal__CheckpointResourcesMessage *message);
void agent_handle_volumes_made(struct agent *agent, const struct agent_event *event);
void agent_handle_checkpoint_resources(struct agent *agent, const char *from,
				       Mesos__Internal__CheckpointResourcesMessage *message);
void agent_free_changes(struct agent *agent);

void agent_resources_downgrade(struct agent *agent, size_t count, Mesos__Resource **resources);
void agent_resources_upgrade(struct agent *agent, size_t count, Mesos__Resource **resources);

#endif
