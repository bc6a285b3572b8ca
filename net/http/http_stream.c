/* Answers that last: chunked, one chunk a write; and those of a known length that come in parts.
 * Both are in order with the other answers of the connection. The stream in front writes to the
 * connection's output; one behind it gathers its bytes until its turn comes. */
#include "net/http/http_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"

static struct http_stream *front_of(struct http_connection *connection)
{
	return list_first(&connection->streams, struct http_stream, link);
}

static struct buf *bytes_of(struct http_stream *stream)
{
	struct http_connection *connection = stream->connection;

	return front_of(connection) == stream ? &connection->transport.out : &stream->pending;
}

static void free_stream(struct http_stream *stream)
{
	list_remove(&stream->link);
	stream->connection->stream_count--;
	buf_free(&stream->pending);
	buf_free(&stream->after);
	free(stream);
}

static void ignore_closed(void *context, struct http_stream *stream)
{
}

static void write_head(struct http_stream *stream, const char *content_type,
		       const char *const *extra)
{
	struct buf *out = bytes_of(stream);

	http_reply_head(stream->connection->server, out, 200);
	if (stream->sized)
		buf_printf(out, "Content-Length: %llu\r\n", (unsigned long long)stream->left);
	else
		buf_puts(out, "Transfer-Encoding: chunked\r\n");
	http_reply_headers(out, extra);
	if (content_type)
		http_reply_headers(out, (const char *const[]){"Content-Type", content_type, NULL});
	buf_puts(out, "\r\n");
}

static struct http_stream *begin_stream(struct http_request *request, struct http_stream *stream,
					const char *content_type, const char *const *extra)
{
	struct exchange *exchange = request->answer;
	struct http_connection *connection = exchange->connection;

	if (!connection)
		connection = http_connection_ghost(exchange->loop);
	if (!stream->closed)
		stream->closed = ignore_closed;
	stream->connection = connection;
	list_append(&connection->streams, &stream->link);
	connection->stream_count++;

	if (!connection->closing && !stream->composed)
		write_head(stream, content_type, extra);
	http_connection_let_go(connection);
	http_exchange_free(exchange);
	/* A client that is gone already ends the stream, too. */
	if ((connection->eof && !stream->sized) || connection->broken ||
	    connection->stream_count > HTTP_STREAMS_MAX)
		http_connection_close(connection);
	http_server_touch(connection);
	return stream;
}

struct http_stream *http_stream_open(struct http_request *request, const char *content_type,
				     const char *const *extra, size_t limit,
				     void (*closed)(void *context, struct http_stream *stream),
				     void *context)
{
	struct http_stream *stream = xcalloc(1, sizeof(*stream));

	stream->limit = limit ? limit : HTTP_STREAM_LIMIT;
	stream->closed = closed;
	stream->context = context;
	return begin_stream(request, stream, content_type, extra);
}

struct http_stream *http_body_open(struct http_request *request, const char *content_type,
				   const char *const *extra, uint64_t length,
				   void (*drained)(void *context, struct http_stream *stream),
				   void (*closed)(void *context, struct http_stream *stream),
				   void *context)
{
	struct http_stream *stream = xcalloc(1, sizeof(*stream));

	stream->limit = HTTP_STREAM_LIMIT;
	stream->sized = stream->hungry = true;
	stream->left = length;
	stream->drained = drained;
	stream->closed = closed;
	stream->context = context;
	return begin_stream(request, stream, content_type, extra);
}

struct http_stream *http_relay_open(struct http_request *request,
				    void (*drained)(void *context, struct http_stream *stream),
				    void (*closed)(void *context, struct http_stream *stream),
				    void *context)
{
	struct http_stream *stream = xcalloc(1, sizeof(*stream));

	stream->limit = HTTP_STREAM_LIMIT;
	stream->sized = stream->hungry = stream->composed = true;
	stream->left = UINT64_MAX;
	stream->drained = drained;
	stream->closed = closed;
	stream->context = context;
	return begin_stream(request, stream, NULL, NULL);
}

void http_relay_end(struct http_stream *stream, bool whole)
{
	if (whole)
		stream->left = 0;
	http_stream_end(stream);
}

void http_stream_drained(struct http_connection *connection)
{
	struct http_stream *stream = front_of(connection);

	if (!stream || !stream->hungry || stream->ended || connection->closing ||
	    transport_waiting(&connection->transport) > HTTP_BODY_LOW)
		return;
	stream->hungry = false;
	stream->drained(stream->context, stream);
}

void http_stream_when_drained(struct http_stream *stream,
			      void (*drained)(void *context, struct http_stream *stream))
{
	stream->drained = drained;
	stream->hungry = true;
	http_server_touch(stream->connection);
}

bool http_stream_lasts(const struct http_connection *connection)
{
	struct http_stream *stream, *next;

	list_for_each (stream, next, &connection->streams, link) {
		if (!stream->sized)
			return true;
	}
	return false;
}

size_t http_stream_waiting(const struct http_stream *stream)
{
	struct http_connection *connection = stream->connection;

	return front_of(connection) == stream ? transport_waiting(&connection->transport)
					      : stream->pending.len;
}

static void check_limit(struct http_stream *stream)
{
	struct http_connection *connection = stream->connection;
	bool front = front_of(connection) == stream;
	size_t waiting = http_stream_waiting(stream);

	if (waiting <= stream->limit)
		return;
	/* Much may have been written in this turn, none of it offered to the kernel. */
	if (front && !connection->detached) {
		http_connection_flush(connection);
		waiting = transport_waiting(&connection->transport);
	}
	if (waiting > stream->limit && !connection->detached)
		http_stream_cut(stream);
}

void http_stream_cut(struct http_stream *stream)
{
	struct http_connection *connection = stream->connection;

	if (connection->closing)
		return;
	log_info_limited("Closing the connection of %s: it does not read its stream",
			 connection->peer);
	http_connection_close(connection);
}

/* One chunk made of two parts. */
static void put_chunk(struct buf *out, const void *head, size_t head_len, const void *data,
		      size_t len)
{
	char size[NUMBER_TEXT];
	size_t digits = str_number(size, head_len + len, 16);

	buf_reserve(out, digits + head_len + len + 4);
	buf_append(out, size, digits);
	buf_append(out, "\r\n", 2);
	if (head_len > 0)
		buf_append(out, head, head_len);
	if (len > 0)
		buf_append(out, data, len);
	buf_append(out, "\r\n", 2);
}

static void write_chunk(struct http_stream *stream, const void *head, size_t head_len,
			const void *data, size_t len)
{
	struct http_connection *connection = stream->connection;

	if (stream->ended || connection->closing || head_len + len == 0)
		return;
	put_chunk(bytes_of(stream), head, head_len, data, len);
	check_limit(stream);
	http_server_touch(connection);
}

static void write_part(struct http_stream *stream, const void *data, size_t len)
{
	if (stream->ended || stream->connection->closing)
		return;
	if (len > stream->left)
		len = (size_t)stream->left;
	stream->left -= len;
	stream->hungry = true;
	buf_append(bytes_of(stream), data, len);
	check_limit(stream);
	http_server_touch(stream->connection);
}

void http_stream_write(struct http_stream *stream, const void *data, size_t len)
{
	if (stream->sized)
		write_part(stream, data, len);
	else
		write_chunk(stream, NULL, 0, data, len);
}

static size_t record_head(char head[NUMBER_TEXT + 1], size_t len)
{
	size_t digits = str_number(head, len, 10);

	head[digits++] = '\n';
	return digits;
}

void http_stream_record(struct http_stream *stream, const void *data, size_t len)
{
	char head[NUMBER_TEXT + 1];

	write_chunk(stream, head, record_head(head, len), data, len);
}

void http_chunk_record(struct buf *out, const void *data, size_t len)
{
	char head[NUMBER_TEXT + 1];

	put_chunk(out, head, record_head(head, len), data, len);
}

void http_stream_pass(struct http_stream *stream, const void *chunks, size_t len)
{
	struct http_connection *connection = stream->connection;

	if (stream->ended || connection->closing)
		return;
	buf_append(bytes_of(stream), chunks, len);
	check_limit(stream);
	if (front_of(connection) == stream && !connection->closing && !connection->detached)
		http_connection_flush(connection);
	http_server_touch(connection);
}

/* Streams in front that ended make way for what waited behind them. */
static void advance(struct http_connection *connection)
{
	struct http_stream *stream;

	while ((stream = front_of(connection)) && stream->ended) {
		struct buf *out = &connection->transport.out;
		if (stream->after.len > 0)
			buf_append(out, stream->after.data, stream->after.len);
		free_stream(stream);
		struct http_stream *next = front_of(connection);
		if (next && next->pending.len > 0)
			buf_append(out, next->pending.data, next->pending.len);
		if (next)
			buf_free(&next->pending);
	}
}

void http_stream_end(struct http_stream *stream)
{
	struct http_connection *connection = stream->connection;

	if (connection->closing) {
		free_stream(stream);
		return;
	}
	stream->ended = true;
	if (stream->sized && stream->left) {
		/* What the client waits for does not come. */
		http_connection_close(connection);
		return;
	}
	if (!stream->sized)
		buf_puts(bytes_of(stream), "0\r\n\r\n");
	advance(connection);
	http_server_touch(connection);
}

void http_stream_abandon(struct http_connection *connection)
{
	struct http_stream *stream;

	while ((stream = front_of(connection))) {
		/* Out of the list first: the owner may end it in the callback. */
		list_remove(&stream->link);
		if (!stream->ended)
			stream->closed(stream->context, stream);
		free_stream(stream);
	}
}
