/* See histogram.h. A value below 64 has a bucket of its own; above, the six bits behind the
 * highest choose the bucket of its doubling. */
#include "bench/load/measure/histogram.h"

#include <math.h>
#include <stddef.h>

#define PART_BITS 6

static size_t bucket_of(uint64_t value)
{
	int shift;

	if (value < HISTOGRAM_PARTS)
		return value;
	shift = 63 - __builtin_clzll(value) - PART_BITS;
	return (size_t)shift * HISTOGRAM_PARTS + (value >> shift);
}

/* The biggest value in a bucket. */
static uint64_t top_of(size_t bucket)
{
	size_t shift;

	if (bucket < 2 * HISTOGRAM_PARTS)
		return bucket;
	shift = bucket / HISTOGRAM_PARTS - 1;
	return ((uint64_t)(bucket - shift * HISTOGRAM_PARTS + 1) << shift) - 1;
}

void histogram_add(struct histogram *histogram, int64_t value)
{
	if (value < 0)
		value = 0;
	histogram->count++;
	histogram->sum += (double)value;
	if (value > histogram->max)
		histogram->max = value;
	histogram->buckets[bucket_of((uint64_t)value)]++;
}

int64_t histogram_percentile(const struct histogram *histogram, double share)
{
	uint64_t wanted = (uint64_t)ceil(share * (double)histogram->count), seen = 0;

	if (histogram->count == 0)
		return 0;
	if (wanted < 1)
		wanted = 1;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += histogram->buckets[i];
		if (seen >= wanted) {
			uint64_t top = top_of(i);

			return top < (uint64_t)histogram->max ? (int64_t)top : histogram->max;
		}
	}
	return histogram->max;
}

double histogram_mean(const struct histogram *histogram)
{
	return histogram->count ? histogram->sum / (double)histogram->count : 0;
}
