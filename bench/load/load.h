/* The load generator: one loop, a fleet of agents, schedulers, the books and a clockwork that
 * takes the run from registration to the end. */
#ifndef BENCH_LOAD_LOAD_H
#define BENCH_LOAD_LOAD_H

#include <uv.h>

#include "base/time/clock.h"
#include "bench/load/measure/books.h"
#include "bench/load/measure/kernel.h"
#include "bench/load/plan.h"

enum phase {
	PHASE_REGISTERING, /* agents */
	PHASE_SUBSCRIBING, /* schedulers */
	PHASE_LAUNCHING,   /* the plan is carried out */
	PHASE_HOLDING,	   /* all is launched, soon all runs; probes */
	PHASE_WAITING,	   /* for the master to die */
	PHASE_LOST,	   /* it did; for a new one to answer */
	PHASE_RETURNING,   /* agents and schedulers come back to it */
	PHASE_CONFIRMING,  /* it is asked for all tasks */
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

/* The master's memory as the cluster grows. */
struct stages {
	uint64_t idle;
	uint64_t registered;
	uint64_t subscribed;
	uint64_t running; /* the most that was seen since */
	uint32_t most_running;
};

/* Moments of a failover; 0: not come. */
struct failover_figures {
	int64_t broke;
	int64_t found; /* a master with its registry answered */
	int64_t agents;
	int64_t frameworks;
	int64_t all;
	int64_t confirmed;	       /* and told of each task */
	struct process_figures master; /* at `all` */
	uint64_t peak;		       /* at the end of it all */
	/* What crossed the wires between `found` and `all`. */
	uint64_t messages;
	uint64_t bytes;
	uint32_t connections;
	double echo; /* seconds that an echo of as much takes; 0: not measured */
};

struct fleet;
struct scheduler;
struct failover;
struct pollers; /* pollers.h */
struct drivers; /* driver.c */

struct probes {
	struct scheduler *current;
	int64_t next; /* when the next may come; 0: not known yet */
	int64_t done;
	uint32_t tasks; /* launched by them */
	struct histogram waits;
};

struct load {
	uv_loop_t loop;
	uv_timer_t ticker;
	uv_signal_t interrupt;
	uv_signal_t terminate;
	struct plan plan;
	struct tls *tls; /* as the environment says (LIBPROCESS_SSL_ENABLED), or NULL */
	struct books books;
	struct rng rng;
	struct fleet *fleet;
	struct scheduler **schedulers; /* then the probes; NULL: it is over */
	size_t scheduler_count;
	enum phase phase;
	int64_t phase_began;
	bool failed;

	int64_t subscribed;	 /* when all schedulers were; 0 before */
	int64_t launching_since; /* 0 before */
	int64_t stalled_since;	 /* the last sight of progress */
	uint64_t progress;
	int64_t shown; /* last progress line */
	uint32_t done_shown;
	bool unregistered; /* agents, at the end */
	int quiet;	   /* ticks without a waiting byte */
	size_t turn;	   /* the scheduler that is next to get tasks of a rate */

	int master_pid; /* 0: not known, not on this machine */
	struct snapshot before;
	struct snapshot after;
	int64_t registered_in;

	struct stages stages;
	struct probes probes;
	uint32_t ended_runs; /* held tasks that may have been told to end */
	struct failover *failover;
	struct pollers *pollers; /* NULL: the plan has none */
	struct drivers *drivers; /* what all drivers share; NULL: there is none now */
	struct failover_figures failover_figures;
	/* The longest time within a tenth of a second that the master's loop was kept from a
	 * processor, in seconds. */
	double longest_wait;
	double waited_before;
	int64_t sampled;
};

/* The run is over and has failed. */
void load_fail(struct load *load, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The id of a scheduler, by its number; "" before it has one. */
const char *load_framework_id(const struct load *load, size_t scheduler);
/* How many tasks a scheduler may launch now. */
int64_t load_credit(const struct load *load);
/* What is to become of the next task. */
enum fate load_choose_fate(struct load *load);
bool load_choose_decline(struct load *load);
/* A connection broke. False: that was not in the plan. */
bool load_broke(struct load *load);

#endif
