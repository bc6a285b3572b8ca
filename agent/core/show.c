#include "agent/core/show.h"

#include "agent/core/objects.h"

/* ---- tasks ------------------------------------------------------------------------- */

static void push_tasks(struct arena *arena, const struct list *list, size_t *count,
		       Mesos__Task ***out)
{
	for (const struct list *at = list->next; at != list; at = at->next)
		proto_push(arena, *count, *out, list_entry(at, struct task, link)->record);
}

static void executor_tasks(const struct executor *e, struct arena *arena,
			   Mesos__Agent__Response__GetTasks *get)
{
	push_tasks(arena, &e->tasks[TASK_QUEUED], &get->n_queued_tasks, &get->queued_tasks);
	push_tasks(arena, &e->tasks[TASK_LAUNCHED], &get->n_launched_tasks, &get->launched_tasks);
	push_tasks(arena, &e->tasks[TASK_TERMINATED], &get->n_terminated_tasks,
		   &get->terminated_tasks);
	push_tasks(arena, &e->completed, &get->n_completed_tasks, &get->completed_tasks);
}

static void framework_tasks(const struct framework *f, struct arena *arena,
			    Mesos__Agent__Response__GetTasks *get)
{
	for (const struct executor *e = f->executors; e; e = e->hh.next)
		executor_tasks(e, arena, get);
	for (const struct list *at = f->completed.next; at != &f->completed; at = at->next)
		executor_tasks(list_entry(at, struct executor, link), arena, get);
}

void agent_show_tasks(const struct agent *agent, struct arena *arena,
		      Mesos__Agent__Response__GetTasks *get)
{
	for (const struct framework *f = agent->frameworks; f; f = f->hh.next)
		framework_tasks(f, arena, get);
	for (const struct list *at = agent->completed.next; at != &agent->completed; at = at->next)
		framework_tasks(list_entry(at, struct framework, link), arena, get);
}

/* ---- executors, frameworks ------------------------------------------------------------- */

static Mesos__Agent__Response__GetExecutors__Executor *executor_message(const struct executor *e,
									struct arena *arena)
{
	Mesos__Agent__Response__GetExecutors__Executor *message =
		PROTO_NEW(arena, Mesos__Agent__Response__GetExecutors__Executor,
			  mesos__agent__response__get_executors__executor__descriptor);

	message->executor_info = e->info;
	return message;
}

static void completed_executors(const struct framework *f, struct arena *arena,
				Mesos__Agent__Response__GetExecutors *get)
{
	for (const struct list *at = f->completed.next; at != &f->completed; at = at->next)
		proto_push(arena, get->n_completed_executors, get->completed_executors,
			   executor_message(list_entry(at, struct executor, link), arena));
}

void agent_show_executors(const struct agent *agent, struct arena *arena,
			  Mesos__Agent__Response__GetExecutors *get)
{
	for (const struct framework *f = agent->frameworks; f; f = f->hh.next) {
		for (const struct executor *e = f->executors; e; e = e->hh.next)
			proto_push(arena, get->n_executors, get->executors,
				   executor_message(e, arena));
		completed_executors(f, arena, get);
	}
	for (const struct list *at = agent->completed.next; at != &agent->completed; at = at->next)
		completed_executors(list_entry(at, struct framework, link), arena, get);
}

static Mesos__Agent__Response__GetFrameworks__Framework *
framework_message(const struct framework *f, struct arena *arena)
{
	Mesos__Agent__Response__GetFrameworks__Framework *message =
		PROTO_NEW(arena, Mesos__Agent__Response__GetFrameworks__Framework,
			  mesos__agent__response__get_frameworks__framework__descriptor);

	message->framework_info = f->info;
	return message;
}

void agent_show_frameworks(const struct agent *agent, struct arena *arena,
			   Mesos__Agent__Response__GetFrameworks *get)
{
	for (const struct framework *f = agent->frameworks; f; f = f->hh.next)
		proto_push(arena, get->n_frameworks, get->frameworks, framework_message(f, arena));
	for (const struct list *at = agent->completed.next; at != &agent->completed; at = at->next)
		proto_push(arena, get->n_completed_frameworks, get->completed_frameworks,
			   framework_message(list_entry(at, struct framework, link), arena));
}

void agent_show_operations(const struct agent *agent, struct arena *arena,
			   Mesos__Agent__Response__GetOperations *get)
{
	for (const struct operation *o = agent->operations; o; o = o->hh.next)
		proto_push(arena, get->n_operations, get->operations, o->record);
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

void agent_show_each_container(const struct agent *agent,
			       void (*each)(void *context, const struct shown_container *c),
			       void *context)
{
	for (const struct framework *f = agent->frameworks; f; f = f->hh.next) {
		for (const struct executor *e = f->executors; e; e = e->hh.next) {
			const struct shown_container c = {
				.framework_id = f->id,
				.executor_id = e->id,
				.name = e->info->name,
				.container = e->container,
				.cpus = (double)resources_quantity(&e->allocated, "cpus") / 1000,
				.mem = (double)resources_quantity(&e->allocated, "mem") / 1000,
			};

			each(context, &c);
		}
	}
}
