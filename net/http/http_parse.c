/* From bytes to one whole request: http-parser callbacks that collect head and body
 * within their limits.
 *
 * Failures: anything http-parser refuses, a head or trailers of more than HTTP_HEAD_MAX, NULs
 * in the head and CONNECT end the connection's input without an answer, as in
 * Mesos; a body longer than allowed is refused with 413. */
#include "net/http/http_internal.h"

#include <string.h>
#include <strings.h>

static struct http_connection *connection_of(http_parser *parser)
{
	return parser->data;
}

static int on_begin(http_parser *parser)
{
	struct http_connection *connection = connection_of(parser);

	connection->receiving = true;
	connection->head_done = false;
	connection->part = HEAD_NONE;
	connection->header_count = 0;
	connection->trailers = 0;
	connection->asks = false;
	connection->expects = false;
	connection->since = uv_now(connection->server->options.loop);
	buf_clear(&connection->head);
	buf_clear(&connection->body);
	return 0;
}

/* Appends to the head; NULs separate its parts, so the text itself may hold none. */
static int take_head(struct http_connection *connection, enum head_part part, const char *data,
		     size_t len)
{
	if (connection->head_done) {
		connection->trailers += len;
		return connection->trailers > HTTP_HEAD_MAX;
	}
	if (connection->head.len + len > HTTP_HEAD_MAX || memchr(data, '\0', len))
		return 1;
	if (connection->part != part && connection->part != HEAD_NONE) {
		/* A name without a value call has an empty value. */
		if (connection->part == HEAD_NAME && part != HEAD_VALUE)
			return 1;
		buf_putc(&connection->head, '\0');
	}
	if (connection->part != part && part == HEAD_NAME)
		connection->header_count++;
	connection->part = part;
	buf_append(&connection->head, data, len);
	return 0;
}

static int on_url(http_parser *parser, const char *data, size_t len)
{
	return take_head(connection_of(parser), HEAD_URL, data, len);
}

static int on_name(http_parser *parser, const char *data, size_t len)
{
	return take_head(connection_of(parser), HEAD_NAME, data, len);
}

static int on_value(http_parser *parser, const char *data, size_t len)
{
	return take_head(connection_of(parser), HEAD_VALUE, data, len);
}

/* Of the collected head: url NUL, then name NUL value NUL of each header. */
static bool head_expects_continue(const struct http_connection *connection)
{
	const char *at = connection->head.data + strlen(connection->head.data) + 1;

	for (size_t i = 0; i < connection->header_count; i++) {
		const char *value = at + strlen(at) + 1;

		if (!strcasecmp(at, "Expect") && !strcasecmp(value, "100-continue"))
			return true;
		at = value + strlen(value) + 1;
	}
	return false;
}

static bool has_body(const http_parser *parser)
{
	return parser->flags & F_CHUNKED ||
	       (parser->flags & F_CONTENTLENGTH && parser->content_length > 0);
}

bool http_parse_fits(struct http_connection *connection)
{
	const http_parser *parser = &connection->parser;

	if (!(parser->flags & F_CONTENTLENGTH) ||
	    parser->content_length <= connection->server->options.body_max)
		return true;
	connection->refuse = HTTP_STATUS_PAYLOAD_TOO_LARGE;
	return false;
}

static int on_head(http_parser *parser)
{
	struct http_connection *connection = connection_of(parser);

	if (parser->method == HTTP_CONNECT || connection->part == HEAD_NAME)
		return -1;
	buf_putc(&connection->head, '\0');
	connection->head_done = true;
	connection->since = uv_now(connection->server->options.loop);
	connection->progress = 0;
	connection->expects = (parser->http_major > 1 || parser->http_minor >= 1) &&
			      has_body(parser) && head_expects_continue(connection);
	/* An offer to upgrade is declined by answering as usual. */
	parser->upgrade = 0;
	if (connection->server->options.streams && has_body(parser)) {
		connection->asks = true;
		http_parser_pause(parser, 1);
		return 0;
	}
	return http_parse_fits(connection) ? 0 : -1;
}

static int on_body(http_parser *parser, const char *data, size_t len)
{
	struct http_connection *connection = connection_of(parser);

	connection->expects = false;
	if (connection->current)
		return !http_body_give(connection, (struct slice){data, len});
	/* It was answered before its end. */
	if (connection->in_done)
		return 1;
	if (len > connection->server->options.body_max - connection->body.len) {
		connection->refuse = HTTP_STATUS_PAYLOAD_TOO_LARGE;
		return 1;
	}
	buf_append(&connection->body, data, len);
	return 0;
}

static int on_complete(http_parser *parser)
{
	connection_of(parser)->receiving = false;
	http_parser_pause(parser, 1);
	return 0;
}

static const http_parser_settings settings = {
	.on_message_begin = on_begin,
	.on_url = on_url,
	.on_header_field = on_name,
	.on_header_value = on_value,
	.on_headers_complete = on_head,
	.on_body = on_body,
	.on_message_complete = on_complete,
};

void http_parse_init(struct http_connection *connection)
{
	http_parser_init(&connection->parser, HTTP_REQUEST);
	connection->parser.data = connection;
}

enum http_parse http_parse(struct http_connection *connection, const char *data, size_t len,
			   size_t *used)
{
	http_parser *parser = &connection->parser;

	*used = http_parser_execute(parser, &settings, data, len);
	switch (HTTP_PARSER_ERRNO(parser)) {
	case HPE_OK:
		return *used == len ? HTTP_PARSE_MORE : HTTP_PARSE_FAILED;
	case HPE_PAUSED:
		http_parser_pause(parser, 0);
		if (!connection->asks)
			return HTTP_PARSE_REQUEST;
		connection->asks = false;
		return HTTP_PARSE_HEAD;
	default:
		connection->receiving = false;
		return connection->refuse ? HTTP_PARSE_REFUSED : HTTP_PARSE_FAILED;
	}
}
