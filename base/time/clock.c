/* Two clocks: the monotonic one moves timers, the wall clock is shown. */
#include "base/time/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

/* Below that they only were read one after the other. */
#define JUMP_MIN (100 * MILLISECOND)

static _Atomic int64_t wall_minus_monotonic; /* threads read the clock, too */
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

int64_t clock_wall(void)
{
	return read_clock(CLOCK_REALTIME);
}

int64_t clock_steady(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_catch_up(void)
{
	int64_t jump = clock_wall() - clock_now();

	if (jump > -JUMP_MIN && jump < JUMP_MIN)
		return 0;
	wall_minus_monotonic += jump;
	return jump;
}

double clock_seconds(int64_t time)
{
	return (double)time / (double)SECOND;
}
