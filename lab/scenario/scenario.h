/* Scenarios: which parts a cluster has, of what character, and what befalls them when.
 * docs/simulation.md describes the text.
 *
 * One line one thing; `#` begins a comment. A line that is not understood is an error with
 * its number: a scenario that is not what was written would prove nothing. */
#ifndef LAB_SCENARIO_SCENARIO_H
#define LAB_SCENARIO_SCENARIO_H

#include "base/err.h"
#include "lab/parts/parts.h"
#include "lab/parts/scheduler_part.h"
#include "lab/scenario/faults.h"
#include "lab/world/numbers.h"

#define SCENARIO_BYTES_MAX (1 << 20)

struct scenario;

/* What a scenario says of the run as a whole; -1 if it does not. */
struct scenario_frame {
	int masters, agents, schedulers;
	int64_t span, fault_every;
};

/* Error: ERR_INVALID, with the line; ERR_IO if it cannot be read. */
int scenario_load(const char *path, struct scenario **out, struct err *err);
int scenario_parse(const char *text, struct scenario **out, struct err *err);
void scenario_free(struct scenario *s);
struct scenario_frame scenario_frame(const struct scenario *s);
/* NULL if it says nothing of the agent. */
const char *scenario_resources(const struct scenario *s, int agent);
/* False if it says nothing of the scheduler. */
bool scenario_character(const struct scenario *s, int number, struct scheduler_traits *out);
size_t scenario_event_count(const struct scenario *s);

/* Its events as they come, those in `only` (NULL = all), numbered from 1 in the order of
 * their lines. */
struct scenario_play {
	const struct scenario *scenario;
	struct faults *faults;
	struct scenario_due *due; /* heap, one an event */
};
void scenario_begin(struct scenario_play *play, const struct scenario *s, struct faults *faults,
		    const struct numbers *only);
/* Those that did not come by now will not. */
void scenario_end(struct scenario_play *play);

#endif
