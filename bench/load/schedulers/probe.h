/* Probes: frameworks that come to the loaded cluster one after the other, each to start one
 * task. Measured is what a user waits: from SUBSCRIBE (its connection is made within) to
 * TASK_RUNNING. Then the task is killed and the framework torn down. */
#ifndef BENCH_LOAD_PROBE_H
#define BENCH_LOAD_PROBE_H

#include "bench/load/load.h"

/* Each tick of the time in which they may come. */
void probe_step(struct load *load, int64_t now);
bool probes_over(const struct load *load);

#endif
