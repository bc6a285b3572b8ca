/* HTTP server: bodies of requests that are handed over as they come. */
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "net/http/http_internal.h"
#include "net_server.h"

#define BEGIN "POST /upload HTTP/1.1\r\nHost: x\r\n"
#define CHUNKED BEGIN "Transfer-Encoding: chunked\r\n\r\n"
#define GET_HELLO "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"

/* What the handler of /upload saw. */
static struct upload {
	struct http_request *request;
	struct buf body;
	uint64_t bytes;
	int begun, ended, asked;
	bool whole;
	bool late;		 /* the test asks for the body */
	bool counts;		 /* only how much it is */
	bool answers_at_once;	 /* before the body */
	const char *answer_part; /* the part that it is answered at */
} upload;

static void on_part(void *context, struct slice part)
{
	cr_assert_eq(context, &upload);
	cr_assert_gt(part.len, 0);
	cr_assert_lt(upload.ended, upload.begun);
	upload.bytes += part.len;
	if (!upload.counts)
		buf_append(&upload.body, part.data, part.len);
	if (upload.answer_part && memmem(upload.body.data, upload.body.len, upload.answer_part,
					 strlen(upload.answer_part)))
		http_reply_text(upload.request, 403, "enough");
}

static void on_ended(void *context, bool whole)
{
	upload.ended++;
	upload.whole = whole;
	http_reply_text(upload.request, 200, whole ? "whole" : "gone");
}

static const struct http_body_reader reader = {on_part, on_ended};

static bool streams(void *context, struct http_request *request)
{
	upload.asked++;
	cr_assert_eq(request->body.len, 0);
	return !strcmp(request->path, "/upload") && http_header(request, "host");
}

static void handle(void *context, struct http_request *request)
{
	if (strcmp(request->path, "/upload")) {
		http_reply(request, 200, NULL, request->body.data, request->body.len, NULL);
		return;
	}
	upload.begun++;
	upload.request = request;
	if (upload.answers_at_once)
		http_reply_text(request, 409, "not now");
	else if (!upload.late)
		cr_assert(http_body_read(request, &reader, &upload));
}

static void set_up_upload(void)
{
	fixture_init(&fixture);
	fixture.options.streams = streams;
	fixture.options.body_max = 1000;
	fixture.options.body_timeout_ms = 100;
	fixture.handler = handle;
	fixture_start(&fixture);
	raw_open(&raw, &fixture);
	upload = (struct upload){0};
}

static void tear_down_upload(void)
{
	tear_down();
	buf_free(&upload.body);
}

TestSuite(http_upload, .init = set_up_upload, .fini = tear_down_upload, .timeout = 60);

static void expect_body(const char *text)
{
	cr_expect_eq(upload.body.len, strlen(text));
	cr_expect(!memcmp(upload.body.data, text, strlen(text)));
}

Test(http_upload, parts_come_before_the_whole)
{
	raw_send(&raw, CHUNKED "3\r\nabc\r\n");
	until(&fixture, upload.bytes == 3);
	cr_expect_eq(upload.ended, 0);
	raw_send(&raw, "4\r\ndefg\r\n0\r\nTrailer: x\r\n\r\n");
	until(&fixture, raw_has(&raw, "whole"));
	expect_body("abcdefg");
	/* And the connection goes on, with a body of a known length after that. */
	raw_send(&raw, GET_HELLO BEGIN "Content-Length: 5\r\n\r\nhijkl" GET_HELLO);
	until(&fixture, raw_count(&raw, "200 OK") == 4);
	expect_body("abcdefghijkl");
	cr_expect_eq(upload.ended, 2);
	cr_expect_eq(upload.asked, 2, "not of requests without a body");
}

Test(http_upload, others_are_collected_as_ever)
{
	raw_expect(&raw, "POST /echo HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", "\r\n\r\nhello");
	raw_expect(&raw, "POST /../x HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", "404 Not Found");
	raw_expect(&raw,
		   "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
		   "2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n",
		   "\r\n\r\nabcd");
	cr_expect_eq(upload.begun, 0);
	raw_expect(&raw, "POST /echo HTTP/1.1\r\nContent-Length: 1001\r\n\r\n",
		   "413 Payload Too Large.");
	until(&fixture, raw.eof);
}

/* No limit of length or time, and nothing is kept. */
Test(http_upload, is_as_long_as_it_likes)
{
	static char part[64 * 1024];
	uint64_t length = 256 * sizeof(part);
	char *head = xprintf(BEGIN "Content-Length: %llu\r\n\r\n", (unsigned long long)length);
	uint64_t sent = 0;

	memset(part, 'x', sizeof(part));
	upload.counts = true;
	raw_send(&raw, head);
	free(head);
	until(&fixture, upload.begun == 1);
	for (; sent < length; sent += sizeof(part)) {
		raw_write(&raw, part, sizeof(part));
		until(&fixture, upload.bytes == sent + sizeof(part));
		if (upload.ended)
			break;
		cr_assert_leq(upload.request->connection->input.len, sizeof(part));
		cr_assert_eq(upload.request->connection->body.len, 0);
	}
	until(&fixture, raw_has(&raw, "whole"));
}

Test(http_upload, a_slow_one_is_not_ended)
{
	uint64_t then;

	raw_send(&raw, BEGIN "Content-Length: 2\r\n\r\na");
	until(&fixture, upload.bytes == 1);
	then = uv_now(&fixture.loop);
	until(&fixture, uv_now(&fixture.loop) > then + 1000);
	raw_expect(&raw, "b", "whole");
}

Test(http_upload, a_reader_that_pauses_lets_the_client_wait)
{
	static char part[64 * 1024];
	uint64_t seen;
	size_t waiting;

	memset(part, 'x', sizeof(part));
	upload.counts = true;
	raw_send(&raw, BEGIN "Content-Length: 1048576\r\n\r\n");
	raw_write(&raw, part, sizeof(part));
	until(&fixture, upload.bytes > 0);
	http_body_pause(upload.request, true);
	for (int i = 1; i < 16; i++)
		raw_write(&raw, part, sizeof(part));
	for (int i = 0; i < 500; i++)
		uv_run(&fixture.loop, UV_RUN_NOWAIT);
	seen = upload.bytes;
	waiting = upload.request->connection->input.len;
	cr_expect_leq(seen, sizeof(part) + HTTP_READ_SIZE);
	cr_expect_leq(waiting, HTTP_READ_AHEAD + HTTP_READ_SIZE);
	for (int i = 0; i < 100; i++)
		uv_run(&fixture.loop, UV_RUN_NOWAIT);
	cr_expect_eq(upload.bytes, seen);
	http_body_pause(upload.request, false);
	until(&fixture, raw_has(&raw, "whole"));
	cr_expect_eq(upload.bytes, 1048576);
}

Test(http_upload, nothing_is_taken_before_somebody_reads)
{
	upload.late = true;
	raw_send(&raw, BEGIN "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n");
	until(&fixture, upload.begun == 1);
	for (int i = 0; i < 100; i++)
		uv_run(&fixture.loop, UV_RUN_NOWAIT);
	cr_expect_not(raw_has(&raw, "100 Continue"));
	cr_assert(http_body_read(upload.request, &reader, &upload));
	until(&fixture, raw_has(&raw, "HTTP/1.1 100 Continue\r\n\r\n"));
	raw_expect(&raw, "abc", "whole");
	expect_body("abc");
}

Test(http_upload, an_answer_before_the_end_ends_the_connection)
{
	upload.answer_part = "stop";
	raw_send(&raw, CHUNKED "4\r\nstop\r\n4\r\nmore\r\n");
	until(&fixture, raw_has(&raw, "HTTP/1.1 403 Forbidden") && raw.eof);
	cr_expect_eq(upload.ended, 0);
	expect_body("stop");
}

Test(http_upload, an_answer_before_the_body_is_read)
{
	upload.answers_at_once = true;
	raw_send(&raw, CHUNKED "4\r\nbody\r\n0\r\n\r\n" GET_HELLO);
	until(&fixture, raw_has(&raw, "409 Conflict") && raw.eof);
	cr_expect_eq(raw_count(&raw, "HTTP/1.1"), 1);
}

Test(http_upload, a_client_that_goes_ends_it)
{
	raw_send(&raw, CHUNKED "3\r\nabc\r\n");
	until(&fixture, upload.bytes == 3);
	raw_shutdown(&raw);
	until(&fixture, upload.ended == 1);
	cr_expect_not(upload.whole);
	until(&fixture, raw_has(&raw, "gone") && raw.eof);
}

Test(http_upload, a_client_that_resets_ends_it)
{
	struct raw other;

	raw_open(&other, &fixture);
	raw_send(&other, CHUNKED "3\r\nabc\r\n");
	until(&fixture, upload.bytes == 3);
	raw_reset(&other);
	until(&fixture, upload.ended == 1);
	cr_expect_not(upload.whole);
}

/* What came before the client's end is read first. */
Test(http_upload, a_late_reader_hears_of_all)
{
	upload.late = true;
	raw_send(&raw, CHUNKED "3\r\nabc\r\n");
	until(&fixture, upload.begun == 1);
	raw_shutdown(&raw);
	for (int i = 0; i < 100; i++)
		uv_run(&fixture.loop, UV_RUN_NOWAIT);
	cr_expect_eq(upload.ended, 0);
	cr_assert(http_body_read(upload.request, &reader, &upload));
	until(&fixture, upload.ended == 1);
	expect_body("abc");
	cr_expect_not(upload.whole);
}

Test(http_upload, a_server_that_ends_tells_the_reader)
{
	raw_send(&raw, CHUNKED "3\r\nabc\r\n");
	until(&fixture, upload.bytes == 3);
	fixture_stop_server(&fixture);
	until(&fixture, upload.ended == 1);
	cr_expect_not(upload.whole);
}

Test(http_upload, a_reader_that_comes_after_the_client_is_told_so)
{
	upload.late = true;
	raw_send(&raw, CHUNKED);
	until(&fixture, upload.begun == 1);
	fixture_stop_server(&fixture);
	until(&fixture, !upload.request->connection);
	cr_expect_not(http_body_read(upload.request, &reader, &upload));
	http_body_pause(upload.request, true);
	http_reply_text(upload.request, 200, NULL);
	cr_expect_eq(upload.ended, 0);
}

Test(http_upload, a_broken_body_ends_it)
{
	raw_send(&raw, CHUNKED "3\r\nabc\r\nnonsense\r\n");
	until(&fixture, upload.ended == 1);
	expect_body("abc");
	cr_expect_not(upload.whole);
}

Test(http_upload, of_a_connection_that_is_not_kept)
{
	raw_send(&raw, "POST /upload HTTP/1.0\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
	until(&fixture, raw_has(&raw, "whole") && raw.eof);
	expect_body("abc");
}

/* ---- by their type --------------------------------------------------------------------- */

static void set_up_typed(void)
{
	fixture_init(&fixture);
	fixture.options.streams = streams;
	fixture.options.streams_type = "application/recordio";
	fixture.handler = handle;
	fixture_start(&fixture);
	raw_open(&raw, &fixture);
	upload = (struct upload){0};
}

TestSuite(http_upload_typed, .init = set_up_typed, .fini = tear_down_upload, .timeout = 60);

/* All in the bytes at hand, so that the quick way could take them. */
Test(http_upload_typed, whole_requests_of_the_type_come_in_parts)
{
	raw_expect(&raw,
		   BEGIN "Content-Type: application/recordio\r\nContent-Length: 5\r\n\r\nhello",
		   "whole");
	expect_body("hello");
	cr_expect_eq(upload.asked, 1);
	raw_send(&raw,
		 BEGIN "content-type: application/recordio\r\nTransfer-Encoding: chunked\r\n\r\n"
		       "2\r\nab\r\n0\r\n\r\n");
	until(&fixture, raw_count(&raw, "whole") == 2);
	expect_body("helloab");
	cr_expect_eq(upload.begun, 2);
}

Test(http_upload_typed, whole_requests_of_other_types_are_not_asked_for)
{
	raw_expect(&raw,
		   "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/record\r\n"
		   "Content-Length: 5\r\n\r\nhello",
		   "\r\n\r\nhello");
	raw_expect(&raw,
		   "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/recordiox\r\n"
		   "Content-Length: 5\r\n\r\nhello",
		   "\r\n\r\nhello");
	raw_expect(&raw, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nabcd",
		   "\r\n\r\nabcd");
	cr_expect_eq(upload.asked, 0);
	cr_expect_eq(upload.begun, 0);
}
