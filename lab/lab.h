/* A simulated cluster and its disasters: one run from a seed. */
#ifndef LAB_LAB_H
#define LAB_LAB_H

#include <stdbool.h>
#include <stdint.h>

#include "lab/world/numbers.h"
#include "lab/world/world.h"

struct coverage;
struct scenario;

/* Ranges of the options below; memory and time grow with them. */
#define LAB_PARTS_MAX 1000
#define LAB_TASKS_MAX 1000000
#define LAB_MASTERS_MAX 5
#define LAB_MINUTES_MAX 1000000
#define LAB_DRIVERS 25 /* by default */
#define LAB_SPAN_MAX (LAB_MINUTES_MAX * MINUTE)

struct lab_options {
	uint64_t seed;
	int masters; /* of which one leads; 0 as 1 */
	int agents, schedulers;
	int tasks;	     /* of each scheduler */
	double pace;	     /* seconds from one of them coming up to the next; 0 = all at once */
	double refusal;	     /* seconds for which offers are refused while tasks run; 0 = usual */
	int64_t span;	     /* ns of virtual time with faults */
	int64_t fault_every; /* ns: mean time between faults; 0 = none */
	bool trace;	     /* to standard output */
	int drivers;	     /* schedulers of a hundred that are drivers of v0 */
	uint64_t steps;	     /* so many with faults, if they come before `span`; 0 = any */
	const struct scenario *scenario; /* or NULL */
	/* Of the random faults, and of the scenario's events, only these; NULL = all. */
	const struct numbers *only_faults, *only_events;
	struct coverage *coverage; /* that counts, or NULL */
	bool unchecked;		   /* the master's sums are not audited after every step */
	/* Told while the run lasts, for a report of a crash; NULL: not. */
	const struct world **world;
};

struct lab_report {
	bool failed;
	char *failure; /* heap: the invariant that does not hold; NULL if all do */
	char *text;    /* heap: that and the last decisions; NULL likewise */
	uint64_t trace_hash, decisions, steps;
	uint64_t begun; /* random faults, with those left out */
	int64_t virtual_time;
	uint64_t faults[WORLD_FAULTS];
	uint64_t launched, finished, lost;
	/* Of several masters: those that led, with what the one before knew, and without; and those
	 * that did not have to read the registry. */
	uint64_t kept, forgotten, cached;
};

void lab_run(const struct lab_options *options, struct lab_report *report);
/* The last decisions, a line each. */
void lab_print_trace(const struct world *w, struct buf *out);
void lab_report_free(struct lab_report *report);

#endif
