/* What may follow what in the lives of the agent, of executors and of containers inside of them. A
 * move that is not in the table is a defect of ours, never of an input: debug builds stop there,
 * others log. */
#include "agent/core/states.h"

#include <assert.h>

#include "agent/core/objects.h"

static const char *const agent_names[AGENT_STATES] = {
	[STATE_RECOVERING] = "RECOVERING",
	[STATE_DISCONNECTED] = "DISCONNECTED",
	[STATE_RUNNING] = "RUNNING",
	[STATE_TERMINATING] = "TERMINATING",
};

static const bool agent_moves[AGENT_STATES][AGENT_STATES] = {
	[STATE_RECOVERING] = {[STATE_DISCONNECTED] = true, [STATE_TERMINATING] = true},
	[STATE_DISCONNECTED] = {[STATE_RUNNING] = true, [STATE_TERMINATING] = true},
	[STATE_RUNNING] = {[STATE_DISCONNECTED] = true, [STATE_TERMINATING] = true},
};

static const char *const executor_names[EXECUTOR_STATES] = {
	[EXECUTOR_REGISTERING] = "REGISTERING",
	[EXECUTOR_RUNNING] = "RUNNING",
	[EXECUTOR_TERMINATING] = "TERMINATING",
	[EXECUTOR_TERMINATED] = "TERMINATED",
};

static const bool executor_moves[EXECUTOR_STATES][EXECUTOR_STATES] = {
	[EXECUTOR_REGISTERING] = {[EXECUTOR_RUNNING] = true,
				  [EXECUTOR_TERMINATING] = true,
				  [EXECUTOR_TERMINATED] = true},
	[EXECUTOR_RUNNING] = {[EXECUTOR_TERMINATING] = true, [EXECUTOR_TERMINATED] = true},
	[EXECUTOR_TERMINATING] = {[EXECUTOR_TERMINATED] = true},
};

static const bool nested_moves[NESTED_STATES][NESTED_STATES] = {
	[NESTED_RECORDED] = {[NESTED_ASKED] = true, [NESTED_ENDED] = true},
	[NESTED_ASKED] = {[NESTED_RUNNING] = true, [NESTED_ENDED] = true},
	[NESTED_RUNNING] = {[NESTED_ENDED] = true},
	[NESTED_ENDED] = {[NESTED_REMOVING] = true},
};

const char *agent_state_name(enum agent_state state)
{
	return agent_names[state];
}

const char *executor_state_name(enum executor_state state)
{
	return executor_names[state];
}

bool agent_state_follows(enum agent_state from, enum agent_state to)
{
	return agent_moves[from][to];
}

bool executor_state_follows(enum executor_state from, enum executor_state to)
{
	return executor_moves[from][to];
}

void agent_set_state(struct agent *agent, enum agent_state to)
{
	if (agent->state == to)
		return;
	if (!agent_state_follows(agent->state, to)) {
		log_error("Agent may not go from %s to %s", agent_names[agent->state],
			  agent_names[to]);
		assert(!"forbidden move of the agent");
	}
	agent->state = to;
}

void agent_executor_set_state(struct executor *executor, enum executor_state to)
{
	if (executor->state == to)
		return;
	if (!executor_state_follows(executor->state, to)) {
		log_error("Executor '%s' may not go from %s to %s", executor->id,
			  executor_names[executor->state], executor_names[to]);
		assert(!"forbidden move of an executor");
	}
	executor->state = to;
}

bool nested_state_follows(enum nested_state from, enum nested_state to)
{
	return nested_moves[from][to];
}

void agent_nested_set_state(struct nested *nested, enum nested_state to)
{
	if (!nested_state_follows(nested->state, to)) {
		log_error("Container %s may not go from state %d to %d", nested->id, nested->state,
			  to);
		assert(!"forbidden move of a container");
	}
	nested->state = to;
}
