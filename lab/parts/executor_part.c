/* An executor and its tasks, by the production driver (client/executor.h) on a simulated loop.
 * Tasks do what their names say (parts.h). A command executor (as mesita's own) ends with its
 * task. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "client/executor.h"
#include "lab/parts/parts.h"
#include "lab/seams/seams.h"

#define EXITED_WITH(code) ((code) << 8)
#define SHY_HIGH (2 * MINUTE)	 /* until anything is said of a shy task */
#define LAZY_HIGH (2 * MINUTE)	 /* until a lazy one runs */
#define GENTLE_HIGH (2 * MINUTE) /* until a gentle one is killed */

struct lab_task {
	struct happening end, run, kill;
	struct list link;
	struct executor_part *part;
	Mesos__TaskInfo *info; /* heap */
	bool over;	       /* its end was reported */
};

struct executor_part {
	struct world *world;
	struct agent_part *agent;
	struct process process;
	char *container, *framework_id, *executor_id;
	bool checkpoint, command;
	bool shut_down;	    /* it was told to end */
	char **environment; /* ended by NULL */
	struct sim_loop loop;
	struct executor_driver *driver; /* NULL at first */
	uint64_t next_call;
	struct happening begin, exit;
	int status;
	struct list tasks; /* struct lab_task.link */
	struct rng rng;
};

/* ---- tasks ---------------------------------------------------------------------------- */

static void on_exit_due(struct happening *h)
{
	struct executor_part *part = container_of(h, struct executor_part, exit);

	agent_part_exited(part->agent, part, part->status);
}

static void exit_after(struct executor_part *part, int status, int64_t span)
{
	if (timer_running(&part->exit.timer))
		return;
	part->status = status;
	world_log(part->world, "%s exits with %d", part->process.name, status);
	world_after(part->world, &part->exit, span);
}

static void executor_part_report(struct lab_task *task, Mesos__TaskState state)
{
	struct executor_part *part = task->part;
	Mesos__TaskStatus status = MESOS__TASK_STATUS__INIT;

	status.task_id = task->info->task_id;
	status.state = state;
	sim_be(&part->process, part->environment);
	executor_driver_update(part->driver, &status);
}

static void cancel(struct lab_task *task)
{
	world_cancel(task->part->world, &task->end);
	world_cancel(task->part->world, &task->run);
	world_cancel(task->part->world, &task->kill);
}

static void end_task(struct lab_task *task, Mesos__TaskState state)
{
	if (task->over)
		return;
	task->over = true;
	world_log(task->part->world, "task %s ends as %s", task->info->task_id->value,
		  proto_enum_name(&mesos__task_state__descriptor, (int)state, SPELL_V1));
	cancel(task);
	executor_part_report(task, state);
}

/* Whether the word is in its name, which are a number and words. */
static bool executor_part_is(const struct lab_task *task, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = strchr(task->info->name, ' '); at; at = strchr(at + 1, ' ')) {
		if (!strncmp(at + 1, word, len) && (!at[1 + len] || at[1 + len] == ' '))
			return true;
	}
	return false;
}

/* What executors say at the end, and what becomes of those that say nothing. */
static const struct {
	const char *word;
	Mesos__TaskState state;
} said[] = {
	{"fail", MESOS__TASK_STATE__TASK_FAILED},     {"killed", MESOS__TASK_STATE__TASK_KILLED},
	{"lost", MESOS__TASK_STATE__TASK_LOST},	      {"gone", MESOS__TASK_STATE__TASK_GONE},
	{"dropped", MESOS__TASK_STATE__TASK_DROPPED}, {"error", MESOS__TASK_STATE__TASK_ERROR},
};
static const struct {
	const char *word;
	int status;
} silent[] = {{"crash", 11}, {"signal", 9}, {"exit", EXITED_WITH(3)}};

static void on_task_end(struct happening *h)
{
	struct lab_task *task = container_of(h, struct lab_task, end);

	for (size_t i = 0; i < sizeof(said) / sizeof(*said); i++) {
		if (!executor_part_is(task, said[i].word))
			continue;
		end_task(task, said[i].state);
		return;
	}
	for (size_t i = 0; i < sizeof(silent) / sizeof(*silent); i++) {
		if (!executor_part_is(task, silent[i].word))
			continue;
		exit_after(task->part, silent[i].status, 0);
		return;
	}
	end_task(task, MESOS__TASK_STATE__TASK_FINISHED);
}

static void on_task_runs(struct happening *h)
{
	executor_part_report(container_of(h, struct lab_task, run),
			     MESOS__TASK_STATE__TASK_RUNNING);
}

static void start_task(struct lab_task *task)
{
	struct world *w = task->part->world;

	if (!executor_part_is(task, "sudden"))
		executor_part_report(task, MESOS__TASK_STATE__TASK_STARTING);
	task->run.run = on_task_runs;
	if (executor_part_is(task, "lazy"))
		world_after(w, &task->run, world_between(w, 0, LAZY_HIGH));
	else
		executor_part_report(task, MESOS__TASK_STATE__TASK_RUNNING);
}

static void on_task_starts(struct happening *h)
{
	start_task(container_of(h, struct lab_task, run));
}

static void on_task_killed(struct happening *h)
{
	end_task(container_of(h, struct lab_task, kill), MESOS__TASK_STATE__TASK_KILLED);
}

static void executor_part_kill_task(struct lab_task *task)
{
	struct world *w = task->part->world;

	if (executor_part_is(task, "deaf") || task->over)
		return;
	if (!executor_part_is(task, "gentle")) {
		end_task(task, MESOS__TASK_STATE__TASK_KILLED);
	} else if (!timer_running(&task->kill.timer)) {
		world_cancel(w, &task->run);
		executor_part_report(task, MESOS__TASK_STATE__TASK_KILLING);
		world_after(w, &task->kill, world_between(w, 0, GENTLE_HIGH));
	}
}

/* It does not end when told to: its container must be destroyed. */
static bool has_deaf(const struct executor_part *part)
{
	struct lab_task *task, *next;

	list_for_each (task, next, &part->tasks, link) {
		if (executor_part_is(task, "deaf") && !task->over)
			return true;
	}
	return false;
}

void executor_part_end_deaf(struct executor_part *part)
{
	if (has_deaf(part))
		exit_after(part, 9, 0);
}

static void executor_part_launch(struct executor_part *part, const Mesos__TaskInfo *info)
{
	struct lab_task *task = xcalloc(1, sizeof(*task));
	struct world *w = part->world;

	task->part = part;
	task->info = proto_copy(info);
	task->end.run = on_task_end;
	task->run.run = on_task_starts;
	task->kill.run = on_task_killed;
	list_append(&part->tasks, &task->link);
	part->command = !info->executor;
	if (executor_part_is(task, "shy"))
		world_after(w, &task->run, world_between(w, 0, SHY_HIGH));
	else
		start_task(task);
	if (!executor_part_is(task, "hang") && !executor_part_is(task, "deaf"))
		world_after(w, &task->end, (int64_t)(strtod(info->name, NULL) * (double)SECOND));
}

static struct lab_task *executor_part_find_task(struct executor_part *part, const char *id)
{
	struct lab_task *task, *next;

	list_for_each (task, next, &part->tasks, link) {
		if (!strcmp(task->info->task_id->value, id))
			return task;
	}
	return NULL;
}

/* A command executor waits until its agent has all that it said. */
static void acknowledged(struct executor_part *part, const Mesos__Executor__Event__Acknowledged *a)
{
	const struct lab_task *task = executor_part_find_task(part, a->task_id->value);

	if (task && task->over && part->command && !executor_driver_unacknowledged(part->driver))
		exit_after(part, 0, world_between(part->world, 0, 500 * MILLISECOND));
}

/* ---- events -------------------------------------------------------------------------------- */

/* The agent says so, or it is lost for good: then nobody else would end it. */
static void executor_part_shut_down(struct executor_part *part)
{
	part->shut_down = true;
	if (!executor_driver_connected(part->driver))
		exit_after(part, EXITED_WITH(1), world_between(part->world, 0, SECOND));
	else if (!has_deaf(part))
		exit_after(part, 0, world_between(part->world, 0, SECOND));
}

static void executor_part_handle(void *context, const Mesos__Executor__Event *event)
{
	struct executor_part *part = context;
	struct lab_task *task;

	switch (event->type) {
	case MESOS__EXECUTOR__EVENT__TYPE__SUBSCRIBED:
		world_log(part->world, "%s is subscribed", part->process.name);
		break;
	case MESOS__EXECUTOR__EVENT__TYPE__LAUNCH:
		executor_part_launch(part, event->launch->task);
		break;
	case MESOS__EXECUTOR__EVENT__TYPE__LAUNCH_GROUP:
		for (size_t i = 0; i < event->launch_group->task_group->n_tasks; i++)
			executor_part_launch(part, event->launch_group->task_group->tasks[i]);
		break;
	case MESOS__EXECUTOR__EVENT__TYPE__KILL:
		task = executor_part_find_task(part, event->kill->task_id->value);
		if (task)
			executor_part_kill_task(task);
		break;
	case MESOS__EXECUTOR__EVENT__TYPE__ACKNOWLEDGED:
		acknowledged(part, event->acknowledged);
		break;
	case MESOS__EXECUTOR__EVENT__TYPE__SHUTDOWN:
		executor_part_shut_down(part);
		break;
	default:
		break;
	}
}

static void executor_part_failed(void *context, const char *why)
{
	struct executor_part *part = context;

	world_log(part->world, "%s gives up: %s", part->process.name, why);
	exit_after(part, EXITED_WITH(1), 0);
}

static void executor_part_disconnected(void *context)
{
	const struct executor_part *part = context;

	world_log(part->world, "%s lost its agent", part->process.name);
}

static const struct executor_handlers handlers = {executor_part_handle, executor_part_failed,
						  executor_part_disconnected};

static void executor_part_receive(struct process *p, struct conn *conn, const struct letter *letter)
{
	struct executor_part *part = container_of(p, struct executor_part, process);

	if (letter->kind == LETTER_REPLY && letter->status >= 300)
		world_log(part->world, "%s is answered %d: %s", p->name, letter->status,
			  letter->name);
	sim_loop_receive(&part->loop, conn, letter);
}

static void executor_part_closed(struct process *p, struct conn *conn)
{
	struct executor_part *part = container_of(p, struct executor_part, process);

	sim_loop_conn_closed(&part->loop, conn);
	/* A deaf one that was told to end: without checkpoints no later agent knows of it. */
	if (part->shut_down && !part->checkpoint)
		exit_after(part, EXITED_WITH(1), world_between(part->world, 0, SECOND));
}

static const struct process_ops ops = {executor_part_receive, executor_part_closed, NULL};

/* ---- life ------------------------------------------------------------------------------------ */

static void executor_part_on_begin(struct happening *h)
{
	struct executor_part *part = container_of(h, struct executor_part, begin);
	struct err err;

	sim_be(&part->process, part->environment);
	if (executor_driver_create(&part->loop, &part->rng, &handlers, part, &part->driver, &err))
		world_fail(part->world, "%s: %s", part->process.name, err.text);
}

static char **copy_environment(char *const *environment)
{
	size_t count = 0;
	char **copy;

	while (environment[count])
		count++;
	copy = xcalloc(count + 1, sizeof(*copy));
	for (size_t i = 0; i < count; i++)
		copy[i] = xstrdup(environment[i]);
	return copy;
}

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

static void tell_observer(const struct executor_part *part, bool up)
{
	struct observer *o = part->world->observer;
	struct executor_life life = {
		.process = &part->process,
		.agent = agent_part_address(part->agent),
		.framework_id = part->framework_id,
		.executor_id = part->executor_id,
		.checkpoint = part->checkpoint,
	};

	if (o)
		o->executor(o, &life, up);
}

struct executor_part *executor_part_create(struct world *w, struct agent_part *agent,
					   const char *container, char *const *environment)
{
	struct executor_part *part = xcalloc(1, sizeof(*part));
	char *name;

	part->world = w;
	part->agent = agent;
	part->container = xstrdup(container);
	part->environment = copy_environment(environment);
	part->process.world = w;
	sim_be(&part->process, part->environment);
	part->framework_id = xstrdup(variable("MESOS_FRAMEWORK_ID"));
	part->executor_id = xstrdup(variable("MESOS_EXECUTOR_ID"));
	part->checkpoint = !strcmp(variable("MESOS_CHECKPOINT"), "1");
	part->begin.run = executor_part_on_begin;
	part->exit.run = on_exit_due;
	list_init(&part->tasks);
	rng_seed(&part->rng, rng_next(&w->rng));
	name = xprintf("executor %s", part->executor_id);
	process_start(&part->process, w, &ops, name, NULL);
	free(name);
	sim_loop_init(&part->loop, &part->process, &part->next_call);
	tell_observer(part, true);
	world_after(w, &part->begin, world_between(w, MILLISECOND, 200 * MILLISECOND));
	return part;
}

void executor_part_destroy(struct executor_part *part)
{
	struct lab_task *task;

	tell_observer(part, false);
	part->loop.dead = true;
	if (part->driver)
		executor_driver_close(part->driver);
	sim_loop_free(&part->loop);
	process_end(&part->process);
	world_cancel(part->world, &part->begin);
	world_cancel(part->world, &part->exit);
	while ((task = list_first(&part->tasks, struct lab_task, link))) {
		cancel(task);
		list_remove(&task->link);
		proto_free(task->info);
		free(task);
	}
	for (char **at = part->environment; *at; at++)
		free(*at);
	free(part->environment);
	free(part->container);
	free(part->framework_id);
	free(part->executor_id);
	free(part);
}

const char *executor_part_container(const struct executor_part *part)
{
	return part->container;
}
