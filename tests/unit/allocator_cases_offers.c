/* Cases 14, 16 and 27 to 46 of the index (tests/cases): who is offered what. Those
 * with weights are in allocator_cases_weights.c. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "allocator/allocator_looks.h"
#include "allocator_kit.h"
#include "allocator_named.h"

Test(allocator_cases, case_27_drf_paper)
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
		int who = named_id(grant->framework)[0] - 'A';
		struct resources task = kit_allocated(lab.shapes, grant->role, tasks[who]);
		struct allocator_filter filter = {0};

		if (resources_contain(&grant->resources, &task)) {
			resources_subtract(&grant->resources, &task);
			buf_putc(&order, (char)('A' + who));
			launched[who]++;
		}
		named_recover(lab.a, lab.now, grant->framework, "s1", &grant->resources, &filter);
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

Test(allocator_cases, case_31_unreserved_drf)
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

Test(allocator_cases, case_32_reserved_allocations_count)
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

Test(allocator_cases, case_33_excluded_names)
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

Test(allocator_cases, case_34_nested_roles)
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

Test(allocator_cases, case_35_coarse_grained)
{
	struct lab lab = lab_open(NULL);

	lab_agent(&lab, "s1", "cpus:2;mem:1024");
	lab_agent(&lab, "s2", "cpus:2;mem:1024");
	lab_framework(&lab, "fw1", "role1");
	lab_framework(&lab, "fw2", "role2");
	lab_expect_event(&lab, "fw1(role1)@s1 cpus:2; mem:1024, fw2(role2)@s2 cpus:2; mem:1024");
	lab_close(&lab);
}

Test(allocator_cases, case_36_same_share_takes_turns)
{
	struct lab lab = lab_open(NULL);
	int offers[2] = {0, 0};

	lab_framework(&lab, "f0", "*");
	lab_framework(&lab, "f1", "*");
	lab_agent(&lab, "s1", "cpus:2;mem:1024");
	for (int i = 0; i < 10; i++) {
		free(i == 0 ? lab_event(&lab) : lab_tick(&lab));
		cr_assert_eq(lab.grants.count, 1);
		offers[named_id(lab.grants.items[0].framework)[1] - '0']++;
		lab_decline(&lab, 0, LAB_NO_FILTER);
	}
	cr_expect_eq(offers[0], 5);
	cr_expect_eq(offers[1], 5);
	lab_close(&lab);
}

Test(allocator_cases, case_38_allocatable)
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

Test(allocator_cases, case_38_no_minimum)
{
	struct allocator_options options = {.allocation_interval = SECOND,
					    .min_allocatable_resources = ""};
	struct lab lab = lab_open(&options);

	lab_framework(&lab, "fw", "r");
	lab_agent(&lab, "s1", "disk:1");
	lab_expect_event(&lab, "fw(r)@s1 disk:1");
	lab_close(&lab);
}

Test(allocator_cases, case_39_minimum_of_the_framework)
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
		named_add_framework(lab.a, &framework);
		lab_expect_event(&lab, cases[i].expected);
		lab_close(&lab);
	}
}

Test(allocator_cases, case_40_ancestor_reservations)
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

/* By limits what they do not name stays, by quantities (here: the headroom) it goes. */
Test(allocator_cases, case_14_shrinking)
{
	struct allocator_options anything = {.allocation_interval = SECOND,
					     .min_allocatable_resources = ""};
	struct lab lab = lab_open(&anything);

	lab_quota(&lab, "r", "", "cpus:1");
	lab_framework(&lab, "fw", "r");
	lab_agent(&lab, "s1", "cpus:2;mem:20");
	lab_expect_event(&lab, "fw(r)@s1 cpus:1; mem:20");
	lab_close(&lab);
	lab = lab_open(&anything);
	lab_quota(&lab, "q", "cpus:1;mem:20", "");
	lab_framework(&lab, "fw", "r");
	lab_agent(&lab, "s1", "cpus:2;mem:20");
	lab_expect_event(&lab, "fw(r)@s1 cpus:1");
	lab_close(&lab);
}

Test(allocator_cases, case_16_what_a_role_can_have)
{
	struct lab lab = lab_open(NULL);

	lab_agent(&lab, "s1", "cpus:1;cpus(a):2;cpus(a/b):3;cpus(a/c):4");
	lab_framework(&lab, "fw", "a/b");
	lab_expect_event(&lab, "fw(a/b)@s1 cpus:1; cpus(reservations: [(STATIC,a)]):2; "
			       "cpus(reservations: [(STATIC,a/b)]):3");
	lab_close(&lab);
}

Test(allocator_cases, case_41_refined_reservation_for_capable_framework)
{
	const char *role = "a/b";
	struct lab lab = lab_open(NULL);
	struct allocator_framework old = lab_incapable("fw2", &role);

	lab_agent(&lab, "s0", "cpus:1;mem:128");
	lab_framework(&lab, "fw1", "a/b");
	lab_expect_event(&lab, "fw1(a/b)@s0 cpus:1; mem:128");
	named_add_framework(lab.a, &old);
	lab_agent(&lab, "s1", "cpus(a>a/b):1;mem(a>a/b):512");
	lab_expect_event(&lab, "fw1(a/b)@s1 cpus(reservations: [(STATIC,a),(DYNAMIC,a/b)]):1; "
			       "mem(reservations: [(STATIC,a),(DYNAMIC,a/b)]):512");
	lab_close(&lab);
}

Test(allocator_cases, case_42_capabilities_of_agents)
{
	const char *plain_role = "r", *deep_role = "r/s";
	struct lab lab = lab_open(NULL);
	struct allocator_framework plain = lab_incapable("plain", &plain_role);
	struct allocator_framework deep = lab_incapable("deep", &deep_role);

	lab_framework(&lab, "multi", "r");
	lab_expect_event(&lab, "");
	lab_agent(&lab, "s1", "cpus:1;mem:128");
	named_set_agent_capabilities(lab.a, "s1", false, true);
	lab_expect_event(&lab, "");
	named_set_agent_capabilities(lab.a, "s1", false, false);
	named_add_framework(lab.a, &deep);
	lab_expect_event(&lab, "");
	named_add_framework(lab.a, &plain);
	lab_expect_event(&lab, "plain(r)@s1 cpus:1; mem:128");
	lab_close(&lab);
}

Test(allocator_cases, case_42_gpus_and_regions)
{
	const char *role = "r";
	struct allocator_options options = {
		.allocation_interval = SECOND, .filter_gpu_resources = true, .region = "here"};
	struct lab lab = lab_open(&options);
	struct allocator_framework plain = lab_incapable("plain", &role);
	struct resources total = kit_resources(lab.shapes, "cpus:1;mem:128");

	named_add_framework(lab.a, &plain);
	lab_agent(&lab, "s1", "cpus:1;mem:128;gpus:1");
	named_add_agent(lab.a, "s2", &total, "there");
	lab_expect_event(&lab, "");
	named_add_agent(lab.a, "s3", &total, "here");
	lab_agent(&lab, "s4", "cpus:1;mem:128");
	lab_expect_event(&lab, "plain(r)@s3 cpus:1; mem:128, plain(r)@s4 cpus:1; mem:128");
	plain.region_aware = true;
	named_add_framework(lab.a, &plain);
	lab_expect_event(&lab, "");
	lab_expect_tick(&lab, "plain(r)@s2 cpus:1; mem:128");
	plain.gpu_resources = true;
	named_add_framework(lab.a, &plain);
	lab_expect_tick(&lab, "plain(r)@s1 cpus:1; mem:128; gpus:1");
	resources_free(&total);
	lab_close(&lab);
}

static void set_total(struct lab *lab, const char *agent, const char *text)
{
	struct resources total = kit_resources(lab->shapes, text);

	named_update_agent(lab->a, agent, &total);
	resources_free(&total);
}

Test(allocator_cases, case_43_oversubscribed)
{
	const char *role = "r";
	struct lab lab = lab_open(NULL);
	struct allocator_framework plain = lab_incapable("plain", &role);

	lab_agent(&lab, "s1", "cpus:100;mem:100;disk:100");
	lab_framework(&lab, "fw", "r");
	named_add_framework(lab.a, &plain);
	lab_expect_event(&lab, "fw(r)@s1 cpus:100; mem:100; disk:100");
	set_total(&lab, "s1", "cpus:100;mem:100;disk:100;cpus:10{rev}");
	lab_expect_event(&lab, "fw(r)@s1 cpus{REV}:10");
	set_total(&lab, "s1", "cpus:100;mem:100;disk:100;cpus:12{rev}");
	lab_expect_event(&lab, "fw(r)@s1 cpus{REV}:2");
	set_total(&lab, "s1", "cpus:100;mem:100;disk:100;cpus:5{rev}");
	lab_expect_event(&lab, "");
	lab_close(&lab);
}

Test(allocator_cases, case_44_total_changes)
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

Test(allocator_cases, case_45_whitelist)
{
	const char *hosts[] = {"other", "host1"};
	struct lab lab = lab_open(NULL);

	allocator_set_whitelist(lab.a, hosts, 1);
	lab_framework(&lab, "fw", "r");
	lab_agent(&lab, "s1", "cpus:2;mem:1024");
	named_set_agent_hostname(lab.a, "s1", "host1");
	lab_expect_event(&lab, "");
	lab_expect_tick(&lab, "");
	allocator_set_whitelist(lab.a, hosts, 2);
	cr_expect_not(allocator_pending(lab.a), "it takes effect at the next batch");
	lab_expect_tick(&lab, "fw(r)@s1 cpus:2; mem:1024");
	lab_close(&lab);
}

Test(allocator_cases, case_45a_parts_come_back_as_they_are)
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

Test(allocator_cases, case_46_removed_agent_no_longer_counts)
{
	struct lab lab = lab_open(NULL);

	lab_framework(&lab, "fw1", "role1");
	lab_agent(&lab, "s1", "cpus:2;mem:200");
	lab_expect_event(&lab, "fw1(role1)@s1 cpus:2; mem:200");
	lab_framework(&lab, "fw2", "role2");
	lab_agent(&lab, "s2", "cpus:1;mem:100");
	lab_expect_event(&lab, "fw2(role2)@s2 cpus:1; mem:100");
	named_remove_agent(lab.a, "s1");
	lab_agent(&lab, "s3", "cpus:1;mem:100");
	lab_expect_event(&lab, "fw1(role1)@s3 cpus:1; mem:100");
	lab_close(&lab);
}
