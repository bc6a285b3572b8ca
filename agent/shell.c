/* Steps of the agent: an event into the core, its actions out into the world.
 *
 * Actions are carried out in their order; what they cause at once (a container that
 * starts, a path that is gone) waits until all of them are done. Bytes for sockets are
 * gathered by net/ and leave once a loop turn; batches for the store likewise. */
#include "agent/shell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/containers/volume_dirs.h"
#include "agent/latest.h"
#include "agent/volumes/volume_worker.h"
#include "base/clock.h"
#include "base/log.h"

void agent_shell_stream_closed(void *context, uint64_t number)
{
	struct agent_shell *shell = context;
	struct agent_event event = {.type = AGENT_STREAM_CLOSED,
				    .stream_closed = {.stream = number}};

	if (!shell->stopping)
		agent_shell_step(shell, &event);
}

/* ---- carrying out -------------------------------------------------------- */

static void shell_send_message(struct agent_shell *shell, const char *to,
			       const ProtobufCMessage *message)
{
	struct buf body = BUF_INIT;

	proto_pack(message, &body);
	messenger_send(shell->messenger, shell->pid, to, message->descriptor->name, body.data,
		       body.len);
	buf_free(&body);
}

static void write_store(struct agent_shell *shell, const struct agent_action *action)
{
	uint64_t ticket = store_write(shell->store, action->store.class, action->store.ops,
				      action->store.count);

	if (action->store.class == STORE_REGISTRY)
		shell->synced_ticket = ticket;
	if (ticket != action->store.ticket) {
		log_error("the store's numbering and the core's differ: %llu, %llu",
			  (unsigned long long)ticket, (unsigned long long)action->store.ticket);
		agent_shell_stop(shell, 1);
	}
}

static void carry_out_exit(struct agent_shell *shell, const struct agent_action *action)
{
	if (action->exit.status)
		log_error("%s", action->exit.text);
	else
		log_info("%s", action->exit.text);
	agent_shell_stop(shell, action->exit.status);
}

static void shell_carry_out(struct agent_shell *shell, const struct agent_action *action)
{
	switch (action->type) {
	case AGENT_SEND_MESSAGE:
		shell_send_message(shell, action->send_message.to, action->send_message.message);
		break;
	case AGENT_LINK:
		messenger_link(shell->messenger, action->link.pid);
		break;
	case AGENT_UNLINK:
		messenger_unlink(shell->messenger, action->link.pid);
		break;
	case AGENT_SEND_EVENT:
		event_streams_send(&shell->streams, action->send_event.stream,
				   action->send_event.event);
		break;
	case AGENT_END_STREAM:
		event_streams_end(&shell->streams, action->end_stream.stream);
		break;
	case AGENT_LAUNCH:
		containers_launch(shell->containers, &action->launch);
		break;
	case AGENT_REATTACH:
		containers_reattach(shell->containers, action->reattach.container,
				    action->reattach.pid, action->reattach.start_ticks);
		break;
	case AGENT_DESTROY:
		containers_destroy(shell->containers, action->destroy.container);
		break;
	case AGENT_STORE:
		write_store(shell, action);
		break;
	case AGENT_COLLECT:
		gc_collect(shell->gc, action->collect.path, action->collect.when);
		break;
	case AGENT_KEEP:
		gc_keep(shell->gc, action->collect.path);
		break;
	case AGENT_MAKE_VOLUMES:
	case AGENT_LINK_VOLUMES:
		volume_worker_add(shell->volumes, action);
		break;
	case AGENT_REMOVE_VOLUME:
		volume_remover_add(shell->remover, action->remove_volume.path,
				   action->remove_volume.mount);
		break;
	case AGENT_REDETECT:
		detector_look(shell->detector);
		break;
	case AGENT_EXIT:
		carry_out_exit(shell, action);
		break;
	}
}

static void shell_tick_cb(uv_timer_t *timer)
{
	struct agent_event event = {.type = AGENT_TICK};

	agent_shell_step(timer->data, &event);
}

static void arm_tick(struct agent_shell *shell)
{
	int64_t when = agent_next_timeout(shell->core), wait;

	if (when == TIME_NEVER || shell->stopping) {
		uv_timer_stop(&shell->tick);
		return;
	}
	wait = when - clock_now();
	/* Rounded up: a tick that comes too early would only be repeated. */
	uv_timer_start(&shell->tick, shell_tick_cb,
		       wait <= 0 ? 0 : (uint64_t)((wait + MILLISECOND - 1) / MILLISECOND), 0);
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

static void keep_event(struct agent_shell *shell, const struct agent_event *event)
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
	case AGENT_CONTAINER_STARTED:
		copy->container_started.container =
			arena_strdup(arena, event->container_started.container);
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
		log_error("an event with a message came up during a step and was dropped");
		copy->type = AGENT_TICK;
		break;
	case AGENT_STREAM_CLOSED:
	case AGENT_STORED:
	case AGENT_SHUTDOWN:
	case AGENT_TICK:
		break;
	}
	list_append(&shell->events, &waiting->link);
}

static void step(struct agent_shell *shell, const struct agent_event *event,
		 void (*open)(void *context), void *context)
{
	int64_t moved = clock_catch_up();

	if (moved) {
		log_info("the clock was set, or the machine slept: it is %g seconds later",
			 clock_seconds(moved));
		agent_clock_moved(shell->core, moved);
	}
	agent_actions_clear(&shell->actions);
	agent_step(shell->core, clock_now(), event, &shell->actions);
	if (open)
		open(context);
	for (size_t i = 0; i < shell->actions.count; i++)
		shell_carry_out(shell, &shell->actions.items[i]);
	if (!shell->identity_ticket && agent_registered(shell->core))
		shell->identity_ticket = shell->synced_ticket;
}

static void step_waiting(struct agent_shell *shell)
{
	struct waiting_event *waiting;

	while ((waiting = list_first(&shell->events, struct waiting_event, link))) {
		list_remove(&waiting->link);
		if (!shell->stopping)
			step(shell, &waiting->event, NULL, NULL);
		arena_free(&waiting->arena);
		free(waiting);
	}
	arm_tick(shell);
}

void agent_shell_step(struct agent_shell *shell, const struct agent_event *event)
{
	if (shell->stepping) {
		keep_event(shell, event);
		return;
	}
	shell->stepping = true;
	step(shell, event, NULL, NULL);
	step_waiting(shell);
	shell->stepping = false;
}

void agent_shell_call(struct agent_shell *shell, const struct agent_event *event,
		      void (*open)(void *context), void *context)
{
	shell->stepping = true;
	step(shell, event, open, context);
	free((char *)shell->reply.text);
	shell->reply.status = shell->actions.reply.status;
	shell->reply.text = xstrdup(shell->actions.reply.text ? shell->actions.reply.text : "");
	step_waiting(shell);
	shell->stepping = false;
}

void agent_shell_carry_out(struct agent_shell *shell)
{
	shell->stepping = true;
	for (size_t i = 0; i < shell->actions.count; i++)
		shell_carry_out(shell, &shell->actions.items[i]);
	step_waiting(shell);
	shell->stepping = false;
}

/* ---- the rest ------------------------------------------------------------ */

void agent_shell_stored(struct agent_shell *shell)
{
	struct agent_event event = {.type = AGENT_STORED};
	const char *failure = store_failed(shell->store);
	uint64_t durable, ticket;

	if (failure) {
		log_error("the checkpoints cannot be written: %s", failure);
		agent_shell_stop(shell, 1);
		return;
	}
	/* Written is enough to outlive us; what must be synced is waited for. */
	durable = store_durable(shell->store);
	ticket = durable >= shell->synced_ticket ? store_applied(shell->store) : durable;
	if (ticket <= shell->stored_ticket)
		return;
	event.stored.ticket = shell->stored_ticket = ticket;
	if (!shell->linked && shell->identity_ticket && ticket >= shell->identity_ticket) {
		latest_set(shell->flags->work_dir, agent_id(shell->core));
		shell->linked = true;
	}
	agent_shell_step(shell, &event);
}

void agent_shell_stop(struct agent_shell *shell, int status)
{
	if (shell->stopping)
		return;
	shell->stopping = true;
	shell->exit_status = status;
	uv_stop(&shell->loop);
}
