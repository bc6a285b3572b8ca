/* Frameworks and their leaves, one a role that they are in. */
#ifndef ALLOCATOR_ROLES_FRAMEWORKS_H
#define ALLOCATOR_ROLES_FRAMEWORKS_H

#include "allocator/objects.h"

struct alloc_framework *alloc_framework_find(struct allocator *a, const char *id);
struct leaf *alloc_leaf_find(struct alloc_framework *framework, const char *role);
struct leaf *alloc_leaf_get(struct allocator *a, struct alloc_framework *framework,
			    const char *role);
/* It may accept what it did not accept before. */
void alloc_leaf_make_willing(struct allocator *a, struct leaf *leaf);
/* Frees the leaf when it has no reason. */
void alloc_leaf_put(struct allocator *a, struct leaf *leaf);
void alloc_frameworks_free(struct allocator *a);

#endif
