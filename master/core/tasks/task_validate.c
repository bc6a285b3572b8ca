/* Rules that tasks must obey to be launched, first failing
 * rule wins. Texts are Mesos' own: schedulers match on them.
 */
#include "master/core/tasks/task_validate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "master/core/objects.h"

#define EXECUTOR_CPUS_MIN 0.01 /* what Mesos demands of executors */
#define EXECUTOR_MEM_MIN 32    /* MB */

#define GROUP_TASKS_MAX 1000 /* more is a mistake; each is compared with the others */

#define FAIL(...) return err_set(err, ERR_INVALID, __VA_ARGS__)

/* What a rule looks at. */
struct subject {
	struct master *m;
	const struct framework *f;
	const struct agent *a;
	const Mesos__TaskInfo *task;
	const struct resources *available;
};

/* ---- a task by itself ------------------------------------------------------------------- */

static int rule_id(const struct subject *s, struct err *err)
{
	return master_validate_id(s->task->task_id->value, err);
}

static int rule_unique(const struct subject *s, struct err *err)
{
	const char *id = s->task->task_id->value;

	if (framework_find_task(s->f, id))
		FAIL("Task has duplicate ID: %s", id);
	if (framework_find_unreachable(s->f, id))
		FAIL("Task reuses the ID of an unreachable task: %s", id);
	return 0;
}

static int rule_agent(const struct subject *s, struct err *err)
{
	if (strcmp(s->task->agent_id->value, s->a->id))
		FAIL("Task uses invalid agent %s while agent %s is expected",
		     s->task->agent_id->value, s->a->id);
	return 0;
}

static int rule_kill_policy(const struct subject *s, struct err *err)
{
	const Mesos__KillPolicy *policy = s->task->kill_policy;

	if (policy && policy->grace_period && policy->grace_period->nanoseconds < 0)
		FAIL("Task's 'kill_policy.grace_period' must be non-negative");
	return 0;
}

static int rule_completion_time(const struct subject *s, struct err *err)
{
	if (s->task->max_completion_time && s->task->max_completion_time->nanoseconds < 0)
		FAIL("Task's `max_completion_time` must be non-negative");
	return 0;
}

static int rule_check(const struct subject *s, struct err *err)
{
	if (s->task->check && master_validate_check(s->task->check, err))
		return err_wrap(err, ERR_INVALID, "Task uses invalid check");
	return 0;
}

static int rule_health_check(const struct subject *s, struct err *err)
{
	if (s->task->health_check && master_validate_health_check(s->task->health_check, err))
		return err_wrap(err, ERR_INVALID, "Task uses invalid health check");
	return 0;
}

static int rule_resources(const struct subject *s, struct err *err)
{
	const Mesos__TaskInfo *task = s->task;
	struct resources r = RESOURCES_INIT;
	int rv;

	if (!task->n_resources)
		FAIL("Task uses no resources");
	if (master_validate_resources(task->resources, task->n_resources, err))
		return err_wrap(err, ERR_INVALID, "Task uses invalid resources");
	master_resources(s->m, task->resources, task->n_resources, &r);
	rv = master_validate_persistence(&r, err);
	if (rv)
		err_wrap(err, rv, "Task uses duplicate persistence ID");
	if (!rv && (rv = master_validate_single_role(&r, err)))
		err_wrap(err, rv, "Invalid task resources");
	if (!rv && (rv = master_validate_revocable(&r, err)))
		err_wrap(err, rv, "Task mixes revocable and non-revocable resources");
	resources_free(&r);
	return rv;
}

static int rule_command(const struct subject *s, struct err *err)
{
	if (s->task->command && master_validate_command(s->task->command, err))
		return err_wrap(err, ERR_INVALID, "Task's `CommandInfo` is invalid");
	return 0;
}

static int rule_container(const struct subject *s, struct err *err)
{
	if (s->task->container && master_validate_container(s->task->container, err))
		return err_wrap(err, ERR_INVALID, "Task's `ContainerInfo` is invalid");
	return 0;
}

/* The sum of a scalar; negative if there is none, and nothing is none. */
static double requested(Mesos__Resource *const *list, size_t count, const char *name)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++) {
		if (!strcmp(list[i]->name, name) && list[i]->scalar)
			sum += list[i]->scalar->value;
	}
	return sum > 0 ? sum : -1;
}

static const Mesos__Value__Scalar *find_limit(const Mesos__TaskInfo *task, const char *name)
{
	for (size_t i = 0; i < task->n_limits; i++) {
		if (task->limits[i]->key && !strcmp(task->limits[i]->key, name))
			return task->limits[i]->value;
	}
	return NULL;
}

static int rule_limits(const struct subject *s, struct err *err)
{
	const Mesos__TaskInfo *task = s->task;
	const Mesos__Value__Scalar *cpus = find_limit(task, "cpus"), *mem = find_limit(task, "mem");
	double wanted;

	if (!task->n_limits)
		return 0;
	if (!s->a->task_resource_limits)
		FAIL("Agent is not capable of handling task resource limits");
	for (size_t i = 0; i < task->n_limits; i++) {
		const char *name = task->limits[i]->key;

		if (!name || (strcmp(name, "cpus") && strcmp(name, "mem")))
			FAIL("Only cpus and mem may be included in a task's resource limits");
	}
	wanted = requested(task->resources, task->n_resources, "cpus");
	if (cpus && wanted < 0)
		FAIL("When a CPU limit is specified, a CPU request must also be specified");
	if (cpus && !(cpus->value >= wanted))
		FAIL("The cpu limit must be greater than or equal to the cpu request");
	wanted = requested(task->resources, task->n_resources, "mem");
	if (mem && wanted < 0)
		FAIL("When a memory limit is specified, a memory request must also be specified");
	/* Whole megabytes are compared. */
	if (mem && !isinf(mem->value) && !(floor(mem->value) >= floor(wanted)))
		FAIL("The memory limit must be greater than or equal to the memory request");
	return 0;
}

typedef int (*rule)(const struct subject *s, struct err *err);

static const rule alone[] = {
	rule_id,     rule_unique,	rule_agent,	rule_kill_policy, rule_completion_time,
	rule_check,  rule_health_check, rule_resources, rule_command,	  rule_container,
	rule_limits,
};

int master_validate_task_alone(struct master *m, const struct framework *f, const struct agent *a,
			       const Mesos__TaskInfo *task, struct err *err)
{
	struct subject s = {.m = m, .f = f, .a = a, .task = task};
	int rv = 0;

	for (size_t i = 0; i < sizeof(alone) / sizeof(alone[0]) && !rv; i++)
		rv = alone[i](&s, err);
	return rv;
}

/* ---- with its executor, on its offers
 * ---------------------------------------------------------------------------- */

static char *resources_text(const struct resources *r)
{
	struct buf text = BUF_INIT;

	resources_print(r, &text);
	return buf_take(&text);
}

/* As the message has them, not yet put in order. */
static char *resources_json(Mesos__Resource *const *list, size_t count)
{
	struct buf text = BUF_INIT;

	buf_putc(&text, '[');
	for (size_t i = 0; i < count; i++) {
		if (i)
			buf_putc(&text, ',');
		proto_to_json(list[i], SPELL_V0, &text);
	}
	buf_putc(&text, ']');
	return buf_take(&text);
}

/* Whole megabytes, "None" if `mem` is negative. */
static const char *mem_text(double mem, char out[32])
{
	if (mem < 1)
		return mem < 0 ? "None" : "0B";
	snprintf(out, 32, "%.0fMB", floor(mem));
	return out;
}

static void warn_of_small_executor(const struct subject *s)
{
	const Mesos__ExecutorInfo *e = s->task->executor;

	if (requested(e->resources, e->n_resources, "cpus") < EXECUTOR_CPUS_MIN ||
	    requested(e->resources, e->n_resources, "mem") < EXECUTOR_MEM_MIN)
		log_warning("executor %s of framework %s asks for less than %g cpus and %d MB",
			    e->executor_id->value, s->f->id, EXECUTOR_CPUS_MIN, EXECUTOR_MEM_MIN);
}

static int rule_unshared(const struct subject *s, const Mesos__ExecutorInfo *executor,
			 struct err *err)
{
	struct resources all = RESOURCES_INIT;
	bool shared = false;
	char *text;

	for (size_t i = 0; i < executor->n_resources; i++)
		shared = shared || executor->resources[i]->shared;
	if (!shared)
		return 0;
	master_resources(s->m, executor->resources, executor->n_resources, &all);
	text = resources_text(&all);
	err_set(err, ERR_INVALID, "Executor resources %s should not contain any shared resources",
		text);
	free(text);
	resources_free(&all);
	return ERR_INVALID;
}

static int rule_executor(const struct subject *s, struct err *err)
{
	const Mesos__ExecutorInfo *executor = s->task->executor;

	if (!executor)
		return 0;
	if (master_validate_executor(s->m, s->f, s->a, executor, err))
		return ERR_INVALID;
	if (executor->has_type && executor->type != MESOS__EXECUTOR_INFO__TYPE__CUSTOM)
		FAIL("'ExecutorInfo.type' must be 'CUSTOM'");
	if (!executor->command)
		FAIL("'ExecutorInfo.command' must be set");
	if (rule_unshared(s, executor, err))
		return ERR_INVALID;
	warn_of_small_executor(s);
	if (master_executor_share_cgroups(executor->container))
		FAIL("The 'share_cgroups' field cannot be set to 'true' on executor containers");
	return 0;
}

static int validate_together(const struct subject *s, const struct resources *task,
			     const struct resources *executor, struct err *err)
{
	struct resources total = RESOURCES_INIT;
	char *mine, *theirs;
	int rv = 0;

	if (s->task->executor && master_resources_overlap(task, executor)) {
		mine = resources_json(s->task->resources, s->task->n_resources);
		theirs = resources_json(s->task->executor->resources,
					s->task->executor->n_resources);
		rv = err_set(
			err, ERR_INVALID,
			"There are overlapping resources in the task resources %s and executor "
			"resources %s",
			mine, theirs);
		free(mine);
		free(theirs);
	}
	resources_copy(&total, task);
	resources_add(&total, executor);
	if (!rv && (rv = master_validate_persistence(&total, err)))
		err_wrap(err, rv, "Task and its executor use duplicate persistence ID");
	if (!rv && (rv = master_validate_revocable(&total, err)))
		err_wrap(err, rv,
			 "Task and its executor mix revocable and non-revocable resources");
	resources_free(&total);
	return rv;
}

static int validate_fits(const struct subject *s, const struct resources *wanted, const char *what,
			 struct err *err)
{
	char *total, *available;

	if (resources_contain(s->available, wanted))
		return 0;
	total = resources_text(wanted);
	available = resources_text(s->available);
	err_set(err, ERR_INVALID, "Total resources %s required by %s more than available %s", total,
		what, available);
	free(total);
	free(available);
	return ERR_INVALID;
}

static int rule_total(const struct subject *s, struct err *err)
{
	const Mesos__ExecutorInfo *info = s->task->executor;
	struct resources task = RESOURCES_INIT, executor = RESOURCES_INIT;
	bool running = info && agent_find_executor(s->a, s->f->id, info->executor_id->value);
	int rv;

	master_resources(s->m, s->task->resources, s->task->n_resources, &task);
	if (info)
		master_resources(s->m, info->resources, info->n_resources, &executor);
	rv = validate_together(s, &task, &executor, err);
	if (!rv) {
		if (!running)
			resources_add(&task, &executor);
		rv = validate_fits(s, &task, "task and its executor is", err);
	}
	resources_free(&task);
	resources_free(&executor);
	return rv;
}

static bool unshared_cgroups(const Mesos__ContainerInfo *container)
{
	return container && container->linux_info && container->linux_info->has_share_cgroups &&
	       !container->linux_info->share_cgroups;
}

int master_validate_task(struct master *m, const struct framework *f, const struct agent *a,
			 const Mesos__TaskInfo *task, const struct resources *available,
			 struct err *err)
{
	struct subject s = {.m = m, .f = f, .a = a, .task = task, .available = available};
	int rv = master_validate_task_alone(m, f, a, task, err);

	if (!rv && !task->executor == !task->command)
		rv = err_set(err, ERR_INVALID,
			     "Task should have at least one (but not both) of CommandInfo or "
			     "ExecutorInfo present");
	if (!rv)
		rv = rule_executor(&s, err);
	if (!rv)
		rv = rule_total(&s, err);
	if (!rv && unshared_cgroups(task->container))
		rv = err_set(err, ERR_INVALID,
			     "Only tasks in a task group may have 'share_cgroups' set to 'false'");
	return rv;
}

/* ---- groups ----------------------------------------------------------------------- */

static int validate_group_task(const struct subject *s, struct err *err)
{
	const Mesos__TaskInfo *task = s->task;
	const Mesos__ContainerInfo *container = task->container;

	if (master_validate_task_alone(s->m, s->f, s->a, task, err))
		return ERR_INVALID;
	if (!task->executor)
		FAIL("'TaskInfo.executor' must be set");
	if (container && container->n_network_infos && task->health_check &&
	    (task->health_check->type == MESOS__HEALTH_CHECK__TYPE__HTTP ||
	     task->health_check->type == MESOS__HEALTH_CHECK__TYPE__TCP))
		FAIL("HTTP and TCP health checks are not supported for nested containers not "
		     "joining parent's network");
	if (container && container->type == MESOS__CONTAINER_INFO__TYPE__DOCKER)
		FAIL("Docker ContainerInfo is not supported on the task");
	if (task->n_limits && !unshared_cgroups(container))
		FAIL("Resource limits may only be set for tasks within a task group when the "
		     "'share_cgroups' field is set to 'false'.");
	return 0;
}

static int validate_group_tasks(const struct subject *s,
				const Mesos__Offer__Operation__LaunchGroup *group, struct err *err)
{
	const Mesos__TaskGroupInfo *tasks = group->task_group;
	struct subject one = *s;

	if (tasks->n_tasks > GROUP_TASKS_MAX)
		FAIL("The task group has more than %d tasks", GROUP_TASKS_MAX);
	for (size_t i = 0; i < tasks->n_tasks; i++) {
		const char *id = tasks->tasks[i]->task_id->value;

		one.task = tasks->tasks[i];
		if (validate_group_task(&one, err))
			return err_wrap(err, ERR_INVALID, "Task '%s' is invalid", id);
		for (size_t k = 0; k < i; k++) {
			if (!strcmp(tasks->tasks[k]->task_id->value, id))
				FAIL("Task '%s' is invalid: Task has duplicate ID: %s", id, id);
		}
	}
	return 0;
}

static int validate_group_minimum(const Mesos__ExecutorInfo *executor, struct err *err)
{
	const char *id = executor->executor_id->value;
	double cpus = requested(executor->resources, executor->n_resources, "cpus");
	double mem = requested(executor->resources, executor->n_resources, "mem");
	char text[32];

	if (cpus < EXECUTOR_CPUS_MIN) {
		snprintf(text, sizeof(text), "%g", cpus);
		FAIL("Executor '%s' uses less CPUs (%s) than the minimum required (%g)", id,
		     cpus < 0 ? "None" : text, EXECUTOR_CPUS_MIN);
	}
	if (mem < EXECUTOR_MEM_MIN) {
		FAIL("Executor '%s' uses less memory (%s) than the minimum required (%dMB)", id,
		     mem_text(mem, text), EXECUTOR_MEM_MIN);
	}
	if (requested(executor->resources, executor->n_resources, "disk") < 0)
		FAIL("Executor '%s' uses no disk", id);
	return 0;
}

static int validate_group_executor(const struct subject *s,
				   const Mesos__Offer__Operation__LaunchGroup *group,
				   struct err *err)
{
	const Mesos__ExecutorInfo *executor = group->executor;

	if (master_validate_executor(s->m, s->f, s->a, executor, err))
		return ERR_INVALID;
	if (!executor->has_type)
		FAIL("'ExecutorInfo.type' must be set");
	if (executor->type == MESOS__EXECUTOR_INFO__TYPE__UNKNOWN)
		FAIL("Unknown executor type");
	if (executor->container && executor->container->type == MESOS__CONTAINER_INFO__TYPE__DOCKER)
		FAIL("Docker ContainerInfo is not supported on the executor");
	for (size_t i = 0; i < group->task_group->n_tasks; i++) {
		const Mesos__TaskInfo *task = group->task_group->tasks[i];

		if (!master_same_executor(s->m, task->executor, executor))
			FAIL("The `ExecutorInfo` of task '%s' is different from executor '%s'",
			     task->task_id->value, executor->executor_id->value);
	}
	return validate_group_minimum(executor, err);
}

static int say_overlap(const struct subject *s, const Mesos__Offer__Operation__LaunchGroup *group,
		       struct err *err)
{
	const Mesos__ExecutorInfo *executor = group->executor;
	struct buf tasks = BUF_INIT;
	char *own = resources_json(executor->resources, executor->n_resources);

	for (size_t i = 0; i < group->task_group->n_tasks; i++) {
		const Mesos__TaskInfo *task = group->task_group->tasks[i];
		struct resources r = RESOURCES_INIT;

		buf_puts(&tasks, i ? ", " : "");
		master_resources(s->m, task->resources, task->n_resources, &r);
		resources_print(&r, &tasks);
		resources_free(&r);
	}
	err_set(err, ERR_INVALID,
		"There are overlapping resources in the task group's task resources [ %s ] and/or "
		"executor resources %s",
		tasks.data ? tasks.data : "", own);
	buf_free(&tasks);
	free(own);
	return ERR_INVALID;
}

/* Tasks one after the other against what was before. True if some overlap. */
static bool add_group_resources(const struct subject *s,
				const Mesos__Offer__Operation__LaunchGroup *group,
				struct resources *total)
{
	bool overlap = false;

	for (size_t i = 0; i < group->task_group->n_tasks; i++) {
		const Mesos__TaskInfo *task = group->task_group->tasks[i];
		struct resources r = RESOURCES_INIT;

		master_resources(s->m, task->resources, task->n_resources, &r);
		overlap = overlap || master_resources_overlap(total, &r);
		resources_add(total, &r);
		resources_free(&r);
	}
	return overlap;
}

static int validate_group_total(const struct subject *s,
				const Mesos__Offer__Operation__LaunchGroup *group, struct err *err)
{
	const Mesos__ExecutorInfo *info = group->executor;
	struct resources total = RESOURCES_INIT, executor = RESOURCES_INIT;
	bool overlap;
	int rv;

	master_resources(s->m, info->resources, info->n_resources, &executor);
	resources_copy(&total, &executor);
	overlap = add_group_resources(s, group, &total);
	rv = master_validate_persistence(&total, err);
	if (rv)
		err_wrap(err, rv, "Task group and executor use duplicate persistence ID");
	if (!rv && (rv = master_validate_revocable(&total, err)))
		err_wrap(err, rv,
			 "Task group and executor mix revocable and non-revocable resources");
	if (!rv && overlap)
		rv = say_overlap(s, group, err);
	if (!rv) {
		if (agent_find_executor(s->a, s->f->id, info->executor_id->value))
			resources_subtract(&total, &executor);
		rv = validate_fits(s, &total, "task group and its executor are", err);
	}
	resources_free(&total);
	resources_free(&executor);
	return rv;
}

/* Does a task of this executor share where `unshared` ones are wanted, or the other way
 * round? An agent that is here has no unreachable tasks. */
static bool shares_otherwise(const struct subject *s, const char *executor_id, bool unshared)
{
	const struct task *t, *next;
	struct arena scratch = {0}; /* many groups may come in one call, for as many tasks */
	bool otherwise = false;

	list_for_each (t, next, &s->a->tasks, by_agent) {
		if (t->framework != s->f || !t->executor_id || strcmp(t->executor_id, executor_id))
			continue;
		arena_reset(&scratch);
		otherwise =
			unshared_cgroups(task_record_container(&t->record, &scratch)) != unshared;
		if (otherwise)
			break;
	}
	arena_free(&scratch);
	return otherwise;
}

static int validate_group_cgroups(const struct subject *s,
				  const Mesos__Offer__Operation__LaunchGroup *group,
				  struct err *err)
{
	Mesos__TaskInfo *const *tasks = group->task_group->tasks;
	size_t count = group->task_group->n_tasks;
	const char *id = group->executor->executor_id->value;
	bool mixed = false, unshared = count && unshared_cgroups(tasks[0]->container);

	if (master_executor_share_cgroups(group->executor->container))
		FAIL("The 'share_cgroups' field cannot be set to 'true' on executor containers");
	for (size_t i = 1; i < count; i++)
		mixed = mixed || unshared_cgroups(tasks[i]->container) != unshared;
	if (count && agent_find_executor(s->a, s->f->id, id))
		mixed = mixed || shares_otherwise(s, id, unshared);
	if (mixed)
		FAIL("If set, the value of 'share_cgroups' must be the same for all tasks in each "
		     "task group and under a single executor");
	return 0;
}

int master_validate_group(struct master *m, const struct framework *f, const struct agent *a,
			  const Mesos__Offer__Operation__LaunchGroup *group,
			  const struct resources *available, struct err *err)
{
	struct subject s = {.m = m, .f = f, .a = a, .available = available};
	int rv = validate_group_tasks(&s, group, err);

	if (!rv)
		rv = validate_group_executor(&s, group, err);
	if (!rv)
		rv = validate_group_total(&s, group, err);
	if (!rv)
		rv = validate_group_cgroups(&s, group, err);
	return rv;
}
