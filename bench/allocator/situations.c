/* Runs one workload at one size.
 *
 * Cycles that give something are measured once, as they change what comes after; idle ones
 * many times, and the least round counts.
 */
#include "bench/allocator/situations.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/allocator/limits.h"

#define FOR_EVER 1e9 /* seconds that an offer is refused */
#define IDLE_ROUNDS 20
#define IDLE_CYCLES 100 /* each */

struct run {
	const struct report *report;
	struct meter *meter;
	struct cluster c;
	char row[64];
	struct limit agent, framework; /* limits of one */
	struct figures found;
};

static void say(const struct run *run, const char *figure, double value, const char *unit,
		double limit)
{
	report_figure(run->report, run->row, figure, value, unit, limit);
}

/* A cycle with what leads to it, as a whole and per offer. */
static void say_cycle(const struct run *run, const char *figure, struct cost cost)
{
	double offers = (double)run->c.grants.count;
	char name[64];

	say(run, figure, cost.ms, "ms", run->agent.ms * offers);
	if (offers == 0)
		return;
	snprintf(name, sizeof(name), "%s_offer", figure);
	say(run, name, cost.ms * 1e6 / offers, "ns", run->agent.ms * 1e6);
	snprintf(name, sizeof(name), "%s_offer_instructions", figure);
	say(run, name, cost.instructions / offers, "instructions", run->agent.instructions);
}

static struct cost tick(struct run *run)
{
	cluster_drop_grants(&run->c);
	meter_begin(run->meter);
	cluster_tick(&run->c);
	return meter_end(run->meter);
}

struct cost situations_idle(struct meter *meter, struct cluster *c)
{
	struct cost least = {INFINITY, INFINITY}, cost;

	cluster_drop_grants(c);
	for (int i = 0; i < IDLE_ROUNDS; i++) {
		meter_begin(meter);
		for (int j = 0; j < IDLE_CYCLES; j++)
			cluster_tick(c);
		cost = meter_end(meter);
		if (cost.ms < least.ms)
			least = cost;
	}
	return (struct cost){least.ms / IDLE_CYCLES, least.instructions / IDLE_CYCLES};
}

static void build(struct run *run)
{
	struct cluster *c = &run->c;
	size_t empty = heap_bytes();
	struct cost cost, used;

	meter_begin(run->meter);
	cluster_add_frameworks(c);
	cost = meter_end(run->meter);
	say(run, "add_frameworks", cost.ms, "ms", run->framework.ms * c->frameworks);
	size_t frameworks = heap_bytes();
	say(run, "framework_memory", (double)(frameworks - empty) / c->frameworks, "bytes",
	    run->framework.bytes);
	cluster_suppress(c, 0, c->frameworks * c->workload->suppressed / 100);

	cluster_prepare(c);
	size_t before = heap_bytes();
	meter_begin(run->meter);
	cluster_add_agents(c);
	cost = meter_end(run->meter);
	size_t agents = heap_bytes();
	meter_begin(run->meter);
	cluster_use_agents(c);
	used = meter_end(run->meter);
	cluster_forget(c);
	run->found.add_agents_ms = cost.ms + used.ms;
	say(run, "add_agents", run->found.add_agents_ms, "ms", run->agent.ms * c->agents);
	run->found.agent_bytes = (double)(agents - before) / c->agents;
	say(run, "agent_memory", run->found.agent_bytes, "bytes", run->agent.bytes);
	/* With the labels and volumes that differ from agent to agent. */
	say(run, "used_memory",
	    (double)(heap_bytes() - frameworks) / c->agents - run->found.agent_bytes, "bytes",
	    run->agent.bytes);
}

/* In a cluster of its own: each agent gets the cycle that it asks for. */
static void add_one_by_one(struct run *run)
{
	struct cluster c;
	struct cost cost;
	size_t offers;

	cluster_open(&c, run->c.workload, run->c.agents, run->c.frameworks, false);
	cluster_prepare(&c);
	cluster_add_frameworks(&c);
	cluster_event(&c);
	meter_begin(run->meter);
	offers = cluster_add_one_by_one(&c);
	cost = meter_end(run->meter);
	say(run, "add_one_by_one", cost.ms, "ms", run->agent.ms * 2 * (double)offers);
	cluster_close(&c);
}

static void full_grant(struct run *run)
{
	struct cost cost = tick(run);

	say_cycle(run, "full_grant", cost);
	run->found.grant_ms = cost.ms;
	run->found.add_agents_ms += cost.ms;
	run->found.offer_ns = cost.ms * 1e6 / (double)run->c.grants.count;
	run->found.offer_instructions = cost.instructions / (double)run->c.grants.count;
}

/* While the first offers are out. */
static void oversubscribe(struct run *run)
{
	struct allocator_grants first = run->c.grants;
	struct cost cost;

	run->c.grants = (struct allocator_grants){0};
	meter_begin(run->meter);
	cluster_oversubscribe(&run->c);
	cost = meter_end(run->meter);
	say(run, "update_agents", cost.ms, "ms", run->agent.ms * run->c.agents);
	meter_begin(run->meter);
	cluster_event(&run->c);
	say_cycle(run, "updated", meter_end(run->meter));
	cluster_decline(&run->c, NULL);
	run->c.grants = first;
}

/* Offers come back unfiltered, and some more frameworks fall silent each time. */
static void rounds(struct run *run)
{
	struct cluster *c = &run->c;
	int rising = c->frameworks * c->workload->rising / 100;
	struct cost total = {0}, cost;
	double offers = 0;

	for (int i = 0; i < c->workload->rounds; i++) {
		cluster_decline(c, NULL);
		cluster_suppress(c, i * rising, (i + 1) * rising);
		cost = tick(run);
		total.ms += cost.ms;
		offers += (double)c->grants.count;
	}
	say(run, "rounds", total.ms / c->workload->rounds, "ms",
	    run->agent.ms * offers / c->workload->rounds);
	if (rising > 0)
		cluster_decline(c, NULL);
	for (int i = 0; rising > 0 && i < c->frameworks; i++)
		cluster_revive(c, i);
	if (rising > 0)
		cluster_tick(c);
}

/* Every framework that speaks declines every agent. */
static void decline_all(struct run *run, int pairs)
{
	struct cluster *c = &run->c;
	struct allocator_filter filter = {FOR_EVER};
	int silent = c->frameworks * c->workload->suppressed / 100;
	int speaking = c->frameworks - silent;
	struct cost total = {0};
	double declined = 0, before;

	if (speaking > pairs / c->agents)
		speaking = pairs / c->agents > 0 ? pairs / c->agents : 1;
	cluster_suppress(c, silent + speaking, c->frameworks);
	before = (double)heap_bytes();
	while (c->grants.count > 0) {
		declined += (double)c->grants.count;
		meter_begin(run->meter);
		cluster_decline(c, &filter);
		total.ms += meter_end(run->meter).ms;
		cluster_tick(c);
	}
	say(run, "decline_offer", total.ms * 1e6 / declined, "ns", run->agent.ms * 1e6);
	/* What was offered is free again in the end: the rest are filters. */
	say(run, "filter_memory", ((double)heap_bytes() - before) / declined, "bytes",
	    run->agent.bytes);
	say(run, "declining_frameworks", speaking, "frameworks", c->frameworks);
}

static void all_filtered(struct run *run)
{
	struct cost nothing = limit_nothing(run->meter);
	struct cost cost = situations_idle(run->meter, &run->c);

	run->found.idle_us = cost.ms * 1e3;
	run->found.idle_instructions = cost.instructions;
	say(run, "idle", cost.ms * 1e3, "us", nothing.ms * 1e3);
	say(run, "idle_instructions", cost.instructions, "instructions", nothing.instructions);
}

static void hundredth_changed(struct run *run)
{
	struct cost cost;

	cluster_prepare(&run->c);
	cluster_drop_grants(&run->c);
	meter_begin(run->meter);
	cluster_end_tasks(&run->c, 100);
	cluster_tick(&run->c);
	cost = meter_end(run->meter);
	say_cycle(run, "hundredth_changed", cost);
	run->found.changed_ms = cost.ms;
	cluster_forget(&run->c);
}

static void one_revived(struct run *run)
{
	struct cost cost;
	int first = run->c.frameworks * run->c.workload->suppressed / 100;

	cluster_drop_grants(&run->c);
	meter_begin(run->meter);
	cluster_revive(&run->c, first);
	cluster_event(&run->c);
	cost = meter_end(run->meter);
	say_cycle(run, "one_revived", cost);
	run->found.revived_ms = cost.ms;
}

struct figures situations_run(const struct report *report, struct meter *meter,
			      const struct workload *workload, int agents, int frameworks,
			      int pairs)
{
	struct run run = {.report = report, .meter = meter};

	snprintf(run.row, sizeof(run.row), "%s/%dx%d", workload->name, agents, frameworks);
	run.agent = limit_records(meter, agents);
	run.framework = limit_records(meter, frameworks);
	cluster_open(&run.c, workload, agents, frameworks, false);
	if (workload->revocable)
		add_one_by_one(&run);
	build(&run);
	full_grant(&run);
	if (workload->revocable)
		oversubscribe(&run);
	if (workload->rounds > 0)
		rounds(&run);
	decline_all(&run, pairs);
	all_filtered(&run);
	hundredth_changed(&run);
	one_revived(&run);
	cluster_close(&run.c);
	return run.found;
}
