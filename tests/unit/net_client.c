/* HTTP client against the server, and against servers that misbehave. */
#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/client.h"
#include "net/http/http_internal.h"
#include "net_harness.h"

static struct fixture fixture;
static struct http_client *client;
static struct buf answers; /* "status type stream-id body|" of each */
static struct buf records;
static int opened, ended;
static bool close_in_callback;

static void on_answer(void *context, const struct http_answer *answer)
{
	if (answer->status == 0) {
		cr_assert_not_null(answer->error);
		buf_puts(&answers, "failed|");
	} else {
		buf_printf(&answers, "%d %s %s %.*s|", answer->status, answer->content_type,
			   answer->stream_id, (int)answer->body.len, answer->body.data);
	}
	if (close_in_callback) {
		http_client_close(client);
		client = NULL;
	}
}

static void on_opened(void *context, const struct http_answer *answer)
{
	opened++;
	on_answer(context, answer);
}

static void on_record(void *context, struct slice record)
{
	buf_putc(&records, '[');
	buf_append(&records, record.data, record.len);
	buf_putc(&records, ']');
	if (slice_eq(record, "close")) {
		http_client_close(client);
		client = NULL;
	}
}

static void on_ended(void *context, const char *why)
{
	cr_assert_not_null(why);
	ended++;
}

static const struct http_stream_handlers handlers = {on_opened, on_record, on_ended};

static void set_up(void)
{
	fixture_init(&fixture);
	fixture_start(&fixture);
	client = http_client_create(&fixture.loop, "127.0.0.1", http_server_port(fixture.server));
}

static void tear_down(void)
{
	if (client)
		http_client_close(client);
	fixture_finish(&fixture);
	buf_free(&answers);
	buf_free(&records);
}

TestSuite(client, .init = set_up, .fini = tear_down, .timeout = 60);

static void post(const char *path, const char *body, int timeout_ms)
{
	http_client_send(client, "POST", path, NULL, body, strlen(body), timeout_ms, on_answer,
			 NULL);
}

static bool answered(const char *text)
{
	return answers.data && strcmp(answers.data, text) == 0;
}

Test(client, sends_in_order_on_one_connection)
{
	post("/echo", "one", 0);
	http_client_send(client, "GET", "/hello", NULL, NULL, 0, 1000, on_answer, NULL);
	http_client_send(client, "HEAD", "/hello", NULL, NULL, 0, 0, on_answer, NULL);
	post("/none", "", 0);
	cr_assert_eq(answers.len, 0);
	until(&fixture, answered("200   one|200   hello|200   |"
				 "404 text/plain; charset=utf-8  404 Not Found.|"));
	cr_assert_str_eq(fixture.log.data, "POST /echo\nGET /hello\nHEAD /hello\nPOST /none\n");
}

static int drained;

static void on_drained(void *context)
{
	drained++;
}

/* Before there is a connection, and after. */
Test(client, sends_a_body_in_pieces)
{
	char *large = xmalloc(100000);
	struct buf expected = BUF_INIT;

	memset(large, 'x', 100000);
	http_client_upload(client, "/echo", NULL, on_answer, on_drained, NULL);
	http_client_put(client, "one ", 4);
	http_client_put(client, "two ", 4);
	cr_assert_gt(http_client_unsent(client), 8);
	until(&fixture, http_client_unsent(client) == 0);
	http_client_put(client, large, 100000);
	http_client_put(client, NULL, 0);
	/* Nothing comes after the end. */
	http_client_put(client, "three", 5);
	buf_printf(&expected, "200   one two %.*s|", 100000, large);
	until(&fixture, answered(expected.data));
	cr_assert_eq(http_client_unsent(client), 0);
	/* The next request is none of its body. */
	buf_clear(&answers);
	post("/echo", "next", 0);
	http_client_put(client, "four", 4);
	until(&fixture, answered("200   next|"));
	buf_free(&expected);
	free(large);
}

Test(client, may_be_answered_before_its_body_ends)
{
	http_client_upload(client, "/none", NULL, on_answer, on_drained, NULL);
	http_client_put(client, "one", 3);
	http_client_put(client, NULL, 0);
	until(&fixture, answered("404 text/plain; charset=utf-8  404 Not Found.|"));
	http_client_put(client, "two", 3);
	cr_assert_eq(http_client_unsent(client), 0);
}

static void echo_header(void *context, struct http_request *request)
{
	const char *value = http_header(request, "X-Custom");

	http_reply(request, 200, "t/x", value, strlen(value),
		   (const char *const[]){"Location", "//there", NULL});
}

Test(client, sends_headers)
{
	fixture.handler = echo_header;
	http_client_send(client, "POST", "/", (const char *const[]){"X-Custom", "a b", NULL}, NULL,
			 0, 0, on_answer, NULL);
	until(&fixture, answered("200 t/x  a b|"));
}

Test(client, streams_records)
{
	http_client_stream(client, "/stream", NULL, "{}", 2, 0, &handlers, NULL);
	until(&fixture, opened == 1);
	cr_assert_str_eq(answers.data, "200 application/json 42 |");
	http_stream_record(fixture.streams[0], "one", 3);
	http_stream_write(fixture.streams[0], "3\nt", 3);
	http_stream_write(fixture.streams[0], "wo", 2);
	http_stream_record(fixture.streams[0], "", 0);
	until(&fixture, records.data && strcmp(records.data, "[one][two][]") == 0);
	cr_assert_eq(ended, 0);
	http_stream_end(fixture.streams[0]);
	until(&fixture, ended == 1);
	post("/echo", "after", 0);
	until(&fixture, strstr(answers.data, "200   after|"));
}

Test(client, tells_when_a_stream_is_refused)
{
	http_client_stream(client, "/none", NULL, "{}", 2, 0, &handlers, NULL);
	until(&fixture, ended == 1);
	cr_assert_eq(opened, 1);
	cr_assert_str_eq(answers.data, "404 text/plain; charset=utf-8  404 Not Found.|");
}

Test(client, tells_when_a_stream_breaks)
{
	http_client_stream(client, "/stream", NULL, "{}", 2, 0, &handlers, NULL);
	until(&fixture, opened == 1);
	fixture_stop_server(&fixture);
	until(&fixture, ended == 1);
	cr_assert_eq(opened, 1);
}

Test(client, ends_a_stream_that_is_no_recordio)
{
	http_client_stream(client, "/stream", NULL, "{}", 2, 0, &handlers, NULL);
	until(&fixture, opened == 1);
	http_stream_write(fixture.streams[0], "2\nokgarbage", 11);
	until(&fixture, ended == 1);
	cr_assert_str_eq(records.data, "[ok]");
	until(&fixture, fixture.closed_count == 1);
}

Test(client, may_be_closed_in_a_record)
{
	http_client_stream(client, "/stream", NULL, "{}", 2, 0, &handlers, NULL);
	until(&fixture, opened == 1);
	http_stream_write(fixture.streams[0], "5\nclose4\nmore", 13);
	until(&fixture, fixture.closed_count == 1);
	cr_assert_str_eq(records.data, "[close]");
	cr_assert_eq(ended, 0);
}

Test(client, may_be_closed_in_an_answer)
{
	close_in_callback = true;
	post("/echo", "a", 0);
	post("/echo", "b", 0);
	until(&fixture, answered("200   a|"));
}

Test(client, may_be_closed_when_a_stream_opens)
{
	close_in_callback = true;
	http_client_stream(client, "/none", NULL, "{}", 2, 0, &handlers, NULL);
	until(&fixture, opened == 1);
	cr_assert_eq(ended, 0);
}

/* Else a subscription that was given up could be heard after the next one. */
Test(client, breaks_off_a_stream_that_is_given_up)
{
	http_client_stream(client, "/later", NULL, "{}", 2, 0, &handlers, NULL);
	until(&fixture, fixture.kept_count == 1);
	cr_expect_not(http_is_reset(fixture.kept[0]));
	http_client_close(client);
	client = NULL;
	until(&fixture, http_is_reset(fixture.kept[0]));
}

/* What was sent otherwise arrives. */
Test(client, says_the_rest_when_it_is_closed)
{
	post("/later", "a", 0);
	until(&fixture, fixture.kept_count == 1);
	http_client_close(client);
	client = NULL;
	while (!fixture.kept[0]->connection->eof)
		uv_run(&fixture.loop, UV_RUN_ONCE);
	cr_expect_not(http_is_reset(fixture.kept[0]));
}

Test(client, may_be_closed_at_once)
{
	post("/echo", "a", 100);
	http_client_close(client);
	client = http_client_create(&fixture.loop, "localhost", http_server_port(fixture.server));
	post("/echo", "a", 100);
	http_client_close(client);
	client = NULL;
	fixture_stop_server(&fixture);
	cr_assert_eq(answers.len, 0);
}

Test(client, resolves_names)
{
	http_client_close(client);
	client = http_client_create(&fixture.loop, "localhost", http_server_port(fixture.server));
	post("/echo", "a", 0);
	until(&fixture, answered("200   a|"));
}

Test(client, tells_when_nobody_is_there)
{
	http_client_close(client);
	client = http_client_create(&fixture.loop, "127.0.0.1", unused_port());
	post("/echo", "a", 0);
	http_client_stream(client, "/stream", NULL, "{}", 2, 0, &handlers, NULL);
	cr_assert_eq(answers.len, 0, "not inside the call");
	until(&fixture, answered("failed|failed|"));
	cr_assert_eq(opened, 1);
	cr_assert_eq(ended, 1);
	post("/echo", "b", 0);
	until(&fixture, answered("failed|failed|failed|"));
}

Test(client, times_out)
{
	post("/later", "a", 50);
	post("/echo", "b", 0);
	until(&fixture, answered("failed|200   b|"));
	http_reply_text(fixture.kept[0], 200, "too late");
	post("/echo", "c", 0);
	until(&fixture, answered("failed|200   b|200   c|"));
}

Test(client, connects_again_when_the_server_closed)
{
	post("/echo", "a", 0);
	until(&fixture, answered("200   a|"));
	int port = http_server_port(fixture.server);
	fixture_stop_server(&fixture);
	fixture.options.port = port;
	fixture.server_closed = false;
	fixture_start(&fixture);
	/* The old connection may break under this one; the next is on a new one. */
	post("/echo", "b", 0);
	until(&fixture, answers.len > strlen("200   a|"));
	post("/echo", "c", 0);
	until(&fixture, strstr(answers.data, "200   c|"));
}

/* -- servers that misbehave: say something once the request came, then close -- */

static void talk_to_liar(const char *lie, size_t len, const char *wanted)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char bytes[4096];

	inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
	cr_assert_eq(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	cr_assert_eq(listen(listener, 8), 0);
	getsockname(listener, (struct sockaddr *)&address, &size);
	http_client_close(client);
	client = http_client_create(&fixture.loop, "127.0.0.1", ntohs(address.sin_port));
	buf_clear(&answers);
	post("/x", "a", 0);
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0 && !fixture.expired)
		uv_run(&fixture.loop, UV_RUN_NOWAIT);
	if (len > 0)
		cr_assert_eq(send(fd, lie, len, MSG_NOSIGNAL), (ssize_t)len);
	close(fd);
	close(listener);
	until(&fixture, answers.len > 0);
	cr_expect_str_eq(answers.data, wanted, "'%s' to '%s'", answers.data, lie);
}

#define TWICE "HTTP/1.1 200 OK\r\nContent-Type: a\r\nContent-Type: b\r\nContent-Length: 1\r\n\r\nx"

Test(client, takes_the_last_of_a_header_that_comes_twice)
{
	talk_to_liar(TWICE, strlen(TWICE), "200 b  x|");
}

Test(client, bears_bad_answers)
{
	talk_to_liar("", 0, "failed|");
	talk_to_liar("garbage\r\n\r\n", 11, "failed|");
	talk_to_liar("HTTP/1.1 200 OK\r\nContent-Le", 27, "failed|");
	talk_to_liar("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", 41, "failed|");
	talk_to_liar("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 51, "failed|");
	talk_to_liar("HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", 60,
		     "failed|");
	talk_to_liar("HTTP/1.1 200 OK\r\n\r\nto the end", 29, "200   to the end|");
	talk_to_liar("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 Accepted\r\n"
		     "Content-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		     105, "202   |");
}

Test(client, pipelines_in_order)
{
	http_client_pipeline(client, 3);
	for (int i = 0; i < 5; i++)
		post(i == 1 ? "/later" : "/echo", (const char *[]){"a", "b", "c", "d", "e"}[i], 0);
	cr_assert_eq(http_client_waiting(client), 5);
	/* The server sees no request before it answered the one in front. */
	until(&fixture, fixture.kept[0] && answered("200   a|"));
	http_reply_text(fixture.kept[0], 200, "late");
	until(&fixture, http_client_waiting(client) == 0);
	cr_assert_str_eq(answers.data, "200   a|200 text/plain; charset=utf-8  late|200   c|"
				       "200   d|200   e|");
	cr_assert_eq(fixture.closed_count, 0);
}

Test(client, fails_all_that_are_on_their_way)
{
	http_client_pipeline(client, 3);
	post("/later", "a", 50);
	post("/echo", "b", 60000);
	post("/echo", "c", 0);
	post("/echo", "d", 60000);
	/* The fourth was not on its way: it goes over a connection of its own. */
	until(&fixture, answered("failed|failed|failed|200   d|"));
	cr_assert_eq(http_client_waiting(client), 0);
}

Test(client, waits_no_longer_for_the_head_of_a_stream)
{
	http_client_stream(client, "/later", NULL, "{}", 2, 50, &handlers, NULL);
	until(&fixture, ended == 1);
	cr_assert_eq(opened, 1);
	cr_assert_str_eq(answers.data, "failed|");
}

Test(client, keeps_a_stream_whose_head_came_in_time)
{
	http_client_stream(client, "/stream", NULL, "{}", 2, 30, &handlers, NULL);
	until(&fixture, opened == 1);
	uint64_t begin = uv_now(&fixture.loop);
	struct http_client *other =
		http_client_create(&fixture.loop, "127.0.0.1", http_server_port(fixture.server));
	http_client_send(other, "POST", "/later", NULL, NULL, 0, 100, on_answer, NULL);
	until(&fixture, answered("200 application/json 42 |failed|"));
	cr_assert_geq(uv_now(&fixture.loop) - begin, 90);
	http_stream_record(fixture.streams[0], "one", 3);
	until(&fixture, records.data && strcmp(records.data, "[one]") == 0);
	cr_assert_eq(ended, 0);
	http_client_close(other);
}

/* ---- much of it ------------------------------------------------------------------------------ */

Test(client, drops_bodies_when_asked_and_counts_them)
{
	fixture.big_size = 1000000;
	post("/echo", "one", 0);
	until(&fixture, answered("200   one|"));
	cr_assert_eq(http_client_received(client), 3);
	http_client_drop_bodies(client);
	post("/echo", "four", 0);
	http_client_send(client, "GET", "/big", NULL, NULL, 0, 0, on_answer, NULL);
	until(&fixture, answered("200   one|200   |200   |"));
	cr_assert_eq(http_client_received(client), 3 + 4 + 1000000);
}

#define LARGE (16u << 20) /* more than sockets hold */

/* A socket that listens, for somebody who reads when it likes. */
static int slow_server(int *port)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
	cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	cr_assert_eq(listen(fd, 1), 0);
	getsockname(fd, (struct sockaddr *)&address, &size);
	*port = ntohs(address.sin_port);
	return fd;
}

Test(client, tells_when_a_slow_server_took_what_was_put)
{
	char *large = xcalloc(1, LARGE), bytes[65536];
	int port, listener = slow_server(&port), peer;
	size_t taken = 0;

	http_client_close(client);
	client = http_client_create(&fixture.loop, "127.0.0.1", port);
	http_client_upload(client, "/x", NULL, on_answer, on_drained, NULL);
	http_client_put(client, large, LARGE);
	for (int i = 0; i < 100; i++)
		uv_run(&fixture.loop, UV_RUN_NOWAIT);
	cr_assert_gt(http_client_unsent(client), 0);
	cr_assert_eq(drained, 0);
	peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	while (!drained && !fixture.expired) {
		ssize_t count = recv(peer, bytes, sizeof(bytes), MSG_DONTWAIT);

		taken += count > 0 ? (size_t)count : 0;
		uv_run(&fixture.loop, UV_RUN_NOWAIT);
	}
	cr_assert_eq(drained, 1);
	cr_assert_eq(http_client_unsent(client), 0);
	cr_assert_gt(taken, 0);
	/* A server that goes in the middle of it is told as such. */
	http_client_put(client, large, LARGE);
	close(peer);
	until(&fixture, answered("failed|"));
	http_client_put(client, "more", 4);
	cr_assert_eq(http_client_unsent(client), 0);
	close(listener);
	free(large);
}
