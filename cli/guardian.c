/* See guardian.h. The command channel is a SOCK_SEQPACKET pair: one packet holds
 * the log's path and the arguments, each ended by NUL. */
#include "cli/guardian.h"

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

#include "base/buf.h"

#define COMMAND_MAX 16384 /* bytes of one start command */
#define ARGUMENTS_MAX 64

/* ---- in the guardian ----------------------------------------------------- */

static void run_program(char *packet, size_t len)
{
	char *argv[ARGUMENTS_MAX + 1];
	int count = 0, fd;
	sigset_t none;

	for (size_t at = strlen(packet) + 1; at < len && count < ARGUMENTS_MAX;
	     at += strlen(packet + at) + 1)
		argv[count++] = packet + at;
	argv[count] = NULL;
	if (*packet) {
		fd = open(packet, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
		if (fd >= 0) {
			dup2(fd, 1);
			dup2(fd, 2);
		}
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execv(argv[0], argv);
	fprintf(stderr, "cannot run %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

/* Kills every child; grandchildren become ours (we are their subreaper) and are
 * killed in a later round. Ends when there are no children left. */
static void kill_all(void)
{
	char path[64], line[65536];

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	for (;;) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t len = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
		char *save = NULL;

		if (fd >= 0)
			close(fd);
		line[len > 0 ? len : 0] = 0;
		for (char *pid = strtok_r(line, " ", &save); pid; pid = strtok_r(NULL, " ", &save))
			kill((pid_t)atol(pid), SIGKILL);
		if (waitpid(-1, NULL, 0) < 0 && errno == ECHILD)
			return;
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}

/* Reaps; true when a program that we started ended (orphans are only reaped). */
static bool program_ended(const pid_t *programs, int count)
{
	pid_t pid;
	bool ended = false;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		for (int i = 0; i < count; i++)
			ended |= programs[i] == pid;
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

static void guard(int channel)
{
	char packet[COMMAND_MAX];
	pid_t *programs = NULL;
	int count = 0, children;
	struct signalfd_siginfo drained;

	setsid();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	children = watch_children();
	for (;;) {
		struct pollfd polled[2] = {{channel, POLLIN, 0}, {children, POLLIN, 0}};
		ssize_t len;

		if (poll(polled, 2, -1) < 0)
			continue;
		while (read(children, &drained, sizeof(drained)) > 0)
			;
		if (program_ended(programs, count))
			break;
		if (!polled[0].revents)
			continue;
		len = recv(channel, packet, sizeof(packet) - 1, 0);
		if (len <= 0)
			break;
		packet[len] = 0;
		programs = realloc(programs, (size_t)(count + 1) * sizeof(*programs));
		if (!programs)
			break;
		programs[count] = fork();
		if (programs[count] == 0)
			run_program(packet, (size_t)len);
		count++;
	}
	kill_all();
	_exit(0);
}

/* ---- in the supervisor --------------------------------------------------- */

int guardian_fork(pid_t *guardian, int *alive, struct err *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(err, ERR_IO, "socketpair: %s", strerror(errno));
	*guardian = fork();
	if (*guardian < 0)
		return err_set(err, ERR_IO, "fork: %s", strerror(errno));
	if (*guardian == 0) {
		close(pair[1]);
		guard(pair[0]);
	}
	close(pair[0]);
	*alive = pair[1];
	return 0;
}

int guardian_start(int alive, char *const *argv, const char *log, struct err *err)
{
	struct buf packet = BUF_INIT;
	int rv = 0;

	buf_append(&packet, log ? log : "", log ? strlen(log) + 1 : 1);
	for (; *argv; argv++)
		buf_append(&packet, *argv, strlen(*argv) + 1);
	if (packet.len >= COMMAND_MAX)
		rv = err_set(err, ERR_LIMIT, "the flags are too long");
	else if (send(alive, packet.data, packet.len, MSG_NOSIGNAL) < 0)
		rv = err_set(err, ERR_IO, "the guardian process is gone: %s", strerror(errno));
	buf_free(&packet);
	return rv;
}

static int remove_entry(const char *path, const struct stat *stat, int kind, struct FTW *ftw)
{
	(void)stat;
	(void)kind;
	(void)ftw;
	return remove(path);
}

void guardian_remove_tree(const char *path)
{
	nftw(path, remove_entry, 32, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
