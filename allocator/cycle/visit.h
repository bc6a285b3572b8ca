/* Who is offered what of an agent. */
#ifndef ALLOCATOR_CYCLE_VISIT_H
#define ALLOCATOR_CYCLE_VISIT_H

#include "allocator/objects.h"

/* The first stage, and the second; then the agent is settled. */
void alloc_visit_first(struct allocator *a, struct visit *visit, struct allocator_grants *out);
void alloc_visit_second(struct allocator *a, struct visit *visit, struct allocator_grants *out);

#endif
