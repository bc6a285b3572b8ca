/* POST /api/v1: the operator API. A table of calls; a type
 * without a row is answered 501, as Mesos answers a call that it does not serve. */
#include "master/http/api/api_operator.h"

#include <string.h>

#include "master/http/files.h"
#include "net/api_body.h"

void api_respond(const struct operator_call *c, const Mesos__Master__Response *response)
{
	struct buf body = BUF_INIT;

	if (c->media == HTTP_MEDIA_JSON)
		proto_to_json(response, SPELL_V1, &body);
	else
		proto_pack(response, &body);
	http_reply(c->request, 200, http_media_name(c->media), body.data, body.len, NULL);
	buf_free(&body);
}

Mesos__Master__Response *api_response(const struct operator_call *c,
				      Mesos__Master__Response__Type type)
{
	Mesos__Master__Response *response = PROTO_NEW(&c->request->arena, Mesos__Master__Response,
						      mesos__master__response__descriptor);

	response->has_type = 1;
	response->type = type;
	return response;
}

static Mesos__Master__Response *collected(const struct offload_read *read)
{
	const struct api_read *what = read->what;
	struct view view = shell_view(read->context, read->request);
	struct arena *arena = &read->request->arena;
	Mesos__Master__Response *response =
		PROTO_NEW(arena, Mesos__Master__Response, mesos__master__response__descriptor);

	response->has_type = 1;
	response->type = what->type;
	if (what->collect_shell)
		what->collect_shell(read->context, arena, response);
	else
		what->collect(&view, arena, response);
	return response;
}

static void api_operator_render_json(const struct offload_read *read, struct buf *body,
				     const char **content_type)
{
	(void)content_type;
	proto_to_json(collected(read), SPELL_V1, body);
}

static void api_operator_render_protobuf(const struct offload_read *read, struct buf *body,
					 const char **content_type)
{
	(void)content_type;
	proto_pack(collected(read), body);
}

void api_respond_read(const struct operator_call *c, const struct api_read *what, size_t objects)
{
	struct offload_read read = {
		.request = c->request,
		.render = c->media == HTTP_MEDIA_JSON ? api_operator_render_json
						      : api_operator_render_protobuf,
		.context = c->shell,
		.what = what,
		.content_type = http_media_name(c->media),
	};

	read_any(c->shell, &read, objects);
}

/* The core judges it and answers. */
static void change(const struct operator_call *c)
{
	shell_change(c->shell, c->request, c->call);
}

#define TYPE(name) MESOS__MASTER__CALL__TYPE__##name
#define FIELD(member) offsetof(Mesos__Master__Call, member)

static const struct {
	Mesos__Master__Call__Type type;
	size_t field;	   /* of the sub-message that must be there; 0 = none */
	const char *named; /* in the error */
	void (*handle)(const struct operator_call *c);
} calls[] = {
	{TYPE(GET_HEALTH), 0, NULL, api_get_health},
	{TYPE(GET_FLAGS), 0, NULL, api_get_flags},
	{TYPE(GET_VERSION), 0, NULL, api_get_version},
	{TYPE(GET_METRICS), FIELD(get_metrics), "get_metrics", api_get_metrics},
	{TYPE(GET_LOGGING_LEVEL), 0, NULL, api_get_logging_level},
	{TYPE(SET_LOGGING_LEVEL), FIELD(set_logging_level), "set_logging_level",
	 api_set_logging_level},
	{TYPE(GET_MASTER), 0, NULL, api_get_master},
	{TYPE(GET_AGENTS), 0, NULL, api_get_agents},
	{TYPE(GET_FRAMEWORKS), 0, NULL, api_get_frameworks},
	{TYPE(GET_EXECUTORS), 0, NULL, api_get_executors},
	{TYPE(GET_TASKS), 0, NULL, api_get_tasks},
	{TYPE(GET_STATE), 0, NULL, api_get_state},
	{TYPE(LIST_FILES), FIELD(list_files), "list_files", files_list_call},
	{TYPE(READ_FILE), FIELD(read_file), "read_file", files_read_call},
	{TYPE(SUBSCRIBE), 0, NULL, api_subscribe},
	{TYPE(TEARDOWN), FIELD(teardown), "teardown", change},
	{TYPE(MARK_AGENT_GONE), FIELD(mark_agent_gone), "mark_agent_gone", change},
	{TYPE(GET_ROLES), 0, NULL, api_get_roles},
	{TYPE(GET_WEIGHTS), 0, NULL, api_get_weights},
	{TYPE(UPDATE_WEIGHTS), FIELD(update_weights), "update_weights", change},
	{TYPE(GET_QUOTA), 0, NULL, api_get_quota},
	{TYPE(UPDATE_QUOTA), FIELD(update_quota), "update_quota", change},
	{TYPE(SET_QUOTA), FIELD(set_quota), "set_quota", change},
	{TYPE(REMOVE_QUOTA), FIELD(remove_quota), "remove_quota", change},
	{TYPE(GET_OPERATIONS), 0, NULL, api_get_operations},
	{TYPE(RESERVE_RESOURCES), FIELD(reserve_resources), "reserve_resources",
	 api_change_resources},
	{TYPE(UNRESERVE_RESOURCES), FIELD(unreserve_resources), "unreserve_resources",
	 api_change_resources},
	{TYPE(CREATE_VOLUMES), FIELD(create_volumes), "create_volumes", api_change_resources},
	{TYPE(DESTROY_VOLUMES), FIELD(destroy_volumes), "destroy_volumes", api_change_resources},
	{TYPE(GROW_VOLUME), FIELD(grow_volume), "grow_volume", api_change_resources},
	{TYPE(SHRINK_VOLUME), FIELD(shrink_volume), "shrink_volume", api_change_resources},
	{TYPE(GET_MAINTENANCE_STATUS), 0, NULL, api_get_maintenance_status},
	{TYPE(GET_MAINTENANCE_SCHEDULE), 0, NULL, api_get_maintenance_schedule},
	{TYPE(UPDATE_MAINTENANCE_SCHEDULE), FIELD(update_maintenance_schedule),
	 "update_maintenance_schedule", change},
	{TYPE(START_MAINTENANCE), FIELD(start_maintenance), "start_maintenance", change},
	{TYPE(STOP_MAINTENANCE), FIELD(stop_maintenance), "stop_maintenance", change},
	{TYPE(DRAIN_AGENT), FIELD(drain_agent), "drain_agent", change},
	{TYPE(DEACTIVATE_AGENT), FIELD(deactivate_agent), "deactivate_agent", change},
	{TYPE(REACTIVATE_AGENT), FIELD(reactivate_agent), "reactivate_agent", change},
};

static void api_operator_dispatch(const struct operator_call *c)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (calls[i].type != c->call->type)
			continue;
		if (calls[i].field && !*(void **)((char *)c->call + calls[i].field))
			http_reply_text(c->request, 400,
					arena_printf(&c->request->arena,
						     "Failed to validate master::Call: Expecting "
						     "'%s' to be present",
						     calls[i].named));
		else
			calls[i].handle(c);
		return;
	}
	http_reply_text(c->request, 501, NULL);
}

void api_operator(void *context, struct http_request *request)
{
	struct operator_call c = {.shell = context, .request = request};

	if (!master_ready(c.shell->steps.core)) {
		http_reply_text(request, 503, "Master has not finished recovery");
		return;
	}
	if (strcmp(request->method, "POST")) {
		http_reply_not_allowed(request, "POST");
		return;
	}
	c.call = api_body_decode(request, &mesos__master__call__descriptor);
	if (!c.call)
		return;
	if (!c.call->has_type) {
		http_reply_text(request, 400,
				"Failed to validate master::Call: Expecting 'type' to be present");
		return;
	}
	c.media = http_accept(request);
	if (c.media == HTTP_MEDIA_NONE)
		http_reply_text(request, 406,
				"Expecting 'Accept' to allow 'application/x-protobuf' or "
				"'application/json'");
	else
		api_operator_dispatch(&c);
}
