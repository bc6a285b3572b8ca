/* How a task in a Docker container is asked for on the command line of `docker`, or of a program
 * that understands the same (podman). */
#ifndef CLI_EXECUTOR_DOCKER_DOCKER_ARGUMENTS_H
#define CLI_EXECUTOR_DOCKER_DOCKER_ARGUMENTS_H

#include "base/err.h"
#include "base/memory/arena.h"
#include "proto/proto.h"

/* What Mesos' agent has without flags. */
#define DOCKER_SOCKET_DEFAULT "/var/run/docker.sock"
#define DOCKER_SANDBOX_DEFAULT "/mnt/mesos/sandbox"

struct docker_setting {
	const char *program; /* "docker" */
	const char *socket;  /* of its daemon; the default one is not named */
	const char *name;    /* of the container */
	const char *sandbox; /* absolute path here */
	const char *mapped;  /* and in the container */
};

/* Each NULL-ended, in the arena. NULL with `err` set: the task asks for what cannot be. */
char **docker_run_arguments(struct arena *arena, const struct docker_setting *setting,
			    const Mesos__TaskInfo *task, struct err *err);
/* PROGRAM [-H unix://SOCKET] and the words, of which the last is NULL. */
char **docker_arguments(struct arena *arena, const struct docker_setting *setting, ...)
	__attribute__((sentinel));
/* The task as its health is checked, in the arena: a command is one in the container; HTTP and TCP
 * are those of the host, whose network it must have. NULL: nothing is checked; `err` says why if
 * the task asks for it. Checks that are none of health are not made, as by Mesos. */
Mesos__TaskInfo *docker_checked_task(struct arena *arena, const struct docker_setting *setting,
				     const Mesos__TaskInfo *task, struct err *err);
/* The IP address in the output of `docker inspect`, in the arena; NULL: it does not run yet. "": it
 * has none of its own. */
const char *docker_inspected(struct arena *arena, const char *output, size_t len);

#endif
