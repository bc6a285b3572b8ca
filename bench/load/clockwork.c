/* See clockwork.h: a tick looks whether a phase has come to its end. */
#include "bench/load/load.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/load/agents.h"
#include "bench/load/clockwork.h"
#include "bench/load/report.h"
#include "bench/load/scheduler.h"

#define TICK_MS 5
#define PROGRESS_EVERY SECOND
#define LEAVE_TIMEOUT (10 * SECOND)
#define RECONCILE_TIMEOUT (30 * SECOND)
/* Ticks without a waiting byte after which all was sent. */
#define QUIET_TICKS 4

static void enter(struct load *load, enum phase phase, int64_t now)
{
	load->phase = phase;
	load->phase_began = load->stalled_since = now;
}

static size_t scheduler_count(const struct load *load)
{
	return load->schedulers ? (size_t)load->plan.schedulers : 0;
}

static bool all_schedulers(const struct load *load, bool (*holds)(const struct scheduler *))
{
	for (size_t i = 0; i < scheduler_count(load); i++)
		if (!holds(load->schedulers[i]))
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
	if (load->phase >= PHASE_LEAVING)
		return;
	enter(load, PHASE_LEAVING, now);
	for (size_t i = 0; i < scheduler_count(load); i++)
		scheduler_teardown(load->schedulers[i]);
	fleet_unregister(load->fleet);
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
	return scheduler_id(load->schedulers[scheduler]);
}

/* ---- launching ----------------------------------------------------------------- */

int64_t load_credit(const struct load *load)
{
	const struct plan *plan = &load->plan;
	const struct books *books = &load->books;
	int64_t over = (int64_t)books->done + books->dropped;
	int64_t max = plan->tasks > 0 ? plan->tasks : PLAN_TASKS_MAX;
	int64_t since = clock_now() - load->launching_since;

	if (load->phase != PHASE_LAUNCHING || (plan->duration > 0 && since >= plan->duration))
		return 0;
	if (plan->rate > 0) {
		double due = plan->rate * ((double)since / SECOND);

		if (due < (double)max)
			max = (int64_t)due;
	}
	if (plan->inflight > 0 && max > over + plan->inflight)
		max = over + plan->inflight;
	return max > books->launched ? max - books->launched : 0;
}

static bool all_launched(const struct load *load, int64_t now)
{
	const struct plan *plan = &load->plan;
	int64_t max = plan->tasks > 0 ? plan->tasks : PLAN_TASKS_MAX;

	return load->books.launched >= max ||
	       (plan->duration > 0 && now - load->launching_since >= plan->duration);
}

/* Gives the tasks that are due to the schedulers in turn. */
static void launch(struct load *load)
{
	size_t count = scheduler_count(load), idle = 0;
	int64_t share = load->plan.rate > 0 ? load->plan.tasks_per_offer : INT64_MAX;

	while (idle < count && load_credit(load) > 0) {
		size_t turn = load->turn++ % count;

		idle = scheduler_launch(load->schedulers[turn], share) > 0 ? 0 : idle + 1;
	}
}

/* ---- phases ---------------------------------------------------------------------- */

static void subscribe_all(struct load *load)
{
	load->schedulers = xcalloc((size_t)load->plan.schedulers, sizeof(*load->schedulers));
	for (size_t i = 0; i < (size_t)load->plan.schedulers; i++)
		load->schedulers[i] = scheduler_create(load, i);
}

static void step(struct load *load, int64_t now)
{
	switch (load->phase) {
	case PHASE_REGISTERING:
		if (fleet_registered(load->fleet) < load->plan.agents)
			break;
		load->registered_in = now - load->phase_began;
		enter(load, PHASE_SUBSCRIBING, now);
		subscribe_all(load);
		break;
	case PHASE_SUBSCRIBING:
		if (!all_schedulers(load, scheduler_subscribed))
			break;
		take_snapshot(load, &load->before, now);
		load->launching_since = now;
		enter(load, PHASE_LAUNCHING, now);
		launch(load);
		break;
	case PHASE_LAUNCHING:
		launch(load);
		if (!all_launched(load, now))
			break;
		enter(load, PHASE_DRAINING, now);
		for (size_t i = 0; i < scheduler_count(load); i++)
			scheduler_suppress(load->schedulers[i]);
		break;
	case PHASE_DRAINING:
		if (load->books.done + load->books.dropped < load->books.launched)
			break;
		take_snapshot(load, &load->after, now);
		enter(load, PHASE_RECONCILING, now);
		for (size_t i = 0; i < scheduler_count(load); i++)
			scheduler_reconcile(load->schedulers[i]);
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
	for (size_t i = 0; i < scheduler_count(load); i++)
		scheduler_close(load->schedulers[i]);
	free(load->schedulers);
	load->schedulers = NULL;
	fleet_close(load->fleet);
	uv_close((uv_handle_t *)&load->ticker, NULL);
	uv_close((uv_handle_t *)&load->interrupt, NULL);
	uv_close((uv_handle_t *)&load->terminate, NULL);
}

static bool has_left(struct load *load)
{
	struct socket_figures sockets;

	sockets_read(&sockets);
	load->quiet = sockets.waiting == 0 ? load->quiet + 1 : 0;
	return load->quiet >= QUIET_TICKS && all_schedulers(load, scheduler_torn_down);
}

static void watch_progress(struct load *load, int64_t now)
{
	const struct books *books = &load->books;
	uint64_t progress = fleet_registered(load->fleet) + (uint64_t)books->launched +
			    books->done + books->ended;

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
	int rv;

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
