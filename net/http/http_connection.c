/* One connection of a client: taking input, handing out requests one after another,
 * writing answers, ending well.
 *
 * Ends: the client closes (what it sent before is done and answered first, but an
 * open stream ends at once), the last answer of a connection that is not kept was
 * written, input cannot be parsed (earlier answers still leave), a time limit, the
 * server closes. Requests that wait for an answer then lose their connection and
 * their answers are dropped. */
#include "net/http/http_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"

static void read_start(struct http_connection *connection);

static bool has_streams(const struct http_connection *connection)
{
	return !list_empty(&connection->streams);
}

/* No further request is taken now, though there may be input. */
static bool is_paused(const struct http_connection *connection)
{
	/* An answer that comes in parts is an answer that is still to come. */
	if (has_streams(connection) && !http_stream_lasts(connection))
		return true;
	if (connection->current)
		return !http_body_flows(connection->current);
	return !has_streams(connection) && !connection->detached &&
	       transport_waiting(&connection->transport) > HTTP_OUTPUT_HIGH;
}

/* -- the end -- */

static void http_connection_on_closed(void *context)
{
	struct http_connection *connection = context;
	struct exchange *exchange;

	http_stream_abandon(connection);
	http_body_end(connection, false);
	exchange = connection->current;
	if (connection->begun)
		http_exchange_free(connection->begun);
	if (exchange) {
		exchange->peer = xstrdup(connection->peer);
		exchange->local = xstrdup(connection->local);
		exchange->loop = connection->loop;
		exchange->connection = NULL;
		exchange->request.connection = NULL;
		exchange->request.server = NULL;
	}
	if (connection->server)
		http_server_forget(connection);
	buf_free(&connection->head);
	buf_free(&connection->body);
	buf_free(&connection->input);
	free(connection->sender);
	free(connection);
}

void http_connection_close(struct http_connection *connection)
{
	if (connection->closing)
		return;
	connection->closing = true;
	list_remove(&connection->dirty);
	list_remove(&connection->timed);
	transport_close(&connection->transport);
}

/* Nothing more comes from us: tell the client, then wait for its end. */
static void start_linger(struct http_connection *connection)
{
	if (connection->lingering || connection->detached)
		return;
	connection->lingering = true;
	connection->linger_since = uv_now(connection->loop);
	buf_free(&connection->input);
	if (transport_finish(&connection->transport) != 0) {
		http_connection_close(connection);
		return;
	}
	read_start(connection);
	http_server_watch(connection);
}

static void end_if_done(struct http_connection *connection)
{
	if (connection->closing || connection->current || has_streams(connection) ||
	    connection->parsing)
		return;
	if (!connection->broken && !transport_idle(&connection->transport))
		return;
	if (connection->eof && (connection->in_done || connection->input.len == 0))
		http_connection_close(connection);
	else if (connection->in_done)
		start_linger(connection);
}

/* -- input -- */

/* An answer that the server gives itself, without a request. */
static void http_connection_refuse(struct http_connection *connection, int status)
{
	struct buf *sink = http_connection_sink(connection);
	char text[64];
	int len = snprintf(text, sizeof(text), "%d %s.", status, http_status_text(status));

	http_reply_head(connection->server, sink, status);
	buf_printf(sink,
		   "Connection: close\r\nContent-Type: text/plain; charset=utf-8\r\n"
		   "Content-Length: %d\r\n\r\n%s",
		   len, text);
	http_connection_answered(connection);
}

/* `status`, if it is none of success, is the server's own answer, with the text. */
static void http_connection_dispatch(struct http_connection *connection, struct exchange *exchange,
				     int status, const char *text)
{
	struct http_server *server = connection->server;

	connection->current = exchange;
	if (!exchange->request.keep_alive && !exchange->streams)
		connection->in_done = true;
	if (status > 0)
		http_reply_text(&exchange->request, status, text);
	else
		server->options.handler(server->options.context, &exchange->request);
}

void http_connection_let_go(struct http_connection *connection)
{
	const struct exchange *exchange = connection->current;

	connection->current = NULL;
	if (exchange && exchange->streams && !exchange->whole) {
		connection->in_done = true;
		connection->receiving = false;
	}
}

/* The head of a request is there: its body is handed over in parts, or collected. */
static void begin_request(struct http_connection *connection)
{
	const struct http_server_options *options = &connection->server->options;
	struct exchange *exchange;
	const char *text = NULL;
	int status = http_request_begin(connection, &exchange, &text);

	if (status < 0) {
		connection->in_done = true;
		return;
	}
	exchange->refused = status;
	exchange->refusal = text;
	exchange->streams = !status && options->streams(options->context, &exchange->request);
	if (exchange->streams) {
		http_connection_dispatch(connection, exchange, 0, NULL);
	} else if (http_parse_fits(connection)) {
		connection->begun = exchange;
	} else {
		http_exchange_free(exchange);
		connection->in_done = true;
		http_connection_refuse(connection, connection->refuse);
	}
}

/* A request is whole. */
static void finish_request(struct http_connection *connection)
{
	struct exchange *exchange = connection->begun;
	const char *text = NULL;
	int status;

	if (connection->current) {
		http_body_end(connection, true);
		return;
	}
	connection->begun = NULL;
	if (exchange) {
		status = exchange->refused;
		text = exchange->refusal;
	} else {
		status = http_request_begin(connection, &exchange, &text);
	}
	if (status < 0) {
		connection->in_done = true;
		return;
	}
	if (status == 0)
		status = http_request_finish(connection, exchange, &text);
	http_connection_dispatch(connection, exchange, status, text);
}

/* The client waits for a word before it sends the body (RFC 9110, 10.1.1). */
static void ask_for_body(struct http_connection *connection)
{
	connection->expects = false;
	buf_puts(http_connection_sink(connection), "HTTP/1.1 100 Continue\r\n\r\n");
	http_server_touch(connection);
}

static size_t parse_slowly(struct http_connection *connection, const char *data, size_t len)
{
	size_t used;

	switch (http_parse(connection, data, len, &used)) {
	case HTTP_PARSE_MORE:
		if (connection->head_done && connection->expects)
			ask_for_body(connection);
		break;
	case HTTP_PARSE_HEAD:
		begin_request(connection);
		break;
	case HTTP_PARSE_REQUEST:
		finish_request(connection);
		break;
	case HTTP_PARSE_REFUSED:
		connection->in_done = true;
		http_connection_refuse(connection, connection->refuse);
		break;
	case HTTP_PARSE_FAILED:
		connection->in_done = true;
		http_body_end(connection, false);
		break;
	}
	return used;
}

/* Parses and dispatches as far as it goes. Returns the number of bytes taken. */
static size_t http_connection_parse(struct http_connection *connection, const char *data,
				    size_t len)
{
	const struct http_server_options *options = &connection->server->options;
	struct exchange *exchange;
	size_t done = 0, used;

	connection->parsing = true;
	while (done < len && !connection->closing && !connection->in_done &&
	       !is_paused(connection)) {
		used = 0;
		if (!connection->receiving && (!options->streams || options->streams_type))
			used = http_quick(connection, data + done, len - done, &exchange);
		if (used)
			http_connection_dispatch(connection, exchange, 0, NULL);
		else
			used = parse_slowly(connection, data + done, len - done);
		done += used;
	}
	connection->parsing = false;
	if (connection->in_done)
		done = len;
	return done;
}

static void resume_input(struct http_connection *connection)
{
	if (connection->input.len > 0 && !is_paused(connection)) {
		struct buf input = connection->input;
		connection->input = BUF_INIT;
		size_t done = http_connection_parse(connection, input.data, input.len);
		if (done < input.len)
			buf_append(&connection->input, input.data + done, input.len - done);
		buf_free(&input);
	}
	if (connection->receiving && !connection->closing)
		http_server_watch(connection);
}

/* Reading goes on while requests wait, so that the client's end is noticed, but not
 * without bound; while a stream is open it always goes on. */
static void adjust_reading(struct http_connection *connection)
{
	if (connection->closing || connection->eof)
		return;
	if (connection->in_done || connection->input.len < HTTP_READ_AHEAD) {
		read_start(connection);
	} else if (http_stream_lasts(connection)) {
		log_info_limited("Closing the connection of %s: too many requests behind a stream",
				 connection->peer);
		http_connection_close(connection);
	} else if (connection->reading) {
		transport_pause(&connection->transport);
		connection->reading = false;
	}
}

void http_connection_received(struct http_connection *connection, const char *data, size_t len)
{
	if (connection->closing || connection->in_done)
		return;
	if (connection->input.len == 0) {
		size_t done = http_connection_parse(connection, data, len);
		data += done;
		len -= done;
	}
	if (len > 0)
		buf_append(&connection->input, data, len);
	resume_input(connection);
	adjust_reading(connection);
	http_server_touch(connection);
}

void http_connection_eof(struct http_connection *connection)
{
	connection->eof = true;
	connection->receiving = false;
	if (connection->reading)
		transport_pause(&connection->transport);
	connection->reading = false;
	if (http_stream_lasts(connection) || connection->lingering)
		http_connection_close(connection);
	else
		http_server_touch(connection);
}

static void http_connection_on_received(void *context, const char *data, size_t len)
{
	http_connection_received(context, data, len);
}

static void read_start(struct http_connection *connection)
{
	if (connection->reading || connection->eof || connection->detached)
		return;
	if (transport_read(&connection->transport) == 0)
		connection->reading = true;
	else
		http_connection_close(connection);
}

/* -- output -- */

struct buf *http_connection_sink(struct http_connection *connection)
{
	if (!has_streams(connection))
		return &connection->transport.out;
	return &list_entry(connection->streams.prev, struct http_stream, link)->after;
}

void http_connection_answered(struct http_connection *connection)
{
	if (has_streams(connection)) {
		struct http_stream *stream;
		struct http_stream *next;
		connection->held = 0;
		list_for_each (stream, next, &connection->streams, link)
			connection->held += stream->pending.len + stream->after.len;
		if (connection->held > HTTP_HELD_MAX) {
			log_info_limited(
				"Closing the connection of %s: too many answers behind a stream",
				connection->peer);
			http_connection_close(connection);
		}
	}
	http_server_touch(connection);
}

/* Bytes cannot be delivered; requests already here are still done. */
static void set_broken(struct http_connection *connection)
{
	connection->broken = true;
	buf_free(&connection->transport.out);
	if (has_streams(connection))
		http_connection_close(connection);
}

void http_connection_flush(struct http_connection *connection)
{
	bool was_active = transport_underway(&connection->transport) > 0;

	if (connection->broken) {
		buf_clear(&connection->transport.out);
		return;
	}
	if (transport_flush(&connection->transport) != 0) {
		set_broken(connection);
		return;
	}
	if (transport_underway(&connection->transport) && !was_active) {
		connection->write_since = uv_now(connection->loop);
		connection->write_seen = transport_underway(&connection->transport);
		http_server_watch(connection);
	}
}

static void http_connection_on_written(void *context, int status)
{
	struct http_connection *connection = context;

	if (status != 0)
		set_broken(connection);
	http_server_touch(connection);
}

static void http_connection_on_ended(void *context, int status)
{
	struct http_connection *connection = context;

	/* Whole requests read before a reset are still done. */
	if (status != UV_EOF)
		set_broken(connection);
	if (!connection->closing)
		http_connection_eof(connection);
}

void http_connection_turn(struct http_connection *connection)
{
	http_connection_flush(connection);
	resume_input(connection);
	if (connection->eof && connection->input.len == 0)
		http_body_end(connection, false);
	http_stream_drained(connection);
	http_connection_flush(connection);
	adjust_reading(connection);
	/* A peer that cannot be written to will be closed by its own reset, or here
	 * when none comes. */
	if (connection->broken && !connection->closing && !connection->lingering &&
	    !connection->eof && !connection->current && connection->input.len == 0) {
		connection->lingering = true;
		connection->linger_since = uv_now(connection->loop);
		http_server_watch(connection);
	}
	end_if_done(connection);
}

/* -- time -- */

static bool is_slow(struct http_connection *connection, uint64_t now)
{
	const struct http_server_options *limits = &connection->server->options;
	uint64_t span = now - connection->since;

	if (!connection->receiving)
		return false;
	/* While we do not take its input, it cannot be slow; a body in parts takes its time. */
	if (is_paused(connection) || connection->current) {
		connection->since = now;
		return false;
	}
	if (!connection->head_done)
		return span >= (uint64_t)limits->head_timeout_ms;
	if (span < (uint64_t)limits->body_timeout_ms)
		return false;
	if (connection->body.len - connection->progress < HTTP_BODY_PROGRESS)
		return true;
	connection->since = now;
	connection->progress = connection->body.len;
	return false;
}

static bool is_stalled(struct http_connection *connection, uint64_t now)
{
	size_t waiting = transport_underway(&connection->transport);

	if (!waiting || http_stream_lasts(connection))
		return false;
	if (waiting != connection->write_seen) {
		connection->write_seen = waiting;
		connection->write_since = now;
	}
	return now - connection->write_since >=
	       (uint64_t)connection->server->options.write_timeout_ms;
}

size_t http_connection_waiting(const struct http_connection *connection)
{
	return transport_waiting(&connection->transport) + connection->held;
}

void http_connection_tick(struct http_connection *connection, uint64_t now)
{
	uint64_t linger = (uint64_t)connection->server->options.linger_ms;

	if (is_slow(connection, now) || is_stalled(connection, now) ||
	    (connection->lingering && now - connection->linger_since >= linger)) {
		http_connection_close(connection);
		return;
	}
	if (!connection->receiving && !transport_underway(&connection->transport) &&
	    !connection->lingering)
		list_remove(&connection->timed);
}

/* -- the beginning -- */

static const struct transport_handlers handlers = {
	.received = http_connection_on_received,
	.ended = http_connection_on_ended,
	.written = http_connection_on_written,
	.closed = http_connection_on_closed,
};

/* `buffer` is where its bytes are received. */
static struct http_connection *make_connection(uv_loop_t *loop, char *buffer)
{
	struct http_connection *connection = xcalloc(1, sizeof(*connection));

	connection->loop = loop;
	transport_init(&connection->transport, loop, &handlers, connection, buffer, HTTP_READ_SIZE);
	list_init(&connection->link);
	list_init(&connection->dirty);
	list_init(&connection->timed);
	list_init(&connection->streams);
	http_parse_init(connection);
	return connection;
}

static struct http_connection *join_server(struct http_server *server)
{
	struct http_connection *connection =
		make_connection(server->options.loop, server->read_buffer);

	connection->server = server;
	list_append(&server->connections, &connection->link);
	server->connection_count++;
	return connection;
}

struct http_connection *http_connection_ghost(uv_loop_t *loop)
{
	struct http_connection *connection = make_connection(loop, NULL);

	http_connection_close(connection);
	return connection;
}

void http_connection_accept(struct http_server *server)
{
	struct http_connection *connection = join_server(server);

	transport_secure(&connection->transport, server->options.tls);
	if (transport_accept(&connection->transport, (uv_stream_t *)&server->listener) != 0 ||
	    server->connection_count > server->options.connections_max) {
		http_connection_close(connection);
		return;
	}
	transport_address(&connection->transport, true, connection->peer);
	transport_address(&connection->transport, false, connection->local);
	read_start(connection);
}

struct http_connection *http_connection_detached(struct http_server *server)
{
	struct http_connection *connection = join_server(server);

	connection->detached = true;
	return connection;
}
