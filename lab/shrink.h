/* Reduces a run that fails to a smaller one that fails alike: fewer faults, parts and tasks,
 * less time. Each try is a process of its own, so crashes can be reduced, too. */
#ifndef LAB_SHRINK_H
#define LAB_SHRINK_H

#include "lab/command.h"

/* Prints the smallest command; 0 if the run does not fail at all. */
int shrink_run(const struct command *c);

#endif
