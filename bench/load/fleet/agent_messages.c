/* See agent_messages.h. */
#include "bench/load/fleet/agent_messages.h"

#include <stdio.h>
#include <string.h>

#include "base/time/clock.h"
#include "bench/load/mix.h"

#define VERSION "1.11.0"

static void add_capabilities(struct arena *arena, size_t *count,
			     Mesos__AgentInfo__Capability ***list)
{
	static const Mesos__AgentInfo__Capability__Type types[] = {
		MESOS__AGENT_INFO__CAPABILITY__TYPE__MULTI_ROLE,
		MESOS__AGENT_INFO__CAPABILITY__TYPE__HIERARCHICAL_ROLE,
		MESOS__AGENT_INFO__CAPABILITY__TYPE__RESERVATION_REFINEMENT,
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		Mesos__AgentInfo__Capability *c =
			PROTO_NEW(arena, Mesos__AgentInfo__Capability,
				  mesos__agent_info__capability__descriptor);

		c->has_type = 1;
		c->type = types[i];
		proto_push(arena, *count, *list, c);
	}
}

static void fill_info(const struct plan *plan, uint32_t agent, int port, struct arena *arena,
		      Mesos__AgentInfo *info)
{
	info->hostname = arena_printf(arena, "load-agent-%u", agent + 1);
	info->has_port = 1;
	info->port = port;
	info->has_checkpoint = 1;
	info->checkpoint = 1;
	mix_agent_resources(plan, arena, &info->n_resources, &info->resources);
}

void agent_message_register(const struct plan *plan, uint32_t agent, int port, struct rng *rng,
			    struct buf *out)
{
	Mesos__Internal__RegisterSlaveMessage message =
		MESOS__INTERNAL__REGISTER_SLAVE_MESSAGE__INIT;
	Mesos__AgentInfo info = MESOS__AGENT_INFO__INIT;
	Mesos__UUID version = MESOS__UUID__INIT;
	uint8_t uuid[UUID_BYTES];
	struct arena arena;

	arena_init(&arena);
	fill_info(plan, agent, port, &arena, &info);
	uuid_make(rng, uuid);
	version.value = (ProtobufCBinaryData){UUID_BYTES, uuid};
	message.agent = &info;
	message.version = VERSION;
	message.resource_version_uuid = &version;
	add_capabilities(&arena, &message.n_agent_capabilities, &message.agent_capabilities);
	proto_pack(&message, out);
	arena_free(&arena);
}

/* ---- coming back ---------------------------------------------------------------- */

static const char *role_of(const Mesos__FrameworkInfo *framework)
{
	if (framework->n_roles > 0)
		return framework->roles[0];
	return framework->role ? framework->role : "*";
}

/* The status as the agent keeps it, of the last update. */
static void add_status(struct arena *arena, Mesos__Task *task, const struct agent_task *known)
{
	Mesos__TaskStatus *status =
		PROTO_NEW(arena, Mesos__TaskStatus, mesos__task_status__descriptor);

	status->task_id = task->task_id;
	status->agent_id = task->agent_id;
	/* As in the update itself. */
	status->executor_id = PROTO_NEW(arena, Mesos__ExecutorID, mesos__executor_id__descriptor);
	status->executor_id->value = task->task_id->value;
	status->state = known->state;
	status->has_source = 1;
	status->source = MESOS__TASK_STATUS__SOURCE__SOURCE_EXECUTOR;
	status->has_timestamp = 1;
	status->timestamp = clock_seconds(known->time);
	status->has_uuid = 1;
	status->uuid = (ProtobufCBinaryData){UUID_BYTES, (uint8_t *)known->uuid};
	proto_push(arena, task->n_statuses, task->statuses, status);
	task->has_status_update_state = 1;
	task->status_update_state = known->state;
	task->has_status_update_uuid = 1;
	task->status_update_uuid = status->uuid;
}

static Mesos__Task *make_task(const struct plan *plan, struct arena *arena, Mesos__AgentID *agent,
			      const struct agent_task *known)
{
	Mesos__Task *task = PROTO_NEW(arena, Mesos__Task, mesos__task__descriptor);

	task->name = AGENT_TASK_NAME;
	task->task_id = PROTO_NEW(arena, Mesos__TaskID, mesos__task_id__descriptor);
	task->task_id->value = (char *)known->id;
	task->framework_id = known->framework->id;
	task->agent_id = agent;
	task->state = known->state;
	mix_task_resources(plan, arena, role_of(known->framework), &task->n_resources,
			   &task->resources);
	task->labels = mix_labels(plan, arena);
	task->discovery = mix_discovery(plan, arena);
	add_status(arena, task, known);
	return task;
}

static void add_framework(struct arena *arena, Mesos__Internal__ReregisterSlaveMessage *message,
			  const Mesos__FrameworkInfo *framework)
{
	for (size_t i = 0; i < message->n_frameworks; i++)
		if (message->frameworks[i] == framework)
			return;
	proto_push(arena, message->n_frameworks, message->frameworks,
		   (Mesos__FrameworkInfo *)framework);
}

/* Executors of command tasks are the agent's own affair and not in it. */
void agent_message_reregister(const struct plan *plan, const struct agent_self *self,
			      struct rng *rng, struct buf *out)
{
	Mesos__Internal__ReregisterSlaveMessage message =
		MESOS__INTERNAL__REREGISTER_SLAVE_MESSAGE__INIT;
	Mesos__AgentInfo info = MESOS__AGENT_INFO__INIT;
	Mesos__AgentID id = MESOS__AGENT_ID__INIT;
	Mesos__UUID version = MESOS__UUID__INIT;
	uint8_t uuid[UUID_BYTES];
	struct arena arena;

	arena_init(&arena);
	fill_info(plan, self->number, self->port, &arena, &info);
	id.value = (char *)self->id;
	info.id = &id;
	uuid_make(rng, uuid);
	version.value = (ProtobufCBinaryData){UUID_BYTES, uuid};
	message.agent = &info;
	message.version = VERSION;
	message.resource_version_uuid = &version;
	add_capabilities(&arena, &message.n_agent_capabilities, &message.agent_capabilities);
	for (size_t i = 0; i < self->count; i++) {
		add_framework(&arena, &message, self->tasks[i].framework);
		proto_push(&arena, message.n_tasks, message.tasks,
			   make_task(plan, &arena, &id, &self->tasks[i]));
	}
	proto_pack(&message, out);
	arena_free(&arena);
}

void agent_message_unregister(const char *agent_id, struct buf *out)
{
	Mesos__Internal__UnregisterSlaveMessage message =
		MESOS__INTERNAL__UNREGISTER_SLAVE_MESSAGE__INIT;
	Mesos__AgentID id = MESOS__AGENT_ID__INIT;

	id.value = (char *)agent_id;
	message.agent_id = &id;
	proto_pack(&message, out);
}

void agent_message_update(const struct agent_update *update, struct buf *out)
{
	Mesos__Internal__StatusUpdateMessage message = MESOS__INTERNAL__STATUS_UPDATE_MESSAGE__INIT;
	Mesos__Internal__StatusUpdate body = MESOS__INTERNAL__STATUS_UPDATE__INIT;
	Mesos__TaskStatus status = MESOS__TASK_STATUS__INIT;
	Mesos__FrameworkID framework = MESOS__FRAMEWORK_ID__INIT;
	Mesos__ExecutorID executor = MESOS__EXECUTOR_ID__INIT;
	Mesos__AgentID agent = MESOS__AGENT_ID__INIT;
	Mesos__TaskID task = MESOS__TASK_ID__INIT;
	char pid[128];

	framework.value = (char *)update->framework;
	agent.value = (char *)update->agent;
	/* A command task's executor is called as the task is. */
	task.value = executor.value = (char *)update->task;
	status.task_id = &task;
	status.state = update->state;
	status.agent_id = &agent;
	status.executor_id = &executor;
	status.has_source = 1;
	status.source = MESOS__TASK_STATUS__SOURCE__SOURCE_EXECUTOR;
	status.has_timestamp = 1;
	status.timestamp = clock_seconds(update->time);
	status.has_uuid = 1;
	status.uuid = (ProtobufCBinaryData){UUID_BYTES, (uint8_t *)update->uuid};
	body.framework_id = &framework;
	body.executor_id = &executor;
	body.agent_id = &agent;
	body.status = &status;
	body.timestamp = status.timestamp;
	body.has_uuid = 1;
	body.uuid = status.uuid;
	body.has_latest_state = 1;
	body.latest_state = update->state;
	snprintf(pid, sizeof(pid), "slave(%u)@%s:%d", update->number + 1, update->ip, update->port);
	message.update = &body;
	message.pid = pid;
	proto_pack(&message, out);
}

/* ---- orders ----------------------------------------------------------------- */

static void take_registered(const void *message, struct agent_order *out)
{
	const Mesos__Internal__SlaveRegisteredMessage *m = message;

	out->kind = ORDER_REGISTERED;
	out->id = m->agent_id->value;
}

static void take_reregistered(const void *message, struct agent_order *out)
{
	const Mesos__Internal__SlaveReregisteredMessage *m = message;

	out->kind = ORDER_REREGISTERED;
	out->id = m->agent_id->value;
	for (size_t i = 0; i < m->n_reconciliations; i++)
		out->asked_for += m->reconciliations[i]->n_statuses;
}

static void take_kill(const void *message, struct agent_order *out)
{
	const Mesos__Internal__KillTaskMessage *m = message;

	out->kind = ORDER_KILL;
	out->id = m->task_id->value;
}

static void take_run(const void *message, struct agent_order *out)
{
	const Mesos__Internal__RunTaskMessage *m = message;

	out->kind = ORDER_RUN;
	out->id = m->task->task_id->value;
	out->framework = m->framework;
}

static void take_acknowledged(const void *message, struct agent_order *out)
{
	const Mesos__Internal__StatusUpdateAcknowledgementMessage *m = message;

	out->kind = ORDER_ACKNOWLEDGED;
	out->id = m->task_id->value;
	out->uuid = m->uuid;
}

static void take_ping(const void *message, struct agent_order *out)
{
	const Mesos__Internal__PingSlaveMessage *m = message;

	out->kind = ORDER_PING;
	out->connected = m->connected;
}

static void take_shutdown(const void *message, struct agent_order *out)
{
	const Mesos__Internal__ShutdownMessage *m = message;

	out->kind = ORDER_SHUTDOWN;
	out->id = m->message ? m->message : "no reason given";
}

bool agent_message_parse(const char *name, struct slice body, struct arena *arena,
			 struct agent_order *out)
{
#define ROW(message, type, take)                                                                   \
	{                                                                                          \
		message, &mesos__internal__##type##__descriptor, take                              \
	}
	static const struct {
		const char *name;
		const ProtobufCMessageDescriptor *type;
		void (*take)(const void *message, struct agent_order *out);
	} table[] = {
		ROW("RunTaskMessage", run_task_message, take_run),
		ROW("StatusUpdateAcknowledgementMessage", status_update_acknowledgement_message,
		    take_acknowledged),
		ROW("PingSlaveMessage", ping_slave_message, take_ping),
		ROW("SlaveRegisteredMessage", slave_registered_message, take_registered),
		ROW("SlaveReregisteredMessage", slave_reregistered_message, take_reregistered),
		ROW("KillTaskMessage", kill_task_message, take_kill),
		ROW("ShutdownMessage", shutdown_message, take_shutdown),
	};
#undef ROW

	memset(out, 0, sizeof(*out));
	out->id = "";
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const void *message;

		if (strcmp(name, table[i].name) != 0)
			continue;
		message = proto_unpack(table[i].type, arena, body.data, body.len, NULL);
		if (message)
			table[i].take(message, out);
		return message != NULL;
	}
	return true;
}
