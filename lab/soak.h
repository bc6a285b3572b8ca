/* Runs without an end, and how fast runs are. */
#ifndef LAB_SOAK_H
#define LAB_SOAK_H

#include "lab/command.h"

/* Seed after seed until SIGINT or SIGTERM, of clusters of all sizes; reports each minute.
 * Stops at the first failure, too. */
int soak_run(struct command *c);
/* How fast a cluster of ten agents is simulated, idle and under faults, beside the limits. */
int soak_bench(struct command *c);

#endif
