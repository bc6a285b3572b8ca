/* What the parts of the simulated scheduler share. */
#ifndef BENCH_LOAD_SCHEDULER_INTERNAL_H
#define BENCH_LOAD_SCHEDULER_INTERNAL_H

#include "base/list.h"
#include "bench/load/schedulers/scheduler.h"

/* An offer not yet used. */
struct held {
	struct list link;
	int64_t time;
	int64_t fits; /* tasks */
	char *id;
	char *agent;
	char text[];
};

struct scheduler;

/* How a scheduler is connected to the master. What it hears goes to scheduler_take_event(). */
struct wire {
	void (*subscribe)(struct scheduler *scheduler);
	/* SUBSCRIBED came: calls are to be sent from now on. */
	void (*connected)(struct scheduler *scheduler);
	void (*send)(struct scheduler *scheduler, Mesos__Scheduler__Call__Type type,
		     const Mesos__Scheduler__Call *call);
	/* Gives up connections that are of no use, before it subscribes anew. */
	void (*hang_up)(struct scheduler *scheduler);
	void (*close)(struct scheduler *scheduler);
};

struct scheduler {
	struct load *load;
	size_t number;
	const struct wire *wire;
	char *id;
	struct list held;
	size_t held_count;
	char *fence;	 /* task id that ends reconciliation; NULL before */
	struct buf body; /* of the call under way */
	/* over HTTP (scheduler_http.c) */
	struct http_client *stream;
	struct calls *calls; /* NULL before SUBSCRIBED */
	char *stream_id;

	int64_t began;	/* a probe: when it subscribed */
	bool connected; /* subscribed; its connections may be lost since */
	bool probe;
	bool probed;	  /* its task has lived and died */
	bool leaving;	  /* asked to be torn down */
	bool lost;	  /* its connections are; not subscribed anew yet */
	bool subscribing; /* anew, and no answer yet */
	bool suppressed;
	bool reconciled;
	bool torn_down;
};

/* -- scheduler.c -- */

/* A connection of it broke. False: that was not in the plan. */
bool scheduler_lost(struct scheduler *scheduler);
void scheduler_take_event(struct scheduler *scheduler, const Mesos__Scheduler__Event *event);

/* -- scheduler_http.c, driver.c -- */

extern const struct wire http_wire;
extern const struct wire driver_wire;

/* -- scheduler_calls.c -- */

int64_t scheduler_offer_fits(const struct plan *plan, const Mesos__Offer *offer);
/* Makes the call for `send`. */
void scheduler_call_subscribe(struct scheduler *scheduler,
			      void (*send)(struct scheduler *scheduler,
					   const Mesos__Scheduler__Call *call));
/* Launches new tasks on the offer and writes them into the books. */
void scheduler_call_accept(struct scheduler *scheduler, const struct held *held, int64_t count);
void scheduler_call_decline(struct scheduler *scheduler, const char *offer_id, double seconds);
void scheduler_call_suppress(struct scheduler *scheduler);
void scheduler_call_acknowledge(struct scheduler *scheduler, const Mesos__TaskStatus *status);
void scheduler_call_kill(struct scheduler *scheduler, const Mesos__TaskStatus *status);
/* A task that runs; the answer comes as an update. */
void scheduler_call_reconcile_one(struct scheduler *scheduler, const Mesos__TaskStatus *status);
/* `task_id` NULL: all tasks. */
void scheduler_call_reconcile(struct scheduler *scheduler, const char *task_id);
void scheduler_call_teardown(struct scheduler *scheduler);

#endif
