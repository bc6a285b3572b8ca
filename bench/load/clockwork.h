/* Carries out a whole run. */
#ifndef BENCH_LOAD_CLOCKWORK_H
#define BENCH_LOAD_CLOCKWORK_H

#include "bench/load/load.h"

/* `load` is zeroed but for the plan; its books are to be closed. Negative: it failed, what
 * was wrong is on standard error and, in short, in `err`. */
int load_run(struct load *load, struct err *err);

#endif
