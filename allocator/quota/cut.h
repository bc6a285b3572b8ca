/* How much of an offer quota allows. */
#ifndef ALLOCATOR_QUOTA_CUT_H
#define ALLOCATOR_QUOTA_CUT_H

#include "allocator/objects.h"

/* A scalar that quota counts while it is held: neither reserved nor revocable. */
bool alloc_piece_counts(const struct resource_piece *piece);
/* Whether it cannot be had in part. */
bool alloc_piece_whole(const struct resource_piece *piece);
/* Leaves of the view what the leaf's quota and the headroom allow. In the first stage
 * false when none of it is for the guarantee. */
bool alloc_cut(struct allocator *a, const struct leaf *leaf, bool first_stage,
	       struct resources *view, struct visit *visit);
/* The view that was cut last is given. */
void alloc_cut_given(struct allocator *a, const struct resources *view);
/* Whether amounts are too little for the least of any offer, of names that have a bound;
 * only offers of what quota counts, by the option's minima. */
bool alloc_cut_hopeless(struct allocator *a, const struct quota *quota);

#endif
