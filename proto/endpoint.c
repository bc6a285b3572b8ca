/* Rendering of tasks, executors, resources for v0 endpoints; see endpoint.h. */
#include "proto/endpoint.h"

#include <string.h>

#include "proto/resources/resource_internal.h"

/* ---- small parts --------------------------------------------------------- */

void endpoint_write_labels(struct json_writer *w, const Mesos__Labels *labels)
{
	jw_begin_array(w);
	for (size_t i = 0; labels && i < labels->n_labels; i++) {
		jw_begin_object(w);
		jw_kv_string(w, "key", labels->labels[i]->key);
		if (labels->labels[i]->value)
			jw_kv_string(w, "value", labels->labels[i]->value);
		jw_end_object(w);
	}
	jw_end_array(w);
}

static void write_ranges(struct json_writer *w, const Mesos__Value__Ranges *ranges)
{
	struct buf text = BUF_INIT;

	buf_putc(&text, '[');
	for (size_t i = 0; i < ranges->n_range; i++)
		buf_printf(&text, "%s%llu-%llu", i ? ", " : "",
			   (unsigned long long)ranges->range[i]->begin,
			   (unsigned long long)ranges->range[i]->end);
	buf_putc(&text, ']');
	jw_string_n(w, text.data, text.len);
	buf_free(&text);
}

static void write_set(struct json_writer *w, const Mesos__Value__Set *set)
{
	struct buf text = BUF_INIT;

	buf_putc(&text, '{');
	for (size_t i = 0; i < set->n_item; i++)
		buf_printf(&text, "%s%s", i ? ", " : "", set->item[i]);
	buf_putc(&text, '}');
	jw_string_n(w, text.data, text.len);
	buf_free(&text);
}

void endpoint_write_attributes(struct json_writer *w, Mesos__Attribute *const *list, size_t count)
{
	jw_begin_object(w);
	for (size_t i = 0; i < count; i++) {
		const Mesos__Attribute *a = list[i];

		jw_key(w, a->name);
		if (a->type == MESOS__VALUE__TYPE__SCALAR && a->scalar)
			jw_double(w, a->scalar->value);
		else if (a->type == MESOS__VALUE__TYPE__RANGES && a->ranges)
			write_ranges(w, a->ranges);
		else if (a->type == MESOS__VALUE__TYPE__SET && a->set)
			write_set(w, a->set);
		else
			jw_string(w, a->text ? a->text->value : "");
	}
	jw_end_object(w);
}

void endpoint_write_domain(struct json_writer *w, const Mesos__DomainInfo *domain)
{
	const Mesos__DomainInfo__FaultDomain *fault = domain->fault_domain;

	jw_begin_object(w);
	if (fault) {
		jw_key(w, "fault_domain");
		jw_begin_object(w);
		jw_key(w, "region");
		jw_begin_object(w);
		jw_kv_string(w, "name", fault->region->name);
		jw_end_object(w);
		jw_key(w, "zone");
		jw_begin_object(w);
		jw_kv_string(w, "name", fault->zone->name);
		jw_end_object(w);
		jw_end_object(w);
	}
	jw_end_object(w);
}

void endpoint_write_version(struct json_writer *w)
{
	jw_kv_string(w, "build_date", BUILD_DATE);
	jw_kv_double(w, "build_time", BUILD_TIME);
	jw_kv_string(w, "build_user", BUILD_USER);
	jw_kv_string(w, "version", MESITA_VERSION);
}

/* ---- resources ----------------------------------------------------------- */

static const char *const usual_names[4] = {"cpus", "gpus", "mem", "disk"};

/* Sums of what nearly all tasks have, these four as plain scalars; false if there is more to it. */
static bool sum_usual(Mesos__Resource *const *list, size_t count, int64_t sums[4])
{
	for (size_t i = 0; i < count; i++) {
		const Mesos__Resource *r = list[i];
		size_t which = 0;

		if (r->type != MESOS__VALUE__TYPE__SCALAR || !r->scalar || r->revocable ||
		    r->shared)
			return false;
		while (which < 4 && strcmp(r->name, usual_names[which]))
			which++;
		if (which == 4 ||
		    __builtin_add_overflow(sums[which], scalar_to_milli(r->scalar->value),
					   &sums[which]))
			return false;
	}
	return true;
}

void endpoint_write_resources(struct json_writer *w, struct resource_shapes *shapes,
			      Mesos__Resource *const *list, size_t count)
{
	struct resources sum = RESOURCES_INIT;
	int64_t sums[4] = {0};

	if (sum_usual(list, count, sums)) {
		jw_begin_object(w);
		for (size_t i = 0; i < 4; i++)
			jw_kv_double(w, usual_names[i], scalar_from_milli(sums[i]));
		jw_end_object(w);
		return;
	}
	resources_add_messages(shapes, &sum, list, count);
	resources_write_model(&sum, w);
	resources_free(&sum);
}

/* The pieces of a role ("*" = unreserved); pieces are copied. */
static void select_role(const struct resources *r, const char *role, struct resources *out)
{
	for (uint32_t i = 0; i < r->count; i++) {
		const struct resource_shape *shape = r->pieces[i].shape;
		bool unreserved = resource_shape_reservations(shape) == 0;

		if (unreserved ? !strcmp(role, "*") : !strcmp(role, resource_shape_role(shape)))
			resources_add_piece(out, &r->pieces[i]);
	}
}

/* Whether an earlier piece is reserved for the same role as piece `at`. */
static bool role_seen(const struct resources *r, uint32_t at)
{
	const char *role = resource_shape_role(r->pieces[at].shape);

	for (uint32_t i = 0; i < at; i++)
		if (resource_shape_reservations(r->pieces[i].shape) > 0 &&
		    !strcmp(role, resource_shape_role(r->pieces[i].shape)))
			return true;
	return false;
}

/* Calls `write` once for each role that something is reserved for. */
static void each_reserved_role(struct json_writer *w, const struct resources *r,
			       void (*write)(struct json_writer *w, const struct resources *r,
					     const char *role))
{
	jw_begin_object(w);
	for (uint32_t i = 0; i < r->count; i++) {
		const struct resource_shape *shape = r->pieces[i].shape;

		if (resource_shape_reservations(shape) == 0 || role_seen(r, i))
			continue;
		jw_key(w, resource_shape_role(shape));
		write(w, r, resource_shape_role(shape));
	}
	jw_end_object(w);
}

static void write_model_of_role(struct json_writer *w, const struct resources *r, const char *role)
{
	struct resources part = RESOURCES_INIT;

	select_role(r, role, &part);
	resources_write_model(&part, w);
	resources_free(&part);
}

void endpoint_write_reserved(struct json_writer *w, const struct resources *r)
{
	each_reserved_role(w, r, write_model_of_role);
}

void endpoint_write_unreserved(struct json_writer *w, const struct resources *r)
{
	write_model_of_role(w, r, "*");
}

void endpoint_write_full(struct json_writer *w, const struct resources *r, const char *role)
{
	struct arena arena;
	struct resources part = RESOURCES_INIT;
	Mesos__Resource **list = NULL;
	size_t count = 0;

	arena_init(&arena);
	if (role)
		select_role(r, role, &part);
	resources_to_messages(&arena, role ? &part : r, &count, &list);
	jw_begin_array(w);
	for (size_t i = 0; i < count; i++) {
		resource_endpoint_format(&arena, list[i]);
		proto_write_json(list[i], SPELL_V0, w);
	}
	jw_end_array(w);
	resources_free(&part);
	arena_free(&arena);
}

void endpoint_write_reserved_full(struct json_writer *w, const struct resources *r)
{
	each_reserved_role(w, r, endpoint_write_full);
}

/* ---- tasks --------------------------------------------------------------- */

static void write_container_status(struct json_writer *w, const Mesos__ContainerStatus *status)
{
	jw_begin_object(w);
	if (status->container_id) {
		jw_key(w, "container_id");
		proto_write_json(status->container_id, SPELL_V0, w);
	}
	if (status->n_network_infos > 0) {
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

static void endpoint_write_status(struct json_writer *w, const Mesos__TaskStatus *status)
{
	jw_begin_object(w);
	jw_kv_string(w, "state",
		     proto_enum_name(&mesos__task_state__descriptor, status->state, SPELL_V0));
	jw_kv_double(w, "timestamp", status->timestamp);
	if (status->labels) {
		jw_key(w, "labels");
		endpoint_write_labels(w, status->labels);
	}
	if (status->container_status) {
		jw_key(w, "container_status");
		write_container_status(w, status->container_status);
	}
	if (status->has_healthy)
		jw_kv_bool(w, "healthy", status->healthy);
	jw_end_object(w);
}

/* The allocation role, which all resources of a task share. */
static const char *resources_role(Mesos__Resource *const *list, size_t count)
{
	if (count > 0 && list[0]->allocation_info && list[0]->allocation_info->role)
		return list[0]->allocation_info->role;
	return "*";
}

void endpoint_write_task(struct json_writer *w, struct resource_shapes *shapes,
			 const Mesos__Task *task)
{
	jw_begin_object(w);
	jw_kv_string(w, "id", task->task_id->value);
	jw_kv_string(w, "name", task->name);
	jw_kv_string(w, "framework_id", task->framework_id->value);
	jw_kv_string(w, "executor_id", task->executor_id ? task->executor_id->value : "");
	jw_kv_string(w, "slave_id", task->agent_id->value);
	jw_kv_string(w, "state",
		     proto_enum_name(&mesos__task_state__descriptor, task->state, SPELL_V0));
	jw_key(w, "resources");
	endpoint_write_resources(w, shapes, task->resources, task->n_resources);
	jw_kv_string(w, "role", resources_role(task->resources, task->n_resources));
	jw_key(w, "statuses");
	jw_begin_array(w);
	for (size_t i = 0; i < task->n_statuses; i++)
		endpoint_write_status(w, task->statuses[i]);
	jw_end_array(w);
	if (task->user)
		jw_kv_string(w, "user", task->user);
	if (task->labels) {
		jw_key(w, "labels");
		endpoint_write_labels(w, task->labels);
	}
	if (task->discovery) {
		jw_key(w, "discovery");
		proto_write_json(task->discovery, SPELL_V0, w);
	}
	if (task->container) {
		jw_key(w, "container");
		proto_write_json(task->container, SPELL_V0, w);
	}
	if (task->health_check) {
		jw_key(w, "health_check");
		proto_write_json(task->health_check, SPELL_V0, w);
	}
	jw_end_object(w);
}

static void write_command(struct json_writer *w, const Mesos__CommandInfo *command)
{
	jw_begin_object(w);
	if (command->has_shell)
		jw_kv_bool(w, "shell", command->shell);
	if (command->value)
		jw_kv_string(w, "value", command->value);
	jw_key(w, "argv");
	jw_begin_array(w);
	for (size_t i = 0; i < command->n_arguments; i++)
		jw_string(w, command->arguments[i]);
	jw_end_array(w);
	if (command->environment) {
		jw_key(w, "environment");
		proto_write_json(command->environment, SPELL_V0, w);
	}
	jw_key(w, "uris");
	jw_begin_array(w);
	for (size_t i = 0; i < command->n_uris; i++) {
		jw_begin_object(w);
		jw_kv_string(w, "value", command->uris[i]->value);
		jw_kv_bool(w, "executable", command->uris[i]->executable);
		jw_end_object(w);
	}
	jw_end_array(w);
	jw_end_object(w);
}

void endpoint_write_executor_members(struct json_writer *w, struct resource_shapes *shapes,
				     const Mesos__ExecutorInfo *info)
{
	jw_kv_string(w, "executor_id", info->executor_id->value);
	jw_kv_string(w, "name", info->name);
	jw_kv_string(w, "framework_id", info->framework_id ? info->framework_id->value : "");
	if (info->command) {
		jw_key(w, "command");
		write_command(w, info->command);
	}
	jw_key(w, "resources");
	endpoint_write_resources(w, shapes, info->resources, info->n_resources);
	if (info->n_resources > 0)
		jw_kv_string(w, "role", resources_role(info->resources, info->n_resources));
	if (info->labels) {
		jw_key(w, "labels");
		endpoint_write_labels(w, info->labels);
	}
	if (info->has_type)
		jw_kv_string(w, "type",
			     proto_enum_name(&mesos__executor_info__type__descriptor, info->type,
					     SPELL_V0));
}
