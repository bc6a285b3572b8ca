/* The master's endpoints that change something: POST /teardown of Mesos, and POST
 * /kill-task, which is mesita's own (`mesita kill` uses it; Mesos has no way to
 * kill one task of a framework from outside). */
#include "master/http/rest/rest.h"
#include "master/http/rest/rest_routes.h"

#include <string.h>

Mesos__Master__Call *rest_call(struct http_request *request, Mesos__Master__Call__Type type)
{
	Mesos__Master__Call *call =
		PROTO_NEW(&request->arena, Mesos__Master__Call, mesos__master__call__descriptor);

	call->has_type = 1;
	call->type = type;
	return call;
}

const char *rest_need_form(struct http_request *request, const char *name)
{
	const char *malformed = http_form_error(request), *value;

	if (malformed) {
		http_reply_text(request, 400,
				arena_printf(&request->arena, "Unable to decode query string: %s",
					     malformed));
		return NULL;
	}
	value = http_form(request, name);
	if (!value)
		http_reply_text(request, 400,
				arena_printf(&request->arena,
					     "Missing '%s' query parameter in the request body",
					     name));
	return value;
}

bool rest_is_post(struct http_request *request)
{
	if (!strcmp(request->method, "POST"))
		return true;
	http_reply_not_allowed(request, "POST");
	return false;
}

void rest_teardown(void *context, struct http_request *request)
{
	struct arena *arena = &request->arena;
	Mesos__Master__Call *call;
	const char *id;

	if (!rest_is_post(request) || !(id = rest_need_form(request, "frameworkId")))
		return;
	call = rest_call(request, MESOS__MASTER__CALL__TYPE__TEARDOWN);
	call->teardown = PROTO_NEW(arena, Mesos__Master__Call__Teardown,
				   mesos__master__call__teardown__descriptor);
	call->teardown->framework_id =
		PROTO_NEW(arena, Mesos__FrameworkID, mesos__framework_id__descriptor);
	call->teardown->framework_id->value = arena_strdup(arena, id);
	shell_change(context, request, call);
}

void rest_kill_task(void *context, struct http_request *request)
{
	struct master_event event = {.type = MASTER_KILL_TASK};

	if (!rest_is_post(request))
		return;
	event.kill_task.framework_id = rest_need_form(request, "frameworkId");
	if (!event.kill_task.framework_id)
		return;
	event.kill_task.task_id = rest_need_form(request, "taskId");
	event.kill_task.principal = request->principal;
	if (event.kill_task.task_id)
		shell_ask(context, request, &event,
			  arena_printf(&request->arena, "framework_id=%s,task_id=%s",
				       event.kill_task.framework_id, event.kill_task.task_id));
}
