/* The v1 executor API: SUBSCRIBE, UPDATE, MESSAGE, HEARTBEAT, and the end
 * of a subscription. Every call is answered; one that is refused changes nothing. */
#include "agent/core/objects.h"

#include <string.h>

#include "agent/core/actions.h"
#include "agent/core/executors/executor_channel.h"
#include "agent/core/executors/executors.h"
#include "agent/core/store/checkpoint.h"
#include "agent/core/tasks/frameworks.h"
#include "agent/core/tasks/tasks.h"
#include "agent/core/tasks/updates.h"

#define INVALID "Failed to validate Executor::Call: "

/* ---- validation ---------------------------------------------------------- */

static const char *check_status_error(const Mesos__CheckStatusInfo *check)
{
	if (!check->has_type)
		return "CheckStatusInfo must specify 'type'";
	switch (check->type) {
	case MESOS__CHECK_INFO__TYPE__COMMAND:
		return check->command ? NULL
				      : "Expecting 'command' to be set for COMMAND check's status";
	case MESOS__CHECK_INFO__TYPE__HTTP:
		return check->http ? NULL : "Expecting 'http' to be set for HTTP check's status";
	case MESOS__CHECK_INFO__TYPE__TCP:
		return check->tcp ? NULL : "Expecting 'tcp' to be set for TCP check's status";
	default:
		return "'UNKNOWN' is not a valid check's status type";
	}
}

static const char *status_error(struct agent *agent, const Mesos__Executor__Call *call,
				const Mesos__TaskStatus *status)
{
	const char *executor_id = call->executor_id->value;

	if (!status->has_uuid)
		return "Expecting 'uuid' to be present";
	if (!uuid_valid(status->uuid.data, status->uuid.len))
		return "Not a valid UUID";
	if (status->executor_id && strcmp(status->executor_id->value, executor_id) != 0)
		return agent_key(agent,
				 "ExecutorID in Call: %s does not match ExecutorID in TaskStatus: "
				 "%s",
				 executor_id, status->executor_id->value);
	if (!status->has_source || status->source != MESOS__TASK_STATUS__SOURCE__SOURCE_EXECUTOR)
		return agent_key(agent,
				 "Received Call from executor %s of framework %s with invalid "
				 "source, expecting 'SOURCE_EXECUTOR'",
				 executor_id, call->framework_id->value);
	if (status->state == MESOS__TASK_STATE__TASK_STAGING)
		return agent_key(agent,
				 "Received TASK_STAGING from executor %s of framework %s which is "
				 "not allowed",
				 executor_id, call->framework_id->value);
	return status->check_status ? check_status_error(status->check_status) : NULL;
}

static const char *call_error(struct agent *agent, const Mesos__Executor__Call *call)
{
	if (!call->has_type)
		return "Expecting 'type' to be present";
	switch (call->type) {
	case MESOS__EXECUTOR__CALL__TYPE__SUBSCRIBE:
		return call->subscribe ? NULL : "Expecting 'subscribe' to be present";
	case MESOS__EXECUTOR__CALL__TYPE__UPDATE:
		return call->update ? status_error(agent, call, call->update->status)
				    : "Expecting 'update' to be present";
	case MESOS__EXECUTOR__CALL__TYPE__MESSAGE:
		return call->message ? NULL : "Expecting 'message' to be present";
	default:
		return NULL;
	}
}

/* ---- calls --------------------------------------------------------------- */

static const char *executor_calls_take_update(struct agent *agent, struct executor *executor,
					      Mesos__TaskStatus *status)
{
	Mesos__Internal__StatusUpdate *update = agent_new(
		agent, Mesos__Internal__StatusUpdate, mesos__internal__status_update__descriptor);

	update->framework_id = agent_framework_id(agent, executor->framework->id);
	update->executor_id = agent_executor_id(agent, executor->id);
	update->agent_id = agent_own_id(agent);
	update->status = proto_copy_to(&agent->out->arena, status);
	if (!update->status->agent_id)
		update->status->agent_id = agent_own_id(agent);
	if (!update->status->has_timestamp) {
		update->status->has_timestamp = 1;
		update->status->timestamp = clock_seconds(agent->now);
	}
	update->timestamp = update->status->timestamp;
	update->has_uuid = 1;
	update->uuid = update->status->uuid;
	return agent_update(agent, executor, update);
}

static void send_shutdown(struct agent *agent, uint64_t stream)
{
	Mesos__Executor__Event *event =
		agent_new(agent, Mesos__Executor__Event, mesos__executor__event__descriptor);

	event->has_type = 1;
	event->type = MESOS__EXECUTOR__EVENT__TYPE__SHUTDOWN;
	agent_send_event(agent, stream, event);
	agent_end_stream(agent, stream);
}

static void send_subscribed(struct agent *agent, struct executor *executor)
{
	struct arena *arena = &agent->out->arena;
	Mesos__Executor__Event *event =
		agent_new(agent, Mesos__Executor__Event, mesos__executor__event__descriptor);
	Mesos__Executor__Event__Subscribed *subscribed =
		agent_new(agent, Mesos__Executor__Event__Subscribed,
			  mesos__executor__event__subscribed__descriptor);

	subscribed->executor_info = proto_copy_to(arena, executor->info);
	subscribed->framework_info = proto_copy_to(arena, executor->framework->info);
	subscribed->agent_info = proto_copy_to(arena, agent->info);
	subscribed->container_id =
		agent_new(agent, Mesos__ContainerID, mesos__container_id__descriptor);
	subscribed->container_id->value = arena_strdup(arena, executor->container);
	event->has_type = 1;
	event->type = MESOS__EXECUTOR__EVENT__TYPE__SUBSCRIBED;
	event->subscribed = subscribed;
	agent_send_event(agent, executor->stream, event);
}

static bool lists_task(const char *id, size_t count, Mesos__TaskInfo **list)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(list[i]->task_id->value, id) == 0)
			return true;
	}
	return false;
}

void agent_drop_undelivered(struct agent *agent, struct executor *executor, size_t known_count,
			    Mesos__TaskInfo **known)
{
	struct framework *framework = executor->framework;
	struct task *task, *next;

	list_for_each (task, next, &executor->tasks[TASK_LAUNCHED], link) {
		const char *id = task->record->task_id->value;

		/* It has the task: listed, or heard of by an update it just repeated. */
		if (task->record->state != MESOS__TASK_STATE__TASK_STAGING ||
		    lists_task(id, known_count, known)) {
			executor->sent_task = true;
			continue;
		}
		agent_make_update(agent, framework, id, executor->id,
				  agent_dropped_state(framework),
				  MESOS__TASK_STATUS__REASON__REASON_AGENT_RESTARTED,
				  "Task launched during agent restart");
	}
}

static void take_stream(struct agent *agent, struct executor *executor, uint64_t stream)
{
	if (executor->stream && executor->stream != stream)
		agent_end_stream(agent, executor->stream);
	agent_executor_set_stream(agent, executor, stream);
	free(executor->pid);
	executor->pid = NULL;
	timers_start(&agent->timers, &executor->heartbeat, agent->now + AGENT_HEARTBEAT);
	if (executor->checkpoint)
		agent_store_channel(executor, agent);
}

static void executor_calls_subscribe(struct agent *agent, struct executor *executor,
				     Mesos__Executor__Call__Subscribe *call, uint64_t stream)
{
	agent_reply(agent, 200, "");
	if (agent->state == STATE_TERMINATING || executor->framework->terminating ||
	    executor->state == EXECUTOR_TERMINATING || executor->state == EXECUTOR_TERMINATED) {
		log_warning("Shutting down executor '%s' of framework %s, which subscribed while "
			    "terminating",
			    executor->id, executor->framework->id);
		send_shutdown(agent, stream);
		return;
	}
	take_stream(agent, executor, stream);
	agent_executor_arrived(agent, executor);
	for (size_t i = 0; i < call->n_unacknowledged_updates; i++) {
		Mesos__TaskStatus *status = call->unacknowledged_updates[i]->status;

		if (status->has_uuid && status->uuid.len == UUID_BYTES &&
		    status->state != MESOS__TASK_STATE__TASK_STAGING)
			executor_calls_take_update(agent, executor, status);
		executor->sent_task = true;
	}
	agent_drop_undelivered(agent, executor, call->n_unacknowledged_tasks,
			       call->unacknowledged_tasks);
	if (agent_executor_idle(executor)) {
		log_warning("Shutting down executor '%s' of framework %s: all of its tasks were "
			    "killed before delivery",
			    executor->id, executor->framework->id);
		agent_executor_shutdown(agent, executor);
		return;
	}
	send_subscribed(agent, executor);
	agent_executor_deliver(agent, executor);
	agent_repeat_kills(agent, executor);
}

static void executor_calls_dispatch(struct agent *agent, struct executor *executor,
				    const struct agent_event *event)
{
	Mesos__Executor__Call *call = event->executor_call.call;
	const char *refusal;

	if (call->type == MESOS__EXECUTOR__CALL__TYPE__SUBSCRIBE) {
		executor_calls_subscribe(agent, executor, call->subscribe,
					 event->executor_call.stream);
		return;
	}
	if (executor->state == EXECUTOR_REGISTERING) {
		agent_reply(agent, 403, "Executor is not subscribed");
		return;
	}
	switch (call->type) {
	case MESOS__EXECUTOR__CALL__TYPE__UPDATE:
		refusal = executor_calls_take_update(agent, executor, call->update->status);
		/* "Not now": libmesos' executors get an ERROR event of other refusals. */
		agent_reply(agent, refusal ? 503 : 202, refusal ? refusal : "");
		break;
	case MESOS__EXECUTOR__CALL__TYPE__MESSAGE:
		agent_reply(agent, 202, "");
		agent_forward_to_framework(agent, executor->framework, executor->id,
					   call->message->data);
		break;
	default:
		agent_reply(agent, 501, "");
		break;
	}
}

void agent_handle_executor_call(struct agent *agent, const struct agent_event *event)
{
	const Mesos__Executor__Call *call = event->executor_call.call;
	const char *error = call_error(agent, call);
	struct framework *framework;
	struct executor *executor;

	if (!agent->started) {
		agent_reply(agent, 503, "Agent has not finished recovery");
		return;
	}
	if (error) {
		agent_reply(agent, 400, agent_key(agent, INVALID "%s", error));
		return;
	}
	if (call->type == MESOS__EXECUTOR__CALL__TYPE__SUBSCRIBE &&
	    !event->executor_call.acceptable) {
		agent_reply(agent, 406,
			    "Expecting 'Accept' to allow 'application/x-protobuf' or "
			    "'application/json'");
		return;
	}
	if (call->type == MESOS__EXECUTOR__CALL__TYPE__HEARTBEAT) {
		agent_reply(agent, 202, "");
		return;
	}
	if (call->type != MESOS__EXECUTOR__CALL__TYPE__SUBSCRIBE &&
	    agent->state == STATE_RECOVERING) {
		agent_reply(agent, 503, "Agent has not finished recovery");
		return;
	}
	framework = agent_framework_find(agent, call->framework_id->value);
	if (!framework) {
		agent_reply(agent, 400, "Framework cannot be found");
		return;
	}
	executor = agent_executor_find(framework, call->executor_id->value);
	if (!executor) {
		agent_reply(agent, 400, "Executor cannot be found");
		return;
	}
	if (agent->options.executor_secret.len &&
	    !agent_executor_claimed(executor, event->executor_call.claims)) {
		agent_reply(agent, 403, "The token is not this executor's");
		return;
	}
	executor_calls_dispatch(agent, executor, event);
}

/* Nothing follows but that nobody listens: the executor may subscribe again. */
void agent_handle_stream_closed(struct agent *agent, uint64_t stream)
{
	struct executor *executor;

	HASH_FIND(hh_stream, agent->subscribed, &stream, sizeof(stream), executor);
	if (!executor)
		return;
	agent_executor_set_stream(agent, executor, 0);
	timers_stop(&agent->timers, &executor->heartbeat);
}
