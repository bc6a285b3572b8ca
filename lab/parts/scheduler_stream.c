/* A scheduler on the v1 API: a stream of events, and calls on a connection of their own. */
#include "lab/parts/scheduler.h"

#include <stdlib.h>

#define RETRY_HIGH (3 * SECOND)

/* ---- calls --------------------------------------------------------------------- */

static void scheduler_stream_send_call(struct scheduler_part *part, struct conn *conn,
				       Mesos__Scheduler__Call *message, const char *framework_id,
				       const char *stream_id)
{
	struct letter letter = {.kind = LETTER_CALL, .number = ++part->next_call};
	Mesos__FrameworkID id = MESOS__FRAMEWORK_ID__INIT;

	id.value = (char *)framework_id;
	message->has_type = true;
	message->framework_id = framework_id ? &id : NULL;
	proto_pack(message, &letter.bytes);
	letter.message = message;
	letter.name = stream_id ? xstrdup(stream_id) : NULL;
	conn_send(conn, &part->process, &letter);
}

static void stream_subscribe(struct scheduler_part *part, Mesos__Scheduler__Call *message)
{
	scheduler_stream_send_call(part, part->stream, message, part->framework_id, NULL);
	part->subscribe_call = part->next_call;
}

static void stream_connect(struct scheduler_part *part)
{
	if (part->stream)
		return;
	part->stream = conn_open(&part->process, MASTER_ADDRESS);
	if (part->stream)
		scheduler_subscribe(part);
	else
		world_after(part->world, &part->connect,
			    world_between(part->world, 10 * MILLISECOND, RETRY_HIGH));
}

static void lose_stream(struct scheduler_part *part)
{
	part->stream = NULL;
	part->subscribed = false;
	world_after(part->world, &part->connect,
		    world_between(part->world, MILLISECOND, RETRY_HIGH));
}

static bool stream_ready(struct scheduler_part *part)
{
	if (!part->subscribed)
		return false;
	if (!part->calls)
		part->calls = conn_open(&part->process, MASTER_ADDRESS);
	if (!part->calls) {
		conn_close(part->stream, &part->process);
		lose_stream(part);
		return false;
	}
	return true;
}

static void stream_call(struct scheduler_part *part, Mesos__Scheduler__Call *message,
			const char *framework_id, const char *speaker)
{
	scheduler_stream_send_call(part, part->calls, message, framework_id,
				   speaker ? speaker : part->stream_id);
}

/* ---- events --------------------------------------------------------------------- */

static void scheduler_stream_receive(struct process *p, struct conn *conn,
				     const struct letter *letter)
{
	struct scheduler_part *part = container_of(p, struct scheduler_part, process);
	Mesos__Scheduler__Event *event;

	if (letter->kind == LETTER_REPLY) {
		if (conn != part->stream || letter->number != part->subscribe_call)
			return;
		if (letter->status == 200) {
			free(part->stream_id);
			part->stream_id = xstrdup(letter->name);
		} else {
			conn_close(conn, p);
			lose_stream(part);
		}
		return;
	}
	event = letter_open(letter, &mesos__scheduler__event__descriptor);
	if (event)
		scheduler_hear(part, event, letter);
}

static void scheduler_stream_closed(struct process *p, struct conn *conn)
{
	struct scheduler_part *part = container_of(p, struct scheduler_part, process);

	if (conn == part->calls) {
		part->calls = NULL;
		/* Nobody knows which calls arrived: all begins anew. */
		if (!part->stream)
			return;
		conn_close(part->stream, p);
		lose_stream(part);
	} else if (conn == part->stream) {
		lose_stream(part);
	}
}

static const struct process_ops ops = {scheduler_stream_receive, scheduler_stream_closed,
				       scheduler_kill_process};

static void stream_begin(struct scheduler_part *part)
{
	process_start(&part->process, part->world, &ops, part->name, NULL);
}

static void drop_streams(struct scheduler_part *part)
{
	part->stream = part->calls = NULL;
}

/* Its connections tell when they break. */
static void stream_watch(struct scheduler_part *part)
{
	(void)part;
}

const struct scheduler_wire scheduler_stream_wire = {
	.begin = stream_begin,
	.end = drop_streams,
	.connect = stream_connect,
	.subscribe = stream_subscribe,
	.ready = stream_ready,
	.call = stream_call,
	.watch = stream_watch,
};
