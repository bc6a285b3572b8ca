/* What `mesita run` was told, and the task made of it. */
#ifndef CLI_JOB_RUN_TASK_H
#define CLI_JOB_RUN_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/memory/arena.h"
#include "proto/proto.h"

struct run_flags {
	const char *master;
	const char *name;
	const char *command;
	bool shell;
	int64_t instances;
	double cpus;
	double mem;
	double disk;
	const char *resources;
	const char *env;
	const char *uris;
	const char *role;
	const char *user;
	const char *principal;
	const char *secret;
	const char *task;
	bool checkpoint;
	bool partition_aware;
	bool follow;
	bool json;
	int64_t kill_after;
	int64_t patience;
	const char *image, *docker_image; /* of a container, or NULL: two names for one */
	const char *containerizer;	  /* "docker" or "mesos"; NULL: as the program has it */
	const char *group, *task_group;	  /* two names for one */
	const char *volumes, *rlimits, *networks;
	bool tty;
	const char *effective_capabilities, *bounding_capabilities;
	const char *appc_image; /* needs what there is not */
};

/* The task, complete but for what an instance's launch fills in: from --task, from
 * --command, or from `count` arguments behind the flags (a program and its own). In the
 * arena, pointing into the flags. NULL with `err` set. */
Mesos__TaskInfo *run_task_make(struct arena *arena, const struct run_flags *flags,
			       const char *const *arguments, size_t count, struct err *err);

bool run_group_wanted(const struct run_flags *flags);
/* The group, complete but for agent_ids: tasks without an id or a name get those of the job, with a
 * number. In the arena. NULL with `err` set. */
Mesos__TaskGroupInfo *run_group_make(struct arena *arena, const struct run_flags *flags,
				     struct err *err);

#endif
