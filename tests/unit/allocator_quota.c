/* Cases 58 to 74 of the index (tests/cases): quota, one change or agent at a time. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "allocator_kit.h"

Test(allocator_quota, case_58_a_guarantee_is_held_for_its_role)
{
	struct lab lab = lab_open(NULL);

	lab_quota(&lab, "Q", "cpus:2;mem:1024", "cpus:2;mem:1024");
	lab_framework(&lab, "fw1", "Q");
	lab_framework(&lab, "fw2", "N");
	lab_agent(&lab, "s1", "cpus:1;mem:512");
	lab_expect_event(&lab, "fw1(Q)@s1 cpus:1; mem:512");
	lab_agent(&lab, "s2", "cpus:1;mem:512");
	lab_expect_event(&lab, "fw1(Q)@s2 cpus:1; mem:512");
	lab_decline(&lab, 0, 2);
	lab_expect_tick(&lab, "");
	lab_expect_tick(&lab, "fw1(Q)@s2 cpus:1; mem:512");
	lab_close(&lab);
}

Test(allocator_quota, case_59_limits)
{
	struct lab lab = lab_open(NULL);

	lab_quota(&lab, "*", "cpus:0;mem:0;disk:0", "cpus:0;mem:0;disk:0");
	lab_framework(&lab, "fw1", "*");
	lab_agent(&lab, "s1", "cpus:2;mem:1024;disk:1024");
	lab_expect_event(&lab, "");
	lab_framework(&lab, "fw2", "N");
	lab_expect_event(&lab, "fw2(N)@s1 cpus:2; mem:1024; disk:1024");
	lab_quota(&lab, "*", "", "cpus:1;mem:512;disk:512");
	lab_agent(&lab, "s2", "cpus:2;mem:1024;disk:1024");
	lab_expect_event(&lab, "fw1(*)@s2 cpus:1; mem:512; disk:512, "
			       "fw2(N)@s2 cpus:1; mem:512; disk:512");
	lab_close(&lab);
}

Test(allocator_quota, case_60_a_guarantee_is_cut_out_of_an_agent)
{
	struct lab lab = lab_open(NULL);

	lab_quota(&lab, "Q", "cpus:0.5;mem:200", "cpus:0.5;mem:200");
	lab_framework(&lab, "fw1", "Q");
	lab_agent(&lab, "s1", "cpus:1;mem:512");
	lab_expect_event(&lab, "fw1(Q)@s1 cpus:0.5; mem:200");
	lab_framework(&lab, "fw2", "N");
	lab_expect_event(&lab, "fw2(N)@s1 cpus:0.5; mem:312");
	lab_close(&lab);
}

Test(allocator_quota, case_61_a_mount_disk_is_not_cut)
{
	struct lab lab = lab_open(NULL);

	lab_quota(&lab, "Q", "cpus:2;mem:2048;disk:150", "cpus:2;mem:2048;disk:150");
	lab_framework(&lab, "fw1", "Q");
	lab_agent(&lab, "s1", "cpus:0.5;mem:512;disk:100{mount=/m1}");
	lab_expect_event(&lab, "fw1(Q)@s1 cpus:0.5; mem:512; disk[MOUNT:/m1]:100");
	lab_agent(&lab, "s2", "cpus:0.5;mem:512;disk:100{mount=/m2}");
	lab_expect_event(&lab, "fw1(Q)@s2 cpus:0.5; mem:512");
	lab_agent(&lab, "s3", "cpus:2;mem:2048;disk:150");
	lab_expect_event(&lab, "fw1(Q)@s3 cpus:1; mem:1024; disk:50");
	lab_close(&lab);
}

Test(allocator_quota, case_62_names_without_a_guarantee)
{
	struct lab lab = lab_open(NULL);

	lab_quota(&lab, "q1", "cpus:2", "cpus:2");
	lab_framework(&lab, "fw1", "q1");
	lab_agent(&lab, "s1", "cpus:1;mem:1024;ports:[31000-32000]");
	lab_expect_event(&lab, "fw1(q1)@s1 cpus:1; mem:1024; ports:[31000-32000]");
	lab_quota(&lab, "q2", "mem:1024", "mem:1024");
	lab_agent(&lab, "s2", "cpus:1;mem:1024;ports:[31000-32000]");
	lab_expect_event(&lab, "fw1(q1)@s2 cpus:1; ports:[31000-32000]");
	lab_agent(&lab, "s3", "cpus:1;mem:1024;ports:[31000-32000]");
	lab_expect_event(&lab, "fw1(q1)@s3 mem:1024; ports:[31000-32000]");
	lab_close(&lab);
}

Test(allocator_quota, case_63_headroom_for_a_role_without_frameworks)
{
	struct lab lab = lab_open(NULL);

	lab_quota(&lab, "Q", "cpus:2;mem:1024", "cpus:2;mem:1024");
	lab_framework(&lab, "fw", "N");
	lab_agent(&lab, "s1", "cpus:2;mem:1024");
	lab_expect_event(&lab, "");
	lab_agent(&lab, "s2", "cpus:2;mem:1024");
	free(lab_event(&lab));
	cr_expect_eq(lab.grants.count, 1, "the event is of s2 alone");
	lab_expect_tick(&lab, "");
	lab_close(&lab);
}

Test(allocator_quota, case_64_headroom_does_not_hold_back_guarantees)
{
	struct lab lab = lab_open(NULL);

	lab_quota(&lab, "q1", "cpus:1;mem:1024", "cpus:1;mem:1024");
	lab_quota(&lab, "q2", "cpus:2;mem:2048", "cpus:2;mem:2048");
	lab_framework(&lab, "fw", "q2");
	lab_agent(&lab, "s1", "cpus:2;mem:2048");
	lab_expect_event(&lab, "fw(q2)@s1 cpus:2; mem:2048");
	lab_close(&lab);
}

Test(allocator_quota, case_65_reservations_count_as_consumed)
{
	struct lab lab = lab_open(NULL);

	lab_quota(&lab, "Q", "cpus:2;mem:256", "cpus:2;mem:256");
	lab_agent(&lab, "s1", "cpus:8;mem(Q):256");
	lab_framework(&lab, "fw1", "Q");
	lab_expect_event(&lab, "fw1(Q)@s1 cpus:2; mem(reservations: [(STATIC,Q)]):256");
	lab_framework(&lab, "fw2", "N");
	lab_expect_event(&lab, "fw2(N)@s1 cpus:6");
	lab_agent(&lab, "s2", "cpus:4");
	lab_expect_event(&lab, "fw2(N)@s2 cpus:4");
	lab_close(&lab);
}

Test(allocator_quota, case_66_unallocated_reservations_too)
{
	struct lab lab = lab_open(NULL);

	lab_quota(&lab, "Q", "cpus:1;mem:1024", "cpus:1;mem:1024");
	lab_framework(&lab, "fw", "Q");
	lab_agent(&lab, "s1", "cpus(Q):1;mem(Q):1024");
	free(lab_event(&lab));
	cr_assert_eq(lab.grants.count, 1);
	lab_decline(&lab, 0, 86400);
	lab_agent(&lab, "s2", "cpus:1;mem:1024");
	lab_expect_event(&lab, "");
	lab_expect_tick(&lab, "");
	cr_expect_eq(allocator_quota_consumed(lab.a, "Q", "cpus"), 1000);
	lab_close(&lab);
}

Test(allocator_quota, case_67_guarantees_in_other_proportions_than_agents)
{
	struct lab lab = lab_open(NULL);

	lab_quota(&lab, "Q", "cpus:4;mem:1024", "cpus:4;mem:1024");
	lab_framework(&lab, "fw", "Q");
	lab_agent(&lab, "s1", "cpus:2;mem:1024");
	lab_expect_event(&lab, "fw(Q)@s1 cpus:2; mem:1024");
	lab_agent(&lab, "s2", "cpus:2;mem:1024");
	lab_expect_event(&lab, "fw(Q)@s2 cpus:2");
	lab_close(&lab);
}

/* One agent and the frameworks of q and z, which come before it. */
static void one_agent(const char *guarantees, const char *limits, const char *agent,
		      const char *expected)
{
	struct lab lab = lab_open(NULL);

	lab_quota(&lab, "q", guarantees, limits);
	lab_framework(&lab, "fq", "q");
	lab_framework(&lab, "fz", "z");
	lab_agent(&lab, "s1", agent);
	lab_expect_event(&lab, expected);
	lab_close(&lab);
}

Test(allocator_quota, case_68_burst_above_a_guarantee_without_limit)
{
	one_agent("cpus:2;mem:1024", "", "cpus:4;mem:4096", "fq(q)@s1 cpus:4; mem:4096");
}

Test(allocator_quota, case_69_no_burst_above_a_limit)
{
	one_agent("cpus:2;mem:1024", "cpus:2;mem:1024", "cpus:4;mem:4096",
		  "fq(q)@s1 cpus:2; mem:1024, fz(z)@s1 cpus:2; mem:3072");
}

Test(allocator_quota, case_70_headroom_cuts_an_agent)
{
	struct lab lab = lab_open(NULL);

	lab_quota(&lab, "q", "cpus:2;mem:1024", "");
	lab_framework(&lab, "fz", "z");
	lab_agent(&lab, "s1", "cpus:4;mem:4096;disk:100");
	lab_expect_event(&lab, "fz(z)@s1 cpus:2; mem:3072; disk:100");
	lab_expect_tick(&lab, "");
	/* Its framework comes and is served what was held for it. */
	lab_framework(&lab, "fq", "q");
	lab_expect_event(&lab, "fq(q)@s1 cpus:2; mem:1024");
	lab_close(&lab);
}

Test(allocator_quota, case_71_two_guarantees_from_one_agent)
{
	for (int limited = 0; limited < 2; limited++) {
		struct lab lab = lab_open(NULL);

		lab_quota(&lab, "q1", "cpus:1", limited ? "cpus:1" : "");
		lab_quota(&lab, "q2", "cpus:3", limited ? "cpus:3" : "");
		lab_framework(&lab, "f1", "q1");
		lab_framework(&lab, "f2", "q2");
		lab_agent(&lab, "s1", "cpus:4;mem:400");
		lab_expect_event(&lab, "f1(q1)@s1 cpus:1; mem:400, f2(q2)@s1 cpus:3");
		lab_close(&lab);
	}
}

Test(allocator_quota, case_72_a_limit_without_guarantee)
{
	one_agent("", "cpus:1", "cpus:4;mem:400", "fq(q)@s1 cpus:1; mem:400, fz(z)@s1 cpus:3");
}

Test(allocator_quota, case_73_reservations_of_a_subrole)
{
	struct lab lab = lab_open(NULL);

	lab_quota(&lab, "a", "cpus:2;mem:200", "cpus:2;mem:200");
	lab_framework(&lab, "fw", "a");
	lab_agent(&lab, "s1", "cpus(a/b):1;mem(a/b):100");
	lab_expect_event(&lab, "");
	lab_agent(&lab, "s2", "cpus:10;mem:1000");
	lab_expect_event(&lab, "fw(a)@s2 cpus:1; mem:100");
	cr_expect_eq(allocator_quota_consumed(lab.a, "a", "mem"), 200000);
	cr_expect_eq(allocator_quota_consumed(lab.a, "a/b", "mem"), 100000);
	lab_close(&lab);
}

Test(allocator_quota, case_74_allocations_of_a_subrole)
{
	struct lab lab = lab_open(NULL);

	lab_framework(&lab, "fw1", "a/b");
	lab_agent(&lab, "s1", "cpus:1;mem:1024");
	lab_expect_event(&lab, "fw1(a/b)@s1 cpus:1; mem:1024");
	lab_quota(&lab, "a", "cpus:1;mem:1024", "cpus:1;mem:1024");
	lab_framework(&lab, "fw2", "a");
	lab_expect_event(&lab, "");
	lab_agent(&lab, "s2", "cpus:1;mem:1024");
	lab_expect_event(&lab, "fw1(a/b)@s2 cpus:1; mem:1024");
	lab_close(&lab);
}
