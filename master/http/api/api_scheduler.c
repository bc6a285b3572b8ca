/* POST /api/v1/scheduler: decodes a v1 scheduler Call and answers it. What is
 * wrong with the request is checked here, what is wrong with the call in the core, in
 * the order in which Mesos checks it. */
#include "master/core/emit.h"

#include <string.h>

#include "master/shell.h"
#include "net/api_body.h"
#include "net/daemon/audit.h"

/* A SUBSCRIBE under way. */
struct opening {
	struct shell *shell;
	struct http_request *request;
	const Mesos__Scheduler__Call *call;
	uint64_t number;
	bool opened;
};

/* Of the calls of schedulers, those that begin and end a framework, and those that it may not make.
   Launches and kills the core's own lines tell. */
static void audit_call(const struct shell *shell, struct http_request *request,
		       const Mesos__Scheduler__Call *call)
{
	int status = shell->steps.actions.reply.status;

	if (call->type == MESOS__SCHEDULER__CALL__TYPE__SUBSCRIBE ||
	    call->type == MESOS__SCHEDULER__CALL__TYPE__TEARDOWN || status == 403)
		audit_change(request,
			     proto_enum_name(&mesos__scheduler__call__type__descriptor, call->type,
					     SPELL_V1),
			     audit_object(&request->arena, &call->base), status);
}

static void open_if_granted(void *context)
{
	struct opening *opening = context;
	const struct master_reply *reply = &opening->shell->steps.actions.reply;
	const char *headers[] = {"Mesos-Stream-Id", NULL, NULL};

	if (reply->status != 200 || !reply->stream_id)
		return;
	headers[1] = reply->stream_id;
	audit_call(opening->shell, opening->request, opening->call);
	event_streams_open(&opening->shell->streams, opening->request, opening->number,
			   http_accept(opening->request), headers);
	opening->opened = true;
}

void api_scheduler(void *context, struct http_request *request)
{
	struct shell *shell = context;
	struct opening opening = {.shell = shell, .request = request};
	struct master_event event = {.type = MASTER_CALL};

	if (!master_ready(shell->steps.core)) {
		http_reply_text(request, 503, "Master has not finished recovery");
		return;
	}
	if (strcmp(request->method, "POST")) {
		http_reply_not_allowed(request, "POST");
		return;
	}
	event.call.call = api_body_decode(request, &mesos__scheduler__call__descriptor);
	if (!event.call.call)
		return;
	/* One that was given up while this process was stopped: it would end the one that
	 * followed it, which may have been taken before. */
	if (event.call.call->type == MESOS__SCHEDULER__CALL__TYPE__SUBSCRIBE &&
	    http_is_reset(request)) {
		http_reply_text(request, 400, "The connection was reset");
		return;
	}
	opening.call = event.call.call;
	event.call.principal = request->principal;
	event.call.stream_id = http_header(request, "Mesos-Stream-Id");
	event.call.acceptable = http_accept(request) != HTTP_MEDIA_NONE;
	event.call.stream = opening.number = event_streams_number(&shell->streams);
	master_steps_feed_opening(&shell->steps, &event, open_if_granted, &opening);
	if (opening.opened)
		return;
	audit_call(shell, request, opening.call);
	http_reply_text(request, shell->steps.actions.reply.status,
			shell->steps.actions.reply.text);
}
