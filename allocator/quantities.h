/* Sums of scalars. */
#ifndef ALLOCATOR_QUANTITIES_H
#define ALLOCATOR_QUANTITIES_H

#include <stdint.h>

/* By the pool's number of their name. */
struct quantities {
	int64_t *milli;
	uint32_t count;
};

/* What is not there is 0. */
static inline int64_t alloc_quantity(const struct quantities *q, uint32_t name)
{
	return name < q->count ? q->milli[name] : 0;
}
void alloc_quantities_add(struct quantities *q, uint32_t name, int64_t milli);
void alloc_quantities_copy(struct quantities *to, const struct quantities *from);
void alloc_quantities_free(struct quantities *q);

#endif
