/* Waiting for agents after a restart. */
#ifndef ALLOCATOR_AGENTS_HOLD_H
#define ALLOCATOR_AGENTS_HOLD_H

#include "allocator/objects.h"

void alloc_hold_count(struct allocator *a);		 /* an agent was added */
bool alloc_hold_keeps(struct allocator *a, int64_t now); /* nothing may be offered */

#endif
