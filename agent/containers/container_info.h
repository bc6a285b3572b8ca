/* What a ContainerInfo asks for that containers cannot do. */
#ifndef AGENT_CONTAINERS_CONTAINER_INFO_H
#define AGENT_CONTAINERS_CONTAINER_INFO_H

#include "agent/core/agent.h"

/* A container that lacks its image, volume or network must not run on the bare host.
 * ERR_INVALID with the text as Mesos has it; `stage` says how the tasks end. */
int container_info_check(const Mesos__ContainerInfo *info, enum agent_start_stage *stage,
			 struct err *err);

#endif
