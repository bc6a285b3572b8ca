/* Calls of the operator API that read the maintenance schedule and what became of it. */
#include "master/http/api/api_operator.h"

void api_get_maintenance_status(const struct operator_call *c)
{
	struct arena *arena = &c->request->arena;
	Mesos__Master__Response *response =
		api_response(c, MESOS__MASTER__RESPONSE__TYPE__GET_MAINTENANCE_STATUS);
	struct view view = shell_view(c->shell, c->request);

	response->get_maintenance_status =
		PROTO_NEW(arena, Mesos__Master__Response__GetMaintenanceStatus,
			  mesos__master__response__get_maintenance_status__descriptor);
	response->get_maintenance_status->status = view_maintenance_status(&view, arena);
	api_respond(c, response);
}

void api_get_maintenance_schedule(const struct operator_call *c)
{
	struct arena *arena = &c->request->arena;
	Mesos__Master__Response *response =
		api_response(c, MESOS__MASTER__RESPONSE__TYPE__GET_MAINTENANCE_SCHEDULE);
	struct view view = shell_view(c->shell, c->request);

	response->get_maintenance_schedule =
		PROTO_NEW(arena, Mesos__Master__Response__GetMaintenanceSchedule,
			  mesos__master__response__get_maintenance_schedule__descriptor);
	response->get_maintenance_schedule->schedule = view_maintenance_schedule(&view, arena);
	api_respond(c, response);
}
