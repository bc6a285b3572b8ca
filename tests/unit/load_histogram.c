/* Histogram of the load generator: percentiles are never too small and 1.6 % too big at most. */
#include <criterion/criterion.h>

#include "base/random.h"
#include "bench/load/measure/histogram.h"

static struct histogram h;

static void forget(void)
{
	h = (struct histogram){0};
}

TestSuite(histogram, .init = forget);

Test(histogram, nothing_counted)
{
	cr_assert_eq(histogram_percentile(&h, 0.5), 0);
	cr_assert_eq(histogram_mean(&h), 0);
}

Test(histogram, small_values_are_exact)
{
	for (int i = 1; i <= 100; i++)
		histogram_add(&h, i);
	cr_assert_eq(histogram_percentile(&h, 0), 1);
	cr_assert_eq(histogram_percentile(&h, 0.5), 50);
	cr_assert_eq(histogram_percentile(&h, 0.99), 99);
	cr_assert_eq(histogram_percentile(&h, 1), 100);
	cr_assert_float_eq(histogram_mean(&h), 50.5, 1e-9);
}

Test(histogram, extremes)
{
	histogram_add(&h, -5);
	histogram_add(&h, INT64_MAX);
	cr_assert_eq(h.count, 2);
	cr_assert_eq(histogram_percentile(&h, 0.5), 0);
	cr_assert_eq(histogram_percentile(&h, 1), INT64_MAX);
}

Test(histogram, each_value_alone_comes_back)
{
	for (int shift = 0; shift < 62; shift++) {
		int64_t value = ((int64_t)1 << shift) + ((int64_t)1 << shift) / 3;

		forget();
		histogram_add(&h, value);
		cr_assert_eq(histogram_percentile(&h, 0.5), value);
		histogram_add(&h, INT64_MAX);
		int64_t told = histogram_percentile(&h, 0.5);
		cr_assert(told >= value, "%ld told for %ld", told, value);
		cr_assert((double)(told - value) <= (double)value / HISTOGRAM_PARTS);
	}
}

Test(histogram, uniform_values_within_a_bucket)
{
	struct rng rng;

	rng_seed(&rng, 7);
	for (int i = 0; i < 200000; i++)
		histogram_add(&h, (int64_t)(rng_unit(&rng) * 1e9));
	cr_assert_float_eq((double)histogram_percentile(&h, 0.5), 5e8, 2e7);
	cr_assert_float_eq((double)histogram_percentile(&h, 0.99), 9.9e8, 2e7);
}
