/* The rules of checks and health checks, in virtual time. */
#include <criterion/criterion.h>
#include <math.h>

#include "base/time/clock.h"
#include "cli/executor/check_state.h"

#define START (1000 * SECOND)

static struct check_state state;

static void begin_health(double delay, double interval, double timeout, double grace,
			 uint32_t failures)
{
	Mesos__HealthCheck check = MESOS__HEALTH_CHECK__INIT;
	struct check_options options;

	check.has_type = true;
	check.type = MESOS__HEALTH_CHECK__TYPE__COMMAND;
	check.delay_seconds = delay;
	check.interval_seconds = interval;
	check.timeout_seconds = timeout;
	check.grace_period_seconds = grace;
	check.consecutive_failures = failures;
	check_options_of_health(&options, &check);
	check_state_init(&state, &options, START);
}

static void begin_check(Mesos__CheckInfo__Type type, double delay, double interval, double timeout)
{
	Mesos__CheckInfo check = MESOS__CHECK_INFO__INIT;
	struct check_options options;

	check.has_type = true;
	check.type = type;
	check.delay_seconds = delay;
	check.interval_seconds = interval;
	check.timeout_seconds = timeout;
	check_options_of_check(&options, &check);
	check_state_init(&state, &options, START);
}

/* Waits for the next probe, which then takes `span` to say `value` (or to fail). */
static enum check_verdict probe(enum probe_outcome outcome, int value, int64_t span)
{
	struct probe_result result = {outcome, value, "why"};
	int64_t due = check_state_due(&state);

	cr_assert_neq(due, TIME_NEVER);
	cr_assert_eq(check_state_step(&state, due - 1), CHECK_WAIT);
	cr_assert_eq(check_state_step(&state, due), CHECK_PROBE);
	return check_state_take(&state, due + span, &result);
}

static enum check_verdict exits(int code)
{
	return probe(PROBE_RESULT, code, 0);
}

Test(cli_check_state, defaults_are_those_of_mesos)
{
	Mesos__HealthCheck check = MESOS__HEALTH_CHECK__INIT;
	struct check_options options;

	check_options_of_health(&options, &check);
	cr_assert_eq(options.delay, 15 * SECOND);
	cr_assert_eq(options.interval, 10 * SECOND);
	cr_assert_eq(options.timeout, 20 * SECOND);
	cr_assert_eq(options.grace, 10 * SECOND);
	cr_assert_eq(options.limit, 3);
}

Test(cli_check_state, odd_numbers_of_seconds)
{
	begin_health(NAN, INFINITY, 1e300, -1, 1);
	cr_assert_eq(check_state_due(&state), START);
	cr_assert_eq(state.options.interval, 3650 * DAY);
	cr_assert_eq(state.options.timeout, 3650 * DAY);
	cr_assert_eq(state.options.grace, 0);
}

Test(cli_check_state, first_probe_after_the_delay_next_after_the_interval)
{
	begin_health(2, 5, 20, 0, 3);
	cr_assert_eq(check_state_due(&state), START + 2 * SECOND);
	probe(PROBE_RESULT, 0, 3 * SECOND);
	cr_assert_eq(check_state_due(&state), START + 10 * SECOND, "counted from the end");
}

Test(cli_check_state, an_interval_of_nothing_leaves_room)
{
	begin_health(0, 0, 0, 0, 3);
	exits(0);
	cr_assert_gt(check_state_due(&state), START);
}

Test(cli_check_state, one_probe_at_a_time_and_its_deadline)
{
	struct probe_result failed = {PROBE_FAILED, 0, "timed out"};

	begin_health(0, 1, 4, 0, 3);
	cr_assert_eq(check_state_step(&state, START), CHECK_PROBE);
	cr_assert_eq(check_state_due(&state), START + 4 * SECOND);
	cr_assert_eq(check_state_step(&state, START + 3 * SECOND), CHECK_WAIT);
	cr_assert_eq(check_state_step(&state, START + 4 * SECOND), CHECK_TIME_OUT);
	cr_assert_eq(check_state_step(&state, START + 100 * SECOND), CHECK_WAIT);
	cr_assert_eq(check_state_take(&state, START + 4 * SECOND, &failed), CHECK_UNHEALTHY);
	cr_assert_eq(check_state_due(&state), START + 5 * SECOND);
}

Test(cli_check_state, no_timeout_is_for_ever)
{
	begin_health(0, 1, 0, 0, 3);
	cr_assert_eq(check_state_step(&state, START), CHECK_PROBE);
	cr_assert_eq(check_state_due(&state), TIME_NEVER);
	cr_assert_eq(check_state_step(&state, START + DAY), CHECK_WAIT);
}

Test(cli_check_state, health_is_told_at_first_and_after_failures)
{
	begin_health(0, 1, 1, 0, 3);
	cr_assert_eq(exits(0), CHECK_HEALTHY);
	cr_assert_eq(exits(0), CHECK_NO_NEWS);
	cr_assert_eq(exits(1), CHECK_UNHEALTHY);
	cr_assert_eq(exits(0), CHECK_HEALTHY);
	cr_assert_eq(exits(0), CHECK_NO_NEWS);
}

Test(cli_check_state, every_failure_is_told_and_too_many_in_a_row_kill)
{
	begin_health(0, 1, 1, 0, 3);
	exits(0);
	cr_assert_eq(exits(1), CHECK_UNHEALTHY);
	cr_assert_eq(probe(PROBE_FAILED, 0, 0), CHECK_UNHEALTHY);
	cr_assert_eq(exits(0), CHECK_HEALTHY, "the count begins again");
	cr_assert_eq(exits(1), CHECK_UNHEALTHY);
	cr_assert_eq(exits(2), CHECK_UNHEALTHY);
	cr_assert_eq(exits(3), CHECK_HOPELESS);
	cr_assert_eq(exits(3), CHECK_HOPELESS, "unless the task is killed");
}

Test(cli_check_state, no_failures_allowed_is_one)
{
	begin_health(0, 1, 1, 0, 0);
	cr_assert_eq(exits(1), CHECK_HOPELESS);
}

Test(cli_check_state, failures_in_the_grace_period_do_not_count)
{
	begin_health(0, 4, 1, 10, 1);
	cr_assert_eq(exits(1), CHECK_NO_NEWS); /* 0 s */
	cr_assert_eq(exits(1), CHECK_NO_NEWS); /* 4 s */
	cr_assert_eq(exits(1), CHECK_NO_NEWS); /* 8 s */
	cr_assert_eq(exits(1), CHECK_HOPELESS);
}

Test(cli_check_state, success_ends_the_grace_period)
{
	begin_health(0, 1, 1, 10, 2);
	cr_assert_eq(exits(1), CHECK_NO_NEWS);
	cr_assert_eq(exits(0), CHECK_HEALTHY);
	cr_assert_eq(exits(1), CHECK_UNHEALTHY);
}

Test(cli_check_state, an_unavailable_probe_says_nothing)
{
	begin_health(0, 1, 1, 0, 1);
	cr_assert_eq(probe(PROBE_UNAVAILABLE, 0, 0), CHECK_NO_NEWS);
	cr_assert_eq(exits(0), CHECK_HEALTHY);
	begin_check(MESOS__CHECK_INFO__TYPE__COMMAND, 0, 1, 1);
	cr_assert_eq(exits(7), CHECK_CHANGED);
	cr_assert_eq(probe(PROBE_UNAVAILABLE, 0, 0), CHECK_NO_NEWS);
	cr_assert(state.known && state.value == 7);
}

Test(cli_check_state, statuses_that_are_healthy)
{
	static const struct {
		enum probe_kind kind;
		int value;
		bool healthy;
	} cases[] = {
		{PROBE_COMMAND, 0, true}, {PROBE_COMMAND, 1, false}, {PROBE_HTTP, 199, false},
		{PROBE_HTTP, 200, true},  {PROBE_HTTP, 399, true},   {PROBE_HTTP, 400, false},
		{PROBE_TCP, 1, true},	  {PROBE_TCP, 0, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		begin_health(0, 1, 1, 0, 3);
		state.options.kind = cases[i].kind;
		cr_assert_eq(exits(cases[i].value),
			     cases[i].healthy ? CHECK_HEALTHY : CHECK_UNHEALTHY, "case %zu", i);
	}
}

Test(cli_check_state, checks_tell_changes_only)
{
	begin_check(MESOS__CHECK_INFO__TYPE__COMMAND, 0, 1, 1);
	cr_assert_eq(probe(PROBE_FAILED, 0, 0), CHECK_NO_NEWS, "nothing was known before");
	cr_assert_eq(exits(1), CHECK_CHANGED);
	cr_assert_eq(exits(1), CHECK_NO_NEWS);
	cr_assert_eq(exits(0), CHECK_CHANGED);
	cr_assert_eq(probe(PROBE_FAILED, 0, 0), CHECK_CHANGED);
	cr_assert_not(state.known);
	cr_assert_eq(exits(0), CHECK_CHANGED);
	cr_assert_eq(state.options.kind, PROBE_COMMAND);
}

Test(cli_check_state, nothing_comes_after_the_stop)
{
	struct probe_result result = {PROBE_RESULT, 1, NULL};

	begin_health(0, 1, 1, 0, 1);
	cr_assert_eq(check_state_step(&state, START), CHECK_PROBE);
	check_state_stop(&state);
	cr_assert_eq(check_state_due(&state), TIME_NEVER);
	cr_assert_eq(check_state_step(&state, START + HOUR), CHECK_WAIT);
	cr_assert_eq(check_state_take(&state, START + HOUR, &result), CHECK_NO_NEWS);
	cr_assert_eq(check_state_step(&state, START + 2 * HOUR), CHECK_WAIT);
}
