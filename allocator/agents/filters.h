/* What leaves refused, and until when. */
#ifndef ALLOCATOR_AGENTS_FILTERS_H
#define ALLOCATOR_AGENTS_FILTERS_H

#include "allocator/objects.h"

void alloc_filter_add(struct allocator *a, struct stake *stake, int64_t now,
		      const struct resources *allocated, double refuse_seconds);
void alloc_filters_drop(struct allocator *a, struct stake *stake);
void alloc_filters_expire(struct allocator *a, int64_t now);
void alloc_filters_end_batch(struct allocator *a);
bool alloc_filters_match(struct allocator *a, struct alloc_agent *agent, struct leaf *leaf,
			 const struct resources *offer);
struct filter *alloc_filter_make(struct allocator *a, struct stake *stake,
				 const struct resources *allocated, int64_t since, int64_t until);
/* refuse_seconds as far as it makes sense, in ns. */
int64_t alloc_refuse_duration(double seconds);

#endif
