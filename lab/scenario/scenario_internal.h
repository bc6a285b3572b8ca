/* A scenario, within lab/scenario/.
 *
 *	scenario.c	  what it says of a run, and its events as they come
 *	scenario_text.c	  its lines
 *	scenario_verbs.c  what can happen
 *	scenario_operators.c  what operators can do */
#ifndef LAB_SCENARIO_SCENARIO_INTERNAL_H
#define LAB_SCENARIO_SCENARIO_INTERNAL_H

#include "lab/scenario/scenario.h"

#define SCENARIO_ROLE 64 /* bytes of a role's name */

struct scenario {
	struct scenario_frame frame;
	char **resources;
	int resource_count;
	struct scheduler_traits *characters; /* role: heap */
	int character_count;
	struct scenario_event *events;
	size_t event_count;
};

enum part_kind { PART_MASTER, PART_AGENT, PART_SCHEDULER };

struct part_name {
	enum part_kind kind;
	int number;
};

struct scenario_event {
	const struct verb *verb;
	int64_t when;
	struct part_name part, other;
	int64_t span;
	int count;
	char role[SCENARIO_ROLE];
	double amounts[2];
	char word[16];
};

/* Arguments: P any part, H a host's (master or agent), A an agent, S a scheduler, D a duration,
 * N a number, R a role, F an amount; and then perhaps one of `words`. One of the functions. */
struct verb {
	const char *name, *arguments, *words;
	void (*run)(const struct cluster *c, const struct scenario_event *e);
	void (*operate)(struct operators *o, const struct scenario_event *e);
};
/* NULL: there is none. */
const struct verb *verb_find(const char *name);
/* What follows `operator`. */
const struct verb *operator_verb_find(const char *name);

#endif
