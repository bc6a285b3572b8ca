/* HTTP client, see client.h: a queue of operations and at most one live connection.
 *
 * The first operations of the queue are those on the wire, as many as the wire's `sent` says;
 * the first of them is the one that is being answered. A connection that breaks fails those
 * only; the next one opens a new connection. Failures come as answers with status 0: cannot
 * connect, closed early, not HTTP, answer too long, timed out.
 *
 * The timer is set to the earliest deadline that was ever asked for and looks for what is due
 * when it fires, so that an operation costs the same however many wait. */
#include "net/client_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "net/limits.h"

static void wake_by(struct http_client *client, uint64_t time);
static void wake_now(struct http_client *client);

/* -- operations -- */

void client_free_operation(struct operation *operation)
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

void client_end_stream(struct http_client *client, struct operation *operation,
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
				     .disposition = "",
				     .body = SLICE("")};

	list_remove(&operation->link);
	if (operation->relay && operation->opened)
		operation->relay->ended(operation->context, false);
	else if (operation->relay)
		operation->relay->head(operation->context, &answer, -1);
	else if (operation->streaming)
		client_end_stream(client, operation, &answer, why);
	else
		operation->answered(operation->context, &answer);
	client_free_operation(operation);
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

/* A subscription that is given up must not be heard after the one that follows it: it would
 * take that one's place. */
static bool asks_for_a_stream(const struct http_client *client)
{
	const struct operation *first = list_first(&client->operations, struct operation, link);

	return first && first->streaming && !first->opened;
}

void client_forget_wire(struct wire *wire)
{
	bool abort = wire->client && asks_for_a_stream(wire->client);

	if (wire->client)
		wire->client->wire = NULL;
	wire->client = NULL;
	if (abort)
		transport_abort(&wire->transport);
	else
		transport_close(&wire->transport);
}

void client_break_wire(struct wire *wire, const char *why)
{
	struct http_client *client = wire->client;

	if (!client)
		return;
	struct operation *operation = list_first(&client->operations, struct operation, link);
	int affected = wire->open ? wire->sent : 1;
	client_forget_wire(wire);
	err_set(&client->why, ERR_IO, "%s:%d: %s", client->host, client->port, why);
	while (affected-- > 0 && operation) {
		move_to_failed(client, operation);
		operation = list_first(&client->operations, struct operation, link);
	}
	wake_now(client);
}

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
	used = http_parser_execute(&wire->parser, &client_answer_settings, data, len);
	if (used != len || wire->parser.upgrade || HTTP_PARSER_ERRNO(&wire->parser) != HPE_OK)
		client_break_wire(wire, "the answer is not HTTP");
}

static void client_on_ended(void *context, int status)
{
	struct wire *wire = context;

	if (!wire->client)
		return;
	/* An answer without a length ends with the connection. */
	if (status == UV_EOF && wire->sent)
		http_parser_execute(&wire->parser, &client_answer_settings, NULL, 0);
	client_break_wire(wire, status == UV_EOF ? "connection closed" : uv_strerror(status));
}

/* Who uploads may put more. */
static void client_drained(struct wire *wire)
{
	const struct operation *operation =
		wire->client && wire->sent ? client_operation_of(wire) : NULL;

	if (operation && operation->drained && transport_idle(&wire->transport))
		operation->drained(operation->context);
}

static void client_on_written(void *context, int status)
{
	struct wire *wire = context;

	if (status == 0 && transport_flush(&wire->transport) != 0)
		status = UV_EIO;
	if (status != 0)
		client_break_wire(wire, uv_strerror(status));
	else
		client_drained(wire);
}

static void client_on_dialed(void *context, int status)
{
	struct wire *wire = context;

	if (status == 0)
		status = transport_read(&wire->transport);
	if (status != 0) {
		client_break_wire(wire, uv_strerror(status));
		return;
	}
	wire->open = true;
	client_proceed(wire->client);
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
		client_break_wire(wire, uv_strerror(rv));
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
void client_proceed(struct http_client *client)
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
		client_break_wire(wire, uv_strerror(rv));
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
		client_break_wire(client->wire, uv_strerror(UV_ETIMEDOUT));
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
	client_proceed(client);
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
		client_free_operation(operation);
	while ((operation = list_first(&client->failed, struct operation, link)))
		client_free_operation(operation);
	free(client->host);
	free(client);
}

void http_client_close(struct http_client *client)
{
	if (client->closing)
		return;
	client->closing = true;
	if (client->wire)
		client_forget_wire(client->wire);
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
	client_proceed(client);
}

void http_client_relay(struct http_client *client, const char *path, const char *const *headers,
		       int timeout_ms, const struct http_relay_handlers *handlers, void *context)
{
	if (client->closing)
		return;
	struct operation *operation =
		enqueue(client, "GET", path, headers, NULL, 0, timeout_ms, context);
	operation->relay = handlers;
	client_proceed(client);
}

void http_client_pause(struct http_client *client, bool paused)
{
	struct wire *wire = client->wire;
	int rv = 0;

	if (!wire || !wire->open)
		return;
	if (paused)
		transport_pause(&wire->transport);
	else
		rv = transport_read(&wire->transport);
	if (rv != 0)
		client_break_wire(wire, uv_strerror(rv));
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
	client_proceed(client);
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
		client_break_wire(client->wire, "write failed");
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
	client_proceed(client);
}
