/* The command line of mesita-sim: read, and written again so that it repeats a run. */
#ifndef LAB_COMMAND_H
#define LAB_COMMAND_H

#include "lab/lab.h"

extern const char command_usage[];

struct command {
	struct lab_options lab;
	uint64_t seeds;
	bool log, shrink, soak, bench, coverage, all_moves, help;
	const char *moves_path; /* of a file of transitions, or NULL */
	const char *scenario_path;
	struct scenario *scenario;
	struct numbers only_faults, only_events;
};

/* Prints what is wrong to standard error; the exit status then. */
int command_parse(struct command *c, int argc, char **argv);
/* The command that repeats one seed of it. */
void command_print(const struct command *c, const struct lab_options *lab, struct buf *out);
void command_free(struct command *c);

#endif
