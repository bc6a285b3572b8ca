/* What may follow what in the lives of the agent, of executors and of containers inside of them. */
#ifndef AGENT_CORE_STATES_H
#define AGENT_CORE_STATES_H

#include "agent/core/objects.h"

const char *agent_state_name(enum agent_state state);
const char *executor_state_name(enum executor_state state);
bool agent_state_follows(enum agent_state from, enum agent_state to);
bool executor_state_follows(enum executor_state from, enum executor_state to);
void agent_set_state(struct agent *agent, enum agent_state to);
void agent_executor_set_state(struct executor *executor, enum executor_state to);
bool nested_state_follows(enum nested_state from, enum nested_state to);
void agent_nested_set_state(struct nested *nested, enum nested_state to);

#endif
