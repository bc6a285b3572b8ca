/* The agent's part of /state. */
#include "agent/core/show.h"
#include "agent/core/view_objects.h"

#include "agent/core/registration.h"
#include "agent/core/tasks/frameworks.h"
#include "proto/endpoint.h"

/* ---- resources ----------------------------------------------------------- */

static void write_model(const struct agent *agent, const char *key, size_t count,
			Mesos__Resource *const *list, struct json_writer *w)
{
	jw_key(w, key);
	endpoint_write_resources(w, agent->options.shapes, list, count);
}

static const char *state_json_allocation_role(size_t count, Mesos__Resource *const *list)
{
	if (!count || !list[0]->allocation_info)
		return NULL;
	return list[0]->allocation_info->role;
}

static void sum_allocated(const struct agent *agent, struct resources *out)
{
	const struct framework *framework;
	const struct executor *executor;

	for (framework = agent->frameworks; framework; framework = framework->hh.next) {
		for (executor = framework->executors; executor; executor = executor->hh.next) {
			if (executor->state != EXECUTOR_TERMINATED)
				resources_add(out, &executor->allocated);
		}
	}
}

static void write_resources(const struct agent_view *v, struct json_writer *w)
{
	struct resources used = RESOURCES_INIT, seen = RESOURCES_INIT, seen_used = RESOURCES_INIT;
	const struct resources *total = agent_view_resources(v, &v->agent->total, &seen);
	const struct resources *allocated;

	sum_allocated(v->agent, &used);
	allocated = agent_view_resources(v, &used, &seen_used);
	jw_key(w, "resources");
	resources_write_model(&v->agent->total, w);
	jw_key(w, "reserved_resources");
	endpoint_write_reserved(w, total);
	jw_key(w, "unreserved_resources");
	endpoint_write_unreserved(w, total);
	jw_key(w, "reserved_resources_full");
	endpoint_write_reserved_full(w, total);
	jw_key(w, "unreserved_resources_full");
	endpoint_write_full(w, total, "*");
	jw_key(w, "reserved_resources_allocated");
	endpoint_write_reserved(w, allocated);
	jw_key(w, "unreserved_resources_allocated");
	endpoint_write_unreserved(w, allocated);
	resources_free(&used);
	resources_free(&seen);
	resources_free(&seen_used);
}

/* ---- tasks --------------------------------------------------------------- */

static void write_member(const char *key, const void *message, struct json_writer *w)
{
	if (!message)
		return;
	jw_key(w, key);
	proto_write_json(message, SPELL_V0, w);
}

static void write_task(const struct agent *agent, const struct task *task, struct json_writer *w)
{
	endpoint_write_task(w, agent->options.shapes, task->record);
}

static void write_queued(const struct agent *agent, const struct task *task, struct json_writer *w)
{
	const Mesos__Task *record = task->record;
	const char *role = state_json_allocation_role(record->n_resources, record->resources);

	jw_begin_object(w);
	jw_kv_string(w, "id", record->task_id->value);
	jw_kv_string(w, "name", record->name);
	jw_kv_string(w, "slave_id", record->agent_id->value);
	write_model(agent, "resources", record->n_resources, record->resources, w);
	jw_kv_string(w, "role", role ? role : "*");
	if (task->info)
		write_member("command", task->info->command, w);
	if (record->executor_id)
		jw_kv_string(w, "executor_id", record->executor_id->value);
	write_member("discovery", record->discovery, w);
	jw_end_object(w);
}

typedef void task_writer(const struct agent *agent, const struct task *task, struct json_writer *w);

static void state_json_write_list(const struct agent_view *v, const struct executor *executor,
				  const struct list *list, task_writer *write,
				  struct json_writer *w)
{
	for (const struct list *at = list->next; at != list; at = at->next) {
		const struct task *task = list_entry(at, struct task, link);

		if (agent_view_sees_task(v, executor, task))
			write(v->agent, task, w);
	}
}

/* ---- executors and frameworks -------------------------------------------- */

static void write_executor(const struct agent_view *v, const struct executor *executor,
			   struct json_writer *w)
{
	const Mesos__ExecutorInfo *info = executor->info;
	const char *role = state_json_allocation_role(info->n_resources, info->resources);

	if (!agent_view_sees_executor(v, executor))
		return;
	jw_begin_object(w);
	jw_kv_string(w, "id", executor->id);
	jw_kv_string(w, "name", info->name);
	jw_kv_string(w, "source", info->source);
	jw_kv_string(w, "container", executor->container);
	jw_kv_string(w, "directory", executor->sandbox);
	jw_key(w, "resources");
	resources_write_model(&executor->allocated, w);
	if (role)
		jw_kv_string(w, "role", role);
	if (info->labels) {
		jw_key(w, "labels");
		endpoint_write_labels(w, info->labels);
	}
	if (info->has_type)
		jw_kv_string(w, "type",
			     proto_enum_name(&mesos__executor_info__type__descriptor, info->type,
					     SPELL_V0));
	jw_key(w, "tasks");
	jw_begin_array(w);
	state_json_write_list(v, executor, &executor->tasks[TASK_LAUNCHED], write_task, w);
	jw_end_array(w);
	jw_key(w, "queued_tasks");
	jw_begin_array(w);
	state_json_write_list(v, executor, &executor->tasks[TASK_QUEUED], write_queued, w);
	jw_end_array(w);
	jw_key(w, "completed_tasks");
	jw_begin_array(w);
	state_json_write_list(v, executor, &executor->completed, write_task, w);
	state_json_write_list(v, executor, &executor->tasks[TASK_TERMINATED], write_task, w);
	jw_end_array(w);
	jw_end_object(w);
}

static void write_framework_head(const struct framework *framework, struct json_writer *w)
{
	const Mesos__FrameworkInfo *info = framework->info;

	jw_kv_string(w, "id", framework->id);
	jw_kv_string(w, "name", info->name);
	jw_kv_string(w, "user", info->user);
	jw_kv_double(w, "failover_timeout",
		     info->has_failover_timeout ? info->failover_timeout : 0);
	jw_kv_bool(w, "checkpoint", framework->checkpoint);
	jw_kv_string(w, "hostname", info->hostname);
	if (info->principal)
		jw_kv_string(w, "principal", info->principal);
	if (!agent_framework_capable(framework,
				     MESOS__FRAMEWORK_INFO__CAPABILITY__TYPE__MULTI_ROLE)) {
		jw_kv_string(w, "role", info->role ? info->role : "*");
		return;
	}
	jw_key(w, "roles");
	jw_begin_array(w);
	for (size_t i = 0; i < info->n_roles; i++)
		jw_string(w, info->roles[i]);
	jw_end_array(w);
}

static void write_framework(const struct agent_view *v, const struct framework *framework,
			    struct json_writer *w)
{
	if (!agent_view_sees_framework(v, framework))
		return;
	jw_begin_object(w);
	write_framework_head(framework, w);
	jw_key(w, "executors");
	jw_begin_array(w);
	for (const struct executor *executor = framework->executors; executor;
	     executor = executor->hh.next)
		write_executor(v, executor, w);
	jw_end_array(w);
	jw_key(w, "completed_executors");
	jw_begin_array(w);
	for (const struct list *at = framework->completed.next; at != &framework->completed;
	     at = at->next)
		write_executor(v, list_entry(at, struct executor, link), w);
	jw_end_array(w);
	jw_end_object(w);
}

static void state_json_write_frameworks(const struct agent_view *v, struct json_writer *w)
{
	const struct agent *agent = v->agent;

	jw_key(w, "frameworks");
	jw_begin_array(w);
	for (const struct framework *framework = agent->frameworks; agent->started && framework;
	     framework = framework->hh.next)
		write_framework(v, framework, w);
	jw_end_array(w);
	jw_key(w, "completed_frameworks");
	jw_begin_array(w);
	for (const struct list *at = agent->completed.next; at != &agent->completed; at = at->next)
		write_framework(v, list_entry(at, struct framework, link), w);
	jw_end_array(w);
}

/* ---- attributes ---------------------------------------------------------- */

static void write_attribute(const Mesos__Attribute *attribute, struct json_writer *w)
{
	struct buf text = BUF_INIT;

	jw_key(w, attribute->name);
	if (attribute->type == MESOS__VALUE__TYPE__SCALAR && attribute->scalar) {
		jw_double(w, attribute->scalar->value);
	} else if (attribute->type == MESOS__VALUE__TYPE__RANGES && attribute->ranges) {
		buf_putc(&text, '[');
		for (size_t i = 0; i < attribute->ranges->n_range; i++)
			buf_printf(&text, "%s%llu-%llu", i ? ", " : "",
				   (unsigned long long)attribute->ranges->range[i]->begin,
				   (unsigned long long)attribute->ranges->range[i]->end);
		buf_putc(&text, ']');
		jw_string(w, text.data);
	} else if (attribute->type == MESOS__VALUE__TYPE__SET && attribute->set) {
		buf_putc(&text, '{');
		for (size_t i = 0; i < attribute->set->n_item; i++)
			buf_printf(&text, "%s%s", i ? ", " : "", attribute->set->item[i]);
		buf_putc(&text, '}');
		jw_string(w, text.data);
	} else {
		jw_string(w, attribute->text ? attribute->text->value : "");
	}
	buf_free(&text);
}

void agent_write_state(const struct agent_view *v, struct json_writer *w)
{
	const struct agent *agent = v->agent;

	jw_kv_string(w, "id", agent_id(agent));
	jw_kv_string(w, "pid", agent->pid);
	jw_kv_string(w, "hostname", agent->options.hostname);
	jw_key(w, "capabilities");
	jw_begin_array(w);
	agent_write_capabilities(w);
	jw_end_array(w);
	if (agent->info->domain)
		write_member("domain", agent->info->domain, w);
	if (agent->drain) {
		write_member("drain_config", agent->drain, w);
		jw_kv_int(w, "estimated_drain_start_time_seconds", agent->drain_time / SECOND);
	}
	write_resources(v, w);
	jw_key(w, "resource_providers");
	jw_begin_array(w);
	jw_end_array(w);
	jw_key(w, "attributes");
	jw_begin_object(w);
	for (size_t i = 0; i < agent->info->n_attributes; i++)
		write_attribute(agent->info->attributes[i], w);
	jw_end_object(w);
	state_json_write_frameworks(v, w);
}
