/* POST /api/v1/scheduler: decodes a v1 scheduler Call and answers it. The checks
 * and their order are spec/master.md 1.2; from row 12 on the core makes them. */
#include "master/shell.h"

#include <string.h>

/* Decodes the body into the request's arena; on failure the request is answered and
 * NULL returned. */
static Mesos__Scheduler__Call *decode_call(struct http_request *request)
{
	const ProtobufCMessageDescriptor *type = &mesos__scheduler__call__descriptor;
	enum http_media media = http_content_type(request);
	struct json *json;
	struct err err;
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
				"Expecting 'Content-Type' of application/json or application/x-protobuf");
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
	struct shell *shell;
	struct http_request *request;
	uint64_t number;
	bool opened;
};

static void open_if_granted(void *context)
{
	struct opening *opening = context;
	const struct master_reply *reply = &opening->shell->actions.reply;

	if (reply->status != 200 || !reply->stream_id)
		return;
	shell_open_stream(opening->shell, opening->request, opening->number,
			  http_accept(opening->request), reply->stream_id);
	opening->opened = true;
}

void api_scheduler(void *context, struct http_request *request)
{
	struct shell *shell = context;
	struct opening opening = {.shell = shell, .request = request};
	struct master_event event = {.type = MASTER_CALL};

	if (!master_ready(shell->core)) {
		http_reply_text(request, 503, "Master has not finished recovery");
		return;
	}
	if (strcmp(request->method, "POST")) {
		http_reply_not_allowed(request, "POST");
		return;
	}
	event.call.call = decode_call(request);
	if (!event.call.call)
		return;
	event.call.stream_id = http_header(request, "Mesos-Stream-Id");
	event.call.acceptable = http_accept(request) != HTTP_MEDIA_NONE;
	event.call.stream = opening.number = ++shell->next_stream;
	shell_step_opening(shell, &event, open_if_granted, &opening);
	if (!opening.opened)
		http_reply_text(request, shell->actions.reply.status, shell->actions.reply.text);
}
