/* Inverse offers: a framework that holds something on an agent with a maintenance window is
 * asked to leave.
 *
 * There is at most one outstanding for a pair, and none while a filter of the pair lasts.
 * Both are one record, found by the pair and listed on both sides. That of a filter that is
 * over stays for the next inverse offer, or goes with the window, the agent or the framework.
 * Batches see the agents with windows, event-driven cycles those of their
 * candidates that have one.
 */
#include <stdlib.h>

#include "allocator/agents/agents.h"
#include "allocator/agents/filters.h"
#include "allocator/agents/inverse.h"
#include "allocator/objects.h"
#include "allocator/roles/frameworks.h"
#include "base/memory/arena.h"

struct inverse_key {
	struct alloc_agent *agent;
	struct alloc_framework *framework;
};

struct inverse {
	UT_hash_handle hh;
	struct inverse_key key;
	bool outstanding;
	int64_t until; /* of the filter, if not outstanding */
	struct list of_agent;
	struct list of_framework;
};

static struct inverse *inverse_find(struct allocator *a, struct alloc_agent *agent,
				    struct alloc_framework *framework)
{
	struct inverse_key key = {agent, framework};
	struct inverse *inverse;

	HASH_FIND(hh, a->inverse, &key, sizeof(key), inverse);
	return inverse;
}

static void inverse_free(struct allocator *a, struct inverse *inverse)
{
	HASH_DEL(a->inverse, inverse);
	list_remove(&inverse->of_agent);
	list_remove(&inverse->of_framework);
	free(inverse);
}

static void append(struct allocator_grants *grants, const struct inverse *inverse)
{
	if (grants->inverse_count == grants->inverse_cap) {
		grants->inverse_cap = grants->inverse_cap ? grants->inverse_cap * 2 : 16;
		grants->inverse =
			xrealloc(grants->inverse, grants->inverse_cap * sizeof(*grants->inverse));
	}
	grants->inverse[grants->inverse_count++] = (struct allocator_inverse){
		.framework = inverse->key.framework->owner,
		.agent = inverse->key.agent->owner,
	};
}

static void inverse_ask(struct allocator *a, int64_t now, struct alloc_agent *agent,
			struct alloc_framework *framework, struct allocator_grants *out)
{
	struct inverse *inverse = inverse_find(a, agent, framework);

	if (inverse && (inverse->outstanding || inverse->until > now))
		return;
	if (!inverse) {
		inverse = xcalloc(1, sizeof(*inverse));
		inverse->key = (struct inverse_key){agent, framework};
		list_append(&agent->inverse, &inverse->of_agent);
		list_append(&framework->inverse, &inverse->of_framework);
		HASH_ADD(hh, a->inverse, key, sizeof(inverse->key), inverse);
	}
	inverse->outstanding = true;
	append(out, inverse);
}

static void ask_all(struct allocator *a, int64_t now, struct alloc_agent *agent,
		    struct allocator_grants *out)
{
	struct stake *stake, *next;

	list_for_each (stake, next, &agent->stakes, of_agent) {
		struct alloc_framework *framework = stake->key.leaf->framework;

		if (framework->active && !resources_empty(&stake->held))
			inverse_ask(a, now, agent, framework, out);
	}
}

void alloc_inverse_cycle(struct allocator *a, int64_t now, bool everyone,
			 struct allocator_grants *out)
{
	struct alloc_agent *agent, *next;

	if (list_empty(&a->windows))
		return;
	if (everyone) {
		list_for_each (agent, next, &a->windows, window)
			ask_all(a, now, agent, out);
		return;
	}
	list_for_each (agent, next, &a->candidates, candidate) {
		if (!list_empty(&agent->window))
			ask_all(a, now, agent, out);
	}
}

void allocator_end_inverse(struct allocator *a, int64_t now, struct alloc_framework *framework,
			   struct alloc_agent *agent, const struct allocator_filter *filter)
{
	struct inverse *inverse = inverse_find(a, agent, framework);
	int64_t duration = filter ? alloc_refuse_duration(filter->refuse_seconds) : 0;

	if (!inverse || !inverse->outstanding)
		return;
	inverse->outstanding = false;
	inverse->until = now + duration;
	if (duration == 0)
		inverse_free(a, inverse);
}

void allocator_set_unavailability(struct allocator *a, struct alloc_agent *agent, bool scheduled)
{
	alloc_inverse_drop_agent(a, agent);
	list_remove(&agent->window);
	if (scheduled)
		list_append(&a->windows, &agent->window);
	alloc_agent_mark_candidate(a, agent);
}

void alloc_inverse_clear_filters(struct allocator *a, struct alloc_framework *framework)
{
	struct inverse *inverse, *next;

	list_for_each (inverse, next, &framework->inverse, of_framework) {
		if (!inverse->outstanding)
			inverse_free(a, inverse);
	}
}

void alloc_inverse_clear_agent_filters(struct allocator *a, struct alloc_agent *agent)
{
	struct inverse *inverse, *next;

	list_for_each (inverse, next, &agent->inverse, of_agent) {
		if (!inverse->outstanding)
			inverse_free(a, inverse);
	}
}

void alloc_inverse_drop_framework(struct allocator *a, struct alloc_framework *framework)
{
	struct inverse *inverse, *next;

	list_for_each (inverse, next, &framework->inverse, of_framework)
		inverse_free(a, inverse);
}

void alloc_inverse_drop_agent(struct allocator *a, struct alloc_agent *agent)
{
	struct inverse *inverse, *next;

	list_for_each (inverse, next, &agent->inverse, of_agent)
		inverse_free(a, inverse);
}
