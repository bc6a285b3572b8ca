/* The HTTP client of the simulated world: a request is a letter that is answered by one, a stream
 * a connection on which records come. Connections are made when they are wanted, and one that
 * fails says so after a while, never inside the call. */
#include <net/client.h>

#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "lab/seams/seams.h"

/* How long it takes to learn that nobody listens, or that the way is closed. */
#define REFUSAL_LOW MILLISECOND
#define REFUSAL_HIGH (100 * MILLISECOND)

struct http_client {
	struct list link; /* loop.clients or loop.closed_clients */
	struct sim_loop *loop;
	char *address;
	struct conn *conn;
	struct list sent; /* struct request.link */
	struct happening refusal;
	bool closed;
	/* -- a stream -- */
	const struct http_stream_handlers *handlers;
	void *context;
	uint64_t number; /* of its request */
	bool opened;
	struct happening patience; /* with its head */
};

struct request {
	struct list link;
	struct http_client *client;
	uint64_t number;
	struct happening patience;
	void (*answered)(void *context, const struct http_answer *answer);
	void *context;
};

static struct world *world_of(const struct http_client *client)
{
	return client->loop->process->world;
}

/* ---- ends -------------------------------------------------------------------------------- */

static void request_free(struct request *request)
{
	world_cancel(world_of(request->client), &request->patience);
	list_remove(&request->link);
	free(request);
}

static void hang_up(struct http_client *client)
{
	if (client->conn && !client->loop->dead) {
		/* As the real one: net/client.c. */
		if (client->number && !client->opened)
			conn_break(client->conn);
		conn_close(client->conn, client->loop->process);
	}
	client->conn = NULL;
	world_cancel(world_of(client), &client->refusal);
	world_cancel(world_of(client), &client->patience);
}

/* A callback may close the client: then there are no more of them. */
static void fail_stream(struct http_client *client, const char *why)
{
	const struct http_answer none = {.error = why,
					 .content_type = "",
					 .stream_id = "",
					 .location = "",
					 .disposition = ""};

	hang_up(client);
	client->number = 0;
	if (!client->opened)
		client->handlers->opened(client->context, &none);
	if (!client->closed)
		client->handlers->ended(client->context, why);
}

static void fail_requests(struct http_client *client, const char *why)
{
	const struct http_answer none = {.error = why,
					 .content_type = "",
					 .stream_id = "",
					 .location = "",
					 .disposition = ""};
	struct request *request;

	hang_up(client);
	while (!client->closed && (request = list_first(&client->sent, struct request, link))) {
		struct request over = *request;

		request_free(request);
		over.answered(over.context, &none);
	}
}

static void sim_client_fail(struct http_client *client, const char *why)
{
	if (client->handlers)
		fail_stream(client, why);
	else
		fail_requests(client, why);
}

static void on_refusal(struct happening *h)
{
	struct http_client *client = container_of(h, struct http_client, refusal);

	if (!process_holds(client->loop->process, h))
		sim_client_fail(client, "nobody listens");
}

static void on_stream_patience(struct happening *h)
{
	struct http_client *client = container_of(h, struct http_client, patience);

	if (!process_holds(client->loop->process, h))
		fail_stream(client, "no answer");
}

static void on_request_patience(struct happening *h)
{
	struct request *request = container_of(h, struct request, patience);

	if (!process_holds(request->client->loop->process, h))
		fail_requests(request->client, "no answer");
}

/* ---- life -------------------------------------------------------------------------------- */

struct http_client *http_client_create(uv_loop_t *loop, const char *host, int port)
{
	struct http_client *client = xcalloc(1, sizeof(*client));

	client->loop = loop;
	client->address = xprintf("%s:%d", host, port);
	client->refusal.run = on_refusal;
	client->patience.run = on_stream_patience;
	list_init(&client->sent);
	list_append(&loop->clients, &client->link);
	return client;
}

/* Letters are ordered, and so are their answers. */
void http_client_pipeline(struct http_client *client, int depth)
{
	(void)client;
	(void)depth;
}

void http_client_close(struct http_client *client)
{
	struct request *request, *next;

	client->closed = true;
	hang_up(client);
	list_for_each (request, next, &client->sent, link)
		request_free(request);
	list_remove(&client->link);
	list_append(&client->loop->closed_clients, &client->link);
	sim_loop_later(client->loop);
}

void sim_http_clients_free(struct sim_loop *loop)
{
	struct http_client *client;

	while ((client = list_first(&loop->closed_clients, struct http_client, link))) {
		list_remove(&client->link);
		free(client->address);
		free(client);
	}
}

size_t http_client_waiting(const struct http_client *client)
{
	const struct request *request, *next;
	size_t count = 0;

	list_for_each (request, next, &client->sent, link)
		count++;
	return count;
}

/* ---- asking ------------------------------------------------------------------------------- */

static const char *header_of(const char *const *headers, const char *name)
{
	for (; headers && headers[0]; headers += 2) {
		if (!strcmp(headers[0], name))
			return headers[1];
	}
	return NULL;
}

/* What those see who look at it. NULL: they do not. */
static const ProtobufCMessageDescriptor *type_at(const char *path)
{
	if (strstr(path, "/api/v1/executor"))
		return &mesos__executor__call__descriptor;
	if (strstr(path, "/api/v1/scheduler"))
		return &mesos__scheduler__call__descriptor;
	return NULL;
}

/* What goes over the wire is what those see who look at it. */
static uint64_t sim_client_post(struct http_client *client, const char *path,
				const char *const *headers, const void *body, size_t len)
{
	const ProtobufCMessageDescriptor *type = type_at(path);
	const char *stream_id = header_of(headers, "Mesos-Stream-Id");
	struct letter letter = {.kind = LETTER_CALL, .number = ++*client->loop->next_call};
	struct arena arena;

	if (!client->conn)
		client->conn = conn_open(client->loop->process, client->address);
	if (!client->conn) {
		world_after(world_of(client), &client->refusal,
			    world_between(world_of(client), REFUSAL_LOW, REFUSAL_HIGH));
		return letter.number;
	}
	arena_init(&arena);
	buf_append(&letter.bytes, body, len);
	if (type)
		letter.message = proto_unpack(type, &arena, body, len, NULL);
	else
		letter.path = path;
	letter.name = stream_id ? xstrdup(stream_id) : NULL;
	conn_send(client->conn, client->loop->process, &letter);
	arena_free(&arena);
	return *client->loop->next_call;
}

void http_client_send(struct http_client *client, const char *method, const char *path,
		      const char *const *headers, const void *body, size_t len, int timeout_ms,
		      void (*answered)(void *context, const struct http_answer *answer),
		      void *context)
{
	struct request *request = xcalloc(1, sizeof(*request));

	(void)method;
	request->client = client;
	request->answered = answered;
	request->context = context;
	request->patience.run = on_request_patience;
	list_append(&client->sent, &request->link);
	request->number = sim_client_post(client, path, headers, body, len);
	if (timeout_ms)
		world_after(world_of(client), &request->patience, timeout_ms * MILLISECOND);
}

void http_client_stream(struct http_client *client, const char *path, const char *const *headers,
			const void *body, size_t len, int timeout_ms,
			const struct http_stream_handlers *handlers, void *context)
{
	client->handlers = handlers;
	client->context = context;
	client->opened = false;
	client->number = sim_client_post(client, path, headers, body, len);
	if (timeout_ms)
		world_after(world_of(client), &client->patience, timeout_ms * MILLISECOND);
}

/* ---- hearing ------------------------------------------------------------------------------- */

static struct http_client *find_client(const struct sim_loop *loop, const struct conn *conn)
{
	struct http_client *client, *next;

	list_for_each (client, next, &loop->clients, link) {
		if (client->conn == conn)
			return client;
	}
	return NULL;
}

/* Of an answer the letter's name is the stream's id, or where else to ask, or else the text. */
static struct http_answer answer_of(const struct letter *letter)
{
	const char *text = letter->name ? letter->name : "";
	bool good = letter->status == 200;

	return (struct http_answer){
		.status = letter->status,
		.content_type = "",
		.stream_id = good ? text : "",
		.location = letter->status == 307 ? text : "",
		.disposition = "",
		.body = {text, good ? 0 : strlen(text)},
	};
}

static void hear_stream(struct http_client *client, const struct letter *letter)
{
	struct sim_loop *loop = client->loop;
	struct http_answer answer;

	if (letter->kind == LETTER_EVENT) {
		loop->letter = letter;
		client->handlers->record(client->context,
					 (struct slice){letter->bytes.data, letter->bytes.len});
		loop->letter = NULL;
		return;
	}
	if (letter->number != client->number)
		return;
	answer = answer_of(letter);
	world_cancel(world_of(client), &client->patience);
	client->opened = true;
	if (answer.status == 200) {
		free(loop->stream_id);
		loop->stream_id = xstrdup(answer.stream_id);
	}
	client->handlers->opened(client->context, &answer);
	if (answer.status != 200 && !client->closed)
		fail_stream(client, "refused");
}

static void hear_answer(struct http_client *client, const struct letter *letter)
{
	const struct http_answer answer = answer_of(letter);
	struct request *request, *next;

	list_for_each (request, next, &client->sent, link) {
		struct request over = *request;

		if (over.number != letter->number)
			continue;
		request_free(request);
		over.answered(over.context, &answer);
		return;
	}
}

bool sim_loop_receive(struct sim_loop *loop, struct conn *conn, const struct letter *letter)
{
	struct http_client *client = find_client(loop, conn);

	if (!client)
		return false;
	if (client->handlers)
		hear_stream(client, letter);
	else
		hear_answer(client, letter);
	return true;
}

bool sim_loop_conn_closed(struct sim_loop *loop, struct conn *conn)
{
	struct http_client *client = find_client(loop, conn);

	if (!client)
		return false;
	client->conn = NULL;
	sim_client_fail(client, "the connection is closed");
	return true;
}
