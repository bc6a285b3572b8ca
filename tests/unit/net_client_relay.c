/* Answers that the HTTP client passes on as they come. */
#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/client.h"
#include "net_harness.h"

static struct fixture fixture;
static struct http_client *client;
static struct buf told; /* "status type length|" "part" "|whole" or "|cut" */
static size_t parts_len;
static bool pauses;
static enum { NOWHERE, IN_HEAD, IN_PART, IN_END } close_in;

static void close_if(int place)
{
	if ((int)close_in != place)
		return;
	http_client_close(client);
	client = NULL;
}

static void on_head(void *context, const struct http_answer *answer, int64_t length)
{
	cr_assert_eq(answer->body.len, 0);
	cr_assert_eq(answer->status == 0, answer->error != NULL);
	buf_printf(&told, "%d %s %s %lld|", answer->status, answer->content_type,
		   answer->disposition, (long long)length);
	close_if(IN_HEAD);
}

static void on_part(void *context, struct slice part)
{
	cr_assert_gt(part.len, 0);
	parts_len += part.len;
	if (part.len < 100)
		buf_append(&told, part.data, part.len);
	if (pauses)
		http_client_pause(client, true);
	close_if(IN_PART);
}

static void on_ended(void *context, bool whole)
{
	buf_puts(&told, whole ? "|whole" : "|cut");
	close_if(IN_END);
}

static const struct http_relay_handlers handlers = {on_head, on_part, on_ended};

static void set_up(void)
{
	fixture_init(&fixture);
	fixture.big_size = 8 << 20;
	fixture_start(&fixture);
	client = http_client_create(&fixture.loop, "127.0.0.1", http_server_port(fixture.server));
}

static void tear_down(void)
{
	if (client)
		http_client_close(client);
	fixture_finish(&fixture);
	buf_free(&told);
}

TestSuite(relay, .init = set_up, .fini = tear_down, .timeout = 60);

static void ask(const char *path, int timeout_ms)
{
	http_client_relay(client, path, NULL, timeout_ms, &handlers, NULL);
}

static bool was_told(const char *text)
{
	return told.data && strcmp(told.data, text) == 0;
}

Test(relay, passes_an_answer_on)
{
	ask("/hello", 1000);
	until(&fixture, was_told("200   5|hello|whole"));
	cr_assert_str_eq(fixture.log.data, "GET /hello\n");
}

Test(relay, passes_errors_on_like_others)
{
	ask("/none", 0);
	until(&fixture, was_told("404 text/plain; charset=utf-8  14|404 Not Found.|whole"));
}

Test(relay, has_no_bound)
{
	ask("/big", 0);
	until(&fixture, told.len && strstr(told.data, "|whole"));
	cr_assert_eq(parts_len, fixture.big_size);
}

Test(relay, tells_when_nobody_is_there)
{
	http_client_close(client);
	client = http_client_create(&fixture.loop, "127.0.0.1", unused_port());
	ask("/hello", 0);
	until(&fixture, was_told("0   -1|"));
}

Test(relay, waits_no_longer_for_the_head)
{
	ask("/later", 50);
	until(&fixture, was_told("0   -1|"));
	http_reply_text(fixture.kept[0], 200, "too late");
}

Test(relay, stops_reading_while_it_is_paused)
{
	size_t before;

	pauses = true;
	ask("/big", 0);
	until(&fixture, parts_len > 0);
	/* What was read in the same turn may come, and no more. */
	fixture_turn(&fixture);
	before = parts_len;
	for (int i = 0; i < 20; i++)
		fixture_turn(&fixture);
	cr_assert_eq(parts_len, before);
	cr_assert_lt(before, (size_t)1 << 20);
	pauses = false;
	http_client_pause(client, false);
	until(&fixture, strstr(told.data, "|whole"));
	cr_assert_eq(parts_len, fixture.big_size);
}

Test(relay, may_be_closed_in_its_callbacks)
{
	for (close_in = IN_HEAD; close_in <= IN_END; close_in++) {
		buf_clear(&told);
		parts_len = 0;
		ask("/hello", 0);
		until(&fixture, !client);
		cr_expect_eq(parts_len > 0, close_in > IN_HEAD);
		client = http_client_create(&fixture.loop, "127.0.0.1",
					    http_server_port(fixture.server));
	}
}

/* Says something once the request came, then closes. */
static void talk_to_liar(const char *lie, const char *wanted)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char bytes[4096];
	int fd;

	inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
	cr_assert_eq(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	cr_assert_eq(listen(listener, 8), 0);
	getsockname(listener, (struct sockaddr *)&address, &size);
	http_client_close(client);
	client = http_client_create(&fixture.loop, "127.0.0.1", ntohs(address.sin_port));
	buf_clear(&told);
	ask("/x", 0);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0 && !fixture.expired)
		uv_run(&fixture.loop, UV_RUN_NOWAIT);
	cr_assert_eq(send(fd, lie, strlen(lie), MSG_NOSIGNAL), (ssize_t)strlen(lie));
	close(fd);
	close(listener);
	until(&fixture, told.len >= strlen(wanted));
	cr_expect_str_eq(told.data, wanted, "'%s' to '%s'", told.data, lie);
}

Test(relay, bears_bad_answers)
{
	talk_to_liar("", "0   -1|");
	talk_to_liar("garbage\r\n\r\n", "0   -1|");
	talk_to_liar("HTTP/1.1 200 OK\r\nContent-Le", "0   -1|");
	talk_to_liar("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", "200   5|abc|cut");
	talk_to_liar("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\nzz\r\n",
		     "200   -1|ab|cut");
	talk_to_liar("HTTP/1.1 200 OK\r\n\r\nto the end", "200   -1|to the end|whole");
	talk_to_liar("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nx", "0   -1|");
	talk_to_liar("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Disposition: "
		     "attachment\r\nContent-Length: 1\r\n\r\nx",
		     "200  attachment 1|x|whole");
}
