/* What must outlive the process. */
#ifndef ALLOCATOR_MEMORY_H
#define ALLOCATOR_MEMORY_H

#include "allocator/allocator_memory.h"
#include "allocator/objects.h"

void alloc_memory_init(struct allocator *a, bool on);
void alloc_memory_end(struct allocator *a); /* nothing is marked from now on */
/* Changes. */
void alloc_memory_role(struct allocator *a, struct role *role); /* its counts and those above */
void alloc_memory_gift(struct allocator *a, struct leaf *leaf); /* its counts and those above */
void alloc_memory_agent(struct allocator *a, struct alloc_agent *agent);
void alloc_memory_filter(struct allocator *a, struct filter *filter);
/* Ends: before they are freed. */
void alloc_memory_drop_leaf(struct allocator *a, struct leaf *leaf);
void alloc_memory_drop_role(struct allocator *a, struct role *role);
void alloc_memory_drop_agent(struct allocator *a, struct alloc_agent *agent);
void alloc_memory_drop_filter(struct allocator *a, struct filter *filter);
void alloc_memory_return(struct allocator *a, struct alloc_agent *agent); /* a ghost was added */
/* At a cycle: leaves that only waited for ghosts go with the last. */
void alloc_memory_settle(struct allocator *a);

#endif
