/* Agents and what is free on them. */
#ifndef ALLOCATOR_AGENTS_AGENTS_H
#define ALLOCATOR_AGENTS_AGENTS_H

#include "allocator/objects.h"

struct agent *alloc_agent_find(struct allocator *a, const char *id);
/* A new one with nothing, not active. */
struct agent *alloc_agent_make(struct allocator *a, const char *id, uint64_t number);
void alloc_agent_mark_candidate(struct allocator *a, struct agent *agent);
void alloc_agent_change(struct allocator *a, struct agent *agent);
void alloc_agent_wake(struct allocator *a, struct stake *stake);
void alloc_agent_set_total(struct allocator *a, struct agent *agent, struct resources *total);
/* It has `more` instead of `less`, all of which it has. */
void alloc_agent_convert_total(struct allocator *a, struct agent *agent,
			       const struct resources *less, const struct resources *more);
void alloc_agent_compute_free(struct agent *agent);
void alloc_agents_free(struct allocator *a);

#endif
