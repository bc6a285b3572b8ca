/* /state-summary: agents and frameworks with their tasks counted by state.
 * Two passes over the tasks: one a framework, one an agent. */
#include <string.h>

#include "master/http/rest/rest.h"
#include "master/http/rest/rest_routes.h"

static const Mesos__TaskState counted[] = {
	MESOS__TASK_STATE__TASK_STAGING,  MESOS__TASK_STATE__TASK_STARTING,
	MESOS__TASK_STATE__TASK_RUNNING,  MESOS__TASK_STATE__TASK_KILLING,
	MESOS__TASK_STATE__TASK_FINISHED, MESOS__TASK_STATE__TASK_KILLED,
	MESOS__TASK_STATE__TASK_FAILED,	  MESOS__TASK_STATE__TASK_LOST,
	MESOS__TASK_STATE__TASK_ERROR,	  MESOS__TASK_STATE__TASK_UNREACHABLE,
};

/* What was seen of one agent or framework: counts by state and the ids of its
 * counterparts, each once. */
struct summary {
	const char *id;
	size_t states[MASTER_TASK_STATES];
	struct seen_id *others;
	UT_hash_handle hh;
};

struct seen_id {
	const char *id;
	UT_hash_handle hh;
};

static struct summary *summary_of(struct arena *arena, struct summary **table, struct slice id)
{
	struct summary *s;

	HASH_FIND(hh, *table, id.data, id.len, s);
	if (!s) {
		s = arena_alloc(arena, sizeof(*s));
		s->id = arena_strndup(arena, id.data, id.len);
		HASH_ADD_KEYPTR(hh, *table, s->id, id.len, s);
	}
	return s;
}

static void note_other(struct arena *arena, struct summary *s, const char *id)
{
	struct seen_id *seen;

	HASH_FIND_STR(s->others, id, seen);
	if (seen)
		return;
	seen = arena_alloc(arena, sizeof(*seen));
	seen->id = id;
	HASH_ADD_KEYPTR(hh, s->others, seen->id, strlen(seen->id), seen);
}

struct tables {
	struct arena *arena;
	struct summary *agents;
	struct summary *frameworks;
	const struct framework *f; /* whose tasks are counted */
};

static void count_task(void *context, const struct task_record *task)
{
	struct tables *t = context;
	struct summary *framework = summary_of(t->arena, &t->frameworks, slice_of(t->f->id));
	struct summary *agent = summary_of(t->arena, &t->agents, task_record_agent_id(task));

	framework->states[task->state]++;
	agent->states[task->state]++;
	note_other(t->arena, framework, agent->id);
	note_other(t->arena, agent, framework->id);
}

static void write_summary(struct json_writer *w, struct summary *table, const char *id,
			  const char *others)
{
	static const struct summary none;
	struct summary *found;
	const struct summary *s;

	HASH_FIND_STR(table, id, found);
	s = found ? found : &none;
	for (size_t i = 0; i < sizeof(counted) / sizeof(*counted); i++)
		jw_kv_int(w, proto_enum_name(&mesos__task_state__descriptor, counted[i], SPELL_V0),
			  (int64_t)s->states[counted[i]]);
	jw_key(w, others);
	jw_begin_array(w);
	for (struct seen_id *o = s->others; o; o = o->hh.next)
		jw_string(w, o->id);
	jw_end_array(w);
}

/* uthash tables in an arena still own their buckets. */
static void clear_tables(struct summary *table)
{
	for (struct summary *s = table; s; s = s->hh.next)
		HASH_CLEAR(hh, s->others);
	HASH_CLEAR(hh, table);
}

static void write_state_summary(const struct shell *shell, const struct view *v,
				struct http_request *request, struct json_writer *w)
{
	struct tables t = {.arena = &request->arena};
	const struct framework *f = NULL;
	const struct agent *a = NULL;

	while ((t.f = view_next_framework(v, t.f)))
		/* How many there are of a framework that may be seen is no secret, as in Mesos. */
		view_each_task(&(struct view){.m = v->m}, t.f, VIEW_ALL_TASKS, NULL, count_task,
			       &t);
	jw_kv_string(w, "hostname", v->m->info->hostname);
	if (shell->flags->cluster)
		jw_kv_string(w, "cluster", shell->flags->cluster);
	jw_key(w, "slaves");
	jw_begin_array(w);
	while ((a = view_next_agent(v, a))) {
		if (!agent_registered(a))
			continue;
		jw_begin_object(w);
		rest_write_agent_members(w, v, a, false);
		write_summary(w, t.agents, a->id, "framework_ids");
		jw_end_object(w);
	}
	jw_end_array(w);
	jw_key(w, "frameworks");
	jw_begin_array(w);
	while ((f = view_next_framework(v, f))) {
		jw_begin_object(w);
		rest_write_framework_head(w, f);
		write_summary(w, t.frameworks, f->id, "slave_ids");
		jw_end_object(w);
	}
	jw_end_array(w);
	/* The tables are in the request's arena, which goes with the answer. */
	clear_tables(t.agents);
	clear_tables(t.frameworks);
}

void rest_state_summary(void *context, struct http_request *request)
{
	static const struct rest_read summary = {.write = write_state_summary};
	struct shell *shell = context;
	struct view view = shell_view(shell, request);

	read_rest(shell, request, &summary, view_count_tasks(&view) + HASH_COUNT(view.m->agents));
}
