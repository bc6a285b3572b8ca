/* See guardian.h. The command channel is a SOCK_SEQPACKET pair: one packet holds
 * the log's path and the arguments, each ended by NUL; one without arguments means that
 * the directory is to be kept.
 *
 * Failure modes: when the guardian itself is killed with SIGKILL, the kernel kills the
 * daemons; executors then end by themselves as their agent is gone. */
#include "cli/executor/guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/containers/posix/process_tree.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"

#define COMMAND_MAX 65536 /* bytes of one start command */
#define ARGUMENTS_MAX 64

/* ---- in the guardian ----------------------------------------------------- */

struct guardian {
	int channel;
	int children; /* readable when children end */
	pid_t *programs;
	size_t count;
	const char *own_dir; /* to remove at the end, or NULL */
};

static void redirect(const char *path, int flags, int fd)
{
	int opened = open(path, flags | O_CLOEXEC, 0644);

	if (opened >= 0)
		dup2(opened, fd);
}

static void __attribute__((noreturn)) run_program(char *packet, size_t len, pid_t parent)
{
	char *argv[ARGUMENTS_MAX + 1];
	int count = 0;
	sigset_t none;

	for (size_t at = strlen(packet) + 1; at < len && count < ARGUMENTS_MAX;
	     at += strlen(packet + at) + 1)
		argv[count++] = packet + at;
	argv[count] = NULL;
	redirect("/dev/null", O_RDONLY, STDIN_FILENO);
	if (*packet)
		redirect(packet, O_WRONLY | O_CREAT | O_APPEND, STDERR_FILENO);
	/* Standard output is for what the supervisor says. */
	dup2(STDERR_FILENO, STDOUT_FILENO);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	execv(argv[0], argv);
	fprintf(stderr, "cannot run %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

/* Kills every child; grandchildren become ours (we are their subreaper) and are
 * killed in a later round. Ends when there are no children left. */
static void kill_all(void)
{
	for (;;) {
		pid_t *list = process_children();

		for (size_t i = 0; list[i]; i++)
			kill(list[i], SIGKILL);
		free(list);
		if (waitpid(-1, NULL, 0) < 0 && errno == ECHILD)
			return;
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}

static int remove_entry(const char *path, const struct stat *stat, int kind, struct FTW *ftw)
{
	(void)stat;
	(void)kind;
	(void)ftw;
	remove(path);
	return 0;
}

static void __attribute__((noreturn)) end(struct guardian *g)
{
	kill_all();
	if (g->own_dir)
		nftw(g->own_dir, remove_entry, 32, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	_exit(0);
}

/* Reaps; true when a program that we started ended (orphans are only reaped). */
static bool program_ended(const struct guardian *g)
{
	struct signalfd_siginfo drained;
	bool ended = false;
	pid_t pid;

	while (read(g->children, &drained, sizeof(drained)) > 0)
		;
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		for (size_t i = 0; i < g->count; i++)
			ended |= g->programs[i] == pid;
	return ended;
}

/* A descriptor that becomes readable when children end. */
static int watch_children(void)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	return signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Carries out one command of the supervisor; false: it is gone. */
static bool obey(struct guardian *g)
{
	char packet[COMMAND_MAX];
	ssize_t len = recv(g->channel, packet, sizeof(packet) - 1, 0);
	pid_t self = getpid(), pid;

	if (len <= 0)
		return false;
	packet[len] = 0;
	if (strlen(packet) + 1 >= (size_t)len) {
		g->own_dir = NULL;
		return true;
	}
	pid = fork();
	if (pid == 0)
		run_program(packet, (size_t)len, self);
	if (pid < 0)
		return false;
	g->programs = xrealloc(g->programs, (g->count + 1) * sizeof(*g->programs));
	g->programs[g->count++] = pid;
	return true;
}

static void __attribute__((noreturn)) guard(int channel, const char *own_dir)
{
	struct guardian g = {.channel = channel, .own_dir = own_dir};

	setsid();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	g.children = watch_children();
	for (;;) {
		struct pollfd polled[2] = {{channel, POLLIN, 0}, {g.children, POLLIN, 0}};

		if (poll(polled, 2, -1) < 0)
			continue;
		if (program_ended(&g)) {
			g.own_dir = NULL;
			end(&g);
		}
		if (polled[0].revents && !obey(&g))
			end(&g);
	}
}

/* ---- in the supervisor --------------------------------------------------- */

int guardian_fork(const char *own_dir, pid_t *guardian, int *alive, struct err *err)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(err, ERR_IO, "socketpair: %s", strerror(errno));
	pid = fork();
	if (pid == 0) {
		close(pair[1]);
		guard(pair[0], own_dir);
	}
	close(pair[0]);
	if (pid < 0) {
		close(pair[1]);
		return err_set(err, ERR_IO, "fork: %s", strerror(errno));
	}
	*guardian = pid;
	*alive = pair[1];
	return 0;
}

static int command(int alive, const struct buf *packet, struct err *err)
{
	if (packet->len >= COMMAND_MAX)
		return err_set(err, ERR_LIMIT, "the flags are too long");
	if (send(alive, packet->data, packet->len, MSG_NOSIGNAL) < 0)
		return err_set(err, ERR_IO, "the guardian process is gone: %s", strerror(errno));
	return 0;
}

int guardian_start(int alive, char *const *argv, const char *log, struct err *err)
{
	struct buf packet = BUF_INIT;
	int rv;

	buf_append(&packet, log ? log : "", log ? strlen(log) + 1 : 1);
	for (; *argv; argv++)
		buf_append(&packet, *argv, strlen(*argv) + 1);
	rv = command(alive, &packet, err);
	buf_free(&packet);
	return rv;
}

void guardian_keep(int alive)
{
	struct buf packet = BUF_INIT;
	struct err err;

	buf_putc(&packet, '\0');
	(void)command(alive, &packet, &err);
	buf_free(&packet);
}
