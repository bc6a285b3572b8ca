/* /metrics/snapshot: every counter and gauge of a Mesos master that this one
 * has, from the start, sorted by name. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocator/allocator_looks.h"
#include "base/time/duration.h"
#include "master/core/sums.h"
#include "master/http/rest/rest.h"
#include "master/http/rest/rest_routes.h"
#include "net/daemon/system_stats.h"

/* Some hundred metrics are the work of ten other objects. */
#define METRICS_OF_A_FRAMEWORK 10

typedef void metric_fn(void *context, const char *name, double value);

/* ---- gauges -------------------------------------------------------------- */

static void resource_metrics(const struct cluster_sums *sums, metric_fn *each, void *context)
{
	char name[64];

	for (int i = 0; i < SUMS_NAMES; i++) {
		for (int revocable = 0; revocable < 2; revocable++) {
			const char *infix = revocable ? "_revocable" : "";
			double total = (double)sums->total[revocable][i] / 1000;
			double used = (double)sums->used[revocable][i] / 1000;

			snprintf(name, sizeof(name), "master/%s%s_total", sums_names[i], infix);
			each(context, name, total);
			snprintf(name, sizeof(name), "master/%s%s_used", sums_names[i], infix);
			each(context, name, used);
			snprintf(name, sizeof(name), "master/%s%s_percent", sums_names[i], infix);
			each(context, name, total > 0 ? used / total : 0);
		}
	}
}

static void agent_metrics(const struct master *m, const struct master_sums *sums, metric_fn *each,
			  void *context)
{
	size_t connected = m->agents_in[AGENT_CONNECTED];
	size_t disconnected = m->agents_in[AGENT_DISCONNECTED];
	size_t active = sums->agents.active;

	each(context, "master/slaves_connected", (double)connected);
	each(context, "master/slaves_disconnected", (double)disconnected);
	each(context, "master/slaves_active", (double)active);
	each(context, "master/slaves_inactive", (double)(connected + disconnected - active));
	each(context, "master/slaves_unreachable", HASH_COUNT(m->unreachable));
	resource_metrics(&sums->agents, each, context);
}

static void framework_metrics(const struct master *m, const struct master_sums *sums,
			      metric_fn *each, void *context)
{
	size_t all = HASH_COUNT(m->frameworks);

	each(context, "master/frameworks_connected", (double)sums->frameworks_connected);
	each(context, "master/frameworks_disconnected", (double)(all - sums->frameworks_connected));
	each(context, "master/frameworks_active", (double)sums->frameworks_active);
	each(context, "master/frameworks_inactive", (double)(all - sums->frameworks_active));
}

static void task_metrics(const struct master *m, metric_fn *each, void *context)
{
	const struct {
		const char *name;
		Mesos__TaskState state;
	} states[] = {
		{"master/tasks_staging", MESOS__TASK_STATE__TASK_STAGING},
		{"master/tasks_starting", MESOS__TASK_STATE__TASK_STARTING},
		{"master/tasks_running", MESOS__TASK_STATE__TASK_RUNNING},
		{"master/tasks_killing", MESOS__TASK_STATE__TASK_KILLING},
		{"master/tasks_unreachable", MESOS__TASK_STATE__TASK_UNREACHABLE},
	};

	for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++)
		each(context, states[i].name, (double)m->sums.task_states[states[i].state]);
	for (struct reason_counter *r = m->reasons; r; r = r->hh.next)
		each(context, r->name, (double)r->value);
}

static void counter_metrics(const struct master *m, metric_fn *each, void *context)
{
#define EACH_COUNTER(field, name) each(context, name, (double)m->counters.field);
	MASTER_COUNTERS(EACH_COUNTER)
#undef EACH_COUNTER
}

/* ---- per framework ------------------------------------------------------- */

/* Bytes of a framework's name that its metrics, some hundred, carry; its id follows. */
#define FRAMEWORK_NAME_SHOWN 255

/* Percent-encodes what a metric name must not hold (upper-case hex). */
static void put_encoded(struct buf *out, const char *text)
{
	const unsigned char *begin = (const unsigned char *)text;

	for (const unsigned char *c = begin; *c && c - begin < FRAMEWORK_NAME_SHOWN; c++) {
		if (*c > 0x20 && *c < 0x7f && !strchr("!*'();:@&=+$,/?#[]%\"<>\\^`{|}", *c))
			buf_putc(out, (char)*c);
		else
			buf_printf(out, "%%%02X", *c);
	}
}

static void lower_name(char *out, size_t size, const char *name)
{
	size_t i = 0;

	for (; name[i] && i + 1 < size; i++)
		out[i] = (name[i] >= 'A' && name[i] <= 'Z') ? (char)(name[i] + 32) : name[i];
	out[i] = 0;
}

struct prefixed {
	struct buf name;
	size_t prefix;
	metric_fn *each;
	void *context;
};

static void put_metric(struct prefixed *p, const char *group, const char *member, double value)
{
	char lower[64];

	lower_name(lower, sizeof(lower), member);
	p->name.len = p->prefix;
	buf_printf(&p->name, "%s%s%s", group, *member ? "/" : "", lower);
	p->each(p->context, p->name.data, value);
}

/* One counter for each value of an enum but UNKNOWN, and their sum. */
static void put_enum(struct prefixed *p, const char *group, const ProtobufCEnumDescriptor *type,
		     const uint64_t *counts, size_t cap)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < type->n_values; i++) {
		int value = type->values[i].value;

		if (value < 0 || (size_t)value >= cap || !strcmp(type->values[i].name, "UNKNOWN"))
			continue;
		sum += counts[value];
		put_metric(p, group, type->values[i].name, (double)counts[value]);
	}
	put_metric(p, group, "", (double)sum);
}

static void put_framework_tasks(struct prefixed *p, const struct framework *f)
{
	const ProtobufCEnumDescriptor *type = &mesos__task_state__descriptor;
	for (unsigned i = 0; i < type->n_values; i++) {
		Mesos__TaskState state = (Mesos__TaskState)type->values[i].value;

		if (task_state_terminal(state))
			put_metric(p, "tasks/terminal", type->values[i].name,
				   (double)f->counters.terminal[state]);
		else
			put_metric(p, "tasks/active", type->values[i].name,
				   (double)f->sums.task_states[state]);
	}
}

static void put_framework_roles(struct prefixed *p, const struct framework *f)
{
	for (size_t i = 0; i < f->role_count; i++) {
		bool suppressed = false;

		for (size_t j = 0; j < f->suppressed_count; j++)
			suppressed = suppressed || !strcmp(f->suppressed[j], f->roles[i]);
		p->name.len = p->prefix;
		buf_printf(&p->name, "roles/%s/suppressed", f->roles[i]);
		p->each(p->context, p->name.data, suppressed);
	}
}

static void one_framework(const struct framework *f, metric_fn *each, void *context)
{
	struct prefixed p = {.each = each, .context = context};

	buf_puts(&p.name, "master/frameworks/");
	put_encoded(&p.name, f->info->name);
	buf_printf(&p.name, "/%s/", f->id);
	p.prefix = p.name.len;
	put_metric(&p, "subscribed", "", framework_connected(f));
	put_enum(&p, "calls", &mesos__scheduler__call__type__descriptor, f->counters.calls,
		 MASTER_CALL_TYPES);
	put_enum(&p, "events", &mesos__scheduler__event__type__descriptor, f->counters.events,
		 MASTER_EVENT_TYPES);
	put_enum(&p, "operations", &mesos__offer__operation__type__descriptor,
		 f->counters.operations, MASTER_OPERATION_TYPES);
	put_metric(&p, "offers/sent", "", (double)f->counters.offers_sent);
	put_metric(&p, "offers/accepted", "", (double)f->counters.offers_accepted);
	put_metric(&p, "offers/declined", "", (double)f->counters.offers_declined);
	put_metric(&p, "offers/rescinded", "", (double)f->counters.offers_rescinded);
	put_framework_tasks(&p, f);
	put_framework_roles(&p, f);
	buf_free(&p.name);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Messages of drivers, by the principals of those that are registered. */
static void principal_metrics(const struct shell *shell, metric_fn *each, void *context)
{
	const struct master *m = shell->steps.core;
	size_t count = 0;
	const char **principals = xcalloc(HASH_CNT(hh_driver, m->drivers) + 1, sizeof(*principals));
	struct buf name = BUF_INIT;

	for (const struct framework *f = m->drivers; f; f = f->hh_driver.next) {
		if (f->info->principal && *f->info->principal)
			principals[count++] = f->info->principal;
	}
	qsort(principals, count, sizeof(*principals), compare_texts);
	for (size_t i = 0; i < count; i++) {
		uint64_t received, processed;

		if (i && !strcmp(principals[i], principals[i - 1]))
			continue;
		rate_limits_counts(shell->rate_limits, principals[i], &received, &processed);
		buf_clear(&name);
		buf_printf(&name, "frameworks/%s/messages_received", principals[i]);
		each(context, name.data, (double)received);
		buf_clear(&name);
		buf_printf(&name, "frameworks/%s/messages_processed", principals[i]);
		each(context, name.data, (double)processed);
	}
	buf_free(&name);
	free(principals);
}

/* ---- operations ----------------------------------------------------------- */

#define STATE(name) MESOS__OPERATION_STATE__OPERATION_##name

static void operation_type_metrics(const char *prefix, const uint64_t *states, metric_fn *each,
				   void *context)
{
	static const struct {
		const char *name;
		int state;
	} shown[] = {
		{"pending", STATE(PENDING)},	     {"recovering", STATE(RECOVERING)},
		{"unreachable", STATE(UNREACHABLE)}, {"finished", STATE(FINISHED)},
		{"failed", STATE(FAILED)},	     {"error", STATE(ERROR)},
		{"dropped", STATE(DROPPED)},	     {"gone_by_operator", STATE(GONE_BY_OPERATOR)},
	};
	uint64_t total = 0;
	char name[96];

	for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++) {
		snprintf(name, sizeof(name), "master/operations/%s%s", prefix, shown[i].name);
		each(context, name, (double)states[shown[i].state]);
	}
	for (size_t i = 0; i < MASTER_OPERATION_STATES; i++)
		total += states[i];
	snprintf(name, sizeof(name), "master/operations/%stotal", prefix);
	each(context, name, (double)total);
}

static void operation_metrics(const struct master *m, metric_fn *each, void *context)
{
	static const struct {
		const char *prefix;
		int type;
	} shown[] = {
#define SHOWN(prefix, name) {prefix, MESOS__OFFER__OPERATION__TYPE__##name}
		SHOWN("create/", CREATE),	    SHOWN("create_disk/", CREATE_DISK),
		SHOWN("destroy/", DESTROY),	    SHOWN("destroy_disk/", DESTROY_DISK),
		SHOWN("reserve/", RESERVE),	    SHOWN("unreserve/", UNRESERVE),
		SHOWN("grow_volume/", GROW_VOLUME), SHOWN("shrink_volume/", SHRINK_VOLUME),
#undef SHOWN
	};
	uint64_t all[MASTER_OPERATION_STATES] = {0};

	for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++) {
		const uint64_t *states = m->operation_states[shown[i].type];

		operation_type_metrics(shown[i].prefix, states, each, context);
		for (size_t j = 0; j < MASTER_OPERATION_STATES; j++)
			all[j] += states[j];
	}
	operation_type_metrics("", all, each, context);
}

/* ---- allocator ------------------------------------------------------------ */

static const char *const allocated[] = {"cpus", "disk", "mem"};

struct figures {
	struct buf name;
	double total[3], held[3];
	metric_fn *each;
	void *context;
};

static void take_figure(void *context, const struct allocator_figure *figure)
{
	struct figures *f = context;
	double *of_all = figure->kind == ALLOCATOR_FIGURE_TOTAL ? f->total : f->held;

	buf_clear(&f->name);
	switch (figure->kind) {
	case ALLOCATOR_FIGURE_TOTAL:
	case ALLOCATOR_FIGURE_HELD:
		for (int i = 0; i < 3; i++) {
			if (!strcmp(figure->resource, allocated[i]))
				of_all[i] = figure->value;
		}
		return;
	case ALLOCATOR_FIGURE_SHARE:
		buf_printf(&f->name, "allocator/mesos/roles/%s/shares/dominant", figure->role);
		break;
	case ALLOCATOR_FIGURE_FILTERS:
		buf_printf(&f->name, "allocator/mesos/offer_filters/roles/%s/active", figure->role);
		break;
	case ALLOCATOR_FIGURE_CHARGED:
		buf_printf(&f->name, "allocator/mesos/quota/roles/%s/resources/%s/consumed",
			   figure->role, figure->resource);
		break;
	}
	f->each(f->context, f->name.data, figure->value);
}

static void share_metrics(const struct master *m, metric_fn *each, void *context)
{
	struct figures f = {.each = each, .context = context};
	char name[80];

	allocator_figures(m->allocator, take_figure, &f);
	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "allocator/mesos/resources/%s/total", allocated[i]);
		each(context, name, f.total[i]);
		snprintf(name, sizeof(name), "allocator/mesos/resources/%s/offered_or_allocated",
			 allocated[i]);
		each(context, name, f.held[i]);
	}
	buf_free(&f.name);
}

static void allocator_metrics(const struct shell *shell, metric_fn *each, void *context)
{
	const struct master *m = shell->steps.core;

	timing_metrics(&shell->latency_timing, (int64_t)uv_hrtime(),
		       "allocator/mesos/allocation_run_latency_ms", each, context);
	/* What is to be done for the allocator is done before the next event is read. */
	each(context, "allocator/event_queue_dispatches", 0);
	each(context, "allocator/mesos/event_queue_dispatches", 0);
	timing_metrics(&shell->allocation_timing, (int64_t)uv_hrtime(),
		       "allocator/mesos/allocation_run_ms", each, context);
	share_metrics(m, each, context);
	metrics_quota(m, each, context);
}

/* ---- the store ------------------------------------------------------------ */

static void registrar_metrics(const struct shell *shell, metric_fn *each, void *context)
{
	each(context, "registrar/queued_operations",
	     (double)shell_store_queued(shell, LINE_REGISTRY));
	each(context, "registrar/registry_size_bytes",
	     shell->stores[LINE_REGISTRY] ? (double)store_size(shell->stores[LINE_REGISTRY]) : 0);
	each(context, "registrar/log/recovered", 1);
	each(context, "registrar/log/ensemble_size", 1);
	each(context, "registrar/state_fetch_ms", shell->fetch_ms);
	timing_metrics(&shell->store_timing, (int64_t)uv_hrtime(), "registrar/state_store_ms", each,
		       context);
}

/* ---- the host ------------------------------------------------------------ */

/* Of the processes that answer big reads: they are not in the master's own memory. */
static void read_metrics(const struct shell *shell, metric_fn *each, void *context)
{
	struct offload_counts counts = offload_counts(shell->offload);

	each(context, "master/reads/processes", (double)counts.now);
	each(context, "master/reads/processes_bytes", (double)counts.bytes);
	each(context, "master/reads/processes_made", (double)counts.children);
	each(context, "master/reads/failed", (double)counts.failed);
}

static void system_metrics(metric_fn *each, void *context)
{
	struct system_stats stats;

	system_stats_read(&stats);
	if (stats.has_load) {
		each(context, "system/load_1min", stats.load[0]);
		each(context, "system/load_5min", stats.load[1]);
		each(context, "system/load_15min", stats.load[2]);
	}
	each(context, "system/cpus_total", stats.cpus);
	if (stats.has_memory) {
		each(context, "system/mem_total_bytes", stats.memory_total);
		each(context, "system/mem_free_bytes", stats.memory_free);
	}
}

void metrics_each(const struct shell *shell, metric_fn *each, void *context)
{
	struct master *m = shell->steps.core;
	const struct master_sums *sums = sums_now(m);
	/* Metrics are for everybody who may ask for them. */
	struct view view = {.m = m};
	const struct framework *f = NULL;

	each(context, "master/uptime_secs", clock_seconds((int64_t)uv_hrtime() - shell->began));
	each(context, "master/elected", m->elected_time != 0);
	each(context, "master/standbys_ready",
	     shell->followers ? (double)followers_counted(shell->followers) : 0);
	each(context, "master/outstanding_offers", HASH_COUNT(m->offers));
	each(context, "master/operator_event_stream_subscribers", (double)shell->watcher_count);
	/* Each event is done before the next is read: there is never a backlog. */
	each(context, "master/event_queue_messages", 0);
	each(context, "master/event_queue_dispatches", 0);
	each(context, "master/event_queue_http_requests", 0);
	each(context, "master/http_cache_hits", 0);
	registrar_metrics(shell, each, context);
	operation_metrics(m, each, context);
	allocator_metrics(shell, each, context);
	agent_metrics(m, sums, each, context);
	framework_metrics(m, sums, each, context);
	task_metrics(m, each, context);
	counter_metrics(m, each, context);
	if (shell->flags->publish_per_framework_metrics)
		while ((f = view_next_framework(&view, f)))
			one_framework(f, each, context);
	principal_metrics(shell, each, context);
	read_metrics(shell, each, context);
	system_metrics(each, context);
}

/* ---- the answer ---------------------------------------------------------- */

struct metric {
	char *name;
	double value;
};

struct metric_list {
	struct arena *arena;
	struct metric *items;
	size_t count;
	size_t cap;
};

static void metrics_collect(void *context, const char *name, double value)
{
	struct metric_list *list = context;

	if (list->count == list->cap) {
		list->cap = list->cap ? 2 * list->cap : 256;
		list->items = xrealloc(list->items, list->cap * sizeof(*list->items));
	}
	list->items[list->count++] = (struct metric){arena_strdup(list->arena, name), value};
}

static int compare_metrics(const void *a, const void *b)
{
	return strcmp(((const struct metric *)a)->name, ((const struct metric *)b)->name);
}

/* What is asked for is at hand: the time a client wants to wait only has to be one. */
static bool check_timeout(struct http_request *request)
{
	const char *text = http_query(request, "timeout");
	struct err err = {{0}};
	int64_t timeout;

	if (!text || duration_parse(text, &timeout, &err) == 0)
		return true;
	http_reply_text(
		request, 400,
		arena_printf(&request->arena, "Invalid timeout '%s': %s.\n", text, err.text));
	return false;
}

size_t metrics_objects(const struct shell *shell)
{
	const struct master *m = shell->steps.core;

	return (HASH_COUNT(m->frameworks)) * METRICS_OF_A_FRAMEWORK +
	       allocator_role_count(m->allocator);
}

static void render_metrics(const struct offload_read *read, struct buf *body,
			   const char **content_type)
{
	struct metric_list list = {.arena = &read->request->arena};
	struct json_writer w;

	metrics_each(read->context, metrics_collect, &list);
	qsort(list.items, list.count, sizeof(*list.items), compare_metrics);
	router_begin_json(read->request, body, content_type);
	jw_init(&w, body);
	jw_begin_object(&w);
	for (size_t i = 0; i < list.count; i++)
		jw_kv_double(&w, list.items[i].name, list.items[i].value);
	jw_end_object(&w);
	router_end_json(read->request, body);
	free(list.items);
}

void rest_metrics(void *context, struct http_request *request)
{
	struct shell *shell = context;
	struct offload_read read = {
		.request = request,
		.render = render_metrics,
		.context = shell,
		.content_type = http_media_name(HTTP_MEDIA_JSON),
	};

	if (shell_allows(shell, request, ACL_GET_ENDPOINT, "/metrics/snapshot") &&
	    check_timeout(request))
		read_any(shell, &read, metrics_objects(shell));
}
