/* What one leaf holds on one agent, found by the pair and listed on both sides.
 * Holding and releasing keep the agent's use and the shares of the roles in step,
 * so free + held = total at any time. */
#include <stdlib.h>
#include <string.h>

#include "allocator/agents/agents.h"
#include "allocator/agents/filters.h"
#include "allocator/agents/stakes.h"
#include "allocator/objects.h"
#include "allocator/quota/headroom.h"
#include "allocator/roles/frameworks.h"
#include "allocator/roles/roles.h"
#include "base/memory/arena.h"

struct stake *alloc_stake_find(struct allocator *a, struct alloc_agent *agent, struct leaf *leaf)
{
	return stake_table_find(&a->stakes, agent, leaf);
}

struct stake *alloc_stake_get(struct allocator *a, struct alloc_agent *agent, struct leaf *leaf)
{
	struct stake *stake = alloc_stake_find(a, agent, leaf);

	if (stake)
		return stake;
	stake = xcalloc(1, sizeof(*stake));
	stake->key = (struct stake_key){agent, leaf};
	list_init(&stake->woken);
	list_init(&stake->filters);
	list_append(&agent->stakes, &stake->of_agent);
	list_append(&leaf->stakes, &stake->of_leaf);
	stake_table_add(&a->stakes, stake);
	return stake;
}

void alloc_stake_put(struct allocator *a, struct stake *stake)
{
	if (!resources_empty(&stake->held) || !list_empty(&stake->filters) ||
	    !list_empty(&stake->woken))
		return;
	list_remove(&stake->of_agent);
	list_remove(&stake->of_leaf);
	stake_table_delete(&a->stakes, stake);
	resources_free(&stake->held);
	free(stake);
}

/* `allocated` without its allocation roles. */
static struct resources stakes_strip(struct allocator *a, const struct resources *allocated)
{
	struct resources plain = RESOURCES_INIT;

	resources_allocate(a->shapes, allocated, NULL, &plain);
	return plain;
}

void alloc_stake_hold(struct allocator *a, struct stake *stake, const struct resources *allocated,
		      const struct resources *plain, bool given)
{
	struct alloc_agent *agent = stake->key.agent;
	struct leaf *leaf = stake->key.leaf;
	bool held = !resources_empty(&stake->held);

	resources_add(&stake->held, allocated);
	leaf->holdings += !held && !resources_empty(&stake->held);
	resources_add(&agent->used, plain);
	alloc_headroom_touch(a, agent);
	alloc_role_charge(a, agent, leaf, allocated, given);
}

/* Gives `allocated`, all of one role, to the framework. */
static void hold_part(struct allocator *a, struct alloc_framework *framework,
		      struct alloc_agent *agent, const char *role,
		      const struct resources *allocated, bool given)
{
	struct leaf *leaf = alloc_leaf_get(a, framework, role);
	struct resources plain = stakes_strip(a, allocated);

	alloc_stake_hold(a, alloc_stake_get(a, agent, leaf), allocated, &plain, given);
	resources_free(&plain);
}

/* What of `allocated` is held leaves `held` for `gone`. */
static void release_held(struct stake *stake, const struct resources *allocated,
			 struct resources *gone)
{
	for (uint32_t i = 0; i < allocated->count; i++) {
		struct resources one = {&allocated->pieces[i], 1, 1};

		if (resources_contain(&stake->held, &one)) {
			resources_subtract_piece(&stake->held, one.pieces);
			resources_add_piece(gone, one.pieces);
		}
	}
}

void alloc_stake_release(struct allocator *a, struct stake *stake,
			 const struct resources *allocated)
{
	struct alloc_agent *agent = stake->key.agent;
	struct leaf *leaf = stake->key.leaf;
	struct resources part = RESOURCES_INIT;
	const struct resources *gone = allocated;
	bool held = !resources_empty(&stake->held);

	if (resources_contain(&stake->held, allocated)) {
		resources_subtract(&stake->held, allocated);
	} else {
		release_held(stake, allocated, &part);
		gone = &part;
	}
	leaf->holdings -= held && resources_empty(&stake->held);
	alloc_role_discharge(a, agent, leaf, gone);
	struct resources plain = stakes_strip(a, gone);
	resources_subtract(&agent->used, &plain);
	agent->free_known = false;
	alloc_headroom_touch(a, agent);
	resources_free(&plain);
	resources_free(&part);
}

void alloc_stake_release_all(struct allocator *a, struct stake *stake)
{
	struct resources all;

	resources_copy(&all, &stake->held);
	alloc_stake_release(a, stake, &all);
	resources_free(&all);
}

/* The pieces of `from` that are allocated to the role of piece `at`, as a view into
 * it; false when an earlier piece had that role already, or there is none. */
static bool role_part(const struct resources *from, uint32_t at, struct resources *view,
		      const char **role)
{
	*role = resource_shape_allocation_role(from->pieces[at].shape);
	view->count = 0;
	if (!*role)
		return false;
	for (uint32_t i = 0; i < from->count; i++) {
		const char *other = resource_shape_allocation_role(from->pieces[i].shape);

		if (!other || strcmp(other, *role) != 0)
			continue;
		if (i < at)
			return false;
		view->pieces[view->count++] = from->pieces[i];
	}
	return true;
}

static struct resources view_of(const struct resources *from)
{
	return (struct resources){xcalloc(from->count + 1, sizeof(*from->pieces)), 0,
				  from->count + 1};
}

void allocator_restore(struct allocator *a, struct alloc_framework *framework,
		       struct alloc_agent *agent, const struct resources *allocated)
{
	struct resources view = view_of(allocated);
	const char *role;

	for (uint32_t i = 0; i < allocated->count; i++) {
		if (!role_part(allocated, i, &view, &role))
			continue;
		/* What comes back was counted in its time. */
		hold_part(a, framework, agent, role, &view, list_empty(&agent->returning));
		alloc_agent_change(a, agent);
	}
	free(view.pieces);
}

static void recover_part(struct allocator *a, int64_t now, struct stake *stake,
			 const struct resources *part, const struct allocator_filter *filter)
{
	struct leaf *leaf = stake->key.leaf;

	alloc_agent_change(a, stake->key.agent);
	alloc_stake_release(a, stake, part);
	if (filter && leaf->subscribed)
		alloc_filter_add(a, stake, now, part, filter->refuse_seconds);
	alloc_stake_put(a, stake);
	alloc_leaf_put(a, leaf);
}

void allocator_recover(struct allocator *a, int64_t now, struct alloc_framework *framework,
		       struct alloc_agent *agent, const struct resources *allocated,
		       const struct allocator_filter *filter)
{
	struct resources view = view_of(allocated);
	const char *role;

	for (uint32_t i = 0; i < allocated->count; i++) {
		if (!role_part(allocated, i, &view, &role))
			continue;
		struct leaf *leaf = alloc_leaf_find(framework, role);
		struct stake *stake = leaf ? alloc_stake_find(a, agent, leaf) : NULL;
		if (stake)
			recover_part(a, now, stake, &view, filter);
	}
	free(view.pieces);
}

/* An additional copy of a shared volume, as a launch makes it, is no new resource. */
static void total_add(struct resources *total, const struct resources *more)
{
	for (uint32_t i = 0; i < more->count; i++) {
		struct resource_piece piece = more->pieces[i];
		struct resources one = {&piece, 1, 1};

		if (resource_shape_shared(piece.shape)) {
			piece.shares = 1;
			if (resources_contain(total, &one))
				continue;
		}
		resources_add_piece(total, &piece);
	}
}

static void convert_total(struct allocator *a, struct alloc_agent *agent,
			  const struct resources *before, const struct resources *after)
{
	/* What comes of nothing is one more copy of something shared. */
	if (resources_empty(before))
		return;
	struct resources less = stakes_strip(a, before), more = stakes_strip(a, after), total;

	if (!resources_have_shared(&less) && !resources_have_shared(&more) &&
	    resources_contain(&agent->total, &less)) {
		alloc_agent_convert_total(a, agent, &less, &more);
	} else {
		resources_copy(&total, &agent->total);
		resources_subtract(&total, &less);
		total_add(&total, &more);
		alloc_agent_set_total(a, agent, &total);
	}
	resources_free(&less);
	resources_free(&more);
}

void allocator_convert(struct allocator *a, struct alloc_framework *framework,
		       struct alloc_agent *agent, const struct resources *before,
		       const struct resources *after)
{
	struct resources view = view_of(before->count > after->count ? before : after);
	const char *role;

	/* First what is new: no leaf may vanish between the two. */
	for (uint32_t i = 0; i < after->count; i++) {
		if (role_part(after, i, &view, &role))
			hold_part(a, framework, agent, role, &view, false);
	}
	for (uint32_t i = 0; i < before->count; i++) {
		struct leaf *leaf = NULL;
		struct stake *stake = NULL;

		if (role_part(before, i, &view, &role))
			leaf = alloc_leaf_find(framework, role);
		if (leaf)
			stake = alloc_stake_find(a, agent, leaf);
		if (stake) {
			alloc_stake_release(a, stake, &view);
			alloc_stake_put(a, stake);
			alloc_leaf_put(a, leaf);
		}
	}
	convert_total(a, agent, before, after);
	alloc_agent_change(a, agent);
	free(view.pieces);
}
