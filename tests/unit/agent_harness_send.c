/* What an agent is sent in tests: by masters, by executors, by its shell. */
#include "agent_harness.h"

#include <stdlib.h>
#include <string.h>

void *rig_parse(struct rig *rig, const ProtobufCMessageDescriptor *type, const char *text)
{
	struct err err = {""};
	struct json *json;
	void *message;

	cr_assert_eq(json_parse(&rig->arena, text, strlen(text), &json, &err), 0, "%s: %s", text,
		     err.text);
	message = json_to_proto(type, json, SPELL_V1, &rig->arena, &err);
	cr_assert(message, "%s: %s", text, err.text);
	return message;
}

/* ---- what masters send --------------------------------------------------- */

static Mesos__FrameworkID *framework_id(struct rig *rig)
{
	Mesos__FrameworkID *id = rig_new(rig, Mesos__FrameworkID, mesos__framework_id__descriptor);

	id->value = (char *)(rig->framework ? rig->framework : RIG_FRAMEWORK);
	return id;
}

static Mesos__TaskID *task_id(struct rig *rig, const char *text)
{
	Mesos__TaskID *id = rig_new(rig, Mesos__TaskID, mesos__task_id__descriptor);

	id->value = (char *)text;
	return id;
}

static Mesos__FrameworkInfo *framework_info(struct rig *rig)
{
	Mesos__FrameworkInfo *info =
		rig_new(rig, Mesos__FrameworkInfo, mesos__framework_info__descriptor);
	Mesos__FrameworkInfo__Capability *capability;

	info->user = (char *)"nobody";
	info->name = (char *)"test";
	info->id = framework_id(rig);
	info->has_checkpoint = 1;
	info->checkpoint = rig->checkpoint;
	if (rig->aware) {
		capability = rig_new(rig, Mesos__FrameworkInfo__Capability,
				     mesos__framework_info__capability__descriptor);
		capability->has_type = 1;
		capability->type = MESOS__FRAMEWORK_INFO__CAPABILITY__TYPE__PARTITION_AWARE;
		proto_push(&rig->arena, info->n_capabilities, info->capabilities, capability);
	}
	return info;
}

static Mesos__Resource *cpus(struct rig *rig, double amount)
{
	Mesos__Resource *resource = rig_new(rig, Mesos__Resource, mesos__resource__descriptor);

	resource->name = (char *)"cpus";
	resource->type = MESOS__VALUE__TYPE__SCALAR;
	resource->scalar = rig_new(rig, Mesos__Value__Scalar, mesos__value__scalar__descriptor);
	resource->scalar->value = amount;
	resource->allocation_info = rig_new(rig, Mesos__Resource__AllocationInfo,
					    mesos__resource__allocation_info__descriptor);
	resource->allocation_info->role = (char *)"*";
	return resource;
}

static Mesos__CommandInfo *command(struct rig *rig, const char *text)
{
	Mesos__CommandInfo *info =
		rig_new(rig, Mesos__CommandInfo, mesos__command_info__descriptor);

	info->value = (char *)text;
	return info;
}

static Mesos__ExecutorID *executor_id(struct rig *rig, const char *text)
{
	Mesos__ExecutorID *id = rig_new(rig, Mesos__ExecutorID, mesos__executor_id__descriptor);

	id->value = (char *)text;
	return id;
}

Mesos__TaskInfo *rig_task(struct rig *rig, const char *id, const char *executor)
{
	Mesos__TaskInfo *task = rig_new(rig, Mesos__TaskInfo, mesos__task_info__descriptor);

	task->name = (char *)id;
	task->task_id = task_id(rig, id);
	task->agent_id = rig_agent_id(rig);
	proto_push(&rig->arena, task->n_resources, task->resources, cpus(rig, 1));
	if (executor) {
		task->executor =
			rig_new(rig, Mesos__ExecutorInfo, mesos__executor_info__descriptor);
		task->executor->executor_id = executor_id(rig, executor);
		task->executor->command = command(rig, "executor");
		proto_push(&rig->arena, task->executor->n_resources, task->executor->resources,
			   cpus(rig, 0.5));
	} else {
		task->command = command(rig, "true");
	}
	return task;
}

void rig_run_task(struct rig *rig, Mesos__TaskInfo *task, int launch)
{
	Mesos__Internal__RunTaskMessage *message =
		rig_new(rig, Mesos__Internal__RunTaskMessage,
			mesos__internal__run_task_message__descriptor);

	message->framework = framework_info(rig);
	message->pid = (char *)(rig->framework_pid ? rig->framework_pid : "@0.0.0.0:0");
	message->task = task;
	message->has_launch_executor = launch >= 0;
	message->launch_executor = launch > 0;
	rig_message(rig, RIG_MASTER, message);
}

void rig_run(struct rig *rig, const char *id, const char *executor, int launch)
{
	rig_run_task(rig, rig_task(rig, id, executor), launch);
}

void rig_kill(struct rig *rig, const char *id)
{
	Mesos__Internal__KillTaskMessage *message =
		rig_new(rig, Mesos__Internal__KillTaskMessage,
			mesos__internal__kill_task_message__descriptor);

	message->framework_id = framework_id(rig);
	message->task_id = task_id(rig, id);
	rig_message(rig, RIG_MASTER, message);
}

void rig_ack_bytes(struct rig *rig, const char *id, ProtobufCBinaryData uuid)
{
	Mesos__Internal__StatusUpdateAcknowledgementMessage *message =
		rig_new(rig, Mesos__Internal__StatusUpdateAcknowledgementMessage,
			mesos__internal__status_update_acknowledgement_message__descriptor);

	message->agent_id = rig_agent_id(rig);
	message->framework_id = framework_id(rig);
	message->task_id = task_id(rig, id);
	message->uuid = uuid;
	rig_message(rig, RIG_MASTER, message);
}

void rig_ack(struct rig *rig, const char *id, int uuid)
{
	rig_ack_bytes(rig, id, rig_uuid(rig, uuid));
}

/* ---- what executors send ------------------------------------------------- */

ProtobufCBinaryData rig_uuid(struct rig *rig, int number)
{
	uint8_t *bytes = arena_alloc(&rig->arena, UUID_BYTES);

	bytes[6] = 0x40;
	bytes[8] = 0x80;
	bytes[14] = number >> 8;
	bytes[15] = number;
	return (ProtobufCBinaryData){UUID_BYTES, bytes};
}

int rig_uuid_number(ProtobufCBinaryData uuid)
{
	static const uint8_t start[14] = {[6] = 0x40, [8] = 0x80};

	if (uuid.len != UUID_BYTES || memcmp(uuid.data, start, sizeof(start)) != 0)
		return 0;
	return uuid.data[14] << 8 | uuid.data[15];
}

Mesos__Executor__Call *rig_call(struct rig *rig, const char *executor,
				Mesos__Executor__Call__Type type)
{
	Mesos__Executor__Call *call =
		rig_new(rig, Mesos__Executor__Call, mesos__executor__call__descriptor);

	call->executor_id = executor_id(rig, executor);
	call->framework_id = framework_id(rig);
	call->has_type = 1;
	call->type = type;
	if (type == MESOS__EXECUTOR__CALL__TYPE__SUBSCRIBE)
		call->subscribe = rig_new(rig, Mesos__Executor__Call__Subscribe,
					  mesos__executor__call__subscribe__descriptor);
	return call;
}

void rig_executor_call(struct rig *rig, Mesos__Executor__Call *call, uint64_t stream)
{
	struct agent_event event = {.type = AGENT_EXECUTOR_CALL,
				    .executor_call = {call, stream, true, rig->claims}};

	rig_step(rig, &event);
}

void rig_subscribe(struct rig *rig, const char *executor, uint64_t stream)
{
	rig_executor_call(rig, rig_call(rig, executor, MESOS__EXECUTOR__CALL__TYPE__SUBSCRIBE),
			  stream);
}

Mesos__TaskStatus *rig_status(struct rig *rig, const char *task, Mesos__TaskState state, int uuid)
{
	Mesos__TaskStatus *status = rig_new(rig, Mesos__TaskStatus, mesos__task_status__descriptor);

	status->task_id = task_id(rig, task);
	status->state = state;
	status->has_source = 1;
	status->source = MESOS__TASK_STATUS__SOURCE__SOURCE_EXECUTOR;
	status->has_uuid = 1;
	status->uuid = rig_uuid(rig, uuid);
	return status;
}

void rig_update(struct rig *rig, const char *executor, const char *task, Mesos__TaskState state,
		int uuid)
{
	Mesos__Executor__Call *call = rig_call(rig, executor, MESOS__EXECUTOR__CALL__TYPE__UPDATE);

	call->update = rig_new(rig, Mesos__Executor__Call__Update,
			       mesos__executor__call__update__descriptor);
	call->update->status = rig_status(rig, task, state, uuid);
	rig_executor_call(rig, call, 0);
}

/* ---- what containers do -------------------------------------------------- */

void rig_container_started(struct rig *rig, const char *executor, int64_t pid)
{
	struct agent_event event = {.type = AGENT_CONTAINER_STARTED,
				    .container_started = {rig_container(rig, executor), pid, 77}};

	rig_step(rig, &event);
}

void rig_container_failed(struct rig *rig, const char *executor, enum agent_start_stage stage,
			  const char *text)
{
	struct agent_event event = {
		.type = AGENT_CONTAINER_FAILED,
		.container_failed = {rig_container(rig, executor), stage, text}};

	rig_step(rig, &event);
}

void rig_container_exited(struct rig *rig, const char *executor, int status)
{
	struct agent_event event = {
		.type = AGENT_CONTAINER_EXITED,
		.container_exited = {rig_container(rig, executor), status >= 0, status}};

	rig_step(rig, &event);
}

void rig_volumes_made(struct rig *rig, uint64_t number)
{
	struct agent_event event = {.type = AGENT_VOLUMES_MADE,
				    .volumes_made = {number, rig->volume_failure}};

	rig_step(rig, &event);
}

void rig_volume_removed(struct rig *rig, const char *path)
{
	struct agent_event event = {.type = AGENT_VOLUME_REMOVED, .volume_removed = {path}};

	rig_step(rig, &event);
}

void rig_volumes_linked(struct rig *rig, const char *executor)
{
	struct agent_event event = {
		.type = AGENT_VOLUMES_LINKED,
		.volumes_linked = {rig_container(rig, executor), rig->volume_failure}};

	rig_step(rig, &event);
}

void rig_running(struct rig *rig, const char *task, const char *executor, uint64_t stream)
{
	rig_run(rig, task, executor, -1);
	rig_container_started(rig, executor ? executor : task, 42);
	rig_subscribe(rig, executor ? executor : task, stream);
	rig_take(rig);
}
