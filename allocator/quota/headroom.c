/* Headroom: what can be given without touching what guarantees still need.
 *
 *	available = pool - held - (reservations - held ones) - what is free and revocable
 *	headroom  = available - required
 *
 * by name, no difference being less than nothing. What is held is what is charged to
 * roles. All sums are kept up to date as things change, so a cycle starts with a copy; from
 * there on it only subtracts what it gives. Without a guarantee that lacks something there
 * is no bound.
 */
#include <stdlib.h>

#include "allocator/agents/agents.h"
#include "allocator/objects.h"
#include "allocator/quota/headroom.h"
#include "allocator/sorting/sorter.h"
#include "base/memory/arena.h"

/* ---- what is free and revocable ----------------------------------------------------------- */

void alloc_headroom_touch(struct allocator *a, struct alloc_agent *agent)
{
	if (!agent->revocable && agent->revocable_free.count == 0)
		return;
	a->quota_version++;
	if (list_empty(&agent->revocable_stale))
		list_append(&a->revocable_stale, &agent->revocable_stale);
}

void alloc_headroom_forget(struct allocator *a, struct alloc_agent *agent)
{
	for (uint32_t i = 0; i < agent->revocable_free.count; i++)
		alloc_quantities_add(&a->revocable_free, i, -agent->revocable_free.milli[i]);
	alloc_quantities_free(&agent->revocable_free);
	list_remove(&agent->revocable_stale);
}

static void count_revocable(struct allocator *a, struct alloc_agent *agent)
{
	alloc_headroom_forget(a, agent);
	if (!agent->revocable)
		return;
	alloc_agent_compute_free(agent);
	for (uint32_t i = 0; i < agent->free.count; i++) {
		const struct resource_piece *piece = &agent->free.pieces[i];

		if (!resource_shape_revocable(piece->shape) ||
		    resource_shape_type(piece->shape) != MESOS__VALUE__TYPE__SCALAR)
			continue;
		uint32_t name = alloc_pool_shape(&a->pool, piece->shape);
		alloc_quantities_add(&agent->revocable_free, name, piece->milli);
		alloc_quantities_add(&a->revocable_free, name, piece->milli);
	}
}

/* ---- in a cycle --------------------------------------------------------------------------- */

static int64_t less(int64_t from, int64_t what)
{
	return from > what ? from - what : 0;
}

static bool anything(const struct quantities *q)
{
	for (uint32_t i = 0; i < q->count; i++) {
		if (q->milli[i] > 0)
			return true;
	}
	return false;
}

void alloc_headroom_begin(struct allocator *a)
{
	struct headroom *h = &a->headroom;
	struct alloc_agent *agent, *next;

	h->needed = a->quotas > 0 && anything(&a->required);
	if (!h->needed)
		return;
	list_for_each (agent, next, &a->revocable_stale, revocable_stale)
		count_revocable(a, agent);
	alloc_quantities_copy(&h->required, &a->required);
	alloc_quantities_copy(&h->available, &a->pool.total);
	for (uint32_t i = 0; i < h->available.count; i++) {
		int64_t left = less(h->available.milli[i], alloc_quantity(&a->root.node.sum, i));

		left = less(left, less(alloc_quantity(&a->reserved, i),
				       alloc_quantity(&a->reserved_held, i)));
		h->available.milli[i] = less(left, alloc_quantity(&a->revocable_free, i));
	}
}

void alloc_headroom_spend(struct allocator *a, uint32_t name, int64_t guaranteed, int64_t given)
{
	struct headroom *h = &a->headroom;

	if (name < h->available.count)
		h->available.milli[name] = less(h->available.milli[name], given);
	if (guaranteed > 0 && name < h->required.count) {
		h->required.milli[name] = less(h->required.milli[name], guaranteed);
		h->needed = anything(&h->required);
	}
}

int64_t alloc_headroom_left(const struct allocator *a, uint32_t name)
{
	const struct headroom *h = &a->headroom;

	if (!h->needed)
		return QUOTA_UNLIMITED;
	return less(alloc_quantity(&h->available, name), alloc_quantity(&h->required, name));
}

/* ---- agents that it blocked --------------------------------------------------------------- */

bool alloc_headroom_loose(const struct allocator *a)
{
	if (!a->low_known)
		return false;
	if (!a->headroom.needed)
		return true;
	for (uint32_t i = 0; i < a->headroom.available.count; i++) {
		if (alloc_headroom_left(a, i) > alloc_quantity(&a->low, i))
			return true;
	}
	return false;
}

static void copy_low(struct allocator *a)
{
	alloc_quantities_copy(&a->low, &a->headroom.available);
	for (uint32_t i = 0; i < a->low.count; i++)
		a->low.milli[i] = alloc_headroom_left(a, i);
	a->low_known = true;
}

void alloc_headroom_lower(struct allocator *a)
{
	if (!a->headroom.needed)
		return;
	if (!a->low_known) {
		copy_low(a);
		return;
	}
	for (uint32_t i = 0; i < a->low.count; i++) {
		int64_t left = alloc_headroom_left(a, i);

		if (left < a->low.milli[i])
			a->low.milli[i] = left;
	}
}

void alloc_headroom_settle(struct allocator *a)
{
	a->low_known = false;
	if (a->headroom.needed && !list_empty(&a->blocked))
		copy_low(a);
}
