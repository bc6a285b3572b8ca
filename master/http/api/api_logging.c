/* GET_LOGGING_LEVEL and SET_LOGGING_LEVEL of the operator API. */
#include "master/http/api/api_operator.h"
#include "net/daemon/audit.h"

void api_get_logging_level(const struct operator_call *c)
{
	Mesos__Master__Response *response =
		api_response(c, MESOS__MASTER__RESPONSE__TYPE__GET_LOGGING_LEVEL);

	response->get_logging_level =
		PROTO_NEW(&c->request->arena, Mesos__Master__Response__GetLoggingLevel,
			  mesos__master__response__get_logging_level__descriptor);
	response->get_logging_level->level = c->shell->verbosity.level;
	api_respond(c, response);
}

void api_set_logging_level(const struct operator_call *c)
{
	const Mesos__Master__Call__SetLoggingLevel *set = c->call->set_logging_level;

	if (!shell_allows(c->shell, c->request, ACL_SET_LOG_LEVEL, NULL))
		return;
	audit_change(c->request, "SET_LOGGING_LEVEL",
		     arena_printf(&c->request->arena, "level=%u", set->level), 200);
	verbosity_set(&c->shell->verbosity, set->level, set->duration->nanoseconds);
	http_reply_text(c->request, 200, NULL);
}
