/* Histogram of durations with logarithmic buckets: 64 to each doubling, so a percentile is
 * told to 1.6 % in 30 KB whatever was counted. */
#ifndef BENCH_LOAD_HISTOGRAM_H
#define BENCH_LOAD_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_PARTS 64 /* buckets a doubling */
#define HISTOGRAM_BUCKETS (59 * HISTOGRAM_PARTS)

struct histogram {
	uint64_t count;
	int64_t max;
	double sum;
	uint64_t buckets[HISTOGRAM_BUCKETS];
};

/* Negative values count as 0. */
void histogram_add(struct histogram *histogram, int64_t value);
/* The value that `share` (0 to 1) of all do not exceed; 0 when nothing was counted. Never
 * too small, never above the biggest. */
int64_t histogram_percentile(const struct histogram *histogram, double share);
double histogram_mean(const struct histogram *histogram);

#endif
