/* See clockwork.h: a tick looks whether a phase has come to its end. */
#include "bench/load/load.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/load/clockwork.h"
#include "bench/load/failover.h"
#include "bench/load/fleet/agents.h"
#include "bench/load/measure/pollers.h"
#include "bench/load/measure/report.h"
#include "bench/load/schedulers/probe.h"
#include "bench/load/schedulers/scheduler.h"

#define TICK_MS 5
#define PROGRESS_EVERY SECOND
#define END_AT_A_TIME 2000
#define SAMPLE_EVERY (100 * MILLISECOND)
#define LEAVE_TIMEOUT (10 * SECOND)
#define RECONCILE_TIMEOUT (30 * SECOND)
/* Ticks without a waiting byte after which all was sent. */
#define QUIET_TICKS 4

static void enter(struct load *load, enum phase phase, int64_t now)
{
	load->phase = phase;
	load->phase_began = load->stalled_since = now;
}

/* A probe that is over has left its place. */
static void each_scheduler(struct load *load, void (*tell)(struct scheduler *))
{
	for (size_t i = 0; i < load->scheduler_count; i++)
		if (load->schedulers[i])
			tell(load->schedulers[i]);
}

static bool all_schedulers(const struct load *load, bool (*holds)(const struct scheduler *))
{
	for (size_t i = 0; i < load->scheduler_count; i++)
		if (load->schedulers[i] && !holds(load->schedulers[i]))
			return false;
	return true;
}

static void take_snapshot(struct load *load, struct snapshot *out, int64_t now)
{
	const struct books *books = &load->books;

	out->time = now;
	process_read(load->master_pid, &out->master);
	process_read((int)getpid(), &out->own);
	sockets_read(&out->sockets);
	out->messages = books->calls + books->events + books->to_agents + books->from_agents;
}

static void leave(struct load *load, int64_t now)
{
	struct process_figures last;

	if (load->phase >= PHASE_LEAVING)
		return;
	enter(load, PHASE_LEAVING, now);
	process_read(load->master_pid, &last);
	load->failover_figures.peak = last.peak;
	if (load->plan.leave)
		each_scheduler(load, scheduler_teardown);
}

void load_fail(struct load *load, const char *format, ...)
{
	va_list args;

	if (load->failed || load->phase >= PHASE_LEAVING)
		return;
	load->failed = true;
	fputs("bench_load: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	/* The next tick leaves; whoever calls is in the midst of something. */
}

const char *load_framework_id(const struct load *load, size_t scheduler)
{
	return load->schedulers[scheduler] ? scheduler_id(load->schedulers[scheduler]) : "";
}

enum fate load_choose_fate(struct load *load)
{
	double draw = rng_unit(&load->rng);

	if (draw < load->plan.kill)
		return FATE_KILL;
	return draw < load->plan.kill + load->plan.reconcile ? FATE_RECONCILE : FATE_END;
}

bool load_choose_decline(struct load *load)
{
	return load->plan.decline > 0 && rng_unit(&load->rng) < load->plan.decline;
}

bool load_broke(struct load *load)
{
	if (load->phase != PHASE_WAITING && load->phase != PHASE_LOST &&
	    load->phase != PHASE_RETURNING)
		return false;
	if (load->phase == PHASE_WAITING) {
		int64_t now = clock_now();

		enter(load, PHASE_LOST, now);
		failover_begin(load->failover, now);
	}
	return true;
}

/* ---- launching ----------------------------------------------------------------- */

static int64_t tasks_wanted(const struct plan *plan)
{
	return plan->tasks > 0 ? plan->tasks : PLAN_TASKS_MAX;
}

/* While probes come the load goes on. */
static bool time_is_up(const struct load *load, int64_t since)
{
	return load->plan.duration > 0 && since >= load->plan.duration && probes_over(load);
}

int64_t load_credit(const struct load *load)
{
	const struct plan *plan = &load->plan;
	const struct books *books = &load->books;
	int64_t launched = (int64_t)books->launched - load->probes.tasks;
	/* No longer under way; tasks that are held or live long are not once they run. */
	int64_t over = plan->hold || plan->mix ? (int64_t)books->running : (int64_t)books->done;
	int64_t since = clock_now() - load->launching_since, max = tasks_wanted(plan);

	over += books->dropped;
	if (load->phase != PHASE_LAUNCHING || time_is_up(load, since))
		return 0;
	if (plan->rate > 0) {
		double due = plan->rate * ((double)since / SECOND);

		if (due < (double)max)
			max = (int64_t)due;
	}
	if (plan->inflight > 0 && max > over + plan->inflight)
		max = over + plan->inflight;
	return max > launched ? max - launched : 0;
}

static bool all_launched(const struct load *load, int64_t now)
{
	return (int64_t)load->books.launched - load->probes.tasks >= tasks_wanted(&load->plan) ||
	       time_is_up(load, now - load->launching_since);
}

/* Gives the tasks that are due to the schedulers in turn. */
static void launch(struct load *load)
{
	size_t count = (size_t)load->plan.schedulers, idle = 0;
	int64_t share = load->plan.rate > 0 ? load->plan.tasks_per_offer : INT64_MAX;

	while (idle < count && load_credit(load) > 0) {
		size_t turn = load->turn++ % count;

		idle = scheduler_launch(load->schedulers[turn], share) > 0 ? 0 : idle + 1;
	}
}

/* ---- samples ---------------------------------------------------------------------- */

/* The master as the kernel sees it now and then, for what only a moment shows. */
static void sample(struct load *load, int64_t now)
{
	struct process_figures master;
	uint32_t running = fleet_running(load->fleet);

	load->sampled = now;
	process_read(load->master_pid, &master);
	/* One that was killed has no memory any more. */
	if (!master.known || master.rss == 0)
		return;
	if (running >= load->stages.most_running && load->failover_figures.broke == 0) {
		load->stages.most_running = running;
		load->stages.running = master.rss;
	}
	if (load->before.time > 0 && load->after.time == 0) {
		if (master.waited - load->waited_before > load->longest_wait)
			load->longest_wait = master.waited - load->waited_before;
	}
	load->waited_before = master.waited;
}

/* ---- phases ---------------------------------------------------------------------- */

static void subscribe_all(struct load *load)
{
	size_t count = (size_t)load->plan.schedulers;

	load->schedulers = xcalloc(count + (size_t)load->plan.probes, sizeof(*load->schedulers));
	for (; load->scheduler_count < count; load->scheduler_count++)
		load->schedulers[load->scheduler_count] =
			scheduler_create(load, load->scheduler_count);
}

static void begin_launching(struct load *load, int64_t now)
{
	take_snapshot(load, &load->before, now);
	load->stages.subscribed = load->before.master.rss;
	load->waited_before = load->before.master.waited;
	load->launching_since = now;
	if (!load->plan.poll_lead)
		pollers_go(load->pollers);
	enter(load, PHASE_LAUNCHING, now);
	launch(load);
}

static void end_measuring(struct load *load, int64_t now)
{
	take_snapshot(load, &load->after, now);
	if (!pollers_stop(load->pollers))
		load_fail(load, "a process that polls the master has died");
}

static bool all_answered(const struct load *load)
{
	return load->books.answered >= load->books.reconciled;
}

static void reconcile(struct load *load, enum phase phase, int64_t now)
{
	enter(load, phase, now);
	each_scheduler(load, scheduler_reconcile);
}

static void end_launching(struct load *load, int64_t now)
{
	if (!load->plan.hold && !load->plan.drain) {
		end_measuring(load, now);
		leave(load, now);
		return;
	}
	enter(load, load->plan.hold ? PHASE_HOLDING : PHASE_DRAINING, now);
	if (!load->plan.hold || probes_over(load))
		each_scheduler(load, scheduler_suppress);
}

/* Held tasks have served. */
static void end_holding(struct load *load, int64_t now)
{
	if (load->plan.drain && !load->failed)
		enter(load, PHASE_DRAINING, now);
	else
		leave(load, now);
}

static void step_holding(struct load *load, int64_t now)
{
	const struct books *books = &load->books;

	if (load->after.time == 0) {
		if (fleet_told(load->fleet) + books->dropped < books->launched ||
		    !all_answered(load))
			return;
		each_scheduler(load, scheduler_suppress);
		end_measuring(load, now);
		load->stages.most_running = fleet_running(load->fleet);
		load->stages.running = load->after.master.rss;
	}
	probe_step(load, now);
	if (!probes_over(load))
		return;
	if (!load->plan.failover) {
		end_holding(load, now);
		return;
	}
	load->failover = failover_create(load);
	enter(load, PHASE_WAITING, now);
	failover_announce();
}

static void step_failover(struct load *load, int64_t now)
{
	switch (load->phase) {
	case PHASE_LOST:
		failover_look(load->failover, now);
		if (failover_found(load->failover))
			enter(load, PHASE_RETURNING, now);
		break;
	case PHASE_RETURNING:
		failover_return(load->failover, now);
		if (failover_complete(load->failover, now))
			reconcile(load, PHASE_CONFIRMING, now);
		break;
	case PHASE_CONFIRMING:
		if (!all_schedulers(load, scheduler_reconciled))
			break;
		load->failover_figures.confirmed = now;
		failover_check(load);
		end_holding(load, now);
		break;
	default:
		break;
	}
}

static void step_draining(struct load *load, int64_t now)
{
	const struct books *books = &load->books;
	uint32_t over = books->done + books->dropped;

	/* What is held or cut ends some at a time: nobody measures how long ends can queue. */
	if ((load->plan.hold || load->plan.cut) && load->ended_runs < over + END_AT_A_TIME) {
		fleet_end_runs(load->fleet, END_AT_A_TIME, now);
		load->ended_runs += END_AT_A_TIME;
	}
	if (over < books->launched || !all_answered(load))
		return;
	if (load->after.time == 0)
		end_measuring(load, now);
	reconcile(load, PHASE_RECONCILING, now);
}

static void step(struct load *load, int64_t now)
{
	switch (load->phase) {
	case PHASE_REGISTERING:
		if (fleet_registered(load->fleet) < load->plan.agents)
			break;
		load->registered_in = now - load->phase_began;
		sample(load, now);
		load->stages.registered = load->stages.running;
		enter(load, PHASE_SUBSCRIBING, now);
		subscribe_all(load);
		break;
	case PHASE_SUBSCRIBING:
		if (!all_schedulers(load, scheduler_subscribed))
			break;
		if (load->subscribed == 0)
			load->subscribed = now;
		if (now - load->subscribed >= load->plan.lead)
			begin_launching(load, now);
		break;
	case PHASE_LAUNCHING:
		launch(load);
		if (!load->plan.hold)
			probe_step(load, now);
		if (all_launched(load, now) && (load->plan.hold || probes_over(load)))
			end_launching(load, now);
		break;
	case PHASE_HOLDING:
		step_holding(load, now);
		break;
	case PHASE_WAITING:
	case PHASE_LOST:
	case PHASE_RETURNING:
	case PHASE_CONFIRMING:
		step_failover(load, now);
		break;
	case PHASE_DRAINING:
		step_draining(load, now);
		break;
	case PHASE_RECONCILING:
		if (all_schedulers(load, scheduler_reconciled))
			leave(load, now);
		else if (now - load->phase_began > RECONCILE_TIMEOUT)
			load_fail(load, "the master does not answer to reconciliation");
		break;
	case PHASE_LEAVING:
	case PHASE_OVER:
		break;
	}
}

static void close_all(struct load *load)
{
	load->phase = PHASE_OVER;
	failover_close(load->failover);
	each_scheduler(load, scheduler_close);
	load->scheduler_count = 0;
	free(load->schedulers);
	load->schedulers = NULL;
	fleet_close(load->fleet);
	uv_close((uv_handle_t *)&load->ticker, NULL);
	uv_close((uv_handle_t *)&load->interrupt, NULL);
	uv_close((uv_handle_t *)&load->terminate, NULL);
}

/* Frameworks first: each that is left hears of each agent that goes. */
static bool has_left(struct load *load)
{
	struct socket_figures sockets;

	if (!load->plan.leave)
		return true;
	if (!all_schedulers(load, scheduler_torn_down))
		return false;
	if (!load->unregistered)
		fleet_unregister(load->fleet);
	load->unregistered = true;
	sockets_read(&sockets);
	load->quiet = sockets.waiting == 0 ? load->quiet + 1 : 0;
	return load->quiet >= QUIET_TICKS;
}

static void watch_progress(struct load *load, int64_t now)
{
	const struct books *books = &load->books;
	uint64_t progress = fleet_registered(load->fleet) + (uint64_t)books->launched +
			    books->done + books->ended + books->running + books->confirmed +
			    fleet_returned(load->fleet) + load->probes.waits.count;

	if (progress != load->progress)
		load->stalled_since = now;
	load->progress = progress;
	if (now - load->stalled_since < load->plan.stall || load->failed)
		return;
	if (load->phase == PHASE_LAUNCHING && books->done + books->dropped == books->launched)
		load_fail(load, "no more offers came for %.0f s",
			  (double)load->plan.stall / SECOND);
	else
		load_fail(load, "nothing has moved for %.0f s", (double)load->plan.stall / SECOND);
	if (load->phase >= PHASE_LAUNCHING)
		books_show_missing(books);
	else
		fprintf(stderr, "bench_load: %u of %ld agents are registered\n",
			fleet_registered(load->fleet), (long)load->plan.agents);
}

static void tick_cb(uv_timer_t *ticker)
{
	struct load *load = ticker->data;
	int64_t now = clock_now();

	if (load->phase < PHASE_LEAVING) {
		step(load, now);
		watch_progress(load, now);
	}
	if (load->failed || load->books.violations > BOOKS_VIOLATIONS_SHOWN)
		leave(load, now);
	if (now - load->sampled >= SAMPLE_EVERY)
		sample(load, now);
	if (now - load->shown >= PROGRESS_EVERY)
		report_progress(load, now);
	if (load->phase == PHASE_LEAVING &&
	    (has_left(load) || now - load->phase_began > LEAVE_TIMEOUT))
		close_all(load);
}

static void signal_cb(uv_signal_t *handle, int number)
{
	load_fail(handle->data, "ended by %s", strsignal(number));
}

/* ---- life ------------------------------------------------------------------------ */

int load_run(struct load *load, struct err *err)
{
	uint64_t tag = rng_entropy();
	int rv = pollers_start(&load->plan, &load->pollers, err);

	if (rv < 0)
		return rv;
	if (load->plan.poll_lead) {
		pollers_go(load->pollers);
		uv_sleep((unsigned)(load->plan.poll_lead / MILLISECOND));
	}
	uv_loop_init(&load->loop);
	rng_seed(&load->rng, (uint64_t)load->plan.seed);
	/* Not from the seed: two runs against one master have different tasks. */
	books_open(&load->books, tag);
	uv_timer_init(&load->loop, &load->ticker);
	uv_signal_init(&load->loop, &load->interrupt);
	uv_signal_init(&load->loop, &load->terminate);
	load->ticker.data = load->interrupt.data = load->terminate.data = load;
	uv_signal_start(&load->interrupt, signal_cb, SIGINT);
	uv_signal_start(&load->terminate, signal_cb, SIGTERM);
	load->master_pid =
		load->plan.master_pid ? (int)load->plan.master_pid : process_find(load->plan.port);
	process_read(load->master_pid, &load->before.master);
	load->stages.idle = load->before.master.rss;
	load->shown = clock_now();
	enter(load, PHASE_REGISTERING, load->shown);
	rv = fleet_create(load, &load->fleet, err);
	if (rv == 0) {
		fleet_start(load->fleet);
		uv_timer_start(&load->ticker, tick_cb, TICK_MS, TICK_MS);
	} else {
		close_all(load);
	}
	uv_run(&load->loop, UV_RUN_DEFAULT);
	uv_loop_close(&load->loop);
	if (rv < 0)
		return rv;
	return load->failed || load->books.violations > 0
		       ? err_set(err, ERR_STATE, "the run has failed")
		       : 0;
}
