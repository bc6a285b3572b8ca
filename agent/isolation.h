/* What --isolation and --launcher ask for. */
#ifndef AGENT_ISOLATION_H
#define AGENT_ISOLATION_H

#include <stdbool.h>

#include "base/err.h"

struct isolation {
	bool groups;		/* containers have control groups */
	unsigned controllers;	/* CGROUPS_BIT() of those that are asked for */
	bool every;		/* all that the machine has */
	bool disk;		/* disk/du */
	bool rlimits;		/* posix/rlimits */
	bool capabilities;	/* linux/capabilities */
	bool no_new_privileges; /* linux/nnp */
	bool file_systems;	/* filesystem/linux */
	bool pids;		/* namespaces/pid */
	bool ipc;		/* namespaces/ipc */
	bool host_paths;	/* volume/host_path */
	bool sandbox_paths;	/* volume/sandbox_path */
	bool secrets;		/* volume/secret */
	bool image_runtime;	/* docker/runtime */
	bool seccomp;		/* linux/seccomp */
};

/* ERR_INVALID: a name that is none, or twice, or two that exclude one another. */
int isolation_parse(const char *list, const char *launcher, struct isolation *out, struct err *err);

#endif
