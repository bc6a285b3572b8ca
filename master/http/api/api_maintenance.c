/* Calls of the operator API that read the maintenance schedule and what became of it. */
#include "master/http/api/api_operator.h"

static void collect_status(const struct view *v, struct arena *arena,
			   Mesos__Master__Response *response)
{
	response->get_maintenance_status =
		PROTO_NEW(arena, Mesos__Master__Response__GetMaintenanceStatus,
			  mesos__master__response__get_maintenance_status__descriptor);
	response->get_maintenance_status->status = view_maintenance_status(v, arena);
}

static void collect_schedule(const struct view *v, struct arena *arena,
			     Mesos__Master__Response *response)
{
	response->get_maintenance_schedule =
		PROTO_NEW(arena, Mesos__Master__Response__GetMaintenanceSchedule,
			  mesos__master__response__get_maintenance_schedule__descriptor);
	response->get_maintenance_schedule->schedule = view_maintenance_schedule(v, arena);
}

void api_get_maintenance_status(const struct operator_call *c)
{
	static const struct api_read status = {
		.type = MESOS__MASTER__RESPONSE__TYPE__GET_MAINTENANCE_STATUS, collect_status};
	struct view view = shell_view(c->shell, c->request);

	api_respond_read(c, &status, view_count_settings(&view));
}

void api_get_maintenance_schedule(const struct operator_call *c)
{
	static const struct api_read schedule = {
		.type = MESOS__MASTER__RESPONSE__TYPE__GET_MAINTENANCE_SCHEDULE, collect_schedule};
	struct view view = shell_view(c->shell, c->request);

	api_respond_read(c, &schedule, view_count_settings(&view));
}
