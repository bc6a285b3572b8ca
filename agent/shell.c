/* The agent's outlet: what its steps (steps/steps.h) do to the world.
 *
 * Bytes for sockets are gathered by net/ and leave once a loop turn; batches for the store
 * likewise. */
#include "agent/shell.h"

#include <stdlib.h>

#include "agent/containers/volume_dirs.h"
#include "agent/core/show.h"
#include "agent/latest.h"
#include "agent/volumes/volume_worker.h"
#include "base/log/log.h"
#include "base/time/clock.h"
#include "net/daemon/audit.h"

static int64_t shell_now(void *context)
{
	struct agent_shell *shell = context;
	int64_t moved = clock_catch_up();

	if (moved) {
		log_info("the clock was set, or the machine slept: it is %g seconds later",
			 clock_seconds(moved));
		agent_clock_moved(shell->steps.core, moved);
	}
	return clock_now();
}

static void shell_tick_cb(uv_timer_t *timer)
{
	struct agent_event event = {.type = AGENT_TICK};

	agent_shell_step(timer->data, &event);
}

static void shell_wake_at(void *context, int64_t when)
{
	struct agent_shell *shell = context;
	int64_t wait;

	if (when == TIME_NEVER) {
		uv_timer_stop(&shell->tick);
		return;
	}
	wait = when - clock_now();
	/* Rounded up: a tick that comes too early would only be repeated. */
	uv_timer_start(&shell->tick, shell_tick_cb,
		       wait <= 0 ? 0 : (uint64_t)((wait + MILLISECOND - 1) / MILLISECOND), 0);
}

static void shell_send_message(void *context, const char *actor, const char *to,
			       const ProtobufCMessage *message)
{
	struct agent_shell *shell = context;
	struct buf body = BUF_INIT;
	const char *from = shell->pid;

	if (actor)
		from = arena_join(&shell->steps.actions.arena, actor, "@", shell->address, NULL);
	proto_pack(message, &body);
	messenger_send(shell->messenger, from, to, message->descriptor->name, body.data, body.len);
	buf_free(&body);
}

static void shell_link(void *context, const char *pid)
{
	messenger_link(((struct agent_shell *)context)->messenger, pid);
}

static void shell_unlink(void *context, const char *pid)
{
	messenger_unlink(((struct agent_shell *)context)->messenger, pid);
}

static void shell_send_event(void *context, uint64_t stream, const Mesos__Executor__Event *event)
{
	event_streams_send(&((struct agent_shell *)context)->streams, stream, event);
}

static void shell_end_stream(void *context, uint64_t stream)
{
	event_streams_end(&((struct agent_shell *)context)->streams, stream);
}

static void shell_launch(void *context, const struct agent_launch *launch)
{
	containers_launch(((struct agent_shell *)context)->containers, launch);
}

static void shell_reattach(void *context, const char *container, int64_t pid, uint64_t start_ticks)
{
	containers_reattach(((struct agent_shell *)context)->containers, container, pid,
			    start_ticks);
}

static void shell_destroy(void *context, const char *container)
{
	containers_destroy(((struct agent_shell *)context)->containers, container);
}

static void shell_signal(void *context, const char *container, int number)
{
	containers_signal(((struct agent_shell *)context)->containers, container, number);
}

static void shell_limit(void *context, const char *container, const struct agent_limits *limits)
{
	containers_limit(((struct agent_shell *)context)->containers, container, limits);
}

static void shell_clear(void *context, const char *container)
{
	containers_clear(((struct agent_shell *)context)->containers, container);
}

static void shell_answer(void *context, const struct agent_action *action)
{
	agent_container_answer(context, action);
}

static uint64_t shell_store(void *context, enum store_class class, const struct store_op *ops,
			    size_t count)
{
	return store_write(((struct agent_shell *)context)->store, class, ops, count);
}

static void shell_identified(void *context)
{
	struct agent_shell *shell = context;

	latest_set(shell->flags->work_dir, agent_id(shell->steps.core));
}

static void shell_collect(void *context, const char *path, int64_t when)
{
	gc_collect(((struct agent_shell *)context)->gc, path, when);
}

static void shell_keep(void *context, const char *path)
{
	gc_keep(((struct agent_shell *)context)->gc, path);
}

static void shell_make_volumes(void *context, const struct agent_action *action)
{
	volume_worker_add(((struct agent_shell *)context)->volumes, action);
}

static void shell_remove_volume(void *context, const char *path, bool mount)
{
	volume_remover_add(((struct agent_shell *)context)->remover, path, mount);
}

static void shell_redetect(void *context)
{
	detector_look(((struct agent_shell *)context)->detector);
}

static void shell_exit(void *context, int status, const char *text)
{
	if (status)
		log_error("%s", text);
	else
		log_info("%s", text);
	agent_shell_stop(context, status);
}

const struct agent_outlet agent_shell_outlet = {
	.now = shell_now,
	.wake_at = shell_wake_at,
	.send_message = shell_send_message,
	.link = shell_link,
	.unlink = shell_unlink,
	.send_event = shell_send_event,
	.end_stream = shell_end_stream,
	.launch = shell_launch,
	.reattach = shell_reattach,
	.destroy = shell_destroy,
	.signal = shell_signal,
	.limit = shell_limit,
	.clear = shell_clear,
	.answer = shell_answer,
	.store = shell_store,
	.identified = shell_identified,
	.collect = shell_collect,
	.keep = shell_keep,
	.make_volumes = shell_make_volumes,
	.remove_volume = shell_remove_volume,
	.redetect = shell_redetect,
	.exit = shell_exit,
};

/* ---- events of the shell's own ---------------------------------------------- */

void agent_shell_step(struct agent_shell *shell, const struct agent_event *event)
{
	agent_steps_feed(&shell->steps, event);
}

void agent_shell_stream_closed(void *context, uint64_t number)
{
	struct agent_event event = {.type = AGENT_STREAM_CLOSED,
				    .stream_closed = {.stream = number}};

	agent_shell_step(context, &event);
}

void agent_shell_stored(struct agent_shell *shell)
{
	const char *failure = store_failed(shell->store);

	if (failure) {
		log_error("the checkpoints cannot be written: %s", failure);
		agent_shell_stop(shell, 1);
		return;
	}
	/* First what is durable: what is synced between the two is applied, too. */
	uint64_t durable = store_durable(shell->store);
	agent_steps_stored(&shell->steps, store_applied(shell->store), durable);
}

void agent_shell_read(struct agent_shell *shell, const struct offload_read *read, bool past)
{
	if (agent_show_count(shell->steps.core, past, AGENT_READ_INLINE + 1) <= AGENT_READ_INLINE)
		offload_inline(read);
	else
		offload_submit(shell->offload, read);
}

void agent_shell_read_files(struct agent_shell *shell, struct slow_job *job)
{
	slow_add(shell->slow, &shell->files[shell->next_file++ % AGENT_FILE_LANES], job);
}

void agent_shell_stop(struct agent_shell *shell, int status)
{
	if (shell->steps.over)
		return;
	shell->steps.over = true;
	shell->exit_status = status;
	uv_stop(&shell->loop);
}

struct agent_view agent_shell_view(const struct agent_shell *shell,
				   const struct http_request *request)
{
	return (struct agent_view){
		.agent = shell->steps.core,
		.principal = request->principal,
		.acls = shell->flags->allowed,
	};
}

bool agent_shell_allows(const struct agent_shell *shell, struct http_request *request,
			enum acl_action action, const char *object)
{
	struct agent_view view = agent_shell_view(shell, request);

	if (agent_view_allows(&view, action, object))
		return true;
	audit_change(request, request->path, object ? object : "", 403);
	http_reply_text(request, 403, NULL);
	return false;
}
