/* A simulated scheduler over the v1 API: subscribes, holds offers, launches what the plan
 * gives it, declines the rest, kills and reconciles as the fate of a task says, acknowledges
 * each update, reconciles all at the end.
 *
 * Failures: whatever the master refuses, an ERROR event, or a connection that breaks fails
 * the run; TASK_LOST and the like are in the books. */
#ifndef BENCH_LOAD_SCHEDULER_H
#define BENCH_LOAD_SCHEDULER_H

#include "bench/load/load.h"

struct scheduler *scheduler_create(struct load *load, size_t number);
/* One that starts one task and kills it once it runs. */
struct scheduler *scheduler_create_probe(struct load *load, size_t number, int64_t now);
bool scheduler_probed(const struct scheduler *scheduler); /* the task was and is over */
/* Subscribes again, with its id, if its connections were lost. */
void scheduler_return(struct scheduler *scheduler);
bool scheduler_subscribed(const struct scheduler *scheduler);
const char *scheduler_id(const struct scheduler *scheduler);
/* Uses held offers as far as there is credit, `max` tasks at most. How many were launched. */
int64_t scheduler_launch(struct scheduler *scheduler, int64_t max);
/* Wants no more offers. */
void scheduler_suppress(struct scheduler *scheduler);
/* Asks for all tasks the master knows: there must be none, or after a failover all. */
void scheduler_reconcile(struct scheduler *scheduler);
bool scheduler_reconciled(const struct scheduler *scheduler);
void scheduler_teardown(struct scheduler *scheduler);
bool scheduler_torn_down(const struct scheduler *scheduler);
/* Frees itself; its connections do from the loop. */
void scheduler_close(struct scheduler *scheduler);

#endif
