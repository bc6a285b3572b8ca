/* RunTaskMessage, RunTaskGroupMessage: from the master's order to tasks in an executor's queue. The
 * first check that fails decides what the scheduler hears. A group runs as a whole or not at all.
 *
 * Happy path: framework known or made, executor known or made, tasks checkpointed and
 * queued; once that is written a new executor is launched, a running one gets the tasks.
 * Failures: an update LOST/DROPPED for each with reason and text; when the master expected a new
 * executor also ExitedExecutorMessage, so that it forgets that one. */
#include "agent/core/objects.h"

#include <string.h>

#include "agent/core/actions.h"
#include "agent/core/executors/executors.h"
#include "agent/core/paths.h"
#include "agent/core/registration.h"
#include "agent/core/resources/total.h"
#include "agent/core/states.h"
#include "agent/core/store/checkpoint.h"
#include "agent/core/tasks/frameworks.h"
#include "agent/core/tasks/tasks.h"
#include "agent/core/tasks/updates.h"

/* Fit to be a directory's name and a part of a key. */
bool agent_id_usable(const char *id)
{
	size_t len = strlen(id);

	if (len == 0 || len > 255 || strcmp(id, ".") == 0 || strcmp(id, "..") == 0)
		return false;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = id[i];

		if (c == '/' || c == '\\' || c < 0x20 || c == 0x7f)
			return false;
	}
	return true;
}

/* What either message asks for. */
struct run_order {
	const char *what; /* the message's name */
	const Mesos__FrameworkInfo *framework;
	const char *pid; /* of it, or NULL */
	Mesos__TaskInfo **tasks;
	size_t count;
	bool group;
	Mesos__ExecutorInfo *executor; /* NULL: a command task */
	const char *executor_id;
	size_t version_count;
	Mesos__Internal__ResourceVersionUUID *const *versions;
	bool told; /* whether the executor is to be launched: */
	bool launch;
};

struct refusal {
	Mesos__TaskStatus__Reason reason;
	const char *text;
	bool shutdown; /* the executor that is in the way */
};

#define REASON(name) MESOS__TASK_STATUS__REASON__REASON_##name

static bool is_docker(const Mesos__TaskInfo *task)
{
	return task->container && task->container->type == MESOS__CONTAINER_INFO__TYPE__DOCKER;
}

/* Only isolators that are there keep limits. */
static bool task_limits_refused(const struct agent *agent, const Mesos__TaskInfo *task,
				struct refusal *refusal)
{
	if (is_docker(task))
		return false;
	for (size_t i = 0; i < task->n_limits; i++) {
		const char *name = task->limits[i]->key;

		refusal->reason = REASON(GC_ERROR);
		if (name && strcmp(name, "cpus") == 0 && !agent->options.limits_cpus)
			refusal->text = "CPU limits can only be set on tasks launched in Mesos "
					"containers when the agent has loaded the 'cgroups/cpu' "
					"isolator";
		else if (name && strcmp(name, "mem") == 0 && !agent->options.limits_mem)
			refusal->text = "Memory limits can only be set on tasks launched in Mesos "
					"containers when the agent has loaded the 'cgroups/mem' "
					"isolator";
		else
			continue;
		return true;
	}
	return false;
}

static bool limits_refused(const struct agent *agent, const struct run_order *order,
			   struct refusal *refusal)
{
	for (size_t i = 0; i < order->count; i++) {
		if (task_limits_refused(agent, order->tasks[i], refusal))
			return true;
	}
	return false;
}

/* Volumes and dynamic reservations must be among the checkpointed resources. */
static bool resources_known(struct agent *agent, size_t count, Mesos__Resource **list)
{
	struct resources used = RESOURCES_INIT, plain = RESOURCES_INIT;
	bool known = true;

	resources_add_messages(agent->options.shapes, &used, list, count);
	resources_allocate(agent->options.shapes, &used, NULL, &plain);
	for (uint32_t i = 0; i < plain.count && known; i++) {
		struct resources one = RESOURCES_INIT;

		if (!resource_shape_dynamic(plain.pieces[i].shape) &&
		    !resource_shape_persistence(plain.pieces[i].shape))
			continue;
		resources_add_piece(&one, &plain.pieces[i]);
		known = resources_contain(&agent->checkpointed, &one);
		resources_free(&one);
	}
	resources_free(&used);
	resources_free(&plain);
	return known;
}

static bool resources_refused(struct agent *agent, const struct run_order *order,
			      struct refusal *refusal)
{
	const Mesos__ExecutorInfo *executor = order->executor;

	refusal->reason = REASON(RESOURCES_UNKNOWN);
	for (size_t i = 0; i < order->count; i++) {
		if (resources_known(agent, order->tasks[i]->n_resources,
				    order->tasks[i]->resources))
			continue;
		refusal->text = "The checkpointed resources being used by the task or task group "
				"are unknown to the agent";
		return true;
	}
	if (executor && !resources_known(agent, executor->n_resources, executor->resources)) {
		refusal->text = "The checkpointed resources being used by the executor are "
				"unknown to the agent";
		return true;
	}
	return false;
}

#define DRAINING "Task was received while agent was already draining"

/* The master knows our resources as of some version; ours is the entry without provider. */
static bool version_refused(struct agent *agent, const struct run_order *order,
			    struct refusal *refusal)
{
	for (size_t i = 0; i < order->version_count; i++) {
		const ProtobufCBinaryData *uuid = &order->versions[i]->uuid->value;

		if (!order->versions[i]->resource_provider_id && uuid->len == UUID_BYTES &&
		    memcmp(uuid->data, agent->version, UUID_BYTES) == 0)
			continue;
		refusal->reason = REASON(INVALID_OFFERS);
		refusal->text = "Task assumes outdated resource state";
		return true;
	}
	return false;
}

static bool draining_refused(struct agent *agent, struct refusal *refusal)
{
	refusal->reason = REASON(AGENT_DRAINING);
	refusal->text = DRAINING;
	return agent->drain != NULL;
}

static bool executor_refused(const struct run_order *order, const struct executor *executor,
			     struct refusal *refusal)
{
	refusal->reason = REASON(EXECUTOR_TERMINATED);
	if (order->told && !order->executor && executor) {
		refusal->reason = REASON(TASK_INVALID);
		refusal->text = "Cannot reuse an already existing executor for a command task";
	} else if (order->launch && order->executor && executor) {
		refusal->text = "Master wants to launch executor, but one already exists";
		refusal->shutdown = true;
	} else if (order->told && !order->launch && !executor) {
		refusal->text = "No executor is expected to launch and there is none running";
	} else if (executor && executor->state == EXECUTOR_TERMINATING) {
		refusal->text = "Executor terminating";
	} else if (executor && executor->state == EXECUTOR_TERMINATED) {
		refusal->text = "Executor terminated";
	} else {
		return false;
	}
	return true;
}

static void run_refuse(struct agent *agent, struct framework *framework,
		       const struct run_order *order, const struct refusal *refusal)
{
	for (size_t i = 0; i < order->count; i++)
		agent_make_update(agent, framework, order->tasks[i]->task_id->value,
				  order->executor_id, agent_dropped_state(framework),
				  refusal->reason, refusal->text);
}

static struct framework *framework_for(struct agent *agent, const Mesos__FrameworkInfo *info,
				       const char *pid)
{
	struct framework *framework = agent_framework_find(agent, info->id->value);
	char *path;

	if (framework)
		return framework;
	framework = agent_framework_create(agent, info->id->value);
	agent_framework_set(agent, framework, info, pid);
	path = agent_framework_path(agent, framework->id);
	agent_keep(agent, path);
	free(path);
	return framework;
}

static struct executor *launch_executor(struct agent *agent, struct framework *framework,
					const struct run_order *order)
{
	uint8_t uuid[UUID_BYTES];
	char container[UUID_TEXT];
	Mesos__ExecutorInfo own, *info = &own;
	struct executor *executor;
	char *path;

	if (order->executor) {
		own = *order->executor;
		if (!own.framework_id)
			own.framework_id = agent_framework_id(agent, framework->id);
	} else {
		info = agent_command_executor(agent, framework->id, order->tasks[0]);
	}
	uuid_make(agent->options.rng, uuid);
	uuid_format(uuid, container);
	executor = agent_executor_create(agent, framework, info, container);
	executor->generated = !order->executor;
	executor->checkpoint = framework->checkpoint;
	if (executor->checkpoint)
		agent_store_executor(executor, agent);
	path = agent_executor_path(agent, framework->id, executor->id);
	agent_keep(agent, path);
	free(path);
	return executor;
}

static void run_queue(struct agent *agent, struct framework *framework, struct executor *executor,
		      const struct run_order *order)
{
	uint64_t group = order->group ? ++agent->last_group : 0, ticket = 0;

	for (size_t i = 0; i < order->count; i++)
		ticket = agent_executor_queue(
			agent, executor, agent_task_record(agent, framework->id, order->tasks[i]),
			proto_copy(order->tasks[i]), group);
	agent_wait(agent, ticket, WAIT_DELIVER, executor->container, NULL, NULL);
	if (executor->process == CONTAINER_WAITING)
		agent_wait(agent, ticket, WAIT_LAUNCH, executor->container, NULL, NULL);
}

static void run_order(struct agent *agent, struct framework *framework,
		      const struct run_order *order)
{
	struct executor *executor = agent_executor_find(framework, order->executor_id);
	struct refusal refusal = {0};
	bool early = limits_refused(agent, order, &refusal) || draining_refused(agent, &refusal) ||
		     version_refused(agent, order, &refusal) ||
		     resources_refused(agent, order, &refusal);

	if (early || executor_refused(order, executor, &refusal)) {
		run_refuse(agent, framework, order, &refusal);
		if (refusal.shutdown && executor->state != EXECUTOR_TERMINATED)
			agent_executor_shutdown(agent, executor);
		else if (order->launch && order->executor &&
			 (early || refusal.shutdown || !executor))
			agent_send_exited_executor(agent, framework->id, order->executor_id, -1);
		return;
	}
	if (!executor)
		executor = launch_executor(agent, framework, order);
	run_queue(agent, framework, executor, order);
}

/* What a correct master never sends. */
static bool run_is_ours(struct agent *agent, const Mesos__FrameworkInfo *framework,
			const Mesos__TaskInfo *task, const Mesos__ExecutorInfo *executor)
{
	const char *what = NULL;
	struct err err = {""};

	if (!framework->id || !agent_id_usable(framework->id->value))
		what = "the framework has no usable id";
	else if (strcmp(task->agent_id->value, agent_id(agent)) != 0)
		what = "it is for another agent";
	else if (!agent_id_usable(task->task_id->value))
		what = "the task's id is not usable";
	else if (executor && !agent_id_usable(executor->executor_id->value))
		what = "the executor's id is not usable";
	else if (resources_validate(task->resources, task->n_resources, &err) < 0 ||
		 (executor &&
		  resources_validate(executor->resources, executor->n_resources, &err) < 0))
		what = err.text;
	if (what)
		log_warning("Dropped the order to run task '%s': %s", task->task_id->value, what);
	return !what;
}

static bool may_run(struct agent *agent, const char *from, const char *what)
{
	if (!agent_from_master(agent, from, what))
		return false;
	if (agent->state != STATE_RECOVERING && agent->state != STATE_TERMINATING)
		return true;
	log_warning("Dropped %s: the agent is %s", what, agent_state_name(agent->state));
	return false;
}

/* Why the framework may not run it now, or NULL. */
static const char *run_misfit(struct framework *framework, const struct run_order *order)
{
	if (framework->terminating)
		return "the framework is terminating";
	for (size_t i = 0; i < order->count; i++) {
		if (agent_task_find(framework, order->tasks[i]->task_id->value))
			return "a task with this id is here already";
	}
	return NULL;
}

static void run_take(struct agent *agent, const struct run_order *order)
{
	struct framework *framework = framework_for(agent, order->framework, order->pid);
	const char *why = run_misfit(framework, order);

	if (why) {
		log_warning("Dropped the order to run task '%s' of framework %s: %s",
			    order->tasks[0]->task_id->value, framework->id, why);
		return;
	}
	for (size_t i = 0; i < order->count; i++)
		agent_resources_upgrade(agent, order->tasks[i]->n_resources,
					order->tasks[i]->resources);
	if (order->executor)
		agent_resources_upgrade(agent, order->executor->n_resources,
					order->executor->resources);
	run_order(agent, framework, order);
}

void agent_handle_run_task(struct agent *agent, const char *from,
			   Mesos__Internal__RunTaskMessage *message)
{
	Mesos__TaskInfo *task = message->task;
	struct run_order order = {
		.framework = message->framework,
		.pid = message->pid,
		.tasks = &task,
		.count = 1,
		.executor = task->executor,
		.executor_id =
			task->executor ? task->executor->executor_id->value : task->task_id->value,
		.version_count = message->n_resource_version_uuids,
		.versions = message->resource_version_uuids,
		.told = message->has_launch_executor,
		.launch = message->has_launch_executor && message->launch_executor,
	};

	if (!may_run(agent, from, "RunTaskMessage"))
		return;
	if (!run_is_ours(agent, message->framework, task, task->executor))
		return;
	if (!task->executor && !task->command) {
		log_warning("Dropped the order to run task '%s': it has neither a command nor an "
			    "executor",
			    task->task_id->value);
		return;
	}
	run_take(agent, &order);
}

/* Ids that occur twice. */
static bool group_repeats(const Mesos__TaskGroupInfo *group)
{
	for (size_t i = 0; i < group->n_tasks; i++) {
		for (size_t j = 0; j < i; j++) {
			if (!strcmp(group->tasks[i]->task_id->value,
				    group->tasks[j]->task_id->value))
				return true;
		}
	}
	return false;
}

void agent_handle_run_task_group(struct agent *agent, const char *from,
				 Mesos__Internal__RunTaskGroupMessage *message)
{
	Mesos__TaskGroupInfo *group = message->task_group;
	struct run_order order = {
		.framework = message->framework,
		.tasks = group->tasks,
		.count = group->n_tasks,
		.group = true,
		.executor = message->executor,
		.executor_id = message->executor->executor_id->value,
		.version_count = message->n_resource_version_uuids,
		.versions = message->resource_version_uuids,
		.told = message->has_launch_executor,
		.launch = message->has_launch_executor && message->launch_executor,
	};

	if (!may_run(agent, from, "RunTaskGroupMessage"))
		return;
	for (size_t i = 0; i < group->n_tasks; i++) {
		if (!run_is_ours(agent, message->framework, group->tasks[i], message->executor))
			return;
		group->tasks[i]->executor = message->executor;
	}
	if (group->n_tasks == 0 || group_repeats(group)) {
		log_warning("Dropped the order to run a group of %zu tasks for executor '%s'%s",
			    group->n_tasks, order.executor_id,
			    group->n_tasks ? ": an id is there twice" : "");
		return;
	}
	run_take(agent, &order);
}
