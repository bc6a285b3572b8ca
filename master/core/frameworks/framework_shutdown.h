/* Agents are told of a framework that is over: all that there are, as by Mesos, those that have
 * nothing of it, too. One step tells so many of them at most (options.part). */
#ifndef MASTER_CORE_FRAMEWORKS_FRAMEWORK_SHUTDOWN_H
#define MASTER_CORE_FRAMEWORKS_FRAMEWORK_SHUTDOWN_H

#include "master/core/objects.h"

/* Tells the agent alone. */
void framework_shutdown_tell(struct master *m, struct agent *a, const char *id);
/* Begins to tell every registered agent. */
void framework_shutdown_begin(struct master *m, const char *id);
/* TIMER_SHUTDOWN_PART: tells some more. */
void framework_shutdown_go_on(struct master *m);
/* The agent goes away. */
void framework_shutdown_forget(struct master *m, const struct agent *a);
void framework_shutdown_free(struct master *m);

#endif
