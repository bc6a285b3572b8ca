/* The guardian of `mesita local`: nothing outlives the supervisor. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory/arena.h"
#include "cli/executor/guardian.h"

#define PIDS 4
#define GUARD_MS 20000

static char directory[64], *fifo;
static int output;	    /* what the programs wrote to their log */
static int from_supervisor; /* the guardian's pid */
static int watches[PIDS + 1];

static void set_up(void)
{
	strcpy(directory, "/tmp/mesita-guardian.XXXXXX");
	cr_assert_not_null(mkdtemp(directory));
	fifo = xprintf("%s/log", directory);
	cr_assert_eq(mkfifo(fifo, 0600), 0);
	output = open(fifo, O_RDWR | O_CLOEXEC);
	cr_assert_geq(output, 0);
}

static void tear_down(void)
{
	unlink(fifo);
	rmdir(directory);
	free(fifo);
	close(output);
}

TestSuite(guardian, .init = set_up, .fini = tear_down, .timeout = 60);

/* A program with a child, a child in a session of its own, and one that nobody waits
 * for; each is named on the log. */
static char script[] = "sleep 1000 & a=$!; setsid sleep 1000 & b=$!; "
		       "c=$(sleep 1000 >/dev/null & echo $!); echo $$ $a $b $c; wait";

static void __attribute__((noreturn)) supervise(int report, char *command, bool keep)
{
	char *argv[] = {"/bin/sh", "-c", command, NULL};
	struct err err;
	pid_t guardian;
	int alive;

	if (guardian_fork(directory, &guardian, &alive, &err) < 0 ||
	    guardian_start(alive, argv, fifo, &err) < 0)
		_exit(1);
	if (keep)
		guardian_keep(alive);
	if (write(report, &guardian, sizeof(guardian)) < 0)
		_exit(1);
	for (;;)
		pause();
}

static pid_t start_supervisor(char *command, bool keep)
{
	pid_t pid, guardian;
	int pipes[2];

	cr_assert_eq(pipe(pipes), 0);
	pid = fork();
	if (pid == 0)
		supervise(pipes[1], command, keep);
	close(pipes[1]);
	from_supervisor = pipes[0];
	cr_assert_eq(read(from_supervisor, &guardian, sizeof(guardian)), sizeof(guardian));
	close(from_supervisor);
	watches[0] = (int)syscall(SYS_pidfd_open, guardian, 0);
	cr_assert_geq(watches[0], 0);
	return pid;
}

static void watch_programs(void)
{
	char line[256];
	int pids[PIDS];
	ssize_t len = read(output, line, sizeof(line) - 1);

	cr_assert_gt(len, 0);
	line[len] = 0;
	cr_assert_eq(sscanf(line, "%d %d %d %d", &pids[0], &pids[1], &pids[2], &pids[3]), PIDS,
		     "%s", line);
	for (int i = 0; i < PIDS; i++) {
		watches[i + 1] = (int)syscall(SYS_pidfd_open, pids[i], 0);
		cr_assert_geq(watches[i + 1], 0);
	}
}

static void expect_end(int count)
{
	for (int i = count - 1; i >= 0; i--) {
		struct pollfd polled = {watches[i], POLLIN, 0};

		cr_assert_eq(poll(&polled, 1, GUARD_MS), 1, "process %d lives on", i);
		close(watches[i]);
	}
}

Test(guardian, everything_dies_with_a_killed_supervisor)
{
	pid_t supervisor = start_supervisor(script, false);

	watch_programs();
	kill(supervisor, SIGKILL);
	waitpid(supervisor, NULL, 0);
	expect_end(PIDS + 1);
	cr_assert_eq(access(directory, F_OK), -1);
	cr_assert_eq(errno, ENOENT);
}

Test(guardian, keeps_the_directory_when_told)
{
	pid_t supervisor = start_supervisor(script, true);

	watch_programs();
	kill(supervisor, SIGKILL);
	waitpid(supervisor, NULL, 0);
	expect_end(PIDS + 1);
	cr_assert_eq(access(directory, F_OK), 0);
}

Test(guardian, ends_when_a_program_ends_and_keeps_its_log)
{
	pid_t supervisor = start_supervisor("exit 3", false);

	expect_end(1);
	cr_assert_eq(access(directory, F_OK), 0);
	kill(supervisor, SIGKILL);
	waitpid(supervisor, NULL, 0);
}

Test(guardian, programs_die_with_a_killed_guardian)
{
	pid_t supervisor = start_supervisor("echo $$ $$ $$ $$; exec sleep 1000", false);

	watch_programs();
	syscall(SYS_pidfd_send_signal, watches[0], SIGKILL, NULL, 0);
	expect_end(PIDS + 1);
	kill(supervisor, SIGKILL);
	waitpid(supervisor, NULL, 0);
}
