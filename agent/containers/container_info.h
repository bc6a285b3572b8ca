/* What a ContainerInfo asks for that containers cannot do. */
#ifndef AGENT_CONTAINERS_CONTAINER_INFO_H
#define AGENT_CONTAINERS_CONTAINER_INFO_H

#include <sys/resource.h>

#include "agent/containers/linux/room.h"
#include "agent/core/agent.h"

/* A container that lacks its image, volume or network must not run on the bare host.
 * ERR_INVALID with the text as Mesos has it; `stage` says how the tasks end. */
int container_info_check(const struct room_options *rooms, const Mesos__ContainerInfo *info,
			 bool nested, enum agent_start_stage *stage, struct err *err);

/* A limit of processes that a container asks for. ERR_INVALID: it is none. */
int container_rlimit(const Mesos__RLimitInfo__RLimit *wanted, int *resource, struct rlimit *value,
		     struct err *err);

#endif
