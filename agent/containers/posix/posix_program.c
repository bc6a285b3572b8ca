/* The first process of a container: program and arguments, limits, capabilities, system calls, a
 * terminal. */
#include <string.h>
#include <unistd.h>

#include "agent/containers/container_info.h"
#include "agent/containers/posix/posix_internal.h"
#include "agent/containers/posix/posix_parts.h"
#include "agent/containers/seccomp_filter.h"
#include "agent/containers/terminal/terminal.h"
#include "base/memory/arena.h"

#define COMMAND_EXECUTOR "executor" /* its name among our own programs */

bool posix_is_command_executor(const struct posix *posix, const Mesos__CommandInfo *command)
{
	return command->has_shell && !command->shell && command->value &&
	       !strcmp(command->value, posix->options.program) && command->n_arguments > 1 &&
	       !strcmp(command->arguments[1], COMMAND_EXECUTOR);
}

/* What every init is told; returns how many arguments that are. */
static size_t add_init(struct posix_container *container, char **argv)
{
	struct posix_start *start = container->start;
	char *status = posix_status_make(container->owner, container->id, start);
	size_t count = 0;

	container->has_status = true;
	argv[count++] = "mesita";
	argv[count++] = "init";
	if (status)
		argv[count++] = status;
	if (start->session)
		argv[count++] = arena_printf(&start->arena, "--tied=%d", (int)getpid());
	if (start->tty)
		argv[count++] = "--tty";
	if (start->terminal)
		argv[count++] = start->terminal;
	return count;
}

static size_t add_command(struct posix_start *start, char **argv, bool shell)
{
	const Mesos__CommandInfo *command = start->command;
	struct arena *arena = &start->arena;
	size_t count = 0;

	if (shell) {
		argv[count++] = "sh";
		argv[count++] = "-c";
	}
	if (shell || !command->n_arguments)
		argv[count++] = arena_strdup(arena, command->value);
	for (size_t i = 0; !shell && i < command->n_arguments; i++)
		argv[count++] = arena_strdup(arena, command->arguments[i]);
	return count;
}

#define ARGUMENTS_MORE 14 /* than the command has */

/* Program and argv as the command says; custom ones below init, to which a room is told by a
 * message. */
static int make_arguments(struct posix_container *container, struct err *err)
{
	const struct posix *posix = container->owner;
	struct posix_start *start = container->start;
	const Mesos__CommandInfo *command = start->command;
	struct arena *arena = &start->arena;
	bool shell = !command->has_shell || command->shell;
	bool inside = start->room == POSIX_ROOM_OWN || start->room == POSIX_ROOM_PARENT;
	const char *program = shell ? "sh" : command->value;
	char **argv = arena_alloc(arena, (command->n_arguments + ARGUMENTS_MORE) * sizeof(*argv));
	char *executors = NULL; /* what the command executor tells the init of its task */
	size_t count = 0;

	if (!command->value && !inside)
		return err_set(err, ERR_INVALID, "The command has no value");
	start->spawn.program = posix->options.program;
	start->spawn.arguments = argv;
	if (inside || strcmp(program, posix->options.program) != 0)
		count = add_init(container, argv);
	if (inside) {
		argv[count++] = "--launch";
		if (start->room == POSIX_ROOM_PARENT)
			argv[count++] =
				arena_printf(arena, "--enter=%d", (int)container->parent_pid);
		return 0;
	}
	if (count) {
		argv[count++] = arena_printf(arena, "--program=%s", program);
		argv[count++] = "--";
	}
	if (!count && start->terminal)
		executors = start->terminal;
	count += add_command(start, argv + count, shell);
	if (start->room == POSIX_ROOM_TASK)
		argv[count++] = "--launch";
	if (executors)
		argv[count++] = executors;
	return 0;
}

static int make_limits(struct posix_start *start, const Mesos__ContainerInfo *info, struct err *err)
{
	const Mesos__RLimitInfo *wanted = info ? info->rlimit_info : NULL;
	struct spawn_limit *limits;
	int rv = 0;

	if (!wanted)
		return 0;
	limits = arena_alloc(&start->arena, (wanted->n_rlimits + 1) * sizeof(*limits));
	for (size_t i = 0; i < wanted->n_rlimits && rv == 0; i++)
		rv = container_rlimit(wanted->rlimits[i], &limits[i].resource, &limits[i].value,
				      err);
	start->spawn.limits = limits;
	start->spawn.limit_count = wanted->n_rlimits;
	return rv;
}

static int make_capabilities(struct posix_container *container, const Mesos__ContainerInfo *info,
			     struct err *err)
{
	struct posix_start *start = container->start;
	int rv = capabilities_of(info, container->owner->options.capabilities, &start->capabilities,
				 err);

	if (rv == 0 && start->capabilities.has_effective)
		start->spawn.capabilities = &start->capabilities;
	return rv;
}

static int make_filter(struct posix_container *container, const Mesos__ContainerInfo *info,
		       struct err *err)
{
	const struct posix_options *options = &container->owner->options;
	const Mesos__SeccompInfo *wish =
		info && info->linux_info ? info->linux_info->seccomp : NULL;
	const char *name =
		wish && wish->profile_name ? wish->profile_name : options->seccomp_profile;
	struct posix_start *start = container->start;
	struct buf filter = BUF_INIT;
	int rv;

	if (!name || (wish && wish->unconfined))
		return 0;
	rv = seccomp_filter_make(options->seccomp_directory, name,
				 start->spawn.capabilities ? start->capabilities.effective
							   : UINT64_MAX,
				 &filter, err);
	if (rv == 0) {
		start->filter.len = (unsigned short)(filter.len / sizeof(struct sock_filter));
		start->filter.filter = arena_memdup(&start->arena, filter.data, filter.len);
		start->spawn.filter = &start->filter;
	}
	buf_free(&filter);
	return rv;
}

/* The command executor hands it on to its task; other programs of ours need none. */
static int choose_terminal(struct posix_container *container, struct err *err)
{
	const struct posix *posix = container->owner;
	struct posix_start *start = container->start;
	const Mesos__ContainerInfo *info = start->launch.info;
	const Mesos__TTYInfo__WindowSize *size;
	int listener;

	if (start->session || !info || !info->tty_info ||
	    info->type != MESOS__CONTAINER_INFO__TYPE__MESOS)
		return 0;
	if (start->command->value && !strcmp(start->command->value, posix->options.program) &&
	    !posix_is_command_executor(posix, start->command))
		return 0;
	listener = terminal_listen(posix->options.runtime_dir, container->id, err);
	if (listener < 0)
		return listener;
	size = info->tty_info->window_size;
	start->listener = listener;
	container->has_status = true;
	start->terminal = arena_printf(&start->arena, "--terminal=%ux%u", size ? size->rows : 0,
				       size ? size->columns : 0);
	return 0;
}

int posix_program_choose(struct posix_container *container, struct err *err)
{
	const struct posix_options *options = &container->owner->options;
	const Mesos__ContainerInfo *info = container->start->launch.info;
	int rv = choose_terminal(container, err);

	if (rv == 0)
		rv = make_arguments(container, err);
	if (rv == 0 && options->rlimits)
		rv = make_limits(container->start, info, err);
	if (rv == 0 && options->capabilities)
		rv = make_capabilities(container, info, err);
	if (rv == 0 && options->seccomp_directory)
		rv = make_filter(container, info, err);
	return rv;
}
