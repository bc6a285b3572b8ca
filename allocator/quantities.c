/* Sums of scalars: vectors that grow with the names that are met. */
#include "allocator/quantities.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"

void alloc_quantities_free(struct quantities *q)
{
	free(q->milli);
	*q = (struct quantities){0};
}

/* Absurd amounts wrap around, so that taking one away restores what was before. */
void alloc_quantities_add(struct quantities *q, uint32_t name, int64_t milli)
{
	if (name >= q->count) {
		q->milli = xrealloc(q->milli, (name + 1) * sizeof(*q->milli));
		memset(q->milli + q->count, 0, (name + 1 - q->count) * sizeof(*q->milli));
		q->count = name + 1;
	}
	q->milli[name] = (int64_t)((uint64_t)q->milli[name] + (uint64_t)milli);
}

void alloc_quantities_copy(struct quantities *to, const struct quantities *from)
{
	if (to->count != from->count) {
		to->milli = xrealloc(to->milli, (from->count + 1) * sizeof(*to->milli));
		to->count = from->count;
	}
	if (from->count > 0)
		memcpy(to->milli, from->milli, from->count * sizeof(*to->milli));
}
