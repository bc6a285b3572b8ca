/* What a piece of work costs: time, instructions, memory. */
#ifndef BENCH_ALLOCATOR_METER_H
#define BENCH_ALLOCATOR_METER_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* NAN is "cannot be counted here". */
struct cost {
	double ms;	     /* of the thread: what else the machine does counts little */
	double instructions; /* of user space */
};

struct meter {
	int counter; /* of the processor; -1 = none */
	struct timespec begin;
	double counted; /* when the work began */
};

/* Instructions come from the processor's counter if the kernel hands it out, and under
 * callgrind (`valgrind --tool=callgrind`) from that. */
void meter_open(struct meter *meter);
void meter_close(struct meter *meter);
void meter_begin(struct meter *meter);
struct cost meter_end(struct meter *meter);

/* Bytes of the heap in use, with what the allocator of memory adds to each piece. */
size_t heap_bytes(void);

#endif
