/* What an executor is told, over its v1 stream or as v0 messages to its pid. One that is
 * neither subscribed nor registered misses it; what must not be missed is told again when
 * it comes (tasks stay queued, executors repeat updates that were not acknowledged). */
#include "agent/core/executors/executor_channel.h"

#include "agent/core/actions.h"
#include "agent/core/objects.h"

static Mesos__Executor__Event *new_event(struct agent *agent, Mesos__Executor__Event__Type type)
{
	Mesos__Executor__Event *event =
		agent_new(agent, Mesos__Executor__Event, mesos__executor__event__descriptor);

	event->has_type = 1;
	event->type = type;
	return event;
}

static ProtobufCBinaryData copy_data(struct agent *agent, const void *data, size_t len)
{
	return (ProtobufCBinaryData){len, arena_memdup(&agent->out->arena, data, len)};
}

void agent_tell_task(struct agent *agent, struct executor *executor, struct task *task)
{
	struct arena *arena = &agent->out->arena;

	if (executor->stream) {
		Mesos__Executor__Event *event =
			new_event(agent, MESOS__EXECUTOR__EVENT__TYPE__LAUNCH);

		event->launch = agent_new(agent, Mesos__Executor__Event__Launch,
					  mesos__executor__event__launch__descriptor);
		event->launch->task = proto_copy_to(arena, task->info);
		agent_send_event(agent, executor->stream, event);
	} else if (executor->pid) {
		Mesos__Internal__RunTaskMessage *message =
			agent_new(agent, Mesos__Internal__RunTaskMessage,
				  mesos__internal__run_task_message__descriptor);

		message->framework = proto_copy_to(arena, executor->framework->info);
		message->task = proto_copy_to(arena, task->info);
		message->pid = arena_strdup(
			arena, executor->framework->pid ? executor->framework->pid : "@0.0.0.0:0");
		agent_send(agent, executor->pid, message);
	}
}

void agent_tell_group(struct agent *agent, struct executor *executor, uint64_t group)
{
	struct arena *arena = &agent->out->arena;
	Mesos__Executor__Event *event =
		new_event(agent, MESOS__EXECUTOR__EVENT__TYPE__LAUNCH_GROUP);
	Mesos__TaskGroupInfo *tasks =
		agent_new(agent, Mesos__TaskGroupInfo, mesos__task_group_info__descriptor);
	struct task *task, *next;

	list_for_each (task, next, &executor->tasks[TASK_QUEUED], link) {
		if (task->group == group)
			proto_push(arena, tasks->n_tasks, tasks->tasks,
				   proto_copy_to(arena, task->info));
	}
	event->launch_group = agent_new(agent, Mesos__Executor__Event__LaunchGroup,
					mesos__executor__event__launch_group__descriptor);
	event->launch_group->task_group = tasks;
	agent_send_event(agent, executor->stream, event);
}

void agent_tell_kill(struct agent *agent, struct executor *executor, const char *task_id,
		     Mesos__KillPolicy *policy)
{
	Mesos__KillPolicy *copy = proto_copy_to(&agent->out->arena, policy);

	if (executor->stream) {
		Mesos__Executor__Event *event =
			new_event(agent, MESOS__EXECUTOR__EVENT__TYPE__KILL);

		event->kill = agent_new(agent, Mesos__Executor__Event__Kill,
					mesos__executor__event__kill__descriptor);
		event->kill->task_id = agent_task_id(agent, task_id);
		event->kill->kill_policy = copy;
		agent_send_event(agent, executor->stream, event);
	} else {
		Mesos__Internal__KillTaskMessage *message =
			agent_new(agent, Mesos__Internal__KillTaskMessage,
				  mesos__internal__kill_task_message__descriptor);

		message->framework_id = agent_framework_id(agent, executor->framework->id);
		message->task_id = agent_task_id(agent, task_id);
		message->kill_policy = copy;
		agent_send(agent, executor->pid, message);
	}
}

void agent_tell_acknowledged(struct agent *agent, struct executor *executor, const char *task_id,
			     const uint8_t *uuid)
{
	if (executor->stream) {
		Mesos__Executor__Event *event =
			new_event(agent, MESOS__EXECUTOR__EVENT__TYPE__ACKNOWLEDGED);

		event->acknowledged = agent_new(agent, Mesos__Executor__Event__Acknowledged,
						mesos__executor__event__acknowledged__descriptor);
		event->acknowledged->task_id = agent_task_id(agent, task_id);
		event->acknowledged->uuid = copy_data(agent, uuid, UUID_BYTES);
		agent_send_event(agent, executor->stream, event);
	} else if (executor->pid) {
		Mesos__Internal__StatusUpdateAcknowledgementMessage *message = agent_new(
			agent, Mesos__Internal__StatusUpdateAcknowledgementMessage,
			mesos__internal__status_update_acknowledgement_message__descriptor);

		message->agent_id = agent_own_id(agent);
		message->framework_id = agent_framework_id(agent, executor->framework->id);
		message->task_id = agent_task_id(agent, task_id);
		message->uuid = copy_data(agent, uuid, UUID_BYTES);
		agent_send(agent, executor->pid, message);
	}
}

void agent_tell_message(struct agent *agent, struct executor *executor, ProtobufCBinaryData data)
{
	if (executor->stream) {
		Mesos__Executor__Event *event =
			new_event(agent, MESOS__EXECUTOR__EVENT__TYPE__MESSAGE);

		event->message = agent_new(agent, Mesos__Executor__Event__Message,
					   mesos__executor__event__message__descriptor);
		event->message->data = copy_data(agent, data.data, data.len);
		agent_send_event(agent, executor->stream, event);
	} else if (executor->pid) {
		Mesos__Internal__FrameworkToExecutorMessage *message =
			agent_new(agent, Mesos__Internal__FrameworkToExecutorMessage,
				  mesos__internal__framework_to_executor_message__descriptor);

		message->agent_id = agent_own_id(agent);
		message->framework_id = agent_framework_id(agent, executor->framework->id);
		message->executor_id = agent_executor_id(agent, executor->id);
		message->data = copy_data(agent, data.data, data.len);
		agent_send(agent, executor->pid, message);
	}
}

void agent_tell_shutdown(struct agent *agent, struct executor *executor)
{
	if (executor->stream)
		agent_send_event(agent, executor->stream,
				 new_event(agent, MESOS__EXECUTOR__EVENT__TYPE__SHUTDOWN));
	else if (executor->pid)
		agent_send(agent, executor->pid,
			   agent_new(agent, Mesos__Internal__ShutdownExecutorMessage,
				     mesos__internal__shutdown_executor_message__descriptor));
}

void agent_executor_heartbeat(struct agent *agent, struct executor *executor)
{
	if (!executor->stream)
		return;
	agent_send_event(agent, executor->stream,
			 new_event(agent, MESOS__EXECUTOR__EVENT__TYPE__HEARTBEAT));
	timers_start(&agent->timers, &executor->heartbeat, agent->now + AGENT_HEARTBEAT);
}
