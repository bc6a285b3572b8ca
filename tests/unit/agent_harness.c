#include "agent_harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- life ---------------------------------------------------------------- */

void rig_init(struct rig *rig)
{
	struct err err = {""};

	memset(rig, 0, sizeof(*rig));
	arena_init(&rig->arena);
	agent_actions_init(&rig->out);
	rng_seed(&rig->rng, 1);
	rig->now = 1000 * SECOND;
	rig->options = (struct agent_options){
		.ip = "10.0.0.2",
		.port = 5051,
		.hostname = "host",
		.version = "1.12.0",
		.work_dir = "/w",
		.launcher_program = "/bin/mesita",
		.shapes = resource_shapes_create(),
		.resources = &rig->total,
		.rng = &rig->rng,
		.start_time = rig->now,
		.reconfiguration_policy = "equal",
		.registration_backoff_factor = SECOND,
		.executor_registration_timeout = MINUTE,
		.executor_reregistration_timeout = 2 * SECOND,
		.executor_shutdown_grace_period = 5 * SECOND,
		.recovery_timeout = 15 * MINUTE,
		.gc_delay = WEEK,
		.max_completed_executors_per_framework = 150,
	};
	cr_assert_eq(resources_parse(rig->options.shapes, "cpus:4;mem:4096;ports:[31000-31999]",
				     "*", &rig->total, &err),
		     0, "%s", err.text);
}

static void free_batch(struct rig_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		free(batch->ops[i].key);
		buf_free(&batch->ops[i].value);
	}
	free(batch->ops);
	free(batch);
}

void rig_kill_agent(struct rig *rig)
{
	struct rig_batch *batch;

	agent_destroy(rig->agent);
	rig->agent = NULL;
	while ((batch = rig->batches)) {
		rig->batches = batch->next;
		free_batch(batch);
	}
}

void rig_free(struct rig *rig)
{
	rig_kill_agent(rig);
	for (size_t i = 0; i < rig->pair_count; i++) {
		free(rig->pairs[i].key);
		buf_free(&rig->pairs[i].value);
	}
	for (size_t i = 0; i < rig->container_count; i++) {
		free(rig->containers[i][0]);
		free(rig->containers[i][1]);
	}
	agent_actions_free(&rig->out);
	resources_free(&rig->total);
	resource_shapes_destroy(rig->options.shapes);
	buf_free(&rig->trace);
	arena_free(&rig->arena);
}

/* ---- the store ----------------------------------------------------------- */

static void apply_op(struct rig *rig, const struct rig_pair *op)
{
	size_t at = 0;
	bool same;

	while (at < rig->pair_count && strcmp(rig->pairs[at].key, op->key) < 0)
		at++;
	same = at < rig->pair_count && strcmp(rig->pairs[at].key, op->key) == 0;
	if (!op->value.data) {
		if (!same)
			return;
		free(rig->pairs[at].key);
		buf_free(&rig->pairs[at].value);
		memmove(&rig->pairs[at], &rig->pairs[at + 1],
			(--rig->pair_count - at) * sizeof(rig->pairs[0]));
		return;
	}
	if (!same) {
		cr_assert_lt(rig->pair_count, RIG_PAIRS);
		memmove(&rig->pairs[at + 1], &rig->pairs[at],
			(rig->pair_count++ - at) * sizeof(rig->pairs[0]));
		rig->pairs[at] = (struct rig_pair){.key = xstrdup(op->key)};
	}
	buf_clear(&rig->pairs[at].value);
	buf_append(&rig->pairs[at].value, op->value.data, op->value.len);
}

static void keep_batch(struct rig *rig, const struct agent_action *action)
{
	struct rig_batch *batch = xcalloc(1, sizeof(*batch)), **end = &rig->batches;

	batch->ticket = action->store.ticket;
	batch->count = action->store.count;
	batch->ops = xcalloc(batch->count, sizeof(*batch->ops));
	for (size_t i = 0; i < batch->count; i++) {
		const struct store_op *op = &action->store.ops[i];

		batch->ops[i].key = xstrndup(op->key.data, op->key.len);
		if (op->value.data) {
			buf_reserve(&batch->ops[i].value, 1);
			buf_append(&batch->ops[i].value, op->value.data, op->value.len);
		}
	}
	while (*end)
		end = &(*end)->next;
	*end = batch;
}

void rig_stored(struct rig *rig, uint64_t ticket)
{
	struct agent_event event = {.type = AGENT_STORED, .stored = {ticket}};
	struct rig_batch *batch;

	while ((batch = rig->batches) && batch->ticket <= ticket) {
		rig->batches = batch->next;
		for (size_t i = 0; i < batch->count; i++)
			apply_op(rig, &batch->ops[i]);
		free_batch(batch);
	}
	rig_step(rig, &event);
}

/* ---- the trace ----------------------------------------------------------- */

static const char *executor_of(struct rig *rig, const char *container)
{
	for (size_t i = rig->container_count; i-- > 0;) {
		if (strcmp(rig->containers[i][1], container) == 0)
			return rig->containers[i][0];
	}
	return container;
}

const char *rig_container(struct rig *rig, const char *executor)
{
	for (size_t i = rig->container_count; i-- > 0;) {
		if (strcmp(rig->containers[i][0], executor) == 0)
			return rig->containers[i][1];
	}
	cr_assert(0, "no container of %s", executor);
	return NULL;
}

static void trace_uuid(struct rig *rig, ProtobufCBinaryData uuid)
{
	if (rig_uuid_number(uuid))
		buf_printf(&rig->trace, " u%d", rig_uuid_number(uuid));
}

static const char *state_name(Mesos__TaskState state)
{
	return proto_enum_name(&mesos__task_state__descriptor, state, SPELL_V1) + 5;
}

static void trace_update(struct rig *rig, const Mesos__Internal__StatusUpdate *update)
{
	const Mesos__TaskStatus *status = update->status;

	buf_printf(&rig->trace, " %s %s", status->task_id->value, state_name(status->state));
	trace_uuid(rig, update->uuid);
	if (update->has_latest_state && update->latest_state != status->state)
		buf_printf(&rig->trace, " latest %s", state_name(update->latest_state));
	if (status->has_reason)
		buf_printf(&rig->trace, " %s",
			   proto_enum_name(&mesos__task_status__reason__descriptor, status->reason,
					   SPELL_V1) +
				   7);
	if (status->message)
		buf_printf(&rig->trace, " \"%s\"", status->message);
}

static void trace_reregister(struct rig *rig,
			     const Mesos__Internal__ReregisterSlaveMessage *message)
{
	for (size_t i = 0; i < message->n_frameworks; i++)
		buf_printf(&rig->trace, " framework %s", message->frameworks[i]->id->value);
	for (size_t i = 0; i < message->n_executor_infos; i++)
		buf_printf(&rig->trace, " executor %s",
			   message->executor_infos[i]->executor_id->value);
	for (size_t i = 0; i < message->n_tasks; i++)
		buf_printf(&rig->trace, " task %s %s", message->tasks[i]->task_id->value,
			   state_name(message->tasks[i]->state));
	for (size_t i = 0; i < message->n_completed_frameworks; i++)
		buf_printf(&rig->trace, " completed %s",
			   message->completed_frameworks[i]->framework_info->id->value);
}

static void trace_operation(struct rig *rig,
			    const Mesos__Internal__UpdateOperationStatusMessage *message)
{
	buf_printf(&rig->trace, " op%d %s",
		   message->operation_uuid ? rig_uuid_number(message->operation_uuid->value) : 0,
		   proto_enum_name(&mesos__operation_state__descriptor, message->status->state,
				   SPELL_V1) +
			   strlen("OPERATION_"));
	if (!message->status->uuid)
		buf_puts(&rig->trace, " unreliable");
	if (message->status->message)
		buf_printf(&rig->trace, " \"%s\"", message->status->message);
}

static void trace_update_agent(struct rig *rig, const Mesos__Internal__UpdateSlaveMessage *message)
{
	for (size_t i = 0; i < message->operations->n_operations; i++)
		buf_printf(&rig->trace, " op%d %s",
			   rig_uuid_number(message->operations->operations[i]->uuid->value),
			   proto_enum_name(&mesos__operation_state__descriptor,
					   message->operations->operations[i]->latest_status->state,
					   SPELL_V1) +
				   strlen("OPERATION_"));
}

static void trace_message(struct rig *rig, const char *to, const ProtobufCMessage *message)
{
	const ProtobufCMessageDescriptor *type = message->descriptor;

	buf_printf(&rig->trace, "send %s %s", strcmp(to, RIG_MASTER) == 0 ? "master" : to,
		   type->short_name);
	if (type == &mesos__internal__status_update_message__descriptor)
		trace_update(rig, ((Mesos__Internal__StatusUpdateMessage *)message)->update);
	else if (type == &mesos__internal__reregister_slave_message__descriptor)
		trace_reregister(rig, (void *)message);
	else if (type == &mesos__internal__exited_executor_message__descriptor)
		buf_printf(&rig->trace, " %s %d",
			   ((Mesos__Internal__ExitedExecutorMessage *)message)->executor_id->value,
			   ((Mesos__Internal__ExitedExecutorMessage *)message)->status);
	else if (type == &mesos__internal__run_task_message__descriptor)
		buf_printf(&rig->trace, " %s",
			   ((Mesos__Internal__RunTaskMessage *)message)->task->task_id->value);
	else if (type == &mesos__internal__kill_task_message__descriptor)
		buf_printf(&rig->trace, " %s",
			   ((Mesos__Internal__KillTaskMessage *)message)->task_id->value);
	else if (type == &mesos__internal__status_update_acknowledgement_message__descriptor)
		trace_uuid(rig,
			   ((Mesos__Internal__StatusUpdateAcknowledgementMessage *)message)->uuid);
	else if (type == &mesos__internal__update_operation_status_message__descriptor)
		trace_operation(rig, (void *)message);
	else if (type == &mesos__internal__update_slave_message__descriptor)
		trace_update_agent(rig, (void *)message);
	buf_putc(&rig->trace, '\n');
}

static void trace_event(struct rig *rig, uint64_t stream, const Mesos__Executor__Event *event)
{
	buf_printf(
		&rig->trace, "event %d %s", (int)stream,
		proto_enum_name(&mesos__executor__event__type__descriptor, event->type, SPELL_V1));
	if (event->launch)
		buf_printf(&rig->trace, " %s", event->launch->task->task_id->value);
	if (event->kill)
		buf_printf(&rig->trace, " %s", event->kill->task_id->value);
	if (event->acknowledged) {
		buf_printf(&rig->trace, " %s", event->acknowledged->task_id->value);
		trace_uuid(rig, event->acknowledged->uuid);
	}
	buf_putc(&rig->trace, '\n');
}

static void trace_store(struct rig *rig, const struct agent_action *action)
{
	buf_printf(&rig->trace, "store %d%s\n", (int)action->store.ticket,
		   action->store.class == STORE_REGISTRY ? " REGISTRY" : "");
	for (size_t i = 0; i < action->store.count; i++)
		buf_printf(&rig->trace, "  %c%.*s\n", action->store.ops[i].value.data ? '+' : '-',
			   (int)action->store.ops[i].key.len, action->store.ops[i].key.data);
}

static void learn_container(struct rig *rig, const char *executor, const char *container)
{
	cr_assert_lt(rig->container_count, RIG_CONTAINERS);
	rig->containers[rig->container_count][0] = xstrdup(executor);
	rig->containers[rig->container_count++][1] = xstrdup(container);
}

static void trace_volumes(struct rig *rig, const char *what, const struct agent_volumes *list)
{
	for (size_t i = 0; i < list->count; i++)
		buf_printf(&rig->trace, " %s%s=%s%s", what, list->items[i].name,
			   list->items[i].path, list->items[i].own ? "" : " (not owned)");
}

static void trace_action(struct rig *rig, const struct agent_action *action)
{
	switch (action->type) {
	case AGENT_SEND_MESSAGE:
		trace_message(rig, action->send_message.to, action->send_message.message);
		break;
	case AGENT_LINK:
		buf_printf(&rig->trace, "link %s\n", action->link.pid);
		break;
	case AGENT_UNLINK:
		buf_printf(&rig->trace, "unlink %s\n", action->link.pid);
		break;
	case AGENT_SEND_EVENT:
		trace_event(rig, action->send_event.stream, action->send_event.event);
		break;
	case AGENT_END_STREAM:
		buf_printf(&rig->trace, "end %d\n", (int)action->end_stream.stream);
		break;
	case AGENT_LAUNCH:
		learn_container(rig, action->launch.executor_id, action->launch.container);
		buf_printf(&rig->trace, "launch %s", action->launch.executor_id);
		trace_volumes(rig, "", &action->launch.volumes);
		buf_putc(&rig->trace, '\n');
		break;
	case AGENT_REATTACH:
		buf_printf(&rig->trace, "reattach %s %d\n",
			   executor_of(rig, action->reattach.container), (int)action->reattach.pid);
		break;
	case AGENT_DESTROY:
		buf_printf(&rig->trace, "destroy %s\n",
			   executor_of(rig, action->destroy.container));
		break;
	case AGENT_STORE:
		keep_batch(rig, action);
		if (rig->show_store)
			trace_store(rig, action);
		break;
	case AGENT_COLLECT:
		if (rig->show_store)
			buf_printf(&rig->trace, "collect %s\n",
				   strstr(action->collect.path, "/frameworks"));
		break;
	case AGENT_KEEP:
		break;
	case AGENT_MAKE_VOLUMES:
		buf_puts(&rig->trace, "make");
		for (size_t v = 0; v < action->make_volumes.count; v++)
			buf_printf(&rig->trace, " %s", action->make_volumes.paths[v]);
		buf_putc(&rig->trace, '\n');
		break;
	case AGENT_REMOVE_VOLUME:
		buf_printf(&rig->trace, "remove %s%s\n", action->remove_volume.path,
			   action->remove_volume.mount ? " mount" : "");
		break;
	case AGENT_LINK_VOLUMES:
		buf_printf(&rig->trace, "volumes of %s",
			   executor_of(rig, action->link_volumes.container));
		trace_volumes(rig, "-", &action->link_volumes.stale);
		trace_volumes(rig, "+", &action->link_volumes.fresh);
		buf_putc(&rig->trace, '\n');
		break;
	case AGENT_REDETECT:
		buf_puts(&rig->trace, "redetect\n");
		break;
	case AGENT_EXIT:
		buf_printf(&rig->trace, "exit %d %s\n", action->exit.status, action->exit.text);
		break;
	}
}

const char *rig_take(struct rig *rig)
{
	static struct buf taken;

	buf_clear(&taken);
	buf_append(&taken, rig->trace.data ? rig->trace.data : "", rig->trace.len);
	buf_reserve(&taken, 1);
	buf_clear(&rig->trace);
	return taken.len ? taken.data : "";
}

/* What is asked of the shell and answered at once; the rest is in the next steps. */
struct answer {
	enum agent_action_type type;
	uint64_t number;
	char *text;
};

static struct answer answer_to(const struct agent_action *action)
{
	struct answer answer = {.type = action->type};

	if (action->type == AGENT_MAKE_VOLUMES)
		answer.number = action->make_volumes.number;
	else if (action->type == AGENT_REMOVE_VOLUME)
		answer.text = xstrdup(action->remove_volume.path);
	else
		answer.text = xstrdup(action->link_volumes.container);
	return answer;
}

static void give_answer(struct rig *rig, const struct answer *answer)
{
	struct agent_event linked = {.type = AGENT_VOLUMES_LINKED,
				     .volumes_linked = {answer->text, rig->volume_failure}};

	if (answer->type == AGENT_MAKE_VOLUMES)
		rig_volumes_made(rig, answer->number);
	else if (answer->type == AGENT_REMOVE_VOLUME)
		rig_volume_removed(rig, answer->text);
	else
		rig_step(rig, &linked);
	free(answer->text);
}

static bool wants_answer(const struct rig *rig, const struct agent_action *action)
{
	return !rig->manual_volumes &&
	       (action->type == AGENT_MAKE_VOLUMES || action->type == AGENT_REMOVE_VOLUME ||
		action->type == AGENT_LINK_VOLUMES);
}

static void take_actions(struct rig *rig)
{
	struct answer answers[16];
	size_t answer_count = 0;
	uint64_t last = 0;

	for (size_t i = 0; i < rig->out.count; i++) {
		if (rig->out.items[i].type == AGENT_STORE)
			last = rig->out.items[i].store.ticket;
		trace_action(rig, &rig->out.items[i]);
		if (wants_answer(rig, &rig->out.items[i])) {
			cr_assert_lt(answer_count, 16);
			answers[answer_count++] = answer_to(&rig->out.items[i]);
		}
		if (rig->watch)
			rig->watch(rig, &rig->out.items[i]);
	}
	if (rig->out.reply.status)
		buf_printf(&rig->trace, "reply %d%s%s\n", rig->out.reply.status,
			   rig->out.reply.text[0] ? " " : "", rig->out.reply.text);
	agent_actions_clear(&rig->out);
	if (last && !rig->manual_store)
		rig_stored(rig, last);
	for (size_t i = 0; i < answer_count; i++)
		give_answer(rig, &answers[i]);
}

/* ---- starting and stepping ----------------------------------------------- */

int rig_try_start(struct rig *rig, bool rebooted, struct err *err)
{
	int rv = agent_create(&rig->options, &rig->agent, err);

	for (size_t i = 0; rv == 0 && i < rig->pair_count; i++) {
		const struct rig_pair *pair = &rig->pairs[i];

		rv = agent_load(rig->agent, slice_of(pair->key),
				(struct slice){pair->value.data, pair->value.len}, err);
	}
	if (rv == 0)
		rv = agent_start(rig->agent, rig->now, rebooted, &rig->out, err);
	take_actions(rig);
	return rv;
}

void rig_start(struct rig *rig)
{
	struct err err = {""};

	cr_assert_eq(rig_try_start(rig, false, &err), 0, "%s", err.text);
}

void rig_step(struct rig *rig, const struct agent_event *event)
{
	agent_step(rig->agent, rig->now, event, &rig->out);
	take_actions(rig);
}

void rig_tick(struct rig *rig, int64_t later)
{
	struct agent_event event = {.type = AGENT_TICK};
	int64_t end = rig->now + later;

	while (agent_next_timeout(rig->agent) <= end) {
		if (agent_next_timeout(rig->agent) > rig->now)
			rig->now = agent_next_timeout(rig->agent);
		rig_step(rig, &event);
	}
	rig->now = end;
}

void rig_next(struct rig *rig)
{
	struct agent_event event = {.type = AGENT_TICK};
	int64_t next = agent_next_timeout(rig->agent);

	cr_assert_neq(next, TIME_NEVER);
	if (next > rig->now)
		rig->now = next;
	rig_step(rig, &event);
}

void rig_message(struct rig *rig, const char *from, void *message)
{
	struct agent_event event = {.type = AGENT_MESSAGE, .message = {from, message}};

	rig_step(rig, &event);
}

void rig_detect(struct rig *rig, const char *master)
{
	struct agent_event event = {.type = AGENT_DETECTED, .detected = {master}};

	rig_step(rig, &event);
}

static Mesos__AgentID *agent_id_message(struct rig *rig)
{
	Mesos__AgentID *id = rig_new(rig, Mesos__AgentID, mesos__agent_id__descriptor);

	id->value = (char *)RIG_AGENT;
	return id;
}

void rig_register(struct rig *rig)
{
	Mesos__Internal__SlaveRegisteredMessage *message =
		rig_new(rig, Mesos__Internal__SlaveRegisteredMessage,
			mesos__internal__slave_registered_message__descriptor);

	message->agent_id = agent_id_message(rig);
	rig_detect(rig, RIG_MASTER);
	rig_tick(rig, SECOND);
	rig_message(rig, RIG_MASTER, message);
	rig_take(rig);
}

void rig_reregister(struct rig *rig)
{
	Mesos__Internal__SlaveReregisteredMessage *message =
		rig_new(rig, Mesos__Internal__SlaveReregisteredMessage,
			mesos__internal__slave_reregistered_message__descriptor);

	message->agent_id = agent_id_message(rig);
	rig_detect(rig, RIG_MASTER);
	rig_next(rig);
	rig_message(rig, RIG_MASTER, message);
}

/* ---- what masters send --------------------------------------------------- */

static Mesos__FrameworkID *framework_id(struct rig *rig)
{
	Mesos__FrameworkID *id = rig_new(rig, Mesos__FrameworkID, mesos__framework_id__descriptor);

	id->value = (char *)RIG_FRAMEWORK;
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
	task->agent_id = agent_id_message(rig);
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

	message->agent_id = agent_id_message(rig);
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
				    .executor_call = {call, stream, true}};

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
