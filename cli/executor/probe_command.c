/* Probes that are programs: the command of a COMMAND check, and curl.
 *
 * A command runs in the sandbox with the executor's environment and its own, and what
 * it says goes to the executor's standard error; its exit code is the result. curl's
 * result is the HTTP status that it prints; its complaints go to standard error.
 * Failures: the program cannot be started or dies of a signal; curl fails or prints no
 * status. Without the curl program there is no probe. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/containers/posix/process_tree.h"
#include "agent/containers/posix/spawn.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "cli/executor/executor_command.h"
#include "cli/executor/probe_internal.h"

extern char **environ;

struct program_probe {
	struct probe base;
	pid_t pid;
	int output; /* curl's, a file in memory; -1 for a command */
};

static void program_free(struct program_probe *p)
{
	if (p->output >= 0)
		close(p->output);
	free(p);
}

static void program_cancel(struct probe *probe)
{
	struct program_probe *p = (struct program_probe *)probe;

	process_tree_signal(p->pid, SIGKILL, true);
	program_free(p);
}

static void command_over(struct program_probe *p, int status)
{
	char *message;

	if (WIFEXITED(status)) {
		probe_say(&p->base, PROBE_RESULT, WEXITSTATUS(status), NULL);
		return;
	}
	message = executor_command_message(status);
	probe_say(&p->base, PROBE_FAILED, 0, message);
	free(message);
}

static void curl_over(struct program_probe *p, int status)
{
	char text[16], *end, *message;
	ssize_t len;
	long code;

	if (status != 0) {
		message = executor_command_message(status);
		probe_say(&p->base, PROBE_FAILED, 0, message);
		free(message);
		return;
	}
	len = pread(p->output, text, sizeof(text) - 1, 0);
	text[len > 0 ? len : 0] = 0;
	code = strtol(text, &end, 10);
	if (end == text || *end || code < 0 || code > 999)
		probe_say(&p->base, PROBE_FAILED, 0, "curl printed no HTTP status");
	else
		probe_say(&p->base, PROBE_RESULT, (int)code, NULL);
}

static bool program_reap(struct probe *probe, pid_t pid, int status)
{
	struct program_probe *p = (struct program_probe *)probe;

	if (pid != p->pid)
		return false;
	if (p->output >= 0)
		curl_over(p, status);
	else
		command_over(p, status);
	program_free(p);
	return true;
}

static const struct probe_ops program_ops = {program_reap, program_cancel};

static struct probe *program_create(pid_t pid, int output)
{
	struct program_probe *p;

	if (pid < 0)
		return NULL;
	p = xcalloc(1, sizeof(*p));
	p->base.ops = &program_ops;
	p->pid = pid;
	p->output = output;
	return &p->base;
}

static struct probe *start_program(struct spawn *spawn, int output, struct err *err)
{
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	pid_t pid;

	spawn->directory = ".";
	spawn->input = nothing;
	spawn->output = output >= 0 ? output : STDERR_FILENO;
	spawn->error = STDERR_FILENO;
	spawn->leaves_orphans = true;
	pid = spawn_process(spawn, err);
	if (nothing >= 0)
		close(nothing);
	return program_create(pid, output);
}

struct probe *probe_command_inside(pid_t inside, const Mesita__ContainerLaunch *launch,
				   const Mesos__CommandInfo *command, enum probe_outcome *outcome,
				   struct err *err)
{
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct spawn spawn = {.input = nothing, .output = STDERR_FILENO, .error = STDERR_FILENO};
	pid_t pid = executor_command_enter(inside, launch, command, &spawn, err);

	*outcome = PROBE_FAILED;
	if (nothing >= 0)
		close(nothing);
	return program_create(pid, -1);
}

struct probe *probe_command_start(const Mesos__CommandInfo *command, enum probe_outcome *outcome,
				  struct err *err)
{
	Mesos__TaskInfo task = MESOS__TASK_INFO__INIT;
	struct spawn spawn = {.program = command->shell ? "/bin/sh" : command->value};
	struct probe *probe;
	struct arena arena;

	*outcome = PROBE_FAILED;
	if (!command->value) {
		err_set(err, ERR_INVALID, "There is no command");
		return NULL;
	}
	task.command = (Mesos__CommandInfo *)command;
	arena_init(&arena);
	spawn.arguments = executor_command_arguments(&arena, command);
	spawn.environment = executor_command_environment(&arena, environ, &task);
	probe = start_program(&spawn, -1, err);
	arena_free(&arena);
	return probe;
}

struct probe *probe_curl_start(const char *url, enum probe_outcome *outcome, struct err *err)
{
	const char *arguments[] = {"curl",	   "-s", "-S",	      "-L", "-k", "-w",
				   "%{http_code}", "-o", "/dev/null", "-g", url,  NULL};
	struct spawn spawn = {
		.program = "curl",
		.arguments = (char *const *)arguments,
		.environment = environ,
	};
	int output = memfd_create("curl", MFD_CLOEXEC);
	struct probe *probe;

	*outcome = PROBE_UNAVAILABLE;
	if (output < 0) {
		err_set(err, ERR_IO, "No file in memory: %s", strerror(errno));
		return NULL;
	}
	probe = start_program(&spawn, output, err);
	if (!probe) {
		close(output);
		err_wrap(err, ERR_IO, "https is probed by the curl program");
	}
	return probe;
}
