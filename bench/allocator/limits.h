/* What the bare machine does for the same work. */
#ifndef BENCH_ALLOCATOR_LIMITS_H
#define BENCH_ALLOCATOR_LIMITS_H

#include "bench/allocator/meter.h"

/* Of one record: an id, four amounts and a place in a hash table, made with malloc(). Of so
 * many in one table. */
struct limit {
	double ms;
	double instructions;
	double bytes;
};
struct limit limit_records(struct meter *meter, int count);
/* Of asking what time it is. */
struct cost limit_nothing(struct meter *meter);

#endif
