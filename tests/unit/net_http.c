/* HTTP server: requests as they should be. */
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <zlib.h>

#include "net/gzip.h"
#include "net/http/http_internal.h"
#include "net_server.h"

#define GET_HELLO "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"

SERVER_SUITE(http);

Test(http, answers_a_get)
{
	raw_expect(&raw, GET_HELLO, "hello");
	cr_assert(str_has_prefix(raw.in.data, "HTTP/1.1 200 OK\r\nDate: "));
	cr_assert(raw_has(&raw, " GMT\r\nContent-Length: 5\r\n\r\nhello"));
	cr_assert_not(raw_has(&raw, "Connection"));
}

Test(http, who_comes_early_waits)
{
	struct err err;

	raw_close(&raw);
	fixture_stop_server(&fixture);
	fixture.server_closed = false;
	fixture.options.later = true;
	fixture_start(&fixture);
	raw_open(&raw, &fixture);
	raw_send(&raw, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
	for (int i = 0; i < 5; i++)
		fixture_turn(&fixture);
	cr_expect_eq(raw.in.len, 0);
	cr_expect_not(raw.eof);
	cr_assert_eq(http_server_accept(fixture.server, &err), 0);
	until(&fixture, raw_has(&raw, "hello"));
}

Test(http, takes_a_request_byte_by_byte)
{
	const char *text = "POST /echo?a=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nabcd";

	for (int round = 1; round <= 2; round++) {
		for (size_t i = 0; text[i]; i++) {
			raw_write(&raw, text + i, 1);
			fixture_turn(&fixture);
		}
		until(&fixture, raw_count(&raw, "\r\n\r\nabcd") == round);
	}
	cr_assert_str_eq(fixture.log.data, "POST /echo?a=1\nPOST /echo?a=1\n");
}

Test(http, takes_chunked_bodies)
{
	raw_expect(&raw,
		   "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
		   "3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\n\r\n",
		   "Content-Length: 7\r\n\r\nabcdefg");
}

/* Trailers are ignored, and the connection lives on. */
Test(http, takes_trailers)
{
	raw_expect(&raw,
		   "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
		   "3\r\nabc\r\n0\r\nX-Sum: 12\r\nX-More: \r\n\r\n",
		   "Content-Length: 3\r\n\r\nabc");
	raw_expect(&raw, GET_HELLO, "hello");
}

/* Who waits for a word before the body gets it, once, and nobody else does. */
Test(http, asks_for_the_body_if_expected)
{
	raw_send(&raw, "POST /echo HTTP/1.1\r\nContent-Length: 4\r\nExpect: 100-Continue\r\n\r\n");
	until(&fixture, raw_has(&raw, "HTTP/1.1 100 Continue\r\n\r\n"));
	raw_expect(&raw, "ab", "");
	raw_expect(&raw, "cd", "Content-Length: 4\r\n\r\nabcd");
	raw_expect(&raw,
		   "POST /echo HTTP/1.1\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\nefgh",
		   "efgh");
	raw_expect(&raw, "POST /echo HTTP/1.0\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n",
		   "");
	raw_expect(&raw, "ijkl", "ijkl");
	cr_expect_eq(raw_count(&raw, "100 Continue"), 1);
}

Test(http, asks_each_time_and_nobody_who_does_not_wait)
{
	raw_send(&raw, "POST /echo HTTP/1.1\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
	until(&fixture, raw_has(&raw, "HTTP/1.1 100 Continue\r\n\r\n"));
	raw_expect(&raw, "abcd", "\r\n\r\nabcd");
	raw_expect(&raw, "POST /echo HTTP/1.1\r\nContent-Length: 4\r\n\r\n", "");
	raw_expect(&raw, "efgh", "\r\n\r\nefgh");
	cr_expect_eq(raw_count(&raw, "100 Continue"), 1);
	raw_send(&raw, "POST /echo HTTP/1.1\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
	until(&fixture, raw_count(&raw, "100 Continue") == 2);
	raw_expect(&raw, "ijkl", "\r\n\r\nijkl");
}

Test(http, asks_for_the_body_wherever_it_is_expected)
{
	raw_send(&raw, "POST /echo HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
	until(&fixture, raw_has(&raw, "HTTP/1.1 100 Continue\r\n\r\n"));
	raw_expect(&raw, "abcd", "abcd");
}

Test(http, answers_pipelined_requests_in_order)
{
	raw_send(&raw, "GET /later?1 HTTP/1.1\r\n\r\n" GET_HELLO "GET /later?2 HTTP/1.1\r\n\r\n");
	until(&fixture, fixture.kept_count == 1);
	http_reply(fixture.kept[0], 200, NULL, "first", 5, NULL);
	cr_assert_eq(fixture.kept_count, 1, "the next request is not handled inside the call");
	until(&fixture, fixture.kept_count == 2);
	http_reply_text(fixture.kept[1], 202, NULL);
	until(&fixture, raw_has(&raw, "202 Accepted"));
	const char *first = strstr(raw.in.data, "first");
	const char *second = strstr(raw.in.data, "hello");
	cr_assert(first && second && first < second);
	cr_assert_str_eq(fixture.log.data, "GET /later?1\nGET /hello\nGET /later?2\n");
}

Test(http, takes_thousands_of_pipelined_requests)
{
	struct buf many = BUF_INIT;

	for (int i = 0; i < 5000; i++)
		buf_puts(&many, GET_HELLO);
	raw_write(&raw, many.data, many.len);
	until(&fixture, raw_count(&raw, "\r\n\r\nhello") == 5000);
	buf_free(&many);
}

Test(http, closes_when_asked)
{
	raw_send(&raw, "GET /hello HTTP/1.1\r\nConnection: close\r\n\r\n" GET_HELLO);
	until(&fixture, raw.eof);
	cr_assert_eq(raw_count(&raw, "hello"), 1);
}

Test(http, speaks_http_1_0)
{
	raw_expect(&raw, "GET /hello HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "hello");
	raw_send(&raw, "GET /json HTTP/1.0\r\n\r\n");
	until(&fixture, raw.eof);
	cr_assert(raw_has(&raw, "Content-Length: 4000"));
}

Test(http, answers_after_a_half_close)
{
	raw_send(&raw, "GET /later HTTP/1.1\r\n\r\n" GET_HELLO "POST /echo HTTP/1.1\r\nContent-Le");
	raw_shutdown(&raw);
	until(&fixture, fixture.kept_count == 1);
	for (int i = 0; i < 5; i++)
		uv_run(&fixture.loop, UV_RUN_NOWAIT);
	http_reply(fixture.kept[0], 200, NULL, "late", 4, NULL);
	until(&fixture, raw.eof);
	cr_assert(raw_has(&raw, "late"));
	cr_assert(raw_has(&raw, "hello"));
	cr_assert_str_eq(fixture.log.data, "GET /later\nGET /hello\n");
}

/* The listener has them, connections inherit them. */
Test(http, connections_do_not_delay_and_are_kept_alive)
{
	const int wanted[][3] = {{IPPROTO_TCP, TCP_NODELAY, 1},
				 {SOL_SOCKET, SO_KEEPALIVE, 1},
				 {IPPROTO_TCP, TCP_KEEPIDLE, TCP_KEEPALIVE_SECONDS}};
	struct exchange *exchange;
	int fd;

	raw_send(&raw, "GET /later HTTP/1.1\r\n\r\n");
	until(&fixture, fixture.kept_count == 1);
	exchange = fixture.kept[0]->answer;
	fd = transport_socket(&exchange->connection->transport);
	cr_assert_geq(fd, 0);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		socklen_t size = sizeof(int);
		int value = 0;

		cr_assert_eq(getsockopt(fd, wanted[i][0], wanted[i][1], &value, &size), 0);
		cr_expect_eq(value, wanted[i][2], "option %zu: %d", i, value);
	}
	http_reply_text(fixture.kept[0], 200, "done");
	raw_expect(&raw, "GET /json HTTP/1.1\r\n\r\n", "xxxx");
}

Test(http, drops_the_answer_of_a_client_that_went_away)
{
	struct raw gone;

	raw_open(&gone, &fixture);
	raw_send(&gone, "GET /later HTTP/1.1\r\n\r\n");
	until(&fixture, fixture.kept_count == 1);
	raw_reset(&gone);
	raw_expect(&raw, GET_HELLO, "hello");
	cr_assert(str_has_prefix(http_peer(fixture.kept[0]), "127.0.0.1:"));
	http_reply_text(fixture.kept[0], 200, "nobody hears");
	raw_expect(&raw, "GET /json HTTP/1.1\r\n\r\n", "xxxx");
}

Test(http, lets_requests_outlive_the_server)
{
	raw_send(&raw, "GET /later HTTP/1.1\r\n\r\n");
	until(&fixture, fixture.kept_count == 1);
	fixture_stop_server(&fixture);
	cr_assert_str_eq(http_header(fixture.kept[0], "none") ? "some" : "none", "none");
	http_reply_text(fixture.kept[0], 200, "nobody hears");
}

Test(http, compresses_long_answers)
{
	raw_send(&raw, "GET /json HTTP/1.1\r\nAccept-Encoding: deflate, GZIP;q=0.5\r\n\r\n");
	until(&fixture, raw_has(&raw, "\r\n\r\n"));
	cr_assert(raw_has(&raw, "Content-Encoding: gzip\r\n"));
	cr_assert(raw_has(&raw, "Content-Type: application/json\r\n"));
	const char *length = strstr(raw.in.data, "Content-Length: ");
	size_t size = (size_t)atoi(length + strlen("Content-Length: "));
	const char *body = strstr(raw.in.data, "\r\n\r\n") + 4;
	until(&fixture, raw.in.len - (size_t)(body - raw.in.data) == size);
	struct buf text = BUF_INIT;
	cr_assert_eq(gzip_inflate(&text, body, size, 4000), 0);
	cr_assert_eq(text.len, 4000);
	cr_assert_eq(strspn(text.data, "x"), 4000);
	buf_free(&text);
}

Test(http, does_not_compress_otherwise)
{
	raw_expect(&raw, "GET /hello HTTP/1.1\r\nAccept-Encoding: gzip\r\n\r\n", "\r\n\r\nhello");
	raw_expect(&raw, "GET /json HTTP/1.1\r\nAccept-Encoding: gzip;q=0, *\r\n\r\n",
		   "Content-Length: 4000\r\n\r\n");
}

Test(http, inflates_bodies)
{
	struct buf packed = BUF_INIT;
	struct buf text = BUF_INIT;

	cr_assert_eq(gzip_compress(&packed, "some text", 9), 0);
	buf_printf(&text,
		   "POST /echo HTTP/1.1\r\nContent-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n",
		   packed.len);
	buf_append(&text, packed.data, packed.len);
	raw_write(&raw, text.data, text.len);
	until(&fixture, raw_has(&raw, "\r\n\r\nsome text"));
	buf_free(&packed);
	buf_free(&text);
}

Test(http, omits_the_body_for_head)
{
	raw_expect(&raw, "HEAD /hello HTTP/1.1\r\n\r\n" GET_HELLO,
		   "Content-Length: 5\r\n\r\nHTTP/1.1 200 OK");
}

Test(http, declines_upgrades_by_answering)
{
	raw_expect(&raw,
		   "GET /hello HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\n"
		   "Upgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n",
		   "hello");
	raw_expect(&raw, "GET /json HTTP/1.1\r\n\r\n", "xxxx");
}

Test(http, takes_absolute_targets)
{
	raw_expect(&raw, "GET http://a.b:80/hello?x=1 HTTP/1.1\r\n\r\n", "hello");
	cr_assert_str_eq(fixture.log.data, "GET /hello?x=1\n");
}

/* -- what a handler sees -- */

static void inspect(void *context, struct http_request *request)
{
	cr_assert_str_eq(request->path, "/a b/c+d");
	cr_assert_str_eq(request->query, "x=1&y=a%20b+c&x=2;z&=q");
	cr_assert_str_eq(http_query(request, "x"), "2");
	cr_assert_str_eq(http_query(request, "y"), "a b c");
	cr_assert_str_eq(http_query(request, "z"), "");
	cr_assert_null(http_query(request, "w"));
	cr_assert_str_eq(http_form(request, "k"), "v&w");
	cr_assert_null(http_form(request, "kk"));
	cr_assert_null(http_form_error(request));
	cr_assert_str_eq(http_header(request, "x-trailing"), "b c");
	cr_assert_str_eq(http_header(request, "EMPTY"), "");
	cr_assert_null(http_header(request, "x-none"));
	cr_assert_eq(request->header_count, 3);
	cr_assert(str_has_prefix(http_peer(request), "127.0.0.1:"));
	cr_assert(str_has_prefix(http_local(request), "127.0.0.1:"));
	cr_assert_str_neq(http_local(request), http_peer(request));
	http_reply_json(request, 200, &(struct buf){.data = "{}", .len = 2});
}

Test(http, decodes_what_handlers_read)
{
	fixture.handler = inspect;
	raw_expect(&raw,
		   "POST /a%20b/c+d?x=1&y=a%20b+c&x=2;z&=q HTTP/1.1\r\n"
		   "X-Trailing:  b c \t\r\nEmpty:\r\nContent-Length: 12\r\n\r\nk=v%26w&kkk=",
		   "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}");
}

static void reply_form_error(void *context, struct http_request *request)
{
	const char *error = http_form_error(request);

	http_reply_text(request, error ? 400 : 200, error ? error : "fine");
}

Test(http, names_what_is_malformed_in_a_form)
{
	static const char *const rows[][2] = {
		{"", "fine"},
		{"a=%2", "Malformed % escape in '%2': '%2'"},
		{"a=1&b=x=%zzz;c", "Malformed % escape in 'x=%zzz': '%zz'"},
		{"a=1;b%=x", "Malformed % escape in 'b%': '%'"},
		{"%41=%42", "fine"},
	};

	fixture.handler = reply_form_error;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char request[200];

		snprintf(request, sizeof(request),
			 "POST / HTTP/1.1\r\nContent-Length: %zu\r\n\r\n%s", strlen(rows[i][0]),
			 rows[i][0]);
		raw_expect(&raw, request, rows[i][1]);
	}
}

static void reply_405(void *context, struct http_request *request)
{
	http_reply_not_allowed(request, "GET, POST");
}

/* Millions of values fit into a body. */
Test(http, bounds_the_values_of_a_form)
{
	struct http_request request = {0};
	struct buf form = BUF_INIT;

	arena_init(&request.arena);
	for (int i = 0; i < 1000; i++)
		buf_puts(&form, "a&");
	buf_puts(&form, "b=1");
	request.body = (struct slice){form.data, form.len};
	cr_expect_null(http_form_error(&request));
	cr_expect_str_eq(http_form(&request, "b"), "1");
	for (int i = 0; i < 10000000; i++)
		buf_puts(&form, "a&");
	request.body = (struct slice){form.data, form.len};
	cr_expect_str_eq(http_form_error(&request), "More than 1000 values in the form");
	cr_expect_null(http_form(&request, "b"));
	buf_free(&form);
	arena_free(&request.arena);
}

Test(http, tells_allowed_methods_in_mesos_words)
{
	const char *text = "405 Method Not Allowed. Expecting one of { 'GET', 'POST' }, "
			   "but received 'PUT'.";

	fixture.handler = reply_405;
	raw_expect(&raw, "PUT / HTTP/1.1\r\n\r\n", text);
	cr_assert(raw_has(&raw, "HTTP/1.1 405 Method Not Allowed\r\n"));
	cr_assert(raw_has(&raw, "Allow: GET, POST\r\n"));
}

static void reply_injected(void *context, struct http_request *request)
{
	http_reply(request, 307, NULL, NULL, 0,
		   (const char *const[]){"Location", "//x\r\nEvil: 1", "Good", "1", NULL});
}

Test(http, does_not_let_a_header_start_a_line)
{
	fixture.handler = reply_injected;
	raw_expect(&raw, GET_HELLO, "Good: 1\r\nContent-Length: 0\r\n\r\n");
	cr_assert(raw_has(&raw, "307 Temporary Redirect"));
	cr_assert_not(raw_has(&raw, "Evil"));
}

/* -- accept -- */

Test(http_accept, follows_the_list)
{
	static const struct {
		const char *accept;
		enum http_media media;
	} cases[] = {
		{"application/json", HTTP_MEDIA_JSON},
		{"application/x-protobuf", HTTP_MEDIA_PROTOBUF},
		{"APPLICATION/X-Protobuf ; q=0.1", HTTP_MEDIA_PROTOBUF},
		{"application/x-protobuf, application/json", HTTP_MEDIA_JSON},
		{"application/json;q=0, application/*", HTTP_MEDIA_PROTOBUF},
		{"*/*", HTTP_MEDIA_JSON},
		{"text/html, application/*;q=0.2", HTTP_MEDIA_JSON},
		{"*/*;q=0", HTTP_MEDIA_NONE},
		{"*/*;q=x", HTTP_MEDIA_NONE},
		{"text/html", HTTP_MEDIA_NONE},
		{"", HTTP_MEDIA_NONE},
		{",;,;", HTTP_MEDIA_NONE},
		{NULL, HTTP_MEDIA_JSON},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct http_header header = {"accept", cases[i].accept};
		struct http_request request = {.headers = &header,
					       .header_count = cases[i].accept ? 1 : 0};
		cr_expect_eq(http_accept(&request), cases[i].media, "%s",
			     cases[i].accept ? cases[i].accept : "none");
	}
}

Test(http_accept, may_come_in_several_lines)
{
	struct http_header headers[] = {{"Accept", "text/html"},
					{"accept", "application/x-protobuf;q=0.5"},
					{"Accept-Language", "de"},
					{"ACCEPT", "application/recordio"}};
	struct http_request request = {.headers = headers, .header_count = 4};

	arena_init(&request.arena);
	cr_expect_str_eq(http_header_list(&request, "Accept"),
			 "text/html, application/x-protobuf;q=0.5, application/recordio");
	cr_expect_str_eq(http_header_list(&request, "Accept-Language"), "de");
	cr_expect_null(http_header_list(&request, "Accept-Encoding"));
	cr_expect_eq(http_accept(&request), HTTP_MEDIA_PROTOBUF);
	arena_free(&request.arena);
}

Test(http_accept, compares_content_types_as_a_whole)
{
	struct http_header header = {"Content-Type", "application/json"};
	struct http_request request = {.headers = &header, .header_count = 1};

	cr_assert_eq(http_content_type(&request), HTTP_MEDIA_JSON);
	header.value = "application/x-protobuf";
	cr_assert_eq(http_content_type(&request), HTTP_MEDIA_PROTOBUF);
	header.value = "application/json; charset=utf-8";
	cr_assert_eq(http_content_type(&request), HTTP_MEDIA_NONE);
	request.header_count = 0;
	cr_assert_eq(http_content_type(&request), HTTP_MEDIA_NONE);
}

static void note_sender(void *context, struct http_request *request)
{
	(void)context;
	if (strstr(request->path, "claims"))
		http_note_sender(request, "/master");
	else
		http_sole_sender(request, request->path);
	http_reply(request, 200, NULL, "noted", 5, NULL);
}

Test(http, ends_earlier_connections_of_a_sole_sender)
{
	struct raw second, other, liar;

	fixture.handler = note_sender;
	raw_open(&second, &fixture);
	raw_open(&other, &fixture);
	raw_open(&liar, &fixture);
	raw_send(&raw, "GET /master HTTP/1.1\r\n\r\nGET /master HTTP/1.1\r\n\r\n");
	until(&fixture, raw_count(&raw, "noted") == 2);
	raw_expect(&other, "GET /another HTTP/1.1\r\n\r\n", "noted");
	cr_assert_not(raw.eof);
	/* Who only claims to be it ends nobody, and ends with the others. */
	raw_expect(&liar, "GET /claims HTTP/1.1\r\n\r\n", "noted");
	raw_send(&raw, "GET /claims HTTP/1.1\r\n\r\n");
	until(&fixture, raw_count(&raw, "noted") == 3);
	raw_expect(&second, "GET /master HTTP/1.1\r\n\r\n", "noted");
	raw_send(&raw, "GET /late HTTP/1.1\r\n\r\n");
	until(&fixture, raw.eof && liar.eof);
	raw_send(&other, "GET /another HTTP/1.1\r\n\r\n");
	until(&fixture, raw_count(&other, "noted") == 2);
	cr_assert_str_eq(fixture.log.data, "GET /master\nGET /master\nGET /another\n"
					   "GET /claims\nGET /claims\n"
					   "GET /master\nGET /another\n");
	raw_close(&second);
	raw_close(&other);
	raw_close(&liar);
}

/* Every byte, and those that stay as they are in a path. */
Test(http, encodes_what_a_path_may_not_have)
{
	static const char plain[] = "0123456789abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_.~/";
	char all[256], decoded[1024], expected[8];
	struct buf out = BUF_INIT;

	for (int i = 1; i < 256; i++) {
		all[i - 1] = (char)i;
		buf_clear(&out);
		http_encode(&out, (const char[]){(char)i, '\0'});
		snprintf(expected, sizeof(expected), strchr(plain, i) ? "%c" : "%%%02X", i);
		cr_expect_str_eq(out.data, expected);
	}
	all[255] = '\0';
	buf_clear(&out);
	http_encode(&out, all);
	cr_assert_lt(out.len, sizeof(decoded));
	cr_assert(http_decode(out.data, out.len, false, decoded));
	cr_expect_str_eq(decoded, all);
	buf_free(&out);
}
