/* Which agents take part. */
#ifndef ALLOCATOR_AGENTS_WHITELIST_H
#define ALLOCATOR_AGENTS_WHITELIST_H

#include "allocator/objects.h"

void alloc_whitelist_meet(struct allocator *a, struct alloc_agent *agent); /* it is new */
/* An agent is known to the whitelist by its host name, and by "" until it has one. */
void alloc_whitelist_name(struct allocator *a, struct alloc_agent *agent, const char *hostname);
void alloc_whitelist_free(struct allocator *a);

#endif
