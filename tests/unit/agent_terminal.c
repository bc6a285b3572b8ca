/* A terminal and who attaches to it: its socket, and what goes over that. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/containers/terminal/terminal.h"
#include "base/memory/buf.h"

static char directory[] = "/tmp/mesita-terminal-XXXXXX";
static pid_t server;

static void set_up(void)
{
	cr_assert(mkdtemp(directory));
}

static void tear_down(void)
{
	if (server)
		kill(server, SIGKILL);
	terminal_remove(directory, "c");
	char above[64];

	snprintf(above, sizeof(above), "%s/terminals", directory);
	rmdir(above);
	rmdir(directory);
}

TestSuite(agent_terminal, .init = set_up, .fini = tear_down, .timeout = 60);

/* As an init: a shell command at a terminal, what it shows goes to `shown`. */
static void __attribute__((noreturn)) serve(int listener, int shown, const char *command)
{
	struct err err;
	struct terminal *terminal;
	sigset_t all;
	pid_t child;
	int signals;

	dup2(shown, 1);
	if (listener != TERMINAL_FD)
		dup2(listener, TERMINAL_FD);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	terminal = terminal_open("24x80", &err);
	signals = signalfd(-1, &all, SFD_CLOEXEC);
	child = fork();
	if (!child) {
		sigset_t none;

		setsid();
		terminal_take(terminal);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(1);
	}
	terminal_serve(terminal, signals);
	while (waitpid(child, NULL, 0) != child)
		;
	terminal_close(terminal);
	_exit(0);
}

/* Returns the reading end of what is shown. */
static int start(const char *command)
{
	struct err err;
	int listener = terminal_listen(directory, "c", &err), shown[2];

	cr_assert_geq(listener, 0, "%s", err.text);
	cr_assert_eq(pipe(shown), 0);
	server = fork();
	if (!server)
		serve(listener, shown[1], command);
	close(listener);
	close(shown[1]);
	return shown[0];
}

/* Returns how many bytes came until the text had come. */
static size_t await(int fd, const char *text)
{
	struct buf all = BUF_INIT;
	char piece[4096];
	size_t len;

	while (!all.len || !memmem(all.data, all.len, text, strlen(text))) {
		struct pollfd in = {.fd = fd, .events = POLLIN};
		ssize_t got;

		poll(&in, 1, -1);
		got = read(fd, piece, sizeof(piece));
		cr_assert_gt(got, 0, "'%s' does not come", text);
		buf_append(&all, piece, (size_t)got);
	}
	len = all.len;
	buf_free(&all);
	return len;
}

static void type(int fd, const char *keys)
{
	char head[TERMINAL_HEAD];

	terminal_head(head, TERMINAL_INPUT, strlen(keys));
	cr_assert_eq(write(fd, head, sizeof(head)), TERMINAL_HEAD);
	cr_assert_eq(write(fd, keys, strlen(keys)), (ssize_t)strlen(keys));
}

static bool is_closed(int fd)
{
	struct pollfd in = {.fd = fd, .events = POLLIN};
	char piece[4096];
	ssize_t got;

	do {
		poll(&in, 1, -1);
		got = read(fd, piece, sizeof(piece));
	} while (got > 0);
	return true;
}

Test(agent_terminal, is_shown_to_all_and_takes_from_all)
{
	int shown = start("stty -echo; echo ready; while read x; do echo got $x `stty size`; done");
	int one, two;
	char frame[TERMINAL_HEAD + 4];

	await(shown, "ready");
	one = terminal_connect(directory, "c");
	two = terminal_connect(directory, "c");
	type(one, "a\n");
	await(one, "got a 24 80\r\n");
	await(shown, "got a 24 80\r\n");
	cr_assert_eq(terminal_size_frame(frame, 300, 2), sizeof(frame));
	/* In pieces, as a stream may bring it. */
	for (size_t i = 0; i < sizeof(frame); i++)
		cr_assert_eq(write(two, frame + i, 1), 1);
	type(two, "b\n");
	await(two, "got b 300 2\r\n");
	close(one);
	type(two, "\x04");
	cr_expect(is_closed(two));
	cr_expect_eq(waitpid(server, NULL, 0), server);
	server = 0;
	cr_expect_eq(terminal_connect(directory, "c"), -1, "it has ended");
}

Test(agent_terminal, closes_who_sends_what_is_no_frame)
{
	static const char *const wrong[] = {"x\0\0\0\0", "w\3\0\0\0", "w\4\0\0\1", "\0\0\0\0\0"};
	int shown = start("echo ready; read x; echo got $x");

	await(shown, "ready");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		int fd = terminal_connect(directory, "c");

		cr_assert_eq(write(fd, wrong[i], TERMINAL_HEAD), TERMINAL_HEAD);
		cr_expect(is_closed(fd));
		close(fd);
	}
	type(terminal_connect(directory, "c"), "it\n");
	await(shown, "got it\r\n");
}

Test(agent_terminal, has_a_few_places_which_come_free)
{
	int shown = start("stty -echo; echo ready; while read x; do echo $x; done"), fds[5];

	await(shown, "ready");
	for (int i = 0; i < 4; i++) {
		fds[i] = terminal_connect(directory, "c");
		type(fds[i], "in\n");
		await(fds[i], "in");
	}
	fds[4] = terminal_connect(directory, "c");
	cr_expect(is_closed(fds[4]));
	close(fds[1]);
	/* Its leaving may be seen after the next one comes. */
	for (bool in = false; !in;) {
		struct pollfd polled = {.events = POLLIN};
		char byte;

		polled.fd = terminal_connect(directory, "c");
		type(fds[0], "x\n");
		poll(&polled, 1, -1);
		in = read(polled.fd, &byte, 1) == 1;
		close(polled.fd);
	}
}

Test(agent_terminal, one_that_does_not_read_stops_it_for_a_while)
{
	int shown = start("echo ready; read x; head -c 4000000 /dev/zero; echo end");
	int deaf, fd;

	await(shown, "ready");
	deaf = terminal_connect(directory, "c");
	fd = terminal_connect(directory, "c");
	type(fd, "\n");
	close(fd);
	cr_expect_gt(await(shown, "end"), 4000000);
	cr_expect(is_closed(deaf));
}

Test(agent_terminal, keys_of_one_that_leaves_are_typed)
{
	int shown = start("stty -echo; echo ready; while read x; do echo got $x; done"), fd;

	struct buf keys = BUF_INIT;

	/* More than is read at once, and it never takes the answers. */
	for (int i = 0; i < 40000; i++)
		buf_append(&keys, "x\n", 2);
	buf_append(&keys, "all\n", 5);
	await(shown, "ready");
	fd = terminal_connect(directory, "c");
	type(fd, keys.data);
	close(fd);
	await(shown, "got all");
	buf_free(&keys);
}

Test(agent_terminal, nobody_else_may_connect)
{
	struct err err;
	int listener = terminal_listen(directory, "c", &err);
	char path[64];
	struct stat status;

	snprintf(path, sizeof(path), "%s/terminals/c", directory);
	cr_assert_eq(stat(path, &status), 0);
	cr_expect_eq(status.st_mode & 077, 0);
	close(listener);
	/* What an earlier life left is replaced. */
	listener = terminal_listen(directory, "c", &err);
	cr_expect_geq(listener, 0);
	cr_expect_geq(terminal_connect(directory, "c"), 0);
	cr_expect_eq(terminal_connect(directory, "d"), -1);
	terminal_remove(directory, "c");
	cr_expect_eq(stat(path, &status), -1);
	cr_expect_eq(terminal_connect(directory, "c"), -1);
	cr_expect_eq(terminal_listen("/nowhere/at/all", "c", &err), ERR_IO);
}
