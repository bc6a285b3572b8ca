/* GET_LOGGING_LEVEL and SET_LOGGING_LEVEL of the operator API. The level is a verbosity: 0 logs
 * what the flags say, any other everything. It falls back to 0 after the given time. */
#include <unistd.h>

#include "master/http/api/api_operator.h"

static void set_verbosity(struct shell *shell, uint32_t verbosity)
{
	shell->verbosity = verbosity;
	log_setup(verbosity > 0 ? LOG_LEVEL_DEBUG : shell->log_level, STDERR_FILENO);
}

static void revert(uv_timer_t *timer)
{
	set_verbosity(timer->data, 0);
}

void api_get_logging_level(const struct operator_call *c)
{
	Mesos__Master__Response *response =
		api_response(c, MESOS__MASTER__RESPONSE__TYPE__GET_LOGGING_LEVEL);

	response->get_logging_level =
		PROTO_NEW(&c->request->arena, Mesos__Master__Response__GetLoggingLevel,
			  mesos__master__response__get_logging_level__descriptor);
	response->get_logging_level->level = c->shell->verbosity;
	api_respond(c, response);
}

void api_set_logging_level(const struct operator_call *c)
{
	const Mesos__Master__Call__SetLoggingLevel *set = c->call->set_logging_level;
	int64_t duration = set->duration->nanoseconds;

	if (!shell_allows(c->shell, c->request, ACL_SET_LOG_LEVEL, NULL))
		return;
	set_verbosity(c->shell, set->level);
	if (set->level == 0)
		uv_timer_stop(&c->shell->verbose);
	else
		uv_timer_start(&c->shell->verbose, revert,
			       duration > 0 ? (uint64_t)(duration / MILLISECOND) : 0, 0);
	http_reply_text(c->request, 200, NULL);
}
