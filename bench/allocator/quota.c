/* LargeAndSmallQuota: roles whose quota is half an agent and roles whose quota is two, which
 * together take the whole cluster. NonQuotaVsQuota: each role takes two agents, with a quota
 * of that or without. One cycle that gives everything, and one with nothing to give. */
#include "bench/allocator/quota.h"

#include <stdio.h>

#include "bench/allocator/limits.h"
#include "bench/allocator/situations.h"

#define AGENT "cpus:2;mem:2048;disk:2048"

static const struct workload agents_of = {.total = AGENT};

/* `cpus` with a gigabyte of memory and disk each, as guarantee and limit. */
static void set_quota(struct cluster *c, const char *role, int cpus)
{
	const struct allocator_amount items[] = {
		{"cpus", cpus * 1000L}, {"mem", cpus * 1024000L}, {"disk", cpus * 1024000L}};
	struct allocator_quota quota = {{items, 3}, {items, 3}};

	allocator_set_quota(c->a, role, &quota);
}

static void add_role(struct cluster *c, const char *role, int frameworks)
{
	char id[64];
	const char *names = role;

	for (int i = 0; i < frameworks; i++) {
		struct allocator_framework framework = {
			.id = id, .roles = &names, .role_count = 1, .active = true};

		snprintf(id, sizeof(id), "framework-%s-%d", role, i);
		allocator_add_framework(c->a, c, &framework);
	}
}

struct run {
	struct report *report;
	struct meter *meter;
	struct cluster c;
	char row[64];
	double grant_ms, idle_us;
};

/* The two cycles; the agents are there already. */
static void cycles(struct run *run)
{
	struct limit offer = limit_records(run->meter, run->c.agents);
	struct cost nothing = limit_nothing(run->meter), cost;

	meter_begin(run->meter);
	cluster_tick(&run->c);
	cost = meter_end(run->meter);
	double offers = (double)run->c.grants.count;
	run->grant_ms = cost.ms;
	report_figure(run->report, run->row, "all_grants", cost.ms, "ms", offer.ms * offers);
	report_figure(run->report, run->row, "offer", cost.ms * 1e6 / offers, "ns", offer.ms * 1e6);
	report_figure(run->report, run->row, "offer_instructions", cost.instructions / offers,
		      "instructions", offer.instructions);
	/* The first cycle after it may still have to look. */
	cluster_drop_grants(&run->c);
	meter_begin(run->meter);
	cluster_tick(&run->c);
	cost = meter_end(run->meter);
	report_figure(run->report, run->row, "no_grants_first", cost.ms * 1e3, "us",
		      nothing.ms * 1e3);
	run->idle_us = cost.ms * 1e3;
	cost = situations_idle(run->meter, &run->c);
	report_figure(run->report, run->row, "no_grants", cost.ms * 1e3, "us", nothing.ms * 1e3);
	report_figure(run->report, run->row, "no_grants_instructions", cost.instructions,
		      "instructions", nothing.instructions);
}

static void large_and_small(struct report *report, struct meter *meter, int small, int large,
			    bool random)
{
	struct run run = {.report = report, .meter = meter};
	char role[32];

	snprintf(run.row, sizeof(run.row), "large_and_small_quota_%s/%d+%d",
		 random ? "random" : "drf", small, large);
	cluster_open(&run.c, &agents_of, small / 5 + large * 5, 0, random);
	for (int i = 0; i < small; i++) {
		snprintf(role, sizeof(role), "smallQuotaRole%d", i);
		add_role(&run.c, role, 1);
		set_quota(&run.c, role, 1);
	}
	for (int i = 0; i < large; i++) {
		snprintf(role, sizeof(role), "largeQuotaRole%d", i);
		add_role(&run.c, role, 1);
		set_quota(&run.c, role, 4);
	}
	cluster_prepare(&run.c);
	cluster_add_agents(&run.c);
	cycles(&run);
	if (small == 2500 && !random) {
		report_target(report, run.row, "all grants", run.grant_ms, 50, "ms");
		report_target(report, run.row, "no grants", run.idle_us, 50, "us");
	}
	cluster_close(&run.c);
}

static void with_or_without(struct report *report, struct meter *meter, int roles, bool quota,
			    bool random)
{
	struct run run = {.report = report, .meter = meter};
	char role[32];

	snprintf(run.row, sizeof(run.row), "%s_%s/%d", quota ? "quota" : "nonquota",
		 random ? "random" : "drf", roles);
	cluster_open(&run.c, &agents_of, roles * 2, 0, random);
	for (int i = 0; i < roles; i++) {
		snprintf(role, sizeof(role), "role%d", i);
		add_role(&run.c, role, 2);
		if (quota)
			set_quota(&run.c, role, 4);
	}
	cluster_prepare(&run.c);
	cluster_add_agents(&run.c);
	cycles(&run);
	cluster_close(&run.c);
}

void quota_run(struct report *report, struct meter *meter, bool full)
{
	for (int random = 0; random < 2; random++) {
		for (int factor = full ? 1 : 100; factor <= 100; factor *= 10) {
			large_and_small(report, meter, 25 * factor, 5 * factor, random);
			with_or_without(report, meter, 10 * factor, false, random);
			with_or_without(report, meter, 10 * factor, true, random);
		}
	}
}
