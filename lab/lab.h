/* A simulated cluster and its disasters: one run from a seed. */
#ifndef LAB_LAB_H
#define LAB_LAB_H

#include <stdbool.h>
#include <stdint.h>

#include "lab/world.h"

/* Ranges of the options below; memory and time grow with them. */
#define LAB_PARTS_MAX 1000
#define LAB_TASKS_MAX 1000000
#define LAB_MINUTES_MAX 1000000

struct lab_options {
	uint64_t seed;
	int agents, schedulers;
	int tasks;	     /* of each scheduler */
	int64_t span;	     /* ns of virtual time with faults */
	int64_t fault_every; /* ns: mean time between faults; 0 = none */
	bool trace;	     /* to standard output */
};

struct lab_report {
	bool failed;
	char *text; /* heap: what failed and the last decisions; NULL if nothing did */
	uint64_t trace_hash, decisions;
	int64_t virtual_time;
	uint64_t faults[WORLD_FAULTS];
	uint64_t launched, finished, lost;
};

void lab_run(const struct lab_options *options, struct lab_report *report);
void lab_report_free(struct lab_report *report);

#endif
