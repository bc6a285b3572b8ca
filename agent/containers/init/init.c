/* The first process of a container; see init.h.
 *
 * Failures: a program that cannot be executed, or a room that cannot be made, is told on standard
 * error, exit status 1; a status file that cannot be written is left out, its absence says
 * "unknown". */
#include "agent/containers/init/init.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/containers/init/init_internal.h"
#include "agent/containers/linux/launch_message.h"

static int init_parse(int argc, char **argv, struct init_request *request)
{
	int i;

	memset(request, 0, sizeof(*request));
	for (i = 0; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strncmp(argv[i], "--status=", 9))
			request->status_path = argv[i] + 9;
		else if (!strncmp(argv[i], "--tied=", 7))
			request->parent = (pid_t)strtol(argv[i] + 7, NULL, 10);
		else if (!strcmp(argv[i], "--tty"))
			request->tty = true;
		else if (!strncmp(argv[i], "--terminal=", 11))
			request->terminal_size = argv[i] + 11;
		else if (!strcmp(argv[i], "--keeps_signals"))
			request->keeps_signals = true;
		else if (!strcmp(argv[i], "--launch"))
			request->launch = true;
		else if (!strncmp(argv[i], "--enter=", 8))
			request->enter = (pid_t)strtol(argv[i] + 8, NULL, 10);
		else if (!strncmp(argv[i], "--program=", 10))
			request->program = argv[i] + 10;
		else
			return -1;
	}
	if (request->launch)
		return 0;
	request->arguments = argv + i + 1;
	return i + 1 < argc && request->program ? 0 : -1;
}

static pid_t init_start(const struct init_request *request, const sigset_t *mask)
{
	pid_t pid = vfork();

	if (pid)
		return pid;
	if (request->terminal) {
		setsid();
		terminal_take(request->terminal);
	}
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(request->program, request->arguments);
	dprintf(STDERR_FILENO, "Failed to execute '%s': %s\n", request->program, strerror(errno));
	_exit(1);
}

static void init_write_status(const char *path, int status)
{
	char text[16], fresh[4096];
	int len = snprintf(text, sizeof(text), "%d", status), fd;

	if (snprintf(fresh, sizeof(fresh), "%s.new", path) >= (int)sizeof(fresh))
		return;
	fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return;
	if (write(fd, text, (size_t)len) == len)
		rename(fresh, path);
	close(fd);
}

/* Signals are blocked: what comes now is seen later. */
static void init_tie(const struct init_request *request)
{
	if (!request->parent)
		return;
	prctl(PR_SET_PDEATHSIG, INIT_PARENT_ENDED, 0, 0, 0);
	if (getppid() != request->parent)
		kill(getpid(), INIT_PARENT_ENDED);
}

static pid_t start_in_room(const struct init_request *request, int *report, enum init_keeps *keeps)
{
	struct err err = {""};
	Mesita__ContainerLaunch *launch = launch_message_read(&err);
	pid_t child = launch ? init_room_start(request, launch, report, &err) : -1;

	if (launch && launch->keeps_signals)
		*keeps = INIT_KEEPS_ALL;
	proto_free(launch);
	if (child < 0)
		fprintf(stderr, "Failed to start the container: %s\n", err.text);
	return child;
}

static pid_t start_plainly(const struct init_request *request, const sigset_t *mask,
			   enum init_keeps *keeps)
{
	pid_t child;

	if (request->tty) {
		ioctl(STDIN_FILENO, TIOCSCTTY, 0);
		*keeps = INIT_KEEPS_TERMINALS;
	}
	if (request->keeps_signals)
		*keeps = INIT_KEEPS_ALL;
	child = init_start(request, mask);
	if (child < 0)
		fprintf(stderr, "Failed to fork: %s\n", strerror(errno));
	return child;
}

static int init_open_terminal(struct init_request *request)
{
	struct err err = {""};

	if (!request->terminal_size)
		return 0;
	request->terminal = terminal_open(request->terminal_size, &err);
	if (request->terminal)
		return 0;
	fprintf(stderr, "Failed to start the container: %s\n", err.text);
	return -1;
}

int init_main(int argc, char **argv)
{
	struct init_request request;
	enum init_keeps keeps = INIT_KEEPS_NONE;
	sigset_t all, old;
	pid_t child;
	int status, report = -1;

	if (init_parse(argc, argv, &request)) {
		fputs("usage: mesita init [--status=FILE] [--tied=PID] [--tty | "
		      "--terminal=ROWSxCOLUMNS] [--keeps_signals] --program=PROGRAM "
		      "-- ARGV0 [ARGUMENT...]\n"
		      "       mesita init [--status=FILE] [--tied=PID] [--tty | "
		      "--terminal=ROWSxCOLUMNS] --launch [--enter=PID]\n",
		      stderr);
		return 1;
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	init_tie(&request);
	if (init_open_terminal(&request) < 0)
		return 1;
	child = request.launch ? start_in_room(&request, &report, &keeps)
			       : start_plainly(&request, &old, &keeps);
	if (child < 0)
		return 1;
	status = init_wait(child, &all, keeps, request.terminal);
	init_kill_rest();
	if (request.terminal)
		terminal_close(request.terminal);
	if (request.launch)
		status = init_room_status(report, status);
	if (request.status_path)
		init_write_status(request.status_path, status);
	status = init_end_like(status);
	/* Our children may be in another namespace, in which a sanitizer's last look hangs. */
	if (request.launch)
		_exit(status);
	return status;
}
