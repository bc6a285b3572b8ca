/* POST /reserve, /unreserve, /create-volumes and /destroy-volumes: the calls of the operator
 * API with a form in place of the message. Resources are a JSON array in the v0 spelling. */
#include "master/http/rest/rest.h"
#include "master/http/rest/rest_routes.h"

#include <string.h>

/* The resources of a form parameter. False after the request was answered 400; `error`
 * begins what is said of bad ones. */
static bool form_resources(struct http_request *request, const char *name, const char *error,
			   size_t *count, Mesos__Resource ***list)
{
	struct arena *arena = &request->arena;
	const char *text = rest_need_form(request, name);
	struct err err = {{0}};
	struct json *json;
	int rv = 0;

	if (!text)
		return false;
	*count = 0;
	*list = NULL;
	rv = json_parse_up_to(PROTO_VALUES_MAX, arena, text, strlen(text), &json, &err);
	if (!rv && json->type != JSON_ARRAY)
		rv = err_set(&err, ERR_INVALID, "Unexpected JSON type parsed");
	for (size_t i = 0; !rv && i < json->count; i++) {
		Mesos__Resource *r = json_to_proto(&mesos__resource__descriptor, &json->items[i],
						   SPELL_V0, arena, &err);

		if (r)
			proto_push(arena, *count, *list, r);
		else
			rv = ERR_INVALID;
	}
	if (rv)
		http_reply_text(request, 400,
				arena_printf(arena,
					     "%s '%s' query parameter in the request body: %s",
					     error, name, err.text));
	return !rv;
}

/* NULL after the request was answered: what is in its arena may be gone then. */
static Mesos__AgentID *form_agent(struct http_request *request)
{
	Mesos__AgentID *id;
	const char *value;

	if (!rest_is_post(request) || !(value = rest_need_form(request, "slaveId")))
		return NULL;
	id = PROTO_NEW(&request->arena, Mesos__AgentID, mesos__agent_id__descriptor);
	id->value = arena_strdup(&request->arena, value);
	return id;
}

#define PARSING "Error in parsing"

void rest_reserve(void *shell, struct http_request *request)
{
	Mesos__Master__Call *call =
		rest_call(request, MESOS__MASTER__CALL__TYPE__RESERVE_RESOURCES);
	Mesos__Master__Call__ReserveResources *reserve =
		PROTO_NEW(&request->arena, Mesos__Master__Call__ReserveResources,
			  mesos__master__call__reserve_resources__descriptor);
	Mesos__AgentID *id = form_agent(request);

	if (!id || !form_resources(request, "resources", "Error parsing", &reserve->n_resources,
				   &reserve->resources))
		return;
	if (http_form(request, "source") && !form_resources(request, "source", "Error parsing",
							    &reserve->n_source, &reserve->source))
		return;
	reserve->agent_id = id;
	call->reserve_resources = reserve;
	shell_change(shell, request, call);
}

void rest_unreserve(void *shell, struct http_request *request)
{
	Mesos__Master__Call *call =
		rest_call(request, MESOS__MASTER__CALL__TYPE__UNRESERVE_RESOURCES);
	Mesos__Master__Call__UnreserveResources *unreserve =
		PROTO_NEW(&request->arena, Mesos__Master__Call__UnreserveResources,
			  mesos__master__call__unreserve_resources__descriptor);
	Mesos__AgentID *id = form_agent(request);

	if (!id || !form_resources(request, "resources", PARSING, &unreserve->n_resources,
				   &unreserve->resources))
		return;
	unreserve->agent_id = id;
	call->unreserve_resources = unreserve;
	shell_change(shell, request, call);
}

void rest_create_volumes(void *shell, struct http_request *request)
{
	Mesos__Master__Call *call = rest_call(request, MESOS__MASTER__CALL__TYPE__CREATE_VOLUMES);
	Mesos__Master__Call__CreateVolumes *create =
		PROTO_NEW(&request->arena, Mesos__Master__Call__CreateVolumes,
			  mesos__master__call__create_volumes__descriptor);
	Mesos__AgentID *id = form_agent(request);

	if (!id ||
	    !form_resources(request, "volumes", PARSING, &create->n_volumes, &create->volumes))
		return;
	create->agent_id = id;
	call->create_volumes = create;
	shell_change(shell, request, call);
}

void rest_destroy_volumes(void *shell, struct http_request *request)
{
	Mesos__Master__Call *call = rest_call(request, MESOS__MASTER__CALL__TYPE__DESTROY_VOLUMES);
	Mesos__Master__Call__DestroyVolumes *destroy =
		PROTO_NEW(&request->arena, Mesos__Master__Call__DestroyVolumes,
			  mesos__master__call__destroy_volumes__descriptor);
	Mesos__AgentID *id = form_agent(request);

	if (!id ||
	    !form_resources(request, "volumes", PARSING, &destroy->n_volumes, &destroy->volumes))
		return;
	destroy->agent_id = id;
	call->destroy_volumes = destroy;
	shell_change(shell, request, call);
}
