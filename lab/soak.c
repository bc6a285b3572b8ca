#define LAB_SEAMS_REAL_CLOCKS /* how long the runs take */
#include "lab/soak.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "lab/coverage/coverage.h"

#define REPORT_EVERY (MINUTE)
#define BENCH_AGENTS 10
#define BENCH_SCHEDULERS 3
#define BENCH_LIMIT 1000.0 /* cluster-hours a minute */

static volatile sig_atomic_t stopped;

static void on_stop(int number)
{
	stopped = number;
}

static int64_t wall_clock(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return t.tv_sec * SECOND + t.tv_nsec;
}

struct totals {
	uint64_t seeds, launched, faults[WORLD_FAULTS];
	int64_t simulated; /* ns */
	int64_t begin;
};

static void add_up(struct totals *t, const struct lab_report *report)
{
	t->seeds++;
	t->simulated += report->virtual_time;
	t->launched += report->launched;
	for (int i = 0; i < WORLD_FAULTS; i++)
		t->faults[i] += report->faults[i];
}

static void print_totals(const struct totals *t)
{
	double seconds = (double)(wall_clock(CLOCK_MONOTONIC) - t->begin) / SECOND;

	printf("%" PRIu64 " seeds in %.0f s (%.1f a second), %.1f simulated hours, %" PRIu64
	       " tasks; faults:",
	       t->seeds, seconds, (double)t->seeds / seconds, (double)t->simulated / HOUR,
	       t->launched);
	for (int i = 0; i < WORLD_FAULTS; i++)
		printf("%s %s %" PRIu64, i ? "," : "", world_fault_names[i], t->faults[i]);
	printf("\n");
}

/* Of the transitions those that are of interest: not taken by now, or not known. */
static void print_progress(const struct totals *t, const struct coverage *coverage)
{
	print_totals(t);
	coverage_print_faults(coverage, stdout);
	coverage_print_sum(coverage, stdout);
	fflush(stdout);
}

/* Sizes and times vary, by the seed alone: each of them can be repeated. */
static struct lab_options vary(const struct lab_options *base, struct rng *rng)
{
	static const int64_t every[] = {2 * SECOND, 10 * SECOND, 30 * SECOND, 2 * MINUTE};
	struct lab_options o = *base;

	o.agents = 1 + (int)(rng_unit(rng) * 2 * base->agents);
	o.schedulers = 1 + (int)(rng_unit(rng) * 2 * base->schedulers);
	o.tasks = 1 + (int)(rng_unit(rng) * 2 * base->tasks);
	o.span = base->span / 2 + (int64_t)(rng_unit(rng) * (double)base->span);
	o.span -= o.span % SECOND;
	o.fault_every = every[(int)(rng_unit(rng) * 4)];
	return o;
}

int soak_run(struct command *c)
{
	struct lab_options base = c->lab;
	struct totals totals = {.begin = wall_clock(CLOCK_MONOTONIC)};
	int64_t next = totals.begin + REPORT_EVERY;
	bool failed = false;

	signal(SIGINT, on_stop);
	signal(SIGTERM, on_stop);
	for (; !stopped && !failed; base.seed++) {
		struct lab_report report;
		struct rng rng;

		rng_seed(&rng, base.seed);
		c->lab = base.scenario ? base : vary(&base, &rng);
		c->lab.seed = base.seed;
		lab_run(&c->lab, &report);
		add_up(&totals, &report);
		failed = report.failed;
		if (failed) {
			struct buf text = BUF_INIT;

			command_print(c, &c->lab, &text);
			printf("%srepeat it with: %s\n", report.text, text.data);
			buf_free(&text);
		}
		lab_report_free(&report);
		if (wall_clock(CLOCK_MONOTONIC) >= next) {
			print_progress(&totals, base.coverage);
			printf("\n");
			next += REPORT_EVERY;
		}
	}
	print_progress(&totals, base.coverage);
	return failed ? 1 : 0;
}

/* ---- speed ---------------------------------------------------------------------- */

struct load {
	const char *name;
	int64_t span, fault_every;
	int tasks; /* of each scheduler */
	bool at_once;
	double refusal;
	int seeds;
	double limit; /* cluster-hours a minute */
};

static const struct load loads[] = {
	/* All the time there is something to do. */
	{"calm", .span = 12 * HOUR, .tasks = 200, .seeds = 1},
	{"troubled", .span = 12 * HOUR, .fault_every = 10 * MINUTE, .tasks = 200, .seeds = 1,
	 .limit = BENCH_LIMIT},
	/* As many tasks as there is room for from the start, and offers that are refused for the
	 * five seconds that schedulers refuse them for who do not say: the most there can be. */
	{"dense", .span = 12 * HOUR, .fault_every = 10 * MINUTE, .tasks = 200, .at_once = true,
	 .refusal = 5, .seeds = 1},
	{"disasters", .span = 10 * MINUTE, .fault_every = 10 * SECOND, .tasks = 20, .at_once = true,
	 .seeds = 20},
};

static bool soak_measure(const struct command *c, const struct load *load)
{
	struct lab_options o = {.seed = c->lab.seed,
				.agents = BENCH_AGENTS,
				.schedulers = BENCH_SCHEDULERS,
				.tasks = load->tasks,
				.span = load->span,
				.fault_every = load->fault_every,
				.refusal = load->refusal,
				.drivers = c->lab.drivers,
				.unchecked = true,
				.world = c->lab.world};
	struct totals totals = {0};
	int64_t begin = wall_clock(CLOCK_PROCESS_CPUTIME_ID), spent;
	uint64_t faults = 0;
	double minutes, hours;
	bool good = true;

	o.pace = load->at_once ? 0 : (double)o.span / SECOND / o.tasks;
	for (int i = 0; i < load->seeds; i++, o.seed++) {
		struct lab_report report;

		lab_run(&o, &report);
		add_up(&totals, &report);
		good = good && !report.failed;
		if (report.failed)
			fputs(report.text, stdout);
		lab_report_free(&report);
	}
	spent = wall_clock(CLOCK_PROCESS_CPUTIME_ID) - begin;
	minutes = (double)spent / MINUTE;
	hours = (double)totals.simulated / HOUR;
	for (int i = 0; i < WORLD_FAULTS; i++)
		faults += totals.faults[i];
	printf("%-10s %8.1f cluster-hours a minute", load->name, hours / minutes);
	if (load->limit > 0)
		printf(" (limit %.0f)", load->limit);
	printf(", %.0f faults a minute, %.2f seeds a second\n", (double)faults / minutes,
	       (double)totals.seeds / minutes / 60);
	return good && hours / minutes >= load->limit;
}

int soak_bench(struct command *c)
{
	bool good = true;

	printf("A cluster of %d agents and %d schedulers, on one core:\n", BENCH_AGENTS,
	       BENCH_SCHEDULERS);
	for (size_t i = 0; i < sizeof(loads) / sizeof(*loads); i++)
		good &= soak_measure(c, &loads[i]);
	return good ? 0 : 1;
}
