/* /metrics: what /metrics/snapshot says, in Prometheus' text format. */
#include "master/http/rest/rest.h"
#include "master/http/rest/rest_routes.h"
#include "net/daemon/prometheus_rows.h"

#define OF_FRAMEWORK(kind, pattern, family, labels, help)                                          \
	{                                                                                          \
		"master/frameworks/*/*/" pattern, "mesita_framework_" family, PROMETHEUS_##kind,   \
			PROMETHEUS_PER_FRAMEWORK, 1,                                               \
			"framework=\"$1\",framework_id=\"$2\"" labels, help                        \
	}
#define OF_ROLE(pattern, family, labels, help)                                                     \
	{                                                                                          \
		pattern, "mesita_role_" family, PROMETHEUS_GAUGE, PROMETHEUS_PER_ROLE, 1,          \
			"role=\"$1\"" labels, help                                                 \
	}
#define ALLOCATED(name, family, unit, scale, what)                                                 \
	SCALED("allocator/mesos/resources/" name "/total", "allocator_" family "_capacity" unit,   \
	       scale, NULL, what " that the allocator shares out."),                               \
		SCALED("allocator/mesos/resources/" name "/offered_or_allocated",                  \
		       "allocator_" family "_allocated" unit, scale, NULL,                         \
		       what " offered or in use.")

#define OPERATIONS(state)                                                                          \
	GAUGE("master/operations/*/" state, "master_operations",                                   \
	      "type=\"$1\",state=\"" state "\"", "Operations that are not over.")
#define OPERATIONS_ENDED(state)                                                                    \
	COUNTER("master/operations/*/" state, "master_operations_ended_total",                     \
		"type=\"$1\",state=\"" state "\"", "Operations that are over.")
#define TASKS(state)                                                                               \
	GAUGE("master/tasks_" state, "master_tasks", "state=\"" state "\"",                        \
	      "Tasks that are not over.")
#define TASKS_ENDED(state)                                                                         \
	COUNTER("master/tasks_" state, "master_tasks_ended_total", "state=\"" state "\"",          \
		"Tasks that are over.")
#define QUOTA(pattern, family, help)                                                               \
	OF_ROLE("allocator/mesos/quota/roles/#/resources/*/" pattern, family, ",resource=\"$2\"",  \
		help " (cpus, MB).")

static const struct prometheus_row rows[] = {
	OF_FRAMEWORK(GAUGE, "subscribed", "subscribed", "", "Whether its scheduler is connected."),
	OF_FRAMEWORK(COUNTER, "calls/*", "calls_total", ",call=\"$3\"", "Calls of schedulers."),
	OF_FRAMEWORK(COUNTER, "events/*", "events_total", ",event=\"$3\"", "Events sent to it."),
	OF_FRAMEWORK(COUNTER, "operations/*", "operations_total", ",operation=\"$3\"",
		     "Operations that it asked for."),
	OF_FRAMEWORK(COUNTER, "offers/*", "offers_total", ",what=\"$3\"",
		     "Offers, by what became of them."),
	OF_FRAMEWORK(GAUGE, "tasks/active/task_*", "tasks", ",state=\"$3\"",
		     "Tasks that are not over."),
	OF_FRAMEWORK(COUNTER, "tasks/terminal/task_*", "tasks_ended_total", ",state=\"$3\"",
		     "Tasks that are over."),
	OF_FRAMEWORK(GAUGE, "roles/#/suppressed", "role_suppressed", ",role=\"$3\"",
		     "Whether it wants no offers for the role."),
	LEFT_OUT("master/frameworks/#"),
	GAUGE("master/uptime_secs", "master_uptime_seconds", NULL, "Time since the start."),
	GAUGE("master/elected", "master_elected", NULL, "Whether this master leads."),
	GAUGE("master/outstanding_offers", "master_offers_outstanding", NULL,
	      "Offers that nobody has answered yet."),
	GAUGE("master/operator_event_stream_subscribers", "master_event_stream_subscribers", NULL,
	      "Operators that watch by SUBSCRIBE."),
	GAUGE("master/slaves_*", "master_agents", "state=\"$1\"",
	      "Agents; active and inactive ones are connected or not."),
	RESOURCE("master", "master", "cpus", "cpus", "", 1, "Processors"),
	RESOURCE("master", "master", "gpus", "gpus", "", 1, "Graphics processors"),
	RESOURCE("master", "master", "mem", "memory", "_bytes", MEBIBYTE, "Memory"),
	RESOURCE("master", "master", "disk", "disk", "_bytes", MEBIBYTE, "Disk space"),
	GAUGE("master/frameworks_*", "master_frameworks", "state=\"$1\"",
	      "Frameworks; active and inactive ones are connected or not."),
	TASKS("staging"),
	TASKS("starting"),
	TASKS("running"),
	TASKS("killing"),
	TASKS("unreachable"),
	TASKS_ENDED("finished"),
	TASKS_ENDED("failed"),
	TASKS_ENDED("killed"),
	TASKS_ENDED("lost"),
	TASKS_ENDED("error"),
	TASKS_ENDED("dropped"),
	TASKS_ENDED("gone"),
	TASKS_ENDED("gone_by_operator"),
	COUNTER("master/task_*/source_*/reason_*", "master_task_end_reasons_total",
		"state=\"$1\",source=\"$2\",reason=\"$3\"", "Tasks that are over, by reason."),
	COUNTER("master/messages_*", "master_messages_total", "type=\"$1\"",
		"Messages and calls that came."),
	COUNTER("master/valid_*", "master_messages_checked_total", "type=\"$1\",valid=\"true\"",
		"Messages that were found valid or not."),
	COUNTER("master/invalid_*", "master_messages_checked_total", "type=\"$1\",valid=\"false\"",
		""),
	COUNTER("master/dropped_messages", "master_messages_dropped_total", NULL,
		"Messages that meant nothing at the time."),
	COUNTER("frameworks/#/messages_received", "master_principal_messages_received_total",
		"principal=\"$1\"", "Messages of frameworks of a principal."),
	COUNTER("frameworks/#/messages_processed", "master_principal_messages_processed_total",
		"principal=\"$1\"", "Messages of frameworks of a principal that were acted upon."),
	COUNTER("master/slave_registrations", "master_agent_registrations_total", NULL,
		"Agents that registered for the first time."),
	COUNTER("master/slave_reregistrations", "master_agent_reregistrations_total", NULL,
		"Agents that came back."),
	COUNTER("master/slave_removals", "master_agent_removals_total", NULL,
		"Agents that were removed."),
	COUNTER("master/slave_removals/reason_*", "master_agent_removals_by_reason_total",
		"reason=\"$1\"", "Agents that were removed, by reason."),
	COUNTER("master/recovery_slave_removals", "master_recovery_agent_removals_total", NULL,
		"Agents that did not come back after a restart of the master."),
	COUNTER("master/slave_shutdowns_*", "master_agent_shutdowns_total", "stage=\"$1\"",
		"Shutdowns of agents."),
	COUNTER("master/slave_unreachable_*", "master_agent_unreachable_total", "stage=\"$1\"",
		"Agents that stopped answering."),
	OPERATIONS("pending"),
	OPERATIONS("recovering"),
	OPERATIONS("unreachable"),
	OPERATIONS_ENDED("finished"),
	OPERATIONS_ENDED("failed"),
	OPERATIONS_ENDED("error"),
	OPERATIONS_ENDED("dropped"),
	OPERATIONS_ENDED("gone_by_operator"),
	LEFT_OUT("master/operations/#"),
	GAUGE("master/reads/processes", "master_read_processes", NULL,
	      "Processes that answer big reads."),
	GAUGE("master/reads/processes_bytes", "master_read_processes_bytes", NULL,
	      "Answers that they hold."),
	COUNTER("master/reads/processes_made", "master_read_processes_made_total", NULL,
		"Processes made to answer big reads."),
	GAUGE("master/standbys_ready", "master_standbys_ready", NULL,
	      "Masters that follow and whose copy is complete, as the leader counts them."),
	COUNTER("master/reads/failed", "master_reads_failed_total", NULL,
		"Big reads that were not answered whole."),
	/* Both are never anything but 0: the next event is read when the one before is done. */
	LEFT_OUT("master/event_queue_*"),
	LEFT_OUT("master/http_cache_hits"),
	GAUGE("registrar/queued_operations", "registrar_queued_operations", NULL,
	      "Changes of the registry that are not stored yet."),
	GAUGE("registrar/registry_size_bytes", "registrar_registry_size_bytes", NULL,
	      "Size of the registry."),
	SCALED("registrar/state_fetch_ms", "registrar_state_fetch_seconds", 0.001, NULL,
	       "What reading the stores took at the start."),
	LEFT_OUT("registrar/state_store_ms"),
	LEFT_OUT("registrar/state_store_ms/*"),
	LEFT_OUT("registrar/log/*"),
	COUNTER("allocator/mesos/allocation_runs", "allocator_runs_total", NULL,
		"Runs of the allocator."),
	LEFT_OUT("allocator/mesos/allocation_run_#"),
	LEFT_OUT("allocator/event_queue_dispatches"),
	LEFT_OUT("allocator/mesos/event_queue_dispatches"),
	ALLOCATED("cpus", "cpus", "", 1, "Processors"),
	ALLOCATED("mem", "memory", "_bytes", MEBIBYTE, "Memory"),
	ALLOCATED("disk", "disk", "_bytes", MEBIBYTE, "Disk space"),
	OF_ROLE("allocator/mesos/roles/#/shares/dominant", "dominant_share", "",
		"Its dominant share of the cluster, of 1."),
	OF_ROLE("allocator/mesos/offer_filters/roles/#/active", "offer_filters", "",
		"Filters of declined offers."),
	QUOTA("guarantee", "quota_guarantee", "What is kept for it"),
	QUOTA("limit", "quota_limit", "What it may have at most"),
	QUOTA("consumed", "quota_consumed", "What it has of its quota"),
	QUOTA("offered_or_allocated", "quota_allocated", "What it is offered or uses"),
	SYSTEM,
};

static void write_histograms(const struct shell *shell, struct buf *out)
{
	prometheus_histogram(out, "mesita_allocator_run_duration_seconds",
			     "How long runs of the allocator take.",
			     &shell->allocation_timing.since_start);
	prometheus_histogram(out, "mesita_allocator_run_latency_seconds",
			     "Time from an event to the run of the allocator that it causes.",
			     &shell->latency_timing.since_start);
	prometheus_histogram(out, "mesita_registrar_store_duration_seconds",
			     "How long changes of the registry take to be stored.",
			     &shell->store_timing.since_start);
}

static void render_prometheus(const struct offload_read *read, struct buf *body,
			      const char **content_type)
{
	struct prometheus prometheus = {
		.arena = &read->request->arena,
		.rows = rows,
		.row_count = sizeof(rows) / sizeof(rows[0]),
		.groups = prometheus_groups(read->request),
	};

	(void)content_type;
	prometheus_build(body, "master", MESITA_VERSION);
	metrics_each(read->context, prometheus_add, &prometheus);
	prometheus_write(&prometheus, body);
	write_histograms(read->context, body);
}

void rest_prometheus(void *context, struct http_request *request)
{
	struct shell *shell = context;
	struct offload_read read = {
		.request = request,
		.render = render_prometheus,
		.context = shell,
		.content_type = PROMETHEUS_TYPE,
	};

	if (shell_allows(shell, request, ACL_GET_ENDPOINT, "/metrics/snapshot"))
		read_any(shell, &read, metrics_objects(shell));
}
