/* What one leaf holds on one agent, and the table that finds it. */
#ifndef ALLOCATOR_AGENTS_STAKES_H
#define ALLOCATOR_AGENTS_STAKES_H

#include "allocator/objects.h"

struct stake *alloc_stake_find(struct allocator *a, struct alloc_agent *agent, struct leaf *leaf);
struct stake *alloc_stake_get(struct allocator *a, struct alloc_agent *agent, struct leaf *leaf);
void alloc_stake_put(struct allocator *a, struct stake *stake);
/* `plain` is `allocated` without allocation roles. */
void alloc_stake_hold(struct allocator *a, struct stake *stake, const struct resources *allocated,
		      const struct resources *plain, bool given);
/* What of `allocated` is not held is left out. */
void alloc_stake_release(struct allocator *a, struct stake *stake,
			 const struct resources *allocated);
void alloc_stake_release_all(struct allocator *a, struct stake *stake);

struct stake *stake_table_find(const struct stake_table *table, const struct alloc_agent *agent,
			       const struct leaf *leaf);
void stake_table_add(struct stake_table *table, struct stake *stake);
void stake_table_delete(struct stake_table *table, const struct stake *stake);
void stake_table_free(struct stake_table *table);

#endif
