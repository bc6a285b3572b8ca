/* Agents and what is free on them. */
#ifndef ALLOCATOR_AGENTS_AGENTS_H
#define ALLOCATOR_AGENTS_AGENTS_H

#include "allocator/objects.h"

struct alloc_agent *alloc_agent_find(struct allocator *a, const char *id);
void alloc_agent_mark_candidate(struct allocator *a, struct alloc_agent *agent);
void alloc_agent_change(struct allocator *a, struct alloc_agent *agent);
void alloc_agent_wake(struct allocator *a, struct stake *stake);
void alloc_agent_set_total(struct allocator *a, struct alloc_agent *agent, struct resources *total);
/* It has `more` instead of `less`, all of which it has. */
void alloc_agent_convert_total(struct allocator *a, struct alloc_agent *agent,
			       const struct resources *less, const struct resources *more);
void alloc_agent_compute_free(struct alloc_agent *agent);
void alloc_agents_free(struct allocator *a);

#endif
