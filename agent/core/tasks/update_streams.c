/* Reliable delivery of status updates: one stream per task, first in
 * first out; the head is sent again, 10 s later and then at doubling intervals up to
 * 10 min, until the scheduler's acknowledgement with its uuid comes by way of the master.
 *
 * Nothing is sent while the agent is not registered; on registration and when a scheduler
 * comes back every head goes out at once. A stream ends with the acknowledgement of a
 * terminal update, even if later ones wait.
 *
 * Executors may fill a stream only so far (UPDATES_PENDING_MAX); those of tasks that are not
 * known here, whose ids they may make up, share one such limit. */
#include "agent/core/objects.h"

#include <string.h>

#include "agent/core/actions.h"
#include "agent/core/executors/executors.h"
#include "agent/core/registration.h"
#include "agent/core/states.h"
#include "agent/core/store/checkpoint.h"
#include "agent/core/tasks/frameworks.h"
#include "agent/core/tasks/tasks.h"
#include "agent/core/tasks/updates.h"

/* ---- the record ---------------------------------------------------------- */

struct stream *agent_stream_find(struct framework *framework, const char *task_id)
{
	struct stream *stream;

	HASH_FIND_STR(framework->streams, task_id, stream);
	return stream;
}

struct stream *agent_stream_create(struct framework *framework, const char *task_id)
{
	struct stream *stream = xcalloc(1, sizeof(*stream));

	stream->framework = framework;
	stream->task_id = xstrdup(task_id);
	stream->checkpoint = framework->checkpoint;
	stream->stray = !agent_task_find(framework, task_id);
	stream->retry.kind = TIMER_STREAM;
	stream->interval = UPDATE_RETRY_MIN;
	list_init(&stream->pending);
	HASH_ADD_KEYPTR(hh, framework->streams, stream->task_id, strlen(stream->task_id), stream);
	return stream;
}

static void count_backlog(struct stream *stream, const struct update *update, int sign)
{
	struct backlog *both[] = {&stream->backlog, &stream->framework->strays};

	for (int i = 0; i < 1 + stream->stray; i++) {
		both[i]->count += sign;
		both[i]->bytes += sign * (int64_t)update->size;
	}
}

bool agent_stream_full(struct framework *framework, const struct task *task)
{
	const struct backlog *backlog = &framework->strays;
	struct stream *stream;

	if (task) {
		stream = agent_stream_find(framework, task->record->task_id->value);
		if (!stream)
			return false;
		backlog = &stream->backlog;
	}
	return backlog->count >= UPDATES_PENDING_MAX || backlog->bytes >= UPDATES_PENDING_BYTES;
}

static void update_free(struct stream *stream, struct update *update)
{
	HASH_DELETE(hh, stream->by_uuid, update);
	list_remove(&update->link);
	count_backlog(stream, update, -1);
	proto_free(update->message);
	free(update);
}

void agent_stream_free(struct agent *agent, struct stream *stream)
{
	struct update *update, *next;

	list_for_each (update, next, &stream->pending, link)
		update_free(stream, update);
	timers_stop(&agent->timers, &stream->retry);
	HASH_DELETE(hh, stream->framework->streams, stream);
	free(stream->acked);
	free(stream->task_id);
	free(stream);
}

void agent_stream_close(struct agent *agent, struct stream *stream)
{
	uint64_t live = (uint64_t)stream->acked_count + stream->backlog.count;

	for (uint64_t seq = stream->next_seq - live; stream->checkpoint && seq < stream->next_seq;
	     seq++)
		agent_forget_update(stream, seq, agent);
	agent_stream_free(agent, stream);
}

/* ---- known uuids --------------------------------------------------------- */

bool agent_stream_knows(const struct stream *stream, const uint8_t *uuid)
{
	struct update *update;

	HASH_FIND(hh, stream->by_uuid, uuid, UUID_BYTES, update);
	if (update)
		return true;
	for (uint32_t i = 0; i < stream->acked_count; i++) {
		uint64_t seq = stream->next_seq - stream->backlog.count - 1 - i;

		if (memcmp(stream->acked[seq % UPDATE_REMEMBERED], uuid, UUID_BYTES) == 0)
			return true;
	}
	return false;
}

/* The acknowledged ones are the `acked_count` before the pending ones. */
void agent_stream_remember(struct stream *stream, uint64_t seq, const uint8_t *uuid)
{
	if (!stream->acked)
		stream->acked = xcalloc(UPDATE_REMEMBERED, sizeof(*stream->acked));
	memcpy(stream->acked[seq % UPDATE_REMEMBERED], uuid, UUID_BYTES);
	if (stream->acked_count < UPDATE_REMEMBERED)
		stream->acked_count++;
}

/* ---- sending ------------------------------------------------------------- */

static bool is_paused(const struct agent *agent)
{
	return agent->state != STATE_RUNNING;
}

static void note_forwarded(struct task *task, Mesos__TaskState state, const uint8_t *uuid)
{
	Mesos__Task *record = task->record;

	record->has_status_update_state = 1;
	record->status_update_state = state;
	if (record->has_status_update_uuid)
		free(record->status_update_uuid.data);
	record->has_status_update_uuid = 1;
	record->status_update_uuid.len = UUID_BYTES;
	record->status_update_uuid.data = xmemdup(uuid, UUID_BYTES);
}

static bool is_pending(const struct stream *stream, const ProtobufCBinaryData *uuid)
{
	struct update *update;

	HASH_FIND(hh, stream->by_uuid, uuid->data, uuid->len, update);
	return update != NULL;
}

void agent_stream_recover(struct stream *stream)
{
	uint64_t last = stream->next_seq - stream->backlog.count - 1;
	struct task *task = agent_task_find(stream->framework, stream->task_id);
	const uint8_t *uuid;

	if (!task || !stream->acked_count ||
	    (task->record->has_status_update_uuid &&
	     is_pending(stream, &task->record->status_update_uuid)))
		return;
	uuid = stream->acked[last % UPDATE_REMEMBERED];
	for (size_t i = task->record->n_statuses; i-- > 0;) {
		const Mesos__TaskStatus *status = task->record->statuses[i];

		if (status->uuid.len == UUID_BYTES &&
		    !memcmp(status->uuid.data, uuid, UUID_BYTES)) {
			note_forwarded(task, status->state, uuid);
			return;
		}
	}
}

/* The last that was said of it, if nothing else is known of the task here (any more): a master
 * that still counts it must learn of its end although updates before that wait for a scheduler. */
static Mesos__TaskState latest_state(const struct stream *stream, const struct task *task)
{
	const struct update *last;

	if (task)
		return task->record->state;
	last = list_entry(stream->pending.prev, struct update, link);
	return last->message->status->state;
}

void agent_stream_send(struct agent *agent, struct stream *stream)
{
	struct update *head = list_first(&stream->pending, struct update, link);
	Mesos__Internal__StatusUpdateMessage *message;
	struct task *task;

	if (!head || is_paused(agent) || head->ticket > agent->stored)
		return;
	message = agent_new(agent, Mesos__Internal__StatusUpdateMessage,
			    mesos__internal__status_update_message__descriptor);
	message->update = proto_copy_to(&agent->out->arena, head->message);
	message->pid = arena_strdup(&agent->out->arena, agent->pid);
	task = agent_task_find(stream->framework, stream->task_id);
	message->update->has_latest_state = 1;
	message->update->latest_state = latest_state(stream, task);
	if (task)
		note_forwarded(task, head->message->status->state, head->message->uuid.data);
	agent_send(agent, agent->master, message);
	timers_start(&agent->timers, &stream->retry, agent->now + stream->interval);
}

static void send_fresh(struct agent *agent, struct stream *stream)
{
	struct update *head = list_first(&stream->pending, struct update, link);

	timers_stop(&agent->timers, &stream->retry);
	stream->interval = UPDATE_RETRY_MIN;
	if (head)
		agent_wait(agent, head->ticket, WAIT_FORWARD, stream->framework->id,
			   stream->task_id, NULL);
}

void agent_stream_timeout(struct agent *agent, struct stream *stream)
{
	stream->interval *= 2;
	if (stream->interval > UPDATE_RETRY_MAX)
		stream->interval = UPDATE_RETRY_MAX;
	log_warning("Sending the update of task '%s' of framework %s again", stream->task_id,
		    stream->framework->id);
	agent_stream_send(agent, stream);
}

struct update *agent_stream_append(struct stream *stream, Mesos__Internal__StatusUpdate *message)
{
	struct update *update = xcalloc(1, sizeof(*update));

	update->seq = stream->next_seq++;
	update->message = message;
	update->size = protobuf_c_message_get_packed_size(&message->base);
	list_append(&stream->pending, &update->link);
	count_backlog(stream, update, 1);
	HASH_ADD_KEYPTR(hh, stream->by_uuid, message->uuid.data, UUID_BYTES, update);
	return update;
}

void agent_stream_push(struct agent *agent, struct framework *framework,
		       const Mesos__Internal__StatusUpdate *message)
{
	const char *task_id = message->status->task_id->value;
	struct stream *stream = agent_stream_find(framework, task_id);
	struct update *update;
	bool first;

	if (!stream)
		stream = agent_stream_create(framework, task_id);
	first = list_empty(&stream->pending);
	update = agent_stream_append(stream, proto_copy(message));
	if (stream->checkpoint) {
		agent_store_update(stream, update, agent);
		update->ticket = agent_ticket(agent);
	}
	if (first)
		send_fresh(agent, stream);
}

/* ---- acknowledgement ----------------------------------------------------- */

static void head_acknowledged(struct agent *agent, struct stream *stream, struct update *head)
{
	uint64_t forgotten = head->seq - stream->acked_count;
	struct update *next;

	if (stream->checkpoint) {
		if (stream->acked_count == UPDATE_REMEMBERED)
			agent_forget_update(stream, forgotten, agent);
		agent_store_ack(stream, head->seq, head->message->uuid.data, agent);
	}
	agent_stream_remember(stream, head->seq, head->message->uuid.data);
	update_free(stream, head);
	/* An agent that is killed before this acknowledgement is written sends that update again:
	 * nothing that came after it may have left. */
	next = list_first(&stream->pending, struct update, link);
	if (next && stream->checkpoint)
		next->ticket = agent_ticket(agent);
	send_fresh(agent, stream);
}

static void stream_terminated(struct agent *agent, struct stream *stream)
{
	struct framework *framework = stream->framework;
	struct task *task = agent_task_find(framework, stream->task_id);
	struct executor *executor = task ? task->executor : NULL;

	agent_stream_close(agent, stream);
	if (task && task->place == TASK_TERMINATED)
		agent_task_complete(agent, task);
	if (executor)
		agent_executor_settle(agent, executor);
	else
		agent_framework_settle(agent, framework);
}

void agent_handle_acknowledgement(struct agent *agent, const char *from,
				  Mesos__Internal__StatusUpdateAcknowledgementMessage *message)
{
	struct framework *framework;
	struct stream *stream;
	struct update *head;

	if (agent->state != STATE_RUNNING) {
		log_warning("Dropped an acknowledgement: the agent is %s",
			    agent_state_name(agent->state));
		return;
	}
	framework = agent_framework_find(agent, message->framework_id->value);
	if (framework && !agent_from_framework(agent, framework, from, "an acknowledgement"))
		return;
	stream = framework ? agent_stream_find(framework, message->task_id->value) : NULL;
	head = stream ? list_first(&stream->pending, struct update, link) : NULL;
	if (!head || message->uuid.len != UUID_BYTES ||
	    memcmp(head->message->uuid.data, message->uuid.data, UUID_BYTES) != 0) {
		log_warning("Dropped an unexpected acknowledgement for task '%s' of framework %s",
			    message->task_id->value, message->framework_id->value);
		return;
	}
	if (task_state_terminal(head->message->status->state))
		stream_terminated(agent, stream);
	else
		head_acknowledged(agent, stream, head);
}

/* ---- all of them --------------------------------------------------------- */

void agent_streams_pause(struct agent *agent)
{
	struct framework *framework, *next_framework;
	struct stream *stream, *next;

	HASH_ITER (hh, agent->frameworks, framework, next_framework) {
		HASH_ITER (hh, framework->streams, stream, next)
			timers_stop(&agent->timers, &stream->retry);
	}
}

void agent_streams_resume(struct agent *agent, struct framework *only)
{
	struct framework *framework, *next_framework;
	struct stream *stream, *next;

	HASH_ITER (hh, agent->frameworks, framework, next_framework) {
		if (only && framework != only)
			continue;
		HASH_ITER (hh, framework->streams, stream, next)
			send_fresh(agent, stream);
	}
}
