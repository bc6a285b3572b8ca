/* Which agents take part, the hold after a restart, and inverse offers. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocator/allocator_looks.h"
#include "allocator_kit.h"
#include "allocator_named.h"

TestSuite(allocator_periphery);

static void hosts(struct lab *lab, const char *first, const char *second)
{
	const char *names[] = {first, second};

	allocator_set_whitelist(lab->a, names, (size_t)(first != NULL) + (second != NULL));
}

/* ---- the whitelist ------------------------------------------------------------------- */

/* Spec case 45. */
Test(allocator_periphery, case_45_only_hosts_of_the_whitelist_are_offered_from)
{
	struct lab lab = lab_open(NULL);

	hosts(&lab, "other", NULL);
	lab_agent(&lab, "s1", "cpus:2;mem:1024");
	named_set_agent_hostname(lab.a, "s1", "dummy");
	lab_framework(&lab, "fw", "r");
	lab_expect_event(&lab, "");
	lab_expect_tick(&lab, "");
	hosts(&lab, "other", "dummy");
	/* At the next batch, not at once. */
	cr_expect_not(allocator_pending(lab.a));
	lab_expect_tick(&lab, "fw(r)@s1 cpus:2; mem:1024");
	lab_close(&lab);
}

Test(allocator_periphery, an_empty_whitelist_is_not_none)
{
	struct lab lab = lab_open(NULL);

	hosts(&lab, NULL, NULL);
	lab_agent(&lab, "s1", "cpus:2;mem:1024");
	lab_framework(&lab, "fw", "r");
	lab_expect_event(&lab, "");
	hosts(&lab, "", NULL);
	lab_expect_tick(&lab, "fw(r)@s1 cpus:2; mem:1024");
	lab_decline(&lab, 0, LAB_NO_FILTER);
	allocator_set_whitelist(lab.a, NULL, 0);
	named_set_agent_hostname(lab.a, "s1", "host");
	lab_expect_tick(&lab, "fw(r)@s1 cpus:2; mem:1024");
	lab_close(&lab);
}

Test(allocator_periphery, leaving_the_whitelist_takes_nothing_back)
{
	struct lab lab = lab_open(NULL);

	hosts(&lab, "h", "h");
	lab_agent(&lab, "s1", "cpus:2;mem:1024");
	named_set_agent_hostname(lab.a, "s1", "h");
	lab_framework(&lab, "fw", "r");
	lab_expect_event(&lab, "fw(r)@s1 cpus:2; mem:1024");
	hosts(&lab, "g", NULL);
	lab_decline(&lab, 0, LAB_NO_FILTER);
	lab_expect_tick(&lab, "");
	/* Its resources are in the pool even so. */
	lab_restore(&lab, "fw", "r", "s1", "cpus:1");
	cr_expect_float_eq(allocator_role_share(lab.a, "r"), 0.5, 1e-12);
	named_activate_agent(lab.a, "s1", false);
	allocator_set_whitelist(lab.a, NULL, 0);
	lab_expect_tick(&lab, "");
	named_activate_agent(lab.a, "s1", true);
	lab_expect_tick(&lab, "fw(r)@s1 cpus:1; mem:1024");
	lab_close(&lab);
}

/* ---- the hold -------------------------------------------------------------------------- */

static void agents(struct lab *lab, int from, int to)
{
	char id[16];

	for (int i = from; i <= to; i++) {
		snprintf(id, sizeof(id), "s%02d", i);
		lab_agent(lab, id, "cpus:1;mem:64");
	}
}

/* Spec case 79: 10 agents were known, of which 8 are waited for. */
Test(allocator_periphery, case_79_nothing_is_offered_until_enough_agents_are_back)
{
	struct lab lab = lab_open(NULL);

	allocator_hold(lab.a, 8, lab.now + 10 * MINUTE);
	cr_expect_eq(allocator_next_timeout(lab.a), lab.now + 10 * MINUTE);
	lab_framework(&lab, "fw", "r");
	agents(&lab, 1, 7);
	lab_agent(&lab, "s07", "cpus:2;mem:64"); /* the same again */
	cr_expect_not(allocator_pending(lab.a));
	lab_expect_tick(&lab, "");
	agents(&lab, 8, 8);
	lab_expect_event(&lab, "fw(r)@s08 cpus:1; mem:64");
	free(lab_tick(&lab));
	cr_expect_eq(lab.grants.count, 7);
	agents(&lab, 9, 9);
	lab_expect_event(&lab, "fw(r)@s09 cpus:1; mem:64");
	lab_close(&lab);
}

Test(allocator_periphery, case_79_the_hold_ends_with_time)
{
	struct lab lab = lab_open(NULL);

	allocator_hold(lab.a, 8, lab.now + 3 * SECOND);
	lab_framework(&lab, "fw", "r");
	agents(&lab, 1, 1);
	lab_expect_tick(&lab, "");
	lab_expect_tick(&lab, "");
	lab_expect_tick(&lab, "fw(r)@s01 cpus:1; mem:64");
	cr_expect_eq(allocator_next_timeout(lab.a), TIME_NEVER);
	lab_close(&lab);
}

Test(allocator_periphery, case_79_no_agents_to_wait_for_is_no_hold)
{
	struct lab lab = lab_open(NULL);

	allocator_hold(lab.a, 0, lab.now + 10 * MINUTE);
	lab_framework(&lab, "fw", "r");
	agents(&lab, 1, 1);
	lab_expect_event(&lab, "fw(r)@s01 cpus:1; mem:64");
	lab_close(&lab);
}

Test(allocator_periphery, a_hold_goes_on_when_frameworks_go_and_agents_are_removed)
{
	struct lab lab = lab_open(NULL);

	allocator_hold(lab.a, 2, lab.now + 10 * MINUTE);
	lab_framework(&lab, "gone", "r");
	lab_framework(&lab, "fw", "r");
	agents(&lab, 1, 1);
	named_remove_framework(lab.a, "gone");
	named_revive(lab.a, "fw", NULL, 0);
	lab_expect_event(&lab, "");
	lab_expect_tick(&lab, "");
	named_remove_agent(lab.a, "s01");
	agents(&lab, 2, 2);
	lab_expect_event(&lab, "fw(r)@s02 cpus:1; mem:64");
	lab_close(&lab);
}

/* ---- inverse offers ---------------------------------------------------------------------- */

/* "fw@s1, ..." of the last cycle. */
static void expect_inverse(struct lab *lab, const char *expected)
{
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < lab->grants.inverse_count; i++)
		buf_printf(&text, "%s%s@%s", i ? ", " : "",
			   named_id(lab->grants.inverse[i].framework),
			   named_id(lab->grants.inverse[i].agent));
	cr_expect_str_eq(text.data ? text.data : "", expected);
	buf_free(&text);
}

static void tick_expect(struct lab *lab, const char *inverse)
{
	free(lab_tick(lab));
	expect_inverse(lab, inverse);
}

static void end(struct lab *lab, const char *framework, const char *agent, double refuse_seconds)
{
	struct allocator_filter filter = {refuse_seconds};

	named_end_inverse(lab->a, lab->now, framework, agent,
			  refuse_seconds == LAB_NO_FILTER ? NULL : &filter);
}

/* Two agents; fw holds s1. */
static struct lab held_agent(void)
{
	struct lab lab = lab_open(NULL);

	lab_framework(&lab, "fw", "r");
	lab_agent(&lab, "s1", "cpus:1;mem:64");
	lab_agent(&lab, "s2", "cpus:1;mem:64");
	free(lab_event(&lab));
	lab_decline(&lab, 1, 86400);
	return lab;
}

/* Spec case 77. */
Test(allocator_periphery, case_77_whoever_holds_something_is_asked_to_leave)
{
	struct lab lab = held_agent();

	named_set_unavailability(lab.a, "s1", true);
	named_set_unavailability(lab.a, "s2", true);
	cr_expect(allocator_pending(lab.a));
	lab_expect_event(&lab, "");
	expect_inverse(&lab, "fw@s1");
	/* One at a time. */
	tick_expect(&lab, "");
	end(&lab, "fw", "s1", LAB_NO_FILTER);
	tick_expect(&lab, "fw@s1");
	lab_close(&lab);
}

/* Spec case 78: offers of the agent go on. */
Test(allocator_periphery, case_78_a_framework_that_is_away_is_not_asked)
{
	struct lab lab = lab_open(NULL);

	lab_agent(&lab, "s1", "cpus:2;mem:128");
	lab_framework(&lab, "away", "r");
	named_activate_framework(lab.a, "away", false);
	lab_restore(&lab, "away", "r", "s1", "cpus:1;mem:64");
	named_set_unavailability(lab.a, "s1", true);
	lab_framework(&lab, "fw", "r");
	lab_expect_event(&lab, "fw(r)@s1 cpus:1; mem:64");
	/* The very cycle that offered something asks for it, too. */
	expect_inverse(&lab, "fw@s1");
	named_activate_framework(lab.a, "away", true);
	free(lab_event(&lab));
	expect_inverse(&lab, "away@s1");
	lab_close(&lab);
}

Test(allocator_periphery, refused_inverse_offers_wait_for_their_filter)
{
	struct lab lab = held_agent();

	named_set_unavailability(lab.a, "s1", true);
	tick_expect(&lab, "fw@s1");
	end(&lab, "fw", "s1", 2.5);
	tick_expect(&lab, "");
	tick_expect(&lab, "");
	tick_expect(&lab, "fw@s1");
	/* Shorter than the interval is as long as said; 0 is no filter; nonsense is 5 s. */
	end(&lab, "fw", "s1", 0.1);
	tick_expect(&lab, "fw@s1");
	end(&lab, "fw", "s1", 0);
	lab.now -= SECOND;
	tick_expect(&lab, "fw@s1");
	end(&lab, "fw", "s1", -1);
	for (int i = 0; i < 4; i++)
		tick_expect(&lab, "");
	tick_expect(&lab, "fw@s1");
	lab_close(&lab);
}

Test(allocator_periphery, what_clears_inverse_filters)
{
	const char *role = "r";
	struct allocator_framework again = {
		.id = "fw", .roles = &role, .role_count = 1, .active = true};
	struct lab lab = held_agent();

	named_set_unavailability(lab.a, "s1", true);
	for (int i = 0; i < 4; i++) {
		tick_expect(&lab, "fw@s1");
		end(&lab, "fw", "s1", 3600);
		tick_expect(&lab, "");
		switch (i) {
		case 0:
			named_revive(lab.a, "fw", &role, 1);
			break;
		case 1:
			named_add_framework(lab.a, &again);
			break;
		case 2:
			named_activate_framework(lab.a, "fw", false);
			tick_expect(&lab, "");
			named_activate_framework(lab.a, "fw", true);
			break;
		default:
			named_set_unavailability(lab.a, "s1", true);
		}
	}
	tick_expect(&lab, "fw@s1");
	/* None of these takes back one that is outstanding. */
	named_revive(lab.a, "fw", NULL, 0);
	named_add_framework(lab.a, &again);
	tick_expect(&lab, "");
	/* But a change of the window does: the owner rescinds it. */
	named_set_unavailability(lab.a, "s1", false);
	tick_expect(&lab, "");
	end(&lab, "fw", "s1", 3600);
	named_set_unavailability(lab.a, "s1", true);
	tick_expect(&lab, "fw@s1");
	lab_close(&lab);
}

Test(allocator_periphery, inverse_offers_end_with_agent_and_framework)
{
	struct lab lab = held_agent();

	named_set_unavailability(lab.a, "nowhere", true);
	end(&lab, "nobody", "nowhere", 1);
	named_set_unavailability(lab.a, "s1", true);
	tick_expect(&lab, "fw@s1");
	named_remove_agent(lab.a, "s1");
	lab_agent(&lab, "s1", "cpus:1;mem:64");
	lab_restore(&lab, "fw", "r", "s1", "cpus:1;mem:64");
	tick_expect(&lab, "");
	named_set_unavailability(lab.a, "s1", true);
	tick_expect(&lab, "fw@s1");
	named_remove_framework(lab.a, "fw");
	lab_framework(&lab, "fw", "r");
	lab_restore(&lab, "fw", "r", "s1", "cpus:1");
	tick_expect(&lab, "fw@s1");
	lab_close(&lab);
}

Test(allocator_periphery, events_ask_only_on_their_own_agents)
{
	struct lab lab = held_agent();

	lab_restore(&lab, "fw", "r", "s2", "cpus:1");
	named_set_unavailability(lab.a, "s1", true);
	named_set_unavailability(lab.a, "s2", true);
	free(lab_event(&lab));
	expect_inverse(&lab, "fw@s1, fw@s2");
	end(&lab, "fw", "s1", LAB_NO_FILTER);
	lab_agent(&lab, "s3", "cpus:1;mem:64");
	free(lab_event(&lab));
	expect_inverse(&lab, "");
	/* Not even inactive agents are left alone: their tasks are to go as well. */
	named_activate_agent(lab.a, "s1", false);
	tick_expect(&lab, "fw@s1");
	lab_close(&lab);
}

/* ---- figures --------------------------------------------------------------------------- */

static void put_figure(void *context, const struct allocator_figure *figure)
{
	static const char *const kinds[] = {"total", "held", "share", "filters", "charged"};

	buf_printf(context, "%s %s%s%s %g; ", kinds[figure->kind], figure->role ? figure->role : "",
		   figure->role && figure->resource ? " " : "",
		   figure->resource ? figure->resource : "", figure->value);
}

Test(allocator_periphery, figures_of_roles_and_resources)
{
	struct lab lab = lab_open(NULL);
	struct buf text = BUF_INIT;

	lab_agent(&lab, "s1", "cpus:2;mem:100;ports:[1-9]");
	lab_agent(&lab, "s2", "cpus:2;mem:100");
	lab_framework(&lab, "f1", "a/b,a,c/d/e");
	lab_framework(&lab, "f2", "z");
	named_suppress(lab.a, "f2", NULL, 0);
	lab_restore(&lab, "f1", "a/b", "s1", "cpus:1;mem:10");
	lab_restore(&lab, "f2", "z", "s1", "cpus:1;mem:10");
	lab_restore(&lab, "f1", "a", "s1", "mem:50");
	lab_recover(&lab, "f1", "a", "s1", "mem:50", 60);
	allocator_figures(lab.a, put_figure, &text);
	cr_expect_str_eq(text.data, "total cpus 4; held cpus 2; total mem 200; held mem 20; "
				    "share a 0; filters a 1; share a/b 0.25; filters a/b 0; "
				    "share c/d/e 0; filters c/d/e 0; share z 0.25; filters z 0; "
				    "charged a cpus 1; charged a mem 10; charged a/b cpus 1; "
				    "charged a/b mem 10; charged z cpus 1; charged z mem 10; ");
	cr_expect_eq(allocator_role_held(lab.a, "a", "cpus"), 1000);
	cr_expect_eq(allocator_role_held(lab.a, "a/b", "mem"), 10000);
	cr_expect_eq(allocator_role_held(lab.a, "a/b/c", "mem"), 0);
	cr_expect_eq(allocator_role_held(lab.a, "a", "gpus"), 0);
	named_remove_framework(lab.a, "f1");
	named_remove_framework(lab.a, "f2");
	buf_clear(&text);
	allocator_figures(lab.a, put_figure, &text);
	cr_expect_str_eq(text.data, "total cpus 4; held cpus 0; total mem 200; held mem 0; ");
	buf_free(&text);
	lab_close(&lab);
}

/* ---- a clock that is set ----------------------------------------------------------------- */

Test(allocator_periphery, the_hold_lasts_as_long_when_the_clock_moves)
{
	struct lab lab = lab_open(NULL);
	int64_t until = lab.now + MINUTE;

	allocator_hold(lab.a, 5, until);
	cr_expect_eq(allocator_next_timeout(lab.a), until);
	allocator_clock_moved(lab.a, 8 * HOUR);
	cr_expect_eq(allocator_next_timeout(lab.a), until + 8 * HOUR);
	allocator_clock_moved(lab.a, -9 * HOUR);
	cr_expect_eq(allocator_next_timeout(lab.a), until - HOUR);
	allocator_hold(lab.a, 5, TIME_NEVER);
	allocator_clock_moved(lab.a, HOUR);
	cr_expect_eq(allocator_next_timeout(lab.a), TIME_NEVER);
	lab_close(&lab);
}

Test(allocator_periphery, filters_last_as_long_when_the_clock_moves)
{
	struct lab lab = lab_open(NULL);
	int64_t timeout;

	lab_agent(&lab, "s1", "cpus:2;mem:1024");
	lab_framework(&lab, "fw", "r");
	lab_expect_event(&lab, "fw(r)@s1 cpus:2; mem:1024");
	lab_decline(&lab, 0, 60);
	timeout = allocator_next_timeout(lab.a);
	cr_expect_neq(timeout, TIME_NEVER);
	allocator_clock_moved(lab.a, HOUR);
	cr_expect_eq(allocator_next_timeout(lab.a), timeout + HOUR);
	lab_close(&lab);
}
