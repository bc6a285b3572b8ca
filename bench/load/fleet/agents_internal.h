/* What the parts of the fleet share: agents.c (registration, wires), runs.c (tasks) and
 * returning.c (a new master). */
#ifndef BENCH_LOAD_AGENTS_INTERNAL_H
#define BENCH_LOAD_AGENTS_INTERNAL_H

#include "base/list.h"
#include "base/time/timer.h"
#include "bench/load/fleet/agent_messages.h"
#include "bench/load/fleet/agents.h"
#include "bench/load/fleet/wires.h"
#include "net/libprocess.h"

/* Registrations at a time: a connection of each of so many agents would hold them back. */
#define FLEET_OUTSTANDING 5000
#define FLEET_REGISTER_AGAIN (10 * SECOND)

enum { TIMER_REGISTER, TIMER_END, TIMER_UPDATE };

struct actor {
	struct timer again; /* registration */
	struct run *runs;   /* tasks on it, by next */
	char *id;	    /* NULL before the master gave one */
	bool returned;	    /* the new master knows it */
};

/* A task on its agent. */
struct run {
	struct timer end;   /* while it runs */
	struct timer again; /* the update that waits for its acknowledgement */
	struct run *next;   /* on its agent, or free */
	struct run **place; /* that which points to it */
	int64_t pause;
	uint32_t agent;
	uint32_t number;
	Mesos__TaskState state;	 /* of the update under way or, if told, acknowledged */
	Mesos__TaskState wanted; /* its end, once that has come */
	bool told;		 /* TASK_RUNNING was acknowledged */
	bool doomed;		 /* it is to be killed */
	uint8_t uuid[UUID_BYTES];
};

struct fleet {
	struct load *load;
	struct wires *wires;
	struct timers timers;
	uv_timer_t alarm;
	uv_prepare_t arm; /* sets the alarm before the loop sleeps */
	char master[PID_MAX];
	struct actor *agents;
	Mesos__FrameworkInfo **frameworks; /* as the master sent them, by scheduler */
	uint32_t asked;
	uint32_t registered;
	uint32_t running; /* tasks */
	uint32_t told;	  /* of them, those whose TASK_RUNNING was acknowledged */
	uint32_t ending;  /* agents whose tasks were told to end */
	uint64_t foreign;
	struct run *free_runs;
	struct buf body;
	bool leaving;
	int open_handles;

	/* a new master */
	bool returning;
	int64_t returning_since;
	uint32_t asked_back;
	uint32_t returned;
};

/* Sends `body` as the agent. */
void fleet_send(struct fleet *fleet, uint32_t agent, const char *to, const char *name);

/* -- runs.c -- */

void fleet_run(struct fleet *fleet, uint32_t agent, const struct agent_order *order, int64_t now);
void fleet_kill(struct fleet *fleet, const char *task_id, int64_t now);
void fleet_acknowledged(struct fleet *fleet, const struct agent_order *order, int64_t now);
void fleet_run_over(struct fleet *fleet, struct run *run, int64_t now);
void fleet_update_again(struct fleet *fleet, struct run *run, int64_t now);
void fleet_free_runs(struct fleet *fleet);

/* -- returning.c -- */

void fleet_ask_back(struct fleet *fleet, uint32_t agent, int64_t now);
void fleet_returned_one(struct fleet *fleet, uint32_t agent, const struct agent_order *order,
			int64_t now);

#endif
