/* The process of a command task: what it runs, with which arguments and environment. */
#ifndef CLI_EXECUTOR_EXECUTOR_COMMAND_H
#define CLI_EXECUTOR_EXECUTOR_COMMAND_H

#include <sys/types.h>

#include "agent/containers/posix/spawn.h"
#include "base/err.h"
#include "base/memory/arena.h"
#include "proto/proto.h"

/* Starts the task's command in the sandbox, in a session of its own, with our standard
 * streams; or with a terminal, which is served at TERMINAL_FD. That is an argument for init
 * ("--terminal=24x80"), or NULL. Returns its pid or a negative code. */
pid_t executor_command_start(const Mesos__TaskInfo *task, char *terminal, struct err *err);
/* Likewise in a container of its own, of which `launch` says all but what runs in it. */
pid_t executor_command_start_inside(const Mesita__ContainerLaunch *launch,
				    const Mesos__TaskInfo *task, char *terminal, struct err *err);
/* Runs another command where that runs, whose pid is `inside`, with the spawn's streams. The rest
 * of the spawn is filled in. */
pid_t executor_command_enter(pid_t inside, const Mesita__ContainerLaunch *launch,
			     const Mesos__CommandInfo *command, struct spawn *spawn,
			     struct err *err);
/* NULL-ended: `own`, then the command's variables that are no secrets, then the role the
 * task's resources are allocated to. A later one replaces an earlier one. */
char **executor_command_environment(struct arena *arena, char *const *own,
				    const Mesos__TaskInfo *task);
/* NULL-ended argv. */
char **executor_command_arguments(struct arena *arena, const Mesos__CommandInfo *command);
/* The message of a terminal update, in Mesos' words. Heap. `status` is that of wait(2). */
char *executor_command_message(int status);

#endif
