/* Making failures smaller, with runs that only pretend. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdio.h>

#include "lab/scenario/scenario.h"
#include "lab/scenario/shrink.h"

/* What the pretended bug needs. */
struct bug {
	uint64_t faults[2], event; /* 0 = none */
	int agents, schedulers, tasks;
	int64_t span;
	bool other; /* without its second fault it fails otherwise */
};

static bool has(const struct numbers *n, uint64_t number)
{
	return !number || !n || numbers_have(n, number);
}

static struct shrink_verdict attempt(struct shrink *s, const struct lab_options *o)
{
	const struct bug *bug = s->context;
	struct shrink_verdict v = {.begun = 100, .time = o->span};
	bool second = has(o->only_faults, bug->faults[1]);

	v.failed = has(o->only_faults, bug->faults[0]) && has(o->only_events, bug->event) &&
		   o->agents >= bug->agents && o->schedulers >= bug->schedulers &&
		   o->tasks >= bug->tasks && o->span >= bug->span && (second || bug->other);
	snprintf(v.text, sizeof(v.text), "%s",
		 second ? "task 7 of agent 3 is lost" : "offers: something else");
	shrink_classify(v.text, v.kind);
	return v;
}

static struct shrink shrink(struct bug *bug, const struct scenario *scenario)
{
	struct shrink s = {.attempt = attempt, .context = bug};

	s.best = (struct lab_options){.seed = 1,
				      .agents = 10,
				      .schedulers = 10,
				      .tasks = 100,
				      .span = 10 * MINUTE,
				      .scenario = scenario};
	return s;
}

Test(lab_shrink, all_that_is_not_needed_goes, .init = cr_redirect_stdout)
{
	struct bug bug = {{3, 77}, 0, 2, 1, 5, 30 * SECOND, false};
	struct shrink s = shrink(&bug, NULL);

	cr_assert(shrink_reduce(&s));
	cr_expect_eq(s.faults.count, 2);
	cr_expect(numbers_have(&s.faults, 3) && numbers_have(&s.faults, 77));
	cr_expect_eq(s.best.agents, 2);
	cr_expect_eq(s.best.schedulers, 1);
	cr_expect_eq(s.best.tasks, 5);
	cr_expect_geq(s.best.span, 30 * SECOND);
	cr_expect_lt(s.best.span, 33 * SECOND);
	cr_expect_lt(s.tries, 300);
	shrink_free(&s);
}

Test(lab_shrink, faults_may_not_be_needed_at_all, .init = cr_redirect_stdout)
{
	struct bug bug = {{0, 0}, 0, 1, 1, 1, 0, false};
	struct shrink s = shrink(&bug, NULL);

	cr_assert(shrink_reduce(&s));
	cr_expect_eq(s.faults.count, 0);
	cr_expect_not_null(s.best.only_faults);
	cr_expect_eq(s.best.agents, 1);
	shrink_free(&s);
}

/* A run that fails in another way is no smaller one. */
Test(lab_shrink, failures_must_be_alike, .init = cr_redirect_stdout)
{
	struct bug bug = {{3, 77}, 0, 1, 1, 1, 0, true};
	struct shrink s = shrink(&bug, NULL);

	cr_assert(shrink_reduce(&s));
	cr_expect(numbers_have(&s.faults, 77));
	shrink_free(&s);
}

Test(lab_shrink, events_go_too, .init = cr_redirect_stdout)
{
	struct bug bug = {{0, 0}, 2, 1, 1, 1, 0, false};
	struct scenario *scenario;
	struct shrink s;
	struct err err;

	cr_assert_eq(scenario_parse("at 1secs kill master\nat 2secs kill master\n"
				    "at 3secs kill master\n",
				    &scenario, &err),
		     0);
	s = shrink(&bug, scenario);
	cr_assert(shrink_reduce(&s));
	cr_expect_eq(s.events.count, 1);
	cr_expect(numbers_have(&s.events, 2));
	shrink_free(&s);
	scenario_free(scenario);
}

/* What was left out at first stays so. */
Test(lab_shrink, begins_with_the_faults_that_are_given, .init = cr_redirect_stdout)
{
	struct bug bug = {{3, 0}, 0, 1, 1, 1, 0, false};
	struct shrink s = shrink(&bug, NULL);
	struct numbers some;

	cr_assert(numbers_parse("3,50-60", &some));
	s.best.only_faults = &some;
	cr_assert(shrink_reduce(&s));
	cr_expect_eq(s.faults.count, 1);
	cr_expect(numbers_have(&s.faults, 3));
	shrink_free(&s);
	numbers_free(&some);
}

Test(lab_shrink, what_does_not_fail_is_left_alone)
{
	struct bug bug = {{0, 0}, 0, 11, 1, 1, 0, false};
	struct shrink s = shrink(&bug, NULL);

	cr_expect_not(shrink_reduce(&s));
	cr_expect_eq(s.tries, 1);
	cr_expect_eq(s.best.agents, 10);
	shrink_free(&s);
}

Test(lab_shrink, numbers_do_not_make_a_kind)
{
	char a[SHRINK_KIND], b[SHRINK_KIND];
	char text[400];

	shrink_classify("sums: of 'cpus' agent M1-S0 has 4, 3 are used", a);
	shrink_classify("sums: of 'cpus' agent M12-S7 has 8.5, 11 are used", b);
	cr_expect_str_eq(a, b);
	shrink_classify("sums: of 'cpus' agent M12-S7 has 8, 11.25 are used", b);
	cr_expect_str_eq(a, b);
	shrink_classify("sums: of 'mem' agent M12-S7 has 8, 11 are used", b);
	cr_expect_str_neq(a, b);
	shrink_classify("that is 8. It", a);
	cr_expect_str_eq(a, "that is . It");
	shrink_classify("first\nsecond 1", a);
	cr_expect_str_eq(a, "first");
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	shrink_classify(text, a);
	cr_expect_eq(strlen(a), SHRINK_KIND - 1);
}
