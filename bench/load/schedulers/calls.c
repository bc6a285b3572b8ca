/* See calls.h. Answers come in the order of the calls; a queue remembers what they are to. */
#include "bench/load/schedulers/calls.h"

#include <http_parser.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/time/clock.h"
#include "net/transport/transport.h"

#define READ_SIZE (16 * 1024)
#define WHY_MAX 1024
#define HELD_MAX (1024 * 1024) /* bytes that were sent and are kept */
#define PATH "/api/v1/scheduler"

struct sent {
	int64_t time;
	Mesos__Scheduler__Call__Type type;
	size_t len; /* of a request that waits its turn */
};

struct calls {
	struct calls_handlers handlers;
	void *context;
	struct transport transport;
	uv_prepare_t flush;
	http_parser parser;
	char *head;
	struct buf why;	    /* body of the answer being read */
	struct sent *queue; /* a ring, its size a power of two */
	size_t cap;
	size_t first;
	size_t count;
	bool waiting;	 /* one at a time */
	bool underway;	 /* that one */
	struct buf held; /* requests whose turn has not come */
	size_t held_from;
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

static void flush_cb(uv_prepare_t *flush);

/* ---- answers ---------------------------------------------------------------- */

static int on_body(http_parser *parser, const char *data, size_t len)
{
	struct calls *c = parser->data;

	if (c->why.len + len <= WHY_MAX)
		buf_append(&c->why, data, len);
	return 0;
}

/* The first of the queue goes out, if there is one. */
static void send_next(struct calls *c)
{
	struct sent *next = &c->queue[c->first];

	if (c->closed || c->underway || c->count == 0)
		return;
	c->underway = true;
	buf_append(&c->transport.out, c->held.data + c->held_from, next->len);
	next->time = clock_now();
	c->held_from += next->len;
	if (c->held_from == c->held.len) {
		buf_clear(&c->held);
		c->held_from = 0;
	} else if (c->held_from > HELD_MAX) {
		buf_consume(&c->held, c->held_from);
		c->held_from = 0;
	}
	uv_prepare_start(&c->flush, flush_cb);
}

static int on_complete(http_parser *parser)
{
	struct calls *c = parser->data;
	struct sent sent;

	if (c->count == 0)
		return 1;
	c->underway = false;
	sent = c->queue[c->first];
	c->first = (c->first + 1) & (c->cap - 1);
	c->count--;
	c->handlers.answered(c->context, sent.type, parser->status_code,
			     (struct slice){c->why.data ? c->why.data : "", c->why.len}, sent.time);
	buf_clear(&c->why);
	if (c->waiting)
		send_next(c);
	return c->closed ? 1 : 0;
}

static const http_parser_settings settings = {
	.on_body = on_body,
	.on_message_complete = on_complete,
};

static void calls_received(void *context, const char *data, size_t len)
{
	struct calls *c = context;

	if (http_parser_execute(&c->parser, &settings, data, len) != len)
		fail(c, "the answer is not HTTP");
}

static void calls_ended(void *context, int status)
{
	fail(context, status == UV_EOF ? "the master closed the connection" : uv_strerror(status));
}

/* ---- calls ------------------------------------------------------------------ */

static void flush_cb(uv_prepare_t *flush)
{
	struct calls *c = flush->data;
	int rv;

	uv_prepare_stop(flush);
	if (!c->open || c->closed)
		return;
	rv = transport_flush(&c->transport);
	if (rv != 0)
		fail(c, uv_strerror(rv));
}

static void calls_written(void *context, int status)
{
	struct calls *c = context;

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
	c->queue[(c->first + c->count++) & (c->cap - 1)] = (struct sent){now, type, 0};
}

void calls_send(struct calls *c, Mesos__Scheduler__Call__Type type, const void *body, size_t len,
		int64_t now)
{
	struct buf *out = c->waiting ? &c->held : &c->transport.out;
	size_t before = out->len;

	if (c->closed)
		return;
	remember(c, type, now);
	buf_puts(out, "POST " PATH " HTTP/1.1\r\n");
	buf_puts(out, c->head);
	buf_printf(out, "Content-Length: %zu\r\n\r\n", len);
	buf_append(out, body, len);
	c->queue[(c->first + c->count - 1) & (c->cap - 1)].len = out->len - before;
	if (!c->waiting)
		uv_prepare_start(&c->flush, flush_cb);
	else
		send_next(c);
}

/* ---- life ------------------------------------------------------------------- */

static void free_calls(struct calls *c)
{
	if (--c->open_handles > 0)
		return;
	buf_free(&c->why);
	buf_free(&c->held);
	free(c->queue);
	free(c->head);
	free(c);
}

static void calls_closed(void *context)
{
	free_calls(context);
}

static void calls_dialed(void *context, int status)
{
	struct calls *c = context;

	if (status == 0)
		status = transport_read(&c->transport);
	if (status != 0) {
		fail(c, uv_strerror(status));
		return;
	}
	c->open = true;
	uv_prepare_start(&c->flush, flush_cb);
}

struct calls *calls_create(uv_loop_t *loop, struct tls *tls, const char *host, int port,
			   const char *head, bool waiting, const struct calls_handlers *handlers,
			   void *context)
{
	static const struct transport_handlers below = {
		.dialed = calls_dialed,
		.received = calls_received,
		.ended = calls_ended,
		.written = calls_written,
		.closed = calls_closed,
	};
	struct calls *c = xcalloc(1, sizeof(*c));

	c->handlers = *handlers;
	c->context = context;
	c->head = xstrdup(head);
	c->waiting = waiting;
	c->cap = 64;
	c->queue = xcalloc(c->cap, sizeof(*c->queue));
	http_parser_init(&c->parser, HTTP_RESPONSE);
	transport_init(&c->transport, loop, &below, c, c->read_buffer, READ_SIZE);
	transport_secure(&c->transport, tls);
	uv_prepare_init(loop, &c->flush);
	c->parser.data = c->flush.data = c;
	c->open_handles = 2;
	transport_dial(&c->transport, host, port);
	return c;
}

static void flush_closed_cb(uv_handle_t *handle)
{
	free_calls(handle->data);
}

void calls_close(struct calls *c)
{
	if (c->closed)
		return;
	c->closed = true;
	transport_close(&c->transport);
	uv_close((uv_handle_t *)&c->flush, flush_closed_cb);
}
