/* The master's endpoints that change something: POST /teardown of Mesos, and POST
 * /kill-task, which is mesita's own (`mesita kill` uses it; Mesos has no way to
 * kill one task of a framework from outside). */
#include "master/rest.h"

#include <string.h>

/* The form parameter, or NULL after the request was answered. */
static const char *need_form(struct http_request *request, const char *name)
{
	const char *value = http_form(request, name);

	if (!value)
		http_reply_text(request, 400,
				arena_printf(&request->arena,
					     "Missing '%s' query parameter in the request body",
					     name));
	return value;
}

static bool is_post(struct http_request *request)
{
	if (!strcmp(request->method, "POST"))
		return true;
	http_reply_not_allowed(request, "POST");
	return false;
}

void rest_teardown(void *context, struct http_request *request)
{
	struct master_event event = {.type = MASTER_OPERATOR,
				     .operator_ = {.action = MASTER_OPERATOR_TEARDOWN}};

	if (!is_post(request))
		return;
	event.operator_.framework_id = need_form(request, "frameworkId");
	if (event.operator_.framework_id)
		shell_operate(context, request, &event);
}

void rest_kill_task(void *context, struct http_request *request)
{
	struct master_event event = {.type = MASTER_OPERATOR,
				     .operator_ = {.action = MASTER_OPERATOR_KILL_TASK}};

	if (!is_post(request))
		return;
	event.operator_.framework_id = need_form(request, "frameworkId");
	if (!event.operator_.framework_id)
		return;
	event.operator_.task_id = need_form(request, "taskId");
	if (event.operator_.task_id)
		shell_operate(context, request, &event);
}
