/* The list of actions of a step, and short ways to append to it. */
#include "agent/core/actions.h"

#include <string.h>

#include "agent/core/objects.h"

void agent_actions_init(struct agent_actions *actions)
{
	memset(actions, 0, sizeof(*actions));
	arena_init(&actions->arena);
	actions->reply.text = "";
}

void agent_actions_clear(struct agent_actions *actions)
{
	arena_reset(&actions->arena);
	*actions = (struct agent_actions){.arena = actions->arena,
					  .items = actions->items,
					  .cap = actions->cap,
					  .reply = {.text = ""}};
}

void agent_actions_free(struct agent_actions *actions)
{
	arena_free(&actions->arena);
	free(actions->items);
	memset(actions, 0, sizeof(*actions));
}

struct agent_action *agent_emit(struct agent *agent, enum agent_action_type type)
{
	struct agent_actions *out = agent->out;
	struct agent_action *action;

	if (out->count == out->cap) {
		out->cap = out->cap ? 2 * out->cap : 16;
		out->items = xrealloc(out->items, out->cap * sizeof(*out->items));
	}
	action = &out->items[out->count++];
	memset(action, 0, sizeof(*action));
	action->type = type;
	return action;
}

void agent_send(struct agent *agent, const char *to, void *message)
{
	struct agent_action *action;

	if (!to)
		return;
	action = agent_emit(agent, AGENT_SEND_MESSAGE);
	action->send_message.to = arena_strdup(&agent->out->arena, to);
	action->send_message.message = message;
}

void agent_link(struct agent *agent, enum agent_action_type type, const char *pid)
{
	agent_emit(agent, type)->link.pid = arena_strdup(&agent->out->arena, pid);
}

void agent_send_event(struct agent *agent, uint64_t stream, Mesos__Executor__Event *event)
{
	struct agent_action *action = agent_emit(agent, AGENT_SEND_EVENT);

	action->send_event.stream = stream;
	action->send_event.event = event;
}

void agent_end_stream(struct agent *agent, uint64_t stream)
{
	agent_emit(agent, AGENT_END_STREAM)->end_stream.stream = stream;
}

void agent_emit_exit(struct agent *agent, int status, const char *text)
{
	struct agent_action *action = agent_emit(agent, AGENT_EXIT);

	action->exit.status = status;
	action->exit.text = text;
}

void agent_reply(struct agent *agent, int status, const char *text)
{
	agent->out->reply.status = status;
	agent->out->reply.text = text;
}

Mesos__FrameworkID *agent_framework_id(struct agent *agent, const char *id)
{
	Mesos__FrameworkID *message =
		agent_new(agent, Mesos__FrameworkID, mesos__framework_id__descriptor);

	message->value = arena_strdup(&agent->out->arena, id);
	return message;
}

Mesos__ExecutorID *agent_executor_id(struct agent *agent, const char *id)
{
	Mesos__ExecutorID *message =
		agent_new(agent, Mesos__ExecutorID, mesos__executor_id__descriptor);

	message->value = arena_strdup(&agent->out->arena, id);
	return message;
}

Mesos__TaskID *agent_task_id(struct agent *agent, const char *id)
{
	Mesos__TaskID *message = agent_new(agent, Mesos__TaskID, mesos__task_id__descriptor);

	message->value = arena_strdup(&agent->out->arena, id);
	return message;
}

Mesos__AgentID *agent_own_id(struct agent *agent)
{
	Mesos__AgentID *message = agent_new(agent, Mesos__AgentID, mesos__agent_id__descriptor);

	message->value = arena_strdup(&agent->out->arena, agent_id(agent));
	return message;
}
