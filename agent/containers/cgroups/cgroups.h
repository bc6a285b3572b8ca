/* Control groups of containers: limits that the kernel keeps, and ends that nothing escapes.
 *
 * A container has a group of its own, or is in that of the one it is inside of. The same interface
 * covers both versions: with v1 a group is a directory in each hierarchy that is used, with v2 one
 * directory and a `leaf` in it, where the processes are.
 *
 *	v1	HIERARCHY/<controllers>/ROOT/CONTAINER
 *	v2	HIERARCHY/ROOT/CONTAINER/leaf
 *	inside	.../CONTAINER/mesos/CHILD
 *
 * The kernel's files are the only record: an agent that was started again finds them as they are.
 * What is not said to be for the loop may wait for the kernel and belongs on a thread. */
#ifndef AGENT_CONTAINERS_CGROUPS_CGROUPS_H
#define AGENT_CONTAINERS_CGROUPS_CGROUPS_H

#include "agent/core/agent.h"
#include "base/err.h"

enum cgroups_controller {
	CGROUPS_FREEZER, /* v1: kills what forks as fast as it is killed; always used there */
	CGROUPS_CPU,
	CGROUPS_CPUACCT, /* v1 */
	CGROUPS_MEMORY,
	CGROUPS_PIDS,
	CGROUPS_BLKIO, /* v2: io */
	CGROUPS_CPUSET,
	CGROUPS_CONTROLLERS,
};

#define CGROUPS_BIT(name) (1u << CGROUPS_##name)

struct cgroups_options {
	const char *hierarchy; /* --cgroups_hierarchy */
	const char *root;      /* --cgroups_root */
	unsigned controllers;  /* CGROUPS_BIT(): what the isolators ask for */
	bool every;	       /* cgroups/all: whichever there are */
	bool cfs;	       /* cpus without a limit are one */
	bool limit_swap;
};

struct cgroups;

/* Finds what the machine has and makes the root. ERR_INVALID, ERR_IO: something that was asked for
 * is not there, or not ours to use; the text says what to do. */
int cgroups_open(const struct cgroups_options *options, struct cgroups **out, struct err *err);
void cgroups_close(struct cgroups *cgroups);
bool cgroups_unified(const struct cgroups *cgroups); /* v2 */

/* ---- one container ------------------------------------------------------------- */

/* Whether it has a group of its own. For the loop. */
bool cgroups_has(const struct cgroups *cgroups, const char *id);
/* Makes its group. What was made of one that fails is removed. */
int cgroups_make(const struct cgroups *cgroups, const char *id, const struct agent_limits *limits,
		 struct err *err);
/* Hard memory is never lowered: what is in use could not be taken back. For the loop. */
int cgroups_update(const struct cgroups *cgroups, const char *id, const struct agent_limits *limits,
		   struct err *err);

/* Files that a process puts itself into a group by, writing "0" to each. */
struct cgroups_door {
	int files[CGROUPS_CONTROLLERS];
	size_t count;
};

/* Of the container's group, or of the nearest one that it is inside of. None at all: 0 files. For
 * the loop; close it after. */
int cgroups_open_door(const struct cgroups *cgroups, const char *id, struct cgroups_door *door,
		      struct err *err);
void cgroups_close_door(struct cgroups_door *door);

/* Kills all that is in its group and in those inside. Returns how many processes live still. */
size_t cgroups_kill(const struct cgroups *cgroups, const char *id);
/* Kills all, and removes the group when it is empty. True: it is gone. */
bool cgroups_remove(const struct cgroups *cgroups, const char *id);

/* ---- memory --------------------------------------------------------------------- */

/* What the kernel says when a group ran out of memory. */
struct cgroups_oom {
	uint64_t bytes;	 /* v1: most that it used; v2: its hard limit */
	struct buf text; /* Mesos' own */
};

/* A descriptor for epoll: readable (v1) or urgent (v2) when something happened, which
 * cgroups_oom_read() tells. -1: there is no such thing. For the loop, as the two below. */
int cgroups_oom_open(const struct cgroups *cgroups, const char *id);
/* Makes the descriptor quiet until the next one. Whether that it came says all (v1): the kernel
 * tells before it counts. */
bool cgroups_oom_rearm(const struct cgroups *cgroups, int fd);
/* False: it did not run out of memory so far. Else the text is the caller's. `told`: what
 * cgroups_oom_rearm() said. */
bool cgroups_oom_read(const struct cgroups *cgroups, const char *id, bool told,
		      struct cgroups_oom *oom);

/* ---- what it uses ------------------------------------------------------------------ */

/* Fills what its controllers count; leaves the rest. */
void cgroups_measure(const struct cgroups *cgroups, const char *id,
		     Mesos__ResourceStatistics *statistics);

#endif
