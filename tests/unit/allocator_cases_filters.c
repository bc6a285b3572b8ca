/* Cases 47 to 56, 80 and 81 of the index (tests/cases): what is not offered again, and
 * shared volumes. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "allocator/agents/agents.h"
#include "allocator/allocator_looks.h"
#include "allocator_kit.h"
#include "allocator_named.h"

Test(allocator_cases, case_47_filter_of_two_intervals)
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

Test(allocator_cases, case_48_a_short_filter_outlives_the_next_batch)
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

Test(allocator_cases, case_49_refusing_for_zero_seconds_starves_others)
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

Test(allocator_cases, case_50_revive)
{
	struct lab lab = lab_open(NULL);

	lab_framework(&lab, "fw", "r");
	lab_agent(&lab, "s1", "cpus:1;mem:512");
	free(lab_event(&lab));
	lab_decline(&lab, 0, 1000);
	lab_expect_tick(&lab, "");
	named_revive(lab.a, "fw", NULL, 0);
	cr_expect(allocator_pending(lab.a));
	cr_expect_eq(allocator_filter_count(lab.a), 0);
	lab_expect_event(&lab, "fw(r)@s1 cpus:1; mem:512");
	cr_expect(!allocator_pending(lab.a));
	lab_close(&lab);
}

Test(allocator_cases, case_51_suppress_and_revive_by_role)
{
	const char *role1 = "role1";
	struct lab lab = lab_open(NULL);

	lab_framework(&lab, "fw", "role1,role2");
	lab_expect_event(&lab, "");
	named_suppress(lab.a, "fw", &role1, 1);
	lab_agent(&lab, "s1", "cpus:1;mem:512");
	lab_expect_event(&lab, "fw(role2)@s1 cpus:1; mem:512");
	lab_decline(&lab, 0, 86400);
	lab_expect_tick(&lab, "");
	named_revive(lab.a, "fw", &role1, 1);
	lab_expect_event(&lab, "fw(role1)@s1 cpus:1; mem:512");
	cr_expect_eq(allocator_filter_count(lab.a), 1);
	named_suppress(lab.a, "fw", NULL, 0);
	lab_recover(&lab, "fw", "role1", "s1", "cpus:1;mem:512", LAB_NO_FILTER);
	lab_expect_tick(&lab, "");
	named_revive(lab.a, "fw", NULL, 0);
	cr_expect_eq(allocator_filter_count(lab.a), 0);
	lab_expect_event(&lab, "fw(role1)@s1 cpus:1; mem:512");
	lab_close(&lab);
}

Test(allocator_cases, case_52_more_than_refused_is_offered)
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

Test(allocator_cases, case_53_less_than_refused_is_not_offered)
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

Test(allocator_cases, case_54_changed_attributes_forget_filters)
{
	struct lab lab = lab_open(NULL);

	lab_framework(&lab, "fw", "r");
	lab_agent(&lab, "s1", "cpus:4;mem:4096");
	free(lab_event(&lab));
	lab_decline(&lab, 0, 86400);
	lab_expect_tick(&lab, "");
	named_forget_filters(lab.a, "s1");
	cr_expect_eq(allocator_filter_count(lab.a), 0);
	lab_expect_event(&lab, "fw(r)@s1 cpus:4; mem:4096");
	lab_close(&lab);
}

Test(allocator_cases, case_55_refuse_seconds)
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

Test(allocator_cases, case_56_a_reservation_defeats_the_filter)
{
	struct lab lab = lab_open(NULL);

	lab_framework(&lab, "fw", "r");
	lab_agent(&lab, "s1", "cpus:2;mem:1024");
	free(lab_event(&lab));
	for (int reserved_used = 0; reserved_used < 2; reserved_used++) {
		struct resources before = kit_allocated(lab.shapes, "r", "cpus:1;mem:512");
		struct resources after = kit_allocated(lab.shapes, "r", "cpus(r):1;mem(r):512");

		if (!reserved_used) {
			named_convert(lab.a, "fw", "s1", &before, &after);
			named_recover(lab.a, lab.now, "fw", "s1", &after, NULL);
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

Test(allocator_cases, case_80_81_shared_volumes)
{
	const char *role = "r";
	struct lab lab = lab_open(NULL);
	struct allocator_framework plain = lab_incapable("plain", &role);

	lab_agent(&lab, "s1", "cpus:2;mem:1024;disk(r):10{shared=v}");
	named_add_framework(lab.a, &plain);
	lab_expect_event(&lab, "plain(r)@s1 cpus:2; mem:1024");
	lab_recover(&lab, "plain", "r", "s1", "cpus:2;mem:1024", LAB_NO_FILTER);
	named_remove_framework(lab.a, "plain");
	lab_framework(&lab, "fw1", "r");
	free(lab_event(&lab));
	cr_expect_eq(lab.grants.count, 1);
	cr_expect_eq(lab.grants.items[0].resources.count, 3);
	lab_recover(&lab, "fw1", "r", "s1", "cpus:1;mem:512", LAB_NO_FILTER);
	named_suppress(lab.a, "fw1", NULL, 0);
	lab_framework(&lab, "fw2", "r");
	free(lab_event(&lab));
	cr_expect_eq(lab.grants.count, 1, "the volume that fw1 uses goes with the rest");
	cr_expect_eq(lab.grants.items[0].resources.count, 3);
	lab_expect_tick(&lab, ""); /* the volume alone is below the minimum */
	lab_close(&lab);
}

Test(allocator_cases, case_81_a_shared_volume_is_offered_once_per_cycle)
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
Test(allocator_cases, another_copy_is_no_new_resource)
{
	struct lab lab = lab_open(NULL);
	struct resources none = RESOURCES_INIT;
	struct resources copy = kit_allocated(lab.shapes, "r", "disk(r):10{shared=v}");

	lab_agent(&lab, "s1", "cpus:2;mem:1024;disk(r):10{shared=v}");
	lab_framework(&lab, "fw", "r");
	free(lab_event(&lab));
	named_convert(lab.a, "fw", "s1", &none, &copy);
	cr_expect_eq(resources_quantity(&alloc_agent_find(lab.a, "s1")->total, "disk"), 10000);
	named_recover(lab.a, lab.now, "fw", "s1", &copy, NULL);
	cr_expect_float_eq(allocator_framework_share(lab.a, "fw", "r"), 1.0, 1e-12);
	resources_free(&copy);
	lab_close(&lab);
}
