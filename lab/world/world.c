#include "lab/world/wires.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "lab/world/conn.h"

#define WORLD_BEGIN (1000000000 * SECOND) /* any time will do */

const char *const world_fault_names[WORLD_FAULTS] = {"kill",
						     "crash",
						     "cut",
						     "partition",
						     "slow disk",
						     "half-open connection",
						     "repeated letter",
						     "kill at a letter",
						     "failed sync",
						     "full disk",
						     "torn write",
						     "clock set",
						     "pause",
						     "operator",
						     "expired session",
						     "servers down",
						     "servers cut",
						     "servers out of reach",
						     "leader"};

/* ---- time ------------------------------------------------------------------- */

void world_init(struct world *w, uint64_t seed)
{
	memset(w, 0, sizeof(*w));
	w->seed = seed;
	rng_seed(&w->rng, seed);
	w->now = w->begin = WORLD_BEGIN;
	list_init(&w->processes);
	list_init(&w->conns);
	list_init(&w->echoes);
}

void world_free(struct world *w)
{
	world_drop_echoes(w);
	while (!list_empty(&w->conns))
		conn_break(list_first(&w->conns, struct conn, link));
	while (world_step(w, TIME_NEVER - 1))
		;
	trace_free(&w->trace);
	free(w->failure);
	timers_free(&w->timers);
	letters_free(w);
}

void world_check_empty(struct world *w)
{
	if (!list_empty(&w->processes))
		world_fail(w, "leaks: a process is left at the end");
	else if (!list_empty(&w->conns))
		world_fail(w, "leaks: a connection is left at the end");
	else if (timers_next(&w->timers) != TIME_NEVER)
		world_fail(w, "leaks: a timer is left at the end");
}

bool world_step(struct world *w, int64_t until)
{
	int64_t next = timers_next(&w->timers);
	struct timer *timer;

	if (next > until)
		return false;
	if (next > w->now)
		w->now = next;
	timer = timers_pop(&w->timers, w->now);
	if (timer) {
		struct happening *h = container_of(timer, struct happening, timer);

		h->run(h);
		if (w->observer)
			w->observer->stepped(w->observer);
	}
	return true;
}

void world_at(struct world *w, struct happening *h, int64_t when)
{
	h->held_by = NULL;
	timers_start(&w->timers, &h->timer, when < w->now ? w->now : when);
}

void world_after(struct world *w, struct happening *h, int64_t span)
{
	world_at(w, h, w->now + span);
}

void world_cancel(struct world *w, struct happening *h)
{
	timers_stop(&w->timers, &h->timer);
}

int64_t world_between(struct world *w, int64_t low, int64_t high)
{
	return low + (int64_t)(rng_unit(&w->rng) * (double)(high - low + 1));
}

bool world_chance(struct world *w, double probability)
{
	return rng_unit(&w->rng) < probability;
}

/* ---- the trace ---------------------------------------------------------------- */

void world_log(struct world *w, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	trace_add(&w->trace, w->now - w->begin, format, args);
	va_end(args);
}

void world_fail(struct world *w, const char *format, ...)
{
	struct buf text = BUF_INIT;
	char part[1024];
	va_list args;

	if (w->failure)
		return;
	va_start(args, format);
	vsnprintf(part, sizeof(part), format, args);
	va_end(args);
	buf_puts(&text, part);
	w->failure = buf_take(&text);
	world_log(w, "FAILED: %s", w->failure);
}

/* ---- processes ------------------------------------------------------------------ */

void process_start(struct process *p, struct world *w, const struct process_ops *ops,
		   const char *name, const char *address)
{
	*p = (struct process){.world = w,
			      .ops = ops,
			      .name = xstrdup(name),
			      .address = address ? xstrdup(address) : NULL};
	list_init(&p->conns);
	list_append(&w->processes, &p->link);
	if (w->observer)
		w->observer->started(w->observer, p);
}

bool process_holds(struct process *p, struct happening *h)
{
	if (!process_paused(p))
		return false;
	world_at(p->world, h, p->paused_until);
	h->held_by = p;
	return true;
}

static int in_order(const void *a, const void *b)
{
	const struct timer *const *x = a, *const *y = b;

	if ((*x)->deadline != (*y)->deadline)
		return (*x)->deadline < (*y)->deadline ? -1 : 1;
	return (*x)->sequence < (*y)->sequence ? -1 : 1;
}

void process_continue(struct process *p)
{
	struct world *w = p->world;
	struct timer **held;
	size_t count = 0;

	if (!process_paused(p))
		return;
	p->paused_until = w->now;
	held = xcalloc(w->timers.count + 1, sizeof(struct timer *));
	for (size_t i = 0; i < w->timers.count; i++) {
		if (container_of(w->timers.heap[i], struct happening, timer)->held_by == p)
			held[count++] = w->timers.heap[i];
	}
	qsort(held, count, sizeof(struct timer *), in_order);
	for (size_t i = 0; i < count; i++)
		world_at(w, container_of(held[i], struct happening, timer), w->now);
	free(held);
}

void process_pause(struct process *p, int64_t span)
{
	int64_t until = p->world->now + span;

	if (!process_paused(p))
		p->paused_since = p->world->now;
	p->paused_until = until > p->paused_until ? until : p->paused_until;
	p->deaf_until = until > p->deaf_until ? until : p->deaf_until;
	p->mute_until = until > p->mute_until ? until : p->mute_until;
	world_log(p->world, "%s is stopped until %.3f", p->name,
		  (double)(p->paused_until - p->world->begin) / SECOND);
}

struct process *process_at(struct world *w, const char *address)
{
	struct process *p, *next;

	list_for_each (p, next, &w->processes, link) {
		if (p->address && !strcmp(p->address, address))
			return p;
	}
	return NULL;
}
