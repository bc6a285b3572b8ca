/* HTTP server: answers that last. */
#include <string.h>

#include "net/http/http_internal.h"
#include "net_server.h"

#define POST_STREAM "POST /stream HTTP/1.1\r\nContent-Length: 0\r\n\r\n"
#define GET_HELLO "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"

SERVER_SUITE(http_stream);

static void open_stream(const char *text)
{
	raw_send(&raw, text);
	until(&fixture, fixture.stream_count == 1);
}

Test(http_stream, writes_one_chunk_a_record)
{
	open_stream(POST_STREAM);
	http_stream_record(fixture.streams[0], "{\"type\":1}", 10);
	http_stream_record(fixture.streams[0], "", 0);
	http_stream_write(fixture.streams[0], "raw", 3);
	http_stream_write(fixture.streams[0], "", 0);
	until(&fixture, raw_has(&raw, "raw\r\n"));
	cr_assert(raw_has(&raw, "Transfer-Encoding: chunked\r\nMesos-Stream-Id: 42\r\n"
				"Content-Type: application/json\r\n\r\n"
				"d\r\n10\n{\"type\":1}\r\n2\r\n0\n\r\n3\r\nraw\r\n"));
	cr_assert_not(raw_has(&raw, "Content-Length"));
	http_stream_end(fixture.streams[0]);
	until(&fixture, raw_has(&raw, "raw\r\n0\r\n\r\n"));
	raw_expect(&raw, GET_HELLO, "hello");
	cr_assert_eq(fixture.closed_count, 0);
}

Test(http_stream, is_chunked_though_the_connection_closes)
{
	open_stream("POST /stream HTTP/1.1\r\nConnection: close\r\n\r\n");
	http_stream_record(fixture.streams[0], "a", 1);
	until(&fixture, raw_has(&raw, "\r\n\r\n3\r\n1\na\r\n"));
	cr_assert_not(raw.eof);
	http_stream_end(fixture.streams[0]);
	until(&fixture, raw.eof);
	cr_assert(str_has_suffix(raw.in.data, "a\r\n0\r\n\r\n"));
}

Test(http_stream, tells_when_the_client_goes)
{
	open_stream(POST_STREAM);
	raw_shutdown(&raw);
	until(&fixture, fixture.closed_count == 1);
	until(&fixture, raw.eof);
}

Test(http_stream, tells_when_the_client_resets)
{
	struct raw other;

	raw_open(&other, &fixture);
	raw_send(&other, POST_STREAM);
	until(&fixture, fixture.stream_count == 1);
	raw_reset(&other);
	until(&fixture, fixture.closed_count == 1);
}

Test(http_stream, a_request_tells_whether_its_client_broke_off)
{
	struct raw other;

	for (int reset = 0; reset < 2; reset++) {
		raw_open(&other, &fixture);
		raw_send(&other, "GET /later HTTP/1.1\r\n\r\n");
		until(&fixture, fixture.kept_count == reset + 1);
		cr_expect_not(http_is_reset(fixture.kept[reset]));
		if (reset) {
			raw_reset(&other);
			cr_expect(http_is_reset(fixture.kept[reset]));
		} else {
			raw_shutdown(&other);
			cr_expect_not(http_is_reset(fixture.kept[reset]));
			raw_close(&other);
		}
	}
}

Test(http_stream, tells_when_the_client_went_before_it_opened)
{
	struct raw other;

	raw_open(&other, &fixture);
	raw_send(&other, "GET /later HTTP/1.1\r\n\r\n");
	until(&fixture, fixture.kept_count == 1);
	raw_close(&other);
	struct http_connection *connection = fixture.kept[0]->connection;
	until(&fixture, connection->eof);

	int calls = fixture.closed_count;
	cr_assert_eq(calls, 0);
	raw_send(&raw, POST_STREAM);
	until(&fixture, fixture.stream_count == 1);
	http_reply_text(fixture.kept[0], 200, NULL);
	http_stream_end(fixture.streams[0]);
	until(&fixture, raw_has(&raw, "0\r\n\r\n"));
}

static int late_closed;

static void on_late_closed(void *context, struct http_stream *stream)
{
	late_closed++;
}

static void open_late(bool reset)
{
	struct raw other;

	late_closed = 0;
	raw_open(&other, &fixture);
	raw_send(&other, "GET /later HTTP/1.1\r\n\r\n");
	until(&fixture, fixture.kept_count == 1);
	struct http_connection *connection = fixture.kept[0]->connection;
	if (reset) {
		raw_reset(&other);
		until(&fixture, connection->broken);
	} else {
		raw_close(&other);
		until(&fixture, connection->eof);
	}
	struct http_stream *stream =
		http_stream_open(fixture.kept[0], NULL, NULL, 0, on_late_closed, NULL);
	http_stream_record(stream, "lost", 4);
	cr_assert_eq(late_closed, 0, "not inside the call");
	until(&fixture, late_closed == 1);
}

Test(http_stream, ends_at_once_when_opened_for_nobody)
{
	open_late(false);
}

Test(http_stream, ends_at_once_when_opened_after_a_reset)
{
	open_late(true);
}

Test(http_stream, may_be_opened_after_the_server)
{
	raw_send(&raw, "GET /later HTTP/1.1\r\n\r\n");
	until(&fixture, fixture.kept_count == 1);
	fixture_stop_server(&fixture);
	late_closed = 0;
	struct http_stream *stream =
		http_stream_open(fixture.kept[0], NULL, NULL, 0, on_late_closed, NULL);
	http_stream_write(stream, "lost", 4);
	until(&fixture, late_closed == 1);
}

Test(http_stream, ends_with_the_server)
{
	open_stream(POST_STREAM);
	fixture_stop_server(&fixture);
	cr_assert_eq(fixture.closed_count, 1);
}

Test(http_stream, may_end_while_its_connection_closes)
{
	open_stream(POST_STREAM);
	http_connection_close(
		list_first(&fixture.server->connections, struct http_connection, link));
	http_stream_write(fixture.streams[0], "x", 1);
	http_stream_end(fixture.streams[0]);
	until(&fixture, raw.eof);
	cr_assert_eq(fixture.closed_count, 0);
}

Test(http_stream, holds_answers_behind_it)
{
	open_stream(POST_STREAM GET_HELLO GET_HELLO);
	until(&fixture, fixture.log.data && strstr(fixture.log.data, "GET /hello\nGET /hello\n"));
	http_stream_record(fixture.streams[0], "one", 3);
	until(&fixture, raw_has(&raw, "one"));
	cr_assert_not(raw_has(&raw, "hello"));
	http_stream_end(fixture.streams[0]);
	until(&fixture, raw_count(&raw, "hello") == 2);
	cr_assert(strstr(raw.in.data, "one\r\n0\r\n\r\nHTTP/1.1 200 OK"));
}

Test(http_stream, queues_streams_behind_one_another)
{
	raw_send(&raw, POST_STREAM GET_HELLO POST_STREAM GET_HELLO);
	until(&fixture, fixture.stream_count == 2);
	http_stream_record(fixture.streams[1], "second", 6);
	http_stream_end(fixture.streams[1]);
	http_stream_record(fixture.streams[0], "first", 5);
	until(&fixture, raw_has(&raw, "first"));
	cr_assert_not(raw_has(&raw, "second"));
	http_stream_end(fixture.streams[0]);
	until(&fixture, raw_count(&raw, "hello") == 2);
	const char *second = strstr(raw.in.data, "second");
	cr_assert(second > strstr(raw.in.data, "hello"));
	cr_assert(strstr(second, "hello") > second);
}

Test(http_stream, does_not_pile_up_streams)
{
	for (int i = 0; i < KEPT_MAX; i++)
		raw_send(&raw, POST_STREAM);
	until(&fixture, fixture.stream_count == KEPT_MAX);
	fixture.stream_count = 0;
	raw_send(&raw, POST_STREAM);
	until(&fixture, raw.eof && fixture.closed_count == KEPT_MAX + 1);
}

Test(http_stream, notices_the_end_behind_a_waiting_request)
{
	open_stream(POST_STREAM "GET /later HTTP/1.1\r\n\r\n" GET_HELLO);
	until(&fixture, fixture.kept_count == 1);
	raw_shutdown(&raw);
	until(&fixture, fixture.closed_count == 1);
	http_reply_text(fixture.kept[0], 200, NULL);
	until(&fixture, raw.eof);
}

Test(http_stream, drops_a_client_that_does_not_read)
{
	char *block = xcalloc(1, 1024 * 1024);

	fixture.stream_limit = 4 * 1024 * 1024;
	raw_deafen(&raw);
	open_stream(POST_STREAM);
	for (int i = 0; i < 64 && fixture.streams[0]; i++) {
		http_stream_write(fixture.streams[0], block, 1024 * 1024);
		uv_run(&fixture.loop, UV_RUN_NOWAIT);
	}
	cr_assert_eq(fixture.closed_count, 1);
	free(block);
}

Test(http_stream, brings_much_to_a_client_that_reads)
{
	char *block = xcalloc(1, 1024 * 1024);

	open_stream(POST_STREAM);
	for (int i = 0; i < 20; i++)
		http_stream_write(fixture.streams[0], block, 1024 * 1024);
	until(&fixture, raw.in.len > 20 * 1024 * 1024);
	http_stream_end(fixture.streams[0]);
	until(&fixture, str_has_suffix(raw.in.data + raw.in.len - 5, "0\r\n\r\n"));
	free(block);
}

Test(http_stream, bounds_what_waits_behind_it)
{
	fixture.big_size = 1024 * 1024;
	open_stream(POST_STREAM);
	for (int i = 0; i < 10; i++)
		raw_send(&raw, "GET /big HTTP/1.1\r\n\r\n");
	until(&fixture, raw.eof);
	cr_assert_eq(fixture.closed_count, 1);
}
