/* The environment of a simulated process for the drivers, which look into theirs. */
#ifndef LAB_SEAMS_INCLUDE_STDLIB_H
#define LAB_SEAMS_INCLUDE_STDLIB_H

#include_next <stdlib.h>

#define getenv sim_getenv
char *getenv(const char *name);

#endif
