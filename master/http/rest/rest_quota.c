/* /quota and /weights. Bodies are JSON, whatever their Content-Type says. */
#include <string.h>

#include "master/core/roles/quota.h"
#include "master/core/roles/roles.h"
#include "master/http/rest/rest.h"
#include "master/http/rest/rest_routes.h"

/* A rule that only the endpoint knows. */
static void rest_quota_refuse(struct http_request *request, const char *what, const char *about,
			      const char *why)
{
	http_reply_text(request, 400,
			arena_printf(&request->arena, "%s '%s': %s", what, about, why));
}

/* The body as a value of the type, or NULL after the request was answered 400. */
static struct json *parse_body(struct http_request *request, enum json_type type, const char *what)
{
	struct json *json = NULL;
	struct err err = {""};

	if (json_parse_up_to(PROTO_VALUES_MAX, &request->arena, request->body.data,
			     request->body.len, &json, &err) == 0 &&
	    json->type != type)
		err_set(&err, ERR_INVALID, "Unexpected JSON type parsed");
	if (!err.text[0])
		return json;
	rest_quota_refuse(request, what, request->body.data ? request->body.data : "", err.text);
	return NULL;
}

/* ---- /quota --------------------------------------------------------------------------- */

static void write_quota(const struct shell *shell, const struct view *v,
			struct http_request *request, struct json_writer *w)
{
	(void)shell;
	proto_write_json(view_quota_status(v, &request->arena), SPELL_V0, w);
}

static void get_quota(struct shell *shell, struct http_request *request)
{
	static const struct rest_read quota = {.write = write_quota, .whole = true};
	struct view view = shell_view(shell, request);

	read_rest(shell, request, &quota, view_count_settings(&view));
}

static void set_quota(struct shell *shell, struct http_request *request)
{
	struct arena *arena = &request->arena;
	struct json *json =
		parse_body(request, JSON_OBJECT, "Failed to parse set quota request JSON");
	Mesos__Quota__QuotaRequest *asked;
	Mesos__Master__Call *call;
	struct err err = {""};

	if (!json)
		return;
	asked = json_to_proto(&mesos__quota__quota_request__descriptor, json, SPELL_V0, arena,
			      &err);
	if (!asked) {
		rest_quota_refuse(request, "Failed to validate set quota request JSON",
				  request->body.data, err.text);
		return;
	}
	call = rest_call(request, MESOS__MASTER__CALL__TYPE__SET_QUOTA);
	call->set_quota = PROTO_NEW(arena, Mesos__Master__Call__SetQuota,
				    mesos__master__call__set_quota__descriptor);
	call->set_quota->quota_request = asked;
	shell_change(shell, request, call);
}

/* "/master/quota/<role>" */
static void remove_quota(struct shell *shell, struct http_request *request)
{
	static const char base[] = "/master/quota";
	struct arena *arena = &request->arena;
	const char *path = router_resolve(&shell->router, request);
	const char *role = path + sizeof(base) - 1;
	Mesos__Master__Call *call;

	role += strspn(role, "/");
	if (!*role) {
		http_reply_text(request, 400,
				arena_printf(arena,
					     "Failed to parse remove quota request for path '%s': "
					     "expected 3 tokens, found 2 tokens",
					     path));
		return;
	}
	if (!master_role_allowed(shell->steps.core, role)) {
		rest_quota_refuse(request, "Failed to validate remove quota request for path", path,
				  arena_printf(arena, "Unknown role '%s'", role));
		return;
	}
	if (!master_find_quota(shell->steps.core, role)) {
		rest_quota_refuse(request, "Failed to remove quota for path", path,
				  arena_printf(arena, "Role '%s' has no quota set", role));
		return;
	}
	call = rest_call(request, MESOS__MASTER__CALL__TYPE__REMOVE_QUOTA);
	call->remove_quota = PROTO_NEW(arena, Mesos__Master__Call__RemoveQuota,
				       mesos__master__call__remove_quota__descriptor);
	call->remove_quota->role = (char *)role;
	shell_change(shell, request, call);
}

void rest_quota(void *context, struct http_request *request)
{
	if (!strcmp(request->method, "GET"))
		get_quota(context, request);
	else if (!strcmp(request->method, "POST"))
		set_quota(context, request);
	else if (!strcmp(request->method, "DELETE"))
		remove_quota(context, request);
	else
		http_reply_not_allowed(request, "GET, POST, DELETE");
}

/* ---- /weights -------------------------------------------------------------------------- */

static void write_weights(const struct shell *shell, const struct view *v,
			  struct http_request *request, struct json_writer *w)
{
	Mesos__WeightInfo **list;
	size_t count = view_weight_infos(v, &request->arena, &list);

	(void)shell;
	jw_begin_array(w);
	for (size_t i = 0; i < count; i++)
		proto_write_json(list[i], SPELL_V0, w);
	jw_end_array(w);
}

static void get_weights(struct shell *shell, struct http_request *request)
{
	static const struct rest_read weights = {.write = write_weights, .whole = true};
	struct view view = shell_view(shell, request);

	read_rest(shell, request, &weights, view_count_settings(&view));
}

static void update_weights(struct shell *shell, struct http_request *request)
{
	struct arena *arena = &request->arena;
	struct json *json =
		parse_body(request, JSON_ARRAY, "Failed to parse update weights request JSON");
	Mesos__Master__Call__UpdateWeights *update;
	Mesos__Master__Call *call;

	if (!json)
		return;
	call = rest_call(request, MESOS__MASTER__CALL__TYPE__UPDATE_WEIGHTS);
	update = call->update_weights = PROTO_NEW(arena, Mesos__Master__Call__UpdateWeights,
						  mesos__master__call__update_weights__descriptor);
	for (size_t i = 0; i < json->count; i++) {
		struct err err = {""};
		Mesos__WeightInfo *info = json_to_proto(&mesos__weight_info__descriptor,
							&json->items[i], SPELL_V0, arena, &err);

		if (!info) {
			rest_quota_refuse(request,
					  "Failed to convert weights JSON array to protobuf",
					  request->body.data, err.text);
			return;
		}
		proto_push(arena, update->n_weight_infos, update->weight_infos, info);
	}
	shell_change(shell, request, call);
}

void rest_weights(void *context, struct http_request *request)
{
	if (!strcmp(request->method, "GET"))
		get_weights(context, request);
	else if (!strcmp(request->method, "PUT"))
		update_weights(context, request);
	else
		http_reply_not_allowed(request, "GET, PUT");
}
