/* When a task is to be probed, and what the results mean: the rules of checks and
 * health checks, without clock or I/O. */
#ifndef CLI_EXECUTOR_CHECK_STATE_H
#define CLI_EXECUTOR_CHECK_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/executor/probe.h"
#include "proto/proto.h"

struct check_options {
	bool health; /* a health check: results are healthy or not */
	enum probe_kind kind;
	int64_t delay;	  /* before the first probe */
	int64_t interval; /* from a probe's end to the next one */
	int64_t timeout;  /* of a probe, 0 = none */
	int64_t grace;	  /* health: failures so early do not count */
	uint32_t limit;	  /* health: so many failures in a row mean a kill */
};

struct check_state {
	struct check_options options;
	int64_t started;
	int64_t due; /* the next probe's start; of a running one: its deadline */
	bool probing;
	bool stopped;
	bool passed;	   /* health: once at least */
	uint32_t failures; /* health: in a row */
	bool known;	   /* check: the last probe had a result, */
	int value;	   /* this one */
};

enum check_step { CHECK_WAIT, CHECK_PROBE, CHECK_TIME_OUT };

enum check_verdict {
	CHECK_NO_NEWS,
	CHECK_CHANGED, /* check: `known` and `value` are not what they were */
	CHECK_HEALTHY,
	CHECK_UNHEALTHY,
	CHECK_HOPELESS, /* unhealthy, and to be killed */
};

void check_options_of_check(struct check_options *options, const Mesos__CheckInfo *check);
void check_options_of_health(struct check_options *options, const Mesos__HealthCheck *check);

void check_state_init(struct check_state *s, const struct check_options *options, int64_t now);
/* When check_state_step() has something to say; TIME_NEVER = not before a result. */
int64_t check_state_due(const struct check_state *s);
/* CHECK_PROBE: a probe is to be started, CHECK_TIME_OUT: the running one is to be ended;
 * its result is taken next in either case. */
enum check_step check_state_step(struct check_state *s, int64_t now);
/* Takes the result of the probe. */
enum check_verdict check_state_take(struct check_state *s, int64_t now,
				    const struct probe_result *result);
/* No more probes; a result that still comes is no news. */
void check_state_stop(struct check_state *s);

#endif
