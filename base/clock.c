/* The clock: monotonic time on top of the wall clock as first seen, so that a wall clock
 * that is set back or forth moves no timer. */
#include "base/clock.h"

#include <pthread.h>
#include <time.h>

static int64_t wall_minus_monotonic;
static pthread_once_t offset_once = PTHREAD_ONCE_INIT;

static int64_t read_clock(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return now.tv_sec * SECOND + now.tv_nsec;
}

static void take_offset(void)
{
	wall_minus_monotonic = read_clock(CLOCK_REALTIME) - read_clock(CLOCK_MONOTONIC);
}

int64_t clock_now(void)
{
	pthread_once(&offset_once, take_offset);
	return wall_minus_monotonic + read_clock(CLOCK_MONOTONIC);
}

double clock_seconds(int64_t time)
{
	return (double)time / (double)SECOND;
}
