/* Clients that poll the master without pause while the run goes on, and a probe that shows from
 * outside how long the master's loop stands still: one connection that asks /health every few
 * milliseconds.
 *
 * Both are processes of their own, so that reading megabytes neither delays the schedulers'
 * measurements nor is counted among the run's bytes and CPU time. They poll from
 * pollers_go() to pollers_stop(), and die with the process that made them. */
#ifndef BENCH_LOAD_POLLERS_H
#define BENCH_LOAD_POLLERS_H

#include "bench/load/measure/histogram.h"
#include "bench/load/plan.h"

/* What one of the two processes saw. */
struct poll_figures {
	uint64_t count;	 /* answers of status 200, whole */
	uint64_t failed; /* others, and connections that broke */
	uint64_t bytes;	 /* of bodies */
	int64_t span;	 /* of the polling */
	struct histogram times;
};

struct pollers;

/* Before the process has threads or a loop. `*out` is NULL when the plan has none. */
int pollers_start(const struct plan *plan, struct pollers **out, struct err *err);
void pollers_go(struct pollers *pollers);
/* Ends them and takes their figures; the second time nothing happens. False: one has died. */
bool pollers_stop(struct pollers *pollers);
/* NULL when the plan has none of them. */
const struct poll_figures *pollers_polls(const struct pollers *pollers);
const struct poll_figures *pollers_stalls(const struct pollers *pollers);
void pollers_close(struct pollers *pollers); /* NULL is fine */

/* Whether it names something to poll: "/path" or a call of the operator API. */
bool pollers_target_valid(const char *text);

#endif
