/* Tasks: their record, their place with the executor, what a status does to them. */
#include "agent/core/tasks/tasks.h"

#include <string.h>

#include "agent/core/actions.h"
#include "agent/core/executors/executors.h"
#include "agent/core/objects.h"
#include "agent/core/store/checkpoint.h"

/* The two maps are alike, but of types of their own. */
static void copy_limits(struct arena *arena, const Mesos__TaskInfo *info, Mesos__Task *task)
{
	for (size_t i = 0; i < info->n_limits; i++) {
		Mesos__Task__LimitsEntry *limit = PROTO_NEW(arena, Mesos__Task__LimitsEntry,
							    mesos__task__limits_entry__descriptor);

		limit->key = info->limits[i]->key;
		limit->value = info->limits[i]->value;
		proto_push(arena, task->n_limits, task->limits, limit);
	}
}

Mesos__Task *agent_task_record(struct agent *agent, const char *framework_id,
			       const Mesos__TaskInfo *info)
{
	Mesos__Task task = MESOS__TASK__INIT;

	task.name = info->name;
	task.task_id = info->task_id;
	task.agent_id = info->agent_id;
	task.framework_id = agent_framework_id(agent, framework_id);
	task.state = MESOS__TASK_STATE__TASK_STAGING;
	task.n_resources = info->n_resources;
	task.resources = info->resources;
	if (info->executor)
		task.executor_id = info->executor->executor_id;
	task.labels = info->labels;
	task.discovery = info->discovery;
	task.container = info->container;
	task.health_check = info->health_check;
	task.kill_policy = info->kill_policy;
	copy_limits(&agent->out->arena, info, &task);
	if (info->command && info->command->user)
		task.user = info->command->user;
	else if (info->executor && info->executor->command)
		task.user = info->executor->command->user;
	return proto_copy(&task);
}

struct task *agent_task_create(struct executor *executor, Mesos__Task *record,
			       Mesos__TaskInfo *info, enum task_place place)
{
	struct framework *framework = executor->framework;
	struct task *task = xcalloc(1, sizeof(*task));

	task->executor = executor;
	task->record = record;
	task->info = info;
	task->place = place;
	list_append(&executor->tasks[place], &task->link);
	HASH_ADD_KEYPTR(hh, framework->tasks, record->task_id->value,
			strlen(record->task_id->value), task);
	return task;
}

struct task *agent_task_find(struct framework *framework, const char *id)
{
	struct task *task;

	HASH_FIND_STR(framework->tasks, id, task);
	return task;
}

void agent_task_move(struct task *task, enum task_place place)
{
	list_remove(&task->link);
	list_append(&task->executor->tasks[place], &task->link);
	task->place = place;
	if (place != TASK_QUEUED) {
		proto_free(task->info);
		task->info = NULL;
	}
}

static void free_resources(struct agent *agent, struct task *task)
{
	struct resources used = RESOURCES_INIT;

	resources_add_messages(agent->options.shapes, &used, task->record->resources,
			       task->record->n_resources);
	resources_subtract(&task->executor->allocated, &used);
	resources_free(&used);
}

int agent_task_apply(struct agent *agent, struct task *task, const Mesos__TaskStatus *status,
		     struct err *err)
{
	bool terminal = task_state_terminal(status->state);

	if (task->place == TASK_QUEUED && !terminal)
		return err_set(err, ERR_STATE, "Cannot send non-terminal update for queued task");
	if (task->place == TASK_TERMINATED)
		return err_set(err, ERR_STATE, "Task is already terminated with state %s",
			       proto_enum_name(&mesos__task_state__descriptor, task->record->state,
					       SPELL_V1));
	task_record_status(task->record, status);
	task->record->state = status->state;
	if (terminal) {
		agent_task_move(task, TASK_TERMINATED);
		free_resources(agent, task);
		agent_executor_shrunk(agent, task->executor);
		if ((unsigned)status->state < 16)
			agent->counters.finished[status->state]++;
	}
	return 0;
}

/* Acknowledged to the end, or nobody is left to do so. */
void agent_task_complete(struct agent *agent, struct task *task)
{
	struct executor *executor = task->executor;

	if (executor->checkpoint)
		agent_forget_task(task, agent);
	if (task->place != TASK_TERMINATED)
		free_resources(agent, task);
	HASH_DELETE(hh, executor->framework->tasks, task);
	list_remove(&task->link);
	proto_free(task->info);
	task->info = NULL;
	task->completed = true;
	list_append(&executor->completed, &task->link);
	if (++executor->completed_count > AGENT_COMPLETED_TASKS_MAX) {
		task = list_first(&executor->completed, struct task, link);
		executor->completed_count--;
		agent_task_free(task);
	}
}

bool agent_task_is_past_of(const struct executor *executor, const char *task_id)
{
	for (const struct list *at = executor->completed.next; at != &executor->completed;
	     at = at->next) {
		if (!strcmp(list_entry(at, struct task, link)->record->task_id->value, task_id))
			return true;
	}
	return false;
}

bool agent_task_is_past(const struct framework *framework, const char *task_id)
{
	const struct executor *executor;

	for (executor = framework->executors; executor; executor = executor->hh.next) {
		if (agent_task_is_past_of(executor, task_id))
			return true;
	}
	for (const struct list *at = framework->completed.next; at != &framework->completed;
	     at = at->next) {
		if (agent_task_is_past_of(list_entry(at, struct executor, link), task_id))
			return true;
	}
	return false;
}

void agent_task_free(struct task *task)
{
	list_remove(&task->link);
	if (!task->completed)
		HASH_DELETE(hh, task->executor->framework->tasks, task);
	proto_free(task->record);
	proto_free(task->info);
	proto_free(task->kill_policy);
	free(task);
}
