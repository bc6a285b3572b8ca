/* Which handler serves which path of the master. */
#include "master/rest.h"

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
	{"/metrics/snapshot", rest_metrics},
	{"/version", rest_version},
	{NULL, NULL},
};
