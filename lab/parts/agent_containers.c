/* Containers of a simulated agent: they start a moment after the agent asked, run an executor,
 * and end. They live on without their agent, unless its machine crashes. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "lab/parts/agent_part.h"

#define FORK_HIGH (300 * MILLISECOND)

enum container_state { CONTAINER_STARTING, CONTAINER_UP, CONTAINER_OVER };

struct container {
	struct happening happening; /* it starts; or the agent hears of its end */
	struct list link;
	struct agent_part *part;
	char *id;
	char **environment;
	enum container_state state;
	struct executor_part *executor;
	int64_t pid;
	int status;
	bool told;    /* the agent of this life knows of it */
	bool watched; /* and hears of its end */
};

static void container_free(struct container *c)
{
	world_cancel(c->part->world, &c->happening);
	list_remove(&c->link);
	if (c->executor)
		executor_part_destroy(c->executor);
	for (char **e = c->environment; *e; e++)
		free(*e);
	free(c->environment);
	free(c->id);
	free(c);
}

static struct container *find_container(struct agent_part *part, const char *id)
{
	struct container *c, *next;

	list_for_each (c, next, &part->containers, link) {
		if (!strcmp(c->id, id))
			return c;
	}
	return NULL;
}

static void tell_started(struct container *c)
{
	struct agent_event event = {.type = AGENT_CONTAINER_STARTED,
				    .container_started = {.container = c->id,
							  .pid = c->pid,
							  .start_ticks = (uint64_t)c->pid}};

	c->told = true;
	agent_part_feed(c->part, &event);
}

/* The agent hears of the end; the container is no more. */
static void on_over(struct happening *h)
{
	struct container *c = container_of(h, struct container, happening);
	struct agent_part *part = c->part;
	struct agent_event event = {
		.type = AGENT_CONTAINER_EXITED,
		.container_exited = {.container = c->id, .known = c->told, .status = c->status}};

	if (!part->alive || !c->watched)
		return; /* kept until an agent asks for it */
	if (process_holds(&part->process, h))
		return;
	list_remove(&c->link);
	agent_part_feed(part, &event);
	container_free(c);
}

static void container_over(struct container *c, int status)
{
	c->state = CONTAINER_OVER;
	c->status = status;
	c->executor = NULL;
	c->happening.run = on_over;
	world_after(c->part->world, &c->happening,
		    world_between(c->part->world, MILLISECOND, 100 * MILLISECOND));
}

static void on_started(struct happening *h)
{
	struct container *c = container_of(h, struct container, happening);
	struct agent_part *part = c->part;

	if (part->alive && process_holds(&part->process, h))
		return;
	c->state = CONTAINER_UP;
	c->pid = ++part->last_pid;
	c->executor = executor_part_create(part->world, part, c->id, c->environment);
	if (part->alive && c->watched)
		tell_started(c);
}

static void on_tell(struct happening *h)
{
	struct container *c = container_of(h, struct container, happening);
	struct agent_part *part = c->part;

	if (!part->alive || !c->watched)
		return;
	if (!process_holds(&part->process, h))
		tell_started(c);
}

/* The agent is in the middle of something. */
static void tell_soon(struct container *c)
{
	c->happening.run = on_tell;
	world_after(c->part->world, &c->happening, 0);
}

void agent_part_exited(struct agent_part *part, struct executor_part *executor, int status)
{
	struct container *c = find_container(part, executor_part_container(executor));

	executor_part_destroy(executor);
	container_over(c, status);
}

void agent_part_launch(struct agent_part *part, const struct agent_launch *launch)
{
	struct container *c = xcalloc(1, sizeof(*c));
	size_t count = 0;

	while (launch->environment[count])
		count++;
	c->part = part;
	c->id = xstrdup(launch->container);
	c->environment = xcalloc(count + 1, sizeof(*c->environment));
	for (size_t i = 0; i < count; i++)
		c->environment[i] = xstrdup(launch->environment[i]);
	c->told = c->watched = true;
	c->happening.run = on_started;
	list_append(&part->containers, &c->link);
	world_after(part->world, &c->happening, world_between(part->world, MILLISECOND, FORK_HIGH));
}

static void tell_exited(struct agent_part *part, const char *id)
{
	struct container *c = xcalloc(1, sizeof(*c));

	c->part = part;
	c->id = xstrdup(id);
	c->environment = xcalloc(1, sizeof(*c->environment));
	c->watched = true;
	list_append(&part->containers, &c->link);
	container_over(c, 0);
}

void agent_part_reattach(struct agent_part *part, const char *id, int64_t pid)
{
	struct container *c = find_container(part, id);

	if (c)
		c->watched = true;
	if (!c)
		tell_exited(part, id);
	else if (c->state == CONTAINER_UP && !pid)
		tell_soon(c);
	else if (c->state == CONTAINER_OVER && !timer_running(&c->happening.timer))
		container_over(c, c->status);
	else
		c->told = c->state != CONTAINER_STARTING;
}

void agent_part_end_container(struct agent_part *part, const char *id)
{
	struct container *c = find_container(part, id);

	if (!c) {
		tell_exited(part, id);
		return;
	}
	c->watched = true;
	if (c->state == CONTAINER_OVER) {
		if (!timer_running(&c->happening.timer))
			container_over(c, c->status);
		return;
	}
	if (c->executor)
		executor_part_destroy(c->executor);
	container_over(c, 9);
}

void agent_part_orphan(struct agent_part *part)
{
	struct container *c, *next;

	list_for_each (c, next, &part->containers, link)
		c->watched = false;
}

void agent_part_drop_containers(struct agent_part *part)
{
	while (!list_empty(&part->containers))
		container_free(list_first(&part->containers, struct container, link));
}

void agent_part_describe(const struct agent_part *part, struct buf *out)
{
	struct container *c, *next;

	list_for_each (c, next, &part->containers, link)
		buf_printf(out, "%s: container %s is %s%s\n", part->name, c->id,
			   c->state == CONTAINER_STARTING ? "starting"
			   : c->state == CONTAINER_UP	  ? "up"
							  : "over",
			   timer_running(&c->happening.timer) ? " (due)" : "");
}

/* Ended while no agent was there, and no later one asked: a zombie that init reaps. */
static bool reaped(const struct container *c)
{
	return c->state == CONTAINER_OVER && !timer_running(&c->happening.timer);
}

bool agent_part_idle(const struct agent_part *part)
{
	struct container *c, *next;

	list_for_each (c, next, &part->containers, link) {
		if (!reaped(c))
			return false;
	}
	return true;
}

void agent_part_end_deaf(struct agent_part *part)
{
	struct container *c, *next;

	list_for_each (c, next, &part->containers, link) {
		if (c->executor)
			executor_part_end_deaf(c->executor);
	}
}
