/* HTTP server: hostile clients, and everybody else served meanwhile. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "net/gzip.h"
#include "net/http/http_internal.h"
#include "net_harness.h"

#define GET_HELLO "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"

static struct fixture fixture;
static struct raw raw;

static void set_up(void)
{
	fixture_init(&fixture);
	fixture_start(&fixture);
	raw_open(&raw, &fixture);
}

static void tear_down(void)
{
	/* Others are still served. */
	struct raw other;

	raw_open(&other, &fixture);
	raw_expect(&other, GET_HELLO, "hello");
	raw_close(&other);
	raw_close(&raw);
	fixture_finish(&fixture);
}

/* Only the limit under test is short, so that a busy machine reaches no other. */
static void shorten(int *limit_ms)
{
	*limit_ms = 100;
	fixture.server->tick_ms = 10;
}

TestSuite(http_limits, .init = set_up, .fini = tear_down, .timeout = 60);

/* Closed without a word. */
static void expect_silent_close(const char *text)
{
	struct raw hostile;

	raw_open(&hostile, &fixture);
	raw_send(&hostile, text);
	while (!hostile.eof && !fixture.expired)
		fixture_turn(&fixture);
	cr_expect(hostile.eof, "'%s' is not closed", text);
	cr_expect_eq(hostile.in.len, 0, "'%s' got '%s'", text,
		     hostile.in.data ? hostile.in.data : "");
	raw_close(&hostile);
}

Test(http_limits, closes_on_what_is_not_http)
{
	expect_silent_close("GET\r\n\r\n");
	expect_silent_close("GET /version FTP/9\r\n\r\n");
	expect_silent_close("GET version HTTP/1.1\r\nHost: x\r\n\r\n");
	expect_silent_close("\x16\x03\x01\x02");
	expect_silent_close("CONNECT a:1 HTTP/1.1\r\n\r\n");
	expect_silent_close("GET / HTTP/1.1\r\nA\x01: c\r\n\r\n");
	expect_silent_close("POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n");
	expect_silent_close("POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n");
	expect_silent_close("POST / HTTP/1.1\r\nContent-Length: 5\r\n"
			    "Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n");
	expect_silent_close("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n");
	expect_silent_close("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n");
	expect_silent_close("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
			    "ffffffffffffffffff\r\n");
	cr_assert_eq(fixture.log.len, 0);
}

Test(http_limits, trailers_are_bounded)
{
	struct buf text = BUF_INIT;

	buf_puts(&text, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n");
	for (int i = 0; i < 10000; i++)
		buf_puts(&text, "Trailer: x\r\n");
	buf_puts(&text, "\r\n");
	expect_silent_close(text.data);
	cr_assert_eq(fixture.log.len, 0);
	buf_free(&text);
}

Test(http_limits, answers_what_came_before_the_garbage)
{
	raw_send(&raw, GET_HELLO "garbage\r\n\r\n" GET_HELLO);
	until(&fixture, raw.eof);
	cr_assert_eq(raw_count(&raw, "hello"), 1);
}

Test(http_limits, refuses_paths_itself)
{
	raw_expect(&raw, "OPTIONS * HTTP/1.1\r\n\r\n", "400 Bad Request");
	raw_expect(&raw, "GET /a/../b HTTP/1.1\r\n\r\n", "404 Not Found.");
	raw_send(&raw, "GET /a/%2e%2E/b HTTP/1.1\r\n\r\nGET /%zz HTTP/1.1\r\n\r\n"
		       "GET /%00 HTTP/1.1\r\n\r\nGET /% HTTP/1.1\r\n\r\n"
		       "GET /a%4 HTTP/1.1\r\n\r\nGET /%4 HTTP/1.1\r\n\r\n");
	until(&fixture, raw_count(&raw, "404 Not Found.") == 7);
	raw_send(&raw, "GET /hello?a=% HTTP/1.1\r\n\r\nGET /hello?%00 HTTP/1.1\r\n\r\n");
	until(&fixture, raw_count(&raw, "Malformed % escape in the query") == 2);
	cr_assert_eq(fixture.log.len, 0, "no handler saw them");
}

Test(http_limits, bounds_the_head)
{
	struct buf text = BUF_INIT;

	buf_puts(&text, "GET /hello HTTP/1.1\r\nX: ");
	for (int i = 0; i < 1000000; i++)
		buf_putc(&text, 'x');
	expect_silent_close(text.data);

	buf_clear(&text);
	buf_puts(&text, "GET /hello?");
	for (int i = 0; i < 70000; i++)
		buf_putc(&text, 'x');
	buf_puts(&text, " HTTP/1.1\r\n\r\n");
	raw_expect(&raw, text.data, "414 URI Too Long");
	buf_free(&text);
}

Test(http_limits, refuses_long_bodies_before_they_come)
{
	raw_send(&raw, GET_HELLO "POST /echo HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\nabc");
	until(&fixture, raw.eof);
	cr_assert(raw_has(&raw, "hello"));
	cr_assert(raw_has(&raw, "HTTP/1.1 413 Payload Too Large\r\n"));
	cr_assert(raw_has(&raw, "Connection: close\r\n"));
	cr_assert(raw_has(&raw, "\r\n\r\n413 Payload Too Large."));
}

Test(http_limits, refuses_long_chunked_bodies)
{
	struct buf chunk = BUF_INIT;

	raw_send(&raw, "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
	buf_puts(&chunk, "10000\r\n");
	for (int i = 0; i < 0x10000; i++)
		buf_putc(&chunk, 'x');
	buf_puts(&chunk, "\r\n");
	for (int i = 0; i < 20; i++)
		raw_write(&raw, chunk.data, chunk.len);
	until(&fixture, raw.eof);
	cr_assert(raw_has(&raw, "413 Payload Too Large."));
	buf_free(&chunk);
}

Test(http_limits, takes_a_body_of_exactly_the_limit)
{
	char *body = xmalloc(1024 * 1024);

	memset(body, 'b', 1024 * 1024);
	raw_send(&raw, "POST /echo HTTP/1.1\r\nContent-Length: 1048576\r\n\r\n");
	raw_write(&raw, body, 1024 * 1024);
	until(&fixture, raw.in.len > 1024 * 1024);
	cr_assert(str_has_prefix(raw.in.data, "HTTP/1.1 200 OK"));
	free(body);
}

static void post_gzip(const void *body, size_t len)
{
	struct buf text = BUF_INIT;

	buf_printf(&text,
		   "POST /echo HTTP/1.1\r\nContent-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n",
		   len);
	buf_append(&text, body, len);
	raw_write(&raw, text.data, text.len);
	buf_free(&text);
}

Test(http_limits, bounds_inflation)
{
	struct buf packed = BUF_INIT;
	char *zeros = xcalloc(1, 1024 * 1024 + 1);

	gzip_compress(&packed, zeros, 1024 * 1024 + 1);
	post_gzip(packed.data, packed.len);
	until(&fixture, raw_has(&raw, "413 Payload Too Large."));
	buf_clear(&packed);
	gzip_compress(&packed, zeros, 1000);
	post_gzip(packed.data, packed.len - 1);
	until(&fixture, raw_has(&raw, "Failed to decompress the gzip body"));
	post_gzip("not gzip", 8);
	until(&fixture, raw_count(&raw, "Failed to decompress the gzip body") == 2);
	cr_assert_eq(fixture.log.len, 0);
	buf_free(&packed);
	free(zeros);
}

Test(http_limits, closes_slow_heads)
{
	shorten(&fixture.server->options.head_timeout_ms);
	raw_send(&raw, "GET /hello HT");
	until(&fixture, raw.eof);
	cr_assert_eq(raw.in.len, 0);
}

static void on_drip(uv_timer_t *timer)
{
	raw_send(&raw, "x");
}

Test(http_limits, closes_slow_bodies)
{
	static uv_timer_t drip;

	shorten(&fixture.server->options.body_timeout_ms);
	raw_send(&raw, "POST /echo HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n");
	uv_timer_init(&fixture.loop, &drip);
	uv_timer_start(&drip, on_drip, 0, 10);
	until(&fixture, raw.eof);
	uv_close((uv_handle_t *)&drip, NULL);
	cr_assert_eq(raw.in.len, 0);
	cr_assert_eq(fixture.log.len, 0);
}

Test(http_limits, closes_bodies_that_stop)
{
	shorten(&fixture.server->options.body_timeout_ms);
	raw_send(&raw, "POST /echo HTTP/1.1\r\nContent-Length: 100\r\n\r\nabc");
	until(&fixture, raw.eof);
	cr_assert_eq(raw.in.len, 0);
	cr_assert_eq(fixture.log.len, 0);
}

static void on_pause(uv_timer_t *timer)
{
	*(bool *)timer->data = true;
	uv_close((uv_handle_t *)timer, NULL);
}

static void on_gush(uv_timer_t *timer)
{
	static const char bytes[2 * HTTP_BODY_PROGRESS];
	int *left = timer->data;

	raw_write(&raw, bytes, sizeof(bytes));
	if (--*left == 0)
		uv_timer_stop(timer);
}

/* So many bytes in each span are enough, however long the whole takes. */
Test(http_limits, keeps_long_bodies_that_go_on)
{
	static uv_timer_t gush;
	char head[96];
	int left = 12;

	fixture.server->options.body_timeout_ms = 400;
	fixture.server->tick_ms = 10;
	snprintf(head, sizeof(head), "POST /echo HTTP/1.1\r\nContent-Length: %d\r\n\r\n",
		 left * 2 * HTTP_BODY_PROGRESS);
	raw_send(&raw, head);
	uv_timer_init(&fixture.loop, &gush);
	gush.data = &left;
	uv_timer_start(&gush, on_gush, 100, 100);
	until(&fixture, raw_has(&raw, "HTTP/1.1 200 OK") || raw.eof);
	cr_assert_eq(left, 0);
	uv_close((uv_handle_t *)&gush, NULL);
}

Test(http_limits, keeps_idle_connections)
{
	uv_timer_t pause;
	bool over = false;

	shorten(&fixture.server->options.head_timeout_ms);
	shorten(&fixture.server->options.body_timeout_ms);
	shorten(&fixture.server->options.write_timeout_ms);
	raw_expect(&raw, GET_HELLO, "hello");
	uv_timer_init(&fixture.loop, &pause);
	pause.data = &over;
	uv_timer_start(&pause, on_pause, 400, 0);
	until(&fixture, over);
	raw_send(&raw, GET_HELLO);
	until(&fixture, raw_count(&raw, "hello") == 2);
}

Test(http_limits, gives_up_on_clients_that_never_read)
{
	shorten(&fixture.server->options.write_timeout_ms);
	fixture.big_size = 16 * 1024 * 1024;
	raw_deafen(&raw);
	raw_send(&raw, "GET /big HTTP/1.1\r\n\r\n" GET_HELLO);
	until(&fixture, fixture.log.len > 0);
	until(&fixture, fixture.server->connection_count == 0);
	cr_assert_str_eq(fixture.log.data, "GET /big\n", "the next was not even taken");
}

Test(http_limits, bounds_what_waits_for_all_clients_together)
{
	struct raw greedy[3];

	fixture.server->options.output_total_max = 8 * 1024 * 1024;
	fixture.server->tick_ms = 5;
	fixture.big_size = 16 * 1024 * 1024;
	raw_expect(&raw, GET_HELLO, "hello");
	for (int i = 0; i < 3; i++) {
		raw_open(&greedy[i], &fixture);
		raw_deafen(&greedy[i]);
		raw_send(&greedy[i], "GET /big HTTP/1.1\r\n\r\n");
	}
	until(&fixture, fixture.log.len >= strlen("GET /hello\nGET /big\nGET /big\nGET /big\n"));
	until(&fixture, fixture.server->connection_count == 1);
	raw_expect(&raw, GET_HELLO, "hello");
	for (int i = 0; i < 3; i++)
		raw_close(&greedy[i]);
}

Test(http_limits, waits_for_the_clients_end_but_not_for_ever)
{
	shorten(&fixture.server->options.linger_ms);
	raw_send(&raw, "GET /hello HTTP/1.1\r\nConnection: close\r\n\r\n");
	until(&fixture, raw.eof);
	until(&fixture, fixture.server->connection_count == 0);
}

Test(http_limits, bounds_the_connections)
{
	struct raw extra[4];

	fixture.server->options.connections_max = 2;
	raw_expect(&raw, GET_HELLO, "hello");
	for (int i = 0; i < 4; i++)
		raw_open(&extra[i], &fixture);
	until(&fixture, extra[1].eof && extra[2].eof && extra[3].eof);
	raw_expect(&extra[0], GET_HELLO, "hello");
	for (int i = 0; i < 4; i++)
		raw_close(&extra[i]);
	until(&fixture, fixture.server->connection_count == 1);
}

Test(http_limits, survives_having_no_descriptor_left)
{
	struct raw late;
	struct rlimit old, low;

	raw_expect(&raw, GET_HELLO, "hello");
	raw_open(&late, &fixture);
	getrlimit(RLIMIT_NOFILE, &old);
	low = old;
	int next = dup(0);
	close(next);
	low.rlim_cur = (rlim_t)next;
	setrlimit(RLIMIT_NOFILE, &low);
	raw_send(&late, GET_HELLO);
	/* Served from the reserve or dropped, but neither spinning nor dead. */
	until(&fixture, late.eof || raw_has(&late, "hello"));
	raw_send(&raw, GET_HELLO);
	until(&fixture, raw_count(&raw, "hello") == 2);
	setrlimit(RLIMIT_NOFILE, &old);
	raw_close(&late);
}

Test(http_limits, refuses_a_port_in_use)
{
	struct http_server_options options = fixture.options;
	struct http_server *server = NULL;
	struct err err;

	options.port = http_server_port(fixture.server);
	cr_assert_eq(http_server_create(&options, &server, &err), ERR_IO);
	cr_assert(strstr(err.text, "Address already in use"));
	options.ip = "nowhere";
	cr_assert_eq(http_server_create(&options, &server, &err), ERR_INVALID);
	cr_assert_str_eq(err.text, "'nowhere' is not an IP address");
	options.ip = "127.0.0.1";
	for (int i = 0; i < 2; i++) {
		options.port = i ? 65536 : -1;
		cr_assert_eq(http_server_create(&options, &server, &err), ERR_INVALID);
		cr_assert(strstr(err.text, "is not between 0 and 65535"));
	}
	cr_assert_null(server);
}
