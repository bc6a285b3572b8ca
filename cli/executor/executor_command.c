/* See executor_command.h. */
#include "cli/executor/executor_command.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/containers/linux/launch_message.h"
#include "agent/containers/linux/room.h"
#include "agent/containers/posix/spawn.h"
#include "agent/containers/terminal/terminal.h"

extern char **environ;

/* Sets NAME=VALUE in a NULL-ended list with room, replacing an earlier one. */
static void put_variable(char **list, char *variable)
{
	size_t name = (size_t)(strchr(variable, '=') - variable) + 1;

	for (; *list; list++) {
		if (strncmp(*list, variable, name))
			continue;
		*list = variable;
		return;
	}
	list[0] = variable;
	list[1] = NULL;
}

static const char *executor_command_allocation_role(const Mesos__TaskInfo *task)
{
	if (task->n_resources == 0 || !task->resources[0]->allocation_info)
		return NULL;
	return task->resources[0]->allocation_info->role;
}

char **executor_command_environment(struct arena *arena, char *const *own,
				    const Mesos__TaskInfo *task)
{
	const Mesos__Environment *more = task->command->environment;
	size_t count = 0, extra = more ? more->n_variables : 0;
	const char *role = executor_command_allocation_role(task);
	char **list;

	while (own[count])
		count++;
	list = arena_alloc(arena, (count + extra + 2) * sizeof(*list));
	memcpy(list, own, count * sizeof(*list));
	for (size_t i = 0; i < extra; i++) {
		const Mesos__Environment__Variable *v = more->variables[i];

		if (v->has_type && v->type == MESOS__ENVIRONMENT__VARIABLE__TYPE__SECRET)
			continue;
		put_variable(list, arena_printf(arena, "%s=%s", v->name, v->value ? v->value : ""));
	}
	if (role)
		put_variable(list, arena_printf(arena, "MESOS_ALLOCATION_ROLE=%s", role));
	return list;
}

/* Without a shell the arguments are the whole of argv, its first included; a program that
 * is given none still gets its name, as many crash on an empty argv. */
char **executor_command_arguments(struct arena *arena, const Mesos__CommandInfo *command)
{
	char **list = arena_alloc(arena, (command->n_arguments + 4) * sizeof(*list));

	if (command->shell) {
		list[0] = (char *)"sh";
		list[1] = (char *)"-c";
		list[2] = command->value;
		return list;
	}
	list[0] = command->value;
	for (size_t i = 0; i < command->n_arguments; i++)
		list[i] = command->arguments[i];
	return list;
}

static int find_own_program(char path[PATH_MAX], struct err *err)
{
	ssize_t len = readlink("/proc/self/exe", path, PATH_MAX - 1);

	if (len < 0)
		return err_set(err, ERR_IO, "There is no /proc");
	path[len] = 0;
	return 0;
}

/* Below an init, which makes the terminal and serves it. */
static int put_at_terminal(struct spawn *spawn, struct arena *arena, char *terminal,
			   struct err *err)
{
	char *own = arena_alloc(arena, PATH_MAX), **list;
	size_t count = 0;

	while (spawn->arguments[count])
		count++;
	list = arena_alloc(arena, (count + 7) * sizeof(*list));
	list[0] = (char *)"mesita";
	list[1] = (char *)"init";
	list[2] = terminal;
	list[3] = (char *)"--keeps_signals";
	list[4] = arena_printf(arena, "--program=%s", spawn->program);
	list[5] = (char *)"--";
	memcpy(list + 6, spawn->arguments, count * sizeof(*list));
	spawn->arguments = list;
	spawn->program = own;
	spawn->listener = TERMINAL_FD;
	return find_own_program(own, err);
}

pid_t executor_command_start(const Mesos__TaskInfo *task, char *terminal, struct err *err)
{
	const Mesos__CommandInfo *command = task->command;
	struct spawn spawn = {
		.program = command->shell ? "/bin/sh" : command->value,
		.directory = ".", /* the sandbox; its path may be closed to the user */
		.input = STDIN_FILENO,
		.output = STDOUT_FILENO,
		.error = STDERR_FILENO,
		.leaves_orphans = true,
	};
	struct arena arena;
	pid_t pid = 0;

	arena_init(&arena);
	spawn.arguments = executor_command_arguments(&arena, command);
	spawn.environment = executor_command_environment(&arena, environ, task);
	if (terminal)
		pid = put_at_terminal(&spawn, &arena, terminal, err);
	if (pid == 0)
		pid = spawn_process(&spawn, err);
	arena_free(&arena);
	return pid;
}

/* ---- in a container of its own ---------------------------------------------- */

/* `more`: an argument, or NULL. */
static pid_t start_init(Mesita__ContainerLaunch *launch, char *more, struct spawn *spawn,
			struct err *err)
{
	char *argv[] = {"mesita", "init", "--launch", more, NULL}, path[PATH_MAX];
	int message = find_own_program(path, err);
	pid_t pid;

	if (message == 0)
		message = launch_message_pack(launch, err);
	if (message < 0)
		return message;
	spawn->program = path;
	spawn->arguments = argv;
	spawn->directory = ".";
	spawn->message = message;
	spawn->leaves_orphans = true;
	pid = spawn_process(spawn, err);
	close(message);
	return pid;
}

/* The list ends with NULL, too. */
static void set_environment(Mesita__ContainerLaunch *launch, struct arena *arena,
			    const Mesos__TaskInfo *task)
{
	room_set_environment(launch, arena, executor_command_environment(arena, environ, task),
			     task->command->environment);
	launch->environment[launch->n_environment] = NULL;
}

pid_t executor_command_start_inside(const Mesita__ContainerLaunch *launch,
				    const Mesos__TaskInfo *task, char *terminal, struct err *err)
{
	struct spawn spawn = {
		.input = STDIN_FILENO,
		.output = STDOUT_FILENO,
		.error = STDERR_FILENO,
		.listener = terminal ? TERMINAL_FD : 0,
	};
	struct arena arena;
	Mesita__ContainerLaunch *copy;
	pid_t pid;

	arena_init(&arena);
	copy = proto_copy_to(&arena, launch);
	copy->has_keeps_signals = copy->keeps_signals = 1;
	pid = room_set_command(copy, &arena, task->command, err);
	if (pid == 0) {
		set_environment(copy, &arena, task);
		/* Whoever enters the container later finds it there. */
		spawn.environment = copy->environment;
		pid = start_init(copy, terminal, &spawn, err);
	}
	arena_free(&arena);
	return pid;
}

pid_t executor_command_enter(pid_t inside, const Mesita__ContainerLaunch *launch,
			     const Mesos__CommandInfo *command, struct spawn *spawn,
			     struct err *err)
{
	char *const nothing[] = {NULL};
	Mesita__ContainerLaunch *copy;
	struct arena arena;
	pid_t pid;

	arena_init(&arena);
	copy = proto_copy_to(&arena, launch);
	/* It is taken from who is there already. */
	copy->n_environment = 0;
	pid = room_set_command(copy, &arena, command, err);
	room_set_environment(copy, &arena, nothing, command->environment);
	spawn->environment = environ;
	if (pid == 0)
		pid = start_init(copy, arena_printf(&arena, "--enter=%d", (int)inside), spawn, err);
	arena_free(&arena);
	return pid;
}

char *executor_command_message(int status)
{
	if (WIFSIGNALED(status))
		return xprintf("Command terminated with signal %s%s", strsignal(WTERMSIG(status)),
			       WCOREDUMP(status) ? " (core dumped)" : "");
	return xprintf("Command exited with status %d", WEXITSTATUS(status));
}
