/* HTTP server: answers of a known length that come in parts. */
#include <stdlib.h>
#include <string.h>

#include "net/http/http_internal.h"
#include "net_server.h"

#define GET_BODY "GET /body HTTP/1.1\r\nHost: x\r\n\r\n"
#define GET_HELLO "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"
#define PART (64 * 1024)

/* Writes parts of letters, one each time that it is asked. */
static struct body {
	uint64_t length, written, stop_at;
	int asked, closed;
	bool late; /* parts are written by the test */
	struct http_stream *stream;
} body;

static void write_part(void)
{
	static char part[PART];
	uint64_t left = body.length - body.written;
	size_t len = left < PART ? (size_t)left : PART;

	memset(part, 'a' + (int)(body.written / PART % 26), sizeof(part));
	body.written += len;
	http_stream_write(body.stream, part, len);
	if (body.written == body.length)
		http_stream_end(body.stream);
}

static void on_drained(void *context, struct http_stream *stream)
{
	cr_assert_eq(context, &body);
	body.asked++;
	body.stream = stream;
	if (body.stop_at && body.written >= body.stop_at)
		http_stream_end(stream);
	else if (!body.late)
		write_part();
}

static void on_closed(void *context, struct http_stream *stream)
{
	body.closed++;
	body.stream = NULL;
}

static void handle(void *context, struct http_request *request)
{
	static const char *const extra[] = {"X-Name", "value", NULL};

	if (!strcmp(request->path, "/body"))
		http_body_open(request, "text/plain", extra, body.length, on_drained, on_closed,
			       &body);
	else
		http_reply_text(request, 200, "hello");
}

SERVER_SUITE(http_body);

static void begin(uint64_t length)
{
	body = (struct body){.length = length};
	fixture.handler = handle;
}

#define HEAD_MAX 1024

static size_t body_bytes(void)
{
	size_t len = raw.in.len < HEAD_MAX ? raw.in.len : HEAD_MAX;
	const char *end = len ? memmem(raw.in.data, len, "\r\n\r\n", 4) : NULL;

	return end ? raw.in.len - (size_t)(end + 4 - raw.in.data) : 0;
}

Test(http_body, comes_whole_and_the_connection_goes_on)
{
	begin(10 * PART + 7);
	raw_send(&raw, GET_BODY);
	until(&fixture, body_bytes() == 10 * PART + 7);
	cr_expect(raw_has(&raw, "HTTP/1.1 200 OK\r\n"));
	cr_expect(raw_has(&raw, "Content-Length: 655367\r\n"));
	cr_expect(raw_has(&raw, "X-Name: value\r\nContent-Type: text/plain\r\n\r\naaa"));
	cr_expect_not(raw_has(&raw, "chunked"));
	cr_expect_eq(body.asked, 11, "once a part");
	cr_expect_eq(raw.in.data[raw.in.len - 1], 'a' + 10);
	cr_expect_eq(body.closed, 0);
	raw_expect(&raw, GET_HELLO, "hello");
}

Test(http_body, waits_for_a_client_that_reads_slowly)
{
	begin(400 * PART);
	raw_deafen(&raw);
	raw_send(&raw, GET_BODY);
	until(&fixture, body.asked > 1);
	/* What sockets hold is written; then nobody asks until the client reads. */
	for (int i = 0; i < 500; i++)
		uv_run(&fixture.loop, UV_RUN_NOWAIT);
	cr_expect_lt(body.written, 300 * PART);
	raw_hear(&raw);
	until(&fixture, body_bytes() == 400 * PART);
	cr_expect_eq(body.closed, 0);
}

Test(http_body, is_not_asked_again_before_it_wrote)
{
	begin(2 * PART);
	body.late = true;
	raw_send(&raw, GET_BODY);
	until(&fixture, body.asked == 1);
	for (int i = 0; i < 20; i++)
		uv_run(&fixture.loop, UV_RUN_NOWAIT);
	cr_expect_eq(body.asked, 1);
	write_part();
	until(&fixture, body.asked == 2);
	write_part();
	until(&fixture, body_bytes() == 2 * PART);
}

Test(http_body, requests_behind_it_wait)
{
	begin(5 * PART);
	body.late = true;
	raw_send(&raw, GET_BODY GET_HELLO);
	until(&fixture, body.asked == 1);
	body.late = false;
	write_part();
	until(&fixture, raw_has(&raw, "hello"));
	cr_expect(str_has_suffix(raw.in.data, "hello"));
	cr_expect(raw_has(&raw, "eHTTP/1.1 200 OK\r\n"), "behind the last part");
}

Test(http_body, that_ends_too_early_ends_the_connection)
{
	begin(5 * PART);
	body.stop_at = 2 * PART;
	raw_send(&raw, GET_BODY);
	until(&fixture, raw.eof);
	cr_expect_leq(body_bytes(), 2 * PART);
	cr_expect_eq(body.closed, 0);
}

Test(http_body, tells_when_the_client_goes)
{
	struct raw other;

	begin(1000 * PART);
	raw_open(&other, &fixture);
	raw_deafen(&other);
	raw_send(&other, GET_BODY);
	until(&fixture, body.asked > 1);
	raw_reset(&other);
	until(&fixture, body.closed == 1);
}

Test(http_body, is_whole_for_a_client_that_only_stopped_to_send)
{
	begin(100 * PART);
	raw_send(&raw, GET_BODY);
	raw_shutdown(&raw);
	until(&fixture, raw.eof);
	cr_expect_eq(body_bytes(), 100 * PART);
	cr_expect_eq(body.closed, 0);
}

Test(http_body, ends_with_the_connection_if_that_is_not_kept)
{
	begin(3 * PART);
	raw_send(&raw, "GET /body HTTP/1.1\r\nConnection: close\r\n\r\n");
	until(&fixture, raw.eof);
	cr_expect_eq(body_bytes(), 3 * PART);
}

Test(http_body, never_holds_more_than_it_said)
{
	begin(PART);
	body.late = true;
	raw_send(&raw, GET_BODY);
	until(&fixture, body.asked == 1);
	body.length = 3 * PART;
	write_part();
	write_part();
	http_stream_end(body.stream);
	raw_expect(&raw, GET_HELLO, "hello");
	cr_expect_eq(raw_count(&raw, "b"), 0);
}
