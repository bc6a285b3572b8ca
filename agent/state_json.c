/* The agent's part of /state (spec/operator.md 1.11). */
#include "agent/core.h"

#include <string.h>

/* ---- resources ----------------------------------------------------------- */

static void write_model(const struct agent *agent, const char *key, size_t count,
			Mesos__Resource *const *list, struct json_writer *w)
{
	struct resources resources = RESOURCES_INIT;

	resources_add_messages(agent->options.shapes, &resources, list, count);
	jw_key(w, key);
	resources_write_model(&resources, w);
	resources_free(&resources);
}

static const char *allocation_role(size_t count, Mesos__Resource *const *list)
{
	if (!count || !list[0]->allocation_info)
		return NULL;
	return list[0]->allocation_info->role;
}

static void write_full(const struct resources *resources, struct json_writer *w)
{
	struct arena arena;
	Mesos__Resource **list = NULL;
	size_t count = 0;

	arena_init(&arena);
	resources_to_messages(&arena, resources, &count, &list);
	jw_begin_array(w);
	for (size_t i = 0; i < count; i++) {
		resource_endpoint_format(&arena, list[i]);
		proto_write_json(list[i], SPELL_V0, w);
	}
	jw_end_array(w);
	arena_free(&arena);
}

/* Pieces of one role; NULL: those not reserved. */
static void of_role(const struct resources *from, const char *role, struct resources *out)
{
	for (uint32_t i = 0; i < from->count; i++) {
		const struct resource_shape *shape = from->pieces[i].shape;
		bool reserved = resource_shape_reservations(shape) > 0;

		if (role ? reserved && strcmp(resource_shape_role(shape), role) == 0 : !reserved)
			resources_add_piece(out, &from->pieces[i]);
	}
}

typedef void resources_writer(const struct resources *resources, struct json_writer *w);

static void write_reserved(const char *key, const struct resources *from, resources_writer *write,
			   struct json_writer *w)
{
	jw_key(w, key);
	jw_begin_object(w);
	for (uint32_t i = 0; i < from->count; i++) {
		const struct resource_shape *shape = from->pieces[i].shape;
		struct resources part = RESOURCES_INIT;
		const char *role = resource_shape_role(shape);
		bool seen = resource_shape_reservations(shape) == 0;

		for (uint32_t j = 0; j < i && !seen; j++)
			seen = resource_shape_reservations(from->pieces[j].shape) > 0 &&
			       strcmp(resource_shape_role(from->pieces[j].shape), role) == 0;
		if (seen)
			continue;
		of_role(from, role, &part);
		jw_key(w, role);
		write(&part, w);
		resources_free(&part);
	}
	jw_end_object(w);
}

static void write_unreserved(const char *key, const struct resources *from, resources_writer *write,
			     struct json_writer *w)
{
	struct resources part = RESOURCES_INIT;

	of_role(from, NULL, &part);
	jw_key(w, key);
	write(&part, w);
	resources_free(&part);
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

static void write_resources(const struct agent *agent, struct json_writer *w)
{
	struct resources total = RESOURCES_INIT, used = RESOURCES_INIT;

	resources_add_messages(agent->options.shapes, &total, agent->info->resources,
			       agent->info->n_resources);
	sum_allocated(agent, &used);
	jw_key(w, "resources");
	resources_write_model(&total, w);
	write_reserved("reserved_resources", &total, resources_write_model, w);
	write_unreserved("unreserved_resources", &total, resources_write_model, w);
	write_reserved("reserved_resources_full", &total, write_full, w);
	write_unreserved("unreserved_resources_full", &total, write_full, w);
	write_reserved("reserved_resources_allocated", &used, resources_write_model, w);
	write_unreserved("unreserved_resources_allocated", &used, resources_write_model, w);
	resources_free(&total);
	resources_free(&used);
}

/* ---- tasks --------------------------------------------------------------- */

static void write_labels(const Mesos__Labels *labels, struct json_writer *w)
{
	if (!labels)
		return;
	jw_key(w, "labels");
	jw_begin_array(w);
	for (size_t i = 0; i < labels->n_labels; i++)
		proto_write_json(labels->labels[i], SPELL_V0, w);
	jw_end_array(w);
}

static void write_container_status(const Mesos__ContainerStatus *status, struct json_writer *w)
{
	jw_key(w, "container_status");
	jw_begin_object(w);
	if (status->container_id) {
		jw_key(w, "container_id");
		proto_write_json(status->container_id, SPELL_V0, w);
	}
	if (status->n_network_infos) {
		jw_key(w, "network_infos");
		jw_begin_array(w);
		for (size_t i = 0; i < status->n_network_infos; i++)
			proto_write_json(status->network_infos[i], SPELL_V0, w);
		jw_end_array(w);
	}
	if (status->cgroup_info) {
		jw_key(w, "cgroup_info");
		proto_write_json(status->cgroup_info, SPELL_V0, w);
	}
	jw_end_object(w);
}

static void write_status(const Mesos__TaskStatus *status, struct json_writer *w)
{
	jw_begin_object(w);
	jw_kv_string(w, "state",
		     proto_enum_name(&mesos__task_state__descriptor, status->state, SPELL_V0));
	jw_kv_double(w, "timestamp", status->timestamp);
	write_labels(status->labels, w);
	if (status->container_status)
		write_container_status(status->container_status, w);
	if (status->has_healthy)
		jw_kv_bool(w, "healthy", status->healthy);
	jw_end_object(w);
}

static void write_member(const char *key, const void *message, struct json_writer *w)
{
	if (!message)
		return;
	jw_key(w, key);
	proto_write_json(message, SPELL_V0, w);
}

static void write_task(const struct agent *agent, const struct task *task, struct json_writer *w)
{
	const Mesos__Task *record = task->record;
	const char *role = allocation_role(record->n_resources, record->resources);

	jw_begin_object(w);
	jw_kv_string(w, "id", record->task_id->value);
	jw_kv_string(w, "name", record->name);
	jw_kv_string(w, "framework_id", record->framework_id->value);
	jw_kv_string(w, "executor_id", record->executor_id ? record->executor_id->value : "");
	jw_kv_string(w, "slave_id", record->agent_id->value);
	jw_kv_string(w, "state",
		     proto_enum_name(&mesos__task_state__descriptor, record->state, SPELL_V0));
	write_model(agent, "resources", record->n_resources, record->resources, w);
	jw_kv_string(w, "role", role ? role : "*");
	jw_key(w, "statuses");
	jw_begin_array(w);
	for (size_t i = 0; i < record->n_statuses; i++)
		write_status(record->statuses[i], w);
	jw_end_array(w);
	if (record->user)
		jw_kv_string(w, "user", record->user);
	write_labels(record->labels, w);
	write_member("discovery", record->discovery, w);
	write_member("container", record->container, w);
	write_member("health_check", record->health_check, w);
	jw_end_object(w);
}

static void write_queued(const struct agent *agent, const struct task *task, struct json_writer *w)
{
	const Mesos__Task *record = task->record;
	const char *role = allocation_role(record->n_resources, record->resources);

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

static void write_list(const struct agent *agent, const struct list *list, task_writer *write,
		       struct json_writer *w)
{
	for (const struct list *at = list->next; at != list; at = at->next)
		write(agent, list_entry(at, struct task, link), w);
}

/* ---- executors and frameworks -------------------------------------------- */

static void write_executor(const struct agent *agent, const struct executor *executor,
			   struct json_writer *w)
{
	const Mesos__ExecutorInfo *info = executor->info;
	const char *role = allocation_role(info->n_resources, info->resources);

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
	write_labels(info->labels, w);
	if (info->has_type)
		jw_kv_string(w, "type",
			     proto_enum_name(&mesos__executor_info__type__descriptor, info->type,
					     SPELL_V0));
	jw_key(w, "tasks");
	jw_begin_array(w);
	write_list(agent, &executor->tasks[TASK_LAUNCHED], write_task, w);
	jw_end_array(w);
	jw_key(w, "queued_tasks");
	jw_begin_array(w);
	write_list(agent, &executor->tasks[TASK_QUEUED], write_queued, w);
	jw_end_array(w);
	jw_key(w, "completed_tasks");
	jw_begin_array(w);
	write_list(agent, &executor->completed, write_task, w);
	write_list(agent, &executor->tasks[TASK_TERMINATED], write_task, w);
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

static void write_framework(const struct agent *agent, const struct framework *framework,
			    struct json_writer *w)
{
	jw_begin_object(w);
	write_framework_head(framework, w);
	jw_key(w, "executors");
	jw_begin_array(w);
	for (const struct executor *executor = framework->executors; executor;
	     executor = executor->hh.next)
		write_executor(agent, executor, w);
	jw_end_array(w);
	jw_key(w, "completed_executors");
	jw_begin_array(w);
	for (const struct list *at = framework->completed.next; at != &framework->completed;
	     at = at->next)
		write_executor(agent, list_entry(at, struct executor, link), w);
	jw_end_array(w);
	jw_end_object(w);
}

static void write_frameworks(const struct agent *agent, struct json_writer *w)
{
	jw_key(w, "frameworks");
	jw_begin_array(w);
	for (const struct framework *framework = agent->frameworks; agent->started && framework;
	     framework = framework->hh.next)
		write_framework(agent, framework, w);
	jw_end_array(w);
	jw_key(w, "completed_frameworks");
	jw_begin_array(w);
	for (const struct list *at = agent->completed.next; at != &agent->completed; at = at->next)
		write_framework(agent, list_entry(at, struct framework, link), w);
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

void agent_write_state(const struct agent *agent, struct json_writer *w)
{
	jw_kv_string(w, "id", agent_id(agent));
	jw_kv_string(w, "pid", agent->pid);
	jw_kv_string(w, "hostname", agent->options.hostname);
	jw_key(w, "capabilities");
	jw_begin_array(w);
	agent_write_capabilities(w);
	jw_end_array(w);
	if (agent->info->domain)
		write_member("domain", agent->info->domain, w);
	write_resources(agent, w);
	jw_key(w, "resource_providers");
	jw_begin_array(w);
	jw_end_array(w);
	jw_key(w, "attributes");
	jw_begin_object(w);
	for (size_t i = 0; i < agent->info->n_attributes; i++)
		write_attribute(agent->info->attributes[i], w);
	jw_end_object(w);
	write_frameworks(agent, w);
}
