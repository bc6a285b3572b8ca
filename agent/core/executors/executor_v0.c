/* The v0 executor protocol: RegisterExecutor, ReregisterExecutor,
 * StatusUpdate and ExecutorToFramework messages of libmesos drivers. An executor that may
 * not be here (any more) is answered ShutdownExecutorMessage. */
#include "agent/core/objects.h"

#include <string.h>

#include "agent/core/actions.h"
#include "agent/core/executors/executor_channel.h"
#include "agent/core/executors/executors.h"
#include "agent/core/store/checkpoint.h"
#include "agent/core/tasks/frameworks.h"
#include "agent/core/tasks/updates.h"

static struct executor *executor_v0_find(struct agent *agent,
					 const Mesos__FrameworkID *framework_id,
					 const Mesos__ExecutorID *executor_id)
{
	struct framework *framework = agent_framework_find(agent, framework_id->value);

	return framework ? agent_executor_find(framework, executor_id->value) : NULL;
}

/* Messages cannot show a token. */
static bool are_refused(const struct agent *agent)
{
	return agent->options.executor_secret.len > 0;
}

static void turn_away(struct agent *agent, const char *from, const Mesos__ExecutorID *id)
{
	log_warning("Shutting down executor '%s' at %s: %s", id->value, from,
		    are_refused(agent) ? "--authenticate_http_executors lets in executors of the "
					 "HTTP API only"
				       : "it is not expected here");
	agent_send(agent, from,
		   agent_new(agent, Mesos__Internal__ShutdownExecutorMessage,
			     mesos__internal__shutdown_executor_message__descriptor));
}

static void take_pid(struct agent *agent, struct executor *executor, const char *from)
{
	if (executor->stream)
		agent_end_stream(agent, executor->stream);
	agent_executor_set_stream(agent, executor, 0);
	free(executor->pid);
	executor->pid = xstrdup(from);
	agent_link(agent, AGENT_LINK, from);
	if (executor->checkpoint)
		agent_store_channel(executor, agent);
}

void agent_handle_register_executor(struct agent *agent, const char *from,
				    Mesos__Internal__RegisterExecutorMessage *message)
{
	struct executor *executor =
		executor_v0_find(agent, message->framework_id, message->executor_id);
	Mesos__Internal__ExecutorRegisteredMessage *answer;
	struct arena *arena = &agent->out->arena;

	if (!executor || are_refused(agent) || agent->state == STATE_RECOVERING ||
	    agent->state == STATE_TERMINATING || executor->framework->terminating ||
	    executor->state != EXECUTOR_REGISTERING) {
		turn_away(agent, from, message->executor_id);
		return;
	}
	take_pid(agent, executor, from);
	agent_executor_arrived(agent, executor);
	if (agent_executor_idle(executor)) {
		agent_executor_shutdown(agent, executor);
		return;
	}
	answer = agent_new(agent, Mesos__Internal__ExecutorRegisteredMessage,
			   mesos__internal__executor_registered_message__descriptor);
	answer->executor_info = proto_copy_to(arena, executor->info);
	answer->framework_id = agent_framework_id(agent, executor->framework->id);
	answer->framework_info = proto_copy_to(arena, executor->framework->info);
	answer->agent_id = agent_own_id(agent);
	answer->agent_info = proto_copy_to(arena, agent->info);
	agent_send(agent, from, answer);
	agent_executor_deliver(agent, executor);
}

static bool executor_v0_take_update(struct agent *agent, struct executor *sender,
				    const Mesos__Internal__StatusUpdate *update)
{
	if (!sender)
		return false;
	agent_update(agent, sender, proto_copy_to(&agent->out->arena, update));
	return true;
}

void agent_handle_reregister_executor(struct agent *agent, const char *from,
				      Mesos__Internal__ReregisterExecutorMessage *message)
{
	struct executor *executor =
		executor_v0_find(agent, message->framework_id, message->executor_id);
	Mesos__Internal__ExecutorReregisteredMessage *answer;

	if (!executor || are_refused(agent) || agent->state == STATE_TERMINATING ||
	    executor->framework->terminating || executor->state != EXECUTOR_REGISTERING) {
		turn_away(agent, from, message->executor_id);
		return;
	}
	take_pid(agent, executor, from);
	answer = agent_new(agent, Mesos__Internal__ExecutorReregisteredMessage,
			   mesos__internal__executor_reregistered_message__descriptor);
	answer->agent_id = agent_own_id(agent);
	answer->agent_info = proto_copy_to(&agent->out->arena, agent->info);
	agent_send(agent, from, answer);
	agent_executor_arrived(agent, executor);
	for (size_t i = 0; i < message->n_updates; i++)
		executor_v0_take_update(agent, executor, message->updates[i]);
	executor->sent_task |= message->n_updates > 0;
	agent_drop_undelivered(agent, executor, message->n_tasks, message->tasks);
	if (agent_executor_idle(executor))
		agent_executor_shutdown(agent, executor);
}

/* The executor, if it is here and registered from `from`: a stranger who knows its ids cannot speak
   for it. */
static struct executor *executor_v0_sender(struct agent *agent, const char *from,
					   const Mesos__FrameworkID *framework_id,
					   const Mesos__ExecutorID *executor_id)
{
	struct executor *executor =
		executor_id ? executor_v0_find(agent, framework_id, executor_id) : NULL;

	return executor && executor->pid && !are_refused(agent) && !strcmp(executor->pid, from)
		       ? executor
		       : NULL;
}

void agent_handle_executor_update(struct agent *agent, const char *from,
				  Mesos__Internal__StatusUpdateMessage *message)
{
	const Mesos__Internal__StatusUpdate *update = message->update;
	struct executor *sender =
		executor_v0_sender(agent, from, update->framework_id, update->executor_id);

	if (!sender) {
		agent->counters.invalid_status_updates++;
		log_warning("Dropped an update of task '%s' from %s: no executor of its framework "
			    "is registered from there",
			    update->status->task_id->value, from);
		return;
	}
	executor_v0_take_update(agent, sender, update);
}

void agent_handle_to_framework(struct agent *agent, const char *from,
			       Mesos__Internal__ExecutorToFrameworkMessage *message)
{
	struct executor *executor =
		executor_v0_sender(agent, from, message->framework_id, message->executor_id);

	if (!executor) {
		agent->counters.invalid_framework_messages++;
		log_warning("Dropped a message of executor '%s' to framework %s: it is not "
			    "registered from %s",
			    message->executor_id->value, message->framework_id->value, from);
		return;
	}
	agent_forward_to_framework(agent, executor->framework, executor->id, message->data);
}
