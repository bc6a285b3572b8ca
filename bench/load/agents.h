/* Simulated agents: actors slave(1), slave(2).. behind one listening port or several. Each
 * registers as a real agent does, answers pings, and plays its tasks: TASK_RUNNING, after the
 * task's time and that update's acknowledgement TASK_FINISHED, each repeated until it is
 * acknowledged.
 *
 * An agent is some 100 bytes, a task on it another 120 while it lives. Failures: a master that
 * sends an agent away, or a broken link, fails the run; a task of somebody else's scheduler
 * is left alone and counted. */
#ifndef BENCH_LOAD_AGENTS_H
#define BENCH_LOAD_AGENTS_H

#include "bench/load/load.h"

int fleet_create(struct load *load, struct fleet **out, struct err *err);
/* Begins to register, some at a time. */
void fleet_start(struct fleet *fleet);
uint32_t fleet_registered(const struct fleet *fleet);
uint32_t fleet_running(const struct fleet *fleet); /* tasks */
uint64_t fleet_foreign(const struct fleet *fleet); /* messages about others' tasks */
/* Takes every agent out of the master's list. */
void fleet_unregister(struct fleet *fleet);
/* Frees itself from the loop. */
void fleet_close(struct fleet *fleet);

#endif
