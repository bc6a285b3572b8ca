/* Mesos' two benchmarks of quota. */
#ifndef BENCH_ALLOCATOR_QUOTA_H
#define BENCH_ALLOCATOR_QUOTA_H

#include <stdbool.h>

#include "bench/allocator/meter.h"
#include "bench/allocator/report.h"

void quota_run(struct report *report, struct meter *meter, bool full);

#endif
