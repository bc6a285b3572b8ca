/* Filters: what leaves refused on agents.
 *
 * A filter hides an offer that the refused resources contain. It lasts at least one
 * allocation interval and always meets one batch (a cycle over all agents): one
 * that expires earlier waits as overdue, still in force, until a batch has run.
 *
 * On an agent that is full of filters, one framework after the other was offered the same
 * and refused it: they share one copy of that.
 */
#include <math.h>
#include <stdlib.h>

#include "allocator/agents/agents.h"
#include "allocator/agents/filters.h"
#include "allocator/agents/stakes.h"
#include "allocator/memory.h"
#include "allocator/objects.h"
#include "base/memory/arena.h"
#include "base/time/clock.h"

#define REFUSE_MAX (365 * DAY)

int64_t alloc_refuse_duration(double seconds)
{
	if (isnan(seconds) || seconds < 0)
		seconds = ALLOCATOR_REFUSE_DEFAULT;
	if (seconds > (double)(REFUSE_MAX / SECOND))
		return REFUSE_MAX;
	return (int64_t)(seconds * (double)SECOND);
}

static void refusal_unref(struct refusal *refusal)
{
	if (--refusal->refs > 0)
		return;
	resources_free(&refusal->resources);
	free(refusal);
}

/* Of `refused`, which it takes over, unless the latest one on the agent is of the same. */
static struct refusal *refusal_get(struct alloc_agent *agent, struct resources *refused)
{
	struct refusal *refusal = agent->refusal;

	if (refusal && resources_equal(&refusal->resources, refused)) {
		resources_free(refused);
	} else {
		if (refusal)
			refusal_unref(refusal);
		refusal = xcalloc(1, sizeof(*refusal));
		refusal->refs = 1; /* the agent's */
		refusal->resources = *refused;
		agent->refusal = refusal;
	}
	refusal->refs++;
	return refusal;
}

struct filter *alloc_filter_make(struct allocator *a, struct stake *stake,
				 const struct resources *allocated, int64_t since, int64_t until)
{
	struct filter *filter = xcalloc(1, sizeof(*filter));
	struct resources refused = RESOURCES_INIT;

	filter->stake = stake;
	filter->since = since;
	filter->born = a->batches;
	list_init(&filter->overdue);
	list_init(&filter->memory.changed);
	list_append(&stake->filters, &filter->link);
	resources_allocate(a->shapes, allocated, NULL, &refused);
	filter->refusal = refusal_get(stake->key.agent, &refused);
	timers_start(&a->timers, &filter->timer, until);
	stake->key.agent->filters++;
	stake->key.leaf->role->filters++;
	a->filters++;
	return filter;
}

void alloc_filter_add(struct allocator *a, struct stake *stake, int64_t now,
		      const struct resources *allocated, double refuse_seconds)
{
	int64_t duration = alloc_refuse_duration(refuse_seconds);

	if (duration == 0)
		return;
	if (duration < a->interval)
		duration = a->interval;
	struct filter *filter = alloc_filter_make(a, stake, allocated, now, now + duration);
	filter->number = ++a->last_filter;
	alloc_memory_filter(a, filter);
}

static void filter_free(struct allocator *a, struct filter *filter)
{
	struct alloc_agent *agent = filter->stake->key.agent;

	alloc_memory_drop_filter(a, filter);
	timers_stop(&a->timers, &filter->timer);
	list_remove(&filter->overdue);
	list_remove(&filter->link);
	if (--agent->filters == 0) {
		refusal_unref(agent->refusal);
		agent->refusal = NULL;
	}
	filter->stake->key.leaf->role->filters--;
	a->filters--;
	refusal_unref(filter->refusal);
	free(filter);
}

void alloc_filters_drop(struct allocator *a, struct stake *stake)
{
	struct filter *filter, *next;

	list_for_each (filter, next, &stake->filters, link)
		filter_free(a, filter);
}

static void filter_expire(struct allocator *a, struct filter *filter)
{
	struct stake *stake = filter->stake;

	filter_free(a, filter);
	alloc_agent_wake(a, stake);
}

void alloc_filters_expire(struct allocator *a, int64_t now)
{
	struct timer *timer;

	while ((timer = timers_pop(&a->timers, now))) {
		struct filter *filter = container_of(timer, struct filter, timer);

		if (filter->born < a->batches)
			filter_expire(a, filter);
		else
			list_append(&a->overdue, &filter->overdue);
	}
}

void alloc_filters_end_batch(struct allocator *a)
{
	struct filter *filter, *next;

	a->batches++;
	list_for_each (filter, next, &a->overdue, overdue)
		filter_expire(a, filter);
}

bool alloc_filters_match(struct allocator *a, struct alloc_agent *agent, struct leaf *leaf,
			 const struct resources *offer)
{
	struct filter *filter, *next;
	struct stake *stake = agent->filters > 0 ? alloc_stake_find(a, agent, leaf) : NULL;

	if (!stake)
		return false;
	list_for_each (filter, next, &stake->filters, link) {
		if (resources_contain(&filter->refusal->resources, offer))
			return true;
	}
	return false;
}
