/* The libprocess actors of a run by their number: "slave(1)", "scheduler(12)". */
#ifndef BENCH_LOAD_ACTOR_H
#define BENCH_LOAD_ACTOR_H

#include <stdbool.h>
#include <stdint.h>

/* "KIND(12)" -> 11, for numbers from 1 to `count`; false for what is none of ours. */
bool actor_find(const char *id, const char *kind, int64_t count, uint32_t *out);

#endif
