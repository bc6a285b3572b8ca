/* Time. Everywhere a time is an `int64_t` in nanoseconds since the Unix epoch;
 * a duration is an `int64_t` in nanoseconds. Cores are handed `now`; only
 * shells call clock_now(). */
#ifndef BASE_TIME_CLOCK_H
#define BASE_TIME_CLOCK_H

#include <stdint.h>

#define NANOSECOND INT64_C(1)
#define MICROSECOND (1000 * NANOSECOND)
#define MILLISECOND (1000 * MICROSECOND)
#define SECOND (1000 * MILLISECOND)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define WEEK (7 * DAY)
#define TIME_NEVER INT64_MAX

/* The wall clock at the first call, or the last clock_catch_up(), plus monotonic time since. Jumps
 * then only. */
int64_t clock_now(void);
/* The wall clock, which may be set at any time: to be shown, not to wait by. */
int64_t clock_wall(void);
/* Follows the wall clock if it was set, or the machine slept, and returns by how much clock_now()
 * is ahead of what it would have been; 0 mostly. Whoever calls this moves its timers by as much. */
int64_t clock_catch_up(void);

/* Since some moment in the past; nobody sets it, and any thread may ask. For how long something
 * takes, and until when it is waited for, where nobody moves deadlines with clock_catch_up(). */
int64_t clock_steady(void);

/* Seconds as a double, as Mesos' messages carry times. */
double clock_seconds(int64_t time);

#endif
