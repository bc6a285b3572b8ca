/* One cycle: which agents it sees.
 *
 * Those from which something could be given that could not before, in order of arrival:
 * Mesos shuffles them, and promises no order. First all of them for what roles lack of their
 * guarantees, if any does, then all of them for the rest.
 */
#include <stdlib.h>

#include "allocator/agents/filters.h"
#include "allocator/agents/hold.h"
#include "allocator/agents/inverse.h"
#include "allocator/cycle/cycle.h"
#include "allocator/cycle/visit.h"
#include "allocator/memory.h"
#include "allocator/objects.h"
#include "allocator/quota/headroom.h"
#include "allocator/quota/quota.h"
#include "base/memory/arena.h"

static size_t add_visit(struct allocator *a, struct alloc_agent *agent, size_t count)
{
	if (agent->mark == a->cycles || !alloc_agent_open(agent))
		return count;
	agent->mark = a->cycles;
	if (count == a->visit_cap) {
		a->visit_cap = a->visit_cap ? a->visit_cap * 2 : 64;
		a->visit = xrealloc(a->visit, a->visit_cap * sizeof(*a->visit));
	}
	a->visit[count] = (struct visit){.agent = agent, .number = agent->number};
	return count + 1;
}

static size_t add_blocked(struct allocator *a, size_t count)
{
	struct alloc_agent *agent, *next;

	list_for_each (agent, next, &a->blocked, blocked)
		count = add_visit(a, agent, count);
	return count;
}

/* The agents from which something could be given: dirty ones, and when leaves became
 * willing all with something left. */
static size_t collect_visits(struct allocator *a, bool everyone)
{
	bool woken = a->willing_clock > a->visited;
	struct alloc_agent *agent, *next;
	size_t count = 0;

	if (!everyone) {
		list_for_each (agent, next, &a->candidates, candidate)
			count = add_visit(a, agent, count);
		return count;
	}
	list_for_each (agent, next, &a->dirty, dirty)
		count = add_visit(a, agent, count);
	if (woken) {
		list_for_each (agent, next, &a->spare, spare)
			count = add_visit(a, agent, count);
	}
	return alloc_quota_any_loose(a) ? add_blocked(a, count) : count;
}

static int visit_order(const void *left, const void *right)
{
	uint64_t a = ((const struct visit *)left)->number;
	uint64_t b = ((const struct visit *)right)->number;

	return (a > b) - (a < b);
}

/* Most often they are in order. */
static void sort_visits(struct allocator *a, size_t count)
{
	size_t ordered = 1;

	while (ordered < count && visit_order(&a->visit[ordered - 1], &a->visit[ordered]) < 0)
		ordered++;
	if (ordered < count)
		qsort(a->visit, count, sizeof(*a->visit), visit_order);
}

/* With the last guarantee satisfied in the first stage there is no bound any more. */
static size_t collect_released(struct allocator *a, size_t count)
{
	if (a->headroom_rose || !alloc_headroom_loose(a))
		return count;
	a->headroom_rose = true;
	count = add_blocked(a, count);
	sort_visits(a, count);
	return count;
}

void alloc_candidates_clear(struct allocator *a)
{
	struct alloc_agent *agent, *next;

	a->all_candidates = false;
	list_for_each (agent, next, &a->candidates, candidate)
		list_remove(&agent->candidate);
}

/* Those that were collected. `whole`: with them a cycle over all has seen everyone. */
static void visit_collected(struct allocator *a, size_t count, bool whole,
			    struct allocator_grants *out)
{
	sort_visits(a, count);
	for (size_t i = 0; i < count && a->lackers > 0; i++)
		alloc_visit_first(a, &a->visit[i], out);
	if (whole)
		count = collect_released(a, count);
	for (size_t i = 0; i < count; i++)
		alloc_visit_second(a, &a->visit[i], out);
	alloc_quota_end(a, whole);
}

void allocator_cycle(struct allocator *a, int64_t now, bool all, struct allocator_grants *out)
{
	bool everyone = all || a->all_candidates;

	alloc_filters_expire(a, now);
	alloc_memory_settle(a);
	if (alloc_hold_keeps(a, now)) {
		alloc_candidates_clear(a);
		if (all)
			alloc_filters_end_batch(a);
		return;
	}
	a->cycles++;
	alloc_quota_begin(a);
	visit_collected(a, collect_visits(a, everyone), everyone, out);
	alloc_inverse_cycle(a, now, everyone, out);
	alloc_candidates_clear(a);
	if (everyone)
		a->visited = a->willing_clock;
	if (all)
		alloc_filters_end_batch(a);
}

/* ---- in parts ------------------------------------------------------------------ */

static size_t add_to_part(struct allocator *a, struct alloc_agent *agent, size_t count)
{
	/* What changed since it was visited is for the next one. */
	if (agent->visited_part == a->cycles_in_parts)
		return count;
	agent->visited_part = a->cycles_in_parts;
	return add_visit(a, agent, count);
}

/* Those that it has come across are at the end of the lists. */
static size_t add_dirty_part(struct allocator *a, size_t count, size_t max)
{
	struct alloc_agent *agent;

	while (count < max && (agent = list_first(&a->dirty, struct alloc_agent, dirty)) &&
	       agent->dirty_part != a->cycles_in_parts) {
		agent->dirty_part = a->cycles_in_parts;
		list_remove(&agent->dirty);
		list_append(&a->dirty, &agent->dirty);
		count = add_to_part(a, agent, count);
	}
	return count;
}

static size_t add_spare_part(struct allocator *a, size_t count, size_t max)
{
	struct alloc_agent *agent;

	while (count < max && (agent = list_first(&a->spare, struct alloc_agent, spare)) &&
	       agent->spare_part != a->cycles_in_parts) {
		agent->spare_part = a->cycles_in_parts;
		list_remove(&agent->spare);
		list_append(&a->spare, &agent->spare);
		count = add_to_part(a, agent, count);
	}
	return count;
}

static size_t collect_part(struct allocator *a, size_t max)
{
	size_t count = add_dirty_part(a, 0, max);

	/* When leaves became willing, all with something left. */
	return a->willing_before > a->visited ? add_spare_part(a, count, max) : count;
}

/* What it asks for from now on is for the next one. */
static void begin_parts(struct allocator *a)
{
	a->in_parts = true;
	a->cycles_in_parts++;
	a->willing_before = a->willing_clock;
	a->quota_before = a->quota_version;
	alloc_candidates_clear(a);
}

static void end_parts(struct allocator *a, int64_t now, bool batch, struct allocator_grants *out)
{
	a->in_parts = false;
	alloc_inverse_cycle(a, now, true, out);
	a->quota_seen = a->quota_before;
	if (a->visited < a->willing_before)
		a->visited = a->willing_before;
	if (batch)
		alloc_filters_end_batch(a);
}

bool allocator_cycle_part(struct allocator *a, int64_t now, bool batch, size_t max,
			  struct allocator_grants *out)
{
	size_t count;
	bool last;

	if (!a->in_parts)
		begin_parts(a);
	alloc_filters_expire(a, now);
	alloc_memory_settle(a);
	if (alloc_hold_keeps(a, now)) {
		a->in_parts = false;
		if (batch)
			alloc_filters_end_batch(a);
		return false;
	}
	a->cycles++;
	alloc_quota_begin(a);
	count = collect_part(a, max);
	last = count < max;
	if (last && alloc_quota_any_loose(a))
		count = add_blocked(a, count);
	visit_collected(a, count, last, out);
	if (last)
		end_parts(a, now, batch, out);
	return !last;
}
