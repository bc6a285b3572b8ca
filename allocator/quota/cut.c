/* How much of an offer quota allows.
 *
 * Of the scalars that are neither reserved nor revocable, in the order in which they are
 * listed: in the first stage as much as the role lacks of its guarantee, whatever the
 * headroom; of the rest what its limits leave, and of that what the headroom leaves. Disks
 * that cannot be had in part are had whole or not at all.
 */
#include <string.h>

#include "allocator/objects.h"
#include "allocator/quota/cut.h"
#include "allocator/quota/headroom.h"
#include "allocator/quota/quota.h"
#include "allocator/sorting/sorter.h"
#include "base/memory/arena.h"

bool alloc_piece_counts(const struct resource_piece *piece)
{
	return resource_shape_type(piece->shape) == MESOS__VALUE__TYPE__SCALAR &&
	       resource_shape_reservations(piece->shape) == 0 &&
	       !resource_shape_revocable(piece->shape);
}

bool alloc_piece_whole(const struct resource_piece *piece)
{
	struct resource_piece part = *piece;
	struct resources one = {&part, 1, 1}, all = {(struct resource_piece *)piece, 1, 1};

	part.milli = piece->milli / 2;
	return part.milli > 0 && !resources_contain(&all, &one);
}

static int64_t cut_take(const struct resource_piece *piece, int64_t want, int64_t *budget)
{
	int64_t got = want;

	if (want == 0 || *budget == QUOTA_UNLIMITED)
		return want;
	if (want > *budget)
		got = *budget > 0 && !alloc_piece_whole(piece) ? *budget : 0;
	*budget -= got;
	return got;
}

static struct budget *budget_of(struct allocator *a, const struct quota *quota,
				const struct resource_piece *piece)
{
	uint32_t name = alloc_pool_shape(&a->pool, piece->shape);

	if (name >= a->budget_cap) {
		a->budgets = xrealloc(a->budgets, (name + 8) * sizeof(*a->budgets));
		memset(&a->budgets[a->budget_cap], 0,
		       (name + 8 - a->budget_cap) * sizeof(*a->budgets));
		a->budget_cap = name + 8;
	}
	struct budget *budget = &a->budgets[name];
	if (budget->mark != a->cuts)
		*budget = (struct budget){
			.mark = a->cuts,
			.lack = quota ? alloc_quota_lack(quota, name) : 0,
			.left = quota ? alloc_quota_left(quota, name) : QUOTA_UNLIMITED,
			.headroom = alloc_headroom_left(a, name),
		};
	return budget;
}

/* What of each piece is for the guarantee; false if nothing. It uses up the limit too. */
static bool take_guaranteed(struct allocator *a, const struct quota *quota,
			    const struct resources *view)
{
	bool any = false;

	for (uint32_t i = 0; i < view->count; i++) {
		const struct resource_piece *piece = &view->pieces[i];

		if (!alloc_piece_counts(piece))
			continue;
		struct budget *budget = budget_of(a, quota, piece);
		int64_t got = cut_take(piece, piece->milli, &budget->lack);
		if (budget->left != QUOTA_UNLIMITED)
			budget->left = budget->left > got ? budget->left - got : 0;
		a->guaranteed[i] = got;
		any = any || got > 0;
	}
	return any;
}

/* What of a piece may be given. */
static int64_t allowed(struct allocator *a, const struct quota *quota,
		       const struct resource_piece *piece, int64_t guaranteed, struct visit *visit)
{
	struct budget *budget = budget_of(a, quota, piece);
	int64_t more = cut_take(piece, piece->milli - guaranteed, &budget->left);
	int64_t most = more;

	more = cut_take(piece, more, &budget->headroom);
	visit->held = visit->held || more < most;
	visit->cut = visit->cut || guaranteed + more < piece->milli;
	return guaranteed + more;
}

bool alloc_cut(struct allocator *a, const struct leaf *leaf, bool first_stage,
	       struct resources *view, struct visit *visit)
{
	const struct quota *quota = leaf->role->account->quota;
	uint32_t kept = 0;

	if (!quota && !a->headroom.needed)
		return true;
	if (view->count > a->guaranteed_cap) {
		a->guaranteed_cap = view->count * 2;
		a->guaranteed = xrealloc(a->guaranteed, a->guaranteed_cap * sizeof(*a->guaranteed));
	}
	if (view->count > 0)
		memset(a->guaranteed, 0, view->count * sizeof(*a->guaranteed));
	a->cuts++;
	if (first_stage && !take_guaranteed(a, quota, view))
		return false;
	for (uint32_t i = 0; i < view->count; i++) {
		struct resource_piece piece = view->pieces[i];

		if (alloc_piece_counts(&piece))
			piece.milli = allowed(a, quota, &piece, a->guaranteed[i], visit);
		if (piece.milli == 0 && alloc_piece_counts(&piece))
			continue;
		a->guaranteed[kept] = a->guaranteed[i];
		view->pieces[kept++] = piece;
	}
	view->count = kept;
	return true;
}

void alloc_cut_given(struct allocator *a, const struct resources *view)
{
	for (uint32_t i = 0; a->headroom.needed && i < view->count; i++) {
		const struct resource_piece *piece = &view->pieces[i];

		if (alloc_piece_counts(piece))
			alloc_headroom_spend(a, alloc_pool_shape(&a->pool, piece->shape),
					     a->guaranteed[i], piece->milli);
	}
}

static bool out_of_reach(struct allocator *a, const struct quota *quota,
			 const struct allocator_amounts *amounts)
{
	for (size_t i = 0; i < amounts->count; i++) {
		uint32_t name = alloc_pool_number(&a->pool, amounts->items[i].name);
		int64_t most = quota ? alloc_quota_left(quota, name) : alloc_headroom_left(a, name);

		if (amounts->items[i].milli > most)
			return true;
	}
	return false;
}

bool alloc_cut_hopeless(struct allocator *a, const struct quota *quota)
{
	for (size_t i = 0; i < a->minima.count; i++) {
		if (!out_of_reach(a, quota, &a->minima.any_of[i]))
			return false;
	}
	return a->minima.count > 0;
}
