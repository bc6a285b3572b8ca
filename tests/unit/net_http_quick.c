/* Requests that are taken without http-parser mean what http-parser says they mean: what comes
 * whole is compared with the same bytes one by one, which is never taken quickly. */
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "net/http/http_internal.h"
#include "net_harness.h"

#define LIBPROCESS                                                                                 \
	"POST /master/mesos.internal.PongSlaveMessage HTTP/1.1\r\n"                                \
	"User-Agent: libprocess/slave(1)@10.0.0.1:5051\r\nLibprocess-From: slave(1)@10.0.0.1:5051" \
	"\r\nConnection: Keep-Alive\r\nHost: 10.0.0.2:5050\r\nTransfer-Encoding: chunked\r\n\r\n"  \
	"1a\r\n0123456789\r\n0\r\n\r\nabcdefghi\r\n0\r\n\r\n"
#define CALL                                                                                       \
	"POST /api/v1/scheduler HTTP/1.1\r\nHost: m\r\nContent-Type: application/x-protobuf\r\n"   \
	"Mesos-Stream-Id: 0a-1b\r\nContent-Length: 10\r\n\r\n0123\r\n\r\n89"
#define GET "GET /state HTTP/1.1\r\nAccept: */*, text/html;q=0.5\r\n\r\n"

static const char *const usual[] = {LIBPROCESS, CALL, GET, "GET /a.b/c HTTP/1.1\r\n\r\n"};

/* What it takes to decide is only here and there. */
static const char *const odd[] = {
	"GET /a/../b HTTP/1.1\r\n\r\n",
	"GET //a HTTP/1.1\r\n\r\n",
	"GET /a%20b?c=d HTTP/1.1\r\n\r\n",
	"GET /a HTTP/1.0\r\n\r\n",
	"get /a HTTP/1.1\r\n\r\n",
	"GET  /a HTTP/1.1\r\n\r\n",
	"\r\nGET /a HTTP/1.1\r\n\r\n",
	"GET /a HTTP/1.1\r\nA:b\r\nC:  d\r\nE: f \r\nG:\r\nH: \r\n\r\n",
	"GET /a HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
	"GET /a HTTP/1.1\nA: b\n\n",
	"GET /a HTTP/1.1\r\nA: b\xc3\xa4\r\n\r\n",
	"GET /a HTTP/1.1\r\nA: b\x7f\r\n\r\n",
	"GET /a HTTP/1.1\r\nConnection: close\r\n\r\n",
	"GET /a HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: b\r\n\r\n",
	"GET /a HTTP/1.1\r\nProxy-Connection: close\r\n\r\n",
	"POST /a HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na",
	"POST /a HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
	"POST /a HTTP/1.1\r\nContent-Length: 0000000001\r\n\r\na",
	"POST /a HTTP/1.1\r\nContent-Length: 99999999\r\n\r\na",
	"POST /a HTTP/1.1\r\nContent-Length: 1 \r\n\r\na",
	"POST /a HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;a=b\r\nx\r\n0\r\n\r\n",
	"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n1\r\ny\r\n0\r\n\r\n",
	"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nA: b\r\n\r\n",
	"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"POST /a HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\nab",
	"POST /a HTTP/1.1\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nab",
};

static struct fixture fixture;

/* All that a handler may read. */
static void tell(void *context, struct http_request *request)
{
	buf_printf(&fixture.messages, "%s %s %s %s %d %zu\n", request->method, request->target,
		   request->path, request->query, request->keep_alive, request->body.len);
	for (size_t i = 0; i < request->header_count; i++)
		buf_printf(&fixture.messages, "%s=%s\n", request->headers[i].name,
			   request->headers[i].value);
	buf_append(&fixture.messages, request->body.data, request->body.len + 1);
	http_reply_text(request, 202, NULL);
}

static void set_up(void)
{
	fixture_init(&fixture);
	fixture.options.handler = tell;
	fixture_start(&fixture);
}

static void tear_down(void)
{
	fixture_finish(&fixture);
}

TestSuite(http_quick, .init = set_up, .fini = tear_down, .timeout = 60);

/* What the handler was told of the bytes, and how it ended. */
static struct buf hear(const char *data, size_t len, size_t step)
{
	struct http_connection *connection = http_connection_detached(fixture.server);
	struct buf heard;

	for (size_t at = 0; at < len; at += step)
		http_connection_received(connection, data + at, len - at < step ? len - at : step);
	buf_printf(&fixture.messages, "%d %d %zu", connection->in_done, connection->refuse,
		   connection->transport.out.len);
	heard = fixture.messages;
	fixture.messages = BUF_INIT;
	http_connection_close(connection);
	uv_run(&fixture.loop, UV_RUN_NOWAIT);
	return heard;
}

static void compare(const char *data, size_t len)
{
	struct buf whole = hear(data, len, len), pieces = hear(data, len, 1);

	cr_assert(whole.len == pieces.len && !memcmp(whole.data, pieces.data, whole.len),
		  "of %.*s:\n%s\nbut:\n%s", (int)len, data, whole.data, pieces.data);
	buf_free(&whole);
	buf_free(&pieces);
}

Test(http_quick, takes_the_usual_ones)
{
	struct http_connection *connection = http_connection_detached(fixture.server);
	struct exchange *exchange;

	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++) {
		size_t len = strlen(usual[i]);

		cr_assert_eq(http_quick(connection, usual[i], len, &exchange), len, "%s", usual[i]);
		http_exchange_free(exchange);
		for (size_t cut = 0; cut < len; cut++)
			cr_assert_eq(http_quick(connection, usual[i], cut, &exchange), 0);
	}
	http_connection_close(connection);
}

Test(http_quick, means_what_the_parser_says)
{
	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
		compare(usual[i], strlen(usual[i]));
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++)
		compare(odd[i], strlen(odd[i]));
}

/* Many requests may be waiting, and so more bytes than a head may have. */
Test(http_quick, takes_no_longer_heads_than_the_parser)
{
	static char value[HTTP_HEAD_MAX];
	struct buf text = BUF_INIT;

	memset(value, 'v', sizeof(value));
	for (int more = -3; more <= 3; more++) {
		buf_clear(&text);
		buf_puts(&text, "GET /a HTTP/1.1\r\nLong: ");
		buf_append(&text, value, (size_t)(HTTP_HEAD_MAX + more) - text.len - 4);
		buf_puts(&text, "\r\n\r\n");
		compare(text.data, text.len);
	}
	buf_free(&text);
}

static uint64_t below(struct rng *rng, uint64_t end)
{
	return rng_next(rng) % end;
}

static void change(struct rng *rng, struct buf *text)
{
	static const char bytes[] = "\r\n\t\0 :;,/.%?-_()@0123456789aAfFgGzZ{\x7f\x80\xff";
	size_t at = below(rng, text->len);
	char c = bytes[below(rng, sizeof(bytes))];

	switch (below(rng, 3)) {
	case 0:
		text->data[at] = c;
		break;
	case 1:
		memmove(text->data + at, text->data + at + 1, text->len - at);
		text->len--;
		break;
	default:
		buf_putc(text, 0);
		memmove(text->data + at + 1, text->data + at, text->len - 1 - at);
		text->data[at] = c;
	}
}

/* One, then one that is changed here and there, then one: all begin where they should. */
Test(http_quick, means_it_also_when_bytes_are_changed)
{
	struct rng rng;

	rng_seed(&rng, 1);
	for (int i = 0; i < 30000; i++) {
		struct buf text = BUF_INIT;

		buf_puts(&text, usual[below(&rng, sizeof(usual) / sizeof(*usual))]);
		for (uint64_t changes = below(&rng, 3) + 1; changes--;)
			change(&rng, &text);
		buf_puts(&text, GET);
		compare(text.data, text.len);
		buf_free(&text);
	}
}
