/* One cycle: agents are shared out.
 *
 * For each agent that must be seen, in order of arrival: roles in order of share,
 * in each its frameworks in order of share; each is given all that it may have, and
 * the next ones see what is left. An agent that changed is walked from the lowest
 * share on; on one that was settled only the leaves that woke are tried, in the
 * same order.
 */
#include <stdlib.h>
#include <string.h>

#include "allocator/internal.h"
#include "base/arena.h"

struct evaluation {
	struct allocator *a;
	struct agent *agent;
	struct allocator_grants *out;
	struct resources shared; /* shared volumes offered in this cycle */
};

/* Unreserved, or reserved to the role or one above it. */
static bool visible_to(const struct resource_shape *shape, const char *role)
{
	const char *reserved = resource_shape_role(shape);
	size_t len;

	if (resource_shape_reservations(shape) == 0)
		return true;
	len = strlen(reserved);
	return strncmp(reserved, role, len) == 0 && (role[len] == '\0' || role[len] == '/');
}

static bool acceptable_piece(const struct evaluation *e, const struct leaf *leaf,
			     const struct resource_piece *piece)
{
	const struct framework *framework = leaf->framework;
	const struct resource_shape *shape = piece->shape;

	if (!visible_to(shape, leaf->role_name))
		return false;
	if (resource_shape_revocable(shape) && !framework->revocable_resources)
		return false;
	if (resource_shape_reservations(shape) > 1 && !framework->reservation_refinement)
		return false;
	if (resource_shape_shared(shape)) {
		struct resources one = {(struct resource_piece *)piece, 1, 1};

		return framework->shared_resources && !resources_contain(&e->shared, &one);
	}
	return true;
}

static bool may_see_agent(const struct allocator *a, const struct agent *agent,
			  const struct leaf *leaf)
{
	const struct framework *framework = leaf->framework;

	if (a->filter_gpus && agent->gpus && !framework->gpu_resources)
		return false;
	if (a->region && agent->region && strcmp(a->region, agent->region) != 0 &&
	    !framework->region_aware)
		return false;
	if (!agent->multi_role && framework->multi_role)
		return false;
	if (!agent->hierarchical_role && strchr(leaf->role_name, '/'))
		return false;
	return !framework->constrained || !a->excludes ||
	       !a->excludes(a->context, framework->id, leaf->role_name, agent->id);
}

/* What of the agent's free resources the leaf may have: a view, valid until they
 * change. */
static struct resources offerable(struct evaluation *e, const struct leaf *leaf)
{
	struct allocator *a = e->a;
	const struct resources *have = &e->agent->free;

	if (have->count > a->scratch_cap) {
		a->scratch_cap = have->count * 2;
		a->scratch = xrealloc(a->scratch, a->scratch_cap * sizeof(*a->scratch));
	}
	struct resources view = {a->scratch, 0, (uint32_t)a->scratch_cap};
	for (uint32_t i = 0; i < have->count; i++) {
		if (acceptable_piece(e, leaf, &have->pieces[i]))
			view.pieces[view.count++] = have->pieces[i];
	}
	return view;
}

static void append_grant(struct allocator_grants *grants, const struct allocator_grant *grant)
{
	if (grants->count == grants->cap) {
		grants->cap = grants->cap ? grants->cap * 2 : 16;
		grants->items = xrealloc(grants->items, grants->cap * sizeof(*grants->items));
	}
	grants->items[grants->count++] = *grant;
}

static void take_from_free(struct evaluation *e, const struct resources *taken)
{
	for (uint32_t i = 0; i < taken->count; i++) {
		if (resource_shape_shared(taken->pieces[i].shape))
			resources_add_piece(&e->shared, &taken->pieces[i]);
		else
			resources_subtract_piece(&e->agent->free, &taken->pieces[i]);
	}
}

static void give(struct evaluation *e, struct leaf *leaf, const struct resources *view)
{
	struct allocator *a = e->a;
	struct resources taken;
	struct allocator_grant grant = {
		.framework = leaf->framework->id,
		.role = leaf->role_name,
		.agent = e->agent->id,
	};

	resources_copy(&taken, view);
	resources_allocate(a->shapes, &taken, leaf->role_name, &grant.resources);
	alloc_stake_hold(a, alloc_stake_get(a, e->agent, leaf), &grant.resources, &taken, true);
	take_from_free(e, &taken);
	resources_free(&taken);
	append_grant(e->out, &grant);
}

static void try_leaf(struct evaluation *e, struct leaf *leaf)
{
	struct allocator *a = e->a;

	a->evaluations++;
	if (!may_see_agent(a, e->agent, leaf))
		return;
	struct resources view = offerable(e, leaf);
	if (view.count == 0 ||
	    !alloc_minima_met(leaf->own_minima ? &leaf->minima : &a->minima, &view) ||
	    alloc_filters_match(a, e->agent, leaf, &view))
		return;
	give(e, leaf, &view);
}

static void walk_frameworks(struct evaluation *e, struct role *role)
{
	struct leaf *leaf;

	alloc_walk_enter(e->a, role);
	while (!resources_empty(&e->agent->free) && (leaf = alloc_walk_leaf(e->a, role)))
		try_leaf(e, leaf);
}

static void walk_roles(struct evaluation *e)
{
	struct role *role;

	alloc_walk_start(e->a);
	while (!resources_empty(&e->agent->free) && (role = alloc_walk_role(e->a)))
		walk_frameworks(e, role);
}

static size_t add_waker(struct allocator *a, struct leaf *leaf, size_t count)
{
	if (!leaf->node.group || leaf->mark == a->evaluations)
		return count;
	leaf->mark = a->evaluations;
	if (count == a->waker_cap) {
		a->waker_cap = a->waker_cap ? a->waker_cap * 2 : 16;
		a->wakers = xrealloc(a->wakers, a->waker_cap * sizeof(*a->wakers));
	}
	a->wakers[count] = leaf;
	return count + 1;
}

/* Tries the leaves that woke since the agent was settled. */
static void walk_wakers(struct evaluation *e)
{
	struct allocator *a = e->a;
	struct stake *stake, *next;
	size_t count = 0;

	a->evaluations++; /* a fresh mark */
	list_for_each (stake, next, &e->agent->woken, woken)
		count = add_waker(a, stake->key.leaf, count);
	for (struct list *at = a->willing.prev; at != &a->willing; at = at->prev) {
		struct leaf *leaf = container_of(at, struct leaf, willing);

		if (leaf->willing_at <= e->agent->settled)
			break;
		count = add_waker(a, leaf, count);
	}
	alloc_walk_sort(a, a->wakers, count);
	for (size_t i = 0; i < count && !resources_empty(&e->agent->free); i++)
		try_leaf(e, a->wakers[i]);
}

static void settle(struct evaluation *e)
{
	struct allocator *a = e->a;
	struct agent *agent = e->agent;
	struct stake *stake, *next;

	list_for_each (stake, next, &agent->woken, woken) {
		list_remove(&stake->woken);
		alloc_stake_put(a, stake);
	}
	agent->settled = a->willing_clock;
	list_remove(&agent->dirty);
	list_remove(&agent->spare);
	if (!resources_empty(&agent->free))
		list_append(&a->spare, &agent->spare);
	/* What hides a shared volume ends with the cycle. */
	agent->changed = !resources_empty(&e->shared);
	if (agent->changed)
		list_append(&a->dirty, &agent->dirty);
}

static void evaluate(struct allocator *a, struct agent *agent, struct allocator_grants *out)
{
	struct evaluation e = {a, agent, out, RESOURCES_INIT};

	alloc_agent_compute_free(agent);
	if (!resources_empty(&agent->free) &&
	    (a->own_minima > 0 || alloc_minima_met(&a->minima, &agent->free))) {
		if (agent->changed)
			walk_roles(&e);
		else
			walk_wakers(&e);
	}
	settle(&e);
	resources_free(&e.shared);
}

static size_t add_visit(struct allocator *a, struct agent *agent, size_t count)
{
	if (agent->mark == a->cycles || !alloc_agent_open(agent))
		return count;
	agent->mark = a->cycles;
	if (count == a->visit_cap) {
		a->visit_cap = a->visit_cap ? a->visit_cap * 2 : 64;
		a->visit = xrealloc(a->visit, a->visit_cap * sizeof(*a->visit));
	}
	a->visit[count] = agent;
	return count + 1;
}

/* The agents from which something could be given: dirty ones, and when leaves became
 * willing all with something left. */
static size_t collect_visits(struct allocator *a, bool everyone)
{
	bool woken = a->willing_clock > a->visited;
	struct agent *agent, *next;
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
	return count;
}

static int visit_order(const void *left, const void *right)
{
	uint64_t a = (*(struct agent *const *)left)->number;
	uint64_t b = (*(struct agent *const *)right)->number;

	return (a > b) - (a < b);
}

void alloc_candidates_clear(struct allocator *a)
{
	struct agent *agent, *next;

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
	size_t count = collect_visits(a, everyone);
	if (count > 1)
		qsort(a->visit, count, sizeof(*a->visit), visit_order);
	for (size_t i = 0; i < count; i++)
		evaluate(a, a->visit[i], out);
	alloc_inverse_cycle(a, now, everyone, out);
	alloc_candidates_clear(a);
	if (everyone)
		a->visited = a->willing_clock;
	if (all)
		alloc_filters_end_batch(a);
}
