/* POST /api/v1/executor: decodes a v1 executor Call and answers it.
 * What is checked before the call is decoded is checked here, the rest by the core. */
#include "agent/shell.h"

#include <string.h>

#include "net/api_body.h"

/* A SUBSCRIBE under way. */
struct opening {
	struct agent_shell *shell;
	struct http_request *request;
	uint64_t number;
	bool subscribes;
	bool opened;
};

static void open_if_granted(void *context)
{
	struct opening *opening = context;

	if (!opening->subscribes || opening->shell->steps.actions.reply.status != 200)
		return;
	event_streams_open(&opening->shell->streams, opening->request, opening->number,
			   http_accept(opening->request), NULL);
	opening->opened = true;
}

void agent_api_executor(void *context, struct http_request *request)
{
	struct agent_shell *shell = context;
	struct opening opening = {.shell = shell, .request = request};
	struct agent_event event = {.type = AGENT_EXECUTOR_CALL};
	Mesos__Executor__Call *call;

	if (agent_recovering(shell->steps.core)) {
		http_reply_text(request, 503, "Agent has not finished recovery");
		return;
	}
	if (strcmp(request->method, "POST")) {
		http_reply_not_allowed(request, "POST");
		return;
	}
	call = api_body_decode(request, &mesos__executor__call__descriptor);
	if (!call)
		return;
	opening.subscribes = call->has_type && call->type == MESOS__EXECUTOR__CALL__TYPE__SUBSCRIBE;
	event.executor_call.call = call;
	event.executor_call.claims = request->claims;
	event.executor_call.acceptable = http_accept(request) != HTTP_MEDIA_NONE;
	event.executor_call.stream = opening.number = event_streams_number(&shell->streams);
	agent_steps_call(&shell->steps, &event, open_if_granted, &opening);
	if (!opening.opened)
		http_reply_text(request, shell->steps.reply.status, shell->steps.reply.text);
}
