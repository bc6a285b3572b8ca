/* Which transitions of the life cycles in master and agent were taken, over many runs.
 *
 * After each step of a core its objects are looked at, and what has another state than after
 * the step before has gone from the one to the other. Two moves within a step count as one.
 * What may follow what is in the table of coverage.c, which may hold nothing that the cores' own
 * tables of states do not; a move that is not there is shown as such. Counting costs time, so only
 *--soak and --coverage do it.
 *
 *	coverage.c	  the table, counting, printing
 *	coverage_master.c looks into a master, coverage_agent.c into an agent; also for what
 *			  is left there in the end */
#ifndef LAB_COVERAGE_COVERAGE_H
#define LAB_COVERAGE_COVERAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/memory/buf.h"

struct agent;
struct master;
struct coverage;

struct coverage *coverage_create(void);
void coverage_destroy(struct coverage *c); /* NULL too */
/* A new run: all that was seen is of another world. */
void coverage_restart(struct coverage *c);
/* A core begins its life: what its disk gave it is where it starts from. */
void coverage_begin(struct coverage *c, const char *owner);
void coverage_see_master(struct coverage *c, const struct master *master);
void coverage_see_agent(struct coverage *c, const char *owner, const struct agent *agent);
void coverage_print(const struct coverage *c, FILE *out);
void coverage_print_sum(const struct coverage *c, FILE *out); /* a line */
/* Moves taken that are not in the table. */
uint64_t coverage_strange(const struct coverage *c);
/* Those, and the moves of the table that are not rare and were never taken, a line each; how
 * many they are. */
uint64_t coverage_print_faults(const struct coverage *c, FILE *out);
/* What was counted, as text: files of several processes may be put together. Loading adds. */
int coverage_save(const struct coverage *c, const char *path, struct err *err);
int coverage_load(struct coverage *c, const char *path, struct err *err);

/* What a core still has of frameworks that are over, for a failure's report. */
void coverage_left_in_master(const struct master *master, struct buf *out);
/* Besides the auditor's there is a framework whose scheduler died before it heard of it: it is
 * kept, with all that is its own. */
bool coverage_waits_in_master(const struct master *master);
void coverage_left_in_agent(const struct agent *agent, struct buf *out);

/* ---- for the two that look ---------------------------------------------------- */

enum life {
	LIFE_TASK, /* in the master */
	LIFE_OPERATION,
	LIFE_AGENT,
	LIFE_FRAMEWORK,
	LIFE_OFFER,
	LIFE_OWN_AGENT, /* in the agent: itself */
	LIFE_EXECUTOR,
	LIFE_OWN_TASK,
	LIFE_OWN_OPERATION,
	LIVES,
};

/* Whether the core's own table of states has the move. Lives that it has no table of may do
 * anything, and so may what is not there ("-"). */
bool coverage_master_allows(enum life life, const char *from, const char *to);
bool coverage_agent_allows(enum life life, const char *from, const char *to);

/* One look of an owner: begin, see everything, end. */
void coverage_look(struct coverage *c, const char *owner);
void coverage_see(struct coverage *c, enum life life, const char *id, const char *state);
/* `count` objects moved. */
void coverage_count(struct coverage *c, enum life life, const char *from, const char *to,
		    uint64_t count);
void coverage_looked(struct coverage *c);
/* Whether this look is the first of the owner's life: nothing is counted. */
bool coverage_first(const struct coverage *c);
/* Remembers a counter; returns by how much it grew since the last look. */
uint64_t coverage_grown(struct coverage *c, const char *id, uint64_t value);

#endif
