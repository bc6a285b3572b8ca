/* The tree of roles, and charging what is held to it. */
#ifndef ALLOCATOR_ROLES_ROLES_H
#define ALLOCATOR_ROLES_ROLES_H

#include "allocator/objects.h"

void alloc_roles_init(struct allocator *a);
void alloc_roles_free(struct allocator *a);
struct role *alloc_role_find(struct allocator *a, const char *name);
void alloc_role_attach(struct allocator *a, struct leaf *leaf);
void alloc_role_detach(struct allocator *a, struct leaf *leaf);
void alloc_role_activate(struct allocator *a, struct leaf *leaf, bool active);
/* Charges to the leaf, its role and all above; `given` counts it as one more gift. */
void alloc_role_charge(struct allocator *a, struct alloc_agent *agent, struct leaf *leaf,
		       const struct resources *resources, bool given);
void alloc_role_discharge(struct allocator *a, struct alloc_agent *agent, struct leaf *leaf,
			  const struct resources *resources);
/* Order of two active leaves in a walk; their groups are fresh. */
int alloc_leaf_order(const struct leaf *a, const struct leaf *b);

#endif
