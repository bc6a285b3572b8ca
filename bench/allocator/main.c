/* The allocator at the sizes of Mesos' own benchmarks.
 *
 *	bench_allocator [--full] [--json] [--check] [--only=WORKLOAD] [--size=AGENTSxFRAMEWORKS]
 *			[--pairs=N]
 *
 * A line a figure, "name value unit limit ratio", the limit being what the bare machine does
 * for the same: a record with its amounts in a hash table for an offer, an agent, a
 * framework; reading the clock for a cycle with nothing to do. Without --full some rows that
 * stand for the others. With --check a target that is missed ends it with status 1.
 */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/allocator/quota.h"
#include "bench/allocator/situations.h"
#include "bench/allocator/workloads.h"

#define PAIRS_QUICK 50000
#define PAIRS_FULL 200000

struct options {
	bool full;
	const char *only;
	int agents, frameworks; /* 0 = as it comes */
	int pairs;
};

struct size {
	int agents, frameworks;
};

struct bench {
	struct options options;
	struct report report;
	struct meter meter;
};

static struct figures run(struct bench *b, const char *name, int agents, int frameworks)
{
	return situations_run(&b->report, &b->meter, workload_find(name), agents, frameworks,
			      b->options.pairs);
}

static void target_size(struct bench *b, const struct figures *f, int agents, int frameworks,
			double grant_ms)
{
	char row[64];

	snprintf(row, sizeof(row), "decline/%dx%d", agents, frameworks);
	report_target(&b->report, row, "full grant", f->grant_ms, grant_ms, "ms");
	report_target(&b->report, row, "idle cycle", f->idle_us, 50, "us");
	report_target(&b->report, row, "memory of an agent", f->agent_bytes, 1024, "bytes");
}

/* How the cost of an offer may grow: as the logarithm of what grew does. Where there is only
 * time to go by, memory that fits no cache any more may make it half as much again. */
static void target_growth(struct bench *b, const char *what, const struct figures *small,
			  const struct figures *large, double from, double to)
{
	bool counted = isfinite(large->offer_instructions);
	double growth = counted ? large->offer_instructions / small->offer_instructions
				: large->offer_ns / small->offer_ns;

	report_figure(&b->report, what, counted ? "offer_instructions_growth" : "offer_growth",
		      growth, "times", log(to) / log(from));
	report_target(&b->report, what, "growth of the cost of an offer", growth,
		      log(to) / log(from) * (counted ? 1 : 1.5), "times");
}

static void run_quick(struct bench *b)
{
	struct figures idle = run(b, "decline", 1000, 200);
	struct figures half = run(b, "decline", 5000, 1000);
	struct figures ten = run(b, "decline", 10000, 1000);
	struct figures wide = run(b, "decline", 10000, 6000);
	struct figures fifty = run(b, "decline", 50000, 6000);
	struct figures added = run(b, "add_update", 10000, 1000);

	target_size(b, &ten, 10000, 1000, 100);
	target_size(b, &fifty, 50000, 6000, 1000);
	report_figure(&b->report, "decline/1000x200..50000x6000", "idle_growth",
		      fifty.idle_us / idle.idle_us, "times", 1);
	report_target(&b->report, "decline/1000x200..50000x6000", "growth of the idle cycle",
		      fifty.idle_us / idle.idle_us, 2, "times");
	target_growth(b, "decline/5000..10000x1000", &half, &ten, 5000, 10000);
	target_growth(b, "decline/10000x1000..6000", &ten, &wide, 1000, 6000);
	target_growth(b, "decline/10000..50000x6000", &wide, &fifty, 10000, 50000);
	report_target(&b->report, "decline/50000x6000", "a hundredth of the agents changed",
		      fifty.changed_ms, 20, "ms");
	report_target(&b->report, "add_update/10000x1000", "adding agents, with their offers",
		      added.add_agents_ms, 100, "ms");
	for (size_t i = 2; i < workload_count; i++)
		run(b, workloads[i].name, 1000, 200);
}

static void run_matrix(struct bench *b)
{
	static const int agents[] = {1000, 5000, 10000, 20000, 30000, 50000};
	static const int frameworks[] = {1, 50, 100, 200, 500, 1000, 3000, 6000};

	for (size_t w = 0; w < workload_count; w++) {
		for (size_t i = 0; i < sizeof(agents) / sizeof(*agents); i++) {
			for (size_t j = 0; j < sizeof(frameworks) / sizeof(*frameworks); j++)
				run(b, workloads[w].name, agents[i], frameworks[j]);
		}
	}
}

static int usage(void)
{
	fprintf(stderr,
		"usage: bench_allocator [--full] [--json] [--check] [--only=WORKLOAD]\n"
		"                       [--size=AGENTSxFRAMEWORKS] [--pairs=N]\nworkloads:");
	for (size_t i = 0; i < workload_count; i++)
		fprintf(stderr, " %s", workloads[i].name);
	fprintf(stderr, " quota\n");
	return 2;
}

static bool parse_options(struct bench *b, int argc, char **argv)
{
	static const struct option table[] = {
		{"full", no_argument, NULL, 'f'},
		{"json", no_argument, NULL, 'j'},
		{"check", no_argument, NULL, 'c'},
		{"only", required_argument, NULL, 'o'},
		{"size", required_argument, NULL, 's'},
		{"pairs", required_argument, NULL, 'p'},
		{0},
	};
	struct options *o = &b->options;
	int option;

	*o = (struct options){.pairs = PAIRS_QUICK, .agents = 1000, .frameworks = 200};
	while ((option = getopt_long(argc, argv, "", table, NULL)) >= 0) {
		switch (option) {
		case 'f':
			o->full = true;
			o->pairs = PAIRS_FULL;
			break;
		case 'j':
			b->report.json = true;
			break;
		case 'c':
			b->report.check = true;
			break;
		case 'o':
			o->only = optarg;
			break;
		case 's':
			if (sscanf(optarg, "%dx%d", &o->agents, &o->frameworks) != 2)
				return false;
			break;
		case 'p':
			o->pairs = atoi(optarg);
			break;
		default:
			return false;
		}
	}
	return optind == argc && o->agents > 0 && o->frameworks > 0 && o->pairs > 0 &&
	       (!o->only || workload_find(o->only) || strcmp(o->only, "quota") == 0);
}

int main(int argc, char **argv)
{
	struct bench b = {0};

	if (!parse_options(&b, argc, argv))
		return usage();
	meter_open(&b.meter);
	if (b.options.only && strcmp(b.options.only, "quota") != 0)
		run(&b, b.options.only, b.options.agents, b.options.frameworks);
	else if (!b.options.only && b.options.full)
		run_matrix(&b);
	if (!b.options.only)
		run_quick(&b);
	if (!b.options.only || strcmp(b.options.only, "quota") == 0)
		quota_run(&b.report, &b.meter, b.options.full);
	meter_close(&b.meter);
	return b.report.missed > 0;
}
