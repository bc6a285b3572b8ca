/* Inverse offers of agents with maintenance windows. */
#ifndef ALLOCATOR_AGENTS_INVERSE_H
#define ALLOCATOR_AGENTS_INVERSE_H

#include "allocator/objects.h"

void alloc_inverse_cycle(struct allocator *a, int64_t now, bool everyone,
			 struct allocator_grants *out);
void alloc_inverse_clear_filters(struct allocator *a, struct alloc_framework *framework);
void alloc_inverse_clear_agent_filters(struct allocator *a, struct alloc_agent *agent);
void alloc_inverse_drop_framework(struct allocator *a, struct alloc_framework *framework);
void alloc_inverse_drop_agent(struct allocator *a, struct alloc_agent *agent);

#endif
