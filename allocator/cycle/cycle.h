/* Which agents a cycle sees. */
#ifndef ALLOCATOR_CYCLE_CYCLE_H
#define ALLOCATOR_CYCLE_CYCLE_H

#include "allocator/objects.h"

void alloc_candidates_clear(struct allocator *a);

#endif
