/* What the agent keeps in its store, and what waits until it is there.
 *
 * Keys (ids hold no '/'):
 *   agent/drain                         DrainConfig, while draining; REGISTRY
 *   agent/info                          AgentInfo with its id; REGISTRY
 *   agent/resources                     CheckpointResourcesMessage; REGISTRY
 *   collect/<path>                      time in ns: to be removed then
 *   executor/<framework>/<id>/channel   "http", or the pid of a v0 executor
 *   executor/<framework>/<id>/container "<container> <custom|command>"
 *   executor/<framework>/<id>/info      ExecutorInfo
 *   executor/<framework>/<id>/process   "<pid> <start ticks>"
 *   framework/<id>/info                 FrameworkInfo
 *   framework/<id>/pid                  libprocess pid; absent for HTTP schedulers
 *   nested/<container>/<what>           a container inside of others; nested/nested_store.c
 *   operation/<uuid>                    Operation, until acknowledged; REGISTRY
 *   orphan/<container>                  "<pid> <start ticks>": to be destroyed
 *   removal/<path>                      "<path|mount> <uuid of the operation, or ->"; REGISTRY
 *   task/<framework>/<executor>/<task>  Task with its statuses
 *   update/<framework>/<task>/<seq>     StatusUpdateRecord; becomes an ACK when acknowledged
 * REGISTRY ones are synced. Those of frameworks only with checkpoint=true.
 *
 * Happy path: a step collects operations, agent_flush_store() appends them as one STORE
 * action with the next ticket, STORED runs the followers that wait for it, oldest first.
 * Failure: a store that fails is the shell's to report; nothing that waits is ever done.
 */
#include "agent/core/store/checkpoint.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/core/actions.h"
#include "agent/core/drain.h"
#include "agent/core/executors/executor_channel.h"
#include "agent/core/executors/executors.h"
#include "agent/core/nested/nested.h"
#include "agent/core/objects.h"
#include "agent/core/registration.h"
#include "agent/core/resources/operations.h"
#include "agent/core/resources/volumes.h"
#include "agent/core/tasks/frameworks.h"
#include "agent/core/tasks/updates.h"

/* ---- the batch ----------------------------------------------------------- */

char *agent_key(struct agent *agent, const char *format, ...)
{
	char stack[512];
	va_list args;
	char *key;
	int len;

	va_start(args, format);
	len = vsnprintf(stack, sizeof(stack), format, args);
	va_end(args);
	if (len < (int)sizeof(stack))
		return arena_memdup(&agent->out->arena, stack, len + 1);
	key = arena_alloc(&agent->out->arena, len + 1);
	va_start(args, format);
	vsnprintf(key, len + 1, format, args);
	va_end(args);
	return key;
}

static void add_op(struct agent *agent, char *key, struct slice value)
{
	if (agent->batch_count == agent->batch_cap) {
		agent->batch_cap = agent->batch_cap ? 2 * agent->batch_cap : 16;
		agent->batch = xrealloc(agent->batch, agent->batch_cap * sizeof(*agent->batch));
	}
	agent->batch[agent->batch_count++] =
		(struct store_op){.key = slice_of(key), .value = value};
}

void agent_put(struct agent *agent, char *key, const void *message)
{
	add_op(agent, key, proto_pack_to(&agent->out->arena, message));
}

void agent_put_text(struct agent *agent, char *key, const char *text)
{
	add_op(agent, key, slice_of(arena_strdup(&agent->out->arena, text)));
}

void agent_delete(struct agent *agent, char *key)
{
	add_op(agent, key, (struct slice){0});
}

uint64_t agent_ticket(const struct agent *agent)
{
	return agent->last_ticket + (agent->batch_count > 0);
}

void agent_flush_store(struct agent *agent)
{
	struct agent_action *action;

	if (agent->batch_count == 0)
		return;
	action = agent_emit(agent, AGENT_STORE);
	action->store.class = agent->batch_class;
	action->store.ops = arena_memdup(&agent->out->arena, agent->batch,
					 agent->batch_count * sizeof(*agent->batch));
	action->store.count = agent->batch_count;
	action->store.ticket = ++agent->last_ticket;
	agent->batch_count = 0;
	agent->batch_class = STORE_BEHIND;
}

/* ---- followers ----------------------------------------------------------- */

static void checkpoint_follow(struct agent *agent, enum wait_kind kind, const char *owner,
			      const char *task_id, const uint8_t *uuid)
{
	struct executor *executor = NULL;
	struct operation *operation;
	struct framework *framework;
	struct stream *stream;

	if (kind == WAIT_LAUNCH || kind == WAIT_DELIVER || kind == WAIT_ACK)
		executor = agent_container_find(agent, owner);
	switch (kind) {
	case WAIT_LAUNCH:
		if (executor)
			agent_executor_launch(agent, executor);
		break;
	case WAIT_DELIVER:
		if (executor)
			agent_executor_deliver(agent, executor);
		break;
	case WAIT_ACK:
		if (executor)
			agent_tell_acknowledged(agent, executor, task_id, uuid);
		break;
	case WAIT_FORWARD:
		framework = agent_framework_find(agent, owner);
		stream = framework ? agent_stream_find(framework, task_id) : NULL;
		if (stream)
			agent_stream_send(agent, stream);
		break;
	case WAIT_EXIT:
		agent_emit_exit(agent, 0, "The agent was shut down");
		break;
	case WAIT_OPERATION:
		operation = agent_operation_find(agent, uuid);
		if (operation)
			agent_operation_send(agent, operation);
		break;
	case WAIT_REMOVE:
		agent_removal_start(agent, owner);
		break;
	case WAIT_DRAIN:
		agent_drain_begin(agent);
		break;
	case WAIT_NESTED:
		agent_nested_follow(agent, owner);
		break;
	case WAIT_REGISTER:
		agent_registration_resume(agent);
		break;
	}
}

void agent_wait(struct agent *agent, uint64_t ticket, enum wait_kind kind, const char *owner,
		const char *task_id, const uint8_t *uuid)
{
	size_t owner_len = strlen(owner) + 1, task_len = task_id ? strlen(task_id) + 1 : 0;
	struct waiter *waiter, *before;
	struct list *at;

	if (ticket <= agent->stored) {
		checkpoint_follow(agent, kind, owner, task_id, uuid);
		return;
	}
	waiter = xcalloc(1, sizeof(*waiter) + owner_len + task_len);
	waiter->ticket = ticket;
	waiter->kind = kind;
	waiter->owner = memcpy(waiter->data, owner, owner_len);
	if (task_id)
		waiter->task_id = memcpy(waiter->data + owner_len, task_id, task_len);
	if (uuid)
		memcpy(waiter->uuid, uuid, UUID_BYTES);
	/* Tickets come nearly in order: look from the end. */
	for (at = agent->waiters.prev; at != &agent->waiters; at = at->prev) {
		before = list_entry(at, struct waiter, link);
		if (before->ticket <= ticket)
			break;
	}
	list_prepend(at, &waiter->link);
}

void agent_handle_stored(struct agent *agent, uint64_t ticket)
{
	struct waiter *waiter;

	if (ticket > agent->last_ticket)
		ticket = agent->last_ticket;
	if (ticket > agent->stored)
		agent->stored = ticket;
	while ((waiter = list_first(&agent->waiters, struct waiter, link)) &&
	       waiter->ticket <= agent->stored) {
		list_remove(&waiter->link);
		checkpoint_follow(agent, waiter->kind, waiter->owner, waiter->task_id,
				  waiter->uuid);
		free(waiter);
	}
}

void agent_free_waiters(struct agent *agent)
{
	struct collectable *collectable, *next_collectable;
	struct waiter *waiter, *next;

	list_for_each (waiter, next, &agent->waiters, link) {
		list_remove(&waiter->link);
		free(waiter);
	}
	list_for_each (collectable, next_collectable, &agent->collectables, link) {
		list_remove(&collectable->link);
		free(collectable);
	}
}

/* ---- records ------------------------------------------------------------- */

void agent_store_identity(struct agent *agent)
{
	agent->batch_class = STORE_SYNCED;
	agent_put(agent, agent_key(agent, "agent/info"), agent->info);
}

static char *framework_key(struct agent *agent, const struct framework *framework, const char *what)
{
	return agent_key(agent, "framework/%s/%s", framework->id, what);
}

void agent_store_framework(struct framework *framework, struct agent *agent)
{
	agent_put(agent, framework_key(agent, framework, "info"), framework->info);
	if (framework->pid)
		agent_put_text(agent, framework_key(agent, framework, "pid"), framework->pid);
	else
		agent_delete(agent, framework_key(agent, framework, "pid"));
}

void agent_forget_framework(struct framework *framework, struct agent *agent)
{
	agent_delete(agent, framework_key(agent, framework, "info"));
	agent_delete(agent, framework_key(agent, framework, "pid"));
}

static char *executor_key(struct agent *agent, const struct executor *executor, const char *what)
{
	return agent_key(agent, "executor/%s/%s/%s", executor->framework->id, executor->id, what);
}

void agent_store_executor(struct executor *executor, struct agent *agent)
{
	agent_put(agent, executor_key(agent, executor, "info"), executor->info);
	agent_put_text(agent, executor_key(agent, executor, "container"),
		       agent_key(agent, "%s %s", executor->container,
				 executor->generated ? "command" : "custom"));
}

void agent_store_process(struct executor *executor, struct agent *agent)
{
	agent_put_text(agent, executor_key(agent, executor, "process"),
		       agent_key(agent, "%" PRId64 " %" PRIu64, executor->process_id,
				 executor->start_ticks));
}

void agent_store_networks(struct executor *executor, struct agent *agent)
{
	agent_put(agent, executor_key(agent, executor, "networks"), executor->networked);
}

void agent_store_channel(struct executor *executor, struct agent *agent)
{
	agent_put_text(agent, executor_key(agent, executor, "channel"),
		       executor->pid ? executor->pid : "http");
}

void agent_forget_executor(struct executor *executor, struct agent *agent)
{
	agent_delete(agent, executor_key(agent, executor, "channel"));
	agent_delete(agent, executor_key(agent, executor, "container"));
	agent_delete(agent, executor_key(agent, executor, "info"));
	if (executor->networked)
		agent_delete(agent, executor_key(agent, executor, "networks"));
	agent_delete(agent, executor_key(agent, executor, "process"));
}

static char *task_key(struct agent *agent, const struct task *task)
{
	return agent_key(agent, "task/%s/%s/%s", task->executor->framework->id, task->executor->id,
			 task->record->task_id->value);
}

void agent_store_task(struct task *task, struct agent *agent)
{
	agent_put(agent, task_key(agent, task), task->record);
}

void agent_forget_task(struct task *task, struct agent *agent)
{
	agent_delete(agent, task_key(agent, task));
}

static char *update_key(struct agent *agent, const struct stream *stream, uint64_t seq)
{
	return agent_key(agent, "update/%s/%s/%016" PRIx64, stream->framework->id, stream->task_id,
			 seq);
}

void agent_store_update(struct stream *stream, struct update *update, struct agent *agent)
{
	Mesos__Internal__StatusUpdateRecord record = MESOS__INTERNAL__STATUS_UPDATE_RECORD__INIT;

	record.type = MESOS__INTERNAL__STATUS_UPDATE_RECORD__TYPE__UPDATE;
	record.update = update->message;
	agent_put(agent, update_key(agent, stream, update->seq), &record);
}

void agent_store_ack(struct stream *stream, uint64_t seq, const uint8_t *uuid, struct agent *agent)
{
	Mesos__Internal__StatusUpdateRecord record = MESOS__INTERNAL__STATUS_UPDATE_RECORD__INIT;

	record.type = MESOS__INTERNAL__STATUS_UPDATE_RECORD__TYPE__ACK;
	record.has_uuid = 1;
	record.uuid = (ProtobufCBinaryData){UUID_BYTES, (uint8_t *)uuid};
	agent_put(agent, update_key(agent, stream, seq), &record);
}

void agent_forget_update(struct stream *stream, uint64_t seq, struct agent *agent)
{
	agent_delete(agent, update_key(agent, stream, seq));
}

/* ---- resources ------------------------------------------------------------ */

void agent_store_checkpointed(struct agent *agent)
{
	Mesos__Internal__CheckpointResourcesMessage *message =
		agent_new(agent, Mesos__Internal__CheckpointResourcesMessage,
			  mesos__internal__checkpoint_resources_message__descriptor);

	resources_to_messages(&agent->out->arena, &agent->checkpointed, &message->n_resources,
			      &message->resources);
	agent_put(agent, agent_key(agent, "agent/resources"), message);
}

static char *operation_key(struct agent *agent, const struct operation *operation)
{
	char text[UUID_TEXT];

	uuid_format(operation->uuid, text);
	return agent_key(agent, "operation/%s", text);
}

void agent_store_operation(struct operation *operation, struct agent *agent)
{
	agent_put(agent, operation_key(agent, operation), operation->record);
	operation->ticket = agent_ticket(agent);
}

void agent_forget_operation(struct operation *operation, struct agent *agent)
{
	agent_delete(agent, operation_key(agent, operation));
}

void agent_store_removal(struct removal *removal, struct agent *agent)
{
	char text[UUID_TEXT] = "-";

	if (removal->ordered)
		uuid_format(removal->uuid, text);
	agent_put_text(agent, agent_key(agent, "removal/%s", removal->path),
		       agent_key(agent, "%s %s", removal->mount ? "mount" : "path", text));
}

void agent_forget_removal(struct removal *removal, struct agent *agent)
{
	agent_delete(agent, agent_key(agent, "removal/%s", removal->path));
}

void agent_store_drain(struct agent *agent)
{
	if (agent->drain)
		agent_put(agent, agent_key(agent, "agent/drain"), agent->drain);
	else
		agent_delete(agent, agent_key(agent, "agent/drain"));
}

/* ---- garbage collection -------------------------------------------------- */

void agent_collect(struct agent *agent, const char *path)
{
	agent_collect_at(agent, path, agent->now + agent->options.gc_delay);
}

void agent_collect_at(struct agent *agent, const char *path, int64_t when)
{
	struct agent_action *action = agent_emit(agent, AGENT_COLLECT);

	action->collect.path = arena_strdup(&agent->out->arena, path);
	action->collect.when = when;
	agent_put_text(agent, agent_key(agent, "collect/%s", path),
		       agent_key(agent, "%" PRId64, action->collect.when));
}

void agent_keep(struct agent *agent, const char *path)
{
	agent_emit(agent, AGENT_KEEP)->collect.path = arena_strdup(&agent->out->arena, path);
	agent_delete(agent, agent_key(agent, "collect/%s", path));
}

void agent_forget_collected(struct agent *agent, const char *path)
{
	agent_delete(agent, agent_key(agent, "collect/%s", path));
}
