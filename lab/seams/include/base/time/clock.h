/* The clock of the simulated world for the drivers, which ask for the time of day. */
#ifndef LAB_SEAMS_INCLUDE_BASE_TIME_CLOCK_H
#define LAB_SEAMS_INCLUDE_BASE_TIME_CLOCK_H

#include_next "base/time/clock.h"

#define clock_wall sim_clock_wall
int64_t clock_wall(void);

#endif
