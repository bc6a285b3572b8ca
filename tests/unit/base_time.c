/* clock, timer, duration and byte amounts. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/random.h"
#include "base/time/clock.h"
#include "base/time/duration.h"
#include "base/time/timer.h"

Test(clock, is_the_wall_clock_and_does_not_go_back)
{
	int64_t first = clock_now(), last = first;
	struct timespec wall;

	clock_gettime(CLOCK_REALTIME, &wall);
	cr_assert_lt(llabs(wall.tv_sec * SECOND + wall.tv_nsec - first), MINUTE);
	for (int i = 0; i < 1000; i++) {
		int64_t now = clock_now();

		cr_assert_geq(now, last);
		last = now;
	}
	cr_assert_float_eq(clock_seconds(1500 * MILLISECOND), 1.5, 0);
}

Test(timer, fires_in_order_of_deadline_then_start)
{
	struct timers timers = {0};
	struct timer timer[4] = {{0}};

	cr_assert_eq(timers_next(&timers), TIME_NEVER);
	cr_assert_null(timers_pop(&timers, INT64_MAX));
	timers_start(&timers, &timer[0], 30);
	timers_start(&timers, &timer[1], 10);
	timers_start(&timers, &timer[2], 20);
	timers_start(&timers, &timer[3], 10);
	cr_assert_eq(timers_next(&timers), 10);
	cr_assert_null(timers_pop(&timers, 9));
	cr_assert_eq(timers_pop(&timers, 10), &timer[1]);
	cr_assert_not(timer_running(&timer[1]));
	cr_assert_eq(timers_pop(&timers, 10), &timer[3]);
	cr_assert_null(timers_pop(&timers, 10));
	timers_start(&timers, &timer[2], 30);
	cr_assert_eq(timers_pop(&timers, 99), &timer[0], "a restart goes behind its equals");
	timers_stop(&timers, &timer[2]);
	timers_stop(&timers, &timer[2]);
	cr_assert_eq(timers_next(&timers), TIME_NEVER);
	timers_start(&timers, &timer[2], 1);
	timers_free(&timers);
	cr_assert_not(timer_running(&timer[2]));
}

/* Against a plain search through all timers. */
Test(timer, agrees_with_a_search)
{
	enum { COUNT = 60 };
	struct timers timers = {0};
	struct timer timer[COUNT] = {{0}};
	struct rng rng;

	rng_seed(&rng, 7);
	for (int step = 0; step < 20000; step++) {
		struct timer *t = &timer[rng_next(&rng) % COUNT], *best = NULL;

		switch (rng_next(&rng) % 4) {
		case 0:
		case 1:
			timers_start(&timers, t, (int64_t)(rng_next(&rng) % 50));
			break;
		case 2:
			timers_stop(&timers, t);
			break;
		default:
			for (int i = 0; i < COUNT; i++)
				if (timer_running(&timer[i]) &&
				    (!best || timer[i].deadline < best->deadline ||
				     (timer[i].deadline == best->deadline &&
				      timer[i].sequence < best->sequence)))
					best = &timer[i];
			cr_assert_eq(timers_next(&timers), best ? best->deadline : TIME_NEVER);
			cr_assert_eq(timers_pop(&timers, 50), best);
		}
	}
	timers_free(&timers);
}

Test(duration, parses)
{
	static const struct {
		const char *text;
		int64_t value;
	} good[] = {
		{"0ns", 0},
		{"15ns", 15},
		{"3us", 3 * MICROSECOND},
		{"250ms", 250 * MILLISECOND},
		{"15secs", 15 * SECOND},
		{"1.5mins", 90 * SECOND},
		{"10mins", 10 * MINUTE},
		{"2hrs", 2 * HOUR},
		{"3days", 3 * DAY},
		{"2weeks", 2 * WEEK},
		{".5secs", 500 * MILLISECOND},
		{"1.secs", SECOND},
		{"0.0000000001secs", 0},
		{"9223372036secs", 9223372036 * SECOND},
		{"00000000000000000001secs", SECOND},
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		struct err err = {""};
		int64_t value = -1;

		cr_assert_eq(duration_parse(good[i].text, &value, &err), 0, "%s: %s", good[i].text,
			     err.text);
		cr_assert_eq(value, good[i].value, "%s", good[i].text);
	}
}

#define UNITS "; supported units are 'ns', 'us', 'ms', 'secs', 'mins', 'hrs', 'days', and 'weeks'"
#define RANGE "Argument out of the range that a Duration can represent due to int64_t's size limit"

Test(duration, refuses_with_the_words_of_mesos)
{
	static const struct {
		const char *text, *error;
	} bad[] = {
		{"", "Invalid duration ''"},
		{"15", "Invalid duration '15'"},
		{"1.5", "Invalid duration '1.5'"},
		{"secs", "Failed to convert '' to number"},
		{"-1secs", "Failed to convert '' to number"},
		{" 1secs", "Failed to convert '' to number"},
		{"1..5secs", "Failed to convert '1..5' to number"},
		{".secs", "Failed to convert '.' to number"},
		{"15s", "Unknown duration unit 's'" UNITS},
		{"15 secs", "Unknown duration unit ' secs'" UNITS},
		{"15secs ", "Unknown duration unit 'secs '" UNITS},
		{"15Secs", "Unknown duration unit 'Secs'" UNITS},
		{"1e3secs", "Unknown duration unit 'e3secs'" UNITS},
		{"0x10secs", "Unknown duration unit 'x10secs'" UNITS},
		{"9223372037secs", RANGE},
		{"99999999999999999999999999weeks", RANGE},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct err err = {""};
		int64_t value = -1;

		cr_assert_eq(duration_parse(bad[i].text, &value, &err), ERR_INVALID, "%s",
			     bad[i].text);
		cr_assert_str_eq(err.text, bad[i].error);
		cr_assert_eq(value, -1, "%s", bad[i].text);
	}
}

Test(duration, refuses_numbers_without_end)
{
	static char text[100000];
	struct err err = {""};
	int64_t value;

	memset(text, '9', sizeof(text) - 6);
	memcpy(text + sizeof(text) - 6, "weeks", 6);
	cr_assert_eq(duration_parse(text, &value, &err), ERR_INVALID);
}

Test(duration, formats)
{
	static const struct {
		int64_t value;
		const char *text;
	} table[] = {
		{0, "0ns"},
		{999, "999ns"},
		{1000, "1us"},
		{1001, "1001ns"},
		{1500 * MICROSECOND, "1500us"},
		{1500 * MICROSECOND + 1, "1.500001ms"},
		{MILLISECOND, "1ms"},
		{500 * MILLISECOND, "500ms"},
		{1500 * MILLISECOND, "1500ms"},
		{1500 * MILLISECOND + 1, "1.500000001secs"},
		{15 * SECOND, "15secs"},
		{60 * SECOND, "1mins"},
		{90 * SECOND, "90secs"},
		{90 * SECOND + 500 * MILLISECOND, "1.50833333333333mins"},
		{10 * MINUTE, "10mins"},
		{90 * MINUTE, "90mins"},
		{HOUR, "1hrs"},
		{DAY, "1days"},
		{36 * HOUR, "36hrs"},
		{WEEK, "1weeks"},
		{10 * DAY, "10days"},
		{10 * DAY + HOUR, "1.43452380952381weeks"},
		{2 * WEEK, "2weeks"},
		{-15 * SECOND, "-15secs"},
		{INT64_MAX, "15250.2844524715weeks"},
		{INT64_MIN, "-15250.2844524715weeks"},
	};
	char out[DURATION_TEXT];

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		cr_assert_str_eq(duration_format(table[i].value, out), table[i].text);
}

Test(bytes, parse_and_format)
{
	static const struct {
		const char *text;
		uint64_t value;
		const char *again;
	} good[] = {
		{"0B", 0, "0B"},
		{"1023B", 1023, "1023B"},
		{"1024B", 1024, "1KB"},
		{"4KB", 4096, "4KB"},
		{"2mb", 2 << 20, "2MB"},
		{"2Gb", UINT64_C(2) << 30, "2GB"},
		{"1024GB", UINT64_C(1) << 40, "1TB"},
		{"18446744073709551615B", UINT64_MAX, "18446744073709551615B"},
		{"16777215TB", UINT64_C(16777215) << 40, "16777215TB"},
	};
	static const struct {
		const char *text, *error;
	} bad[] = {
		{"", "Invalid bytes ''"},
		{"5", "Invalid bytes '5'"},
		{"1.5GB", "Fractional bytes '1.5GB'"},
		{"KB", "Failed to convert '' to number"},
		{"-1KB", "Failed to convert '' to number"},
		{"1PB", "Unknown bytes unit 'PB'"},
		{"1 KB", "Unknown bytes unit ' KB'"},
		{"18446744073709551616B", "Failed to convert '18446744073709551616' to number"},
		{"16777216TB", "Bytes '16777216TB' exceed 64 bits"},
	};
	char out[DURATION_TEXT];

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		struct err err = {""};
		uint64_t value = 1;

		cr_assert_eq(bytes_parse(good[i].text, &value, &err), 0, "%s", err.text);
		cr_assert_eq(value, good[i].value, "%s", good[i].text);
		cr_assert_str_eq(bytes_format(value, out), good[i].again);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct err err = {""};
		uint64_t value = 1;

		cr_assert_eq(bytes_parse(bad[i].text, &value, &err), ERR_INVALID, "%s",
			     bad[i].text);
		cr_assert_str_eq(err.text, bad[i].error);
	}
}

Test(timers, move_with_the_clock)
{
	struct timers timers = {0};
	struct timer soon = {0}, later = {0}, last = {0}, never = {0};

	timers_start(&timers, &later, 2000);
	timers_start(&timers, &soon, 1000);
	timers_start(&timers, &last, TIME_NEVER - 1);
	timers_start(&timers, &never, TIME_NEVER);
	timers_shift(&timers, 500);
	cr_expect_eq(timers_next(&timers), 1500);
	cr_expect_null(timers_pop(&timers, 1499));
	cr_expect_eq(timers_pop(&timers, 1500), &soon);
	timers_shift(&timers, -2400);
	cr_expect_eq(timers_next(&timers), 100);
	cr_expect_eq(timers_pop(&timers, 100), &later);
	cr_expect_eq(last.deadline, TIME_NEVER - 1);
	cr_expect_eq(never.deadline, TIME_NEVER);
	timers_start(&timers, &soon, TIME_NEVER - 1000);
	timers_shift(&timers, 5000);
	cr_expect_eq(soon.deadline, TIME_NEVER - 1);
	timers_free(&timers);
}

Test(clock, follows_the_wall_clock)
{
	int64_t before = clock_now(), wall = clock_wall();

	cr_expect_eq(clock_catch_up(), 0, "nobody set it");
	cr_expect_lt(wall - before, SECOND);
	cr_expect_geq(clock_now(), before);
}
