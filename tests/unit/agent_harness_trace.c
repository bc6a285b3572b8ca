/* What the agent does, as text: one line an action. */
#include "agent_harness.h"

#include <string.h>

/* A container inside of an executor's is <executor>.<own>. */
static const char *executor_of(struct rig *rig, const char *container)
{
	size_t root = strcspn(container, ".");

	for (size_t i = rig->container_count; i-- > 0;) {
		if (strlen(rig->containers[i][1]) == root &&
		    memcmp(rig->containers[i][1], container, root) == 0)
			return arena_printf(&rig->arena, "%s%s", rig->containers[i][0],
					    container + root);
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

	cr_expect(status->has_source && update->agent_id,
		  "an update of task %s lacks what each has", status->task_id->value);
	cr_expect_eq(status->has_uuid, update->has_uuid);
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

static void trace_message(struct rig *rig, const char *actor, const char *to,
			  const ProtobufCMessage *message)
{
	const ProtobufCMessageDescriptor *type = message->descriptor;

	cr_assert(protobuf_c_message_check(message), "%s lacks a field", type->name);
	if (actor)
		buf_printf(&rig->trace, "%s: ", actor);
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
	else if (type == &mesos__internal__authentication_step_message__descriptor)
		buf_printf(&rig->trace, " %.*s",
			   (int)((Mesos__Internal__AuthenticationStepMessage *)message)->data.len,
			   ((Mesos__Internal__AuthenticationStepMessage *)message)->data.data);
	else if (type == &mesos__internal__update_slave_message__descriptor)
		trace_update_agent(rig, (void *)message);
	buf_putc(&rig->trace, '\n');
}

static void trace_event(struct rig *rig, uint64_t stream, const Mesos__Executor__Event *event)
{
	cr_assert(event->has_type && protobuf_c_message_check(&event->base),
		  "an event lacks a field");
	buf_printf(
		&rig->trace, "event %d %s", (int)stream,
		proto_enum_name(&mesos__executor__event__type__descriptor, event->type, SPELL_V1));
	if (event->launch)
		buf_printf(&rig->trace, " %s", event->launch->task->task_id->value);
	for (size_t i = 0; event->launch_group && i < event->launch_group->task_group->n_tasks; i++)
		buf_printf(&rig->trace, " %s",
			   event->launch_group->task_group->tasks[i]->task_id->value);
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
		   action->store.class == STORE_SYNCED ? " REGISTRY" : "");
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

static void trace_answer(struct rig *rig, const struct agent_action *action)
{
	const Mesos__Agent__Response *response = action->answer.response;

	buf_printf(&rig->trace, "answer %d %d", (int)action->answer.number, action->answer.status);
	if (action->answer.text[0])
		buf_printf(&rig->trace, " %s", action->answer.text);
	if (action->answer.session)
		buf_printf(&rig->trace, " session %s", executor_of(rig, action->answer.session));
	if (response && response->wait_nested_container)
		buf_printf(&rig->trace, " older %d:%d",
			   response->wait_nested_container->has_exit_status,
			   response->wait_nested_container->exit_status);
	if (response && response->wait_container)
		buf_printf(&rig->trace, " %d:%d", response->wait_container->has_exit_status,
			   response->wait_container->exit_status);
	buf_putc(&rig->trace, '\n');
}

void rig_trace(struct rig *rig, const struct agent_action *action)
{
	switch (action->type) {
	case AGENT_SEND_MESSAGE:
		trace_message(rig, action->send_message.actor, action->send_message.to,
			      action->send_message.message);
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
		if (!strchr(action->launch.container, '.') && action->launch.executor_id[0])
			learn_container(rig, action->launch.executor_id, action->launch.container);
		buf_printf(&rig->trace, "launch %s", executor_of(rig, action->launch.container));
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
	case AGENT_SIGNAL:
		buf_printf(&rig->trace, "signal %s %d\n",
			   executor_of(rig, action->signal.container), action->signal.number);
		break;
	case AGENT_LIMIT:
		buf_printf(&rig->trace, "limit %s %g %g %g %g\n",
			   executor_of(rig, action->limit.container), action->limit.limits.cpus,
			   action->limit.limits.mem / 1048576, action->limit.limits.cpus_limit,
			   action->limit.limits.mem_limit / 1048576);
		break;
	case AGENT_CLEAR:
		buf_printf(&rig->trace, "clear %s\n", executor_of(rig, action->clear.container));
		break;
	case AGENT_ANSWER:
		trace_answer(rig, action);
		break;
	case AGENT_STORE:
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
