#include "agent/http/api_containers.h"

#include <stdlib.h>

#include "agent/http/api_operator.h"
#include "agent/http/sessions.h"
#include "net/daemon/audit.h"

struct container_request {
	UT_hash_handle hh;
	uint64_t number;
	struct http_request *request;
};

/* ---- who may --------------------------------------------------------------------------- */

#define NONE ACL_ACTIONS

static const struct {
	Mesos__Agent__Call__Type type;
	size_t field; /* of the sub-message, which begins with the container's id */
	struct container_rule rule;
} rules[] = {
#define RULE(name, member, ...)                                                                    \
	{                                                                                          \
		MESOS__AGENT__CALL__TYPE__##name, offsetof(Mesos__Agent__Call, member),            \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
	RULE(LAUNCH_NESTED_CONTAINER, launch_nested_container, ACL_LAUNCH_NESTED_CONTAINER_UNDER,
	     ACL_LAUNCH_NESTED_CONTAINER_AS, ACL_LAUNCH_STANDALONE_CONTAINER),
	RULE(LAUNCH_CONTAINER, launch_container, ACL_LAUNCH_NESTED_CONTAINER_UNDER,
	     ACL_LAUNCH_NESTED_CONTAINER_AS, ACL_LAUNCH_STANDALONE_CONTAINER),
	RULE(LAUNCH_NESTED_CONTAINER_SESSION, launch_nested_container_session,
	     ACL_LAUNCH_SESSION_UNDER, ACL_LAUNCH_SESSION_AS, NONE),
	RULE(WAIT_NESTED_CONTAINER, wait_nested_container, ACL_WAIT_NESTED_CONTAINER, NONE,
	     ACL_WAIT_STANDALONE_CONTAINER),
	RULE(WAIT_CONTAINER, wait_container, ACL_WAIT_NESTED_CONTAINER, NONE,
	     ACL_WAIT_STANDALONE_CONTAINER),
	RULE(KILL_NESTED_CONTAINER, kill_nested_container, ACL_KILL_NESTED_CONTAINER, NONE,
	     ACL_KILL_STANDALONE_CONTAINER),
	RULE(KILL_CONTAINER, kill_container, ACL_KILL_NESTED_CONTAINER, NONE,
	     ACL_KILL_STANDALONE_CONTAINER),
	RULE(REMOVE_NESTED_CONTAINER, remove_nested_container, ACL_REMOVE_NESTED_CONTAINER, NONE,
	     ACL_REMOVE_STANDALONE_CONTAINER),
	RULE(REMOVE_CONTAINER, remove_container, ACL_REMOVE_NESTED_CONTAINER, NONE,
	     ACL_REMOVE_STANDALONE_CONTAINER),
	RULE(ATTACH_CONTAINER_INPUT, attach_container_input, ACL_ATTACH_INPUT, NONE, NONE),
	RULE(ATTACH_CONTAINER_OUTPUT, attach_container_output, ACL_ATTACH_OUTPUT, NONE, NONE),
#undef RULE
};

static const Mesos__CommandInfo *command_of(const Mesos__Agent__Call *call)
{
	switch (call->type) {
	case MESOS__AGENT__CALL__TYPE__LAUNCH_CONTAINER:
		return call->launch_container->command;
	case MESOS__AGENT__CALL__TYPE__LAUNCH_NESTED_CONTAINER:
		return call->launch_nested_container->command;
	case MESOS__AGENT__CALL__TYPE__LAUNCH_NESTED_CONTAINER_SESSION:
		return call->launch_nested_container_session->command;
	default:
		return NULL;
	}
}

/* The id is the first field of each such sub-message. */
static const Mesos__ContainerID *id_of(const Mesos__Agent__Call *call, size_t field)
{
	/* There the type is the first. */
	if (call->type == MESOS__AGENT__CALL__TYPE__ATTACH_CONTAINER_INPUT)
		return call->attach_container_input->container_id;
	return (*(Mesos__Agent__Call__WaitContainer **)((char *)call + field))->container_id;
}

bool agent_container_allowed(struct agent_shell *shell, const struct http_request *request,
			     const Mesos__Agent__Call *call)
{
	struct agent_view view = agent_shell_view(shell, request);
	const Mesos__CommandInfo *command = command_of(call);

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		const Mesos__ContainerID *id;

		if (rules[i].type != call->type)
			continue;
		id = id_of(call, rules[i].field);
		while (id->parent)
			id = id->parent;
		return agent_view_handles(&view, request->claims, id->value, &rules[i].rule,
					  command ? command->user : NULL);
	}
	return false;
}

/* ---- calls and answers ------------------------------------------------------------------- */

void agent_container_call(struct agent_shell *shell, struct http_request *request,
			  const Mesos__Agent__Call *call)
{
	struct container_requests *requests = &shell->container_requests;
	struct agent_event event = {.type = AGENT_CONTAINER_CALL};
	struct container_request *waiting;

	if (!agent_container_allowed(shell, request, call)) {
		audit_change(request, request->path, "", 403);
		http_reply_text(request, 403, NULL);
		return;
	}
	waiting = xcalloc(1, sizeof(*waiting));
	waiting->number = ++requests->last;
	waiting->request = request;
	HASH_ADD(hh, requests->table, number, sizeof(waiting->number), waiting);
	event.container_call.number = waiting->number;
	event.container_call.call = (Mesos__Agent__Call *)call;
	agent_shell_step(shell, &event);
}

void agent_container_answer(struct agent_shell *shell, const struct agent_action *action)
{
	struct container_requests *requests = &shell->container_requests;
	uint64_t number = action->answer.number;
	struct container_request *waiting;

	HASH_FIND(hh, requests->table, &number, sizeof(number), waiting);
	if (!waiting)
		return;
	HASH_DEL(requests->table, waiting);
	if (action->answer.session)
		session_begin(shell, waiting->request, action->answer.session);
	else if (action->answer.response)
		agent_api_respond(waiting->request, action->answer.response);
	else
		http_reply_text(waiting->request, action->answer.status, action->answer.text);
	free(waiting);
}

void container_requests_free(struct container_requests *requests)
{
	struct container_request *waiting, *next;

	HASH_ITER (hh, requests->table, waiting, next) {
		HASH_DEL(requests->table, waiting);
		free(waiting);
	}
}
