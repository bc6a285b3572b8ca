/* Rules that checks and health checks of tasks must obey. Texts are Mesos' own: schedulers
 * match on them.
 */
#include "master/core/objects.h"

#include <string.h>

#include "master/core/tasks/task_validate.h"

#define FAIL(...) return err_set(err, ERR_INVALID, __VA_ARGS__)

/* COMMAND of a check or health check (`what`). */
static int validate_check_command(const Mesos__CommandInfo *command, const char *what,
				  const char *whose, struct err *err)
{
	bool shell = !command->has_shell || command->shell;

	if (!command->value)
		FAIL("%s must contain %s", what, shell ? "'shell command'" : "'executable path'");
	if (master_validate_command(command, err))
		return err_wrap(err, ERR_INVALID, "%s `CommandInfo` is invalid", whose);
	return 0;
}

static int validate_path(const char *path, const char *what, struct err *err)
{
	if (path && path[0] != '/')
		FAIL("The path '%s' of HTTP %s must start with '/'", path, what);
	return 0;
}

struct seconds {
	const char *name;
	bool set;
	double value;
};

static int validate_seconds(const struct seconds *list, size_t count, struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		if (list[i].set && list[i].value < 0)
			FAIL("Expecting '%s' to be non-negative", list[i].name);
	}
	return 0;
}

/* As an element of such a list. */
#define SECONDS(check, field) ((struct seconds){#field, (check)->has_##field, (check)->field})
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

int master_validate_check(const Mesos__CheckInfo *check, struct err *err)
{
	const struct seconds seconds[] = {
		SECONDS(check, delay_seconds),
		SECONDS(check, interval_seconds),
		SECONDS(check, timeout_seconds),
	};
	int rv = 0;

	if (!check->has_type)
		FAIL("CheckInfo must specify 'type'");
	switch (check->type) {
	case MESOS__CHECK_INFO__TYPE__COMMAND:
		if (!check->command)
			FAIL("Expecting 'command' to be set for COMMAND check");
		rv = validate_check_command(check->command->command, "Command check", "Check's",
					    err);
		break;
	case MESOS__CHECK_INFO__TYPE__HTTP:
		if (!check->http)
			FAIL("Expecting 'http' to be set for HTTP check");
		rv = validate_path(check->http->path, "check", err);
		break;
	case MESOS__CHECK_INFO__TYPE__TCP:
		if (!check->tcp)
			FAIL("Expecting 'tcp' to be set for TCP check");
		break;
	default:
		FAIL("'UNKNOWN' is not a valid check type");
	}
	return rv ? rv : validate_seconds(seconds, COUNT(seconds), err);
}

static int validate_http_health(const Mesos__HealthCheck__HTTPCheckInfo *http, struct err *err)
{
	if (!http)
		FAIL("Expecting 'http' to be set for HTTP health check");
	if (http->scheme && strcmp(http->scheme, "http") && strcmp(http->scheme, "https"))
		FAIL("Unsupported HTTP health check scheme: '%s'", http->scheme);
	return validate_path(http->path, "health check", err);
}

int master_validate_health_check(const Mesos__HealthCheck *check, struct err *err)
{
	const struct seconds seconds[] = {
		SECONDS(check, delay_seconds),
		SECONDS(check, grace_period_seconds),
		SECONDS(check, interval_seconds),
		SECONDS(check, timeout_seconds),
	};
	int rv = 0;

	if (!check->has_type)
		FAIL("HealthCheck must specify 'type'");
	switch (check->type) {
	case MESOS__HEALTH_CHECK__TYPE__COMMAND:
		if (!check->command)
			FAIL("Expecting 'command' to be set for COMMAND health check");
		rv = validate_check_command(check->command, "Command health check",
					    "Health check's", err);
		break;
	case MESOS__HEALTH_CHECK__TYPE__HTTP:
		rv = validate_http_health(check->http, err);
		break;
	case MESOS__HEALTH_CHECK__TYPE__TCP:
		if (!check->tcp)
			FAIL("Expecting 'tcp' to be set for TCP health check");
		break;
	default:
		FAIL("'UNKNOWN' is not a valid health check type");
	}
	return rv ? rv : validate_seconds(seconds, COUNT(seconds), err);
}
