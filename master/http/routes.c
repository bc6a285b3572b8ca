/* Which handler serves which path of the master. */
#include "master/http/rest/rest.h"

const char *const shell_processes[] = {"metrics", "version", "files", "logging", "system", NULL};

const struct route shell_routes[] = {
	{"/master/api/v1/scheduler", api_scheduler},
	{"/master/api/v1", api_operator},
	{"/master/state", rest_state},
	{"/master/state-summary", rest_state_summary},
	{"/master/slaves", rest_slaves},
	{"/master/frameworks", rest_frameworks},
	{"/master/roles", rest_roles},
	{"/master/tasks", rest_tasks},
	{"/master/flags", rest_flags},
	{"/master/health", rest_health},
	{"/master/redirect", rest_redirect},
	{"/master/teardown", rest_teardown},
	{"/master/kill-task", rest_kill_task},
	{"/master/quota", rest_quota},
	{"/master/weights", rest_weights},
	{"/master/maintenance/schedule", rest_maintenance_schedule},
	{"/master/maintenance/status", rest_maintenance_status},
	{"/master/machine/down", rest_machine_down},
	{"/master/machine/up", rest_machine_up},
	{"/master/reserve", rest_reserve},
	{"/master/unreserve", rest_unreserve},
	{"/master/create-volumes", rest_create_volumes},
	{"/master/destroy-volumes", rest_destroy_volumes},
	{"/metrics/snapshot", rest_metrics},
	{"/version", rest_version},
	{NULL, NULL},
};
