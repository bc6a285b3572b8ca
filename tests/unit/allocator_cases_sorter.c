/* Cases 18 to 26 of the index (tests/cases): the order of roles. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "allocator/allocator_looks.h"
#include "allocator_kit.h"
#include "allocator_named.h"

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

Test(allocator_cases, case_18_drf)
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

Test(allocator_cases, case_20_allocation_count_breaks_ties)
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

Test(allocator_cases, case_21_hierarchical_allocation)
{
	struct lab lab = lab_open(NULL);

	lab_agent(&lab, "s1", "cpus:100;mem:100");
	holds(&lab, "a", "cpus:6;mem:6");
	holds(&lab, "b/c", "cpus:4;mem:4");
	holds(&lab, "b/d", "cpus:3;mem:3");
	expect_order(&lab, "a b/d b/c");
	lab_close(&lab);
}

Test(allocator_cases, case_22_23_virtual_leaf)
{
	struct lab lab = lab_open(NULL);

	lab_agent(&lab, "s1", "cpus:100;mem:100");
	holds(&lab, "a", "cpus:10;mem:10");
	holds(&lab, "b", "cpus:6;mem:6");
	expect_order(&lab, "b a");
	holds(&lab, "a/c", "cpus:5;mem:5");
	expect_order(&lab, "b a/c a");
	named_remove_framework(lab.a, "a");
	expect_order(&lab, "a/c b");
	lab_close(&lab);
}

Test(allocator_cases, case_25_revocable_counts)
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

Test(allocator_cases, case_26_shared_volume_counts_once)
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
