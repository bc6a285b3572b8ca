/* Timers of a core: an intrusive binary heap ordered by deadline, then by the
 * order of starting, so equal deadlines fire in start order (determinism). */
#ifndef BASE_TIME_TIMER_H
#define BASE_TIME_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct timer {
	int64_t deadline;
	uint64_t sequence; /* tie-break, set by timers_start */
	size_t index;	   /* place in the heap + 1; 0 = not running */
	int kind;	   /* the owner's own tag, to dispatch on */
};

struct timers {
	struct timer **heap;
	size_t count;
	size_t cap;
	uint64_t next_sequence;
};

void timers_free(struct timers *timers);
/* (Re)starts the timer. Memory of `timer` is the caller's, zeroed at first. */
void timers_start(struct timers *timers, struct timer *timer, int64_t deadline);
void timers_stop(struct timers *timers, struct timer *timer); /* idempotent */
bool timer_running(const struct timer *timer);
/* The earliest deadline, TIME_NEVER when none runs. */
int64_t timers_next(const struct timers *timers);
/* Moves all deadlines but TIME_NEVER: the clock that they are of was set. */
void timers_shift(struct timers *timers, int64_t by);
/* Takes out and returns the first timer due at `now`, or NULL. */
struct timer *timers_pop(struct timers *timers, int64_t now);

#endif
