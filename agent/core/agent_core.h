/* Parts of the agent's core that every room may use. */
#ifndef AGENT_CORE_AGENT_CORE_H
#define AGENT_CORE_AGENT_CORE_H

#include "agent/core/objects.h"

void agent_handle_message(struct agent *agent, const char *from, ProtobufCMessage *message);

#endif
