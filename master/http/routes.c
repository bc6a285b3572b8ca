/* Which handler serves which path of the master. */
#include "master/http/rest/rest.h"

const char *const shell_processes[] = {"metrics", "version", "files", "logging", "system", NULL};

const struct route shell_routes[] = {
	{"/master/api/v1/scheduler", api_scheduler, REALM_FRAMEWORKS},
	{"/master/api/v1", api_operator, REALM_READWRITE},
	{"/master/state", rest_state, REALM_READONLY},
	{"/master/state-summary", rest_state_summary, REALM_READONLY},
	{"/master/slaves", rest_slaves, REALM_READONLY},
	{"/master/frameworks", rest_frameworks, REALM_READONLY},
	{"/master/roles", rest_roles, REALM_READONLY},
	{"/master/tasks", rest_tasks, REALM_READONLY},
	{"/master/flags", rest_flags, REALM_READONLY},
	{"/master/health", rest_health, REALM_NONE},
	{"/master/redirect", rest_redirect, REALM_NONE},
	{"/master/teardown", rest_teardown, REALM_READWRITE},
	{"/master/kill-task", rest_kill_task, REALM_READWRITE},
	{"/master/quota", rest_quota, REALM_READWRITE},
	{"/master/weights", rest_weights, REALM_READWRITE},
	{"/master/maintenance/schedule", rest_maintenance_schedule, REALM_READWRITE},
	{"/master/maintenance/status", rest_maintenance_status, REALM_READONLY},
	{"/master/machine/down", rest_machine_down, REALM_READWRITE},
	{"/master/machine/up", rest_machine_up, REALM_READWRITE},
	{"/master/reserve", rest_reserve, REALM_READWRITE},
	{"/master/unreserve", rest_unreserve, REALM_READWRITE},
	{"/master/create-volumes", rest_create_volumes, REALM_READWRITE},
	{"/master/destroy-volumes", rest_destroy_volumes, REALM_READWRITE},
	{"/metrics/snapshot", rest_metrics, REALM_READONLY},
	{"/version", rest_version, REALM_NONE},
	{NULL, NULL, REALM_NONE},
};
