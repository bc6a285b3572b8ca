/* A scheduler over the v1 API: one connection holds the event stream, another carries the
 * calls. */
#include <stdlib.h>
#include <string.h>

#include "bench/load/schedulers/calls.h"
#include "bench/load/schedulers/scheduler_internal.h"
#include "net/client.h"

static const char *media_of(const struct scheduler *s)
{
	return s->load->plan.as_json ? "application/json" : "application/x-protobuf";
}

static void write_call(const struct scheduler *s, const Mesos__Scheduler__Call *call,
		       struct buf *out)
{
	if (s->load->plan.as_json)
		proto_to_json(call, SPELL_V1, out);
	else
		proto_pack(call, out);
}

/* ---- the stream ------------------------------------------------------------- */

static void record_cb(void *context, struct slice record)
{
	struct scheduler *s = context;
	Mesos__Scheduler__Event *event = NULL;
	struct json *json;
	struct arena arena;
	struct err err = {0};

	arena_init(&arena);
	if (!s->load->plan.as_json)
		event = proto_unpack(&mesos__scheduler__event__descriptor, &arena, record.data,
				     record.len, &err);
	else if (json_parse(&arena, record.data, record.len, &json, &err) == 0)
		event = json_to_proto(&mesos__scheduler__event__descriptor, json, SPELL_V1, &arena,
				      &err);
	if (event)
		scheduler_take_event(s, event);
	else
		load_fail(s->load, "scheduler %zu: an event cannot be read: %s", s->number,
			  err.text);
	arena_free(&arena);
}

static void opened_cb(void *context, const struct http_answer *answer)
{
	struct scheduler *s = context;

	if (answer->status == 200) {
		free(s->stream_id);
		s->stream_id = xstrdup(answer->stream_id);
	} else if (s->load->phase == PHASE_RETURNING &&
		   (answer->status == 0 || answer->status == 503)) {
		s->subscribing = false; /* soon again */
	} else if (answer->status == 0) {
		load_fail(s->load, "scheduler %zu: %s", s->number, answer->error);
	} else {
		load_fail(s->load, "scheduler %zu: the subscription was refused (%d): %.*s",
			  s->number, answer->status, (int)answer->body.len, answer->body.data);
	}
}

static void ended_cb(void *context, const char *why)
{
	struct scheduler *s = context;

	if (scheduler_lost(s))
		return;
	if (s->load->phase < PHASE_LEAVING && !s->leaving)
		load_fail(s->load, "scheduler %zu: the event stream ended: %s", s->number, why);
}

static void open_stream(struct scheduler *s, const Mesos__Scheduler__Call *call)
{
	static const struct http_stream_handlers handlers = {
		.opened = opened_cb,
		.record = record_cb,
		.ended = ended_cb,
	};
	const char *media = media_of(s);
	const char *authorization = s->load->plan.authorization;
	const char *headers[] = {
		"Content-Type", media, "Accept", media, authorization ? "Authorization" : NULL,
		authorization,	NULL};

	buf_clear(&s->body);
	write_call(s, call, &s->body);
	http_client_stream(s->stream, "/api/v1/scheduler", headers, s->body.data, s->body.len, 0,
			   &handlers, s);
}

static void http_subscribe(struct scheduler *s)
{
	s->subscribing = true;
	s->stream = http_client_create(&s->load->loop, s->load->plan.host, s->load->plan.port);
	scheduler_call_subscribe(s, open_stream);
}

/* ---- calls ------------------------------------------------------------------ */

static void answered_cb(void *context, Mesos__Scheduler__Call__Type type, int status,
			struct slice why, int64_t sent)
{
	struct scheduler *s = context;

	if (type == MESOS__SCHEDULER__CALL__TYPE__TEARDOWN) {
		s->torn_down = true;
		return;
	}
	if (s->load->launching_since > 0 && sent >= s->load->launching_since &&
	    s->load->phase <= PHASE_DRAINING)
		histogram_add(&s->load->books.call_to_answer, clock_now() - sent);
	if (status != 202)
		load_fail(s->load, "scheduler %zu: %s was answered with %d: %.*s", s->number,
			  proto_enum_name(&mesos__scheduler__call__type__descriptor, (int)type,
					  SPELL_V1),
			  status, (int)why.len, why.data);
}

static void broken_cb(void *context, const char *why)
{
	struct scheduler *s = context;

	if (scheduler_lost(s))
		return;
	s->torn_down = true;
	if (s->load->phase < PHASE_LEAVING && !s->leaving)
		load_fail(s->load, "scheduler %zu: its calls: %s", s->number, why);
}

static void http_connected(struct scheduler *s)
{
	static const struct calls_handlers handlers = {
		.answered = answered_cb,
		.broken = broken_cb,
	};
	const struct plan *plan = &s->load->plan;
	char *head = xprintf(
		"Host: %s:%d\r\nContent-Type: %s\r\nMesos-Stream-Id: %s\r\n%s%s%s", plan->host,
		plan->port, media_of(s), s->stream_id, plan->authorization ? "Authorization: " : "",
		plan->authorization ? plan->authorization : "", plan->authorization ? "\r\n" : "");

	s->calls = calls_create(&s->load->loop, s->load->tls, plan->host, plan->port, head,
				plan->waiting, &handlers, s);
	free(head);
}

static void http_send(struct scheduler *s, Mesos__Scheduler__Call__Type type,
		      const Mesos__Scheduler__Call *call)
{
	buf_clear(&s->body);
	write_call(s, call, &s->body);
	calls_send(s->calls, type, s->body.data, s->body.len, clock_now());
}

static void http_hang_up(struct scheduler *s)
{
	if (s->calls)
		calls_close(s->calls);
	s->calls = NULL;
	if (s->stream)
		http_client_close(s->stream);
	s->stream = NULL;
}

static void http_close(struct scheduler *s)
{
	http_hang_up(s);
	free(s->stream_id);
}

const struct wire http_wire = {
	.subscribe = http_subscribe,
	.connected = http_connected,
	.send = http_send,
	.hang_up = http_hang_up,
	.close = http_close,
};
