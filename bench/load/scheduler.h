/* A simulated scheduler over the v1 API: subscribes, holds offers, launches what the plan
 * gives it, declines the rest, acknowledges each update, reconciles at the end.
 *
 * Failures: whatever the master refuses, an ERROR event, or a connection that breaks fails
 * the run; TASK_LOST and the like are in the books. */
#ifndef BENCH_LOAD_SCHEDULER_H
#define BENCH_LOAD_SCHEDULER_H

#include "bench/load/load.h"

struct scheduler *scheduler_create(struct load *load, size_t number);
bool scheduler_subscribed(const struct scheduler *scheduler);
const char *scheduler_id(const struct scheduler *scheduler);
/* Uses held offers as far as there is credit, `max` tasks at most. How many were launched. */
int64_t scheduler_launch(struct scheduler *scheduler, int64_t max);
/* Wants no more offers. */
void scheduler_suppress(struct scheduler *scheduler);
/* Asks for all tasks the master knows: there must be none. */
void scheduler_reconcile(struct scheduler *scheduler);
bool scheduler_reconciled(const struct scheduler *scheduler);
void scheduler_teardown(struct scheduler *scheduler);
bool scheduler_torn_down(const struct scheduler *scheduler);
/* Frees itself; its connections do from the loop. */
void scheduler_close(struct scheduler *scheduler);

#endif
