/* One agent in a cycle: who is offered what of it.
 *
 * Roles in order of share, in each its frameworks in order of share; each is given all
 * that it may have, and the next ones see what is left. An agent that changed is walked
 * from the lowest share on; on one that was settled only the leaves that woke are tried,
 * in the same order. The first stage offers to roles what they lack of their guarantees,
 * and with it what else they may have; the second all that is left.
 */
#include <stdlib.h>
#include <string.h>

#include "allocator/agents/agents.h"
#include "allocator/agents/filters.h"
#include "allocator/agents/stakes.h"
#include "allocator/constraints.h"
#include "allocator/cycle/visit.h"
#include "allocator/objects.h"
#include "allocator/quota/cut.h"
#include "allocator/quota/headroom.h"
#include "allocator/quota/quota.h"
#include "allocator/roles/minima.h"
#include "allocator/sorting/group.h"
#include "allocator/sorting/walk.h"
#include "base/memory/arena.h"

struct evaluation {
	struct allocator *a;
	struct alloc_agent *agent;
	struct visit *visit;
	struct allocator_grants *out;
	bool first_stage;
	bool plain; /* all that could make an offer is what quota counts */
	bool over;  /* nothing that could make one is left */
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
	const struct alloc_framework *framework = leaf->framework;
	const struct resource_shape *shape = piece->shape;

	if (!visible_to(shape, leaf->role_name))
		return false;
	if (resource_shape_revocable(shape) && !framework->revocable_resources)
		return false;
	if (resource_shape_reservations(shape) > 1 && !framework->reservation_refinement)
		return false;
	if (resource_shape_shared(shape)) {
		struct resources one = {(struct resource_piece *)piece, 1, 1};

		return framework->shared_resources && !resources_contain(&e->visit->shared, &one);
	}
	return true;
}

static bool may_see_agent(const struct allocator *a, const struct alloc_agent *agent,
			  const struct leaf *leaf)
{
	const struct alloc_framework *framework = leaf->framework;

	if (a->filter_gpus && agent->gpus && !framework->gpu_resources)
		return false;
	if (a->region && agent->region && strcmp(a->region, agent->region) != 0 &&
	    !framework->region_aware)
		return false;
	if (!agent->multi_role && framework->multi_role)
		return false;
	if (!agent->hierarchical_role && strchr(leaf->role_name, '/'))
		return false;
	return !agent->info ||
	       !constraints_exclude(framework->constraints, leaf->role_name, agent->info);
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
			resources_add_piece(&e->visit->shared, &taken->pieces[i]);
		else
			resources_subtract_piece(&e->agent->free, &taken->pieces[i]);
	}
}

static bool worth_a_walk(const struct allocator *a, const struct alloc_agent *agent)
{
	return !resources_empty(&agent->free) &&
	       (a->own_minima > 0 || alloc_minima_met(&a->minima, &agent->free));
}

/* Shared volumes stay free whoever has them, but are offered once in a cycle. */
static bool all_shared_out(const struct evaluation *e)
{
	const struct resources *rest = &e->agent->free;

	for (uint32_t i = 0; i < rest->count; i++) {
		struct resources one = {&rest->pieces[i], 1, 1};

		if (!resource_shape_shared(one.pieces->shape) ||
		    !resources_contain(&e->visit->shared, &one))
			return false;
	}
	return true;
}

static void note_end(struct evaluation *e)
{
	e->over = !worth_a_walk(e->a, e->agent) || all_shared_out(e);
}

/* Adds to what the first stage gave the leaf here: it makes one offer. */
static bool merge_grant(struct evaluation *e, const struct allocator_grant *grant)
{
	for (size_t i = 0; i < e->visit->grants; i++) {
		struct allocator_grant *first = &e->out->items[e->visit->first_grant + i];

		if (first->framework != grant->framework || first->role != grant->role)
			continue;
		resources_add(&first->resources, &grant->resources);
		return true;
	}
	return false;
}

static void visit_give(struct evaluation *e, struct leaf *leaf, const struct resources *view)
{
	struct allocator *a = e->a;
	struct resources taken;
	struct allocator_grant grant = {
		.framework = leaf->framework->owner,
		.role = leaf->role_name,
		.agent = e->agent->owner,
	};

	alloc_cut_given(a, view);
	resources_copy(&taken, view);
	resources_allocate(a->shapes, &taken, leaf->role_name, &grant.resources);
	alloc_stake_hold(a, alloc_stake_get(a, e->agent, leaf), &grant.resources, &taken, true);
	take_from_free(e, &taken);
	note_end(e);
	resources_free(&taken);
	if (e->first_stage || !merge_grant(e, &grant))
		append_grant(e->out, &grant);
	else
		resources_free(&grant.resources);
}

static void try_leaf(struct evaluation *e, struct leaf *leaf)
{
	struct allocator *a = e->a;

	a->evaluations++;
	if (!may_see_agent(a, e->agent, leaf))
		return;
	struct resources view = offerable(e, leaf);
	if (!alloc_cut(a, leaf, e->first_stage, &view, e->visit) || view.count == 0 ||
	    !alloc_minima_met(leaf->own_minima ? &leaf->minima : &a->minima, &view) ||
	    alloc_filters_match(a, e->agent, leaf, &view))
		return;
	visit_give(e, leaf, &view);
}

/* In the first stage a role is asked only while it lacks something. */
static bool role_asks(const struct evaluation *e, const struct role *role)
{
	const struct quota *quota = role->account->quota;

	return !e->first_stage || (quota && alloc_quota_lacks(quota));
}

static void walk_frameworks(struct evaluation *e, struct role *role)
{
	struct leaf *leaf;

	alloc_walk_enter(e->a, role);
	while (!e->over && role_asks(e, role) && (leaf = alloc_walk_leaf(e->a, role)))
		try_leaf(e, leaf);
}

static void walk_roles(struct evaluation *e)
{
	struct allocator *a = e->a;
	struct role *role;

	alloc_walk_start(a, e->first_stage ? WALK_UNMET : e->plain ? WALK_OPEN : WALK_ALL);
	while (!e->over && (role = alloc_walk_role(a)))
		walk_frameworks(e, role);
	e->visit->cut = e->visit->cut || alloc_walk_left_out(a);
}

/* ---- settled agents ----------------------------------------------------------------------- */

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

/* Leaves of roles that may have more than when the agent was seen last. */
static size_t add_loose(struct evaluation *e, size_t count)
{
	struct allocator *a = e->a;
	struct quota *quota, *next;

	if (list_empty(&e->agent->blocked))
		return count;
	list_for_each (quota, next, &a->loose, loose) {
		struct role *role = quota->account->role;
		struct sorter_cursor cursor = {0};
		struct sorter_node *node;

		if (!alloc_quota_loose(quota))
			list_remove(&quota->loose);
		if (!role || list_empty(&quota->loose) ||
		    (e->plain && role->node.group == &a->exhausted))
			continue;
		while ((node = alloc_group_next(&role->frameworks, &cursor)))
			count = add_waker(a, container_of(node, struct leaf, node), count);
	}
	return count;
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
	count = add_loose(e, count);
	alloc_walk_sort(a, a->wakers, count);
	for (size_t i = 0; i < count && !e->over; i++) {
		if (role_asks(e, a->wakers[i]->role))
			try_leaf(e, a->wakers[i]);
	}
}

/* Whether all that is free and could make an offer is what quota counts. */
static bool agent_plain(const struct allocator *a, const struct alloc_agent *agent)
{
	for (uint32_t i = 0; i < agent->free.count; i++) {
		const struct resource_piece *piece = &agent->free.pieces[i];

		if (!alloc_piece_counts(piece) &&
		    (resource_shape_type(piece->shape) == MESOS__VALUE__TYPE__SCALAR ||
		     alloc_minima_name(&a->minima, resource_shape_name(piece->shape))))
			return false;
	}
	return true;
}

/* What is left of the headroom makes no offer of what is free here. */
static bool held_back(struct evaluation *e)
{
	struct allocator *a = e->a;

	if (e->first_stage || !e->plain || !a->headroom.needed || a->own_minima > 0 ||
	    !alloc_cut_hopeless(a, NULL))
		return false;
	return e->visit->cut = e->visit->held = true;
}

static void evaluate(struct evaluation *e)
{
	struct allocator *a = e->a;
	struct alloc_agent *agent = e->agent;

	if (a->quotas > 0)
		e->plain = agent_plain(a, agent);
	if (agent->changed || (!list_empty(&agent->blocked) && alloc_headroom_loose(a)))
		e->visit->full = true;
	note_end(e);
	if (held_back(e))
		return;
	if (e->visit->full)
		walk_roles(e);
	else
		walk_wakers(e);
}

/* It is here for what others used up by now. */
static bool nothing_new(const struct allocator *a, const struct visit *visit)
{
	const struct alloc_agent *agent = visit->agent;

	return !agent->changed && list_empty(&agent->woken) && visit->grants == 0 &&
	       agent->settled == a->willing_clock &&
	       (list_empty(&agent->blocked) || (list_empty(&a->loose) && !alloc_headroom_loose(a)));
}

void alloc_visit_first(struct allocator *a, struct visit *visit, struct allocator_grants *out)
{
	struct evaluation e = {
		.a = a, .agent = visit->agent, .visit = visit, .out = out, .first_stage = true};

	if (nothing_new(a, visit))
		return;
	alloc_agent_compute_free(visit->agent);
	if (!worth_a_walk(a, visit->agent) || !alloc_quota_wants(a, visit->agent))
		return;
	visit->first_grant = out->count;
	evaluate(&e);
	visit->grants = out->count - visit->first_grant;
	/* What this cut is cut again, or the second stage gives it. */
	visit->cut = visit->held = false;
	visit->full = visit->full || visit->grants > 0;
}

static bool has_whole_disk(const struct alloc_agent *agent)
{
	for (uint32_t i = 0; i < agent->free.count; i++) {
		if (alloc_piece_counts(&agent->free.pieces[i]) &&
		    alloc_piece_whole(&agent->free.pieces[i]))
			return true;
	}
	return false;
}

static void settle_blocked(struct allocator *a, struct visit *visit, bool walked)
{
	struct alloc_agent *agent = visit->agent;

	if (visit->full || !walked)
		list_remove(&agent->blocked);
	if (!walked || !visit->cut)
		return;
	if (list_empty(&agent->blocked))
		list_append(&a->blocked, &agent->blocked);
	if (visit->held)
		alloc_headroom_lower(a);
	agent->brittle = has_whole_disk(agent);
	a->brittle = a->brittle || agent->brittle;
}

static void visit_settle(struct allocator *a, struct visit *visit)
{
	struct alloc_agent *agent = visit->agent;
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
	agent->changed = !resources_empty(&visit->shared);
	if (agent->changed)
		list_append(&a->dirty, &agent->dirty);
}

void alloc_visit_second(struct allocator *a, struct visit *visit, struct allocator_grants *out)
{
	struct evaluation e = {.a = a, .agent = visit->agent, .visit = visit, .out = out};

	if (nothing_new(a, visit))
		return;
	alloc_agent_compute_free(visit->agent);
	bool walk = worth_a_walk(a, visit->agent);
	if (walk)
		evaluate(&e);
	visit_settle(a, visit);
	settle_blocked(a, visit, walk && !resources_empty(&visit->agent->free));
	resources_free(&visit->shared);
}
