/* timing: statistics over a window, with the names of Mesos' timers. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/time/clock.h"
#include "master/timing.h"

struct seen {
	char names[20][64];
	double values[20];
	size_t count;
};

static void note(void *context, const char *name, double value)
{
	struct seen *seen = context;

	cr_assert_lt(seen->count, 20);
	strncpy(seen->names[seen->count], name, 63);
	seen->values[seen->count++] = value;
}

static double value_of(const struct seen *seen, const char *name)
{
	for (size_t i = 0; i < seen->count; i++)
		if (!strcmp(seen->names[i], name))
			return seen->values[i];
	cr_assert_fail("no %s", name);
	return 0;
}

static struct timing timing;

static struct seen ask(int64_t now)
{
	struct seen seen = {.count = 0};

	timing_metrics(&timing, now, "x_ms", note, &seen);
	return seen;
}

Test(master_timing, says_nothing_before_a_sample_and_little_after_one)
{
	struct seen seen;

	timing.window = HOUR;
	cr_assert_eq(ask(0).count, 0);
	timing_add(&timing, 0, 7);
	seen = ask(0);
	cr_assert_eq(seen.count, 1);
	cr_assert_eq(value_of(&seen, "x_ms"), 7);
}

Test(master_timing, interpolates_percentiles)
{
	struct seen seen;

	timing.window = HOUR;
	for (int i = 101; i > 0; i--)
		timing_add(&timing, 0, i);
	seen = ask(0);
	cr_assert_eq(value_of(&seen, "x_ms/count"), 101);
	cr_assert_eq(value_of(&seen, "x_ms/min"), 1);
	cr_assert_eq(value_of(&seen, "x_ms/max"), 101);
	cr_assert_eq(value_of(&seen, "x_ms/p50"), 51);
	cr_assert_float_eq(value_of(&seen, "x_ms/p99"), 100, 1e-9);
	cr_assert_float_eq(value_of(&seen, "x_ms/p999"), 100.9, 1e-9);
	cr_assert_eq(value_of(&seen, "x_ms"), 1);
}

Test(master_timing, forgets_what_is_older_than_the_window_or_too_many)
{
	struct seen seen;

	timing.window = HOUR;
	for (int i = 0; i < 3 * TIMING_SAMPLES / 2; i++)
		timing_add(&timing, i, i);
	seen = ask(0);
	cr_assert_eq(value_of(&seen, "x_ms/count"), TIMING_SAMPLES);
	cr_assert_eq(value_of(&seen, "x_ms/min"), TIMING_SAMPLES / 2);
	timing_add(&timing, HOUR, 5);
	timing_add(&timing, HOUR, 6);
	seen = ask(HOUR + TIMING_SAMPLES * 2);
	cr_assert_eq(value_of(&seen, "x_ms/count"), 2);
	cr_assert_eq(value_of(&seen, "x_ms/p50"), 5.5);
}
