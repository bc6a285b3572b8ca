/* HTTP client, see client.h: a queue of operations and at most one live connection.
 *
 * The first operations of the queue are those on the wire, as many as the wire's `sent` says;
 * the first of them is the one that is being answered. A connection that breaks fails those
 * only; the next one opens a new connection. Failures come as answers with status 0: cannot
 * connect, closed early, not HTTP, answer too long, timed out.
 *
 * The timer is set to the earliest deadline that was ever asked for and looks for what is due
 * when it fires, so that an operation costs the same however many wait. */
#include "net/client.h"

#include <http_parser.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/list.h"
#include "base/memory/arena.h"
#include "net/limits.h"
#include "net/recordio.h"
#include "net/transport/transport.h"

struct operation {
	struct list link;
	struct buf bytes; /* the request */
	bool head_only;	  /* an answer to HEAD has no body */
	bool streaming;
	bool opened;	   /* `opened` of the stream was called */
	uint64_t deadline; /* loop time, 0 = none */
	void (*answered)(void *context, const struct http_answer *answer);
	void (*drained)(void *context); /* of an upload */
	bool uploading;			/* its body is not whole yet */
	struct http_stream_handlers handlers;
	void *context;
};

#define OPEN_BODY SIZE_MAX /* length of a body that comes in pieces */

enum field { FIELD_OTHER, FIELD_TYPE, FIELD_STREAM_ID, FIELD_LOCATION, FIELD_COUNT };

/* One TCP connection. Outlives the client while its handle is closing. */
struct wire {
	struct http_client *client; /* NULL: forgotten */
	struct transport transport;
	http_parser parser;
	bool open;
	uint64_t deadline; /* of connecting, loop time */
	int sent;	   /* operations that are on their way */
	bool in_value;
	struct buf name; /* of the header being read */
	struct buf fields[FIELD_COUNT];
	enum field field;
	struct buf body;
	struct recordio_decoder records;
	char read_buffer[16 * 1024];
};

struct http_client {
	uv_loop_t *loop;
	char *host;
	int port;
	struct wire *wire;
	struct list operations;
	struct list failed; /* to be told at the next timer call */
	uv_timer_t timer;   /* deadlines, and work that must not run inside a call */
	bool drops_bodies;
	uint64_t received;
	size_t count;	    /* of `operations` */
	int depth;	    /* most operations on their way at a time */
	uint64_t wake_time; /* when the timer fires, loop time; UINT64_MAX: not set */
	bool closing;
	struct err why; /* of the last broken connection */
};

static void proceed(struct http_client *client);
static void wake_by(struct http_client *client, uint64_t time);
static void wake_now(struct http_client *client);

/* -- operations -- */

static void free_operation(struct operation *operation)
{
	list_remove(&operation->link);
	buf_free(&operation->bytes);
	free(operation);
}

static void move_to_failed(struct http_client *client, struct operation *operation)
{
	list_remove(&operation->link);
	client->count--;
	list_append(&client->failed, &operation->link);
}

/* `opened` if it was not called yet, then `ended`, unless the owner closes meanwhile. */
static void end_stream(struct http_client *client, struct operation *operation,
		       const struct http_answer *answer, const char *why)
{
	if (!operation->opened && operation->handlers.opened)
		operation->handlers.opened(operation->context, answer);
	if (operation->handlers.ended && !client->closing)
		operation->handlers.ended(operation->context, why);
}

static void fail_operation(struct http_client *client, struct operation *operation)
{
	const char *why = client->why.text;
	struct http_answer answer = {.error = why,
				     .content_type = "",
				     .stream_id = "",
				     .location = "",
				     .body = SLICE("")};

	list_remove(&operation->link);
	if (operation->streaming)
		end_stream(client, operation, &answer, why);
	else
		operation->answered(operation->context, &answer);
	free_operation(operation);
}

static void client_encode(struct operation *operation, struct http_client *client,
			  const char *method, const char *path, const char *const *headers,
			  const void *body, size_t len)
{
	struct buf *out = &operation->bytes;

	bool ipv6 = strchr(client->host, ':') != NULL;

	buf_printf(out, "%s %s HTTP/1.1\r\nHost: %s%s%s:%d\r\n", method, path, ipv6 ? "[" : "",
		   client->host, ipv6 ? "]" : "", client->port);
	for (; headers && headers[0]; headers += 2)
		buf_printf(out, "%s: %s\r\n", headers[0], headers[1]);
	if (len == OPEN_BODY)
		buf_puts(out, "Transfer-Encoding: chunked\r\n");
	else if (len > 0 || strcmp(method, "GET") != 0)
		buf_printf(out, "Content-Length: %zu\r\n", len);
	buf_puts(out, "\r\n");
	if (len > 0 && len != OPEN_BODY)
		buf_append(out, body, len);
}

/* -- a connection's end -- */

static void on_wire_closed(void *context)
{
	struct wire *wire = context;

	buf_free(&wire->name);
	for (int i = 0; i < FIELD_COUNT; i++)
		buf_free(&wire->fields[i]);
	buf_free(&wire->body);
	recordio_free(&wire->records);
	free(wire);
}

static void forget_wire(struct wire *wire)
{
	if (wire->client)
		wire->client->wire = NULL;
	wire->client = NULL;
	transport_close(&wire->transport);
}

/* The connection broke. The operation on it (or the one it was opened for) fails, from
 * the loop. */
static void break_wire(struct wire *wire, const char *why)
{
	struct http_client *client = wire->client;

	if (!client)
		return;
	struct operation *operation = list_first(&client->operations, struct operation, link);
	int affected = wire->open ? wire->sent : 1;
	forget_wire(wire);
	err_set(&client->why, ERR_IO, "%s:%d: %s", client->host, client->port, why);
	while (affected-- > 0 && operation) {
		move_to_failed(client, operation);
		operation = list_first(&client->operations, struct operation, link);
	}
	wake_now(client);
}

/* -- the answer -- */

static struct wire *wire_of(http_parser *parser)
{
	return parser->data;
}

static struct operation *operation_of(struct wire *wire)
{
	return list_first(&wire->client->operations, struct operation, link);
}

static int on_begin(http_parser *parser)
{
	struct wire *wire = wire_of(parser);

	/* Bytes that nobody asked for. */
	if (!wire->sent)
		return 1;
	for (int i = 0; i < FIELD_COUNT; i++)
		buf_clear(&wire->fields[i]);
	buf_clear(&wire->name);
	buf_clear(&wire->body);
	wire->in_value = false;
	return 0;
}

static int on_name(http_parser *parser, const char *data, size_t len)
{
	struct wire *wire = wire_of(parser);

	if (wire->in_value)
		buf_clear(&wire->name);
	wire->in_value = false;
	buf_append(&wire->name, data, len);
	return wire->name.len > HTTP_HEAD_MAX;
}

static int on_value(http_parser *parser, const char *data, size_t len)
{
	static const char *const names[FIELD_COUNT] = {
		[FIELD_TYPE] = "Content-Type",
		[FIELD_STREAM_ID] = "Mesos-Stream-Id",
		[FIELD_LOCATION] = "Location",
	};
	struct wire *wire = wire_of(parser);

	if (!wire->in_value) {
		wire->field = FIELD_OTHER;
		for (int i = FIELD_TYPE; i < FIELD_COUNT; i++)
			if (strcasecmp(wire->name.data ? wire->name.data : "", names[i]) == 0)
				wire->field = (enum field)i;
		buf_clear(&wire->fields[wire->field]);
	}
	wire->in_value = true;
	if (wire->field != FIELD_OTHER)
		buf_append(&wire->fields[wire->field], data, len);
	return wire->fields[wire->field].len > HTTP_HEAD_MAX;
}

static const char *text_of(const struct buf *buf)
{
	return buf->data ? buf->data : "";
}

static struct http_answer answer_of(struct wire *wire)
{
	return (struct http_answer){
		.status = wire->parser.status_code,
		.content_type = text_of(&wire->fields[FIELD_TYPE]),
		.stream_id = text_of(&wire->fields[FIELD_STREAM_ID]),
		.location = text_of(&wire->fields[FIELD_LOCATION]),
		.body = {text_of(&wire->body), wire->body.len},
	};
}

static int on_head(http_parser *parser)
{
	struct wire *wire = wire_of(parser);
	struct operation *operation = operation_of(wire);

	if (operation->streaming && parser->status_code == 200) {
		struct http_answer answer = answer_of(wire);
		operation->opened = true;
		operation->deadline = 0;
		recordio_free(&wire->records);
		recordio_init(&wire->records, CLIENT_RECORD_MAX);
		if (operation->handlers.opened)
			operation->handlers.opened(operation->context, &answer);
		if (!wire->client)
			return -1;
	}
	return operation->head_only ? 1 : 0;
}

static void on_record(void *context, struct slice record)
{
	struct wire *wire = context;

	/* The owner may have closed the client in an earlier record. */
	if (!wire->client)
		return;
	struct operation *operation = operation_of(wire);
	if (operation->handlers.record)
		operation->handlers.record(operation->context, record);
}

static int on_body(http_parser *parser, const char *data, size_t len)
{
	struct wire *wire = wire_of(parser);
	struct err err;

	if (operation_of(wire)->opened) {
		if (recordio_feed(&wire->records, data, len, on_record, wire, &err) != 0) {
			break_wire(wire, err.text);
			return 1;
		}
		return wire->client ? 0 : 1;
	}
	wire->client->received += len;
	if (wire->client->drops_bodies)
		return 0;
	if (len > CLIENT_BODY_MAX - wire->body.len) {
		break_wire(wire, "the answer is too long");
		return 1;
	}
	buf_append(&wire->body, data, len);
	return 0;
}

static int on_complete(http_parser *parser)
{
	struct wire *wire = wire_of(parser);
	struct http_client *client = wire->client;
	struct operation *operation = operation_of(wire);
	bool keep = http_should_keep_alive(parser);

	if (parser->status_code < 200)
		return 0;
	struct http_answer answer = answer_of(wire);
	struct buf body = wire->body;
	wire->body = BUF_INIT;
	list_remove(&operation->link);
	client->count--;
	wire->sent--;
	if (!keep && wire->sent)
		break_wire(wire, "connection closed");
	else if (!keep)
		forget_wire(wire);
	if (operation->streaming)
		end_stream(client, operation, &answer,
			   operation->opened ? "end of stream" : "refused");
	else
		operation->answered(operation->context, &answer);
	free_operation(operation);
	buf_free(&body);
	/* The client lives at least until its timer's close callback. */
	if (!client->closing)
		proceed(client);
	return wire->client ? 0 : 1;
}

static const http_parser_settings settings = {
	.on_message_begin = on_begin,
	.on_header_field = on_name,
	.on_header_value = on_value,
	.on_headers_complete = on_head,
	.on_body = on_body,
	.on_message_complete = on_complete,
};

/* -- the connection -- */

static struct tls *clients_tls;

void http_clients_secure(struct tls *tls)
{
	clients_tls = tls;
}

static void client_on_received(void *context, const char *data, size_t len)
{
	struct wire *wire = context;
	size_t used;

	if (!wire->client)
		return;
	used = http_parser_execute(&wire->parser, &settings, data, len);
	if (used != len || wire->parser.upgrade || HTTP_PARSER_ERRNO(&wire->parser) != HPE_OK)
		break_wire(wire, "the answer is not HTTP");
}

static void client_on_ended(void *context, int status)
{
	struct wire *wire = context;

	if (!wire->client)
		return;
	/* An answer without a length ends with the connection. */
	if (status == UV_EOF && wire->sent)
		http_parser_execute(&wire->parser, &settings, NULL, 0);
	break_wire(wire, status == UV_EOF ? "connection closed" : uv_strerror(status));
}

/* Who uploads may put more. */
static void client_drained(struct wire *wire)
{
	const struct operation *operation = wire->client && wire->sent ? operation_of(wire) : NULL;

	if (operation && operation->drained && transport_idle(&wire->transport))
		operation->drained(operation->context);
}

static void client_on_written(void *context, int status)
{
	struct wire *wire = context;

	if (status == 0 && transport_flush(&wire->transport) != 0)
		status = UV_EIO;
	if (status != 0)
		break_wire(wire, uv_strerror(status));
	else
		client_drained(wire);
}

static void client_on_dialed(void *context, int status)
{
	struct wire *wire = context;

	if (status == 0)
		status = transport_read(&wire->transport);
	if (status != 0) {
		break_wire(wire, uv_strerror(status));
		return;
	}
	wire->open = true;
	proceed(wire->client);
}

static const struct transport_handlers handlers = {
	.dialed = client_on_dialed,
	.received = client_on_received,
	.ended = client_on_ended,
	.written = client_on_written,
	.closed = on_wire_closed,
};

static void open_wire(struct http_client *client)
{
	struct wire *wire = xcalloc(1, sizeof(*wire));

	wire->client = client;
	client->wire = wire;
	transport_init(&wire->transport, client->loop, &handlers, wire, wire->read_buffer,
		       sizeof(wire->read_buffer));
	http_parser_init(&wire->parser, HTTP_RESPONSE);
	wire->parser.data = wire;
	recordio_init(&wire->records, CLIENT_RECORD_MAX);
	transport_secure(&wire->transport, clients_tls);
	int rv = transport_dial(&wire->transport, client->host, client->port);
	wire->deadline = uv_now(client->loop) + CLIENT_CONNECT_TIMEOUT_MS;
	if (rv != 0)
		break_wire(wire, uv_strerror(rv));
	else
		wake_by(client, wire->deadline);
}

/* The first operation that is not on its way; NULL: none. */
static struct operation *next_operation(struct http_client *client)
{
	size_t sent = client->wire ? (size_t)client->wire->sent : 0;
	size_t unsent = client->count - sent;
	struct list *at = &client->operations;

	if (unsent == 0)
		return NULL;
	if (sent < unsent)
		for (at = at->next; sent > 0; sent--)
			at = at->next;
	else
		for (; unsent > 0; unsent--)
			at = at->prev;
	return list_entry(at, struct operation, link);
}

static struct operation *next_after(struct http_client *client, struct operation *operation)
{
	struct list *at = operation->link.next;

	return at == &client->operations ? NULL : list_entry(at, struct operation, link);
}

/* Puts operations on their way, as many as may be. */
static void proceed(struct http_client *client)
{
	struct operation *operation = next_operation(client);
	struct wire *wire = client->wire;

	if (!operation || !list_empty(&client->failed))
		return;
	if (!wire) {
		open_wire(client);
		return;
	}
	if (!wire->open)
		return;
	for (; operation && wire->sent < client->depth; operation = next_after(client, operation)) {
		wire->sent++;
		buf_append(&wire->transport.out, operation->bytes.data, operation->bytes.len);
		buf_free(&operation->bytes);
	}
	int rv = transport_flush(&wire->transport);
	if (rv != 0)
		break_wire(wire, uv_strerror(rv));
}

/* -- time -- */

static void expire(struct http_client *client)
{
	uint64_t now = uv_now(client->loop);
	struct operation *operation, *next;
	int sent = client->wire ? client->wire->sent : 0;
	bool on_wire = false;

	list_for_each (operation, next, &client->operations, link) {
		sent--;
		if (operation->deadline == 0 || operation->deadline > now)
			continue;
		/* Its answer may still come; nobody else may take it for his. */
		on_wire |= sent >= 0;
		if (sent < 0)
			move_to_failed(client, operation);
		err_set(&client->why, ERR_IO, "%s:%d: timed out", client->host, client->port);
	}
	if (on_wire || (client->wire && !client->wire->open && client->wire->deadline <= now))
		break_wire(client->wire, uv_strerror(UV_ETIMEDOUT));
}

static void on_timer(uv_timer_t *timer)
{
	struct http_client *client = timer->data;
	struct operation *operation, *next;

	client->wake_time = UINT64_MAX;
	expire(client);
	while (!client->closing &&
	       (operation = list_first(&client->failed, struct operation, link)))
		fail_operation(client, operation);
	if (client->closing)
		return;
	proceed(client);
	if (client->wire && !client->wire->open)
		wake_by(client, client->wire->deadline);
	list_for_each (operation, next, &client->operations, link)
		if (operation->deadline)
			wake_by(client, operation->deadline);
}

/* Has the timer fire at `time` or earlier. */
static void wake_by(struct http_client *client, uint64_t time)
{
	uint64_t now = uv_now(client->loop);

	if (client->closing || time >= client->wake_time)
		return;
	client->wake_time = time;
	uv_timer_start(&client->timer, on_timer, time > now ? time - now : 0, 0);
}

static void wake_now(struct http_client *client)
{
	wake_by(client, uv_now(client->loop));
}

/* -- the interface -- */

struct http_client *http_client_create(uv_loop_t *loop, const char *host, int port)
{
	struct http_client *client = xcalloc(1, sizeof(*client));

	client->loop = loop;
	client->host = xstrdup(host);
	client->port = port;
	client->depth = 1;
	client->wake_time = UINT64_MAX;
	list_init(&client->operations);
	list_init(&client->failed);
	uv_timer_init(loop, &client->timer);
	client->timer.data = client;
	return client;
}

void http_client_drop_bodies(struct http_client *client)
{
	client->drops_bodies = true;
}

void http_client_pipeline(struct http_client *client, int depth)
{
	client->depth = depth;
}

size_t http_client_waiting(const struct http_client *client)
{
	return client->count;
}

uint64_t http_client_received(const struct http_client *client)
{
	return client->received;
}

static void on_client_closed(uv_handle_t *handle)
{
	struct http_client *client = handle->data;
	struct operation *operation;

	while ((operation = list_first(&client->operations, struct operation, link)))
		free_operation(operation);
	while ((operation = list_first(&client->failed, struct operation, link)))
		free_operation(operation);
	free(client->host);
	free(client);
}

void http_client_close(struct http_client *client)
{
	if (client->closing)
		return;
	client->closing = true;
	if (client->wire)
		forget_wire(client->wire);
	uv_close((uv_handle_t *)&client->timer, on_client_closed);
}

static struct operation *enqueue(struct http_client *client, const char *method, const char *path,
				 const char *const *headers, const void *body, size_t len,
				 int timeout_ms, void *context)
{
	struct operation *operation = xcalloc(1, sizeof(*operation));

	operation->context = context;
	operation->head_only = strcmp(method, "HEAD") == 0;
	if (timeout_ms > 0) {
		operation->deadline = uv_now(client->loop) + (uint64_t)timeout_ms;
		wake_by(client, operation->deadline);
	}
	client_encode(operation, client, method, path, headers, body, len);
	list_append(&client->operations, &operation->link);
	client->count++;
	return operation;
}

void http_client_send(struct http_client *client, const char *method, const char *path,
		      const char *const *headers, const void *body, size_t len, int timeout_ms,
		      void (*answered)(void *context, const struct http_answer *answer),
		      void *context)
{
	if (client->closing)
		return;
	struct operation *operation =
		enqueue(client, method, path, headers, body, len, timeout_ms, context);
	operation->answered = answered;
	proceed(client);
}

void http_client_upload(struct http_client *client, const char *path, const char *const *headers,
			void (*answered)(void *context, const struct http_answer *answer),
			void (*drained)(void *context), void *context)
{
	if (client->closing)
		return;
	struct operation *operation =
		enqueue(client, "POST", path, headers, NULL, OPEN_BODY, 0, context);
	operation->answered = answered;
	operation->drained = drained;
	operation->uploading = true;
	proceed(client);
}

static struct operation *upload_of(const struct http_client *client)
{
	struct operation *operation = list_first(&client->operations, struct operation, link);

	return operation && operation->uploading ? operation : NULL;
}

void http_client_put(struct http_client *client, const void *data, size_t len)
{
	struct operation *operation = upload_of(client);
	bool sent = client->wire && client->wire->sent;
	struct buf *out;

	if (!operation || client->closing)
		return;
	out = sent ? &client->wire->transport.out : &operation->bytes;
	buf_printf(out, "%zx\r\n", len);
	buf_append(out, data, len);
	buf_puts(out, "\r\n");
	operation->uploading = len > 0;
	/* A break is told by the loop. */
	if (sent && transport_flush(&client->wire->transport) != 0)
		break_wire(client->wire, "write failed");
}

size_t http_client_unsent(const struct http_client *client)
{
	const struct operation *operation = upload_of(client);

	if (client->wire && client->wire->sent)
		return transport_waiting(&client->wire->transport);
	return operation ? operation->bytes.len : 0;
}

void http_client_stream(struct http_client *client, const char *path, const char *const *headers,
			const void *body, size_t len, int timeout_ms,
			const struct http_stream_handlers *handlers, void *context)
{
	if (client->closing)
		return;
	struct operation *operation =
		enqueue(client, "POST", path, headers, body, len, timeout_ms, context);
	operation->streaming = true;
	operation->handlers = *handlers;
	proceed(client);
}
