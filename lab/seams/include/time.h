/* The clocks of the simulated world for production code that reads them itself. */
#ifndef LAB_SEAMS_INCLUDE_TIME_H
#define LAB_SEAMS_INCLUDE_TIME_H

#include_next <time.h>

#ifndef LAB_SEAMS_REAL_CLOCKS
#define clock_gettime sim_clock_gettime
int clock_gettime(clockid_t clock, struct timespec *out);
#endif

#endif
