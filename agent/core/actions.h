/* What goes out of a step. */
#ifndef AGENT_CORE_ACTIONS_H
#define AGENT_CORE_ACTIONS_H

#include "agent/core/objects.h"

void agent_send(struct agent *agent, const char *to, void *message);
void agent_link(struct agent *agent, enum agent_action_type type, const char *pid);
void agent_send_event(struct agent *agent, uint64_t stream, Mesos__Executor__Event *event);
void agent_end_stream(struct agent *agent, uint64_t stream);
struct agent_action *agent_emit(struct agent *agent, enum agent_action_type type);
void agent_emit_exit(struct agent *agent, int status, const char *text);
void agent_reply(struct agent *agent, int status, const char *text);
/* Id messages in the step's arena. */
Mesos__FrameworkID *agent_framework_id(struct agent *agent, const char *id);
Mesos__ExecutorID *agent_executor_id(struct agent *agent, const char *id);
Mesos__AgentID *agent_own_id(struct agent *agent);
Mesos__TaskID *agent_task_id(struct agent *agent, const char *id);
#define agent_new(agent, Type, descriptor) PROTO_NEW(&(agent)->out->arena, Type, descriptor)

#endif
