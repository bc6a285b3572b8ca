/* Frameworks on this agent: UpdateFrameworkMessage, ShutdownFrameworkMessage, messages
 * between schedulers and executors.
 *
 * A framework is there while it has executors or updates that nobody acknowledged yet;
 * then it moves to the completed ones. One that is shut down makes no updates any more. */
#include "agent/core/tasks/frameworks.h"

#include <string.h>

#include "agent/core/actions.h"
#include "agent/core/drain.h"
#include "agent/core/executors/executor_channel.h"
#include "agent/core/executors/executors.h"
#include "agent/core/objects.h"
#include "agent/core/paths.h"
#include "agent/core/registration.h"
#include "agent/core/states.h"
#include "agent/core/store/checkpoint.h"
#include "agent/core/tasks/updates.h"

struct framework *agent_framework_find(struct agent *agent, const char *id)
{
	struct framework *framework;

	HASH_FIND_STR(agent->frameworks, id, framework);
	return framework;
}

struct framework *agent_framework_create(struct agent *agent, const char *id)
{
	struct framework *framework = xcalloc(1, sizeof(*framework));

	framework->id = xstrdup(id);
	list_init(&framework->link);
	list_init(&framework->completed);
	HASH_ADD_KEYPTR(hh, agent->frameworks, framework->id, strlen(framework->id), framework);
	return framework;
}

/* HTTP schedulers have no pid; masters write the empty one in different ways. */
static bool pid_is_real(const char *pid)
{
	return pid && pid[0] && pid[0] != '@';
}

void agent_framework_set(struct agent *agent, struct framework *framework,
			 const Mesos__FrameworkInfo *info, const char *pid)
{
	char *copy = pid_is_real(pid) ? xstrdup(pid) : NULL;

	if (info) {
		Mesos__FrameworkInfo *fresh = proto_copy(info);

		proto_free(framework->info);
		framework->info = fresh;
		if (!fresh->id) { /* deprecated form: the id came beside it */
			Mesos__FrameworkInfo with_id = *fresh;

			with_id.id = agent_framework_id(agent, framework->id);
			framework->info = proto_copy(&with_id);
			proto_free(fresh);
		}
		framework->checkpoint =
			framework->info->has_checkpoint && framework->info->checkpoint;
	}
	free(framework->pid);
	framework->pid = copy;
	if (framework->checkpoint)
		agent_store_framework(framework, agent);
}

void agent_framework_free(struct agent *agent, struct framework *framework)
{
	struct executor *executor, *next_executor;
	struct stream *stream, *next_stream;

	HASH_ITER (hh, framework->streams, stream, next_stream)
		agent_stream_free(agent, stream);
	HASH_ITER (hh, framework->executors, executor, next_executor)
		agent_executor_free(agent, executor);
	list_for_each (executor, next_executor, &framework->completed, link) {
		list_remove(&executor->link);
		agent_executor_free(agent, executor);
	}
	if (framework->hh.tbl) {
		HASH_DELETE(hh, agent->frameworks, framework);
		framework->hh.tbl = NULL;
	}
	proto_free(framework->info);
	free(framework->pid);
	free(framework->id);
	free(framework);
}

static void framework_complete(struct agent *agent, struct framework *framework)
{
	struct stream *stream, *next;
	char *path = agent_framework_path(agent, framework->id);

	log_info("Framework %s has nothing left here", framework->id);
	HASH_ITER (hh, framework->streams, stream, next)
		agent_stream_close(agent, stream);
	if (framework->checkpoint)
		agent_forget_framework(framework, agent);
	agent_collect(agent, path);
	free(path);
	HASH_DELETE(hh, agent->frameworks, framework);
	framework->hh.tbl = NULL;
	list_append(&agent->completed, &framework->link);
	if (++agent->completed_count > AGENT_COMPLETED_FRAMEWORKS_MAX) {
		framework = list_first(&agent->completed, struct framework, link);
		list_remove(&framework->link);
		agent->completed_count--;
		agent_framework_free(agent, framework);
	}
}

void agent_framework_settle(struct agent *agent, struct framework *framework)
{
	if (framework->executors || (framework->streams && !framework->terminating))
		return;
	framework_complete(agent, framework);
	agent_drain_settle(agent);
	agent_exit_if_empty(agent);
}

bool agent_framework_capable(const struct framework *framework,
			     Mesos__FrameworkInfo__Capability__Type capability)
{
	for (size_t i = 0; i < framework->info->n_capabilities; i++) {
		const Mesos__FrameworkInfo__Capability *have = framework->info->capabilities[i];

		if (have->has_type && have->type == capability)
			return true;
	}
	return false;
}

#define AWARE MESOS__FRAMEWORK_INFO__CAPABILITY__TYPE__PARTITION_AWARE

Mesos__TaskState agent_dropped_state(const struct framework *framework)
{
	return agent_framework_capable(framework, AWARE) ? MESOS__TASK_STATE__TASK_DROPPED
							 : MESOS__TASK_STATE__TASK_LOST;
}

Mesos__TaskState agent_gone_state(const struct framework *framework)
{
	return agent_framework_capable(framework, AWARE) ? MESOS__TASK_STATE__TASK_GONE
							 : MESOS__TASK_STATE__TASK_LOST;
}

/* ---- messages ------------------------------------------------------------ */

void agent_handle_update_framework(struct agent *agent, const char *from,
				   Mesos__Internal__UpdateFrameworkMessage *message)
{
	const char *id = message->framework_id->value;
	struct framework *framework;

	if (!agent_from_master(agent, from, "UpdateFrameworkMessage"))
		return;
	if (agent->state != STATE_RUNNING) {
		log_warning("Dropped an update of framework %s: the agent is %s", id,
			    agent_state_name(agent->state));
		return;
	}
	framework = agent_framework_find(agent, id);
	if (!framework || framework->terminating)
		return;
	agent_framework_set(agent, framework, message->framework_info, message->pid);
	agent_streams_resume(agent, framework);
}

void agent_framework_shutdown(struct agent *agent, struct framework *framework)
{
	struct executor *executor, *next;

	if (framework->terminating)
		return;
	framework->terminating = true;
	HASH_ITER (hh, framework->executors, executor, next) {
		if (executor->state == EXECUTOR_TERMINATED)
			agent_executor_settle(agent, executor);
		else
			agent_executor_shutdown(agent, executor);
	}
}

void agent_frameworks_reprieve(struct agent *agent)
{
	struct framework *framework, *next;

	HASH_ITER (hh, agent->frameworks, framework, next)
		framework->terminating = false;
}

void agent_handle_shutdown_framework(struct agent *agent, const char *from,
				     Mesos__Internal__ShutdownFrameworkMessage *message)
{
	const char *id = message->framework_id->value;
	struct framework *framework;

	if (!agent_from_master(agent, from, "ShutdownFrameworkMessage"))
		return;
	if (agent->state == STATE_RECOVERING || agent->state == STATE_DISCONNECTED) {
		log_warning("Dropped the shutdown of framework %s: the agent is %s", id,
			    agent_state_name(agent->state));
		return;
	}
	framework = agent_framework_find(agent, id);
	if (!framework)
		return;
	log_info("Shutting down framework %s", id);
	/* Settled once more here in case no executor did it on its way out. */
	agent_framework_shutdown(agent, framework);
	framework = agent_framework_find(agent, id);
	if (framework)
		agent_framework_settle(agent, framework);
}

bool agent_from_framework(struct agent *agent, const struct framework *framework, const char *from,
			  const char *what)
{
	return (framework->pid && !strcmp(framework->pid, from)) ||
	       agent_from_master(agent, from, what);
}

void agent_handle_to_executor(struct agent *agent, const char *from,
			      Mesos__Internal__FrameworkToExecutorMessage *message)
{
	struct framework *framework = agent_framework_find(agent, message->framework_id->value);
	struct executor *executor =
		framework ? agent_executor_find(framework, message->executor_id->value) : NULL;

	if (agent->state != STATE_RUNNING || !executor || framework->terminating ||
	    executor->state != EXECUTOR_RUNNING) {
		agent->counters.invalid_framework_messages++;
		log_warning("Dropped a message for executor '%s' of framework %s: it is not "
			    "running here",
			    message->executor_id->value, message->framework_id->value);
		return;
	}
	if (!agent_from_framework(agent, framework, from, "FrameworkToExecutorMessage")) {
		agent->counters.invalid_framework_messages++;
		return;
	}
	agent->counters.valid_framework_messages++;
	agent_tell_message(agent, executor, message->data);
}

void agent_forward_to_framework(struct agent *agent, struct framework *framework,
				const char *executor_id, ProtobufCBinaryData data)
{
	Mesos__Internal__ExecutorToFrameworkMessage *message;

	if (agent->state != STATE_RUNNING || framework->terminating) {
		agent->counters.invalid_framework_messages++;
		log_warning("Dropped a message of executor '%s' to framework %s: %s", executor_id,
			    framework->id,
			    framework->terminating ? "the framework is terminating"
						   : "the agent is not registered");
		return;
	}
	agent->counters.valid_framework_messages++;
	message = agent_new(agent, Mesos__Internal__ExecutorToFrameworkMessage,
			    mesos__internal__executor_to_framework_message__descriptor);
	message->agent_id = agent_own_id(agent);
	message->framework_id = agent_framework_id(agent, framework->id);
	message->executor_id = agent_executor_id(agent, executor_id);
	message->data.len = data.len;
	message->data.data = arena_memdup(&agent->out->arena, data.data, data.len);
	agent_send(agent, framework->pid ? framework->pid : agent->master, message);
}
