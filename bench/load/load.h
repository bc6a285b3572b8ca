/* The load generator: one loop, a fleet of agents, schedulers, the books and a clockwork that
 * takes the run from registration to the end. */
#ifndef BENCH_LOAD_LOAD_H
#define BENCH_LOAD_LOAD_H

#include <uv.h>

#include "base/clock.h"
#include "bench/load/books.h"
#include "bench/load/kernel.h"
#include "bench/load/plan.h"

enum phase {
	PHASE_REGISTERING, /* agents */
	PHASE_SUBSCRIBING, /* schedulers */
	PHASE_LAUNCHING,   /* the plan is carried out */
	PHASE_DRAINING,	   /* all is launched, not all is done */
	PHASE_RECONCILING, /* the master is asked what it still knows */
	PHASE_LEAVING,	   /* teardown, unregistration */
	PHASE_OVER,
};

/* The kernel's figures at one moment. */
struct snapshot {
	int64_t time;
	struct process_figures master;
	struct process_figures own;
	struct socket_figures sockets;
	uint64_t messages;
};

struct fleet;
struct scheduler;

struct load {
	uv_loop_t loop;
	uv_timer_t ticker;
	uv_signal_t interrupt;
	uv_signal_t terminate;
	struct plan plan;
	struct books books;
	struct rng rng;
	struct fleet *fleet;
	struct scheduler **schedulers;
	enum phase phase;
	int64_t phase_began;
	bool failed;

	int64_t launching_since; /* 0 before */
	int64_t stalled_since;	 /* the last sight of progress */
	uint64_t progress;
	int64_t shown; /* last progress line */
	uint32_t done_shown;
	int quiet;   /* ticks without a waiting byte */
	size_t turn; /* the scheduler that is next to get tasks of a rate */

	int master_pid; /* 0: not known, not on this machine */
	struct snapshot before;
	struct snapshot after;
	int64_t registered_in;
};

/* The run is over and has failed. */
void load_fail(struct load *load, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The id of a scheduler, by its number; "" before it has one. */
const char *load_framework_id(const struct load *load, size_t scheduler);
/* How many tasks a scheduler may launch now. */
int64_t load_credit(const struct load *load);

#endif
