/* The fake backend of containers (agent/containers/core/containers.h): a host on which executors
 * are started a moment after they were asked for, and end. They live on without their agent, unless
 * its machine crashes. */
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "lab/parts/agent_part.h"

#define PREPARE_HIGH (100 * MILLISECOND)
#define EXEC_HIGH (200 * MILLISECOND)

enum host_state {
	HOST_PREPARED, /* directories alone: of no use to another life of the agent */
	HOST_STARTING, /* its process is there, but not its program yet */
	HOST_UP,
	HOST_OVER,
};

/* A container as the host knows it. */
struct host_container {
	struct happening happening; /* what it is at; or, once over, the agent hears of its end */
	struct happening answer;    /* to the agent */
	struct list link;
	struct agent_part *part;
	char *id;
	char **environment;
	enum host_state state;
	struct executor_part *executor;
	int64_t pid;
	int status;
	bool watched; /* the agent hears of its end */
};

static void host_free(struct host_container *c)
{
	world_cancel(c->part->world, &c->happening);
	world_cancel(c->part->world, &c->answer);
	list_remove(&c->link);
	if (c->executor)
		executor_part_destroy(c->executor);
	for (char **e = c->environment; e && *e; e++)
		free(*e);
	free(c->environment);
	free(c->id);
	free(c);
}

static struct host_container *host_find(struct agent_part *part, const char *id)
{
	struct host_container *c, *next;

	list_for_each (c, next, &part->hosted, link) {
		if (!strcmp(c->id, id))
			return c;
	}
	return NULL;
}

static struct host_container *host_add(struct agent_part *part, const char *id)
{
	struct host_container *c = xcalloc(1, sizeof(*c));

	c->part = part;
	c->id = xstrdup(id);
	list_append(&part->hosted, &c->link);
	return c;
}

/* Something is told to the agent after a moment, unless it is gone or stopped until then. */
static void answer_soon(struct host_container *c, void (*run)(struct happening *h), int64_t high)
{
	c->answer.run = run;
	world_after(c->part->world, &c->answer, world_between(c->part->world, 0, high));
}

/* Whether the agent can be told now. */
static bool can_tell(struct host_container *c, struct happening *h)
{
	return c->part->alive && c->watched && !process_holds(&c->part->process, h);
}

/* ---- launches ---------------------------------------------------------------- */

static void on_prepared(struct happening *h)
{
	struct host_container *c = container_of(h, struct host_container, answer);

	if (can_tell(c, h))
		containers_prepared(c->part->containers, c->id, false);
}

static void host_prepare(void *context, const struct agent_launch *launch)
{
	struct agent_part *part = context;
	struct host_container *c = host_add(part, launch->container);
	size_t count = 0;

	agent_part_use_volumes(part, &launch->volumes);
	while (launch->environment[count])
		count++;
	c->environment = xcalloc(count + 1, sizeof(*c->environment));
	for (size_t i = 0; i < count; i++)
		c->environment[i] = xstrdup(launch->environment[i]);
	c->state = HOST_PREPARED;
	c->watched = true;
	answer_soon(c, on_prepared, PREPARE_HIGH);
}

/* No URIs here. */
static void host_fetch(void *context, const char *id)
{
	containers_fetched(((struct agent_part *)context)->containers, id);
}

static void on_program_runs(struct happening *h)
{
	struct host_container *c = container_of(h, struct host_container, happening);

	c->state = HOST_UP;
	c->executor = executor_part_create(c->part->world, c->part, c->id, c->environment);
}

static void host_start(void *context, const char *id)
{
	struct agent_part *part = context;
	struct host_container *c = host_find(part, id);

	c->state = HOST_STARTING;
	c->pid = ++part->last_pid;
	c->happening.run = on_program_runs;
	world_after(part->world, &c->happening, world_between(part->world, MILLISECOND, EXEC_HIGH));
	containers_started(part->containers, id, c->pid, (uint64_t)c->pid);
}

/* ---- ends ---------------------------------------------------------------------- */

static void on_over(struct happening *h)
{
	struct host_container *c = container_of(h, struct host_container, happening);

	/* Else it is kept until an agent asks for it. */
	if (can_tell(c, h))
		containers_ended(c->part->containers, c->id, c->pid != 0, c->status);
}

static void host_over(struct host_container *c, int status)
{
	c->state = HOST_OVER;
	c->status = status;
	c->executor = NULL;
	c->happening.run = on_over;
	world_after(c->part->world, &c->happening,
		    world_between(c->part->world, MILLISECOND, 100 * MILLISECOND));
}

void agent_part_exited(struct agent_part *part, struct executor_part *executor, int status)
{
	struct host_container *c = host_find(part, executor_part_container(executor));

	executor_part_destroy(executor);
	host_over(c, status);
}

static void host_kill(void *context, const char *id)
{
	struct host_container *c = host_find(context, id);

	if (c->state == HOST_OVER)
		return;
	if (c->executor)
		executor_part_destroy(c->executor);
	host_over(c, 9);
}

/* What runs here takes no signals. */
static void host_signal(void *context, const char *id, int signal)
{
	(void)context;
	(void)id;
	(void)signal;
}

static void on_cleaned(struct happening *h)
{
	struct host_container *c = container_of(h, struct host_container, answer);

	if (can_tell(c, h))
		containers_cleaned(c->part->containers, c->id, true);
}

static void host_clean(void *context, const char *id)
{
	answer_soon(host_find(context, id), on_cleaned, MILLISECOND);
}

/* ---- of earlier lives of the agent ------------------------------------------------ */

static void on_found(struct happening *h)
{
	struct host_container *c = container_of(h, struct host_container, answer);

	if (!can_tell(c, h))
		return;
	if (c->state == HOST_OVER)
		containers_ended(c->part->containers, c->id, c->pid != 0, c->status);
	else
		containers_started(c->part->containers, c->id, c->pid, (uint64_t)c->pid);
}

static void host_look(void *context, const char *id, int64_t pid, uint64_t start_ticks)
{
	struct agent_part *part = context;
	struct host_container *c = host_find(part, id);

	(void)pid;
	(void)start_ticks;
	if (!c) {
		c = host_add(part, id);
		c->state = HOST_OVER;
	}
	/* Its end comes after the answer, or is the answer. */
	if (c->state == HOST_OVER)
		world_cancel(part->world, &c->happening);
	c->watched = true;
	answer_soon(c, on_found, 10 * MILLISECOND);
}

static void host_forget(void *context, const char *id, bool over)
{
	struct host_container *c = host_find(context, id);

	/* What was only prepared does not outlive the agent. */
	if (over || c->state == HOST_PREPARED) {
		host_free(c);
		return;
	}
	c->watched = false;
	world_cancel(c->part->world, &c->answer);
	if (c->state == HOST_OVER)
		world_cancel(c->part->world, &c->happening);
}

static void host_limit(void *context, const char *id, const struct agent_limits *limits)
{
	(void)context;
	(void)id;
	(void)limits;
}

static void host_clear(void *context, const char *id)
{
	(void)context;
	(void)id;
}

const struct container_backend agent_part_host = {
	.prepare = host_prepare,
	.fetch = host_fetch,
	.start = host_start,
	.find = host_look,
	.kill = host_kill,
	.signal = host_signal,
	.clean = host_clean,
	.forget = host_forget,
	.limit = host_limit,
	.clear = host_clear,
};

/* ---- for the lab ------------------------------------------------------------------- */

void agent_part_drop_containers(struct agent_part *part)
{
	while (!list_empty(&part->hosted))
		host_free(list_first(&part->hosted, struct host_container, link));
}

void agent_part_describe(const struct agent_part *part, struct buf *out)
{
	struct host_container *c, *next;

	list_for_each (c, next, &part->hosted, link)
		buf_printf(out, "%s: container %s is %s%s\n", part->name, c->id,
			   c->state == HOST_OVER ? "over"
			   : c->state == HOST_UP ? "up"
						 : "starting",
			   timer_running(&c->happening.timer) ? " (due)" : "");
}

/* Ended while no agent was there, and no later one asked: a zombie that init reaps. */
static bool reaped(const struct host_container *c)
{
	return c->state == HOST_OVER && !timer_running(&c->happening.timer);
}

bool agent_part_idle(const struct agent_part *part)
{
	struct host_container *c, *next;

	list_for_each (c, next, &part->hosted, link) {
		if (!reaped(c))
			return false;
	}
	return true;
}

void agent_part_end_deaf(struct agent_part *part)
{
	struct host_container *c, *next;

	list_for_each (c, next, &part->hosted, link) {
		if (c->executor)
			executor_part_end_deaf(c->executor);
	}
}
