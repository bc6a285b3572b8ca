/* Which agents take part. */
#ifndef ALLOCATOR_AGENTS_WHITELIST_H
#define ALLOCATOR_AGENTS_WHITELIST_H

#include "allocator/objects.h"

void alloc_whitelist_meet(struct allocator *a, struct agent *agent); /* it is new */
void alloc_whitelist_free(struct allocator *a);

#endif
