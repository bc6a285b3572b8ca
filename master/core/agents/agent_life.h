/* The life of an agent in the master: the states it goes through, and the changes that must be
 * durable before they happen. At most one change of an agent is being written; what is asked
 * meanwhile goes, waits or is dropped by one table (agent_life.c). */
#ifndef MASTER_CORE_AGENTS_AGENT_LIFE_H
#define MASTER_CORE_AGENTS_AGENT_LIFE_H

#include "master/core/objects.h"

/* What becomes of a change that is asked for. */
enum agent_verdict {
	CHANGE_GOES,	/* now, although something else may be being written */
	CHANGE_WAITS,	/* until what is being written is durable */
	CHANGE_DROPPED, /* what is being written makes it void, or it is asked again */
	CHANGE_REFUSED, /* whoever asked hears that another change is under way */
};

const char *agent_life_name(enum agent_state state);
bool agent_may_become(enum agent_state from, enum agent_state to);
/* Moves the agent to another state and counts it there. AGENT_UNREACHABLE, AGENT_GONE and
 * AGENT_REMOVED are the last one: the caller frees it. */
void agent_life_move(struct master *m, struct agent *a, enum agent_state to);

/* What becomes of the change if it is asked for now. The id may be of an agent that is not here. */
enum agent_verdict agent_ask(const struct master *m, const char *id, enum agent_change asked);
static inline bool agent_may_change(const struct master *m, const char *id, enum agent_change asked)
{
	return agent_ask(m, id, asked) == CHANGE_GOES;
}
/* The change that is being written, the newest if one overtook another. CHANGE_NONE: nothing. */
enum agent_change agent_changing(const struct master *m, const char *id);
/* Keeps a change that CHANGE_WAITS; of each kind there is at most one. */
void agent_await(struct agent *a, enum agent_change change);
bool agent_awaits(const struct agent *a, enum agent_change change);
/* Takes the first change that waited and goes now. CHANGE_NONE: there is none. */
enum agent_change agent_take_waiting(const struct master *m, struct agent *a);
void agent_cancel(struct agent *a, enum agent_change change);

#endif
