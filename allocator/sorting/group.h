/* Groups of nodes in the order of their shares. */
#ifndef ALLOCATOR_SORTING_GROUP_H
#define ALLOCATOR_SORTING_GROUP_H

#include "allocator/objects.h"

void alloc_group_init(struct sorter_group *group);
void alloc_group_free(struct sorter_group *group);
void alloc_group_join(const struct pool *pool, struct sorter_group *group,
		      struct sorter_node *node);
void alloc_group_leave(struct sorter_node *node);
/* Brings keys and order up to date. */
void alloc_group_refresh(const struct pool *pool, struct sorter_group *group);
/* The member at the cursor, which steps on; NULL after the last. Joining, leaving and
 * refreshing make cursors void. */
struct sorter_node *alloc_group_next(const struct sorter_group *group,
				     struct sorter_cursor *cursor);

#endif
