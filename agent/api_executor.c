/* POST /api/v1/executor: decodes a v1 executor Call and answers it (spec/agent.md 2).
 * What is checked before the call is decoded is checked here, the rest by the core. */
#include "agent/shell.h"

#include <string.h>

/* Decodes the body into the request's arena; on failure the request is answered and
 * NULL returned. */
static Mesos__Executor__Call *decode_call(struct http_request *request)
{
	const ProtobufCMessageDescriptor *type = &mesos__executor__call__descriptor;
	enum http_media media = http_content_type(request);
	struct json *json;
	struct err err = {""};
	void *call;

	if (!http_header(request, "Content-Type")) {
		http_reply_text(request, 400, "Expecting 'Content-Type' to be present");
		return NULL;
	}
	if (media == HTTP_MEDIA_PROTOBUF) {
		call = proto_unpack(type, &request->arena, request->body.data, request->body.len,
				    &err);
		if (!call)
			http_reply_text(request, 400, "Failed to parse body into Call protobuf");
		return call;
	}
	if (media != HTTP_MEDIA_JSON) {
		http_reply_text(request, 415,
				"Expecting 'Content-Type' of application/json or "
				"application/x-protobuf");
		return NULL;
	}
	if (json_parse(&request->arena, request->body.data, request->body.len, &json, &err) < 0) {
		err_wrap(&err, ERR_INVALID, "Failed to parse body into JSON");
		http_reply_text(request, 400, err.text);
		return NULL;
	}
	call = json_to_proto(type, json, SPELL_V1, &request->arena, &err);
	if (!call) {
		err_wrap(&err, ERR_INVALID, "Failed to convert JSON into Call protobuf");
		http_reply_text(request, 400, err.text);
	}
	return call;
}

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

	if (!opening->subscribes || opening->shell->actions.reply.status != 200)
		return;
	agent_shell_open_stream(opening->shell, opening->request, opening->number,
				http_accept(opening->request));
	opening->opened = true;
}

void agent_api_executor(void *context, struct http_request *request)
{
	struct agent_shell *shell = context;
	struct opening opening = {.shell = shell, .request = request};
	struct agent_event event = {.type = AGENT_EXECUTOR_CALL};
	Mesos__Executor__Call *call;

	if (agent_recovering(shell->core)) {
		http_reply_text(request, 503, "Agent has not finished recovery");
		return;
	}
	if (strcmp(request->method, "POST")) {
		http_reply_not_allowed(request, "POST");
		return;
	}
	call = decode_call(request);
	if (!call)
		return;
	opening.subscribes = call->has_type && call->type == MESOS__EXECUTOR__CALL__TYPE__SUBSCRIBE;
	event.executor_call.call = call;
	event.executor_call.acceptable = http_accept(request) != HTTP_MEDIA_NONE;
	event.executor_call.stream = opening.number = ++shell->next_stream;
	agent_shell_call(shell, &event, open_if_granted, &opening);
	if (!opening.opened)
		http_reply_text(request, shell->reply.status, shell->reply.text);
}
