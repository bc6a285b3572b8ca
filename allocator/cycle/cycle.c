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
	size_t count = collect_visits(a, everyone);
	sort_visits(a, count);
	for (size_t i = 0; i < count && a->lackers > 0; i++)
		alloc_visit_first(a, &a->visit[i], out);
	if (everyone)
		count = collect_released(a, count);
	for (size_t i = 0; i < count; i++)
		alloc_visit_second(a, &a->visit[i], out);
	alloc_quota_end(a, everyone);
	alloc_inverse_cycle(a, now, everyone, out);
	alloc_candidates_clear(a);
	if (everyone)
		a->visited = a->willing_clock;
	if (all)
		alloc_filters_end_batch(a);
}
