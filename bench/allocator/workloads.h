#ifndef BENCH_ALLOCATOR_WORKLOADS_H
#define BENCH_ALLOCATOR_WORKLOADS_H

#include <stddef.h>

#include "bench/allocator/cluster.h"

/* Those of Mesos' benchmarks that run over agents x frameworks. */
extern const struct workload workloads[];
extern const size_t workload_count;
const struct workload *workload_find(const char *name);

#endif
