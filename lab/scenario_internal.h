/* A scenario, within lab/scenario*.c.
 *
 *	scenario.c	  what it says of a run, and its events as they come
 *	scenario_text.c	  its lines
 *	scenario_verbs.c  what can happen */
#ifndef LAB_SCENARIO_INTERNAL_H
#define LAB_SCENARIO_INTERNAL_H

#include "lab/scenario.h"

struct scenario {
	struct scenario_frame frame;
	char **resources;
	int resource_count;
	struct scheduler_options *characters; /* role: heap */
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
	char word[16];
};

/* Arguments: P any part, H a host's (master or agent), S a scheduler, D a duration, N a number,
 * and then perhaps one of `words`. */
struct verb {
	const char *name, *arguments, *words;
	void (*run)(const struct cluster *c, const struct scenario_event *e);
};
/* NULL: there is none. */
const struct verb *verb_find(const char *name);

#endif
