/* Allocation, sorters, filters, shared volumes: a case a test, without quota, weights or
 * maintenance. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "allocator_kit.h"

TestSuite(allocator_cases);

static void expect_order(struct lab *lab, const char *expected)
{
	lab_check(lab_role_order(lab), expected, __LINE__);
}

/* What a role holds: one framework named after it. */
static void holds(struct lab *lab, const char *role, const char *resources)
{
	lab_framework(lab, role, role);
	lab_restore(lab, role, role, "s1", resources);
}

/* -- sorter -- */

Test(allocator_cases, row18_drf)
{
	struct lab lab = lab_open(NULL);

	lab_agent(&lab, "s1", "cpus:100;mem:100");
	holds(&lab, "a", "cpus:5;mem:5");
	holds(&lab, "b", "cpus:6;mem:6");
	holds(&lab, "c", "cpus:1;mem:1");
	holds(&lab, "d", "cpus:3;mem:1");
	expect_order(&lab, "c d a b");
	cr_expect_float_eq(allocator_role_share(lab.a, "b"), 0.06, 1e-12);
	cr_expect_float_eq(allocator_framework_share(lab.a, "d", "d"), 0.03, 1e-12);
	cr_expect_eq(allocator_role_share(lab.a, "e"), 0);
	lab_close(&lab);
}

Test(allocator_cases, row20_allocation_count_breaks_ties)
{
	struct lab lab = lab_open(NULL);

	lab_agent(&lab, "s1", "cpus:100;mem:100");
	holds(&lab, "a", "cpus:3;mem:3");
	holds(&lab, "b", "cpus:3;mem:3");
	holds(&lab, "e", "cpus:3;mem:3");
	holds(&lab, "d", "cpus:1;mem:1");
	lab_restore(&lab, "d", "d", "s1", "cpus:2;mem:2");
	holds(&lab, "c", "cpus:1;mem:1");
	lab_restore(&lab, "c", "c", "s1", "cpus:1;mem:1");
	lab_restore(&lab, "c", "c", "s1", "cpus:1;mem:1");
	expect_order(&lab, "a b e d c");
	lab_close(&lab);
}

Test(allocator_cases, row21_hierarchical_allocation)
{
	struct lab lab = lab_open(NULL);

	lab_agent(&lab, "s1", "cpus:100;mem:100");
	holds(&lab, "a", "cpus:6;mem:6");
	holds(&lab, "b/c", "cpus:4;mem:4");
	holds(&lab, "b/d", "cpus:3;mem:3");
	expect_order(&lab, "a b/d b/c");
	lab_close(&lab);
}

Test(allocator_cases, row22_and_23_virtual_leaf)
{
	struct lab lab = lab_open(NULL);

	lab_agent(&lab, "s1", "cpus:100;mem:100");
	holds(&lab, "a", "cpus:10;mem:10");
	holds(&lab, "b", "cpus:6;mem:6");
	expect_order(&lab, "b a");
	holds(&lab, "a/c", "cpus:5;mem:5");
	expect_order(&lab, "b a/c a");
	allocator_remove_framework(lab.a, "a");
	expect_order(&lab, "a/c b");
	lab_close(&lab);
}

Test(allocator_cases, row25_revocable_counts)
{
	struct lab lab = lab_open(NULL);

	lab_agent(&lab, "s1", "cpus:10;cpus:10{rev}");
	holds(&lab, "a", "cpus:2");
	holds(&lab, "b", "cpus:1;cpus:9{rev}");
	expect_order(&lab, "a b");
	cr_expect_float_eq(allocator_role_share(lab.a, "a"), 0.1, 1e-12);
	cr_expect_float_eq(allocator_role_share(lab.a, "b"), 0.5, 1e-12);
	lab_close(&lab);
}

Test(allocator_cases, row26_shared_volume_counts_once)
{
	struct lab lab = lab_open(NULL);

	lab_agent(&lab, "s1", "cpus:100;disk:900;disk(x):100{shared=v}");
	holds(&lab, "a", "cpus:5;disk(x):100{shared=v}");
	holds(&lab, "b", "cpus:6");
	holds(&lab, "c", "cpus:1;disk(x):100{shared=v}");
	expect_order(&lab, "b a c");
	lab_restore(&lab, "a", "a", "s1", "disk(x):100{shared=v}");
	cr_expect_float_eq(allocator_role_share(lab.a, "a"), 0.1, 1e-12);
	lab_recover(&lab, "a", "a", "s1", "disk(x):100{shared=v}", LAB_NO_FILTER);
	cr_expect_float_eq(allocator_role_share(lab.a, "a"), 0.1, 1e-12);
	lab_recover(&lab, "a", "a", "s1", "disk(x):100{shared=v}", LAB_NO_FILTER);
	cr_expect_float_eq(allocator_role_share(lab.a, "a"), 0.05, 1e-12);
	lab_close(&lab);
}

/* -- DRF and offers -- */

Test(allocator_cases, row27_drf_paper)
{
	struct lab lab = lab_open(NULL);
	const char *tasks[] = {"cpus:1;mem:4096", "cpus:3;mem:1024"};
	int launched[2] = {0, 0};
	struct buf order = BUF_INIT;

	lab_agent(&lab, "s1", "cpus:9;mem:18432");
	lab_framework(&lab, "A", "A");
	lab_framework(&lab, "B", "B");
	for (int round = 0; round < 20; round++) {
		char *text = round == 0 ? lab_event(&lab) : lab_tick(&lab);

		free(text);
		if (lab.grants.count == 0)
			break;
		cr_assert_eq(lab.grants.count, 1);
		struct allocator_grant *grant = &lab.grants.items[0];
		int who = grant->framework[0] - 'A';
		struct resources task = kit_allocated(lab.shapes, grant->role, tasks[who]);
		struct allocator_filter filter = {0};

		if (resources_contain(&grant->resources, &task)) {
			resources_subtract(&grant->resources, &task);
			buf_putc(&order, (char)('A' + who));
			launched[who]++;
		}
		allocator_recover(lab.a, lab.now, grant->framework, "s1", &grant->resources,
				  &filter);
		resources_free(&task);
	}
	char *text = buf_take(&order);
	cr_expect_str_eq(text, "ABABA");
	cr_expect_eq(launched[0], 3);
	cr_expect_eq(launched[1], 2);
	cr_expect_float_eq(allocator_role_share(lab.a, "A"), 2.0 / 3, 1e-9);
	cr_expect_float_eq(allocator_role_share(lab.a, "B"), 2.0 / 3, 1e-9);
	free(text);
	lab_close(&lab);
}

Test(allocator_cases, row31_unreserved_drf)
{
	struct lab lab = lab_open(NULL);

	lab_agent(&lab, "s1", "cpus:2;mem:1024");
	lab_framework(&lab, "fw1", "role1");
	lab_expect_event(&lab, "fw1(role1)@s1 cpus:2; mem:1024");
	lab_framework(&lab, "fw2", "role2");
	lab_expect_event(&lab, "");
	lab_agent(&lab, "s2", "cpus:1;mem:512");
	lab_expect_event(&lab, "fw2(role2)@s2 cpus:1; mem:512");
	lab_agent(&lab, "s3", "cpus:3;mem:2048");
	lab_expect_event(&lab, "fw2(role2)@s3 cpus:3; mem:2048");
	lab_framework(&lab, "fw3", "role1");
	lab_expect_event(&lab, "");
	lab_agent(&lab, "s4", "cpus:4;mem:4096");
	lab_expect_event(&lab, "fw3(role1)@s4 cpus:4; mem:4096");
	lab_framework(&lab, "fw4", "role1");
	lab_agent(&lab, "s5", "cpus:1;mem:512");
	lab_expect_event(&lab, "fw2(role2)@s5 cpus:1; mem:512");
	lab_close(&lab);
}

Test(allocator_cases, row32_reserved_allocations_count)
{
	struct lab lab = lab_open(NULL);

	lab_agent(&lab, "s1", "cpus:1;mem:512;cpus(role1):100;mem(role1):1024");
	lab_framework(&lab, "fw1", "role1");
	lab_expect_event(&lab, "fw1(role1)@s1 cpus:1; mem:512; cpus(reservations: "
			       "[(STATIC,role1)]):100; mem(reservations: "
			       "[(STATIC,role1)]):1024");
	lab_framework(&lab, "fw2", "role2");
	lab_agent(&lab, "s2", "cpus:2;mem:512");
	lab_expect_event(&lab, "fw2(role2)@s2 cpus:2; mem:512");
	lab_agent(&lab, "s3", "cpus:2;mem:512");
	lab_expect_event(&lab, "fw2(role2)@s3 cpus:2; mem:512");
	lab_framework(&lab, "fw3", "role1");
	lab_agent(&lab, "s4", "cpus(role1):2;mem(role1):1024");
	lab_expect_event(&lab, "fw3(role1)@s4 cpus(reservations: [(STATIC,role1)]):2; "
			       "mem(reservations: [(STATIC,role1)]):1024");
	lab_close(&lab);
}

Test(allocator_cases, row33_excluded_names)
{
	struct allocator_options options = {.allocation_interval = SECOND,
					    .fair_sharing_excluded = "foo,gpus",
					    .filter_gpu_resources = true};
	struct lab lab = lab_open(&options);

	lab_agent(&lab, "s1", "cpus:2;mem:1024;gpus:1");
	lab_framework(&lab, "fw1", "role1");
	lab_expect_event(&lab, "fw1(role1)@s1 cpus:2; mem:1024; gpus:1");
	lab_framework(&lab, "fw2", "role2");
	lab_agent(&lab, "s2", "cpus:1;mem:512");
	lab_expect_event(&lab, "fw2(role2)@s2 cpus:1; mem:512");
	lab_agent(&lab, "s3", "cpus:3;mem:2048");
	lab_expect_event(&lab, "fw2(role2)@s3 cpus:3; mem:2048");
	lab_agent(&lab, "s4", "cpus:4;mem:4096");
	lab_expect_event(&lab, "fw1(role1)@s4 cpus:4; mem:4096");
	lab_close(&lab);
}

Test(allocator_cases, row34_nested_roles)
{
	struct lab lab = lab_open(NULL);

	lab_agent(&lab, "s1", "cpus:2;mem:1024");
	lab_framework(&lab, "fw1", "a/b");
	lab_expect_event(&lab, "fw1(a/b)@s1 cpus:2; mem:1024");
	lab_framework(&lab, "fw2", "a/c");
	lab_framework(&lab, "fw3", "d/e");
	lab_agent(&lab, "s2", "cpus:1;mem:512");
	lab_expect_event(&lab, "fw3(d/e)@s2 cpus:1; mem:512");
	lab_framework(&lab, "fw4", "d/f");
	lab_agent(&lab, "s3", "cpus:2;mem:1024");
	lab_expect_event(&lab, "fw4(d/f)@s3 cpus:2; mem:1024");
	lab_close(&lab);
}

Test(allocator_cases, row35_coarse_grained)
{
	struct lab lab = lab_open(NULL);

	lab_agent(&lab, "s1", "cpus:2;mem:1024");
	lab_agent(&lab, "s2", "cpus:2;mem:1024");
	lab_framework(&lab, "fw1", "role1");
	lab_framework(&lab, "fw2", "role2");
	lab_expect_event(&lab, "fw1(role1)@s1 cpus:2; mem:1024, fw2(role2)@s2 cpus:2; mem:1024");
	lab_close(&lab);
}

Test(allocator_cases, row36_same_share_takes_turns)
{
	struct lab lab = lab_open(NULL);
	int offers[2] = {0, 0};

	lab_framework(&lab, "f0", "*");
	lab_framework(&lab, "f1", "*");
	lab_agent(&lab, "s1", "cpus:2;mem:1024");
	for (int i = 0; i < 10; i++) {
		free(i == 0 ? lab_event(&lab) : lab_tick(&lab));
		cr_assert_eq(lab.grants.count, 1);
		offers[lab.grants.items[0].framework[1] - '0']++;
		lab_decline(&lab, 0, LAB_NO_FILTER);
	}
	cr_expect_eq(offers[0], 5);
	cr_expect_eq(offers[1], 5);
	lab_close(&lab);
}

Test(allocator_cases, row38_allocatable)
{
	struct lab lab = lab_open(NULL);

	lab_framework(&lab, "fw", "role1");
	lab_expect_event(&lab, "");
	lab_agent(&lab, "s1", "cpus:0.005;mem:16;disk:128");
	lab_expect_event(&lab, "");
	lab_agent(&lab, "s2", "cpus:0.01;mem:16;disk:128");
	lab_expect_event(&lab, "fw(role1)@s2 cpus:0.01; mem:16; disk:128");
	lab_agent(&lab, "s3", "cpus:0.015;mem:16;cpus(role1):0.015;mem(role1):16");
	lab_expect_event(&lab, "fw(role1)@s3 cpus:0.015; mem:16; cpus(reservations: "
			       "[(STATIC,role1)]):0.015; mem(reservations: "
			       "[(STATIC,role1)]):16");
	lab_close(&lab);
}

Test(allocator_cases, row38_no_minimum)
{
	struct allocator_options options = {.allocation_interval = SECOND,
					    .min_allocatable_resources = ""};
	struct lab lab = lab_open(&options);

	lab_framework(&lab, "fw", "r");
	lab_agent(&lab, "s1", "disk:1");
	lab_expect_event(&lab, "fw(r)@s1 disk:1");
	lab_close(&lab);
}

Test(allocator_cases, row39_minimum_of_the_framework)
{
	const char *role = "r";
	struct allocator_amount tiny = {"cpus", 3}, huge = {"cpus", 100000};
	struct allocator_amounts sets[] = {{&huge, 1}, {&tiny, 1}};
	struct {
		struct allocator_amounts *sets;
		size_t count;
		const char *expected;
	} cases[] = {
		{NULL, 0, "fw(r)@s1 cpus:0.005; mem:16"},
		{&sets[1], 1, "fw(r)@s1 cpus:0.005; mem:16"},
		{sets, 2, "fw(r)@s1 cpus:0.005; mem:16"},
		{&sets[0], 1, ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct lab lab = lab_open(NULL);
		struct allocator_minimum minimum = {role, cases[i].sets, cases[i].count};
		struct allocator_framework framework = lab_incapable("fw", &role);

		lab_framework(&lab, "other", "r");
		lab_agent(&lab, "s1", "cpus:0.005;mem:16");
		lab_expect_event(&lab, "");
		framework.minima = &minimum;
		framework.minimum_count = 1;
		allocator_add_framework(lab.a, &framework);
		lab_expect_event(&lab, cases[i].expected);
		lab_close(&lab);
	}
}

Test(allocator_cases, row40_ancestor_reservations)
{
	struct lab lab = lab_open(NULL);

	lab_agent(&lab, "s1", "cpus(a):1;mem(a):512");
	lab_framework(&lab, "fw", "a/b/c");
	lab_expect_event(&lab, "fw(a/b/c)@s1 cpus(reservations: [(STATIC,a)]):1; "
			       "mem(reservations: [(STATIC,a)]):512");
	lab_agent(&lab, "s2", "cpus:2;mem:1024;cpus(a/b):4;mem(a/b):2048");
	lab_expect_event(&lab, "fw(a/b/c)@s2 cpus:2; mem:1024; cpus(reservations: "
			       "[(STATIC,a/b)]):4; mem(reservations: [(STATIC,a/b)]):2048");
	lab_agent(&lab, "s3", "cpus(a/b/c/d):1;cpus(ab):1;cpus(a/bc):1;cpus(x):1");
	lab_expect_event(&lab, "");
	lab_close(&lab);
}

Test(allocator_cases, row41_refined_reservation_for_capable_framework)
{
	const char *role = "a/b";
	struct lab lab = lab_open(NULL);
	struct allocator_framework old = lab_incapable("fw2", &role);

	lab_agent(&lab, "s0", "cpus:1;mem:128");
	lab_framework(&lab, "fw1", "a/b");
	lab_expect_event(&lab, "fw1(a/b)@s0 cpus:1; mem:128");
	allocator_add_framework(lab.a, &old);
	lab_agent(&lab, "s1", "cpus(a>a/b):1;mem(a>a/b):512");
	lab_expect_event(&lab, "fw1(a/b)@s1 cpus(reservations: [(STATIC,a),(DYNAMIC,a/b)]):1; "
			       "mem(reservations: [(STATIC,a),(DYNAMIC,a/b)]):512");
	lab_close(&lab);
}

Test(allocator_cases, row42_capabilities_of_agents)
{
	const char *plain_role = "r", *deep_role = "r/s";
	struct lab lab = lab_open(NULL);
	struct allocator_framework plain = lab_incapable("plain", &plain_role);
	struct allocator_framework deep = lab_incapable("deep", &deep_role);

	lab_framework(&lab, "multi", "r");
	lab_expect_event(&lab, "");
	lab_agent(&lab, "s1", "cpus:1;mem:128");
	allocator_set_agent_capabilities(lab.a, "s1", false, true);
	lab_expect_event(&lab, "");
	allocator_set_agent_capabilities(lab.a, "s1", false, false);
	allocator_add_framework(lab.a, &deep);
	lab_expect_event(&lab, "");
	allocator_add_framework(lab.a, &plain);
	lab_expect_event(&lab, "plain(r)@s1 cpus:1; mem:128");
	lab_close(&lab);
}

Test(allocator_cases, row42_gpus_and_regions)
{
	const char *role = "r";
	struct allocator_options options = {
		.allocation_interval = SECOND, .filter_gpu_resources = true, .region = "here"};
	struct lab lab = lab_open(&options);
	struct allocator_framework plain = lab_incapable("plain", &role);
	struct resources total = kit_resources(lab.shapes, "cpus:1;mem:128");

	allocator_add_framework(lab.a, &plain);
	lab_agent(&lab, "s1", "cpus:1;mem:128;gpus:1");
	allocator_add_agent(lab.a, "s2", &total, "there");
	lab_expect_event(&lab, "");
	allocator_add_agent(lab.a, "s3", &total, "here");
	lab_agent(&lab, "s4", "cpus:1;mem:128");
	lab_expect_event(&lab, "plain(r)@s3 cpus:1; mem:128, plain(r)@s4 cpus:1; mem:128");
	plain.region_aware = true;
	allocator_update_framework(lab.a, &plain);
	lab_expect_event(&lab, "");
	lab_expect_tick(&lab, "plain(r)@s2 cpus:1; mem:128");
	plain.gpu_resources = true;
	allocator_update_framework(lab.a, &plain);
	lab_expect_tick(&lab, "plain(r)@s1 cpus:1; mem:128; gpus:1");
	resources_free(&total);
	lab_close(&lab);
}

static void set_total(struct lab *lab, const char *agent, const char *text)
{
	struct resources total = kit_resources(lab->shapes, text);

	allocator_update_agent(lab->a, agent, &total);
	resources_free(&total);
}

Test(allocator_cases, row43_oversubscribed)
{
	const char *role = "r";
	struct lab lab = lab_open(NULL);
	struct allocator_framework plain = lab_incapable("plain", &role);

	lab_agent(&lab, "s1", "cpus:100;mem:100;disk:100");
	lab_framework(&lab, "fw", "r");
	allocator_add_framework(lab.a, &plain);
	lab_expect_event(&lab, "fw(r)@s1 cpus:100; mem:100; disk:100");
	set_total(&lab, "s1", "cpus:100;mem:100;disk:100;cpus:10{rev}");
	lab_expect_event(&lab, "fw(r)@s1 cpus{REV}:10");
	set_total(&lab, "s1", "cpus:100;mem:100;disk:100;cpus:12{rev}");
	lab_expect_event(&lab, "fw(r)@s1 cpus{REV}:2");
	set_total(&lab, "s1", "cpus:100;mem:100;disk:100;cpus:5{rev}");
	lab_expect_event(&lab, "");
	lab_close(&lab);
}

Test(allocator_cases, row44_total_changes)
{
	struct lab lab = lab_open(NULL);

	lab_agent(&lab, "s1", "cpus:100;mem:100;disk:100");
	lab_framework(&lab, "fw", "r");
	lab_expect_event(&lab, "fw(r)@s1 cpus:100; mem:100; disk:100");
	set_total(&lab, "s1", "cpus:112;mem:100;disk:100");
	lab_expect_event(&lab, "fw(r)@s1 cpus:12");
	set_total(&lab, "s1", "cpus:50;mem:50;disk:50");
	lab_expect_event(&lab, "");
	lab_recover(&lab, "fw", "r", "s1", "cpus:100;mem:100;disk:100", LAB_NO_FILTER);
	lab_recover(&lab, "fw", "r", "s1", "cpus:12", LAB_NO_FILTER);
	lab_expect_tick(&lab, "fw(r)@s1 cpus:50; mem:50; disk:50");
	lab_close(&lab);
}

Test(allocator_cases, row45a_parts_come_back_as_they_are)
{
	struct lab lab = lab_open(NULL);

	lab_agent(&lab, "s1", "cpus:1;mem:200;cpus(role1):1;mem(role1):200");
	lab_framework(&lab, "fw1", "role1");
	free(lab_event(&lab));
	lab_recover(&lab, "fw1", "role1", "s1", "cpus(role1):1;mem(role1):200", LAB_NO_FILTER);
	lab_expect_event(&lab, "");
	lab_expect_tick(&lab, "fw1(role1)@s1 cpus(reservations: [(STATIC,role1)]):1; "
			      "mem(reservations: [(STATIC,role1)]):200");
	lab_recover(&lab, "fw1", "role1", "s1", "cpus:1;mem:200", LAB_NO_FILTER);
	lab_expect_tick(&lab, "fw1(role1)@s1 cpus:1; mem:200");
	lab_close(&lab);
}

Test(allocator_cases, row46_removed_agent_no_longer_counts)
{
	struct lab lab = lab_open(NULL);

	lab_framework(&lab, "fw1", "role1");
	lab_agent(&lab, "s1", "cpus:2;mem:200");
	lab_expect_event(&lab, "fw1(role1)@s1 cpus:2; mem:200");
	lab_framework(&lab, "fw2", "role2");
	lab_agent(&lab, "s2", "cpus:1;mem:100");
	lab_expect_event(&lab, "fw2(role2)@s2 cpus:1; mem:100");
	allocator_remove_agent(lab.a, "s1");
	lab_agent(&lab, "s3", "cpus:1;mem:100");
	lab_expect_event(&lab, "fw1(role1)@s3 cpus:1; mem:100");
	lab_close(&lab);
}

/* -- filters and suppression -- */

Test(allocator_cases, row47_filter_of_two_intervals)
{
	struct lab lab = lab_open(NULL);

	lab_framework(&lab, "fw", "r");
	lab_agent(&lab, "s1", "cpus:2;mem:1024");
	free(lab_event(&lab));
	lab_decline(&lab, 0, 2);
	cr_expect_eq(allocator_filter_count(lab.a), 1);
	cr_expect_eq(allocator_next_timeout(lab.a), lab.now + 2 * SECOND);
	lab_expect_tick(&lab, "");
	lab_expect_tick(&lab, "fw(r)@s1 cpus:2; mem:1024");
	cr_expect_eq(allocator_filter_count(lab.a), 0);
	cr_expect_eq(allocator_next_timeout(lab.a), TIME_NEVER);
	lab_close(&lab);
}

Test(allocator_cases, row48_a_short_filter_outlives_the_next_batch)
{
	struct allocator_options options = {.allocation_interval = 60 * SECOND};
	struct lab lab = lab_open(&options);

	lab_agent(&lab, "s1", "cpus:2;mem:1024");
	lab_agent(&lab, "s2", "cpus:1;mem:512");
	lab_framework(&lab, "fw1", "role1");
	lab_restore(&lab, "fw1", "role1", "s1", "cpus:2;mem:1024");
	lab_framework(&lab, "fw2", "role1");
	lab_expect_event(&lab, "fw2(role1)@s2 cpus:1; mem:512");
	lab_decline(&lab, 0, 1);
	lab.now += 59 * SECOND;
	lab_expect_tick(&lab, "fw1(role1)@s2 cpus:1; mem:512");
	lab_decline(&lab, 0, LAB_NO_FILTER);
	lab.now += 59 * SECOND;
	lab_expect_tick(&lab, "fw2(role1)@s2 cpus:1; mem:512");
	lab_close(&lab);
}

Test(allocator_cases, row49_refusing_for_zero_seconds_starves_others)
{
	struct lab lab = lab_open(NULL);

	lab_agent(&lab, "s1", "cpus:2;mem:1024");
	lab_agent(&lab, "s2", "cpus:1;mem:512");
	lab_framework(&lab, "fw1", "r");
	lab_restore(&lab, "fw1", "r", "s1", "cpus:2;mem:1024");
	lab_framework(&lab, "fw2", "r");
	lab_expect_event(&lab, "fw2(r)@s2 cpus:1; mem:512");
	for (int i = 0; i < 5; i++) {
		lab_decline(&lab, 0, 0);
		cr_expect_eq(allocator_filter_count(lab.a), 0);
		lab_expect_tick(&lab, "fw2(r)@s2 cpus:1; mem:512");
	}
	lab_close(&lab);
}

Test(allocator_cases, row50_revive)
{
	struct lab lab = lab_open(NULL);

	lab_framework(&lab, "fw", "r");
	lab_agent(&lab, "s1", "cpus:1;mem:512");
	free(lab_event(&lab));
	lab_decline(&lab, 0, 1000);
	lab_expect_tick(&lab, "");
	allocator_revive(lab.a, "fw", NULL, 0);
	cr_expect(allocator_pending(lab.a));
	cr_expect_eq(allocator_filter_count(lab.a), 0);
	lab_expect_event(&lab, "fw(r)@s1 cpus:1; mem:512");
	cr_expect(!allocator_pending(lab.a));
	lab_close(&lab);
}

Test(allocator_cases, row51_suppress_and_revive_by_role)
{
	const char *role1 = "role1";
	struct lab lab = lab_open(NULL);

	lab_framework(&lab, "fw", "role1,role2");
	lab_expect_event(&lab, "");
	allocator_suppress(lab.a, "fw", &role1, 1);
	lab_agent(&lab, "s1", "cpus:1;mem:512");
	lab_expect_event(&lab, "fw(role2)@s1 cpus:1; mem:512");
	lab_decline(&lab, 0, 86400);
	lab_expect_tick(&lab, "");
	allocator_revive(lab.a, "fw", &role1, 1);
	lab_expect_event(&lab, "fw(role1)@s1 cpus:1; mem:512");
	cr_expect_eq(allocator_filter_count(lab.a), 1);
	allocator_suppress(lab.a, "fw", NULL, 0);
	lab_recover(&lab, "fw", "role1", "s1", "cpus:1;mem:512", LAB_NO_FILTER);
	lab_expect_tick(&lab, "");
	allocator_revive(lab.a, "fw", NULL, 0);
	cr_expect_eq(allocator_filter_count(lab.a), 0);
	lab_expect_event(&lab, "fw(role1)@s1 cpus:1; mem:512");
	lab_close(&lab);
}

Test(allocator_cases, row52_more_than_refused_is_offered)
{
	struct lab lab = lab_open(NULL);

	lab_framework(&lab, "fw", "r");
	lab_agent(&lab, "s1", "cpus:1.1;mem:512");
	free(lab_event(&lab));
	lab_recover(&lab, "fw", "r", "s1", "cpus:1;mem:512", 86400);
	lab_expect_tick(&lab, "");
	lab_recover(&lab, "fw", "r", "s1", "cpus:0.1", LAB_NO_FILTER);
	lab_expect_tick(&lab, "fw(r)@s1 cpus:1.1; mem:512");
	lab_close(&lab);
}

Test(allocator_cases, row53_less_than_refused_is_not_offered)
{
	struct lab lab = lab_open(NULL);

	lab_framework(&lab, "fw", "r");
	lab_agent(&lab, "s1", "cpus:4;mem:4096");
	free(lab_event(&lab));
	lab_decline(&lab, 0, 86400);
	lab_framework(&lab, "other", "q");
	lab_expect_event(&lab, "other(q)@s1 cpus:4; mem:4096");
	lab_recover(&lab, "other", "q", "s1", "cpus:3;mem:3072", 86400);
	lab_expect_tick(&lab, "");
	lab_expect_tick(&lab, "");
	lab_close(&lab);
}

Test(allocator_cases, row54_changed_attributes_forget_filters)
{
	struct lab lab = lab_open(NULL);

	lab_framework(&lab, "fw", "r");
	lab_agent(&lab, "s1", "cpus:4;mem:4096");
	free(lab_event(&lab));
	lab_decline(&lab, 0, 86400);
	lab_expect_tick(&lab, "");
	allocator_forget_filters(lab.a, "s1");
	cr_expect_eq(allocator_filter_count(lab.a), 0);
	lab_expect_event(&lab, "fw(r)@s1 cpus:4; mem:4096");
	lab_close(&lab);
}

Test(allocator_cases, row55_refuse_seconds)
{
	struct {
		double seconds;
		int64_t expected;
	} cases[] = {
		{-1, 5 * SECOND},	 {1e9, 365 * DAY},
		{31536000, 365 * DAY},	 {ALLOCATOR_REFUSE_DEFAULT, 5 * SECOND},
		{0.1, SECOND},		 {2.5, 2500 * MILLISECOND},
		{NAN, 5 * SECOND},	 {INFINITY, 365 * DAY},
		{-INFINITY, 5 * SECOND},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct lab lab = lab_open(NULL);

		lab_framework(&lab, "fw", "r");
		lab_agent(&lab, "s1", "cpus:4;mem:4096");
		free(lab_event(&lab));
		lab_decline(&lab, 0, cases[i].seconds);
		cr_expect_eq(allocator_next_timeout(lab.a), lab.now + cases[i].expected,
			     "refuse_seconds %f", cases[i].seconds);
		lab_close(&lab);
	}
}

Test(allocator_cases, row56_a_reservation_defeats_the_filter)
{
	struct lab lab = lab_open(NULL);

	lab_framework(&lab, "fw", "r");
	lab_agent(&lab, "s1", "cpus:2;mem:1024");
	free(lab_event(&lab));
	for (int reserved_used = 0; reserved_used < 2; reserved_used++) {
		struct resources before = kit_allocated(lab.shapes, "r", "cpus:1;mem:512");
		struct resources after = kit_allocated(lab.shapes, "r", "cpus(r):1;mem(r):512");

		if (!reserved_used) {
			allocator_convert(lab.a, "fw", "s1", &before, &after);
			allocator_recover(lab.a, lab.now, "fw", "s1", &after, NULL);
		}
		lab_recover(&lab, "fw", "r", "s1", "cpus:1;mem:512", 86400);
		lab_expect_tick(&lab, reserved_used ? ""
						    : "fw(r)@s1 cpus:1; mem:512; "
						      "cpus(reservations: [(STATIC,r)]):1; "
						      "mem(reservations: [(STATIC,r)]):512");
		resources_free(&before);
		resources_free(&after);
	}
	lab_close(&lab);
}

/* -- shared volumes -- */

Test(allocator_cases, row80_and_81_shared_volumes)
{
	const char *role = "r";
	struct lab lab = lab_open(NULL);
	struct allocator_framework plain = lab_incapable("plain", &role);

	lab_agent(&lab, "s1", "cpus:2;mem:1024;disk(r):10{shared=v}");
	allocator_add_framework(lab.a, &plain);
	lab_expect_event(&lab, "plain(r)@s1 cpus:2; mem:1024");
	lab_recover(&lab, "plain", "r", "s1", "cpus:2;mem:1024", LAB_NO_FILTER);
	allocator_remove_framework(lab.a, "plain");
	lab_framework(&lab, "fw1", "r");
	free(lab_event(&lab));
	cr_expect_eq(lab.grants.count, 1);
	cr_expect_eq(lab.grants.items[0].resources.count, 3);
	lab_recover(&lab, "fw1", "r", "s1", "cpus:1;mem:512", LAB_NO_FILTER);
	allocator_suppress(lab.a, "fw1", NULL, 0);
	lab_framework(&lab, "fw2", "r");
	free(lab_event(&lab));
	cr_expect_eq(lab.grants.count, 1, "the volume that fw1 uses goes with the rest");
	cr_expect_eq(lab.grants.items[0].resources.count, 3);
	lab_expect_tick(&lab, ""); /* the volume alone is below the minimum */
	lab_close(&lab);
}

Test(allocator_cases, row81_a_shared_volume_is_offered_once_per_cycle)
{
	struct allocator_options options = {.allocation_interval = SECOND,
					    .min_allocatable_resources = ""};
	struct lab lab = lab_open(&options);

	lab_agent(&lab, "s1", "cpus:2;disk(r):10{shared=v}");
	lab_framework(&lab, "f1", "r");
	lab_framework(&lab, "f2", "r");
	lab_expect_event(&lab, "f1(r)@s1 cpus:2; disk(reservations: "
			       "[(STATIC,r)])[v:path]<SHARED>:10<1>");
	lab_expect_tick(&lab, "f2(r)@s1 disk(reservations: [(STATIC,r)])[v:path]<SHARED>:10<1>");
	lab_decline(&lab, 0, 1000);
	lab_expect_tick(&lab, "f1(r)@s1 disk(reservations: [(STATIC,r)])[v:path]<SHARED>:10<1>");
	lab_decline(&lab, 0, 1000);
	lab_expect_tick(&lab, "");
	lab_close(&lab);
}

/* A launch that uses an offered volume again adds a copy to the framework's part. */
Test(allocator_cases, row6_1_another_copy_is_no_new_resource)
{
	struct lab lab = lab_open(NULL);
	struct resources none = RESOURCES_INIT;
	struct resources copy = kit_allocated(lab.shapes, "r", "disk(r):10{shared=v}");

	lab_agent(&lab, "s1", "cpus:2;mem:1024;disk(r):10{shared=v}");
	lab_framework(&lab, "fw", "r");
	free(lab_event(&lab));
	allocator_convert(lab.a, "fw", "s1", &none, &copy);
	cr_expect_eq(resources_quantity(&alloc_agent_find(lab.a, "s1")->total, "disk"), 10000);
	allocator_recover(lab.a, lab.now, "fw", "s1", &copy, NULL);
	cr_expect_float_eq(allocator_framework_share(lab.a, "fw", "r"), 1.0, 1e-12);
	resources_free(&copy);
	lab_close(&lab);
}
