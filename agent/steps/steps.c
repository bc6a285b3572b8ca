#include "agent/steps/steps.h"

#include <stdlib.h>

#include "base/log/log.h"
#include "base/memory/arena.h"
#include "base/time/clock.h"

/* ---- carrying out -------------------------------------------------------- */

static void steps_store(struct agent_steps *steps, const struct agent_action *action)
{
	const struct agent_outlet *o = steps->outlet;
	uint64_t number = o->store(steps->context, action->store.class, action->store.ops,
				   action->store.count);

	if (action->store.class == STORE_SYNCED)
		steps->synced = number;
	if (number == action->store.ticket)
		return;
	log_error("the store's numbering and the core's differ: %llu, %llu",
		  (unsigned long long)number, (unsigned long long)action->store.ticket);
	o->exit(steps->context, 1, "the store's numbering and the core's differ");
}

static void steps_carry_out(struct agent_steps *steps, const struct agent_action *action)
{
	const struct agent_outlet *o = steps->outlet;
	void *context = steps->context;

	switch (action->type) {
	case AGENT_SEND_MESSAGE:
		o->send_message(context, action->send_message.actor, action->send_message.to,
				action->send_message.message);
		break;
	case AGENT_LINK:
		o->link(context, action->link.pid);
		break;
	case AGENT_UNLINK:
		o->unlink(context, action->link.pid);
		break;
	case AGENT_SEND_EVENT:
		o->send_event(context, action->send_event.stream, action->send_event.event);
		break;
	case AGENT_END_STREAM:
		o->end_stream(context, action->end_stream.stream);
		break;
	case AGENT_LAUNCH:
		o->launch(context, &action->launch);
		break;
	case AGENT_REATTACH:
		o->reattach(context, action->reattach.container, action->reattach.pid,
			    action->reattach.start_ticks);
		break;
	case AGENT_DESTROY:
		o->destroy(context, action->destroy.container);
		break;
	case AGENT_SIGNAL:
		o->signal(context, action->signal.container, action->signal.number);
		break;
	case AGENT_LIMIT:
		o->limit(context, action->limit.container, &action->limit.limits);
		break;
	case AGENT_CLEAR:
		o->clear(context, action->clear.container);
		break;
	case AGENT_ANSWER:
		o->answer(context, action);
		break;
	case AGENT_STORE:
		steps_store(steps, action);
		break;
	case AGENT_COLLECT:
		o->collect(context, action->collect.path, action->collect.when);
		break;
	case AGENT_KEEP:
		o->keep(context, action->collect.path);
		break;
	case AGENT_MAKE_VOLUMES:
	case AGENT_LINK_VOLUMES:
		o->make_volumes(context, action);
		break;
	case AGENT_REMOVE_VOLUME:
		o->remove_volume(context, action->remove_volume.path, action->remove_volume.mount);
		break;
	case AGENT_REDETECT:
		o->redetect(context);
		break;
	case AGENT_EXIT:
		o->exit(context, action->exit.status, action->exit.text);
		break;
	}
}

static void carry_all_out(struct agent_steps *steps)
{
	for (size_t i = 0; i < steps->actions.count; i++)
		steps_carry_out(steps, &steps->actions.items[i]);
	if (!steps->identity_ticket && agent_registered(steps->core))
		steps->identity_ticket = steps->synced;
}

/* ---- events that wait ---------------------------------------------------- */

struct waiting_event {
	struct list link;
	struct arena arena;
	struct agent_event event;
};

static const char *keep_text(struct arena *arena, const char *text)
{
	return text ? arena_strdup(arena, text) : NULL;
}

static void keep_event(struct agent_steps *steps, const struct agent_event *event)
{
	struct waiting_event *waiting = xcalloc(1, sizeof(*waiting));
	struct arena *arena = &waiting->arena;
	struct agent_event *copy = &waiting->event;

	arena_init(arena);
	*copy = *event;
	switch (event->type) {
	case AGENT_DETECTED:
		copy->detected.master =
			event->detected.master ? arena_strdup(arena, event->detected.master) : NULL;
		break;
	case AGENT_EXITED:
		copy->exited.pid = arena_strdup(arena, event->exited.pid);
		break;
	case AGENT_SESSION_CLOSED:
		copy->session_closed.container =
			arena_strdup(arena, event->session_closed.container);
		break;
	case AGENT_CONTAINER_STARTED:
		copy->container_started.container =
			arena_strdup(arena, event->container_started.container);
		break;
	case AGENT_CONTAINER_NETWORKED:
		copy->container_networked.container =
			arena_strdup(arena, event->container_networked.container);
		copy->container_networked.status =
			proto_copy_to(arena, event->container_networked.status);
		break;
	case AGENT_CONTAINER_FAILED:
		copy->container_failed.container =
			arena_strdup(arena, event->container_failed.container);
		copy->container_failed.text = arena_strdup(arena, event->container_failed.text);
		break;
	case AGENT_CONTAINER_EXITED:
		copy->container_exited.container =
			arena_strdup(arena, event->container_exited.container);
		break;
	case AGENT_CONTAINER_LIMITED:
		copy->container_limited.container =
			arena_strdup(arena, event->container_limited.container);
		copy->container_limited.text = arena_strdup(arena, event->container_limited.text);
		copy->container_limited.resource =
			keep_text(arena, event->container_limited.resource);
		break;
	case AGENT_COLLECTED:
		copy->collected.path = arena_strdup(arena, event->collected.path);
		break;
	case AGENT_VOLUMES_MADE:
		copy->volumes_made.failure = keep_text(arena, event->volumes_made.failure);
		break;
	case AGENT_VOLUME_REMOVED:
		copy->volume_removed.path = keep_text(arena, event->volume_removed.path);
		break;
	case AGENT_VOLUMES_LINKED:
		copy->volumes_linked.container = keep_text(arena, event->volumes_linked.container);
		copy->volumes_linked.failure = keep_text(arena, event->volumes_linked.failure);
		break;
	case AGENT_MESSAGE:
	case AGENT_EXECUTOR_CALL:
	case AGENT_CONTAINER_CALL:
		log_error("an event with a message came up during a step and was dropped");
		copy->type = AGENT_TICK;
		break;
	case AGENT_STREAM_CLOSED:
	case AGENT_STORED:
	case AGENT_SHUTDOWN:
	case AGENT_TICK:
		break;
	}
	list_append(&steps->events, &waiting->link);
}

static void step(struct agent_steps *steps, const struct agent_event *event,
		 void (*open)(void *context), void *context)
{
	int64_t now = steps->outlet->now(steps->context);

	agent_actions_clear(&steps->actions);
	agent_step(steps->core, now, event, &steps->actions);
	if (open)
		open(context);
	carry_all_out(steps);
}

static void step_waiting(struct agent_steps *steps)
{
	struct waiting_event *waiting;

	while ((waiting = list_first(&steps->events, struct waiting_event, link))) {
		list_remove(&waiting->link);
		if (!steps->over)
			step(steps, &waiting->event, NULL, NULL);
		arena_free(&waiting->arena);
		free(waiting);
	}
	steps->outlet->wake_at(steps->context,
			       steps->over ? TIME_NEVER : agent_next_timeout(steps->core));
}

/* ---- events ----------------------------------------------------------------- */

void agent_steps_feed(struct agent_steps *steps, const struct agent_event *event)
{
	if (steps->stepping) {
		keep_event(steps, event);
		return;
	}
	if (steps->over)
		return;
	steps->stepping = true;
	step(steps, event, NULL, NULL);
	step_waiting(steps);
	steps->stepping = false;
}

void agent_steps_call(struct agent_steps *steps, const struct agent_event *event,
		      void (*open)(void *context), void *context)
{
	steps->stepping = true;
	step(steps, event, open, context);
	free((char *)steps->reply.text);
	steps->reply.status = steps->actions.reply.status;
	steps->reply.text = xstrdup(steps->actions.reply.text ? steps->actions.reply.text : "");
	step_waiting(steps);
	steps->stepping = false;
}

void agent_steps_begin(struct agent_steps *steps)
{
	steps->stepping = true;
	carry_all_out(steps);
	step_waiting(steps);
	steps->stepping = false;
}

void agent_steps_stored(struct agent_steps *steps, uint64_t applied, uint64_t durable)
{
	struct agent_event event = {.type = AGENT_STORED};
	uint64_t ticket = durable >= steps->synced ? applied : durable;

	if (ticket <= steps->told)
		return;
	event.stored.ticket = steps->told = ticket;
	if (!steps->identified && steps->identity_ticket && ticket >= steps->identity_ticket) {
		steps->identified = true;
		steps->outlet->identified(steps->context);
	}
	agent_steps_feed(steps, &event);
}

/* ---- life ------------------------------------------------------------------- */

void agent_steps_init(struct agent_steps *steps, const struct agent_outlet *outlet, void *context)
{
	*steps = (struct agent_steps){.outlet = outlet, .context = context};
	agent_actions_init(&steps->actions);
	list_init(&steps->events);
}

void agent_steps_free(struct agent_steps *steps)
{
	struct waiting_event *waiting;

	while ((waiting = list_first(&steps->events, struct waiting_event, link))) {
		list_remove(&waiting->link);
		arena_free(&waiting->arena);
		free(waiting);
	}
	agent_actions_free(&steps->actions);
	free((char *)steps->reply.text);
}
