/* What the load generator is asked to do: its flags, checked. */
#ifndef BENCH_LOAD_PLAN_H
#define BENCH_LOAD_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/flags/flags.h"

/* Bounds of what one process plays; the books hold 40 bytes a task. */
#define PLAN_AGENTS_MAX 200000
#define PLAN_SCHEDULERS_MAX 2000
#define PLAN_CONNECTIONS_MAX 50000
#define PLAN_TASKS_MAX 20000000
#define PLAN_TASKS_PER_OFFER_MAX 1000
#define PLAN_PROBES_MAX 1000
#define PLAN_STANDBYS_MAX 8

struct plan_address {
	char *host; /* heap */
	int port;
};

struct plan {
	const char *master;
	const char *standbys;
	const char *ip;
	const char *encoding;
	const char *principal, *secret; /* NULL: nobody */
	int64_t agents;
	int64_t connections; /* of the agents */
	double agent_cpus;
	double agent_mem;
	int64_t schedulers;
	bool others; /* their tasks are played, too */
	int64_t tasks;
	int64_t duration;
	int64_t lead;
	double rate;
	int64_t inflight;
	int64_t tasks_per_offer;
	double task_cpus;
	double task_mem;
	int64_t task_length;
	int64_t task_spread;
	bool mix;
	bool waiting;
	int64_t seed;
	int64_t stall;
	int64_t master_pid;
	bool echo;
	bool json;

	/* of the schedulers, so many are drivers of v0 (driver.c) */
	int64_t drivers;

	/* fates of tasks and offers */
	double kill;
	double reconcile;
	double decline;

	/* one more framework on the loaded cluster */
	int64_t probes;
	int64_t probe_after;
	int64_t probe_pause;

	/* tasks that only run, and a master that dies under them */
	bool hold;
	bool failover;
	int64_t reregister_spread;
	bool drain;
	bool cut;
	bool leave;

	/* polling (pollers.h) */
	int64_t pollers;
	const char *poll;
	const char *poll_encoding;
	int64_t poll_lead;   /* 0: from the first launch on */
	int64_t stall_probe; /* 0: none */

	int64_t memory_max; /* MB */

	/* worked out */
	char *host;
	int port;
	struct plan_address standby[PLAN_STANDBYS_MAX];
	size_t standby_count;
	bool as_json;	     /* encoding of the scheduler API */
	char *authorization; /* what --principal says, or NULL */
	bool poll_as_json;
	int64_t fits; /* tasks at a time on one agent */
};

struct plan_flags {
	struct flags flags;
	struct plan plan;
};

/* 0: go ahead. 1: help was printed. Negative: the plan is impossible, `err` says why. */
int plan_parse(struct plan_flags *out, int argc, char **argv, struct err *err);
void plan_free(struct plan_flags *plan);
/* Upper bound of what the run keeps in memory, in bytes. */
double plan_memory(const struct plan *plan);

#endif
