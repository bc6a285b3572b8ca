/* Binary heap of timers. Every timer knows its place, so stopping needs no search. */
#include "base/time/timer.h"

#include <stdlib.h>

#include "base/memory/arena.h"
#include "base/time/clock.h"

void timers_free(struct timers *timers)
{
	for (size_t i = 0; i < timers->count; i++)
		timers->heap[i]->index = 0;
	free(timers->heap);
	*timers = (struct timers){0};
}

static bool before(const struct timer *a, const struct timer *b)
{
	if (a->deadline != b->deadline)
		return a->deadline < b->deadline;
	return a->sequence < b->sequence;
}

static void place(struct timers *timers, size_t at, struct timer *timer)
{
	timers->heap[at] = timer;
	timer->index = at + 1;
}

/* Moves the timer at `at` to where it belongs, up or down. */
static void timer_settle(struct timers *timers, size_t at)
{
	struct timer *timer = timers->heap[at];

	while (at > 0 && before(timer, timers->heap[(at - 1) / 2])) {
		place(timers, at, timers->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= timers->count)
			break;
		if (child + 1 < timers->count &&
		    before(timers->heap[child + 1], timers->heap[child]))
			child++;
		if (before(timer, timers->heap[child]))
			break;
		place(timers, at, timers->heap[child]);
		at = child;
	}
	place(timers, at, timer);
}

void timers_start(struct timers *timers, struct timer *timer, int64_t deadline)
{
	if (!timer->index) {
		if (timers->count == timers->cap) {
			timers->cap = timers->cap ? timers->cap * 2 : 16;
			timers->heap = xrealloc(timers->heap, timers->cap * sizeof(*timers->heap));
		}
		place(timers, timers->count++, timer);
	}
	timer->deadline = deadline;
	timer->sequence = timers->next_sequence++;
	timer_settle(timers, timer->index - 1);
}

void timers_stop(struct timers *timers, struct timer *timer)
{
	size_t at = timer->index - 1;
	struct timer *last;

	if (!timer->index)
		return;
	timer->index = 0;
	last = timers->heap[--timers->count];
	if (last != timer) {
		place(timers, at, last);
		timer_settle(timers, at);
	}
}

bool timer_running(const struct timer *timer)
{
	return timer->index != 0;
}

int64_t timers_next(const struct timers *timers)
{
	return timers->count ? timers->heap[0]->deadline : TIME_NEVER;
}

void timers_shift(struct timers *timers, int64_t by)
{
	/* The order stays. What comes near the end of time stays there. */
	for (size_t i = 0; i < timers->count; i++) {
		int64_t *deadline = &timers->heap[i]->deadline;

		if (*deadline < TIME_NEVER - 1 && (by < 0 || *deadline < TIME_NEVER - 1 - by))
			*deadline += by;
		else if (*deadline < TIME_NEVER)
			*deadline = TIME_NEVER - 1;
	}
}

struct timer *timers_pop(struct timers *timers, int64_t now)
{
	struct timer *first;

	if (!timers->count || timers->heap[0]->deadline > now)
		return NULL;
	first = timers->heap[0];
	timers_stop(timers, first);
	return first;
}
