/* Quota beside its cases: what is charged, what follows from changes, and that work follows
 * them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocator_kit.h"
#include "allocator_named.h"

/* ---- what is charged ---------------------------------------------------------------------- */

Test(allocator_quota_changes, consumption_is_reservations_and_unreserved_use)
{
	struct lab lab = lab_open(NULL);

	lab_agent(&lab, "s1",
		  "cpus:8;mem:1024;cpus(a):2;cpus(a>a/b):1;cpus:4{rev};disk(a):10{shared=v}");
	cr_expect_eq(allocator_quota_consumed(lab.a, "a", "cpus"), 3000);
	cr_expect_eq(allocator_quota_consumed(lab.a, "a/b", "cpus"), 1000);
	cr_expect_eq(allocator_quota_consumed(lab.a, "a", "disk"), 10000);
	cr_expect_eq(allocator_quota_consumed(lab.a, "a", "no such"), 0);
	cr_expect_eq(allocator_quota_consumed(lab.a, "b", "cpus"), 0);
	lab_framework(&lab, "fw", "a/b");
	lab_restore(&lab, "fw", "a/b", "s1", "cpus:2;cpus(a):1;cpus:3{rev}");
	cr_expect_eq(allocator_quota_consumed(lab.a, "a", "cpus"), 5000);
	cr_expect_eq(allocator_quota_consumed(lab.a, "a/b", "cpus"), 3000);
	lab_restore(&lab, "fw", "a/b", "s1", "disk(a):10{shared=v}");
	lab_restore(&lab, "fw", "a/b", "s1", "disk(a):10{shared=v}");
	cr_expect_eq(allocator_quota_consumed(lab.a, "a", "disk"), 10000);
	lab_recover(&lab, "fw", "a/b", "s1", "cpus:2", LAB_NO_FILTER);
	cr_expect_eq(allocator_quota_consumed(lab.a, "a", "cpus"), 3000);
	named_remove_agent(lab.a, "s1");
	cr_expect_eq(allocator_quota_consumed(lab.a, "a", "cpus"), 0);
	lab_close(&lab);
}

Test(allocator_quota_changes, a_reservation_of_what_is_used_changes_nothing)
{
	struct lab lab = lab_open(NULL);

	lab_quota(&lab, "a", "cpus:2", "cpus:2");
	lab_framework(&lab, "fw", "a");
	lab_agent(&lab, "s1", "cpus:4;mem:512");
	lab_expect_event(&lab, "fw(a)@s1 cpus:2; mem:512");
	struct resources before = kit_allocated(lab.shapes, "a", "cpus:2");
	struct resources after = kit_allocated(lab.shapes, "a", "cpus(a):2");
	named_convert(lab.a, "fw", "s1", &before, &after);
	cr_expect_eq(allocator_quota_consumed(lab.a, "a", "cpus"), 2000);
	lab_recover(&lab, "fw", "a", "s1", "cpus(a):2", LAB_NO_FILTER);
	cr_expect_eq(allocator_quota_consumed(lab.a, "a", "cpus"), 2000);
	lab_expect_tick(&lab, "fw(a)@s1 cpus(reservations: [(STATIC,a)]):2");
	resources_free(&before);
	resources_free(&after);
	lab_close(&lab);
}

Test(allocator_quota_changes, accounts_go_when_nothing_needs_them)
{
	struct lab lab = lab_open(NULL);

	lab_agent(&lab, "s1", "cpus(a/b/c):1");
	lab_quota(&lab, "q", "cpus:1", "cpus:1");
	allocator_set_weight(lab.a, "w/x", 2);
	cr_expect_eq(HASH_COUNT(lab.a->accounts.children), 3);
	named_remove_agent(lab.a, "s1");
	allocator_set_quota(lab.a, "q", NULL);
	allocator_set_weight(lab.a, "w/x", 1);
	cr_expect_null(lab.a->accounts.children);
	lab_close(&lab);
}

/* ---- changes ------------------------------------------------------------------------------ */

Test(allocator_quota_changes, a_change_takes_effect_at_the_next_batch)
{
	struct lab lab = lab_open(NULL);

	lab_quota(&lab, "q", "cpus:1;mem:100", "cpus:1;mem:100");
	lab_framework(&lab, "fq", "q");
	lab_agent(&lab, "s1", "cpus:4;mem:400");
	lab_expect_event(&lab, "fq(q)@s1 cpus:1; mem:100");
	lab_quota(&lab, "q", "cpus:2;mem:100", "cpus:2;mem:100");
	cr_expect(!allocator_pending(lab.a));
	lab_expect_tick(&lab, "fq(q)@s1 cpus:1");
	lab_quota(&lab, "q", "cpus:1", "");
	lab_expect_tick(&lab, "fq(q)@s1 cpus:2; mem:300");
	lab_quota(&lab, "q", "cpus:1;mem:100", "cpus:1;mem:100");
	lab_recover(&lab, "fq", "q", "s1", "cpus:1;mem:300", LAB_NO_FILTER);
	lab_expect_tick(&lab, "");
	allocator_set_quota(lab.a, "q", NULL);
	lab_expect_tick(&lab, "fq(q)@s1 cpus:1; mem:300");
	lab_close(&lab);
}

Test(allocator_quota_changes, nested_roles_have_none)
{
	struct lab lab = lab_open(NULL);

	lab_quota(&lab, "a/b", "cpus:0", "cpus:0");
	lab_framework(&lab, "fw", "a/b");
	lab_agent(&lab, "s1", "cpus:4;mem:400");
	lab_expect_event(&lab, "fw(a/b)@s1 cpus:4; mem:400");
	lab_close(&lab);
}

Test(allocator_quota_changes, what_a_task_gives_back_goes_to_its_role_on_any_agent)
{
	struct lab lab = lab_open(NULL);

	lab_quota(&lab, "q", "cpus:2;mem:100", "cpus:2;mem:100");
	lab_framework(&lab, "fq", "q");
	lab_agent(&lab, "s1", "cpus:1;mem:400");
	lab_agent(&lab, "s2", "cpus:2;mem:400");
	lab_expect_event(&lab, "fq(q)@s1 cpus:1; mem:100, fq(q)@s2 cpus:1");
	lab_recover(&lab, "fq", "q", "s1", "mem:100", 1000);
	/* s1 refused: s2, which was settled, is seen again. */
	lab_expect_tick(&lab, "fq(q)@s2 mem:100");
	lab_close(&lab);
}

Test(allocator_quota_changes, headroom_that_grows_is_given_from_settled_agents)
{
	struct lab lab = lab_open(NULL);

	lab_quota(&lab, "q", "cpus:2;mem:200", "");
	lab_framework(&lab, "fz", "z");
	lab_agent(&lab, "s1", "cpus:2;mem:200");
	lab_expect_event(&lab, "");
	lab_expect_tick(&lab, "");
	/* An agent for q alone takes the load off. */
	lab_agent(&lab, "s2", "cpus(q):1;mem(q):100");
	lab_expect_event(&lab, "");
	lab_expect_tick(&lab, "fz(z)@s1 cpus:1; mem:100");
	lab_quota(&lab, "q", "cpus:1;mem:100", "");
	lab_expect_tick(&lab, "fz(z)@s1 cpus:1; mem:100");
	lab_close(&lab);
}

Test(allocator_quota_changes, an_event_over_one_agent_keeps_the_headroom)
{
	struct lab lab = lab_open(NULL);

	lab_quota(&lab, "q", "cpus:3;mem:300", "");
	lab_framework(&lab, "fz", "z");
	for (int i = 0; i < 2; i++) {
		lab_agent(&lab, i ? "s2" : "s1", "cpus:2;mem:200");
		lab_expect_event(&lab, i ? "fz(z)@s2 cpus:1; mem:100" : "");
	}
	lab_expect_tick(&lab, "");
	lab_close(&lab);
}

Test(allocator_quota_changes, one_offer_of_both_stages)
{
	struct lab lab = lab_open(NULL);

	/* The first stage may give fq no more than its guarantee, as long as the other one
	 * is not satisfied. */
	lab_quota(&lab, "p", "cpus:1;mem:100", "");
	lab_quota(&lab, "q", "cpus:1;mem:100", "");
	lab_framework(&lab, "fp", "p");
	lab_framework(&lab, "fq", "q");
	lab_agent(&lab, "s1", "cpus:1;mem:100");
	lab_agent(&lab, "s2", "cpus:3;mem:300");
	lab_expect_event(&lab, "fp(p)@s1 cpus:1; mem:100, fq(q)@s2 cpus:3; mem:300");
	lab_close(&lab);
	lab = lab_open(NULL);
	lab_quota(&lab, "p", "cpus:1;mem:100", "");
	lab_quota(&lab, "q", "cpus:1;mem:100", "");
	lab_framework(&lab, "fq", "q");
	lab_agent(&lab, "s1", "cpus:3;mem:300");
	lab_agent(&lab, "s2", "cpus:1;mem:100");
	lab_framework(&lab, "fp", "p");
	lab_restore(&lab, "fp", "p", "s2", "cpus:0.5;mem:50");
	lab_expect_event(&lab, "fq(q)@s1 cpus:3; mem:300, fp(p)@s2 cpus:0.5; mem:50");
	lab_close(&lab);
}

Test(allocator_quota_changes, revocable_and_ports_are_neither_charged_nor_limited)
{
	struct lab lab = lab_open(NULL);

	lab_quota(&lab, "q", "cpus:1;mem:100;ports:1", "cpus:1;mem:100;ports:1");
	lab_framework(&lab, "fq", "q");
	lab_agent(&lab, "s1", "cpus:2;mem:200;cpus:4{rev};ports:[1-100]");
	lab_expect_event(&lab, "fq(q)@s1 cpus:1; mem:100; cpus{REV}:4; ports:[1-100]");
	cr_expect_eq(allocator_quota_consumed(lab.a, "q", "cpus"), 1000);
	/* Revocable resources alone are offered to a role at its limit. */
	lab_agent(&lab, "s2", "cpus:2;mem:200;cpus:4{rev}");
	lab_expect_event(&lab, "fq(q)@s2 cpus{REV}:4");
	struct resources total =
		kit_resources(lab.shapes, "cpus:2;mem:200;cpus:6{rev};ports:[1-100]");
	named_update_agent(lab.a, "s1", &total);
	lab_expect_event(&lab, "fq(q)@s1 cpus{REV}:2");
	resources_free(&total);
	lab_close(&lab);
}

Test(allocator_quota_changes, an_agent_that_is_used_beyond_its_total)
{
	struct lab lab = lab_open(NULL);

	lab_quota(&lab, "q", "cpus:1", "");
	lab_framework(&lab, "fz", "z");
	lab_agent(&lab, "s1", "cpus:4;mem:400");
	lab_expect_event(&lab, "fz(z)@s1 cpus:3; mem:400");
	struct resources total = kit_resources(lab.shapes, "cpus:2;mem:100");
	named_update_agent(lab.a, "s1", &total);
	lab_expect_event(&lab, "");
	lab_recover(&lab, "fz", "z", "s1", "cpus:3;mem:400", LAB_NO_FILTER);
	lab_expect_tick(&lab, "fz(z)@s1 cpus:1; mem:100");
	resources_free(&total);
	lab_close(&lab);
}

/* Where less is allowed another disk fits than before. */
Test(allocator_quota_changes, whole_disks_are_tried_again_when_less_is_left)
{
	struct lab lab = lab_open(NULL);

	lab_quota(&lab, "q", "", "disk:100;cpus:2");
	lab_framework(&lab, "fq", "q");
	lab_agent(&lab, "s1", "cpus:1;mem:400;disk:100{mount=/m};disk:80");
	lab_expect_event(&lab, "fq(q)@s1 cpus:1; mem:400; disk[MOUNT:/m]:100");
	lab_decline(&lab, 0, 1000);
	lab_expect_tick(&lab, "");
	lab_restore(&lab, "fq", "q", "s1", "mem:1");
	lab_agent(&lab, "s2", "cpus:1;mem:100;disk:50");
	lab_expect_event(&lab, "fq(q)@s2 cpus:1; mem:100; disk:50");
	lab_expect_tick(&lab, "fq(q)@s1 cpus:1; mem:399; disk:50");
	lab_close(&lab);
}

/* ---- work follows changes ----------------------------------------------------------------- */

/* As many agents as roles, each role at its limit, half of each agent left. */
static struct lab crowd_open(int count)
{
	struct lab lab = lab_open(NULL);
	char role[16], id[16];

	for (int i = 0; i < count; i++) {
		snprintf(role, sizeof(role), "r%d", i);
		snprintf(id, sizeof(id), "f%d", i);
		lab_quota(&lab, role, "cpus:1;mem:100", "cpus:1;mem:100");
		lab_framework(&lab, id, role);
	}
	for (int i = 0; i < count; i++) {
		snprintf(id, sizeof(id), "s%d", i);
		lab_agent(&lab, id, "cpus:2;mem:200");
	}
	free(lab_event(&lab));
	cr_assert_eq(lab.grants.count, (size_t)count);
	return lab;
}

Test(allocator_quota_changes, an_idle_cycle_sees_no_agent)
{
	struct lab lab = crowd_open(100);

	cr_expect_leq(lab.a->evaluations, 200, "one try for a grant");
	lab_expect_tick(&lab, "");
	uint64_t before = lab.a->evaluations;
	lab_expect_tick(&lab, "");
	cr_expect_eq(lab.a->evaluations, before);
	lab_close(&lab);
}

Test(allocator_quota_changes, a_task_that_ends_wakes_its_role_alone)
{
	struct lab lab = crowd_open(100);
	size_t of_r7 = 0;

	while (strcmp(lab.grants.items[of_r7].role, "r7") != 0)
		of_r7++;
	lab_decline(&lab, of_r7, 1000);
	uint64_t before = lab.a->evaluations;
	free(lab_tick(&lab));
	cr_assert_eq(lab.grants.count, 1);
	cr_expect_str_eq(lab.grants.items[0].role, "r7");
	cr_expect_leq(lab.a->evaluations - before, 210, "no role but r7 is tried");
	lab_close(&lab);
}

Test(allocator_quota_changes, agents_under_headroom_settle)
{
	struct lab lab = lab_open(NULL);
	char id[16];

	lab_quota(&lab, "q", "cpus:100;mem:10000", "");
	lab_framework(&lab, "fz", "z");
	for (int i = 0; i < 50; i++) {
		snprintf(id, sizeof(id), "s%d", i);
		lab_agent(&lab, id, "cpus:2;mem:200");
	}
	lab_expect_event(&lab, "");
	uint64_t before = lab.a->evaluations;
	lab_expect_tick(&lab, "");
	cr_expect_eq(lab.a->evaluations, before);
	/* One agent more: as much of the others is free now, and no more is tried. */
	lab_agent(&lab, "t", "cpus:2;mem:200");
	lab_expect_event(&lab, "fz(z)@t cpus:2; mem:200");
	lab_recover(&lab, "fz", "z", "t", "cpus:1;mem:100", 1000);
	before = lab.a->evaluations;
	lab_expect_tick(&lab, "fz(z)@s0 cpus:1; mem:100");
	cr_expect_leq(lab.a->evaluations - before, 5);
	lab_close(&lab);
}
