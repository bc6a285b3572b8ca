/* The clock of the simulated world for production code that asks for the time. */
#ifndef LAB_SEAMS_INCLUDE_BASE_TIME_CLOCK_H
#define LAB_SEAMS_INCLUDE_BASE_TIME_CLOCK_H

#include_next "base/time/clock.h"

#define clock_wall sim_clock_wall
#define clock_now sim_clock_now
#define clock_steady sim_clock_steady
int64_t clock_wall(void);
int64_t clock_now(void);
int64_t clock_steady(void);

#endif
