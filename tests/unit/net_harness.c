#include "net_harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/libprocess.h"

static void on_stream_closed(void *context, struct http_stream *stream)
{
	struct fixture *fixture = context;

	for (int i = 0; i < fixture->stream_count; i++)
		if (fixture->streams[i] == stream)
			fixture->streams[i] = NULL;
	fixture->closed_count++;
}

static void answer_message(struct fixture *fixture, struct http_request *request)
{
	struct libprocess_message message;

	if (!libprocess_parse(request, &message)) {
		http_reply_text(request, 400, NULL);
		return;
	}
	buf_printf(&fixture->messages, "%s>%s:%s(%.*s)\n", message.from, message.to, message.name,
		   (int)message.body.len, message.body.data);
	http_reply_text(request, 202, NULL);
}

static void reply_filled(struct http_request *request, const char *type, size_t len)
{
	char *body = arena_alloc(&request->arena, len + 1);

	memset(body, 'x', len);
	http_reply(request, 200, type, body, len, NULL);
}

static void on_request(void *context, struct http_request *request)
{
	struct fixture *fixture = context;

	buf_printf(&fixture->log, "%s %s\n", request->method, request->target);
	if (fixture->handler)
		fixture->handler(fixture, request);
	else if (libprocess_is_message(request))
		answer_message(fixture, request);
	else if (strcmp(request->path, "/hello") == 0)
		http_reply(request, 200, NULL, "hello", 5, NULL);
	else if (strcmp(request->path, "/echo") == 0)
		http_reply(request, 200, NULL, request->body.data, request->body.len, NULL);
	else if (strcmp(request->path, "/json") == 0)
		reply_filled(request, "application/json", 4000);
	else if (strcmp(request->path, "/big") == 0)
		reply_filled(request, NULL, fixture->big_size);
	else if (strcmp(request->path, "/later") == 0 && fixture->kept_count < KEPT_MAX)
		fixture->kept[fixture->kept_count++] = request;
	else if (strcmp(request->path, "/stream") == 0 && fixture->stream_count < KEPT_MAX)
		fixture->streams[fixture->stream_count++] =
			http_stream_open(request, "application/json",
					 (const char *const[]){"Mesos-Stream-Id", "42", NULL},
					 fixture->stream_limit, on_stream_closed, fixture);
	else
		http_reply_text(request, 404, NULL);
}

static void on_guard(uv_timer_t *timer)
{
	struct fixture *fixture = timer->data;

	fixture->expired = ++fixture->guarded >= GUARD_MS / GUARD_TURN_MS;
}

void fixture_init(struct fixture *fixture)
{
	memset(fixture, 0, sizeof(*fixture));
	uv_loop_init(&fixture->loop);
	uv_timer_init(&fixture->loop, &fixture->guard);
	fixture->guard.data = fixture;
	uv_timer_start(&fixture->guard, on_guard, GUARD_TURN_MS, GUARD_TURN_MS);
	fixture->options = (struct http_server_options){.loop = &fixture->loop,
							.ip = "127.0.0.1",
							.body_max = 1024 * 1024,
							.handler = on_request,
							.context = fixture};
}

void fixture_start(struct fixture *fixture)
{
	struct err err;

	cr_assert_eq(http_server_create(&fixture->options, &fixture->server, &err), 0, "%s",
		     err.text);
}

static void on_server_closed(void *context)
{
	((struct fixture *)context)->server_closed = true;
}

void fixture_stop_server(struct fixture *fixture)
{
	if (!fixture->server)
		return;
	http_server_close(fixture->server, on_server_closed, fixture);
	fixture->server = NULL;
	until(fixture, fixture->server_closed);
}

void fixture_finish(struct fixture *fixture)
{
	fixture_stop_server(fixture);
	uv_close((uv_handle_t *)&fixture->guard, NULL);
	uv_run(&fixture->loop, UV_RUN_DEFAULT);
	cr_assert_eq(uv_loop_close(&fixture->loop), 0, "handles are left");
	buf_free(&fixture->log);
	buf_free(&fixture->messages);
}

void fixture_turn(struct fixture *fixture)
{
	uv_run(&fixture->loop, UV_RUN_ONCE);
}

/* -- raw sockets -- */

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct raw *raw = poll->data;
	char bytes[65536];
	ssize_t count = recv(raw->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (count > 0) {
		buf_append(&raw->in, bytes, (size_t)count);
	} else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
		raw->eof = true;
		uv_poll_stop(poll);
	}
}

void raw_open_to(struct raw *raw, struct fixture *fixture, int port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

	memset(raw, 0, sizeof(*raw));
	raw->fixture = fixture;
	inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
	raw->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(connect(raw->fd, (struct sockaddr *)&address, sizeof(address)), 0);
	uv_poll_init_socket(&fixture->loop, &raw->poll, raw->fd);
	raw->poll.data = raw;
	raw_hear(raw);
}

void raw_open(struct raw *raw, struct fixture *fixture)
{
	raw_open_to(raw, fixture, http_server_port(fixture->server));
}

void raw_deafen(struct raw *raw)
{
	uv_poll_stop(&raw->poll);
	raw->deaf = true;
}

void raw_hear(struct raw *raw)
{
	raw->deaf = false;
	uv_poll_start(&raw->poll, UV_READABLE, on_readable);
}

void raw_write(struct raw *raw, const void *data, size_t len)
{
	const char *bytes = data;

	while (len > 0 && !raw->fixture->expired) {
		ssize_t count = send(raw->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (count > 0) {
			bytes += count;
			len -= (size_t)count;
		} else if (errno != EAGAIN && errno != EINTR) {
			return; /* the server has closed; what it said is what matters */
		} else {
			uv_run(&raw->fixture->loop, UV_RUN_NOWAIT);
		}
	}
}

void raw_send(struct raw *raw, const char *text)
{
	raw_write(raw, text, strlen(text));
}

void raw_shutdown(struct raw *raw)
{
	shutdown(raw->fd, SHUT_WR);
}

static void on_raw_closed(uv_handle_t *handle)
{
	((struct raw *)handle->data)->closed = true;
}

void raw_close(struct raw *raw)
{
	uv_close((uv_handle_t *)&raw->poll, on_raw_closed);
	until(raw->fixture, raw->closed);
	close(raw->fd);
	buf_free(&raw->in);
}

void raw_reset(struct raw *raw)
{
	struct linger linger = {.l_onoff = 1, .l_linger = 0};

	setsockopt(raw->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	raw_close(raw);
}

bool raw_has(const struct raw *raw, const char *text)
{
	return raw->in.data && memmem(raw->in.data, raw->in.len, text, strlen(text));
}

int raw_count(const struct raw *raw, const char *text)
{
	const char *at = raw->in.data;
	size_t size = strlen(text);
	int count = 0;

	while (at && (at = memmem(at, (size_t)(raw->in.data + raw->in.len - at), text, size))) {
		count++;
		at += size;
	}
	return count;
}

void raw_expect(struct raw *raw, const char *text, const char *answer)
{
	raw_send(raw, text);
	while (!raw_has(raw, answer) && !raw->eof && !raw->fixture->expired)
		fixture_turn(raw->fixture);
	cr_assert(raw_has(raw, answer), "wanted '%s', got '%s'", answer,
		  raw->in.data ? raw->in.data : "");
}

int unused_port(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
	cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	getsockname(fd, (struct sockaddr *)&address, &size);
	/* The socket stays: while it is bound, nobody else can listen there. */
	return ntohs(address.sin_port);
}
