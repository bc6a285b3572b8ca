/* Simulated agents: actors slave(1), slave(2).. behind one listening port or several. Each
 * registers as a real agent does, answers pings, and plays its tasks: TASK_RUNNING, after the
 * task's time and that update's acknowledgement TASK_FINISHED, or TASK_KILLED when it is told
 * to, each repeated until it is acknowledged. To a new master they come back with all they run.
 *
 * An agent is some 150 bytes, a task on it another 160 while it lives. Failures: a master that
 * sends an agent away, or a link that breaks outside the plan, fails the run; a task of
 * somebody else's scheduler is left alone and counted. */
#ifndef BENCH_LOAD_AGENTS_H
#define BENCH_LOAD_AGENTS_H

#include "bench/load/load.h"

int fleet_create(struct load *load, struct fleet **out, struct err *err);
/* Begins to register, some at a time. */
void fleet_start(struct fleet *fleet);
uint32_t fleet_registered(const struct fleet *fleet);
uint32_t fleet_running(const struct fleet *fleet); /* tasks */
uint32_t fleet_told(const struct fleet *fleet);	   /* of them, those known to run */
uint64_t fleet_foreign(const struct fleet *fleet); /* messages about others' tasks */
/* Ends some tasks before their time: those of the next agents. */
void fleet_end_runs(struct fleet *fleet, uint32_t max, int64_t now);

/* The master died: agents wait. Then a new one is there: they come back. */
void fleet_lost_master(struct fleet *fleet);
void fleet_return(struct fleet *fleet, int64_t now);
/* Lets those come back whose turn it is by now. */
void fleet_return_more(struct fleet *fleet, int64_t now);
uint32_t fleet_returned(const struct fleet *fleet);

/* Takes every agent out of the master's list. */
void fleet_unregister(struct fleet *fleet);
/* Frees itself from the loop. */
void fleet_close(struct fleet *fleet);

#endif
