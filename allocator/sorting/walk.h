/* Roles and frameworks in the order in which they are asked: by share, or at random. */
#ifndef ALLOCATOR_SORTING_WALK_H
#define ALLOCATOR_SORTING_WALK_H

#include "allocator/objects.h"

/* A walk over the roles that active leaves are in, from the lowest share on; the order is
 * that at its start. One at a time. */
void alloc_walk_start(struct allocator *a, enum walk_kind kind);
struct role *alloc_walk_role(struct allocator *a); /* NULL after the last */
/* Whether the walk leaves roles out because they are exhausted; known when it has ended. */
bool alloc_walk_left_out(const struct allocator *a);
/* And over the active leaves of a role, also while the one over roles is under way. */
void alloc_walk_enter(struct allocator *a, struct role *role);
struct leaf *alloc_walk_leaf(struct allocator *a, struct role *role);
/* Puts active leaves in the order in which a walk would meet them. */
void alloc_walk_sort(struct allocator *a, struct leaf **leaves, size_t count);

void alloc_random_start(struct allocator *a, enum walk_kind kind);
struct role *alloc_random_role(struct allocator *a);
bool alloc_random_left_out(const struct allocator *a);
void alloc_random_enter(struct allocator *a, struct role *role);
struct leaf *alloc_random_leaf(struct allocator *a, struct role *role);
void alloc_random_sort(struct allocator *a, struct leaf **leaves, size_t count);

#endif
