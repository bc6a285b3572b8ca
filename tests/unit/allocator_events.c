/* What triggers cycles, life cycles of frameworks and agents, and the promise that
 * an idle cycle does no work. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocator/allocator_looks.h"
#include "allocator/roles/roles.h"
#include "allocator_kit.h"
#include "allocator_named.h"

TestSuite(allocator_events);

Test(allocator_events, options_are_checked)
{
	const char *bad[] = {"cpus", "cpus:x", "cpus:1|", "|", "cpus:-1|mem:32"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct resource_shapes *shapes = resource_shapes_create();
		struct allocator_options options = {.shapes = shapes,
						    .allocation_interval = SECOND,
						    .min_allocatable_resources = bad[i]};
		struct allocator *a = NULL;
		struct err err = {""};

		cr_expect_lt(allocator_create(&options, &a, &err), 0, "%s", bad[i]);
		cr_expect(strstr(err.text, "min_allocatable_resources"), "%s", err.text);
		cr_expect_null(a);
		resource_shapes_destroy(shapes);
	}
	named_destroy(NULL);
}

Test(allocator_events, what_is_unknown_is_ignored)
{
	struct lab lab = lab_open(NULL);

	lab_recover(&lab, "nobody", "r", "nowhere", "cpus:1", 5);
	lab_restore(&lab, "nobody", "r", "nowhere", "cpus:1");
	named_revive(lab.a, "nobody", NULL, 0);
	named_suppress(lab.a, "nobody", NULL, 0);
	named_activate_framework(lab.a, "nobody", true);
	named_remove_framework(lab.a, "nobody");
	named_activate_agent(lab.a, "nowhere", false);
	named_remove_agent(lab.a, "nowhere");
	named_forget_filters(lab.a, "nowhere");
	lab_agent(&lab, "s1", "cpus:1;mem:512");
	lab_framework(&lab, "fw", "r");
	lab_expect_event(&lab, "fw(r)@s1 cpus:1; mem:512");
	lab_recover(&lab, "fw", "r", "s1", "cpus:5", LAB_NO_FILTER);
	lab_recover(&lab, "fw", "q", "s1", "cpus:1", LAB_NO_FILTER);
	lab_recover(&lab, "nobody", "r", "s1", "cpus:1", LAB_NO_FILTER);
	lab_expect_tick(&lab, "");
	lab_close(&lab);
}

/* As a task ends that used resources of several roles. */
Test(allocator_events, what_comes_back_may_be_of_several_roles)
{
	static const char both[] =
		"fw(q)@s1 cpus(reservations: [(STATIC,q)]):1; mem(reservations: [(STATIC,q)]):64, "
		"fw(r)@s1 cpus(reservations: [(STATIC,r)]):1; mem(reservations: [(STATIC,r)]):64";
	struct lab lab = lab_open(NULL);
	struct resources back, more;

	lab_agent(&lab, "s1", "cpus(r):1;mem(r):64;cpus(q):1;mem(q):64");
	lab_framework(&lab, "fw", "r,q");
	lab_expect_event(&lab, both);
	back = kit_allocated(lab.shapes, "r", "cpus(r):1;mem(r):64");
	more = kit_allocated(lab.shapes, "q", "cpus(q):1;mem(q):64");
	resources_add(&back, &more);
	cr_assert_eq(back.count, 4);
	named_recover(lab.a, lab.now, "fw", "s1", &back, NULL);
	lab_expect_tick(&lab, both);
	resources_free(&back);
	resources_free(&more);
	lab_close(&lab);
}

Test(allocator_events, declined_resources_wait_for_the_batch)
{
	struct lab lab = lab_open(NULL);

	lab_framework(&lab, "fw", "r");
	lab_agent(&lab, "s1", "cpus:1;mem:512");
	free(lab_event(&lab));
	lab_decline(&lab, 0, 0);
	cr_expect(!allocator_pending(lab.a));
	lab_agent(&lab, "s2", "cpus:1;mem:512");
	lab_expect_event(&lab, "fw(r)@s2 cpus:1; mem:512");
	lab_expect_tick(&lab, "fw(r)@s1 cpus:1; mem:512");
	lab_close(&lab);
}

Test(allocator_events, restored_use_counts)
{
	struct lab lab = lab_open(NULL);

	lab_agent(&lab, "s1", "cpus:4;mem:512");
	lab_framework(&lab, "fw", "r");
	lab_restore(&lab, "fw", "r", "s1", "cpus:3;mem:256");
	lab_framework(&lab, "other", "q");
	lab_expect_event(&lab, "other(q)@s1 cpus:1; mem:256");
	cr_expect_float_eq(allocator_role_share(lab.a, "r"), 0.75, 1e-12);
	cr_expect_float_eq(allocator_framework_share(lab.a, "fw", "r"), 0.75, 1e-12);
	lab_recover(&lab, "fw", "r", "s1", "cpus:3;mem:256", LAB_NO_FILTER);
	cr_expect_eq(allocator_role_share(lab.a, "r"), 0);
	lab_close(&lab);
}

Test(allocator_events, a_removed_framework_leaves_its_resources)
{
	struct lab lab = lab_open(NULL);

	lab_agent(&lab, "s1", "cpus:4;mem:512");
	lab_agent(&lab, "s2", "cpus:4;mem:512");
	lab_framework(&lab, "fw1", "r,q");
	free(lab_event(&lab));
	cr_expect_eq(lab.grants.count, 2);
	lab_decline(&lab, 1, 1000);
	lab_framework(&lab, "fw2", "r");
	lab_expect_event(&lab, "fw2(r)@s2 cpus:4; mem:512");
	named_remove_framework(lab.a, "fw1");
	cr_expect_eq(allocator_filter_count(lab.a), 0);
	lab_expect_tick(&lab, "fw2(r)@s1 cpus:4; mem:512");
	lab_close(&lab);
}

Test(allocator_events, an_inactive_framework_gets_nothing_and_forgets_filters)
{
	struct lab lab = lab_open(NULL);

	lab_framework(&lab, "fw", "r");
	lab_agent(&lab, "s1", "cpus:4;mem:512");
	free(lab_event(&lab));
	lab_decline(&lab, 0, 1000);
	named_activate_framework(lab.a, "fw", false);
	cr_expect_eq(allocator_filter_count(lab.a), 0);
	lab_expect_tick(&lab, "");
	named_activate_framework(lab.a, "fw", true);
	lab_expect_event(&lab, "fw(r)@s1 cpus:4; mem:512");
	lab_close(&lab);
}

Test(allocator_events, an_inactive_agent_offers_nothing)
{
	struct lab lab = lab_open(NULL);

	lab_agent(&lab, "s1", "cpus:4;mem:512");
	named_activate_agent(lab.a, "s1", false);
	lab_framework(&lab, "fw", "r");
	lab_expect_event(&lab, "");
	lab_expect_tick(&lab, "");
	named_activate_agent(lab.a, "s1", true);
	cr_expect(!allocator_pending(lab.a));
	lab_expect_tick(&lab, "fw(r)@s1 cpus:4; mem:512");
	lab_close(&lab);
}

static void update_roles(struct lab *lab, const char *id, const char *const *roles, size_t count,
			 const char *const *suppressed, size_t suppressed_count)
{
	struct allocator_framework framework = {.id = id,
						.roles = roles,
						.role_count = count,
						.suppressed_roles = suppressed,
						.suppressed_count = suppressed_count,
						.active = true};

	named_add_framework(lab->a, &framework);
}

Test(allocator_events, roles_come_and_go)
{
	const char *r = "r", *q = "q";
	struct lab lab = lab_open(NULL);

	lab_framework(&lab, "fw", "r");
	lab_agent(&lab, "s1", "cpus:4;mem:512");
	lab_expect_event(&lab, "fw(r)@s1 cpus:4; mem:512");
	lab_recover(&lab, "fw", "r", "s1", "cpus:2;mem:256", 1000);
	update_roles(&lab, "fw", &q, 1, NULL, 0);
	cr_expect_eq(allocator_filter_count(lab.a), 0);
	cr_expect(!allocator_pending(lab.a));
	lab_expect_tick(&lab, "fw(q)@s1 cpus:2; mem:256");
	cr_expect_float_eq(allocator_role_share(lab.a, "r"), 0.5, 1e-12);
	lab_recover(&lab, "fw", "r", "s1", "cpus:2;mem:256", LAB_NO_FILTER);
	cr_expect_null(alloc_role_find(lab.a, "r"), "nobody is left in it");
	lab_expect_tick(&lab, "fw(q)@s1 cpus:2; mem:256");
	update_roles(&lab, "fw", &r, 1, NULL, 0);
	lab_close(&lab);
}

Test(allocator_events, a_role_that_is_no_longer_suppressed_forgets_filters)
{
	const char *r = "r";
	struct lab lab = lab_open(NULL);

	lab_framework(&lab, "fw", "r");
	lab_agent(&lab, "s1", "cpus:4;mem:512");
	free(lab_event(&lab));
	lab_decline(&lab, 0, 1000);
	update_roles(&lab, "fw", &r, 1, &r, 1);
	cr_expect_eq(allocator_filter_count(lab.a), 1);
	lab_expect_tick(&lab, "");
	update_roles(&lab, "fw", &r, 1, NULL, 0);
	cr_expect_eq(allocator_filter_count(lab.a), 0);
	cr_expect(!allocator_pending(lab.a));
	lab_expect_tick(&lab, "fw(r)@s1 cpus:4; mem:512");
	lab_close(&lab);
}

Test(allocator_events, deep_roles_need_no_stack)
{
	struct lab lab = lab_open(NULL);
	struct buf role = BUF_INIT;

	for (int i = 0; i < 20000; i++)
		buf_puts(&role, "a/");
	buf_putc(&role, 'a');
	lab_framework(&lab, "fw", role.data);
	lab_agent(&lab, "s1", "cpus:4;mem:512");
	free(lab_event(&lab));
	cr_expect_eq(lab.grants.count, 1);
	cr_expect_eq(allocator_role_share(lab.a, role.data), 1);
	named_remove_framework(lab.a, "fw");
	cr_expect_null(lab.a->root.children);
	buf_free(&role);
	lab_close(&lab);
}

/* 50 frameworks that all filter 50 agents: a tick then tries nobody. */
Test(allocator_events, an_idle_cycle_does_no_work)
{
	struct lab lab = lab_open(NULL);
	char id[16];

	for (int i = 0; i < 50; i++) {
		snprintf(id, sizeof(id), "s%d", i);
		lab_agent(&lab, id, "cpus:4;mem:512");
	}
	for (int i = 0; i < 50; i++) {
		snprintf(id, sizeof(id), "f%d", i);
		lab_framework(&lab, id, i % 2 ? "a" : "b/c");
	}
	for (int round = 0; round < 50; round++) {
		free(round ? lab_tick(&lab) : lab_event(&lab));
		cr_assert_eq(lab.grants.count, 50);
		for (size_t i = 0; i < lab.grants.count; i++)
			lab_decline(&lab, i, 1e6 + round);
	}
	lab_expect_tick(&lab, "");
	cr_expect_eq(allocator_filter_count(lab.a), 2500);

	uint64_t before = lab.a->evaluations;
	lab_expect_tick(&lab, "");
	cr_expect_eq(lab.a->evaluations, before);

	named_revive(lab.a, "f7", NULL, 0);
	free(lab_event(&lab));
	cr_expect_eq(lab.grants.count, 50);
	cr_expect_leq(lab.a->evaluations - before, 2 * 50 + 50, "only f7 is tried");
	for (size_t i = 0; i < lab.grants.count; i++)
		lab_decline(&lab, i, 1e6);
	lab_expect_tick(&lab, "");

	before = lab.a->evaluations;
	lab.now += 1000001 * SECOND;
	free(lab_tick(&lab));
	cr_expect_gt(lab.grants.count, 0, "filters ended");
	cr_expect_leq(lab.a->evaluations - before, 3 * 50 + 50);
	lab_close(&lab);
}

Test(allocator_events, changed_attributes_forget_refused_inverse_offers)
{
	struct lab lab = lab_open(NULL);
	struct allocator_filter filter = {1000};

	lab_agent(&lab, "s1", "cpus:1;mem:512");
	lab_framework(&lab, "fw", "r");
	named_set_unavailability(lab.a, "s1", true);
	free(lab_event(&lab));
	cr_expect_eq(lab.grants.inverse_count, 1);
	named_end_inverse(lab.a, lab.now, "fw", "s1", &filter);
	free(lab_tick(&lab));
	cr_expect_eq(lab.grants.inverse_count, 0);
	named_forget_filters(lab.a, "s1");
	free(lab_event(&lab));
	cr_expect_eq(lab.grants.inverse_count, 1);
	lab_close(&lab);
}

Test(allocator_events, a_new_hostname_asks_for_a_cycle)
{
	struct lab lab = lab_open(NULL);

	lab_agent(&lab, "s1", "cpus:1;mem:512");
	free(lab_event(&lab));
	named_set_agent_hostname(lab.a, "s1", "host");
	cr_expect(allocator_pending(lab.a));
	free(lab_event(&lab));
	named_set_agent_hostname(lab.a, "s1", "host");
	cr_expect_not(allocator_pending(lab.a));
	lab_close(&lab);
}
