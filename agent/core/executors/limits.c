/* What an executor's container may use: what it and its live tasks asked for; and, once a task sets
 * a limit, the sum of the limits. A task without one counts by what it asked for, but without
 * strict limits it frees the processors of all. */
#include "agent/core/executors/limits.h"

#include <math.h>
#include <string.h>

#include "agent/core/actions.h"

#define MEGABYTE (1024.0 * 1024)

/* ---- a list of limits --------------------------------------------------------------- */

/* Both maps of limits are alike. */
static double limit_of(const Mesos__Task *task, const char *name)
{
	for (size_t i = 0; i < task->n_limits; i++) {
		const Mesos__Task__LimitsEntry *limit = task->limits[i];

		if (limit->key && limit->value && !strcmp(limit->key, name))
			return limit->value->value;
	}
	return NAN;
}

static double asked(struct resource_shapes *shapes, size_t count, Mesos__Resource **list,
		    const char *name)
{
	struct resources sum = RESOURCES_INIT;
	double amount;

	resources_add_messages(shapes, &sum, list, count);
	amount = (double)resources_quantity(&sum, name) / 1000;
	resources_free(&sum);
	return amount;
}

/* NAN: no live task has one. */
static double sum_limits(const struct agent *agent, const struct executor *executor,
			 const char *name, bool counts_others)
{
	static const enum task_place live[] = {TASK_QUEUED, TASK_LAUNCHED};
	struct resource_shapes *shapes = agent->options.shapes;
	double sum = asked(shapes, executor->info->n_resources, executor->info->resources, name);
	bool any = false, others = false;
	struct task *task, *next;

	for (int i = 0; i < 2; i++) {
		list_for_each (task, next, &executor->tasks[live[i]], link) {
			double limit = limit_of(task->record, name);

			any = any || !isnan(limit);
			others = others || isnan(limit);
			sum += isnan(limit) ? asked(shapes, task->record->n_resources,
						    task->record->resources, name)
					    : limit;
		}
	}
	return any && (counts_others || !others) ? sum : NAN;
}

static bool any_revocable(const struct resources *r, const char *name)
{
	for (uint32_t i = 0; i < r->count; i++) {
		if (resource_shape_revocable(r->pieces[i].shape) &&
		    !strcmp(resource_shape_name(r->pieces[i].shape), name))
			return true;
	}
	return false;
}

/* ---- containers ------------------------------------------------------------------------ */

struct agent_limits agent_executor_limits(const struct agent *agent,
					  const struct executor *executor)
{
	struct agent_limits limits = {
		.cpus = (double)resources_quantity(&executor->allocated, "cpus") / 1000,
		.mem = (double)resources_quantity(&executor->allocated, "mem") / 1000 * MEGABYTE,
		.cpus_limit = NAN,
		.mem_limit = NAN,
		.revocable = any_revocable(&executor->allocated, "cpus"),
	};

	if (!executor->bursts)
		return limits;
	limits.cpus_limit = sum_limits(agent, executor, "cpus", agent->options.limits_strictly);
	/* One that was set before is to go. */
	if (isnan(limits.cpus_limit) && !agent->options.limits_strictly)
		limits.cpus_limit = INFINITY;
	limits.mem_limit = sum_limits(agent, executor, "mem", true) * MEGABYTE;
	return limits;
}

void agent_executor_limit(struct agent *agent, struct executor *executor)
{
	struct agent_action *action;

	if ((!agent->options.limits_cpus && !agent->options.limits_mem) ||
	    (executor->process != CONTAINER_ASKED && executor->process != CONTAINER_UP))
		return;
	action = agent_emit(agent, AGENT_LIMIT);
	action->limit.container = arena_strdup(&agent->out->arena, executor->container);
	action->limit.limits = agent_executor_limits(agent, executor);
}

static double launch_limit(const Mesos__Agent__Call__LaunchContainer *launch, const char *name)
{
	for (size_t i = 0; i < launch->n_limits; i++) {
		if (launch->limits[i]->key && launch->limits[i]->value &&
		    !strcmp(launch->limits[i]->key, name))
			return launch->limits[i]->value->value;
	}
	return NAN;
}

struct agent_limits agent_launch_limits(const struct agent *agent,
					const Mesos__Agent__Call__LaunchContainer *launch)
{
	struct resource_shapes *shapes = agent->options.shapes;

	return (struct agent_limits){
		.cpus = asked(shapes, launch->n_resources, launch->resources, "cpus"),
		.mem = asked(shapes, launch->n_resources, launch->resources, "mem") * MEGABYTE,
		.cpus_limit = launch_limit(launch, "cpus"),
		.mem_limit = launch_limit(launch, "mem") * MEGABYTE,
	};
}

/* ---- what was broken --------------------------------------------------------------------- */

Mesos__TaskResourceLimitation *agent_limitation(struct agent *agent,
						const struct agent_event *event)
{
	Mesos__TaskResourceLimitation *limitation = agent_new(
		agent, Mesos__TaskResourceLimitation, mesos__task_resource_limitation__descriptor);
	Mesos__Resource *resource = agent_new(agent, Mesos__Resource, mesos__resource__descriptor);

	if (!event->container_limited.resource)
		return NULL;
	resource->name = arena_strdup(&agent->out->arena, event->container_limited.resource);
	resource->type = MESOS__VALUE__TYPE__SCALAR;
	resource->scalar = agent_new(agent, Mesos__Value__Scalar, mesos__value__scalar__descriptor);
	resource->scalar->value = event->container_limited.amount;
	proto_push(&agent->out->arena, limitation->n_resources, limitation->resources, resource);
	return limitation;
}
