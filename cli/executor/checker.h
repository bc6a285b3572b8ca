/* Checks and health checks of a command task: probes it when they are due, and tells
 * what has changed. */
#ifndef CLI_EXECUTOR_CHECKER_H
#define CLI_EXECUTOR_CHECKER_H

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

#include "cli/executor/probe.h"
#include "proto/proto.h"

struct checker;

struct checker_handlers {
	/* An update to send: `status` lacks the task's id, and is valid inside the call.
	 * With `kill` the task is to be killed, having been unhealthy too often. */
	void (*update)(void *context, const Mesos__TaskStatus *status, bool kill);
	probe_commander *command; /* runs what is to be probed so; NULL: a process of ours does */
	const char *network;	  /* path of the namespace to probe in; NULL: ours. Outlives it */
};

/* Begins for a task that runs now. NULL if it has no check; the functions below take
 * that. `task` must outlive the checker. */
struct checker *checker_start(uv_loop_t *loop, const Mesos__TaskInfo *task,
			      const struct checker_handlers *handlers, void *context);
/* Offers a child that was reaped. True if it was a probe. */
bool checker_reap(struct checker *checker, pid_t pid, int status);
/* Ends all probes for good: the task is being killed, or over. May be called inside
 * `update`. */
void checker_stop(struct checker *checker);
/* Stops, and frees itself from the loop. */
void checker_close(struct checker *checker);

/* Storage of a status' `check_status`. */
struct check_report {
	Mesos__CheckStatusInfo info;
	Mesos__CheckStatusInfo__Command command;
	Mesos__CheckStatusInfo__Http http;
	Mesos__CheckStatusInfo__Tcp tcp;
};

/* The `check_status` of a task without a result; NULL if it has no check. */
Mesos__CheckStatusInfo *check_report_empty(struct check_report *report,
					   const Mesos__TaskInfo *task);

#endif
