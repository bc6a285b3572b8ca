/* Which system calls a container may make, by a profile: a file of JSON as docker has it. */
#ifndef AGENT_CONTAINERS_SECCOMP_FILTER_H
#define AGENT_CONTAINERS_SECCOMP_FILTER_H

#include <stdint.h>

#include "base/err.h"
#include "base/memory/buf.h"

/* Appends the filter for the kernel (struct sock_filter) that the profile NAME in the directory
 * describes. `capabilities`: what the container's processes have (bits); rules may depend on that.
 * ERR_INVALID, with what is wrong with it; may be slow. */
int seccomp_filter_make(const char *directory, const char *name, uint64_t capabilities,
			struct buf *out, struct err *err);

#endif
