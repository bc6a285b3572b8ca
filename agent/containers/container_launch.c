/* From the launch of a container to its first process: sandbox, links of volumes, URIs; see
 * container.h. What fails on the way is reported by its stage, and nothing of it is left. */
#include "agent/containers/container_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/containers/container_info.h"
#include "agent/containers/fetcher.h"
#include "agent/containers/sandbox.h"
#include "agent/containers/volume_dirs.h"
#include "base/log.h"

extern char **environ;

/* ---- starting ------------------------------------------------------------ */

static void container_launch_run(struct container *container)
{
	struct err err = {""};

	if (container_start_process(container, &container->start->spawn, &err) < 0) {
		container_fail(container, AGENT_STAGE_LAUNCH, err.text);
		return;
	}
	container_free_start(container->start);
	container->start = NULL;
	container->stage = RUNNING;
	container_report_started(container);
}

static int fetch_input(const Mesos__CommandInfo *command, struct err *err)
{
	int fd = memfd_create("fetch", MFD_CLOEXEC);
	struct buf bytes = BUF_INIT;
	size_t done = 0;

	proto_pack(command, &bytes);
	while (fd >= 0 && done < bytes.len) {
		ssize_t put = write(fd, bytes.data + done, bytes.len - done);

		if (put < 0)
			break;
		done += (size_t)put;
	}
	if (fd < 0 || done < bytes.len || lseek(fd, 0, SEEK_SET)) {
		err_set(err, ERR_IO, "Failed to pass the URIs on: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		fd = ERR_IO;
	}
	buf_free(&bytes);
	return fd;
}

static int container_launch_fetch(struct container *container, const Mesos__CommandInfo *command,
				  struct err *err)
{
	const struct containers_options *options = &container->owner->options;
	struct start *start = container->start;
	struct arena *arena = &start->arena;
	struct spawn spawn = start->spawn;
	char *argv[8] = {"mesita", "fetch"};
	int rv, count = 2;

	argv[count++] = arena_printf(arena, "--directory=%s", spawn.directory);
	argv[count++] = arena_printf(arena, "--stall_timeout=%lldns",
				     (long long)options->fetcher_stall_timeout);
	if (options->frameworks_home && *options->frameworks_home)
		argv[count++] =
			arena_printf(arena, "--frameworks_home=%s", options->frameworks_home);
	if (options->hadoop_home)
		argv[count++] = arena_printf(arena, "--hadoop_home=%s", options->hadoop_home);
	spawn.program = options->program;
	spawn.arguments = argv;
	spawn.environment = environ;
	spawn.input = fetch_input(command, err);
	if (spawn.input < 0)
		return ERR_IO;
	rv = container_start_process(container, &spawn, err);
	close(spawn.input);
	container->stage = FETCHING;
	return rv;
}

void container_fetch_ended(struct container *container, int status)
{
	struct containers *c = container->owner;
	char text[256];

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !container->destroyed) {
		c->counters.fetches_succeeded++;
		container_launch_run(container);
		return;
	}
	c->counters.fetches_failed++;
	if (WIFEXITED(status))
		snprintf(text, sizeof(text),
			 "Failed to fetch all URIs for container '%s': exited with status %d",
			 container->id, WEXITSTATUS(status));
	else
		snprintf(text, sizeof(text),
			 "Failed to fetch all URIs for container '%s': terminated with signal %s",
			 container->id, strsignal(WTERMSIG(status)));
	container_fail(container, AGENT_STAGE_LAUNCH, text);
}

/* ---- launching ----------------------------------------------------------- */

static char *const *copy_strings(struct arena *arena, char *const *list)
{
	size_t count = 0;
	char **copy;

	while (list && list[count])
		count++;
	copy = arena_alloc(arena, (count + 1) * sizeof(*copy));
	for (size_t i = 0; i < count; i++)
		copy[i] = arena_strdup(arena, list[i]);
	return copy;
}

/* Program and argv as the command says; custom ones below init. */
static int make_arguments(struct containers *c, struct container *container,
			  const Mesos__CommandInfo *command, struct err *err)
{
	struct start *start = container->start;
	struct arena *arena = &start->arena;
	bool shell = !command->has_shell || command->shell, custom;
	size_t count = 0, given = shell ? 3 : command->n_arguments;
	char **argv = arena_alloc(arena, (given + 8) * sizeof(*argv)), *status;
	const char *program = shell ? "sh" : command->value;

	if (!command->value)
		return err_set(err, ERR_INVALID, "The command of the executor has no value");
	custom = shell || strcmp(program, c->options.program);
	if (custom) {
		argv[count++] = "mesita";
		argv[count++] = "init";
		status = container_status_make(c, container->id, start);
		container->has_status = true;
		if (status)
			argv[count++] = status;
		argv[count++] = arena_printf(arena, "--program=%s", program);
		argv[count++] = "--";
	}
	if (shell) {
		argv[count++] = "sh";
		argv[count++] = "-c";
		argv[count++] = arena_strdup(arena, command->value);
	} else if (!command->n_arguments) {
		argv[count++] = arena_strdup(arena, program);
	}
	for (size_t i = 0; !shell && i < command->n_arguments; i++)
		argv[count++] = arena_strdup(arena, command->arguments[i]);
	start->spawn.program = custom ? c->options.program : arena_strdup(arena, program);
	start->spawn.arguments = argv;
	return 0;
}

static int find_user(const char *name, struct start *start, struct err *err)
{
	int rv;

	if (!name)
		return 0;
	rv = user_find(name, &start->user, err);
	if (rv < 0)
		return err_wrap(err, rv, "Failed to chown directory to '%s'", name);
	start->switches_user = start->user.uid != geteuid();
	return 0;
}

static int prepare_sandbox(const struct agent_launch *launch, struct start *start, struct err *err)
{
	struct spawn *spawn = &start->spawn;
	const struct user *user;
	int rv = find_user(launch->user, start, err);

	user = start->switches_user ? &start->user : NULL;
	if (rv == 0)
		rv = sandbox_create(launch->sandbox, launch->user, user, err);
	if (rv == 0)
		rv = spawn->output = sandbox_open_output(launch->sandbox, "stdout", user, err);
	if (rv >= 0)
		rv = spawn->error = sandbox_open_output(launch->sandbox, "stderr", user, err);
	if (rv < 0)
		return err_wrap(err, rv, "Failed to create executor directory '%s'",
				launch->sandbox);
	spawn->user = user;
	spawn->directory = arena_strdup(&start->arena, launch->sandbox);
	return 0;
}

static int launch_or_fetch(struct container *container, const struct agent_launch *launch,
			   struct err *err)
{
	struct containers *c = container->owner;
	int rv = volume_link(launch->sandbox, &launch->volumes, err);

	if (rv < 0)
		return rv;
	rv = fetch_validate(launch->command, err);
	if (rv < 0) {
		c->counters.fetches_failed++;
		return err_wrap(err, rv, "Could not fetch");
	}
	rv = make_arguments(c, container, launch->command, err);
	if (rv == 0 && launch->command->n_uris)
		return container_launch_fetch(container, launch->command, err);
	if (rv == 0)
		container_launch_run(container);
	return rv;
}

void containers_launch(struct containers *c, const struct agent_launch *launch)
{
	struct container *container;
	enum agent_start_stage stage;
	struct start *start;
	struct err err = {""};

	if (container_find(c, launch->container)) {
		log_error("container %s was to be launched twice", launch->container);
		return;
	}
	container = container_add(c, launch->container);
	container->start = start = xcalloc(1, sizeof(*start));
	arena_init(&start->arena);
	start->spawn.input = c->null_fd;
	start->spawn.output = start->spawn.error = -1;
	start->spawn.environment = copy_strings(&start->arena, launch->environment);
	if (prepare_sandbox(launch, start, &err) < 0)
		container_fail(container, AGENT_STAGE_SANDBOX, err.text);
	else if (container_info_check(launch->info, &stage, &err) < 0)
		container_fail(container, stage, err.text);
	else if (launch_or_fetch(container, launch, &err) < 0)
		container_fail(container, AGENT_STAGE_LAUNCH, err.text);
}
