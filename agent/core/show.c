#include "agent/core/show.h"

#include "agent/core/executors/executors.h"
#include "agent/core/executors/limits.h"
#include "agent/core/nested/nested.h"
#include "agent/core/view_objects.h"

/* ---- tasks ------------------------------------------------------------------------- */

/* Where tasks of an executor go that may be seen. */
struct shown_tasks {
	const struct agent_view *v;
	struct arena *arena;
	Mesos__Agent__Response__GetTasks *get;
};

static void push_tasks(const struct shown_tasks *to, const struct executor *e,
		       const struct list *list, size_t *count, Mesos__Task ***out)
{
	for (const struct list *at = list->next; at != list; at = at->next) {
		const struct task *task = list_entry(at, struct task, link);

		if (agent_view_sees_task(to->v, e, task))
			proto_push(to->arena, *count, *out, task->record);
	}
}

static void executor_tasks(const struct shown_tasks *to, const struct executor *e)
{
	Mesos__Agent__Response__GetTasks *get = to->get;

	push_tasks(to, e, &e->tasks[TASK_QUEUED], &get->n_queued_tasks, &get->queued_tasks);
	push_tasks(to, e, &e->tasks[TASK_LAUNCHED], &get->n_launched_tasks, &get->launched_tasks);
	push_tasks(to, e, &e->tasks[TASK_TERMINATED], &get->n_terminated_tasks,
		   &get->terminated_tasks);
	push_tasks(to, e, &e->completed, &get->n_completed_tasks, &get->completed_tasks);
}

static void framework_tasks(const struct shown_tasks *to, const struct framework *f)
{
	if (!agent_view_sees_framework(to->v, f))
		return;
	for (const struct executor *e = f->executors; e; e = e->hh.next)
		executor_tasks(to, e);
	for (const struct list *at = f->completed.next; at != &f->completed; at = at->next)
		executor_tasks(to, list_entry(at, struct executor, link));
}

void agent_show_tasks(const struct agent_view *v, struct arena *arena,
		      Mesos__Agent__Response__GetTasks *get)
{
	const struct agent *agent = v->agent;
	struct shown_tasks to = {v, arena, get};

	for (const struct framework *f = agent->frameworks; f; f = f->hh.next)
		framework_tasks(&to, f);
	for (const struct list *at = agent->completed.next; at != &agent->completed; at = at->next)
		framework_tasks(&to, list_entry(at, struct framework, link));
}

/* ---- executors, frameworks ------------------------------------------------------------- */

/* Where executors go that may be seen. */
static void push_executor(const struct agent_view *v, const struct executor *e, struct arena *arena,
			  size_t *count, Mesos__Agent__Response__GetExecutors__Executor ***out)
{
	Mesos__Agent__Response__GetExecutors__Executor *message;

	if (!agent_view_sees_framework(v, e->framework) || !agent_view_sees_executor(v, e))
		return;
	message = PROTO_NEW(arena, Mesos__Agent__Response__GetExecutors__Executor,
			    mesos__agent__response__get_executors__executor__descriptor);
	message->executor_info = e->info;
	proto_push(arena, *count, *out, message);
}

static void completed_executors(const struct agent_view *v, const struct framework *f,
				struct arena *arena, Mesos__Agent__Response__GetExecutors *get)
{
	for (const struct list *at = f->completed.next; at != &f->completed; at = at->next)
		push_executor(v, list_entry(at, struct executor, link), arena,
			      &get->n_completed_executors, &get->completed_executors);
}

void agent_show_executors(const struct agent_view *v, struct arena *arena,
			  Mesos__Agent__Response__GetExecutors *get)
{
	const struct agent *agent = v->agent;

	for (const struct framework *f = agent->frameworks; f; f = f->hh.next) {
		for (const struct executor *e = f->executors; e; e = e->hh.next)
			push_executor(v, e, arena, &get->n_executors, &get->executors);
		completed_executors(v, f, arena, get);
	}
	for (const struct list *at = agent->completed.next; at != &agent->completed; at = at->next)
		completed_executors(v, list_entry(at, struct framework, link), arena, get);
}

static void push_framework(const struct agent_view *v, const struct framework *f,
			   struct arena *arena, size_t *count,
			   Mesos__Agent__Response__GetFrameworks__Framework ***out)
{
	Mesos__Agent__Response__GetFrameworks__Framework *message;

	if (!agent_view_sees_framework(v, f))
		return;
	message = PROTO_NEW(arena, Mesos__Agent__Response__GetFrameworks__Framework,
			    mesos__agent__response__get_frameworks__framework__descriptor);
	message->framework_info = f->info;
	proto_push(arena, *count, *out, message);
}

void agent_show_frameworks(const struct agent_view *v, struct arena *arena,
			   Mesos__Agent__Response__GetFrameworks *get)
{
	const struct agent *agent = v->agent;

	for (const struct framework *f = agent->frameworks; f; f = f->hh.next)
		push_framework(v, f, arena, &get->n_frameworks, &get->frameworks);
	for (const struct list *at = agent->completed.next; at != &agent->completed; at = at->next)
		push_framework(v, list_entry(at, struct framework, link), arena,
			       &get->n_completed_frameworks, &get->completed_frameworks);
}

void agent_show_operations(const struct agent *agent, struct arena *arena,
			   Mesos__Agent__Response__GetOperations *get)
{
	for (const struct operation *o = agent->operations; o; o = o->hh.next)
		proto_push(arena, get->n_operations, get->operations, o->record);
}

/* ---- how many --------------------------------------------------------------------------- */

static size_t count_list(const struct list *list, size_t limit)
{
	size_t count = 0;

	for (const struct list *at = list->next; at != list && count < limit; at = at->next)
		count++;
	return count;
}

static size_t count_executor(const struct executor *e, bool past, size_t limit)
{
	size_t count = 1 + (past ? count_list(&e->completed, limit) : 0);

	for (size_t i = 0; i < sizeof(e->tasks) / sizeof(*e->tasks) && count < limit; i++)
		count += count_list(&e->tasks[i], limit - count);
	return count;
}

static size_t count_framework(const struct framework *f, bool past, size_t limit)
{
	size_t count = 1;

	for (const struct executor *e = f->executors; e && count < limit; e = e->hh.next)
		count += count_executor(e, past, limit - count);
	for (const struct list *at = f->completed.next;
	     past && at != &f->completed && count < limit; at = at->next)
		count += count_executor(list_entry(at, struct executor, link), past, limit - count);
	return count;
}

size_t agent_show_count(const struct agent *agent, bool past, size_t limit)
{
	size_t count = 0;

	for (const struct framework *f = agent->frameworks; f && count < limit; f = f->hh.next)
		count += count_framework(f, past, limit - count);
	for (const struct list *at = agent->completed.next;
	     past && at != &agent->completed && count < limit; at = at->next)
		count += count_framework(list_entry(at, struct framework, link), past,
					 limit - count);
	return count;
}

/* ---- the agent itself --------------------------------------------------------------------- */

void agent_show_agent(const struct agent *agent, struct arena *arena,
		      Mesos__Agent__Response__GetAgent *get)
{
	get->agent_info = agent->info;
	if (!agent->drain)
		return;
	get->drain_config = agent->drain;
	get->estimated_drain_start_time =
		PROTO_NEW(arena, Mesos__TimeInfo, mesos__time_info__descriptor);
	/* Whole seconds, as in Mesos. */
	get->estimated_drain_start_time->nanoseconds = agent->drain_time / SECOND * SECOND;
}

/* ---- containers ------------------------------------------------------------------------------ */

static double sandbox_disk(const struct resources *r)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < r->count; i++) {
		const struct resource_piece *piece = &r->pieces[i];

		if (!resource_shape_persistence(piece->shape) &&
		    !strcmp(resource_shape_name(piece->shape), "disk"))
			sum += resource_piece_quantity(piece);
	}
	return (double)sum / 1000;
}

void agent_show_each_container(const struct agent_view *v,
			       void (*each)(void *context, const struct shown_container *c),
			       void *context)
{
	for (const struct framework *f = v->agent->frameworks; f; f = f->hh.next) {
		for (const struct executor *e = f->executors; e; e = e->hh.next) {
			const struct shown_container c = {
				.framework_id = f->id,
				.executor_id = e->id,
				.name = e->info->name,
				.source = e->info->source,
				.directory = e->sandbox,
				.container = e->container,
				.limits = agent_executor_limits(v->agent, e),
				.disk = sandbox_disk(&e->allocated),
				.networked = e->networked,
			};

			if (agent_view_sees_container(v, e))
				each(context, &c);
		}
	}
}

void agent_show_each_standalone(const struct agent_view *v,
				void (*each)(void *context, const struct shown_container *c),
				void *context)
{
	for (const struct nested *n = v->agent->nested; n; n = n->hh.next) {
		const struct shown_container c = {
			.directory = n->sandbox,
			.container = n->id,
			.limits = agent_launch_limits(v->agent, n->launch),
		};

		if (n->standalone == n && n->state == NESTED_RUNNING &&
		    agent_view_allows(v, ACL_VIEW_STANDALONE_CONTAINER, NULL))
			each(context, &c);
	}
}

void agent_show_each_inside(const struct agent *agent, const char *container,
			    void (*each)(void *context, const char *id), void *context)
{
	const struct executor *executor = agent_container_find((struct agent *)agent, container);
	const struct nested *standalone = executor ? NULL : agent_standalone_find(agent, container);
	const struct list *list = executor     ? &executor->nested
				  : standalone ? &standalone->inside
					       : NULL;

	for (const struct list *at = list ? list->next : NULL; at != list; at = at->next) {
		const struct nested *nested = list_entry(at, struct nested, link);

		if (nested->state == NESTED_RUNNING)
			each(context, nested->id);
	}
}
