/* Linux capabilities that a container may have, by what it asks for and what the agent allows. */
#ifndef AGENT_CONTAINERS_CAPABILITIES_H
#define AGENT_CONTAINERS_CAPABILITIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "proto/proto.h"

/* Sets of capabilities: bit N is capability N of <linux/capability.h>. */
struct capabilities {
	bool has_effective, has_bounding;
	uint64_t effective; /* what its processes have */
	uint64_t bounding;  /* what they may ever get */
};

/* A set from a flag: a CapabilityInfo as JSON, {"capabilities": ["NET_RAW", ...]}. */
int capabilities_parse(const char *text, uint64_t *set, struct err *err);
/* What a container gets (`info` may be NULL): what it asks for, else the agent's own, of which what
 * it asks for must be a part. If only one of both is said the other is the same; if none is, both
 * stay as they are. */
int capabilities_of(const Mesos__ContainerInfo *info, const struct capabilities *of_agent,
		    struct capabilities *out, struct err *err);

#endif
