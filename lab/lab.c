/* One run: faults for a while, then peace, in which all must come right.
 *
 *	1. faults	schedulers launch, parts die, links break
 *	2. peace	every task launched comes to an end in its scheduler's eyes
 *	3. teardown	frameworks go; nothing is left running
 *	4. audit	a new framework is offered all there is: nothing leaked
 */
#include "lab/lab.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "lab/books/books.h"
#include "lab/coverage/coverage.h"
#include "lab/ensemble/ends.h"
#include "lab/ensemble/ensemble.h"
#include "lab/parts/parts.h"
#include "lab/scenario/faults.h"
#include "lab/scenario/scenario.h"

#define AGENT_RESOURCES "cpus:4;mem:4096;disk:1000;ports:[31000-31999]"
/* Longest way to an end: an agent is away for its restart and registers with a backoff of a
 * minute; it waits for its executors for 15; updates are sent again at ten, and some schedulers
 * forget more than one; and they ask every minute. */
#define AGENT_AWAY (90 * SECOND + MINUTE)
#define EXECUTORS_AWAY (15 * MINUTE)
#define UPDATES_AGAIN (4 * 10 * MINUTE)
#define ASKED_AGAIN (2 * MINUTE)
#define PEACE (AGENT_AWAY + EXECUTORS_AWAY + UPDATES_AGAIN + ASKED_AGAIN)
#define TIDYING (10 * MINUTE)
#define QUIET (3 * MINUTE)
#define TEARDOWN (20 * MINUTE) /* executors give a lost agent up after 15 */
#define AUDIT (5 * MINUTE)

struct lab {
	struct world world;
	const struct lab_options *options;
	struct ensemble ensemble; /* if there are several masters */
	struct master_part *masters[LAB_MASTERS_MAX];
	struct agent_part **agents;
	struct scheduler_part **schedulers;
	struct cluster cluster;
	struct faults faults;
	struct books *books; /* NULL: there are several masters */
	struct ends *ends;   /* if there are */
	struct scenario_play play;
	double cpus, disk; /* of all agents */
	uint64_t steps;
};

/* Whether there are several masters. */
static bool is_shared(const struct lab_options *o)
{
	return o->masters > 1;
}

/* ---- phases -------------------------------------------------------------------------- */

/* Until `reached` holds; false if it does not in time. */
static bool run_until(struct lab *lab, int64_t span, bool (*reached)(const struct lab *lab))
{
	struct world *w = &lab->world;
	int64_t end = w->now + span;

	while (!w->failure) {
		if (reached && reached(lab))
			return true;
		lab->steps++;
		if (!world_step(w, end)) {
			w->now = end;
			return !reached;
		}
	}
	return false;
}

static bool all_done(const struct lab *lab)
{
	for (int i = 0; i < lab->options->schedulers; i++) {
		if (!scheduler_part_gone(lab->schedulers[i]) &&
		    !scheduler_part_done(lab->schedulers[i]))
			return false;
	}
	return true;
}

/* No framework is left, and nothing of one runs. */
static bool all_idle(const struct lab *lab)
{
	for (int i = 0; i < lab->options->schedulers; i++) {
		if (!scheduler_part_gone(lab->schedulers[i]))
			return false;
	}
	for (int i = 0; i < lab->options->agents; i++) {
		if (!agent_part_idle(lab->agents[i]))
			return false;
	}
	return true;
}

/* The last one is the auditor. */
static bool all_offered(const struct lab *lab)
{
	const struct scheduler_part *auditor = lab->schedulers[lab->options->schedulers];

	return fabs(scheduler_part_offered(auditor, "cpus") - lab->cpus) < 1e-6 &&
	       fabs(scheduler_part_offered(auditor, "disk") - lab->disk) < 1e-6;
}

static void describe_open(struct lab *lab, struct buf *out)
{
	for (int i = 0; i < lab->options->schedulers; i++)
		scheduler_part_describe(lab->schedulers[i], out);
}

/* In a minute of peace: pings and heartbeats, updates that are sent again, reconciliation; and
 * of each agent offers, every few seconds, to each scheduler that tidies up. */
static uint64_t quiet_letters(const struct lab_options *o)
{
	uint64_t agents = (uint64_t)o->agents, schedulers = (uint64_t)o->schedulers;

	return 50 + 15 * (agents + schedulers + agents * schedulers);
}

static void make_peace(struct lab *lab)
{
	struct buf open = BUF_INIT;

	faults_end(&lab->faults);
	scenario_end(&lab->play);
	world_log(&lab->world, "peace");
	for (int i = 0; i < lab->options->schedulers; i++)
		scheduler_part_finish(lab->schedulers[i]);
	if (!run_until(lab, PEACE, all_done) && !lab->world.failure) {
		describe_open(lab, &open);
		world_fail(&lab->world, "tasks without an end:\n%s", open.data);
		buf_free(&open);
	}
	world_log(&lab->world, "all tasks are over");
	/* Time to take down the volumes that they had in use. */
	run_until(lab, TIDYING, NULL);
	/* And stays so. */
	if (lab->books)
		books_expect_quiet(lab->books, quiet_letters(lab->options));
	run_until(lab, QUIET, NULL);
	if (lab->books)
		books_expect_quiet(lab->books, 0);
}

static bool all_subscribed(const struct lab *lab)
{
	for (int i = 0; i < lab->options->schedulers; i++) {
		if (!scheduler_part_gone(lab->schedulers[i]) &&
		    !scheduler_part_subscribed(lab->schedulers[i]))
			return false;
	}
	return true;
}

static void lab_tear_down(struct lab *lab)
{
	if (!run_until(lab, TEARDOWN, all_subscribed))
		world_fail(&lab->world, "a scheduler cannot subscribe");
	for (int i = 0; i < lab->options->schedulers; i++)
		scheduler_part_teardown(lab->schedulers[i]);
	if (!run_until(lab, TEARDOWN, all_idle) && !lab->world.failure) {
		struct buf rest = BUF_INIT;

		for (int i = 0; i < lab->options->agents; i++)
			agent_part_describe(lab->agents[i], &rest);
		world_fail(&lab->world, "something still runs:\n%s", rest.data);
		buf_free(&rest);
	}
}

static void lab_audit(struct lab *lab)
{
	struct scheduler_traits options = {
		.number = lab->options->schedulers, .role = "audit", .slowness = 0, .greed = 0};

	struct scheduler_part *auditor;

	/* It declines nothing: `slowness` of on_use is beyond the audit. */
	options.slowness = 1e9;
	auditor = scheduler_part_create(&lab->world, &options);
	lab->schedulers[lab->options->schedulers] = auditor;
	if (!run_until(lab, AUDIT, all_offered))
		world_fail(&lab->world,
			   "%g cpus and %g MB of disk are offered in the end, of %g and %g",
			   scheduler_part_offered(auditor, "cpus"),
			   scheduler_part_offered(auditor, "disk"), lab->cpus, lab->disk);
}

static void describe_left(const struct lab *lab, struct buf *out)
{
	struct master_part *master = cluster_master(&lab->cluster);

	if (master)
		master_part_left(master, out);
	else
		buf_puts(out, " no master acts");
	for (int i = 0; i < lab->options->agents; i++)
		agent_part_left(lab->agents[i], out);
}

static bool nothing_left(const struct lab *lab)
{
	struct buf left = BUF_INIT;
	bool nothing;

	describe_left(lab, &left);
	nothing = left.len == 0;
	buf_free(&left);
	return nothing;
}

static void check_left(struct lab *lab)
{
	const struct master_part *master = cluster_master(&lab->cluster);
	struct buf left = BUF_INIT;

	if (!(master && master_part_waits(master)) && !run_until(lab, TIDYING, nothing_left) &&
	    !lab->world.failure) {
		describe_left(lab, &left);
		world_fail(&lab->world, "leaks: of what is over there is left:%s", left.data);
		buf_free(&left);
	}
	if (lab->books)
		books_check_left(lab->books);
}

/* ---- a run ------------------------------------------------------------------------------- */

#define ROLES 6

static struct scheduler_traits character(struct world *w, int number, const struct lab_options *lab)
{
	/* Some are below others, and one's name begins like another's without that. */
	static const char *const roles[ROLES] = {"a", "b", "b/c", "*", "ab", "b/c/d"};
	int more = (int)world_between(w, 0, 2), at = (int)world_between(w, 0, ROLES - 1);
	/* One that muddles its own books does not know when its volumes are free. */
	bool keeper = world_chance(w, 0.3), mischief = world_chance(w, 0.3);

	return (struct scheduler_traits){
		.number = number,
		.role = roles[at],
		.more_roles = {more > 0 ? roles[(at + 1) % ROLES] : NULL,
			       more > 1 ? roles[(at + 2) % ROLES] : NULL},
		.partition_aware = world_chance(w, 0.5),
		.checkpoint = world_chance(w, 0.7),
		.own_executor = world_chance(w, 0.3),
		.keeper = keeper && !mischief,
		.slowness = world_chance(w, 0.3) ? 20 : 0.1,
		.forgetting = world_chance(w, 0.3) ? 0.3 : 0,
		.greed = world_chance(w, 0.3) ? 0.5 : 0,
		.lateness = world_chance(w, 0.3) ? 0.5 : 0,
		.mischief = mischief ? 0.2 : 0,
		.tasks = lab->tasks,
		.pace = lab->pace,
		.refusal = lab->refusal,
		.names = world_chance(w, 0.7),
		.gentle = world_chance(w, 0.5),
		.failover = world_chance(w, 0.3) ? 20 : 0,
		.desertion = 0.2,
	};
}

/* Whether it launches groups, by random numbers of its own: what else a seed decides is the same.
 */
static void draw_pods(const struct world *w, struct scheduler_traits *o)
{
	struct rng rng;

	rng_seed(&rng, w->seed ^ (uint64_t)(0xb0d00 + o->number));
	o->pods = o->own_executor && !o->driver && !o->keeper && o->mischief == 0 &&
		  rng_unit(&rng) < 0.6;
}

/* By random numbers of its own: what else a seed decides is the same without drivers. */
static void draw_driver(const struct world *w, struct scheduler_traits *o, int share)
{
	struct rng rng;

	rng_seed(&rng, w->seed ^ (uint64_t)(0xd700 + o->number));
	o->driver = 100 * rng_unit(&rng) < share;
	if (!o->driver)
		return;
	o->old = rng_unit(&rng) < 0.5;
	o->implicit = rng_unit(&rng) < 0.4;
	o->fixed = rng_unit(&rng) < 0.3;
	o->unrest = rng_unit(&rng) < 0.6 ? 60 : 0;
	o->plain = rng_unit(&rng) < 0.3;
}

/* Of what resources in one word say of a name. */
static double lab_amount(const char *resources, const char *name)
{
	const char *at = strstr(resources, name);

	return at ? strtod(at + strlen(name), NULL) : 0;
}

static void create_masters(struct lab *lab)
{
	static const char *const lines[STORE_LINES] = {
		[LINE_WARM] = "state that is written behind", [LINE_REGISTRY] = "registry"};
	struct ensemble *e = &lab->ensemble;
	struct world *w = &lab->world;

	if (!is_shared(lab->options)) {
		lab->masters[0] = master_part_create(w, NULL, 0);
		return;
	}
	e->world = w;
	e->keeper = w->keeper = keeper_create(w);
	lab->ends = ends_open(w);
	for (int i = 0; i < STORE_LINES; i++)
		epochs_init(&e->lines[i], w, lines[i], i == LINE_WARM);
	for (int i = 0; i < lab->cluster.master_count; i++)
		lab->masters[i] = master_part_create(w, e, i + 1);
}

static void destroy_masters(struct lab *lab)
{
	for (int i = 0; i < lab->cluster.master_count; i++)
		master_part_destroy(lab->masters[i]);
	if (!is_shared(lab->options))
		return;
	ends_close(lab->ends);
	keeper_destroy(lab->ensemble.keeper);
	for (int i = 0; i < STORE_LINES; i++)
		epochs_free(&lab->ensemble.lines[i]);
	free(lab->ensemble.note);
}

struct master_part *cluster_master(const struct cluster *cluster)
{
	if (cluster->master_count == 1)
		return cluster->masters[0];
	for (int i = 0; i < cluster->master_count; i++) {
		if (master_part_acts(cluster->masters[i]))
			return cluster->masters[i];
	}
	return NULL;
}

static void open_lab(struct lab *lab, const struct lab_options *o)
{
	struct world *w = &lab->world;

	world_init(w, o->seed);
	if (!is_shared(o))
		lab->books = books_open(w);
	lab->cluster.master_count = is_shared(o) ? o->masters : 1;
	w->trace.show = o->trace;
	/* It knows one master, whose next life goes on where the one before ended. */
	w->coverage = is_shared(o) ? NULL : o->coverage;
	w->unchecked = o->unchecked;
	if (w->coverage)
		coverage_restart(w->coverage);
	lab->options = o;
	create_masters(lab);
	lab->agents = xcalloc((size_t)o->agents + 1, sizeof(struct agent_part *));
	lab->schedulers = xcalloc((size_t)o->schedulers + 1, sizeof(struct scheduler_part *));
	for (int i = 0; i < o->agents; i++) {
		const char *resources = o->scenario ? scenario_resources(o->scenario, i) : NULL;

		resources = resources ? resources : AGENT_RESOURCES;
		lab->agents[i] = agent_part_create(w, i, resources);
		lab->cpus += lab_amount(resources, "cpus:");
		lab->disk += lab_amount(resources, "disk:");
	}
	for (int i = 0; i < o->schedulers; i++) {
		struct scheduler_traits options = character(w, i, o);

		draw_driver(w, &options, o->drivers);
		draw_pods(w, &options);
		if (o->scenario)
			scenario_character(o->scenario, i, &options);
		lab->schedulers[i] = scheduler_part_create(w, &options);
	}
	lab->cluster = (struct cluster){
		.world = w,
		.masters = lab->masters,
		.master_count = lab->cluster.master_count,
		.agents = lab->agents,
		.schedulers = lab->schedulers,
		.agent_count = o->agents,
		.scheduler_count = o->schedulers,
	};
}

/* When they are gone, nothing of them may be left in the world. */
static void end_parts(struct lab *lab)
{
	faults_free(&lab->faults);
	for (int i = 0; i <= lab->options->schedulers; i++) {
		if (lab->schedulers[i])
			scheduler_part_destroy(lab->schedulers[i]);
	}
	for (int i = 0; i < lab->options->agents; i++)
		agent_part_destroy(lab->agents[i]);
	destroy_masters(lab);
	if (lab->books)
		books_close(lab->books);
	world_drop_echoes(&lab->world);
	world_check_empty(&lab->world);
}

static void close_lab(struct lab *lab)
{
	world_free(&lab->world);
	free(lab->agents);
	free(lab->schedulers);
}

void lab_print_trace(const struct world *w, struct buf *out)
{
	trace_print(&w->trace, out);
}

static void write_report(struct lab *lab, struct lab_report *report)
{
	struct world *w = &lab->world;

	report->trace_hash = w->trace.hash;
	report->decisions = w->trace.count;
	report->steps = lab->steps;
	report->begun = lab->faults.count;
	report->virtual_time = w->now - w->begin;
	report->kept = lab->ensemble.kept;
	report->forgotten = lab->ensemble.forgotten;
	report->cached = lab->ensemble.cached;
	memcpy(report->faults, w->faults, sizeof(report->faults));
	for (int i = 0; i < lab->options->schedulers; i++) {
		struct scheduler_counts counts = scheduler_part_counts(lab->schedulers[i]);

		report->launched += counts.launched;
		report->finished += counts.finished;
		report->lost += counts.lost;
	}
}

static void write_failure(struct lab *lab, struct lab_report *report)
{
	struct world *w = &lab->world;
	struct buf text = BUF_INIT;

	report->failed = w->failure != NULL;
	if (!w->failure)
		return;
	report->failure = xstrdup(w->failure);
	buf_printf(&text, "seed %llu: %s\nthe last decisions:\n", (unsigned long long)w->seed,
		   w->failure);
	lab_print_trace(w, &text);
	report->text = buf_take(&text);
}

static bool is_left_out(void *context, uint64_t number)
{
	return !numbers_have(context, number);
}

static bool enough_steps(const struct lab *lab)
{
	return lab->options->steps && lab->steps >= lab->options->steps;
}

static void begin_faults(struct lab *lab)
{
	const struct lab_options *o = lab->options;

	if (o->only_faults) {
		lab->faults.skip = is_left_out;
		lab->faults.context = (void *)o->only_faults;
	}
	faults_begin(&lab->faults, &lab->cluster, o->fault_every);
	if (o->scenario)
		scenario_begin(&lab->play, o->scenario, &lab->faults, o->only_events);
}

void lab_run(const struct lab_options *options, struct lab_report *report)
{
	struct lab lab = {0};

	memset(report, 0, sizeof(*report));
	if (options->world)
		*options->world = &lab.world;
	open_lab(&lab, options);
	begin_faults(&lab);
	run_until(&lab, options->span, enough_steps);
	if (!lab.world.failure)
		make_peace(&lab);
	if (!lab.world.failure)
		lab_tear_down(&lab);
	if (!lab.world.failure)
		lab_audit(&lab);
	if (!lab.world.failure)
		check_left(&lab);
	faults_end(&lab.faults);
	scenario_end(&lab.play);
	write_report(&lab, report);
	end_parts(&lab);
	write_failure(&lab, report);
	close_lab(&lab);
	if (options->world)
		*options->world = NULL;
}

void lab_report_free(struct lab_report *report)
{
	free(report->failure);
	free(report->text);
}
