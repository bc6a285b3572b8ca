/* The fixed resource estimator; see estimator.h.
 *
 * Mesos' module reports what is left of the fixed amount every
 * --oversubscribed_resources_interval, and its agent adds what is in use: their sum never
 * changes, so here it is told with every registration. */
#include "agent/estimator.h"

#include <string.h>

static const struct json *find_named(const struct json *list, const char *key, const char *name)
{
	for (size_t i = 0; list && list->type == JSON_ARRAY && i < list->count; i++) {
		if (strcmp(json_get_string(&list->items[i], key), name) == 0)
			return &list->items[i];
	}
	return NULL;
}

static const struct json *find_module(const struct json *modules, const char *name)
{
	const struct json *libraries = json_get(modules, "libraries"), *found = NULL;

	for (size_t i = 0;
	     libraries && libraries->type == JSON_ARRAY && i < libraries->count && !found; i++)
		found = find_named(json_get(&libraries->items[i], "modules"), "name", name);
	return found;
}

static int make_revocable(struct resource_shapes *shapes, struct arena *arena, const char *text,
			  struct resources *out, struct err *err)
{
	struct resources plain = RESOURCES_INIT;
	Mesos__Resource **list;
	size_t count;
	int rv = resources_parse(shapes, text, "*", &plain, err);

	if (rv < 0)
		return rv;
	resources_to_messages(arena, &plain, &count, &list);
	for (size_t i = 0; i < count; i++)
		list[i]->revocable = PROTO_NEW(arena, Mesos__Resource__RevocableInfo,
					       mesos__resource__revocable_info__descriptor);
	resources_add_messages(shapes, out, list, count);
	resources_free(&plain);
	return 0;
}

static int parse_modules(struct resource_shapes *shapes, struct arena *arena, const char *modules,
			 struct resources *out, struct err *err)
{
	const struct json *module, *parameter;
	struct json *json;
	int rv = modules ? json_parse(arena, modules, strlen(modules), &json, err)
			 : err_set(err, ERR_INVALID, "it is not set");

	if (rv < 0)
		return err_wrap(err, rv, "Invalid value for --modules");
	module = find_module(json, ESTIMATOR_FIXED);
	if (!module)
		return err_set(err, ERR_NOT_FOUND, "Module '%s' unknown", ESTIMATOR_FIXED);
	parameter = find_named(json_get(module, "parameters"), "key", "resources");
	if (!parameter)
		return err_set(err, ERR_NOT_FOUND, "Module '%s' has no parameter 'resources'",
			       ESTIMATOR_FIXED);
	return make_revocable(shapes, arena, json_get_string(parameter, "value"), out, err);
}

int estimator_parse(struct resource_shapes *shapes, const char *name, const char *modules,
		    struct resources *out, struct err *err)
{
	struct arena arena;
	int rv;

	*out = RESOURCES_INIT;
	if (!name)
		return 0;
	if (strcmp(name, ESTIMATOR_FIXED) != 0)
		return err_set(err, ERR_INVALID,
			       "--resource_estimator=%s: mesita has no modules; there is %s", name,
			       ESTIMATOR_FIXED);
	arena_init(&arena);
	rv = parse_modules(shapes, &arena, modules, out, err);
	arena_free(&arena);
	if (rv < 0)
		return err_wrap(err, rv, "Failed to create resource estimator");
	return 0;
}
