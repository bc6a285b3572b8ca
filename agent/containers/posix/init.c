/* The first process of a container; see init.h.
 *
 * Failures: a program that cannot be executed is told on standard error, exit status 1;
 * a status file that cannot be written is left out, its absence says "unknown". */
#include "agent/containers/posix/init.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/containers/posix/process_tree.h"

/* What cannot be killed in this time (it hangs in the kernel) is left alone. */
#define KILL_SECONDS 5

/* What the kernel sends when the parent ends. */
#define PARENT_ENDED (SIGRTMIN + 1)

struct request {
	const char *status_path;
	pid_t parent; /* that we are tied to; 0 = none */
	bool tty;
	const char *program;
	char **arguments;
};

static int init_parse(int argc, char **argv, struct request *request)
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
		else if (!strncmp(argv[i], "--program=", 10))
			request->program = argv[i] + 10;
		else
			return -1;
	}
	request->arguments = argv + i + 1;
	return i + 1 < argc && request->program ? 0 : -1;
}

static pid_t init_start(const struct request *request, const sigset_t *mask)
{
	pid_t pid = vfork();

	if (pid)
		return pid;
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(request->program, request->arguments);
	dprintf(STDERR_FILENO, "Failed to execute '%s': %s\n", request->program, strerror(errno));
	_exit(1);
}

/* Those of a terminal reach the child by themselves. */
static bool is_of_terminal(int signal)
{
	return signal == SIGINT || signal == SIGQUIT || signal == SIGTSTP || signal == SIGWINCH ||
	       signal == SIGTTIN || signal == SIGTTOU;
}

/* Reaps until `child` has ended; other signals are passed on to it. */
static int wait_for(const struct request *request, pid_t child, const sigset_t *all)
{
	int status;
	pid_t pid;

	for (;;) {
		int signal = sigwaitinfo(all, NULL);

		if (signal == PARENT_ENDED) {
			kill(child, SIGKILL);
			continue;
		}
		if (signal > 0 && signal != SIGCHLD) {
			if (!request->tty || !is_of_terminal(signal))
				kill(child, signal);
			continue;
		}
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
			if (pid == child)
				return status;
	}
}

/* All descendants are our children sooner or later, since orphans are given to us. */
static void kill_rest(void)
{
	struct timespec pause = {.tv_nsec = 1000000};
	time_t deadline = time(NULL) + KILL_SECONDS;

	for (;;) {
		pid_t *children = process_children();
		bool any = children[0] != 0;

		for (pid_t *pid = children; *pid; pid++)
			kill(*pid, SIGKILL);
		free(children);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (!any || time(NULL) > deadline)
			return;
		nanosleep(&pause, NULL);
	}
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

static int end_like(int status)
{
	struct rlimit none = {0, 0};
	sigset_t one;

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	setrlimit(RLIMIT_CORE, &none); /* the dump is the executor's, not ours */
	signal(WTERMSIG(status), SIG_DFL);
	kill(getpid(), WTERMSIG(status));
	sigemptyset(&one);
	sigaddset(&one, WTERMSIG(status));
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	return 128 + WTERMSIG(status);
}

/* Signals are blocked: what comes now is seen later. */
static void init_tie(const struct request *request)
{
	if (request->tty)
		ioctl(STDIN_FILENO, TIOCSCTTY, 0);
	if (!request->parent)
		return;
	prctl(PR_SET_PDEATHSIG, PARENT_ENDED, 0, 0, 0);
	if (getppid() != request->parent)
		kill(getpid(), PARENT_ENDED);
}

int init_main(int argc, char **argv)
{
	struct request request;
	sigset_t all, old;
	pid_t child;
	int status;

	if (init_parse(argc, argv, &request)) {
		fputs("usage: mesita init [--status=FILE] [--tied=PID] [--tty] --program=PROGRAM "
		      "-- "
		      "ARGV0 [ARGUMENT...]\n",
		      stderr);
		return 1;
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	init_tie(&request);
	child = init_start(&request, &old);
	if (child < 0) {
		fprintf(stderr, "Failed to fork: %s\n", strerror(errno));
		return 1;
	}
	status = wait_for(&request, child, &all);
	kill_rest();
	if (request.status_path)
		init_write_status(request.status_path, status);
	return end_like(status);
}
