/* The shell around the core's steps: what they do to the world, and how events come to them. */
#include "master/shell.h"

#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/time/clock.h"
#include "net/daemon/audit.h"
#include "proto/names.h"

void shell_stream_closed(void *context, uint64_t number)
{
	struct shell *shell = context;
	struct master_event event = {.type = MASTER_STREAM_CLOSED,
				     .stream_closed = {.stream = number}};

	if (!shell->steps.over)
		shell_step(shell, &event);
}

/* ---- what the steps do to the world ---------------------------------------- */

static int64_t outlet_now(void *context)
{
	struct shell *shell = context;
	int64_t moved = clock_catch_up();

	if (moved) {
		log_info("the clock was set, or the machine slept: it is %g seconds later",
			 clock_seconds(moved));
		master_clock_moved(shell->steps.core, moved);
	}
	shell->step_began = (int64_t)uv_hrtime();
	return clock_now();
}

static void outlet_tick_cb(uv_timer_t *timer)
{
	struct shell *shell = timer->data;
	struct master_event event = {.type = MASTER_TICK};

	shell->ticking = true;
	shell_step(shell, &event);
	shell->ticking = false;
}

static void outlet_wake_at(void *context, int64_t when)
{
	struct shell *shell = context;
	/* A timer that a timer's callback starts for now runs in the same turn of the loop, before
	 * anybody else. */
	uint64_t least = shell->ticking ? 1 : 0, wait;
	int64_t left;

	if (when == TIME_NEVER) {
		uv_timer_stop(&shell->tick);
		return;
	}
	if (when == shell->tick_time && uv_is_active((uv_handle_t *)&shell->tick))
		return;
	shell->tick_time = when;
	left = when - clock_now();
	/* Rounded up: a tick that comes too early would only be repeated. */
	wait = left <= 0 ? 0 : (uint64_t)((left + MILLISECOND - 1) / MILLISECOND);
	uv_timer_start(&shell->tick, outlet_tick_cb, wait > least ? wait : least, 0);
}

static void outlet_send_event(void *context, uint64_t stream, const Mesos__Scheduler__Event *event)
{
	struct shell *shell = context;

	event_streams_send(&shell->streams, stream, event);
}

static void outlet_end_stream(void *context, uint64_t stream)
{
	struct shell *shell = context;

	event_streams_end(&shell->streams, stream);
}

static void outlet_send_message(void *context, const char *actor, const char *to,
				const ProtobufCMessage *message)
{
	struct shell *shell = context;
	struct buf *body = &shell->packed;
	const char *from = actor;

	if (!strcmp(actor, "master"))
		from = shell->pid;
	else if (!strchr(actor, '@'))
		from = arena_join(&shell->steps.actions.arena, actor, "@", shell->address, NULL);
	proto_pack(message, body);
	messenger_send(shell->messenger, from, to, message->descriptor->name, body->data,
		       body->len);
	buf_recycle(body);
}

static void outlet_link(void *context, const char *pid)
{
	struct shell *shell = context;

	messenger_link(shell->messenger, pid);
}

static void outlet_unlink(void *context, const char *pid)
{
	struct shell *shell = context;

	messenger_unlink(shell->messenger, pid);
}

static void outlet_tell_watchers(void *context, const Mesos__Master__Event *event,
				 const char *framework_user, const char *task_user)
{
	shell_tell_watchers(context, event, framework_user, task_user);
}

static void outlet_answer(void *context, uint64_t number, int status, const char *text)
{
	struct shell *shell = context;
	struct shell_waiting *waiting;

	HASH_FIND(hh, shell->waiting, &number, sizeof(number), waiting);
	if (!waiting)
		return;
	audit_change(waiting->request, waiting->call, waiting->object, status);
	http_reply_text(waiting->request, status, text);
	HASH_DEL(shell->waiting, waiting);
	free(waiting);
}

static void outlet_exit(void *context, const char *text)
{
	log_error("%s", text);
	shell_stop(context, 1);
}

const struct master_outlet shell_outlet = {
	.now = outlet_now,
	.wake_at = outlet_wake_at,
	.send_event = outlet_send_event,
	.end_stream = outlet_end_stream,
	.send_message = outlet_send_message,
	.link = outlet_link,
	.unlink = outlet_unlink,
	.store = shell_store_write,
	.tell_watchers = outlet_tell_watchers,
	.answer = outlet_answer,
	.exit = outlet_exit,
};

/* ---- reading ------------------------------------------------------------------ */

struct view shell_view(const struct shell *shell, const struct http_request *request)
{
	return (struct view){
		.m = shell->steps.core,
		.principal = request->principal,
		.acls = shell->flags->allowed,
	};
}

bool shell_allows(const struct shell *shell, struct http_request *request, enum acl_action action,
		  const char *object)
{
	struct view view = shell_view(shell, request);

	if (view_allows(&view, action, object))
		return true;
	audit_change(request, request->path, object ? object : "", 403);
	http_reply_text(request, 403, NULL);
	return false;
}

/* ---- steps ------------------------------------------------------------------ */

double shell_ms_since(int64_t then)
{
	return (double)((int64_t)uv_hrtime() - then) / MILLISECOND;
}

void shell_time_cycle(void *context, bool begins)
{
	struct shell *shell = context;
	int64_t now = (int64_t)uv_hrtime();

	if (begins) {
		shell->cycle_began = now;
		timing_add(&shell->latency_timing, now, shell_ms_since(shell->step_began));
	} else {
		timing_add(&shell->allocation_timing, now, shell_ms_since(shell->cycle_began));
	}
}

void shell_step(struct shell *shell, const struct master_event *event)
{
	master_steps_feed(&shell->steps, event);
}

void shell_change(struct shell *shell, struct http_request *request, Mesos__Master__Call *call)
{
	struct master_event event = {
		.type = MASTER_OPERATOR,
		.operator_ = {.call = call, .principal = request->principal},
	};
	struct shell_waiting *waiting = xcalloc(1, sizeof(*waiting));

	waiting->number = event.operator_.request = ++shell->next_waiting;
	waiting->request = request;
	waiting->call =
		proto_enum_name(&mesos__master__call__type__descriptor, call->type, SPELL_V1);
	waiting->object = audit_object(&request->arena, &call->base);
	HASH_ADD(hh, shell->waiting, number, sizeof(waiting->number), waiting);
	shell_step(shell, &event);
	if (shell->steps.actions.reply.status)
		outlet_answer(shell, waiting->number, shell->steps.actions.reply.status,
			      shell->steps.actions.reply.text);
}

void shell_ask(struct shell *shell, struct http_request *request, const struct master_event *event,
	       const char *object)
{
	shell_step(shell, event);
	audit_change(request, request->path, object, shell->steps.actions.reply.status);
	http_reply_text(request, shell->steps.actions.reply.status,
			shell->steps.actions.reply.text);
}

void shell_stop(struct shell *shell, int status)
{
	if (shell->steps.over)
		return;
	shell->steps.over = true;
	shell->exit_status = status;
	atomic_store(&shell->gives_up, status != 0);
	uv_stop(&shell->loop);
}
