/* The master's read endpoints /state, /slaves, /frameworks, /tasks and the small
 * ones. */
#include "master/http/rest/rest.h"
#include "master/http/rest/rest_routes.h"
#include "net/daemon/help.h"
#include "net/daemon/system_stats.h"

#include <stdlib.h>
#include <string.h>

/* A JSON answer under construction. */
struct answer {
	struct buf body;
	struct json_writer w;
};

static struct json_writer *answer_begin(struct answer *answer)
{
	answer->body = BUF_INIT;
	jw_init(&answer->w, &answer->body);
	jw_begin_object(&answer->w);
	return &answer->w;
}

static void answer_send(struct answer *answer, struct http_request *request)
{
	jw_end_object(&answer->w);
	router_reply_json(request, &answer->body);
	buf_free(&answer->body);
}

static void write_agents(struct json_writer *w, const struct view *v, const char *only, bool full)
{
	const struct agent *a = NULL;

	jw_key(w, "slaves");
	jw_begin_array(w);
	while ((a = view_next_agent(v, a))) {
		if (!agent_registered(a) || (only && strcmp(only, a->id)))
			continue;
		jw_begin_object(w);
		rest_write_agent_members(w, v, a, full);
		jw_end_object(w);
	}
	jw_end_array(w);
	jw_key(w, "recovered_slaves");
	jw_begin_array(w);
	while ((a = view_next_agent(v, a)))
		if (a->state == AGENT_RECOVERED && (!only || !strcmp(only, a->id)))
			rest_write_recovered_agent(w, a);
	jw_end_array(w);
}

static void rest_state_write_frameworks(struct json_writer *w, const struct view *v,
					const char *only)
{
	const struct framework *f = NULL;

	jw_key(w, "frameworks");
	jw_begin_array(w);
	while ((f = view_next_framework(v, f)))
		if (!only || !strcmp(only, f->id))
			rest_write_framework(w, v, f);
	jw_end_array(w);
	jw_key(w, "completed_frameworks");
	jw_begin_array(w);
	while ((f = view_next_completed(v, f)))
		if (!only || !strcmp(only, f->id))
			rest_write_framework(w, v, f);
	jw_end_array(w);
}

static void write_empty_array(struct json_writer *w, const char *key)
{
	jw_key(w, key);
	jw_begin_array(w);
	jw_end_array(w);
}

/* "flags", and the members that are shown beside them. */
static void write_flags(struct json_writer *w, const struct shell *shell, const struct view *v)
{
	if (!view_allows(v, ACL_VIEW_FLAGS, NULL))
		return;
	if (shell->flags->cluster)
		jw_kv_string(w, "cluster", shell->flags->cluster);
	if (shell->flags->log_dir)
		jw_kv_string(w, "log_dir", shell->flags->log_dir);
	if (shell->flags->external_log_file)
		jw_kv_string(w, "external_log_file", shell->flags->external_log_file);
	jw_key(w, "flags");
	flags_json(&shell->flags->parsed, w);
}

static void write_agent_counts(struct json_writer *w, const struct view *v)
{
	const struct agent *a = NULL;
	size_t active = 0, inactive = 0;

	while ((a = view_next_agent(v, a)))
		if (agent_registered(a))
			*(agent_active(a) ? &active : &inactive) += 1;
	jw_kv_double(w, "activated_slaves", (double)active);
	jw_kv_double(w, "deactivated_slaves", (double)inactive);
	jw_kv_double(w, "unreachable_slaves", HASH_COUNT(v->m->unreachable));
}

static void write_leader(struct json_writer *w, const struct master *m)
{
	jw_kv_string(w, "leader", m->pid);
	jw_key(w, "leader_info");
	jw_begin_object(w);
	jw_kv_string(w, "id", m->info->id);
	jw_kv_string(w, "pid", m->pid);
	jw_kv_int(w, "port", m->info->port);
	jw_kv_string(w, "hostname", m->info->hostname);
	if (m->info->domain) {
		jw_key(w, "domain");
		endpoint_write_domain(w, m->info->domain);
	}
	jw_end_object(w);
}

static void write_identity(struct json_writer *w, const struct shell *shell)
{
	const struct master *m = shell->steps.core;

	endpoint_write_version(w);
	jw_kv_double(w, "start_time", clock_seconds(shell->start_time));
	if (m->elected_time)
		jw_kv_double(w, "elected_time", clock_seconds(m->elected_time));
	jw_kv_string(w, "id", m->info->id);
	jw_kv_string(w, "pid", m->pid);
	jw_kv_string(w, "hostname", m->info->hostname);
	jw_key(w, "capabilities");
	jw_begin_array(w);
	for (size_t i = 0; i < m->info->n_capabilities; i++)
		jw_string(w, proto_enum_name(&mesos__master_info__capability__type__descriptor,
					     m->info->capabilities[i]->type, SPELL_V0));
	jw_end_array(w);
}

static size_t count_objects(const struct view *v)
{
	return view_count_tasks(v) + HASH_COUNT(v->m->agents) + HASH_COUNT(v->m->frameworks) +
	       HASH_COUNT(v->m->completed);
}

static void write_state(const struct shell *shell, const struct view *v,
			struct http_request *request, struct json_writer *w)
{
	(void)request;
	write_identity(w, shell);
	write_agent_counts(w, v);
	if (v->m->info->domain) {
		jw_key(w, "domain");
		endpoint_write_domain(w, v->m->info->domain);
	}
	write_leader(w, v->m);
	write_flags(w, shell, v);
	write_agents(w, v, NULL, false);
	rest_state_write_frameworks(w, v, NULL);
	write_empty_array(w, "orphan_tasks");
	write_empty_array(w, "unregistered_frameworks");
}

void rest_state(void *context, struct http_request *request)
{
	static const struct rest_read state = {.write = write_state};
	struct shell *shell = context;
	struct view view = shell_view(shell, request);

	read_rest(shell, request, &state, count_objects(&view));
}

static void write_slaves(const struct shell *shell, const struct view *v,
			 struct http_request *request, struct json_writer *w)
{
	(void)shell;
	write_agents(w, v, http_query(request, "slave_id"), true);
}

void rest_slaves(void *context, struct http_request *request)
{
	static const struct rest_read slaves = {.write = write_slaves};
	struct shell *shell = context;
	bool one = http_query(request, "slave_id") != NULL;

	read_rest(shell, request, &slaves, one ? 1 : HASH_COUNT(shell->steps.core->agents));
}

static void write_all_frameworks(const struct shell *shell, const struct view *v,
				 struct http_request *request, struct json_writer *w)
{
	(void)shell;
	rest_state_write_frameworks(w, v, http_query(request, "framework_id"));
	write_empty_array(w, "unregistered_frameworks");
}

void rest_frameworks(void *context, struct http_request *request)
{
	static const struct rest_read frameworks = {.write = write_all_frameworks};
	struct shell *shell = context;
	const char *id = http_query(request, "framework_id");
	struct view view = shell_view(shell, request);
	const struct framework *one = id ? view_find_framework(&view, id) : NULL;
	size_t objects = one ? view_count_framework_tasks(one) : count_objects(&view);

	read_rest(shell, request, &frameworks, id && !one ? 1 : objects);
}

/* ---- /tasks -------------------------------------------------------------- */

struct listed_task {
	double since; /* of its first status; here so that sorting need not look for it */
	struct slice id;
	const struct task_record *record;
};

struct task_list {
	struct listed_task *items;
	size_t count;
	size_t cap;
};

static void task_list_add(void *context, const struct task_record *record)
{
	struct task_list *list = context;

	if (list->count == list->cap) {
		list->cap = list->cap ? 2 * list->cap : 64;
		list->items = xrealloc(list->items, list->cap * sizeof(*list->items));
	}
	list->items[list->count++] = (struct listed_task){
		.since = task_record_first_time(record),
		.id = task_record_id(record),
		.record = record,
	};
}

static void collect_tasks(struct task_list *list, const struct view *v, const char *framework_id,
			  const char *task_id)
{
	const struct framework *f = NULL;

	if (framework_id) {
		f = view_find_framework(v, framework_id);
		if (f)
			view_each_task(v, f, VIEW_ALL_TASKS, task_id, task_list_add, list);
		return;
	}
	while ((f = view_next_framework(v, f)))
		view_each_task(v, f, VIEW_ALL_TASKS, task_id, task_list_add, list);
	while ((f = view_next_completed(v, f)))
		view_each_task(v, f, VIEW_ALL_TASKS, task_id, task_list_add, list);
}

/* By first status time; without statuses first. Ties by id, so that ascending is
 * the reverse of descending. */
static int compare_tasks(const void *a, const void *b)
{
	const struct listed_task *x = a, *y = b;

	if (x->since != y->since)
		return x->since < y->since ? -1 : 1;
	return slice_compare(x->id, y->id);
}

/* A bad number falls back to the default silently, as in Mesos. */
static size_t query_number(struct http_request *request, const char *name, size_t preset)
{
	const char *text = http_query(request, name);
	char *end;
	unsigned long long value;

	if (!text || *text < '0' || *text > '9')
		return preset;
	value = strtoull(text, &end, 10);
	return *end ? preset : (size_t)value;
}

static void write_task_list(const struct shell *shell, const struct view *v,
			    struct http_request *request, struct json_writer *w)
{
	const char *order = http_query(request, "order");
	bool ascending = order && !strcmp(order, "asc");
	struct task_list list = {0};
	size_t limit = query_number(request, "limit", 100);
	size_t offset = query_number(request, "offset", 0);
	struct arena scratch = {0};

	(void)shell;
	collect_tasks(&list, v, http_query(request, "framework_id"),
		      http_query(request, "task_id"));
	if (list.count > 1)
		qsort(list.items, list.count, sizeof(*list.items), compare_tasks);
	jw_key(w, "tasks");
	jw_begin_array(w);
	for (size_t i = offset; i < list.count && i - offset < limit; i++)
		rest_write_task(w, v, list.items[ascending ? i : list.count - 1 - i].record,
				&scratch);
	jw_end_array(w);
	arena_free(&scratch);
	free(list.items);
}

void rest_tasks(void *context, struct http_request *request)
{
	static const struct rest_read tasks = {.write = write_task_list};
	struct shell *shell = context;
	bool one = http_query(request, "task_id") != NULL;
	struct view view = shell_view(shell, request);

	read_rest(shell, request, &tasks, one ? 1 : view_count_tasks(&view));
}

/* ---- the small ones ------------------------------------------------------ */

void rest_flags(void *context, struct http_request *request)
{
	struct shell *shell = context;
	struct answer answer;
	struct json_writer *w;

	if (!shell_allows(shell, request, ACL_VIEW_FLAGS, NULL))
		return;
	w = answer_begin(&answer);
	jw_key(w, "flags");
	flags_json(&shell->flags->parsed, w);
	answer_send(&answer, request);
}

void rest_version(void *context, struct http_request *request)
{
	struct answer answer;

	(void)context;
	endpoint_write_version(answer_begin(&answer));
	answer_send(&answer, request);
}

void rest_logging(void *context, struct http_request *request)
{
	struct shell *shell = context;

	if (shell_allows(shell, request, ACL_GET_ENDPOINT, "/logging/toggle"))
		verbosity_toggle(&shell->verbosity, request);
}

void rest_system(void *context, struct http_request *request)
{
	(void)context;
	system_stats_reply(request);
}

void rest_help(void *context, struct http_request *request)
{
	const struct shell *shell = context;

	help_reply(&shell->router, request);
}

void rest_health(void *context, struct http_request *request)
{
	(void)context;
	http_reply(request, 200, NULL, NULL, 0, NULL);
}

void rest_redirect(void *context, struct http_request *request)
{
	struct shell *shell = context;
	const Mesos__MasterInfo *info = shell->steps.core->info;
	const char *path = router_resolve(&shell->router, request);
	const char *headers[] = {"Location", NULL, NULL};
	const char *leader = leadership_leader(shell);

	if (strcmp(path, "/master/redirect")) {
		http_reply_text(request, 404, NULL);
		return;
	}
	headers[1] =
		leader ? arena_printf(&request->arena, "//%s", leader)
		       : arena_printf(&request->arena, "//%s:%d", info->hostname, (int)info->port);
	http_reply(request, 307, NULL, NULL, 0, headers);
}
