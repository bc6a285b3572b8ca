#include "agent/core/tasks/groups.h"

#include "agent/core/executors/executor_channel.h"
#include "agent/core/executors/executors.h"
#include "agent/core/tasks/frameworks.h"
#include "agent/core/tasks/tasks.h"
#include "agent/core/tasks/updates.h"

#define REASON(name) MESOS__TASK_STATUS__REASON__REASON_##name

/* One update for each. */
static void end_group(struct agent *agent, struct executor *executor, uint64_t group,
		      Mesos__TaskState state, Mesos__TaskStatus__Reason reason, const char *text)
{
	struct task *task, *next;

	list_for_each (task, next, &executor->tasks[TASK_QUEUED], link) {
		if (task->group == group)
			agent_make_update(agent, executor->framework, task->record->task_id->value,
					  executor->id, state, reason, text);
	}
}

void agent_group_deliver(struct agent *agent, struct executor *executor, uint64_t group)
{
	struct task *task, *next;

	if (!executor->stream) {
		end_group(agent, executor, group, agent_dropped_state(executor->framework),
			  REASON(TASK_GROUP_INVALID),
			  "Task groups can only be launched on executors of the HTTP API");
		return;
	}
	agent_tell_group(agent, executor, group);
	list_for_each (task, next, &executor->tasks[TASK_QUEUED], link) {
		if (task->group == group)
			agent_task_move(task, TASK_LAUNCHED);
	}
	executor->sent_task = true;
}

void agent_group_kill(struct agent *agent, struct executor *executor, uint64_t group)
{
	end_group(agent, executor, group, MESOS__TASK_STATE__TASK_KILLED,
		  REASON(TASK_KILLED_DURING_LAUNCH),
		  "A task within the task group was killed before delivery to the executor");
}
