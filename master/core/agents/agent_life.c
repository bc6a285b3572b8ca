/* The life of an agent in the master, as two tables. A move that is not in the first one is a
 * defect of ours, never of an input: debug builds stop there, others log. */
#include "master/core/agents/agent_life.h"

#include <assert.h>

#include "base/log/log.h"
#include "master/core/journal.h"
#include "master/core/store/registry.h"

/* ---- states -------------------------------------------------------------------- */

static const char *const state_names[AGENT_STATES] = {
	[AGENT_RECOVERED] = "RECOVERED",
	[AGENT_CONNECTED] = "CONNECTED",
	[AGENT_DISCONNECTED] = "DISCONNECTED",
	[AGENT_UNREACHABLE] = "UNREACHABLE",
	[AGENT_GONE] = "GONE",
	[AGENT_REMOVED] = "REMOVED",
};

/* An agent begins as RECOVERED, if only for a moment. One that departed and comes back begins
 * anew; an UNREACHABLE one may be marked GONE, and what was forgotten of both is REMOVED. */
static const bool moves[AGENT_STATES][AGENT_STATES] = {
	[AGENT_RECOVERED] = {[AGENT_CONNECTED] = true,
			     [AGENT_UNREACHABLE] = true,
			     [AGENT_GONE] = true,
			     [AGENT_REMOVED] = true},
	[AGENT_CONNECTED] = {[AGENT_DISCONNECTED] = true,
			     [AGENT_UNREACHABLE] = true,
			     [AGENT_GONE] = true,
			     [AGENT_REMOVED] = true},
	[AGENT_DISCONNECTED] = {[AGENT_CONNECTED] = true,
				[AGENT_UNREACHABLE] = true,
				[AGENT_GONE] = true,
				[AGENT_REMOVED] = true},
	[AGENT_UNREACHABLE] =
		{[AGENT_CONNECTED] = true, [AGENT_GONE] = true, [AGENT_REMOVED] = true},
	[AGENT_GONE] = {[AGENT_REMOVED] = true},
	[AGENT_REMOVED] = {[AGENT_CONNECTED] = true},
};

const char *agent_life_name(enum agent_state state)
{
	return state_names[state];
}

bool agent_may_become(enum agent_state from, enum agent_state to)
{
	return moves[from][to];
}

void agent_life_move(struct master *m, struct agent *a, enum agent_state to)
{
	if (!agent_may_become(a->state, to)) {
		log_error("agent %s may not go from %s to %s", a->id, state_names[a->state],
			  state_names[to]);
		assert(!"forbidden move of an agent");
	}
	m->agents_in[a->state]--;
	a->state = to;
	m->agents_in[to]++;
	journal_agent(m, JOURNAL_AGENT_MOVED, a);
}

/* ---- changes --------------------------------------------------------------------- */

#define BIT(change) (1u << CHANGE_##change)
/* Whoever changes it so is here, and may say the same again. */
#define STAYS (BIT(REREGISTER) | BIT(ORDER) | BIT(DRAINED))
#define LEAVES (BIT(UNREACHABLE) | BIT(UNREGISTER) | BIT(REPLACE) | BIT(EXPEL))

/* What a change does while one of these is being written; it is dropped while another is. */
static const struct {
	unsigned goes, waits, refused;
} rules[AGENT_CHANGES] = {
	/* The agent repeats it. */
	[CHANGE_REREGISTER] = {0},
	[CHANGE_ORDER] = {.waits = STAYS | LEAVES, .refused = BIT(GONE)},
	/* The end of what is being written looks again. */
	[CHANGE_DRAINED] = {0},
	/* An agent that reregisters is reachable. */
	[CHANGE_UNREACHABLE] = {.waits = BIT(ORDER) | BIT(DRAINED)},
	[CHANGE_UNREGISTER] = {.waits = STAYS},
	/* The new agent at its address repeats its registration. */
	[CHANGE_REPLACE] = {0},
	/* The machine is down whatever an agent or another operator says. */
	[CHANGE_EXPEL] = {.goes = STAYS},
	[CHANGE_GONE] = {.goes = STAYS, .refused = LEAVES | BIT(GONE)},
	/* It is looked for again later. */
	[CHANGE_FORGET] = {0},
};

enum agent_change agent_changing(const struct master *m, const char *id)
{
	const struct pending *p = registry_pending(m, id);

	return p ? p->change : CHANGE_NONE;
}

enum agent_verdict agent_ask(const struct master *m, const char *id, enum agent_change asked)
{
	unsigned writing = 1u << agent_changing(m, id);

	if (writing == BIT(NONE) || rules[asked].goes & writing)
		return CHANGE_GOES;
	if (rules[asked].waits & writing)
		return CHANGE_WAITS;
	return rules[asked].refused & writing ? CHANGE_REFUSED : CHANGE_DROPPED;
}

void agent_await(struct agent *a, enum agent_change change)
{
	a->waiting |= 1u << change;
}

bool agent_awaits(const struct agent *a, enum agent_change change)
{
	return a->waiting & 1u << change;
}

void agent_cancel(struct agent *a, enum agent_change change)
{
	a->waiting &= ~(1u << change);
}

enum agent_change agent_take_waiting(const struct master *m, struct agent *a)
{
	static const enum agent_change order[] = {CHANGE_UNREGISTER, CHANGE_UNREACHABLE};

	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		if (!agent_awaits(a, order[i]) || !agent_may_change(m, a->id, order[i]))
			continue;
		agent_cancel(a, order[i]);
		return order[i];
	}
	return CHANGE_NONE;
}
