/* See calls.h. Answers come in the order of the calls; a queue remembers what they are to. */
#include "bench/load/calls.h"

#include <http_parser.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "net/dial.h"
#include "net/output.h"

#define READ_SIZE (16 * 1024)
#define WHY_MAX 1024
#define PATH "/api/v1/scheduler"

struct sent {
	int64_t time;
	Mesos__Scheduler__Call__Type type;
};

struct calls {
	struct calls_handlers handlers;
	void *context;
	uv_tcp_t tcp;
	uv_prepare_t flush;
	struct dial dial;
	struct output output;
	http_parser parser;
	char *head;
	struct buf why;	    /* body of the answer being read */
	struct sent *queue; /* a ring, its size a power of two */
	size_t cap;
	size_t first;
	size_t count;
	bool dialing;
	bool open;
	bool closed;
	int open_handles;
	char read_buffer[READ_SIZE];
};

static void fail(struct calls *c, const char *why)
{
	if (c->closed)
		return;
	c->open = false;
	c->handlers.broken(c->context, why);
}

/* ---- answers ---------------------------------------------------------------- */

static int on_body(http_parser *parser, const char *data, size_t len)
{
	struct calls *c = parser->data;

	if (c->why.len + len <= WHY_MAX)
		buf_append(&c->why, data, len);
	return 0;
}

static int on_complete(http_parser *parser)
{
	struct calls *c = parser->data;
	struct sent sent;

	if (c->count == 0)
		return 1;
	sent = c->queue[c->first];
	c->first = (c->first + 1) & (c->cap - 1);
	c->count--;
	c->handlers.answered(c->context, sent.type, parser->status_code,
			     (struct slice){c->why.data ? c->why.data : "", c->why.len}, sent.time);
	buf_clear(&c->why);
	return c->closed ? 1 : 0;
}

static const http_parser_settings settings = {
	.on_body = on_body,
	.on_message_complete = on_complete,
};

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
	struct calls *c = handle->data;

	*out = uv_buf_init(c->read_buffer, READ_SIZE);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *bytes)
{
	struct calls *c = stream->data;

	if (count < 0)
		fail(c, count == UV_EOF ? "the master closed the connection"
					: uv_strerror((int)count));
	else if (count > 0 && http_parser_execute(&c->parser, &settings, bytes->base,
						  (size_t)count) != (size_t)count)
		fail(c, "the answer is not HTTP");
}

/* ---- calls ------------------------------------------------------------------ */

static void flush_cb(uv_prepare_t *flush)
{
	struct calls *c = flush->data;
	int rv;

	uv_prepare_stop(flush);
	if (!c->open || c->closed)
		return;
	rv = output_flush(&c->output);
	if (rv != 0)
		fail(c, uv_strerror(rv));
}

static void on_written(struct output *output, int status)
{
	struct calls *c = container_of(output, struct calls, output);

	if (status != 0)
		fail(c, uv_strerror(status));
	else
		uv_prepare_start(&c->flush, flush_cb);
}

static void remember(struct calls *c, Mesos__Scheduler__Call__Type type, int64_t now)
{
	if (c->count == c->cap) {
		struct sent *queue = xcalloc(2 * c->cap, sizeof(*queue));

		for (size_t i = 0; i < c->count; i++)
			queue[i] = c->queue[(c->first + i) & (c->cap - 1)];
		free(c->queue);
		c->queue = queue;
		c->first = 0;
		c->cap *= 2;
	}
	c->queue[(c->first + c->count++) & (c->cap - 1)] = (struct sent){now, type};
}

void calls_send(struct calls *c, Mesos__Scheduler__Call__Type type, const void *body, size_t len,
		int64_t now)
{
	struct buf *out = &c->output.queued;

	if (c->closed)
		return;
	remember(c, type, now);
	buf_puts(out, "POST " PATH " HTTP/1.1\r\n");
	buf_puts(out, c->head);
	buf_printf(out, "Content-Length: %zu\r\n\r\n", len);
	buf_append(out, body, len);
	uv_prepare_start(&c->flush, flush_cb);
}

/* ---- life ------------------------------------------------------------------- */

static void free_calls(struct calls *c)
{
	if (c->dialing || c->open_handles > 0)
		return;
	output_free(&c->output);
	buf_free(&c->why);
	free(c->queue);
	free(c->head);
	free(c);
}

static void on_dialed(struct dial *dial, int status)
{
	struct calls *c = container_of(dial, struct calls, dial);

	c->dialing = false;
	if (c->closed) {
		free_calls(c);
		return;
	}
	if (status == 0)
		status = uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read);
	if (status != 0) {
		fail(c, uv_strerror(status));
		return;
	}
	c->open = true;
	uv_tcp_nodelay(&c->tcp, 1);
	uv_prepare_start(&c->flush, flush_cb);
}

struct calls *calls_create(uv_loop_t *loop, const char *host, int port, const char *head,
			   const struct calls_handlers *handlers, void *context)
{
	struct calls *c = xcalloc(1, sizeof(*c));

	c->handlers = *handlers;
	c->context = context;
	c->head = xstrdup(head);
	c->cap = 64;
	c->queue = xcalloc(c->cap, sizeof(*c->queue));
	http_parser_init(&c->parser, HTTP_RESPONSE);
	uv_tcp_init(loop, &c->tcp);
	uv_prepare_init(loop, &c->flush);
	c->parser.data = c->tcp.data = c->flush.data = c;
	c->open_handles = 2;
	output_init(&c->output, (uv_stream_t *)&c->tcp, on_written);
	c->dialing = dial_start(&c->dial, &c->tcp, host, port, on_dialed) == 0;
	return c;
}

static void handle_closed_cb(uv_handle_t *handle)
{
	struct calls *c = handle->data;

	c->open_handles--;
	free_calls(c);
}

void calls_close(struct calls *c)
{
	if (c->closed)
		return;
	c->closed = true;
	if (c->dialing)
		dial_cancel(&c->dial);
	uv_close((uv_handle_t *)&c->tcp, handle_closed_cb);
	uv_close((uv_handle_t *)&c->flush, handle_closed_cb);
}
