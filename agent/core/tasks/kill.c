/* KillTaskMessage: a task that was not delivered is answered here, the
 * executor is told of others. */
#include "agent/core/objects.h"

#include "agent/core/executors/executor_channel.h"
#include "agent/core/executors/executors.h"
#include "agent/core/registration.h"
#include "agent/core/states.h"
#include "agent/core/tasks/frameworks.h"
#include "agent/core/tasks/groups.h"
#include "agent/core/tasks/tasks.h"
#include "agent/core/tasks/updates.h"

#define KILLED MESOS__TASK_STATE__TASK_KILLED

static void kill_queued(struct agent *agent, struct task *task)
{
	struct executor *executor = task->executor;

	if (task->group)
		agent_group_kill(agent, executor, task->group);
	else
		agent_make_update(agent, executor->framework, task->record->task_id->value,
				  executor->id, KILLED,
				  MESOS__TASK_STATUS__REASON__REASON_TASK_KILLED_DURING_LAUNCH,
				  "Killed before delivery to the executor");
	/* One that is still starting hears of it when it comes. */
	if (executor->state == EXECUTOR_RUNNING && agent_executor_idle(executor))
		agent_executor_shutdown(agent, executor);
}

/* The connection of its executor broke. A scheduler may kill once and wait, and a drain does.
 * After a restart of ours the master repeats kills. */
static void keep_kill(struct task *task, const Mesos__KillPolicy *policy)
{
	log_info("The kill of task '%s' waits for executor '%s'", task->record->task_id->value,
		 task->executor->id);
	task->kill_waits = true;
	proto_free(task->kill_policy);
	task->kill_policy = policy ? proto_copy(policy) : NULL;
}

void agent_repeat_kills(struct agent *agent, struct executor *executor)
{
	struct task *task, *next;

	list_for_each (task, next, &executor->tasks[TASK_LAUNCHED], link) {
		if (!task->kill_waits)
			continue;
		task->kill_waits = false;
		agent_tell_kill(agent, executor, task->record->task_id->value, task->kill_policy);
	}
}

void agent_kill(struct agent *agent, struct task *task, Mesos__KillPolicy *policy)
{
	const char *task_id = task->record->task_id->value;
	struct executor *executor = task->executor;

	if (executor->state == EXECUTOR_TERMINATING || executor->state == EXECUTOR_TERMINATED)
		log_warning("Dropped the kill of task '%s': its executor is %s", task_id,
			    executor_state_name(executor->state));
	else if (task->place == TASK_QUEUED)
		kill_queued(agent, task);
	else if (executor->state == EXECUTOR_RUNNING && (executor->stream || executor->pid))
		agent_tell_kill(agent, executor, task_id, policy);
	else
		keep_kill(task, policy);
}

void agent_handle_kill_task(struct agent *agent, const char *from,
			    Mesos__Internal__KillTaskMessage *message)
{
	const char *task_id = message->task_id->value;
	struct framework *framework;
	struct task *task;

	if (!agent_from_master(agent, from, "KillTaskMessage"))
		return;
	if (agent->state == STATE_RECOVERING || agent->state == STATE_TERMINATING) {
		log_warning("Dropped the kill of task '%s': the agent is %s", task_id,
			    agent_state_name(agent->state));
		return;
	}
	framework = agent_framework_find(agent, message->framework_id->value);
	if (!framework || framework->terminating) {
		log_warning("Dropped the kill of task '%s': framework %s is not running here",
			    task_id, message->framework_id->value);
		return;
	}
	task = agent_task_find(framework, task_id);
	if (!task) {
		/* One that crossed its end: the scheduler has heard how it ended. */
		if (!agent_id_usable(task_id) || agent_task_is_past(framework, task_id))
			return;
		agent_make_update(agent, framework, task_id, NULL, agent_dropped_state(framework),
				  MESOS__TASK_STATUS__REASON__REASON_EXECUTOR_TERMINATED,
				  "Cannot find executor");
		return;
	}
	agent_kill(agent, task, message->kill_policy);
}
