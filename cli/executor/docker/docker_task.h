/* A task in a Docker container, while its executor runs: pulled if it must be, started by
 * `docker run`, looked at until it runs, stopped, and removed. */
#ifndef CLI_EXECUTOR_DOCKER_DOCKER_TASK_H
#define CLI_EXECUTOR_DOCKER_DOCKER_TASK_H

#include <sys/types.h>
#include <uv.h>

#include "cli/executor/docker/docker_arguments.h"

struct docker_task;

struct docker_handlers {
	/* It runs: with what `docker inspect` printed, and its address ("": none of its own). */
	void (*running)(void *context, struct slice inspected, const char *address);
	/* It is over, with the status of wait(2). Once. */
	void (*over)(void *context, int status);
	/* It could not be started at all. Once, in place of `over`. */
	void (*failed)(void *context, const char *why);
};

/* `setting` (copied), `task` and `handlers` outlive it; nothing is called inside. */
struct docker_task *docker_task_start(uv_loop_t *loop, const struct docker_setting *setting,
				      const Mesos__TaskInfo *task,
				      const struct docker_handlers *handlers, void *context);
/* SIGTERM, and after `grace` ns SIGKILL. A second time it is a matter of the shorter grace. */
void docker_task_stop(struct docker_task *docker, int64_t grace);
/* A child of ours ended; false: it is none of these. */
bool docker_task_reap(struct docker_task *docker, pid_t pid, int status);
/* Frees itself from the loop. What runs goes on. NULL is nothing. */
void docker_task_close(struct docker_task *docker);

#endif
