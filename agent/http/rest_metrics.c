/* /metrics/snapshot: what the core counts, what containers and garbage collection count,
 * and the machine; every name of Mesos that mesita has a meaning for is there from the
 * start, sorted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/containers/fetch/fetch_cache.h"
#include "agent/shell.h"
#include "base/time/clock.h"
#include "net/daemon/system_stats.h"

struct metric {
	const char *name;
	double value;
};

struct metric_list {
	struct metric *items;
	size_t count;
	size_t cap;
	struct arena *arena; /* for names */
};

static void rest_metrics_add(void *context, const char *name, double value)
{
	struct metric_list *list = context;

	if (list->count == list->cap) {
		list->cap = list->cap ? 2 * list->cap : 128;
		list->items = xrealloc(list->items, list->cap * sizeof(*list->items));
	}
	list->items[list->count++] = (struct metric){arena_strdup(list->arena, name), value};
}

/* Nobody estimates what could be oversubscribed: there are no revocable resources. */
static void add_revocable(struct metric_list *list)
{
	static const char *const names[] = {"cpus", "gpus", "mem", "disk"};
	static const char *const parts[] = {"total", "used", "percent"};
	char name[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		for (size_t j = 0; j < sizeof(parts) / sizeof(*parts); j++) {
			snprintf(name, sizeof(name), "slave/%s_revocable_%s", names[i], parts[j]);
			rest_metrics_add(list, name, 0);
		}
	}
}

static void add_parts(const struct agent_shell *shell, struct metric_list *list)
{
	const struct containers_counters *containers = containers_counters(shell->containers);
	struct gc_counters gc = gc_counters(shell->gc);
	uint64_t total, used;

	rest_metrics_add(list, "containerizer/fetcher/task_fetches_succeeded",
			 (double)containers->fetches_succeeded);
	rest_metrics_add(list, "containerizer/fetcher/task_fetches_failed",
			 (double)containers->fetches_failed);
	fetch_cache_sizes(shell->cache, &total, &used);
	rest_metrics_add(list, "containerizer/fetcher/cache_size_total_bytes", (double)total);
	rest_metrics_add(list, "containerizer/fetcher/cache_size_used_bytes", (double)used);
	rest_metrics_add(list, "containerizer/mesos/container_destroy_errors",
			 (double)containers->destroy_errors);
	rest_metrics_add(list, "gc/path_removals_pending", (double)gc.pending);
	rest_metrics_add(list, "gc/path_removals_succeeded", (double)gc.succeeded);
	rest_metrics_add(list, "gc/path_removals_failed", (double)gc.failed);
	rest_metrics_add(list, "slave/executor_directory_max_allowed_age_secs",
			 (double)gc_max_age(shell->gc) / SECOND);
}

static void add_system(struct metric_list *list)
{
	struct system_stats stats;

	system_stats_read(&stats);
	if (stats.has_load) {
		rest_metrics_add(list, "system/load_1min", stats.load[0]);
		rest_metrics_add(list, "system/load_5min", stats.load[1]);
		rest_metrics_add(list, "system/load_15min", stats.load[2]);
	}
	rest_metrics_add(list, "system/cpus_total", stats.cpus);
	if (stats.has_memory) {
		rest_metrics_add(list, "system/mem_total_bytes", stats.memory_total);
		rest_metrics_add(list, "system/mem_free_bytes", stats.memory_free);
	}
}

static int compare_metric(const void *a, const void *b)
{
	return strcmp(((const struct metric *)a)->name, ((const struct metric *)b)->name);
}

void agent_metrics_each(const struct agent_shell *shell, struct arena *arena,
			void (*each)(void *context, const char *name, double value), void *context)
{
	struct metric_list list = {.arena = arena};

	agent_each_metric(shell->steps.core, rest_metrics_add, &list);
	rest_metrics_add(&list, "slave/registered", agent_registered(shell->steps.core));
	rest_metrics_add(&list, "slave/uptime_secs",
			 clock_seconds((int64_t)uv_hrtime() - shell->began));
	add_revocable(&list);
	add_parts(shell, &list);
	add_system(&list);
	qsort(list.items, list.count, sizeof(*list.items), compare_metric);
	for (size_t i = 0; i < list.count; i++)
		if (!i || strcmp(list.items[i].name, list.items[i - 1].name))
			each(context, list.items[i].name, list.items[i].value);
	free(list.items);
}

static void write_metric(void *context, const char *name, double value)
{
	jw_kv_double(context, name, value);
}

static void render_metrics(const struct offload_read *read, struct buf *body,
			   const char **content_type)
{
	struct json_writer w;

	router_begin_json(read->request, body, content_type);
	jw_init(&w, body);
	jw_begin_object(&w);
	agent_metrics_each(read->context, &read->request->arena, write_metric, &w);
	jw_end_object(&w);
	router_end_json(read->request, body);
}

void agent_rest_metrics(void *context, struct http_request *request)
{
	struct offload_read read = {
		.request = request,
		.render = render_metrics,
		.context = context,
		.content_type = http_media_name(HTTP_MEDIA_JSON),
	};

	if (agent_shell_allows(context, request, ACL_GET_ENDPOINT, "/metrics/snapshot"))
		agent_shell_read(context, &read, false);
}
