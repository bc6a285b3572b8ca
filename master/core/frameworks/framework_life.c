/* The life of a framework in the master, as a table. A move that is not in it is a defect of
 * ours, never of an input: debug builds stop there, others log. */
#include "master/core/frameworks/framework_life.h"

#include <assert.h>

#include "base/log/log.h"
#include "master/core/journal.h"

static const char *const state_names[FRAMEWORK_STATES] = {
	[FRAMEWORK_RECOVERED] = "RECOVERED",
	[FRAMEWORK_CONNECTED] = "CONNECTED",
	[FRAMEWORK_DISCONNECTED] = "DISCONNECTED",
	[FRAMEWORK_COMPLETED] = "COMPLETED",
};

/* A framework begins as RECOVERED, if only for a moment. A scheduler that fails over takes a
 * CONNECTED one, which stays so. One that was COMPLETED never comes back. */
static const bool moves[FRAMEWORK_STATES][FRAMEWORK_STATES] = {
	[FRAMEWORK_RECOVERED] = {[FRAMEWORK_CONNECTED] = true, [FRAMEWORK_COMPLETED] = true},
	[FRAMEWORK_CONNECTED] = {[FRAMEWORK_CONNECTED] = true,
				 [FRAMEWORK_DISCONNECTED] = true,
				 [FRAMEWORK_COMPLETED] = true},
	[FRAMEWORK_DISCONNECTED] = {[FRAMEWORK_CONNECTED] = true, [FRAMEWORK_COMPLETED] = true},
};

const char *framework_life_name(enum framework_state state)
{
	return state_names[state];
}

bool framework_may_become(enum framework_state from, enum framework_state to)
{
	return moves[from][to];
}

void framework_life_move(struct master *m, struct framework *f, enum framework_state to)
{
	if (!framework_may_become(f->state, to)) {
		log_error("framework %s may not go from %s to %s", f->id, state_names[f->state],
			  state_names[to]);
		assert(!"forbidden move of a framework");
	}
	f->state = to;
	journal_framework(m, JOURNAL_FRAMEWORK_MOVED, f);
}
