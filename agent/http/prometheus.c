/* /metrics: what /metrics/snapshot says, in Prometheus' text format. */
#include "agent/shell.h"

#include "net/daemon/prometheus_rows.h"

#define TASKS(state)                                                                               \
	GAUGE("slave/tasks_" state, "agent_tasks", "state=\"" state "\"",                          \
	      "Tasks that are not over.")
#define TASKS_ENDED(state)                                                                         \
	COUNTER("slave/tasks_" state, "agent_tasks_ended_total", "state=\"" state "\"",            \
		"Tasks that are over.")
#define EXECUTORS(state)                                                                           \
	GAUGE("slave/executors_" state, "agent_executors", "state=\"" state "\"", "Executors.")

static const struct prometheus_row rows[] = {
	GAUGE("slave/uptime_secs", "agent_uptime_seconds", NULL, "Time since the start."),
	GAUGE("slave/registered", "agent_registered", NULL,
	      "Whether the agent is registered with a master."),
	GAUGE("slave/recovery_errors", "agent_recovery_errors", NULL,
	      "What could not be recovered at the start."),
	GAUGE("slave/recovery_time_secs", "agent_recovery_seconds", NULL,
	      "What recovery took at the start."),
	GAUGE("slave/frameworks_active", "agent_frameworks", NULL,
	      "Frameworks that have something here."),
	TASKS("staging"),
	TASKS("starting"),
	TASKS("running"),
	TASKS("killing"),
	TASKS_ENDED("finished"),
	TASKS_ENDED("failed"),
	TASKS_ENDED("killed"),
	TASKS_ENDED("lost"),
	TASKS_ENDED("gone"),
	EXECUTORS("registering"),
	EXECUTORS("running"),
	EXECUTORS("terminating"),
	COUNTER("slave/executors_terminated", "agent_executors_ended_total", "how=\"terminated\"",
		"Executors that are over."),
	COUNTER("slave/executors_preempted", "agent_executors_ended_total", "how=\"preempted\"",
		""),
	COUNTER("slave/valid_*", "agent_messages_checked_total", "type=\"$1\",valid=\"true\"",
		"Messages that were found valid or not."),
	COUNTER("slave/invalid_*", "agent_messages_checked_total", "type=\"$1\",valid=\"false\"",
		""),
	GAUGE("slave/executor_directory_max_allowed_age_secs", "agent_sandbox_age_limit_seconds",
	      NULL, "Age at which sandboxes of what is over are removed."),
	COUNTER("slave/container_launch_errors", "agent_container_launch_errors_total", NULL,
		"Containers that could not be launched."),
	COUNTER("containerizer/mesos/container_destroy_errors",
		"agent_container_destroy_errors_total", NULL,
		"Containers that could not be destroyed."),
	RESOURCE("slave", "agent", "cpus", "cpus", "", 1, "Processors"),
	RESOURCE("slave", "agent", "gpus", "gpus", "", 1, "Graphics processors"),
	RESOURCE("slave", "agent", "mem", "memory", "_bytes", MEBIBYTE, "Memory"),
	RESOURCE("slave", "agent", "disk", "disk", "_bytes", MEBIBYTE, "Disk space"),
	GAUGE("gc/path_removals_pending", "agent_gc_paths_pending", NULL,
	      "Paths that wait to be removed."),
	COUNTER("gc/path_removals_succeeded", "agent_gc_paths_total", "result=\"succeeded\"",
		"Paths that were to be removed."),
	COUNTER("gc/path_removals_failed", "agent_gc_paths_total", "result=\"failed\"", ""),
	COUNTER("containerizer/fetcher/task_fetches_succeeded", "agent_fetches_total",
		"result=\"succeeded\"", "Tasks whose files were to be fetched."),
	COUNTER("containerizer/fetcher/task_fetches_failed", "agent_fetches_total",
		"result=\"failed\"", ""),
	GAUGE("containerizer/fetcher/cache_size_total_bytes", "agent_fetcher_cache_limit_bytes",
	      NULL, "What the fetcher may keep."),
	GAUGE("containerizer/fetcher/cache_size_used_bytes", "agent_fetcher_cache_bytes", NULL,
	      "What the fetcher keeps."),
	SYSTEM,
};

static void render_prometheus(const struct offload_read *read, struct buf *body,
			      const char **content_type)
{
	struct prometheus prometheus = {
		.arena = &read->request->arena,
		.rows = rows,
		.row_count = sizeof(rows) / sizeof(rows[0]),
	};

	(void)content_type;
	prometheus_build(body, "agent", MESITA_VERSION);
	agent_metrics_each(read->context, prometheus.arena, prometheus_add, &prometheus);
	prometheus_write(&prometheus, body);
}

void agent_rest_prometheus(void *context, struct http_request *request)
{
	struct offload_read read = {
		.request = request,
		.render = render_prometheus,
		.context = context,
		.content_type = PROMETHEUS_TYPE,
	};

	if (agent_shell_allows(context, request, ACL_GET_ENDPOINT, "/metrics/snapshot"))
		agent_shell_read(context, &read, false);
}
