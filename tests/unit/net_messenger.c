/* Messenger: exact bytes, order, links, bad peers. */
#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/http/http_internal.h"
#include "net/libprocess.h"
#include "net/limits.h"
#include "net_harness.h"

#define FROM "master@127.0.0.1:5050"
#define NAME "mesos.internal.PingSlaveMessage"

static struct fixture fixture;
static struct messenger *messenger;
static struct buf exits;
static char to[PID_MAX];
static void (*on_exit_do)(const char *pid);

static void on_exited(void *context, const char *pid)
{
	buf_puts(&exits, pid);
	buf_putc(&exits, '\n');
	if (on_exit_do)
		on_exit_do(pid);
}

static void set_up(void)
{
	fixture_init(&fixture);
	fixture_start(&fixture);
	messenger = messenger_create(&fixture.loop, NULL, on_exited, NULL);
	snprintf(to, sizeof(to), "slave(1)@127.0.0.1:%d", http_server_port(fixture.server));
}

static void tear_down(void)
{
	if (messenger)
		messenger_close(messenger);
	fixture_finish(&fixture);
	buf_free(&exits);
}

TestSuite(messenger, .init = set_up, .fini = tear_down, .timeout = 60);

/* A socket that listens and does nothing else. */
static int make_listener(char pid[PID_MAX])
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
	cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	cr_assert_eq(listen(fd, 8), 0);
	getsockname(fd, (struct sockaddr *)&address, &size);
	snprintf(pid, PID_MAX, "x@127.0.0.1:%d", ntohs(address.sin_port));
	return fd;
}

/* Turns the loop until so many bytes have arrived. */
static void receive(int fd, struct buf *in, size_t len)
{
	char bytes[65536];

	while (in->len < len && !fixture.expired) {
		uv_run(&fixture.loop, UV_RUN_NOWAIT);
		ssize_t count = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (count > 0)
			buf_append(in, bytes, (size_t)count);
	}
}

Test(messenger, sends_what_libprocess_sends)
{
	struct buf in = BUF_INIT;
	struct buf wanted = BUF_INIT;
	char pid[PID_MAX];
	int listener = make_listener(pid);

	messenger_send(messenger, FROM, pid, NAME, "0123456789ab", 12);
	messenger_send(messenger, FROM, strchr(pid, '@'), NAME, NULL, 0);
	buf_printf(&wanted,
		   "POST /x/" NAME " HTTP/1.1\r\n"
		   "User-Agent: libprocess/" FROM "\r\nLibprocess-From: " FROM "\r\n"
		   "Connection: Keep-Alive\r\nHost: %s\r\nTransfer-Encoding: chunked\r\n\r\n"
		   "c\r\n0123456789ab\r\n0\r\n\r\n"
		   "POST /" NAME " HTTP/1.1\r\n"
		   "User-Agent: libprocess/" FROM "\r\nLibprocess-From: " FROM "\r\n"
		   "Connection: Keep-Alive\r\nHost: %s\r\n\r\n",
		   strchr(pid, '@') + 1, strchr(pid, '@') + 1);
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	receive(fd, &in, wanted.len);
	cr_assert_str_eq(in.data, wanted.data);
	close(fd);
	close(listener);
	buf_free(&in);
	buf_free(&wanted);
}

Test(messenger, keeps_the_order)
{
	struct buf wanted = BUF_INIT;

	messenger_link(messenger, to);
	for (int i = 0; i < 1000; i++) {
		char body[16];
		snprintf(body, sizeof(body), "%d", i);
		messenger_send(messenger, FROM, to, "a.B", body, strlen(body));
		buf_printf(&wanted, FROM ">slave(1):a.B(%d)\n", i);
		if (i % 100 == 50)
			fixture_turn(&fixture);
	}
	until(&fixture, fixture.messages.len == wanted.len);
	cr_assert_str_eq(fixture.messages.data, wanted.data);
	buf_free(&wanted);
}

Test(messenger, brings_big_messages)
{
	size_t len = 900 * 1024;
	char *body = xmalloc(len);

	memset(body, 'b', len);
	for (int i = 0; i < 20; i++)
		messenger_send(messenger, FROM, to, "a.B", body, len);
	until(&fixture, fixture.messages.len > 20 * len);
	free(body);
}

Test(messenger, talks_both_ways_between_two)
{
	struct fixture other;
	char pid[PID_MAX];

	fixture_init(&other);
	/* One loop for both: the second server lives on the first one's. */
	other.options.loop = &fixture.loop;
	fixture_start(&other);
	snprintf(pid, sizeof(pid), "b@127.0.0.1:%d", http_server_port(other.server));
	messenger_link(messenger, pid);
	messenger_link(messenger, to);
	messenger_send(messenger, to, pid, "a.B", "x", 1);
	messenger_send(messenger, pid, to, "a.B", "y", 1);
	until(&fixture, fixture.messages.len > 0 && other.messages.len > 0);
	http_server_close(other.server, NULL, NULL);
	other.server = NULL;
	until(&fixture, exits.len > 0);
	cr_assert_eq(strncmp(exits.data, pid, strlen(pid)), 0);
	messenger_send(messenger, pid, to, "a.B", "z", 1);
	until(&fixture, fixture.messages.data && strstr(fixture.messages.data, "(z)"));
	fixture_finish(&other);
}

Test(messenger, reports_every_link_once)
{
	char second[PID_MAX];

	snprintf(second, sizeof(second), "other@%s", strchr(to, '@') + 1);
	messenger_link(messenger, to);
	messenger_link(messenger, second);
	messenger_link(messenger, to);
	messenger_send(messenger, FROM, to, "a.B", "x", 1);
	until(&fixture, fixture.messages.len > 0);
	cr_assert_eq(exits.len, 0);
	fixture_stop_server(&fixture);
	until(&fixture, exits.len == strlen(to) + strlen(second) + 2);
	cr_assert(strstr(exits.data, to) && strstr(exits.data, second));
}

Test(messenger, reports_nothing_for_unlinked_peers)
{
	char second[PID_MAX];

	snprintf(second, sizeof(second), "other@%s", strchr(to, '@') + 1);
	messenger_link(messenger, to);
	messenger_link(messenger, second);
	messenger_unlink(messenger, to);
	messenger_unlink(messenger, "never@127.0.0.1:1");
	messenger_send(messenger, FROM, to, "a.B", "x", 1);
	until(&fixture, fixture.messages.len > 0);
	fixture_stop_server(&fixture);
	until(&fixture, exits.len > 0);
	cr_assert_eq(strncmp(exits.data, second, strlen(second)), 0);
	cr_assert_eq(exits.len, strlen(second) + 1);
}

static void expect_exit(const char *pid)
{
	buf_clear(&exits);
	messenger_link(messenger, pid);
	messenger_send(messenger, FROM, pid, "a.B", "x", 1);
	cr_assert_eq(exits.len, 0, "not inside the call");
	until(&fixture, exits.len > 0);
	cr_assert_eq(strncmp(exits.data, pid, strlen(pid)), 0, "%s", exits.data);
}

Test(messenger, reports_peers_that_cannot_be_reached)
{
	char pid[PID_MAX];

	snprintf(pid, sizeof(pid), "x@127.0.0.1:%d", unused_port());
	expect_exit(pid);
	/* A label longer than names can have: the resolver knows without asking. */
	expect_exit("x@0123456789012345678901234567890123456789012345678901234567890123456789:1");
	expect_exit("no pid at all");
	expect_exit("@0.0.0.0:0");
	expect_exit("x@127.0.0.1:0");
	/* Others are still reached. */
	messenger_send(messenger, FROM, to, "a.B", "x", 1);
	until(&fixture, fixture.messages.len > 0);
}

Test(messenger, drops_messages_without_address)
{
	messenger_send(messenger, FROM, "@0.0.0.0:0", "a.B", "x", 1);
	messenger_send(messenger, FROM, "x y@127.0.0.1:1", "a.B", "x", 1);
	messenger_send(messenger, FROM, "", "a.B", "x", 1);
	messenger_send(messenger, FROM, to, "a.B", "x", 1);
	until(&fixture, fixture.messages.len > 0);
}

static void link_again(const char *pid)
{
	on_exit_do = NULL;
	messenger_link(messenger, pid);
	messenger_send(messenger, FROM, pid, "a.B", "again", 5);
}

Test(messenger, may_link_again_when_told)
{
	char pid[PID_MAX];

	snprintf(pid, sizeof(pid), "x@127.0.0.1:%d", unused_port());
	on_exit_do = link_again;
	messenger_link(messenger, pid);
	until(&fixture, exits.len == 2 * (strlen(pid) + 1));
}

static void close_now(const char *pid)
{
	messenger_close(messenger);
	messenger = NULL;
}

Test(messenger, may_be_closed_when_told)
{
	on_exit_do = close_now;
	messenger_link(messenger, "a@127.0.0.1:0");
	messenger_link(messenger, "b@127.0.0.1:0");
	until(&fixture, exits.len > 0);
	fixture_stop_server(&fixture);
	cr_assert_eq(exits.len, strlen("a@127.0.0.1:0\n"), "the other link is not reported");
}

Test(messenger, may_be_closed_at_any_time)
{
	char pid[PID_MAX];
	int listener = make_listener(pid);

	messenger_link(messenger, to);
	messenger_link(messenger, pid);
	messenger_link(messenger, "x@localhost:1");
	messenger_link(messenger, "bad");
	messenger_send(messenger, FROM, to, "a.B", "x", 1);
	messenger_close(messenger);
	messenger = NULL;
	fixture_stop_server(&fixture);
	cr_assert_eq(exits.len, 0);
	close(listener);
}

Test(messenger, resolves_names)
{
	char pid[PID_MAX];

	snprintf(pid, sizeof(pid), "n@localhost:%d", http_server_port(fixture.server));
	messenger_link(messenger, pid);
	messenger_send(messenger, FROM, pid, "a.B", "x", 1);
	until(&fixture, fixture.messages.len > 0);
}

Test(messenger, ignores_what_peers_say)
{
	struct buf in = BUF_INIT;
	char pid[PID_MAX], garbage[4096];
	int listener = make_listener(pid);

	messenger_link(messenger, pid);
	messenger_send(messenger, FROM, pid, "a.B", "x", 1);
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	receive(fd, &in, 1);
	memset(garbage, 0xff, sizeof(garbage));
	cr_assert_eq(send(fd, garbage, sizeof(garbage), MSG_NOSIGNAL), sizeof(garbage));
	size_t before = in.len;
	messenger_send(messenger, FROM, pid, "a.B", "y", 1);
	receive(fd, &in, before + 1);
	cr_assert_eq(exits.len, 0);
	close(fd);
	until(&fixture, exits.len > 0);
	close(listener);
	buf_free(&in);
}

Test(messenger, drops_peers_that_do_not_read)
{
	size_t len = 8 * 1024 * 1024;
	char *body = xcalloc(1, len);
	char pid[PID_MAX];
	int listener = make_listener(pid);

	messenger_link(messenger, pid);
	for (size_t sent = 0; sent < 2 * MESSENGER_QUEUE_MAX && exits.len == 0; sent += len) {
		messenger_send(messenger, FROM, pid, "a.B", body, len);
		uv_run(&fixture.loop, UV_RUN_NOWAIT);
	}
	until(&fixture, exits.len > 0);
	close(listener);
	free(body);
}

/* ---- time ---------------------------------------------------------------------------------- */

static void resume_cb(uv_timer_t *timer)
{
	*(bool *)timer->data = true;
	uv_close((uv_handle_t *)timer, NULL);
}

static void wait_ms(uint64_t ms)
{
	uv_timer_t timer;
	bool over = false;

	uv_timer_init(&fixture.loop, &timer);
	timer.data = &over;
	uv_timer_start(&timer, resume_cb, ms, 0);
	until(&fixture, over);
	uv_run(&fixture.loop, UV_RUN_NOWAIT);
}

Test(messenger, closes_what_is_idle_and_not_linked)
{
	messenger_limit_times(messenger, 5, 20000, 50);
	messenger_send(messenger, FROM, to, "a.B", "x", 1);
	until(&fixture, fixture.messages.len > 0);
	until(&fixture, fixture.server->connection_count == 0);
	messenger_send(messenger, FROM, to, "a.B", "y", 1);
	messenger_link(messenger, to);
	until(&fixture, strstr(fixture.messages.data, "(y)"));
	wait_ms(200);
	cr_assert_eq(fixture.server->connection_count, 1, "a link stays");
	messenger_unlink(messenger, to);
	until(&fixture, fixture.server->connection_count == 0);
	cr_assert_eq(exits.len, 0, "nobody asked to be told");
}

Test(messenger, keeps_what_is_used)
{
	messenger_limit_times(messenger, 5, 20000, 600);
	for (int i = 0; i < 8; i++) {
		messenger_send(messenger, FROM, to, "a.B", "x", 1);
		wait_ms(100);
	}
	cr_assert_eq(fixture.server->connection_count, 1);
	until(&fixture, fixture.server->connection_count == 0);
}

/* The listener's queue is full, so the kernel answers nobody. */
Test(messenger, gives_up_who_does_not_answer)
{
	char pid[PID_MAX], expected[PID_MAX + 1];
	int listener = make_listener(pid), callers[8];
	struct sockaddr_in address;
	socklen_t size = sizeof(address);

	cr_assert_eq(listen(listener, 0), 0);
	getsockname(listener, (struct sockaddr *)&address, &size);
	for (int i = 0; i < 8; i++) {
		callers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		connect(callers[i], (struct sockaddr *)&address, sizeof(address));
	}
	messenger_limit_times(messenger, 5, 100, 20000);
	messenger_link(messenger, pid);
	messenger_link(messenger, to);
	until(&fixture, exits.len > 0);
	snprintf(expected, sizeof(expected), "%s\n", pid);
	cr_assert_str_eq(exits.data, expected);
	cr_assert_eq(fixture.server->connection_count, 1);
	for (int i = 0; i < 8; i++)
		close(callers[i]);
	close(listener);
}

Test(messenger, a_report_that_is_due_is_forgotten_with_its_link)
{
	messenger_link(messenger, "a@127.0.0.1:0");
	messenger_link(messenger, "b@127.0.0.1:0");
	messenger_unlink(messenger, "a@127.0.0.1:0");
	until(&fixture, exits.len > 0);
	wait_ms(20);
	cr_assert_str_eq(exits.data, "b@127.0.0.1:0\n");
}
