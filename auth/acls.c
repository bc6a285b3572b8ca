#include "auth/acls.h"

#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/json/json.h"
#include "base/memory/arena.h"
#include "base/table.h"

#define ACLS_FILE_MAX (4u << 20) /* bytes; a rule takes some hundred */

/* What is found for a request is remembered; when there are so many, all is forgotten. */
#define VERDICTS_MAX 8192
#define VERDICT_KEY_MAX 512

enum object_kind {
	OBJECT_VALUE, /* compared as a whole */
	OBJECT_ROLE,  /* "a/%" stands for all below a */
	OBJECT_PATH,  /* one of `paths` */
	OBJECT_WHOLE, /* ANY or NONE of them */
};

static const struct {
	const char *name, *objects, *action;
	enum object_kind kind;
} lists[ACL_ACTIONS] = {
#define ACL_ROW(action, list, key, kind) [action] = {list, key, #action, kind},
	ACL_LISTS(ACL_ROW)
#undef ACL_ROW
};

/* The endpoints that get_endpoints can be about. */
static const char *const paths[] = {"/containers",
				    "/containerizer/debug",
				    "/files/debug",
				    "/logging/toggle",
				    "/metrics/snapshot",
				    "/monitor/statistics",
				    NULL};

enum entity_type { ENTITY_SOME, ENTITY_ANY, ENTITY_NONE };

struct entity {
	enum entity_type type;
	const char **values; /* of SOME */
	size_t count;
};

struct rule {
	struct entity principals, objects;
};

struct verdict {
	UT_hash_handle hh;
	bool allowed;
	char key[];
};

struct memory {
	struct verdict *verdicts;
};

struct acls {
	struct arena arena;
	bool permissive;
	struct {
		struct rule *rules;
		size_t count;
	} lists[ACL_ACTIONS];
	struct memory *memory;
};

/* ---- reading ------------------------------------------------------------------------- */

static int entity_type(const struct json *json, const char *list, enum entity_type *out,
		       struct err *err)
{
	static const char *const names[] = {"SOME", "ANY", "NONE"};
	const struct json *type = json_get(json, "type");

	*out = ENTITY_SOME;
	if (!type)
		return 0;
	for (size_t i = 0; type->type == JSON_STRING && i < 3; i++) {
		if (!strcmp(type->text.data, names[i])) {
			*out = (enum entity_type)i;
			return 0;
		}
	}
	return err_set(err, ERR_INVALID, "'%s' has a type that is not SOME, ANY or NONE", list);
}

static int entity_values(struct arena *arena, const struct json *json, const char *list,
			 struct entity *out, struct err *err)
{
	const struct json *values = json_get(json, "values");

	if (!values)
		return 0;
	if (values->type != JSON_ARRAY)
		return err_set(err, ERR_INVALID, "'values' in '%s' is not an array", list);
	out->values = arena_alloc(arena, (values->count + 1) * sizeof(*out->values));
	for (size_t i = 0; i < values->count; i++) {
		const struct json *value = &values->items[i];

		if (value->type != JSON_STRING || strlen(value->text.data) != value->text.len)
			return err_set(err, ERR_INVALID, "A value in '%s' is not a text", list);
		out->values[out->count++] = value->text.data;
	}
	return 0;
}

static int read_entity(struct arena *arena, const struct json *rule, const char *list,
		       const char *key, struct entity *out, struct err *err)
{
	const struct json *json = json_get(rule, key);
	int rv;

	if (!json || json->type != JSON_OBJECT)
		return err_set(err, ERR_INVALID, "Missing required field '%s' in '%s'", key, list);
	rv = entity_type(json, list, &out->type, err);
	return rv ? rv : entity_values(arena, json, list, out, err);
}

/* Mesos names them after their messages: "ACL_VIEW_FLAGS" to "ViewFlags". */
static void print_message_name(const char *action, char *out, size_t size)
{
	bool upper = true;
	size_t len = 0;

	for (action += strlen("ACL_"); *action && len + 1 < size; action++) {
		if (*action != '_')
			out[len++] = upper ? *action : (char)(*action - 'A' + 'a');
		upper = *action == '_';
	}
	out[len] = '\0';
}

static bool known_path(const char *path)
{
	for (const char *const *known = paths; *known; known++) {
		if (!strcmp(*known, path))
			return true;
	}
	return false;
}

static int check_objects(enum acl_action action, const struct entity *objects, struct err *err)
{
	char name[80];

	if (lists[action].kind == OBJECT_WHOLE && objects->type == ENTITY_SOME) {
		print_message_name(lists[action].action, name, sizeof(name));
		return err_set(err, ERR_INVALID, "ACL.%s type must be either NONE or ANY", name);
	}
	for (size_t i = 0; lists[action].kind == OBJECT_PATH && i < objects->count; i++) {
		if (!known_path(objects->values[i]))
			return err_set(err, ERR_INVALID, "Path: '%s' is not an authorizable path",
				       objects->values[i]);
	}
	return 0;
}

static int read_list(struct acls *acls, enum acl_action action, const struct json *list,
		     struct err *err)
{
	const char *name = lists[action].name;
	struct rule *rules;
	int rv = 0;

	if (list->type != JSON_ARRAY)
		return err_set(err, ERR_INVALID, "'%s' is not an array", name);
	rules = arena_alloc(&acls->arena, (list->count + 1) * sizeof(*rules));
	memset(rules, 0, (list->count + 1) * sizeof(*rules));
	for (size_t i = 0; i < list->count && !rv; i++) {
		rv = read_entity(&acls->arena, &list->items[i], name, "principals",
				 &rules[i].principals, err);
		if (!rv)
			rv = read_entity(&acls->arena, &list->items[i], name, lists[action].objects,
					 &rules[i].objects, err);
		if (!rv)
			rv = check_objects(action, &rules[i].objects, err);
	}
	acls->lists[action].rules = rules;
	acls->lists[action].count = list->count;
	return rv;
}

static int read_lists(struct acls *acls, const struct json *json, struct err *err)
{
	const struct json *permissive = json_get(json, "permissive");
	int rv = 0;

	if (json->type != JSON_OBJECT)
		return err_set(err, ERR_INVALID, "The ACLs are not a JSON object");
	if (permissive && permissive->type != JSON_BOOL)
		return err_set(err, ERR_INVALID, "'permissive' is neither true nor false");
	acls->permissive = !permissive || permissive->boolean;
	for (int action = 0; action < ACL_ACTIONS && !rv; action++) {
		const struct json *list = json_get(json, lists[action].name);

		if (list)
			rv = read_list(acls, (enum acl_action)action, list, err);
	}
	return rv;
}

int acls_parse(const char *text, size_t len, struct acls **out, struct err *err)
{
	struct acls *acls = xcalloc(1, sizeof(*acls));
	struct json *json;
	int rv;

	arena_init(&acls->arena);
	acls->memory = xcalloc(1, sizeof(*acls->memory));
	rv = json_parse(&acls->arena, text, len, &json, err);
	if (!rv)
		rv = read_lists(acls, json, err);
	if (rv) {
		acls_free(acls);
		return ERR_INVALID;
	}
	*out = acls;
	return 0;
}

int acls_read(const char *value, struct acls **out, struct err *err)
{
	struct buf text = BUF_INIT;
	int rv;

	if (*value != '/')
		return acls_parse(value, strlen(value), out, err);
	rv = file_read(value, ACLS_FILE_MAX, &text, err);
	if (rv == 0)
		rv = acls_parse(text.data, text.len, out, err);
	buf_free(&text);
	return rv;
}

static void forget(struct memory *memory)
{
	struct verdict *v, *next;

	HASH_ITER (hh, memory->verdicts, v, next) {
		HASH_DEL(memory->verdicts, v);
		free(v);
	}
}

void acls_free(struct acls *acls)
{
	if (!acls)
		return;
	forget(acls->memory);
	free(acls->memory);
	arena_free(&acls->arena);
	free(acls);
}

/* ---- judging --------------------------------------------------------------------------- */

/* "eng/%" covers "eng/a" and "eng/a/b", not "eng". */
static bool covers(enum object_kind kind, const char *pattern, const char *value)
{
	size_t len = strlen(pattern);

	if (kind == OBJECT_ROLE && len >= 2 && !strcmp(pattern + len - 2, "/%"))
		return !strncmp(pattern, value, len - 1) && value[len - 1];
	return !strcmp(pattern, value);
}

static bool entity_has(const struct entity *entity, enum object_kind kind, const char *value)
{
	for (size_t i = 0; i < entity->count; i++) {
		if (covers(kind, entity->values[i], value))
			return true;
	}
	return false;
}

/* The rule is about it. `value` NULL: about any. */
static bool entity_matches(const struct entity *entity, enum object_kind kind, const char *value)
{
	return entity->type != ENTITY_SOME || (value && entity_has(entity, kind, value));
}

static bool judge(const struct acls *acls, enum acl_action action, const char *principal,
		  const char *object)
{
	enum object_kind kind = lists[action].kind;

	for (size_t i = 0; i < acls->lists[action].count; i++) {
		const struct rule *rule = &acls->lists[action].rules[i];

		/* What matches is allowed unless it is NONE. */
		if (entity_matches(&rule->principals, OBJECT_VALUE, principal) &&
		    entity_matches(&rule->objects, kind, object))
			return rule->principals.type != ENTITY_NONE &&
			       rule->objects.type != ENTITY_NONE;
	}
	return acls->permissive;
}

/* Of the whole request; 0: it is too long to be remembered. */
static size_t verdict_key(char *key, enum acl_action action, const char *principal,
			  const char *object)
{
	size_t principal_len = principal ? strlen(principal) : 0;
	size_t object_len = object ? strlen(object) : 0;

	if (2 + principal_len + 1 + object_len > VERDICT_KEY_MAX)
		return 0;
	key[0] = (char)action;
	key[1] = (char)((principal != NULL) | (object != NULL) << 1);
	if (principal)
		memcpy(key + 2, principal, principal_len);
	key[2 + principal_len] = '\0';
	if (object)
		memcpy(key + 2 + principal_len + 1, object, object_len);
	return 2 + principal_len + 1 + object_len;
}

static void remember(struct memory *memory, const char *key, size_t len, bool allowed)
{
	struct verdict *v = xmalloc(sizeof(*v) + len);

	if (HASH_COUNT(memory->verdicts) >= VERDICTS_MAX)
		forget(memory);
	v->allowed = allowed;
	memcpy(v->key, key, len);
	HASH_ADD(hh, memory->verdicts, key[0], len, v);
}

bool acls_allow(const struct acls *acls, enum acl_action action, const char *principal,
		const char *object)
{
	char key[VERDICT_KEY_MAX];
	struct verdict *known;
	bool allowed;
	size_t len;

	if (!acls)
		return true;
	len = verdict_key(key, action, principal, object);
	if (!len)
		return judge(acls, action, principal, object);
	HASH_FIND(hh, acls->memory->verdicts, key, len, known);
	if (known)
		return known->allowed;
	allowed = judge(acls, action, principal, object);
	remember(acls->memory, key, len, allowed);
	return allowed;
}
