/* Calls of the operator API that read the maintenance schedule and what became of it. */
#include "master/http/api_operator.h"

void api_get_maintenance_status(const struct operator_call *c)
{
	struct arena *arena = &c->request->arena;
	Mesos__Master__Response *response =
		api_response(c, MESOS__MASTER__RESPONSE__TYPE__GET_MAINTENANCE_STATUS);

	response->get_maintenance_status =
		PROTO_NEW(arena, Mesos__Master__Response__GetMaintenanceStatus,
			  mesos__master__response__get_maintenance_status__descriptor);
	response->get_maintenance_status->status =
		master_maintenance_status(c->shell->steps.core, arena);
	api_respond(c, response);
}

void api_get_maintenance_schedule(const struct operator_call *c)
{
	struct arena *arena = &c->request->arena;
	Mesos__Master__Response *response =
		api_response(c, MESOS__MASTER__RESPONSE__TYPE__GET_MAINTENANCE_SCHEDULE);

	response->get_maintenance_schedule =
		PROTO_NEW(arena, Mesos__Master__Response__GetMaintenanceSchedule,
			  mesos__master__response__get_maintenance_schedule__descriptor);
	response->get_maintenance_schedule->schedule =
		master_maintenance_schedule(c->shell->steps.core, arena);
	api_respond(c, response);
}
