/* Time. Everywhere a time is an `int64_t` in nanoseconds since the Unix epoch;
 * a duration is an `int64_t` in nanoseconds. Cores are handed `now`; only
 * shells call clock_now(). */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

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

/* The wall clock at the first call plus monotonic time since: never jumps. */
int64_t clock_now(void);

/* Seconds as a double, as Mesos' messages carry times. */
double clock_seconds(int64_t time);

#endif
