/* Status updates on their way in: from executors and from the agent
 * itself.
 *
 * Happy path: checked, completed (uuid, source, executor, container), applied to its task,
 * put into the task's stream; the executor hears ACKNOWLEDGED once that is stored.
 * Failures: what is not for us or has no uuid is dropped; what the task may not take is
 * acknowledged, so that the executor does not repeat it, and goes no further. What is too
 * much while nobody acknowledges (UPDATES_PENDING_MAX) is refused, but never the end of a
 * task: a framework that is away for long must not miss that. */
#include "agent/core/tasks/updates.h"

#include <string.h>

#include "agent/core/actions.h"
#include "agent/core/drain.h"
#include "agent/core/executors/executor_channel.h"
#include "agent/core/executors/executors.h"
#include "agent/core/nested/nested.h"
#include "agent/core/objects.h"
#include "agent/core/store/checkpoint.h"
#include "agent/core/tasks/frameworks.h"
#include "agent/core/tasks/tasks.h"

static const char *updates_invalid(struct agent *agent, const Mesos__Internal__StatusUpdate *update,
				   const struct framework *framework)
{
	const Mesos__TaskStatus *status = update->status;

	if (!update->has_uuid || update->uuid.len != UUID_BYTES)
		return "it has no uuid";
	if (!update->agent_id || strcmp(update->agent_id->value, agent_id(agent)) != 0 ||
	    !status->agent_id || strcmp(status->agent_id->value, agent_id(agent)) != 0)
		return "it is about another agent";
	if (!agent_id_usable(status->task_id->value))
		return "its task id is not usable";
	if (!framework)
		return "its framework is unknown";
	if (framework->terminating)
		return "its framework is terminating";
	return NULL;
}

static void updates_acknowledge(struct agent *agent, struct executor *sender,
				const Mesos__Internal__StatusUpdate *update)
{
	if (sender)
		agent_wait(agent, sender->checkpoint ? agent_ticket(agent) : 0, WAIT_ACK,
			   sender->container, update->status->task_id->value, update->uuid.data);
}

static void complete(struct executor *sender, Mesos__Internal__StatusUpdate *update)
{
	Mesos__TaskStatus *status = update->status;

	status->has_uuid = 1;
	status->uuid = update->uuid;
	status->has_source = 1;
	status->source = sender ? MESOS__TASK_STATUS__SOURCE__SOURCE_EXECUTOR
				: MESOS__TASK_STATUS__SOURCE__SOURCE_AGENT;
	if (update->executor_id)
		status->executor_id = update->executor_id;
}

static void add_own_address(struct agent *agent, Mesos__ContainerStatus *status)
{
	struct arena *arena = &agent->out->arena;
	Mesos__NetworkInfo *network =
		agent_new(agent, Mesos__NetworkInfo, mesos__network_info__descriptor);
	Mesos__NetworkInfo__IPAddress *address = agent_new(
		agent, Mesos__NetworkInfo__IPAddress, mesos__network_info__ipaddress__descriptor);

	address->ip_address = arena_strdup(arena, agent->options.ip);
	proto_push(arena, network->n_ip_addresses, network->ip_addresses, address);
	status->n_network_infos = 0;
	status->network_infos = NULL;
	proto_push(arena, status->n_network_infos, status->network_infos, network);
}

/* Those that the container joined, with what is inside of it; else it has ours. */
static void add_networks(struct agent *agent, const struct executor *executor,
			 Mesos__ContainerStatus *status)
{
	const Mesos__ContainerStatus *joined;

	if (!executor->networked) {
		add_own_address(agent, status);
		return;
	}
	joined = proto_copy_to(&agent->out->arena, executor->networked);
	status->n_network_infos = joined->n_network_infos;
	status->network_infos = joined->network_infos;
}

/* The container inside of the executor's that a status is about, or NULL. */
static const struct nested *nested_of(struct agent *agent, const struct executor *executor,
				      const Mesos__ContainerID *id)
{
	if (!id->parent || id->parent->parent ||
	    strcmp(id->parent->value, executor->container) != 0)
		return NULL;
	return agent_nested_find(agent, agent_key(agent, "%s.%s", executor->container, id->value));
}

static void add_container_status(struct agent *agent, const struct executor *executor,
				 Mesos__TaskStatus *status)
{
	Mesos__ContainerStatus *container = status->container_status;
	const struct nested *nested;
	int64_t pid = 0;

	/* A container that is not there (any more) has no status. One that the executor names may
	 * be inside of its own. */
	if (executor->process == CONTAINER_GONE || executor->process == CONTAINER_WAITING)
		return;
	if (!container) {
		container = agent_new(agent, Mesos__ContainerStatus,
				      mesos__container_status__descriptor);
		status->container_status = container;
	}
	if (!container->container_id) {
		container->container_id =
			agent_new(agent, Mesos__ContainerID, mesos__container_id__descriptor);
		container->container_id->value =
			arena_strdup(&agent->out->arena, executor->container);
	}
	nested = nested_of(agent, executor, container->container_id);
	if (nested && nested->state >= NESTED_ENDED)
		return;
	if (strcmp(container->container_id->value, executor->container) == 0)
		pid = executor->process_id;
	else if (nested)
		pid = nested->process_id;
	if (pid > 0) {
		container->has_executor_pid = 1;
		container->executor_pid = (uint32_t)pid;
	}
	if (container->n_network_infos == 0)
		add_networks(agent, executor, container);
}

static bool reached_executor(const struct task *task, const struct executor *sender,
			     const Mesos__TaskStatus *status)
{
	if (task->place == TASK_QUEUED)
		return false;
	return sender || task->place != TASK_LAUNCHED ||
	       (status->state != MESOS__TASK_STATE__TASK_DROPPED &&
		status->state != MESOS__TASK_STATE__TASK_LOST);
}

/* False: it must not go further. */
static bool updates_apply(struct agent *agent, struct executor *sender, struct task *task,
			  Mesos__Internal__StatusUpdate *update)
{
	struct executor *executor = task->executor;
	struct err err = {""};

	if (reached_executor(task, sender, update->status))
		add_container_status(agent, executor, update->status);
	if (agent_task_apply(agent, task, update->status, &err) < 0) {
		log_warning("Update %s of task '%s' goes no further: %s",
			    proto_enum_name(&mesos__task_state__descriptor, update->status->state,
					    SPELL_V1),
			    update->status->task_id->value, err.text);
		return false;
	}
	log_info("Task '%s' of framework %s is %s", update->status->task_id->value,
		 executor->framework->id,
		 proto_enum_name(&mesos__task_state__descriptor, update->status->state, SPELL_V1));
	if (executor->checkpoint)
		agent_store_task(task, agent);
	return true;
}

/* That a live task ends is always taken, and only once. */
static bool is_too_much(struct framework *framework, const struct task *task,
			const Mesos__TaskStatus *status)
{
	if (task && (task->place == TASK_TERMINATED || task_state_terminal(status->state)))
		return false;
	return agent_stream_full(framework, task);
}

/* Whether it goes on to the scheduler: all but a second end, and what may not follow. */
static bool goes_on(struct agent *agent, struct executor *sender, struct task *task,
		    Mesos__Internal__StatusUpdate *update)
{
	const char *task_id = update->status->task_id->value;

	if (task)
		return updates_apply(agent, sender, task, update);
	/* The executor has said already how it ended, and that was acknowledged. */
	if (!sender || !agent_task_is_past_of(sender, task_id))
		return true;
	log_warning("Update of task '%s' goes no further: the task is over", task_id);
	return false;
}

const char *agent_update(struct agent *agent, struct executor *sender,
			 Mesos__Internal__StatusUpdate *update)
{
	struct framework *framework = agent_framework_find(agent, update->framework_id->value);
	const char *task_id = update->status->task_id->value;
	const char *why = updates_invalid(agent, update, framework);
	struct stream *stream;
	struct task *task;
	bool known;

	if (why) {
		agent->counters.invalid_status_updates++;
		log_warning("Dropped an update of task '%s': %s", task_id, why);
		/* Mesos keeps silent, and executors that wait for an answer live on until
		 * they are killed. */
		if (sender && framework && framework->terminating && update->has_uuid &&
		    update->uuid.len == UUID_BYTES)
			agent_tell_acknowledged(agent, sender, task_id, update->uuid.data);
		return NULL;
	}
	agent_drain_adjust(agent, framework, update->status);
	complete(sender, update);
	task = agent_task_find(framework, task_id);
	if (sender && task && update->status->state == MESOS__TASK_STATE__TASK_STAGING) {
		log_warning("Executor '%s' sent TASK_STAGING, which is not allowed", sender->id);
		agent_executor_shutdown(agent, task->executor);
		return NULL;
	}
	stream = agent_stream_find(framework, task_id);
	known = stream && agent_stream_knows(stream, update->uuid.data);
	if (sender && !known && is_too_much(framework, task, update->status)) {
		agent->counters.invalid_status_updates++;
		why = agent_key(agent,
				"Too many updates of task '%s' wait for their acknowledgement by "
				"framework %s",
				task_id, framework->id);
		log_warning("Refused an update by executor '%s': %s", sender->id, why);
		return why;
	}
	agent->counters.valid_status_updates++;
	/* Known: repeated by an executor that did not hear of the acknowledgement. */
	if (!known && goes_on(agent, sender, task, update))
		agent_stream_push(agent, framework, update);
	updates_acknowledge(agent, sender, update);
	return NULL;
}

static ProtobufCBinaryData new_uuid(struct agent *agent)
{
	uint8_t *uuid = arena_alloc(&agent->out->arena, UUID_BYTES);

	uuid_make(agent->options.rng, uuid);
	return (ProtobufCBinaryData){UUID_BYTES, uuid};
}

Mesos__Internal__StatusUpdate *agent_draft_update(struct agent *agent, struct framework *framework,
						  const char *task_id, const char *executor_id,
						  Mesos__TaskState state,
						  Mesos__TaskStatus__Reason reason,
						  const char *message)
{
	Mesos__Internal__StatusUpdate *update = agent_new(
		agent, Mesos__Internal__StatusUpdate, mesos__internal__status_update__descriptor);
	Mesos__TaskStatus *status =
		agent_new(agent, Mesos__TaskStatus, mesos__task_status__descriptor);

	status->task_id = agent_task_id(agent, task_id);
	status->state = state;
	status->agent_id = agent_own_id(agent);
	status->has_timestamp = 1;
	status->timestamp = clock_seconds(agent->now);
	status->message = arena_strdup(&agent->out->arena, message);
	status->has_reason = 1;
	status->reason = reason;
	update->framework_id = agent_framework_id(agent, framework->id);
	update->agent_id = agent_own_id(agent);
	if (executor_id)
		update->executor_id = agent_executor_id(agent, executor_id);
	update->status = status;
	update->timestamp = status->timestamp;
	update->has_uuid = 1;
	update->uuid = new_uuid(agent);
	return update;
}

void agent_make_update(struct agent *agent, struct framework *framework, const char *task_id,
		       const char *executor_id, Mesos__TaskState state,
		       Mesos__TaskStatus__Reason reason, const char *message)
{
	agent_update(
		agent, NULL,
		agent_draft_update(agent, framework, task_id, executor_id, state, reason, message));
}
