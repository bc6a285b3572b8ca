#include "client_harness.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"

static void on_stream_closed(void *context, struct http_stream *stream)
{
	struct fake *fake = context;

	if (fake->stream == stream)
		fake->stream = NULL;
	fake->streams_closed++;
}

static void subscribe(struct fake *fake, struct http_request *request)
{
	if (fake->subscribe_status != 200) {
		http_reply(request, fake->subscribe_status, "text/plain", "go away", 7,
			   (const char *const[]){"Location", fake->location ? fake->location : "",
						 NULL});
		return;
	}
	fake->stream = http_stream_open(request, "application/x-protobuf",
					(const char *const[]){"Mesos-Stream-Id", "stream-1", NULL},
					1 << 20, on_stream_closed, fake);
}

static void on_request(void *context, struct http_request *request)
{
	struct fake *fake = context;
	struct fake_call *call;
	const char *stream_id = http_header(request, "Mesos-Stream-Id");
	const char *authorization = http_header(request, "Authorization");

	if (!strcmp(request->method, "GET")) {
		fake->probe_count++;
		if (fake->probe_status)
			http_reply_text(request, fake->probe_status, "answer");
		else
			fake->held_probe = request;
		return;
	}
	call = &fake->calls[fake->call_count++];
	cr_assert_leq(fake->call_count, CALLS_MAX);
	cr_assert_str_eq(request->method, "POST");
	cr_assert_eq(http_content_type(request), HTTP_MEDIA_PROTOBUF);
	call->path = xstrdup(request->path);
	call->stream_id = xstrdup(stream_id ? stream_id : "");
	call->authorization = xstrdup(authorization ? authorization : "");
	buf_append(&call->body, request->body.data, request->body.len);
	call->subscribe = fake->is_subscribe(request->body);
	if (call->subscribe) {
		fake->subscribe_count++;
		subscribe(fake, request);
	} else if (fake->call_status) {
		http_reply_text(request, fake->call_status, "answer");
	} else {
		call->held = request;
	}
}

static void on_guard(uv_timer_t *timer)
{
	((struct fake *)timer->data)->expired = true;
}

void fake_start(struct fake *fake)
{
	struct http_server_options options = {
		.loop = &fake->loop,
		.ip = "127.0.0.1",
		.port = fake->port,
		.body_max = 1024 * 1024,
		.handler = on_request,
		.context = fake,
	};
	struct err err;

	cr_assert_eq(http_server_create(&options, &fake->server, &err), 0, "%s", err.text);
	fake->server_closed = false;
	fake->port = http_server_port(fake->server);
	free(fake->address);
	fake->address = xprintf("127.0.0.1:%d", fake->port);
}

void fake_init(struct fake *fake, bool (*is_subscribe)(struct slice body))
{
	memset(fake, 0, sizeof(*fake));
	uv_loop_init(&fake->loop);
	uv_timer_init(&fake->loop, &fake->guard);
	fake->guard.data = fake;
	uv_timer_start(&fake->guard, on_guard, GUARD_MS, 0);
	fake->is_subscribe = is_subscribe;
	fake->subscribe_status = 200;
	fake->call_status = 202;
	fake->probe_status = 200;
	fake_start(fake);
}

static void on_server_closed(void *context)
{
	((struct fake *)context)->server_closed = true;
}

void fake_stop(struct fake *fake)
{
	if (!fake->server)
		return;
	http_server_close(fake->server, on_server_closed, fake);
	fake->server = NULL;
	until(fake, fake->server_closed);
	/* Nobody hears these any more. */
	if (fake->held_probe)
		http_reply_text(fake->held_probe, 503, NULL);
	fake->held_probe = NULL;
	for (int i = 0; i < fake->call_count; i++) {
		if (fake->calls[i].held)
			http_reply_text(fake->calls[i].held, 503, NULL);
		fake->calls[i].held = NULL;
	}
}

void fake_finish(struct fake *fake)
{
	fake_stop(fake);
	uv_close((uv_handle_t *)&fake->guard, NULL);
	uv_run(&fake->loop, UV_RUN_DEFAULT);
	cr_assert_eq(uv_loop_close(&fake->loop), 0, "handles are left");
	for (int i = 0; i < fake->call_count; i++) {
		free(fake->calls[i].path);
		free(fake->calls[i].stream_id);
		free(fake->calls[i].authorization);
		buf_free(&fake->calls[i].body);
	}
	free(fake->address);
}

void fake_send(struct fake *fake, const void *event)
{
	struct buf bytes = BUF_INIT;

	cr_assert_not_null(fake->stream);
	proto_pack(event, &bytes);
	http_stream_record(fake->stream, bytes.data ? bytes.data : "", bytes.len);
	buf_free(&bytes);
}

void fake_end_stream(struct fake *fake)
{
	cr_assert_not_null(fake->stream);
	http_stream_end(fake->stream);
	fake->stream = NULL;
}

void fake_turn(struct fake *fake)
{
	uv_run(&fake->loop, UV_RUN_ONCE);
}

static void on_waited(uv_timer_t *timer)
{
	*(bool *)timer->data = true;
}

void fake_wait_ms(struct fake *fake, uint64_t ms)
{
	uv_timer_t timer;
	bool over = false;

	uv_timer_init(&fake->loop, &timer);
	timer.data = &over;
	uv_timer_start(&timer, on_waited, ms, 0);
	until(fake, over);
	uv_close((uv_handle_t *)&timer, NULL);
	uv_run(&fake->loop, UV_RUN_NOWAIT);
}
