/* What of an allocator must outlive the process, so that the next offers are those that would have
 * come without the end. */
#ifndef ALLOCATOR_ALLOCATOR_MEMORY_H
#define ALLOCATOR_ALLOCATOR_MEMORY_H

#include "allocator/allocator.h"

enum allocator_memory_kind {
	ALLOCATOR_MEMORY_LEAF,	 /* framework, role, number: how often it was given something */
	ALLOCATOR_MEMORY_ROLE,	 /* role, number, own: the same of the role and those below it,
				    and of its own frameworks beside them */
	ALLOCATOR_MEMORY_AGENT,	 /* agent, number: its place in the order */
	ALLOCATOR_MEMORY_FILTER, /* number, and all else but own */
};
struct allocator_memory {
	enum allocator_memory_kind kind;
	bool gone; /* its record can be deleted; only what identifies it is set */
	const char *framework, *role, *agent;
	uint64_t number; /* identifies filters, also those of an allocator before */
	uint64_t own;
	int64_t since, until;		 /* when it was made, when it ends */
	const struct resources *refused; /* without allocation roles */
};
/* Calls `each` with all that changed since this was asked before, what is gone first, and
 * takes it as stored. What it is given lives as long as the call. Needs
 * options.remembers. */
void allocator_changes(struct allocator *a,
		       void (*each)(void *context, const struct allocator_memory *memory),
		       void *context);
/* Whether there is such a thing. */
bool allocator_changed(const struct allocator *a);
/* Gives back what an allocator before said: once the frameworks are added, before any agent
 * is (but they were met); by kinds in their order. False: it says nothing now, its record can be
 * deleted. Agents that do not come back are to be removed even so. */
bool allocator_remember(struct allocator *a, int64_t now, const struct allocator_memory *memory);

#endif
