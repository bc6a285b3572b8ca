/* Cases 19, 24, 28 to 30 and 37 of the index (tests/cases): weights. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocator_kit.h"
#include "allocator_named.h"

static void holds(struct lab *lab, const char *role, const char *resources)
{
	lab_framework(lab, role, role);
	lab_restore(lab, role, role, "s1", resources);
}

Test(allocator_cases, case_19_weighted_drf)
{
	struct lab lab = lab_open(NULL);

	lab_agent(&lab, "s1", "cpus:100;mem:100");
	allocator_set_weight(lab.a, "b", 2);
	allocator_set_weight(lab.a, "d", 10);
	holds(&lab, "a", "cpus:5;mem:5");
	holds(&lab, "b", "cpus:6;mem:6");
	holds(&lab, "c", "cpus:4;mem:4");
	holds(&lab, "d", "cpus:10;mem:20");
	lab_check(lab_role_order(&lab), "d b c a", __LINE__);
	allocator_set_weight(lab.a, "d", 1);
	lab_check(lab_role_order(&lab), "b c a d", __LINE__);
	lab_close(&lab);
}

/* The weight of a role that no framework is in counts for those below it, whether it was
 * known before them or changed since. */
Test(allocator_cases, case_24_weight_of_a_subtree)
{
	struct lab lab = lab_open(NULL);

	lab_agent(&lab, "s1", "cpus:100;mem:100");
	allocator_set_weight(lab.a, "b", 3);
	holds(&lab, "a/x", "cpus:10;mem:10");
	holds(&lab, "b/y", "cpus:10;mem:10");
	holds(&lab, "b/z", "cpus:5;mem:5");
	holds(&lab, "b", "cpus:4;mem:4");
	lab_check(lab_role_order(&lab), "b b/z b/y a/x", __LINE__);
	allocator_set_weight(lab.a, "a", 2);
	lab_check(lab_role_order(&lab), "a/x b b/z b/y", __LINE__);
	lab_close(&lab);
}

struct drf {
	const char *agent;
	const char *tasks[2]; /* of A and B */
	double weights[2];
	double refuse[2]; /* seconds, for an offer that holds no task */
	const char *expected;
};

/* Each offer launches one task, and the rest is declined for no time. */
static void expect_launches(const struct drf *drf)
{
	struct lab lab = lab_open(NULL);
	struct buf order = BUF_INIT;

	lab_agent(&lab, "s1", drf->agent);
	for (int who = 0; who < 2; who++) {
		const char *name = who == 0 ? "A" : "B";

		allocator_set_weight(lab.a, name, drf->weights[who]);
		lab_framework(&lab, name, name);
	}
	for (int round = 0; round < 30; round++) {
		free(round == 0 ? lab_event(&lab) : lab_tick(&lab));
		if (lab.grants.count == 0)
			break;
		struct allocator_grant *grant = &lab.grants.items[0];
		int who = named_id(grant->framework)[0] - 'A';
		struct resources task = kit_allocated(lab.shapes, grant->role, drf->tasks[who]);
		struct allocator_filter filter = {0};

		cr_assert_eq(lab.grants.count, 1);
		if (resources_contain(&grant->resources, &task)) {
			resources_subtract(&grant->resources, &task);
			buf_putc(&order, (char)('A' + who));
		} else {
			filter.refuse_seconds = drf->refuse[who];
		}
		if (!resources_empty(&grant->resources))
			named_recover(lab.a, lab.now, grant->framework, "s1", &grant->resources,
				      &filter);
		resources_free(&task);
	}
	char *text = buf_take(&order);
	cr_expect_str_eq(text, drf->expected, "%s, not %s", text, drf->expected);
	free(text);
	lab_close(&lab);
}

#define PAPER .agent = "cpus:9;mem:18432", .tasks = {"cpus:1;mem:4096", "cpus:3;mem:1024"}

Test(allocator_cases, case_28_drf_paper_with_weight_for_a)
{
	expect_launches(&(struct drf){PAPER, .weights = {2, 1}, .expected = "ABAAB"});
}

Test(allocator_cases, case_29_drf_paper_with_weight_for_b)
{
	expect_launches(
		&(struct drf){PAPER, .weights = {1, 2}, .refuse = {0, 5}, .expected = "ABBAA"});
}

Test(allocator_cases, case_30_equal_tasks_with_weights)
{
	struct lab lab = lab_open(NULL);
	int counts[2] = {0, 0};

	lab_agent(&lab, "s1", "cpus:10;mem:10240");
	allocator_set_weight(lab.a, "A", 3);
	lab_framework(&lab, "A", "A");
	lab_framework(&lab, "B", "B");
	for (int round = 0; round < 10; round++) {
		free(round == 0 ? lab_event(&lab) : lab_tick(&lab));
		cr_assert_eq(lab.grants.count, 1);
		struct allocator_grant *grant = &lab.grants.items[0];
		struct resources task = kit_allocated(lab.shapes, grant->role, "cpus:1;mem:1024");

		counts[named_id(grant->framework)[0] - 'A']++;
		resources_subtract(&grant->resources, &task);
		if (!resources_empty(&grant->resources))
			named_recover(lab.a, lab.now, grant->framework, "s1", &grant->resources,
				      NULL);
		resources_free(&task);
	}
	cr_expect_eq(counts[0], 7);
	cr_expect_eq(counts[1], 3);
	lab_close(&lab);
}

/* Takes back all agents and has them offered anew: how many does each role get? */
static void expect_agents(struct lab *lab, const char *expected, int line)
{
	int counts[3] = {0};
	char got[16];

	for (size_t i = 0; i < lab->grants.count; i++)
		lab_decline(lab, i, LAB_NO_FILTER);
	free(lab_tick(lab));
	for (size_t i = 0; i < lab->grants.count; i++)
		counts[lab->grants.items[i].role[4] - '1']++;
	snprintf(got, sizeof(got), "%d %d %d", counts[0], counts[1], counts[2]);
	cr_expect_str_eq(got, expected, "line %d: %s", line, got);
}

Test(allocator_cases, case_37_agents_by_weights)
{
	struct lab lab = lab_open(NULL);

	for (int i = 0; i < 6; i++) {
		const char id[] = {'s', (char)('1' + i), '\0'};

		lab_agent(&lab, id, "cpus:2;mem:1024");
	}
	lab_framework(&lab, "fw1", "role1");
	lab_framework(&lab, "fw2", "role2");
	free(lab_event(&lab));
	expect_agents(&lab, "3 3 0", __LINE__);
	allocator_set_weight(lab.a, "role2", 2);
	expect_agents(&lab, "2 4 0", __LINE__);
	lab_framework(&lab, "fw3", "role3");
	allocator_set_weight(lab.a, "role3", 3);
	expect_agents(&lab, "1 2 3", __LINE__);
	lab_close(&lab);
}
