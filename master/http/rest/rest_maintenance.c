/* Maintenance as REST: /maintenance/schedule, /maintenance/status, /machine/down and
 * /machine/up. Bodies are JSON, whatever their Content-Type says. */
#include "master/http/rest/rest.h"
#include "master/http/rest/rest_routes.h"

#include <string.h>

/* The body as a value of the type, or NULL after the request was answered 400. */
static struct json *parse_body(struct http_request *request, enum json_type type)
{
	struct json *json = NULL;
	struct err err = {{0}};

	if (json_parse_up_to(PROTO_VALUES_MAX, &request->arena, request->body.data,
			     request->body.len, &json, &err) == 0 &&
	    json->type != type)
		err_set(&err, ERR_INVALID, "Unexpected JSON type parsed");
	if (!err.text[0])
		return json;
	http_reply_text(request, 400, err.text);
	return NULL;
}

/* NULL after the request was answered 400. */
static void *rest_maintenance_convert(struct http_request *request,
				      const ProtobufCMessageDescriptor *type,
				      const struct json *json)
{
	struct err err = {{0}};
	void *message = json_to_proto(type, json, SPELL_V0, &request->arena, &err);

	if (!message)
		http_reply_text(request, 400, err.text);
	return message;
}

static void update_schedule(struct shell *shell, struct http_request *request)
{
	Mesos__Master__Call *call =
		rest_call(request, MESOS__MASTER__CALL__TYPE__UPDATE_MAINTENANCE_SCHEDULE);
	struct json *json = parse_body(request, JSON_OBJECT);
	void *schedule;

	if (!json)
		return;
	schedule =
		rest_maintenance_convert(request, &mesos__maintenance__schedule__descriptor, json);
	if (!schedule)
		return;
	call->update_maintenance_schedule =
		PROTO_NEW(&request->arena, Mesos__Master__Call__UpdateMaintenanceSchedule,
			  mesos__master__call__update_maintenance_schedule__descriptor);
	call->update_maintenance_schedule->schedule = schedule;
	shell_change(shell, request, call);
}

static void write_schedule(const struct shell *shell, const struct view *v,
			   struct http_request *request, struct json_writer *w)
{
	(void)shell;
	proto_write_json(view_maintenance_schedule(v, &request->arena), SPELL_V0, w);
}

static void write_machines(const struct shell *shell, const struct view *v,
			   struct http_request *request, struct json_writer *w)
{
	(void)shell;
	proto_write_json(view_maintenance_status(v, &request->arena), SPELL_V0, w);
}

void rest_maintenance_schedule(void *context, struct http_request *request)
{
	static const struct rest_read schedule = {.write = write_schedule, .whole = true};
	struct shell *shell = context;
	struct view view = shell_view(shell, request);

	if (!strcmp(request->method, "POST"))
		update_schedule(shell, request);
	else if (!strcmp(request->method, "GET"))
		read_rest(shell, request, &schedule, view_count_settings(&view));
	else
		http_reply_not_allowed(request, "GET, POST");
}

void rest_maintenance_status(void *context, struct http_request *request)
{
	static const struct rest_read machines = {.write = write_machines, .whole = true};
	struct shell *shell = context;
	struct view view = shell_view(shell, request);

	if (strcmp(request->method, "GET"))
		http_reply_not_allowed(request, "GET");
	else
		read_rest(shell, request, &machines, view_count_settings(&view));
}

/* The machines of the body; false after the request was answered. */
static bool parse_machines(struct http_request *request, size_t *count, Mesos__MachineID ***out)
{
	struct json *json;

	if (!rest_is_post(request))
		return false;
	json = parse_body(request, JSON_ARRAY);
	for (size_t i = 0; json && i < json->count; i++) {
		Mesos__MachineID *id = rest_maintenance_convert(
			request, &mesos__machine_id__descriptor, &json->items[i]);

		if (!id)
			return false;
		proto_push(&request->arena, *count, *out, id);
	}
	return json != NULL;
}

void rest_machine_down(void *context, struct http_request *request)
{
	Mesos__Master__Call *call =
		rest_call(request, MESOS__MASTER__CALL__TYPE__START_MAINTENANCE);

	call->start_maintenance = PROTO_NEW(&request->arena, Mesos__Master__Call__StartMaintenance,
					    mesos__master__call__start_maintenance__descriptor);
	if (parse_machines(request, &call->start_maintenance->n_machines,
			   &call->start_maintenance->machines))
		shell_change(context, request, call);
}

void rest_machine_up(void *context, struct http_request *request)
{
	Mesos__Master__Call *call = rest_call(request, MESOS__MASTER__CALL__TYPE__STOP_MAINTENANCE);

	call->stop_maintenance = PROTO_NEW(&request->arena, Mesos__Master__Call__StopMaintenance,
					   mesos__master__call__stop_maintenance__descriptor);
	if (parse_machines(request, &call->stop_maintenance->n_machines,
			   &call->stop_maintenance->machines))
		shell_change(context, request, call);
}
