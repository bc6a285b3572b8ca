#include "master/steps/steps.h"

#include <stdlib.h>

#include "base/log/log.h"
#include "base/memory/arena.h"
#include "base/time/clock.h"

/* ---- carrying out -------------------------------------------------------- */

static void steps_store(struct master_steps *steps, const struct master_action *action)
{
	const struct master_outlet *o = steps->outlet;
	struct master_line *line = &steps->lines[action->store.line];

	line->last = o->store(steps->context, action->store.line, action->store.class,
			      action->store.ops, action->store.count);
	if (action->store.class == STORE_SYNCED)
		line->synced = line->last;
	if (line->last == action->store.ticket)
		return;
	log_error("the store's numbering and the core's differ: %llu, %llu",
		  (unsigned long long)line->last, (unsigned long long)action->store.ticket);
	o->exit(steps->context, "the store's numbering and the core's differ");
}

static void steps_carry_out(struct master_steps *steps, const struct master_action *action)
{
	const struct master_outlet *o = steps->outlet;
	void *context = steps->context;

	switch (action->type) {
	case MASTER_SEND_EVENT:
		o->send_event(context, action->send_event.stream, action->send_event.event);
		break;
	case MASTER_END_STREAM:
		o->end_stream(context, action->end_stream.stream);
		break;
	case MASTER_SEND_MESSAGE:
		o->send_message(context, action->send_message.from, action->send_message.to,
				action->send_message.message);
		break;
	case MASTER_LINK:
		o->link(context, action->link.pid);
		break;
	case MASTER_UNLINK:
		o->unlink(context, action->link.pid);
		break;
	case MASTER_STORE:
		steps_store(steps, action);
		break;
	case MASTER_ANSWER:
		o->answer(context, action->answer.request, action->answer.status,
			  action->answer.text);
		break;
	case MASTER_TELL_WATCHERS:
		o->tell_watchers(context, action->tell_watchers.event,
				 action->tell_watchers.framework_user,
				 action->tell_watchers.task_user);
		break;
	case MASTER_EXIT:
		o->exit(context, action->exit.text);
		break;
	}
}

static void carry_all_out(struct master_steps *steps)
{
	for (size_t i = 0; i < steps->actions.count; i++)
		steps_carry_out(steps, &steps->actions.items[i]);
}

/* ---- events that wait ---------------------------------------------------- */

struct waiting_event {
	struct list link;
	struct master_event event;
	char *pid;
};

static void waiting_free(struct waiting_event *waiting)
{
	list_remove(&waiting->link);
	free(waiting->pid);
	free(waiting);
}

static void keep_event(struct master_steps *steps, const struct master_event *event)
{
	struct waiting_event *waiting;

	if (event->type != MASTER_STREAM_CLOSED && event->type != MASTER_EXITED &&
	    event->type != MASTER_STORED) {
		log_error("an event of type %d came up during a step and was dropped", event->type);
		return;
	}
	waiting = xcalloc(1, sizeof(*waiting));
	waiting->event = *event;
	if (event->type == MASTER_EXITED)
		waiting->event.exited.pid = waiting->pid = xstrdup(event->exited.pid);
	list_append(&steps->events, &waiting->link);
}

static void step(struct master_steps *steps, const struct master_event *event,
		 void (*open)(void *context), void *context)
{
	int64_t now = steps->outlet->now(steps->context);

	master_actions_clear(&steps->actions);
	master_step(steps->core, now, event, &steps->actions);
	if (open)
		open(context);
	carry_all_out(steps);
}

/* The reply of the event that was fed first stays. */
static void step_waiting(struct master_steps *steps)
{
	struct waiting_event *waiting;
	struct master_reply reply = steps->actions.reply;
	char *text, *stream_id;

	if (!list_empty(&steps->events)) {
		text = reply.text ? xstrdup(reply.text) : NULL;
		stream_id = reply.stream_id ? xstrdup(reply.stream_id) : NULL;
		while ((waiting = list_first(&steps->events, struct waiting_event, link))) {
			if (!steps->over)
				step(steps, &waiting->event, NULL, NULL);
			waiting_free(waiting);
		}
		reply.text = text ? arena_strdup(&steps->actions.arena, text) : NULL;
		reply.stream_id = stream_id ? arena_strdup(&steps->actions.arena, stream_id) : NULL;
		steps->actions.reply = reply;
		free(text);
		free(stream_id);
	}
	steps->outlet->wake_at(steps->context,
			       steps->over ? TIME_NEVER : master_next_timeout(steps->core));
}

/* ---- events ----------------------------------------------------------------- */

void master_steps_feed_opening(struct master_steps *steps, const struct master_event *event,
			       void (*open)(void *context), void *context)
{
	steps->stepping = true;
	step(steps, event, open, context);
	step_waiting(steps);
	steps->stepping = false;
}

void master_steps_feed(struct master_steps *steps, const struct master_event *event)
{
	if (steps->over)
		return;
	if (steps->stepping)
		keep_event(steps, event);
	else
		master_steps_feed_opening(steps, event, NULL, NULL);
}

void master_steps_begin(struct master_steps *steps)
{
	steps->stepping = true;
	master_actions_clear(&steps->actions);
	master_start(steps->core, steps->outlet->now(steps->context), &steps->actions);
	carry_all_out(steps);
	step_waiting(steps);
	steps->stepping = false;
}

void master_steps_finish(struct master_steps *steps)
{
	master_actions_clear(&steps->actions);
	master_finish(steps->core, steps->outlet->now(steps->context), &steps->actions);
	carry_all_out(steps);
}

/* An agent that is admitted takes some 20 us. */
#define ADMITTED_AT_ONCE 64

bool master_steps_stored(struct master_steps *steps, enum store_line which, uint64_t applied,
			 uint64_t durable)
{
	struct master_line *line = &steps->lines[which];
	struct master_event event = {.type = MASTER_STORED, .stored = {.line = which}};
	uint64_t ticket = durable >= line->synced ? applied : durable;
	bool more = which == LINE_REGISTRY && ticket > line->told + ADMITTED_AT_ONCE;

	if (ticket <= line->told)
		return false;
	event.stored.ticket = line->told = more ? line->told + ADMITTED_AT_ONCE : ticket;
	master_steps_feed(steps, &event);
	return more && !steps->over;
}

/* ---- life ------------------------------------------------------------------- */

void master_steps_init(struct master_steps *steps, const struct master_outlet *outlet,
		       void *context)
{
	*steps = (struct master_steps){.outlet = outlet, .context = context};
	master_actions_init(&steps->actions);
	list_init(&steps->events);
}

void master_steps_free(struct master_steps *steps)
{
	while (!list_empty(&steps->events))
		waiting_free(list_first(&steps->events, struct waiting_event, link));
	master_actions_free(&steps->actions);
}
