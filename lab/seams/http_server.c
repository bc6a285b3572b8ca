/* The HTTP server of the simulated world: calls are letters, and so are answers; a stream is what
 * comes on a call's connection after its answer. */
#include <net/http.h>
#include <net/http_parts.h>

#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "lab/seams/seams.h"

#define DRAIN_LOW (10 * MICROSECOND)
#define DRAIN_HIGH (20 * MILLISECOND)
#define SLOW 0.2 /* chance that a client takes longer, up to this */
#define SLOW_HIGH (2 * SECOND)

struct http_stream {
	struct list link; /* loop.streams */
	struct sim_loop *loop;
	struct conn *conn;
	void (*closed)(void *context, struct http_stream *stream);
	void (*drained)(void *context, struct http_stream *stream);
	void *context;
	struct happening drain;
};

/* What a request is of; its `answer`. */
struct served {
	struct sim_loop *loop;
	struct conn *conn;
	const struct letter *letter;
};

/* ---- requests ---------------------------------------------------------------------------- */

void sim_serve(struct sim_loop *loop, struct conn *conn, const struct letter *letter,
	       void (*handler)(void *context, struct http_request *request), void *context)
{
	struct served served = {loop, conn, letter};
	struct http_request request = {
		.method = "POST",
		.path = letter->path,
		.query = "",
		.body = {letter->bytes.data, letter->bytes.len},
		.answer = &served,
	};

	arena_init(&request.arena);
	handler(context, &request);
	arena_free(&request.arena);
}

void sim_answer(struct sim_loop *loop, struct conn *conn, const struct letter *letter, int status,
		const char *text)
{
	struct letter reply = {.kind = LETTER_REPLY, .number = letter->number, .status = status};

	reply.name = xstrdup(text ? text : "");
	conn_send(conn, loop->process, &reply);
}

const char *http_header(const struct http_request *request, const char *name)
{
	(void)request;
	(void)name;
	return NULL;
}

const char *http_peer(const struct http_request *request)
{
	(void)request;
	return "somewhere";
}

void http_reply(struct http_request *request, int status, const char *content_type,
		const void *body, size_t len, const char *const *extra)
{
	const struct served *served = request->answer;

	(void)content_type;
	(void)body;
	(void)len;
	(void)extra;
	sim_answer(served->loop, served->conn, served->letter, status, NULL);
}

void http_reply_text(struct http_request *request, int status, const char *text)
{
	const struct served *served = request->answer;

	sim_answer(served->loop, served->conn, served->letter, status, text);
}

/* ---- streams -------------------------------------------------------------------------------- */

static void on_drained(struct happening *h)
{
	struct http_stream *stream = container_of(h, struct http_stream, drain);

	if (!process_holds(stream->loop->process, h))
		stream->drained(stream->context, stream);
}

struct http_stream *http_stream_open(struct http_request *request, const char *content_type,
				     const char *const *extra, size_t limit,
				     void (*closed)(void *context, struct http_stream *stream),
				     void *context)
{
	const struct served *served = request->answer;
	struct http_stream *stream = xcalloc(1, sizeof(*stream));

	(void)content_type;
	(void)extra;
	(void)limit;
	stream->loop = served->loop;
	stream->conn = served->conn;
	stream->closed = closed;
	stream->context = context;
	stream->drain.run = on_drained;
	list_append(&served->loop->streams, &stream->link);
	sim_answer(served->loop, served->conn, served->letter, 200, NULL);
	return stream;
}

void http_stream_record(struct http_stream *stream, const void *data, size_t len)
{
	struct letter letter = {.kind = LETTER_EVENT};

	buf_append(&letter.bytes, data, len);
	conn_send(stream->conn, stream->loop->process, &letter);
}

void http_chunk_record(struct buf *out, const void *data, size_t len)
{
	buf_append(out, data, len);
}

void http_stream_pass(struct http_stream *stream, const void *chunks, size_t len)
{
	http_stream_record(stream, chunks, len);
}

void http_stream_when_drained(struct http_stream *stream,
			      void (*drained)(void *context, struct http_stream *stream))
{
	struct world *w = stream->loop->process->world;

	stream->drained = drained;
	world_after(w, &stream->drain,
		    world_between(w, DRAIN_LOW, world_chance(w, SLOW) ? SLOW_HIGH : DRAIN_HIGH));
}

size_t http_stream_waiting(const struct http_stream *stream)
{
	return conn_waiting(stream->conn, stream->loop->process);
}

static void stream_free(struct http_stream *stream)
{
	world_cancel(stream->loop->process->world, &stream->drain);
	list_remove(&stream->link);
	free(stream);
}

bool sim_serve_conn_closed(struct sim_loop *loop, struct conn *conn)
{
	struct http_stream *stream, *next;

	list_for_each (stream, next, &loop->streams, link) {
		if (stream->conn != conn)
			continue;
		stream->closed(stream->context, stream);
		stream_free(stream);
		return true;
	}
	return false;
}

void sim_serve_end(struct sim_loop *loop)
{
	while (!list_empty(&loop->streams))
		stream_free(list_first(&loop->streams, struct http_stream, link));
}
