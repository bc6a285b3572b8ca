/* Whole answers: status line, headers, body, compressed when the client takes it. */
#include "net/http/http_internal.h"

#include <string.h>

#include "net/gzip.h"

#define TEXT_PLAIN "text/plain; charset=utf-8"

const char *http_status_text(int status)
{
	switch (status) {
#define STATUS(number, name, text)                                                                 \
	case number:                                                                               \
		return #text;
		HTTP_STATUS_MAP(STATUS)
#undef STATUS
	default:
		return "Unknown";
	}
}

void http_reply_head(struct http_server *server, struct buf *out, int status)
{
	const char *date = http_server_date(server);
	struct buf *answer = &server->answer;

	if (server->answer_status != status) {
		server->answer_status = status;
		buf_clear(answer);
		buf_puts(answer, "HTTP/1.1 ");
		buf_number(answer, (unsigned)status, 10);
		buf_putc(answer, ' ');
		buf_puts(answer, http_status_text(status));
		buf_puts(answer, "\r\nDate: ");
		buf_puts(answer, date);
		buf_puts(answer, "\r\n");
	}
	buf_reserve(out, 256);
	buf_append(out, answer->data, answer->len);
}

void http_reply_headers(struct buf *out, const char *const *extra)
{
	for (; extra && extra[0]; extra += 2) {
		/* A value may quote a client: it must not start a line of its own. */
		if (strpbrk(extra[0], "\r\n") || strpbrk(extra[1], "\r\n"))
			continue;
		buf_puts(out, extra[0]);
		buf_puts(out, ": ");
		buf_puts(out, extra[1]);
		buf_puts(out, "\r\n");
	}
}

static bool has_header(const char *const *extra, const char *name)
{
	for (; extra && extra[0]; extra += 2)
		if (strcasecmp(extra[0], name) == 0)
			return true;
	return false;
}

bool http_takes_gzip(struct http_request *request)
{
	const char *accept = http_header_list(request, "Accept-Encoding");

	return accept && http_accepts(accept, "gzip", NULL, "*");
}

static bool wants_gzip(struct http_request *request, size_t len, const char *const *extra)
{
	return len >= HTTP_GZIP_MIN && http_takes_gzip(request) &&
	       !has_header(extra, "Content-Encoding");
}

void http_compose(struct http_request *request, int status, const char *content_type,
		  const char *const *extra, struct slice *body, struct buf *packed,
		  struct buf *head)
{
	const struct exchange *exchange = request->answer;

	http_reply_head(exchange->connection->server, head, status);
	if (wants_gzip(request, body->len, extra) &&
	    (packed->len > 0 || gzip_compress(packed, body->data, body->len) == 0)) {
		*body = (struct slice){packed->data, packed->len};
		buf_puts(head, "Content-Encoding: gzip\r\n");
	}
	http_reply_headers(head, extra);
	if (content_type)
		http_reply_headers(head, (const char *const[]){"Content-Type", content_type, NULL});
	buf_puts(head, "Content-Length: ");
	buf_number(head, body->len, 10);
	buf_puts(head, "\r\n\r\n");
	/* The client counts on nothing behind the head of an answer to HEAD. */
	if (strcmp(request->method, "HEAD") == 0)
		body->len = 0;
}

void http_reply(struct http_request *request, int status, const char *content_type,
		const void *body, size_t len, const char *const *extra)
{
	struct exchange *exchange = request->answer;
	struct http_connection *connection = exchange->connection;
	struct slice bytes = {body, len};
	struct buf packed = BUF_INIT;

	if (!connection || connection->closing) {
		if (connection)
			http_connection_let_go(connection);
		http_exchange_free(exchange);
		return;
	}
	struct buf *out = http_connection_sink(connection);
	http_compose(request, status, content_type, extra, &bytes, &packed, out);
	buf_append(out, bytes.data, bytes.len);
	buf_free(&packed);
	http_connection_let_go(connection);
	http_connection_answered(connection);
	http_exchange_free(exchange);
}

void http_reply_text(struct http_request *request, int status, const char *text)
{
	if (!text)
		text = status < 400 ? ""
				    : arena_printf(&request->arena, "%d %s.", status,
						   http_status_text(status));
	http_reply(request, status, *text ? TEXT_PLAIN : NULL, text, strlen(text), NULL);
}

void http_reply_json(struct http_request *request, int status, const struct buf *json)
{
	http_reply(request, status, http_media_name(HTTP_MEDIA_JSON), json->data, json->len, NULL);
}

void http_reply_not_allowed(struct http_request *request, const char *allowed)
{
	struct buf text = BUF_INIT;

	buf_puts(&text, "405 Method Not Allowed. Expecting one of { '");
	for (const char *at = allowed; *at; at++) {
		if (at[0] == ',' && at[1] == ' ') {
			buf_puts(&text, "', '");
			at++;
		} else {
			buf_putc(&text, *at);
		}
	}
	buf_printf(&text, "' }, but received '%s'.", request->method);
	http_reply(request, 405, TEXT_PLAIN, text.data, text.len,
		   (const char *const[]){"Allow", allowed, NULL});
	buf_free(&text);
}
