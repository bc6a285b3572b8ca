/* See run_task.h. */
#include "cli/job/run_task.h"
#include "cli/job/run_container.h"

#include <string.h>

#include "base/files.h"
#include "base/json/json.h"
#include "proto/resources.h"

#define GROUP_MAX (1 << 20) /* bytes of the JSON of a group */

static void add_scalar(struct arena *arena, Mesos__TaskInfo *task, const char *name, double value)
{
	Mesos__Resource *resource;

	if (!(value > 0))
		return;
	resource = PROTO_NEW(arena, Mesos__Resource, mesos__resource__descriptor);
	resource->name = (char *)name;
	resource->type = MESOS__VALUE__TYPE__SCALAR;
	resource->scalar = PROTO_NEW(arena, Mesos__Value__Scalar, mesos__value__scalar__descriptor);
	resource->scalar->value = value;
	proto_push(arena, task->n_resources, task->resources, resource);
}

static int add_resources(struct arena *arena, Mesos__TaskInfo *task, const struct run_flags *flags,
			 struct err *err)
{
	struct resource_shapes *shapes;
	struct resources parsed = RESOURCES_INIT;
	int rv;

	if (!flags->resources) {
		add_scalar(arena, task, "cpus", flags->cpus);
		add_scalar(arena, task, "mem", flags->mem);
		add_scalar(arena, task, "disk", flags->disk);
		return 0;
	}
	shapes = resource_shapes_create();
	rv = resources_parse(shapes, flags->resources, "*", &parsed, err);
	if (rv == 0)
		resources_to_messages(arena, &parsed, &task->n_resources, &task->resources);
	resources_free(&parsed);
	resource_shapes_destroy(shapes);
	return rv;
}

static void add_variable(struct arena *arena, Mesos__CommandInfo *command, const char *name,
			 const char *value)
{
	Mesos__Environment__Variable *variable = PROTO_NEW(
		arena, Mesos__Environment__Variable, mesos__environment__variable__descriptor);

	if (!command->environment)
		command->environment =
			PROTO_NEW(arena, Mesos__Environment, mesos__environment__descriptor);
	variable->name = arena_strdup(arena, name);
	variable->value = arena_strdup(arena, value);
	proto_push(arena, command->environment->n_variables, command->environment->variables,
		   variable);
}

static int add_json_environment(struct arena *arena, Mesos__CommandInfo *command, const char *text,
				struct err *err)
{
	struct json *json;

	if (json_parse(arena, text, strlen(text), &json, err) < 0)
		return err_wrap(err, ERR_INVALID, "--env is no JSON");
	if (json->type != JSON_OBJECT)
		return err_set(err, ERR_INVALID, "--env must be a JSON object");
	for (size_t i = 0; i < json->count; i++) {
		const struct json *value = &json->items[i];

		if (json->keys[i].len == 0 ||
		    (value->type != JSON_STRING && value->type != JSON_NUMBER))
			return err_set(err, ERR_INVALID,
				       "--env: the value of '%s' must be a string",
				       json->keys[i].data);
		add_variable(arena, command, json->keys[i].data, value->text.data);
	}
	return 0;
}

static int add_environment(struct arena *arena, Mesos__CommandInfo *command, const char *text,
			   struct err *err)
{
	char *copy, *save = NULL;

	if (!text)
		return 0;
	if (*text == '{')
		return add_json_environment(arena, command, text, err);
	copy = arena_strdup(arena, text);
	for (char *pair = strtok_r(copy, ",", &save); pair; pair = strtok_r(NULL, ",", &save)) {
		char *equals = strchr(pair, '=');

		if (!equals || equals == pair)
			return err_set(err, ERR_INVALID,
				       "--env: '%s' is no NAME=VALUE (values with commas: "
				       "give a JSON object)",
				       pair);
		*equals = 0;
		add_variable(arena, command, pair, equals + 1);
	}
	return 0;
}

static void add_uris(struct arena *arena, Mesos__CommandInfo *command, const char *text)
{
	char *copy = arena_strdup(arena, text ? text : ""), *save = NULL;

	for (char *uri = strtok_r(copy, ",", &save); uri; uri = strtok_r(NULL, ",", &save)) {
		Mesos__CommandInfo__URI *item = PROTO_NEW(arena, Mesos__CommandInfo__URI,
							  mesos__command_info__uri__descriptor);

		item->value = uri;
		proto_push(arena, command->n_uris, command->uris, item);
	}
}

static struct json *new_json(struct arena *arena, enum json_type type, const char *text)
{
	struct json *json = arena_alloc(arena, sizeof(*json));

	json->type = type;
	json->text = slice_of(arena_strdup(arena, text));
	return json;
}

/* Adds a member to an object that lacks it. */
static void add_member(struct arena *arena, struct json *object, const char *key,
		       const struct json *value)
{
	struct json *items = arena_alloc(arena, (object->count + 1) * sizeof(*items));
	struct slice *keys = arena_alloc(arena, (object->count + 1) * sizeof(*keys));

	if (json_get(object, key))
		return;
	if (object->count) {
		memcpy(items, object->items, object->count * sizeof(*items));
		memcpy(keys, object->keys, object->count * sizeof(*keys));
	}
	items[object->count] = *value;
	keys[object->count] = slice_of(arena_strdup(arena, key));
	object->items = items;
	object->keys = keys;
	object->count++;
}

static const struct json *id_json(struct arena *arena, const char *value)
{
	struct json *object = new_json(arena, JSON_OBJECT, "");

	add_member(arena, object, "value", new_json(arena, JSON_STRING, value));
	return object;
}

/* --task: required fields that a user need not know may be missing. */
static Mesos__TaskInfo *task_from_json(struct arena *arena, const struct run_flags *flags,
				       struct err *err)
{
	struct json *json;
	Mesos__TaskInfo *task = NULL;

	if (json_parse(arena, flags->task, strlen(flags->task), &json, err) == 0) {
		if (json->type == JSON_OBJECT) {
			add_member(arena, json, "name", new_json(arena, JSON_STRING, flags->name));
			add_member(arena, json, "task_id", id_json(arena, flags->name));
			add_member(arena, json, "agent_id", id_json(arena, ""));
		}
		task = json_to_proto(&mesos__task_info__descriptor, json, SPELL_V1, arena, err);
	}
	if (!task)
		err_wrap(err, ERR_INVALID, "--task is no TaskInfo");
	return task;
}

/* The command of the flags: --command, or the arguments behind the flags as a program
 * with its arguments; both together: a program (--no-shell) and its arguments. */
static int add_command(struct arena *arena, Mesos__CommandInfo *command,
		       const struct run_flags *flags, const char *const *arguments, size_t count,
		       struct err *err)
{
	const char *program = flags->command ? flags->command : count ? arguments[0] : NULL;
	size_t first = flags->command ? 0 : 1;

	command->has_shell = 1;
	command->shell = 0;
	/* The image says what. */
	if (!program && run_image(flags))
		return 0;
	if (!program)
		return err_set(err, ERR_INVALID, "say what to run: --command='echo hello'");
	if (flags->command && flags->shell && count)
		return err_set(err, ERR_INVALID,
			       "what is '%s'? Put quotes around the whole command: "
			       "--command='echo hello'",
			       arguments[0]);
	command->shell = flags->command && flags->shell;
	command->value = (char *)program;
	if (command->shell)
		return 0;
	command->arguments = arena_alloc(arena, (count + 1) * sizeof(*command->arguments));
	/* Docker containers have the program before these, others in the first of them. */
	if (!run_image(flags) || run_image_is_of_mesos(flags))
		command->arguments[command->n_arguments++] = (char *)program;
	for (size_t i = first; i < count; i++)
		command->arguments[command->n_arguments++] = (char *)arguments[i];
	return 0;
}

static Mesos__TaskInfo *task_from_flags(struct arena *arena, const struct run_flags *flags,
					const char *const *arguments, size_t count, struct err *err)
{
	Mesos__TaskInfo *task = PROTO_NEW(arena, Mesos__TaskInfo, mesos__task_info__descriptor);
	Mesos__CommandInfo *command =
		PROTO_NEW(arena, Mesos__CommandInfo, mesos__command_info__descriptor);

	if (add_command(arena, command, flags, arguments, count, err) < 0 ||
	    add_environment(arena, command, flags->env, err) < 0 ||
	    add_resources(arena, task, flags, err) < 0 ||
	    run_container_make(arena, flags, &task->container, err) < 0)
		return NULL;
	add_uris(arena, command, flags->uris);
	task->command = command;
	task->name = (char *)flags->name;
	/* Those of an instance are filled in at its launch; a copy needs them set. */
	task->task_id = PROTO_NEW(arena, Mesos__TaskID, mesos__task_id__descriptor);
	task->task_id->value = (char *)flags->name;
	task->agent_id = PROTO_NEW(arena, Mesos__AgentID, mesos__agent_id__descriptor);
	task->agent_id->value = (char *)"";
	return task;
}

Mesos__TaskInfo *run_task_make(struct arena *arena, const struct run_flags *flags,
			       const char *const *arguments, size_t count, struct err *err)
{
	return flags->task ? task_from_json(arena, flags, err)
			   : task_from_flags(arena, flags, arguments, count, err);
}

/* ---- groups --------------------------------------------------------------------- */

bool run_group_wanted(const struct run_flags *flags)
{
	return flags->group || flags->task_group;
}

/* The JSON itself, or a file with it. */
static int group_text(const struct run_flags *flags, struct buf *text, struct err *err)
{
	const char *given = flags->group ? flags->group : flags->task_group;

	if (*given != '{')
		return file_read(given, GROUP_MAX, text, err);
	buf_puts(text, given);
	return 0;
}

static void complete_task(struct arena *arena, const struct run_flags *flags, struct json *task,
			  size_t number)
{
	const char *name = arena_printf(arena, "%s.%zu", flags->name, number + 1);

	add_member(arena, task, "task_id", id_json(arena, name));
	add_member(arena, task, "name", new_json(arena, JSON_STRING, name));
	add_member(arena, task, "agent_id", id_json(arena, ""));
}

static Mesos__TaskGroupInfo *parse_group(struct arena *arena, const struct run_flags *flags,
					 const struct buf *text, struct err *err)
{
	struct json *json, *tasks;
	Mesos__TaskGroupInfo *group;

	if (json_parse(arena, text->data ? text->data : "", text->len, &json, err) < 0)
		return NULL;
	tasks = json->type == JSON_OBJECT ? (struct json *)json_get(json, "tasks") : NULL;
	for (size_t i = 0; tasks && tasks->type == JSON_ARRAY && i < tasks->count; i++)
		if (tasks->items[i].type == JSON_OBJECT)
			complete_task(arena, flags, &tasks->items[i], i);
	group = json_to_proto(&mesos__task_group_info__descriptor, json, SPELL_V1, arena, err);
	if (group && !group->n_tasks)
		return err_set(err, ERR_INVALID, "it has no tasks"), NULL;
	return group;
}

Mesos__TaskGroupInfo *run_group_make(struct arena *arena, const struct run_flags *flags,
				     struct err *err)
{
	struct buf text = BUF_INIT;
	Mesos__TaskGroupInfo *group = NULL;

	if (group_text(flags, &text, err) == 0)
		group = parse_group(arena, flags, &text, err);
	if (!group)
		err_wrap(err, ERR_INVALID, "--group is no TaskGroupInfo");
	buf_free(&text);
	return group;
}
