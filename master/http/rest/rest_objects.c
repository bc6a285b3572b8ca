/* How the master's endpoints show agents and frameworks; see rest.h. */
#include "master/core/frameworks/frameworks.h"
#include "master/http/rest/rest.h"

static void write_capabilities(struct json_writer *w, const struct agent *agent)
{
	jw_key(w, "capabilities");
	jw_begin_array(w);
	for (size_t i = 0; i < agent->capability_count; i++)
		jw_string(w, proto_enum_name(&mesos__agent_info__capability__type__descriptor,
					     agent->capabilities[i]->type, SPELL_V0));
	jw_end_array(w);
}

void rest_write_drain(struct json_writer *w, const struct agent *agent)
{
	if (!agent->drain_info)
		return;
	jw_key(w, "drain_info");
	proto_write_json(agent->drain_info, SPELL_V0, w);
	if (agent->drain_start)
		jw_kv_double(w, "estimated_drain_start_time_seconds",
			     clock_seconds(agent->drain_start));
}

/* What somebody may see of the agent's resources, in whole. */
static void write_resources_full(struct json_writer *w, const struct view *v,
				 const struct agent *agent)
{
	struct resources seen = RESOURCES_INIT;

	jw_key(w, "reserved_resources_full");
	endpoint_write_reserved_full(w, view_resources(v, &agent->total, &seen));
	jw_key(w, "unreserved_resources_full");
	endpoint_write_full(w, &agent->total, "*");
	jw_key(w, "used_resources_full");
	endpoint_write_full(w, view_resources(v, &agent->used, &seen), NULL);
	jw_key(w, "offered_resources_full");
	endpoint_write_full(w, view_resources(v, &agent->offered, &seen), NULL);
	resources_free(&seen);
}

void rest_write_agent_members(struct json_writer *w, const struct view *v,
			      const struct agent *agent, bool full)
{
	const Mesos__AgentInfo *info = agent->info;
	struct resources seen = RESOURCES_INIT;

	jw_kv_string(w, "id", agent->id);
	jw_kv_string(w, "hostname", info->hostname);
	jw_kv_int(w, "port", info->port);
	jw_key(w, "attributes");
	endpoint_write_attributes(w, info->attributes, info->n_attributes);
	if (info->domain) {
		jw_key(w, "domain");
		endpoint_write_domain(w, info->domain);
	}
	jw_kv_string(w, "pid", agent->pid);
	jw_kv_double(w, "registered_time", clock_seconds(agent->registered_time));
	if (agent->reregistered_time)
		jw_kv_double(w, "reregistered_time", clock_seconds(agent->reregistered_time));
	jw_key(w, "resources");
	resources_write_model(&agent->total, w);
	jw_key(w, "used_resources");
	resources_write_model(&agent->used, w);
	jw_key(w, "offered_resources");
	resources_write_model(&agent->offered, w);
	jw_key(w, "reserved_resources");
	endpoint_write_reserved(w, view_resources(v, &agent->total, &seen));
	resources_free(&seen);
	jw_key(w, "unreserved_resources");
	endpoint_write_unreserved(w, &agent->total);
	jw_kv_bool(w, "active", agent_active(agent));
	jw_kv_bool(w, "deactivated", agent->deactivated);
	jw_kv_string(w, "version", agent->version);
	write_capabilities(w, agent);
	rest_write_drain(w, agent);
	if (full)
		write_resources_full(w, v, agent);
}

void rest_write_recovered_agent(struct json_writer *w, const struct agent *agent)
{
	const Mesos__AgentInfo *info = agent->info;

	jw_begin_object(w);
	jw_kv_string(w, "id", agent->id);
	jw_kv_string(w, "hostname", info->hostname);
	jw_kv_int(w, "port", info->port);
	jw_key(w, "attributes");
	endpoint_write_attributes(w, info->attributes, info->n_attributes);
	if (info->domain) {
		jw_key(w, "domain");
		endpoint_write_domain(w, info->domain);
	}
	jw_end_object(w);
}

void rest_write_framework_head(struct json_writer *w, const struct framework *f)
{
	const Mesos__FrameworkInfo *info = f->info;
	struct resources used, offered;

	framework_held(f, &used, &offered);
	jw_kv_string(w, "id", f->id);
	jw_kv_string(w, "name", info->name);
	if (f->pid)
		jw_kv_string(w, "pid", f->pid);
	jw_key(w, "used_resources");
	resources_write_model(&used, w);
	jw_key(w, "offered_resources");
	resources_write_model(&offered, w);
	resources_free(&used);
	resources_free(&offered);
	jw_key(w, "capabilities");
	jw_begin_array(w);
	for (size_t i = 0; i < info->n_capabilities; i++)
		jw_string(w, proto_enum_name(&mesos__framework_info__capability__type__descriptor,
					     info->capabilities[i]->type, SPELL_V0));
	jw_end_array(w);
	jw_kv_string(w, "hostname", info->hostname);
	jw_kv_string(w, "webui_url", info->webui_url);
	jw_kv_bool(w, "active", f->active);
	jw_kv_bool(w, "connected", framework_connected(f));
	jw_kv_bool(w, "recovered", f->state == FRAMEWORK_RECOVERED);
}

static void write_roles(struct json_writer *w, const struct framework *f)
{
	if (!f->multi_role) {
		jw_kv_string(w, "role", f->info->role ? f->info->role : "*");
		return;
	}
	jw_key(w, "roles");
	jw_begin_array(w);
	for (size_t i = 0; i < f->info->n_roles; i++)
		jw_string(w, f->info->roles[i]);
	jw_end_array(w);
}

void rest_write_task(struct json_writer *w, const struct view *v, const struct task_record *record,
		     struct arena *scratch)
{
	Mesos__Task *task;

	arena_reset(scratch);
	task = task_record_unpack(record, scratch);
	if (task)
		endpoint_write_task(w, v->m->shapes, task);
}

struct task_writer {
	struct json_writer *w;
	const struct view *v;
	struct arena scratch;
};

static void write_one_task(void *context, const struct task_record *record)
{
	struct task_writer *to = context;

	rest_write_task(to->w, to->v, record, &to->scratch);
}

static void write_tasks(struct json_writer *w, const struct view *v, const struct framework *f)
{
	static const struct {
		const char *key;
		enum view_tasks list;
	} lists[] = {
		{"tasks", VIEW_TASKS},
		{"unreachable_tasks", VIEW_UNREACHABLE_TASKS},
		{"completed_tasks", VIEW_COMPLETED_TASKS},
	};
	struct task_writer to = {.w = w, .v = v};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		jw_key(w, lists[i].key);
		jw_begin_array(w);
		view_each_task(v, f, lists[i].list, NULL, write_one_task, &to);
		jw_end_array(w);
	}
	arena_free(&to.scratch);
}

static void write_offers(struct json_writer *w, const struct view *v, const struct framework *f)
{
	const struct offer *offer = NULL;

	jw_key(w, "offers");
	jw_begin_array(w);
	while ((offer = view_next_offer(v, f, offer))) {
		jw_begin_object(w);
		jw_kv_string(w, "id", offer->id);
		jw_kv_string(w, "framework_id", f->id);
		jw_key(w, "allocation_info");
		jw_begin_object(w);
		jw_kv_string(w, "role", offer->role);
		jw_end_object(w);
		jw_kv_string(w, "slave_id", offer->agent->id);
		jw_key(w, "resources");
		resources_write_model(&offer->resources, w);
		jw_end_object(w);
	}
	jw_end_array(w);
}

static void rest_objects_write_executors(struct json_writer *w, const struct view *v,
					 const struct framework *f)
{
	const struct executor *executor = NULL;

	jw_key(w, "executors");
	jw_begin_array(w);
	while ((executor = view_next_executor(v, f, executor))) {
		jw_begin_object(w);
		endpoint_write_executor_members(w, v->m->shapes, executor->info);
		jw_kv_string(w, "slave_id", executor->agent->id);
		jw_end_object(w);
	}
	jw_end_array(w);
}

void rest_write_framework(struct json_writer *w, const struct view *v, const struct framework *f)
{
	struct resources sum, offered;

	jw_begin_object(w);
	rest_write_framework_head(w, f);
	jw_kv_string(w, "user", f->info->user);
	jw_kv_double(w, "failover_timeout", f->info->failover_timeout);
	jw_kv_bool(w, "checkpoint", f->info->checkpoint);
	jw_kv_double(w, "registered_time", clock_seconds(f->registered_time));
	jw_kv_double(w, "unregistered_time", clock_seconds(f->unregistered_time));
	if (f->info->principal)
		jw_kv_string(w, "principal", f->info->principal);
	jw_key(w, "resources");
	framework_held(f, &sum, &offered);
	resources_add(&sum, &offered);
	resources_free(&offered);
	resources_write_model(&sum, w);
	resources_free(&sum);
	if (f->reregistered_time && f->reregistered_time != f->registered_time)
		jw_kv_double(w, "reregistered_time", clock_seconds(f->reregistered_time));
	write_roles(w, f);
	write_tasks(w, v, f);
	write_offers(w, v, f);
	rest_objects_write_executors(w, v, f);
	if (f->info->labels) {
		jw_key(w, "labels");
		endpoint_write_labels(w, f->info->labels);
	}
	jw_key(w, "offer_constraints");
	if (f->offer_constraints) {
		proto_write_json(f->offer_constraints, SPELL_V0, w);
	} else {
		jw_begin_object(w);
		jw_end_object(w);
	}
	jw_end_object(w);
}
