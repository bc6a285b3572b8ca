/* What is held back for guarantees. */
#ifndef ALLOCATOR_QUOTA_HEADROOM_H
#define ALLOCATOR_QUOTA_HEADROOM_H

#include "allocator/objects.h"

/* What of the agent is free and revocable may have changed; or it goes. */
void alloc_headroom_touch(struct allocator *a, struct alloc_agent *agent);
void alloc_headroom_forget(struct allocator *a, struct alloc_agent *agent);
void alloc_headroom_begin(struct allocator *a);
void alloc_headroom_spend(struct allocator *a, uint32_t name, int64_t guaranteed, int64_t given);
int64_t alloc_headroom_left(const struct allocator *a, uint32_t name);
/* Whether it is above what some blocked agent was seen with. */
bool alloc_headroom_loose(const struct allocator *a);
/* A blocked agent is seen with what there is now; all of them are. */
void alloc_headroom_lower(struct allocator *a);
void alloc_headroom_settle(struct allocator *a);

#endif
