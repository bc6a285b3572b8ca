/* Operations on resources: what each takes, what it makes, and what is refused. */
#include <math.h>
#include <string.h>

#include "proto/operation.h"
#include "tests/unit/proto_resources.h"

RESOURCES_SUITE(proto_operation);

/* Words stand for resources, so that a row of a table fits a line. */
static const struct {
	const char *word;
	const char *json; /* without name, type and braces */
} kinds[] = {
	{"free", ""},
	{"r", ",\"reservations\":[{\"type\":\"DYNAMIC\",\"role\":\"r\"}]"},
	{"static", ",\"reservations\":[{\"type\":\"STATIC\",\"role\":\"r\"}]"},
	{"r/s", ",\"reservations\":[{\"type\":\"DYNAMIC\",\"role\":\"r\"},"
		"{\"type\":\"DYNAMIC\",\"role\":\"r/s\"}]"},
	{"s", ",\"reservations\":[{\"type\":\"DYNAMIC\",\"role\":\"s\"}]"},
	{"volume", ",\"reservations\":[{\"type\":\"DYNAMIC\",\"role\":\"r\"}],\"disk\":{"
		   "\"persistence\":{\"id\":\"v\"},\"volume\":{\"container_path\":\"p\",\"mode\":"
		   "\"RW\"}}"},
	{"other", ",\"reservations\":[{\"type\":\"DYNAMIC\",\"role\":\"r\"}],\"disk\":{"
		  "\"persistence\":{\"id\":\"w\"},\"volume\":{\"container_path\":\"p\",\"mode\":"
		  "\"RW\"}}"},
	{"shared", ",\"reservations\":[{\"type\":\"DYNAMIC\",\"role\":\"r\"}],\"disk\":{"
		   "\"persistence\":{\"id\":\"v\"},\"volume\":{\"container_path\":\"p\",\"mode\":"
		   "\"RW\"}},\"shared\":{}"},
	{"mount", ",\"reservations\":[{\"type\":\"DYNAMIC\",\"role\":\"r\"}],\"disk\":{"
		  "\"source\":{\"type\":\"MOUNT\",\"mount\":{\"root\":\"/m\"}}}"},
	{"mounted", ",\"reservations\":[{\"type\":\"DYNAMIC\",\"role\":\"r\"}],\"disk\":{"
		    "\"source\":{\"type\":\"MOUNT\",\"mount\":{\"root\":\"/m\"}},"
		    "\"persistence\":{\"id\":\"v\"},\"volume\":{\"container_path\":\"p\","
		    "\"mode\":\"RW\"}}"},
	{"mounted2", ",\"reservations\":[{\"type\":\"DYNAMIC\",\"role\":\"r\"}],\"disk\":{"
		     "\"source\":{\"type\":\"MOUNT\",\"mount\":{\"root\":\"/m\"}},"
		     "\"persistence\":{\"id\":\"w\"},\"volume\":{\"container_path\":\"p\","
		     "\"mode\":\"RW\"}}"},
	{"provided", ",\"provider_id\":{\"value\":\"p\"},\"reservations\":[{\"type\":\"DYNAMIC\","
		     "\"role\":\"r\"}],\"disk\":{\"persistence\":{\"id\":\"v\"},\"volume\":{"
		     "\"container_path\":\"p\",\"mode\":\"RW\"}}"},
};

/* "r:10" */
static const char *json_of(const char *word)
{
	size_t len = strcspn(word, ":");

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strncmp(kinds[i].word, word, len) && !kinds[i].word[len])
			return arena_printf(&arena,
					    "{\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{"
					    "\"value\":%s}%s}",
					    word + len + 1, kinds[i].json);
	cr_assert_fail("%s", word);
	return NULL;
}

/* "r:10 free:5" as a JSON list. */
static const char *list_of(const char *words)
{
	char *copy = arena_strdup(&arena, words), *save, *list = arena_strdup(&arena, "[");

	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		list = arena_printf(&arena, "%s%s%s", list, list[1] ? "," : "", json_of(word));
	return arena_printf(&arena, "%s]", list);
}

static struct resources words_of(const char *words)
{
	return make(list_of(words));
}

static Mesos__Offer__Operation *operation_of(const char *text)
{
	struct err err = {""};
	struct json *json;
	Mesos__Offer__Operation *operation;

	cr_assert_eq(json_parse(&arena, text, strlen(text), &json, &err), 0, "%s: %s", text,
		     err.text);
	operation =
		json_to_proto(&mesos__offer__operation__descriptor, json, SPELL_V1, &arena, &err);
	cr_assert(operation, "%s: %s", text, err.text);
	return operation;
}

/* "RESERVE r:10", or "GROW_VOLUME volume:10 r:5" */
static Mesos__Offer__Operation *order(const char *words)
{
	size_t len = strcspn(words, " ");
	char *type = arena_strndup(&arena, words, len);
	char *first = arena_strdup(&arena, words + len + 1), *second = strchr(first, ' ');
	const char *part;

	if (!strcmp(type, "RESERVE"))
		part = arena_printf(&arena, "\"reserve\":{\"resources\":%s}", list_of(first));
	else if (!strcmp(type, "UNRESERVE"))
		part = arena_printf(&arena, "\"unreserve\":{\"resources\":%s}", list_of(first));
	else if (!strcmp(type, "CREATE"))
		part = arena_printf(&arena, "\"create\":{\"volumes\":%s}", list_of(first));
	else if (!strcmp(type, "DESTROY"))
		part = arena_printf(&arena, "\"destroy\":{\"volumes\":%s}", list_of(first));
	else {
		*second++ = 0;
		if (!strcmp(type, "GROW_VOLUME"))
			part = arena_printf(&arena,
					    "\"grow_volume\":{\"volume\":%s,\"addition\":%s}",
					    json_of(first), json_of(second));
		else
			part = arena_printf(&arena,
					    "\"shrink_volume\":{\"volume\":%s,\"subtract\":{"
					    "\"value\":%s}}",
					    json_of(first), second);
	}
	return operation_of(arena_printf(&arena, "{\"type\":\"%s\",%s}", type, part));
}

static const struct {
	const char *operation;
	const char *consumed;
	const char *converted;
} conversions[] = {
	{"RESERVE r:10", "free:10", "r:10"},
	{"RESERVE r:10 s:5", "free:15", "r:10 s:5"},
	{"RESERVE r/s:10", "r:10", "r/s:10"},
	{"UNRESERVE r:10", "r:10", "free:10"},
	{"UNRESERVE r/s:10", "r/s:10", "r:10"},
	{"UNRESERVE r/s:10 r:10", "r/s:10", "free:10"}, /* the second takes what the first made */
	{"UNRESERVE r/s:10 r:15", "r/s:10 r:5", "free:15"},
	{"CREATE volume:10", "r:10", "volume:10"},
	{"CREATE volume:10 other:5", "r:15", "volume:10 other:5"},
	{"CREATE shared:10", "r:10", "shared:10"},
	{"CREATE mounted:10", "mount:10", "mounted:10"},
	{"DESTROY volume:10", "volume:10", "r:10"},
	{"DESTROY shared:10", "shared:10", "r:10"},
	{"DESTROY mounted:10", "mounted:10", "mount:10"},
	{"GROW_VOLUME volume:10 r:5.5", "volume:10 r:5.5", "volume:15.5"},
	{"GROW_VOLUME volume:9e12 r:9e12", "volume:9e12 r:9e12", NULL},
	{"SHRINK_VOLUME volume:10 4", "volume:10", "volume:6 r:4"},
	{"SHRINK_VOLUME volume:10 9.9996", NULL, NULL},
};

Test(proto_operation, converts)
{
	for (size_t i = 0; i < sizeof(conversions) / sizeof(*conversions); i++) {
		struct resources consumed, converted;
		struct err err = {""};
		int rv = operation_conversion(shapes, order(conversions[i].operation), &consumed,
					      &converted, &err);

		if (conversions[i].consumed) {
			struct resources want = words_of(conversions[i].consumed);

			cr_assert_eq(rv, 0, "%s: %s", conversions[i].operation, err.text);
			cr_expect(resources_equal(&consumed, &want), "%s",
				  conversions[i].operation);
			resources_free(&want);
		} else {
			cr_assert_eq(rv, ERR_INVALID, "%s", conversions[i].operation);
			cr_expect(resources_empty(&consumed) && resources_empty(&converted));
		}
		if (conversions[i].converted) {
			struct resources want = words_of(conversions[i].converted);

			cr_expect(resources_equal(&converted, &want), "%s",
				  conversions[i].operation);
			resources_free(&want);
		}
		resources_free(&consumed);
		resources_free(&converted);
	}
}

static const struct {
	const char *operation;
	const char *error;
} refused[] = {
	{"{}", "Unknown operation"},
	{"{\"type\":\"RESERVE\"}", "Unknown operation"},
	{"{\"type\":\"LAUNCH\",\"launch\":{}}", "Operation not supported"},
	{"{\"type\":\"DESTROY_DISK\"}", "Operation not supported"},
};

Test(proto_operation, refuses_what_it_cannot_convert)
{
	struct resources consumed, converted;
	struct err err;

	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		cr_expect_eq(operation_conversion(shapes, operation_of(refused[i].operation),
						  &consumed, &converted, &err),
			     ERR_INVALID);
		cr_expect_str_eq(err.text, refused[i].error);
	}
	operation_conversion(shapes, order("RESERVE free:1"), &consumed, &converted, &err);
	cr_expect_str_eq(err.text, "Resource disk:1 is not reserved");
	operation_conversion(shapes, order("UNRESERVE free:1"), &consumed, &converted, &err);
	cr_expect_str_eq(err.text, "Resource disk:1 is not reserved");
	operation_conversion(shapes, order("GROW_VOLUME provided:1 r:1"), &consumed, &converted,
			     &err);
	cr_expect_str_eq(err.text, "Operation not supported for resource provider");
	operation_conversion(shapes, order("SHRINK_VOLUME provided:2 1"), &consumed, &converted,
			     &err);
	cr_expect_str_eq(err.text, "Operation not supported for resource provider");
	for (size_t i = 0; i < 2; i++) {
		Mesos__Offer__Operation *operation = order("SHRINK_VOLUME volume:2 -1");

		if (i)
			operation->shrink_volume->subtract->value = NAN;
		operation_conversion(shapes, operation, &consumed, &converted, &err);
		cr_expect_str_eq(err.text,
				 "Value of 'ShrinkVolume.subtract' must be greater than zero");
	}
	for (size_t i = 0; i < 2; i++) {
		operation_conversion(
			shapes,
			order(i ? "SHRINK_VOLUME volume:2 1e300" : "SHRINK_VOLUME volume:2 2"),
			&consumed, &converted, &err);
		cr_expect_str_eq(err.text, "Value of 'ShrinkVolume.subtract' must be smaller than "
					   "the size of 'ShrinkVolume.volume'");
	}
}

Test(proto_operation, source_is_taken_as_it_is_given)
{
	struct resources consumed, converted, want = words_of("r:10");
	struct err err = {""};
	Mesos__Offer__Operation *operation = operation_of(arena_printf(
		&arena, "{\"type\":\"RESERVE\",\"reserve\":{\"source\":%s,\"resources\":%s}}",
		list_of("r:10"), list_of("s:10")));

	cr_assert_eq(operation_conversion(shapes, operation, &consumed, &converted, &err), 0);
	cr_expect(resources_equal(&consumed, &want));
	resources_free(&want);
	resources_free(&consumed);
	resources_free(&converted);
}

/* ---- application ---------------------------------------------------------------------- */

static const struct {
	const char *in;
	const char *operation;
	const char *out; /* NULL: refused */
} applied[] = {
	{"free:10", "RESERVE r:4", "free:6 r:4"},
	{"free:10", "RESERVE r:4 s:7", NULL},
	{"r/s:10", "UNRESERVE r/s:10 r:10", "free:10"},
	{"r:10", "CREATE volume:10", "volume:10"},
	{"r:10", "CREATE volume:5 other:6", NULL},
	{"mount:10", "CREATE mounted:10", "mounted:10"},
	{"mount:10", "CREATE mounted:5", NULL},
	{"mount:10", "CREATE mounted:10 mounted2:10", NULL}, /* there is one such disk */
	{"mount:10 mount:10", "CREATE mounted:10 mounted2:10", "mounted:10 mounted2:10"},
	{"volume:10", "DESTROY volume:5", NULL},
	{"volume:10", "DESTROY volume:10", "r:10"},
	{"shared:10", "DESTROY shared:10", "r:10"},
	{"shared:10 shared:10", "DESTROY shared:10", NULL},
	{"volume:10 r:5", "GROW_VOLUME volume:10 r:5", "volume:15"},
	{"volume:10", "GROW_VOLUME volume:10 r:5", NULL},
	{"volume:10 r:1", "SHRINK_VOLUME volume:10 5", "volume:5 r:6"},
};

Test(proto_operation, applies_whole_or_not_at_all)
{
	for (size_t i = 0; i < sizeof(applied) / sizeof(*applied); i++) {
		struct resources in = words_of(applied[i].in), consumed, converted;
		struct resources want = words_of(applied[i].out ? applied[i].out : applied[i].in);
		struct err err = {""};

		cr_assert_eq(operation_conversion(shapes, order(applied[i].operation), &consumed,
						  &converted, &err),
			     0, "%s", err.text);
		cr_expect_eq(resources_apply_conversion(&in, &consumed, &converted, &err),
			     applied[i].out ? 0 : ERR_INVALID, "%s: %s", applied[i].operation,
			     err.text);
		cr_expect(resources_equal(&in, &want), "%s", applied[i].operation);
		resources_free(&in);
		resources_free(&want);
		resources_free(&consumed);
		resources_free(&converted);
	}
}

Test(proto_operation, application_says_what_is_missing)
{
	struct resources in = words_of("free:10"), consumed, converted;
	struct err err = {""};

	operation_conversion(shapes, order("RESERVE r:11"), &consumed, &converted, &err);
	cr_assert_eq(resources_apply_conversion(&in, &consumed, &converted, &err), ERR_INVALID);
	cr_expect_str_eq(err.text, "disk:10 does not contain disk:11");
	resources_free(&in);
	resources_free(&consumed);
	resources_free(&converted);
	in = words_of("shared:10 shared:10");
	operation_conversion(shapes, order("DESTROY shared:10"), &consumed, &converted, &err);
	cr_assert_eq(resources_apply_conversion(&in, &consumed, &converted, &err), ERR_INVALID);
	cr_expect_str_eq(err.text,
			 "Persistent volume disk(reservations: [(DYNAMIC,r)])[v:p]<SHARED>:10 "
			 "cannot be removed due to additional shared copies");
	resources_free(&in);
	resources_free(&consumed);
	resources_free(&converted);
}

/* ---- resources of operations ---------------------------------------------------------- */

#define ONE "{\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1}}"
#define LIST "[" ONE "]"
#define TASK                                                                                       \
	"{\"name\":\"t\",\"task_id\":{\"value\":\"t\"},\"agent_id\":{\"value\":\"a\"},"            \
	"\"resources\":" LIST ",\"executor\":" EXECUTOR "}"
#define EXECUTOR "{\"executor_id\":{\"value\":\"e\"},\"resources\":" LIST "}"

static const struct {
	const char *operation;
	int count;
} visited[] = {
	{"{\"type\":\"LAUNCH\",\"launch\":{\"task_infos\":[" TASK "," TASK "]}}", 4},
	{"{\"type\":\"LAUNCH_GROUP\",\"launch_group\":{\"executor\":" EXECUTOR
	 ",\"task_group\":{\"tasks\":[" TASK "]}}}",
	 3},
	{"{\"type\":\"RESERVE\",\"reserve\":{\"resources\":" LIST ",\"source\":" LIST "}}", 2},
	{"{\"type\":\"UNRESERVE\",\"unreserve\":{\"resources\":" LIST "}}", 1},
	{"{\"type\":\"CREATE\",\"create\":{\"volumes\":" LIST "}}", 1},
	{"{\"type\":\"DESTROY\",\"destroy\":{\"volumes\":" LIST "}}", 1},
	{"{\"type\":\"GROW_VOLUME\",\"grow_volume\":{\"volume\":" ONE ",\"addition\":" ONE "}}", 2},
	{"{\"type\":\"SHRINK_VOLUME\",\"shrink_volume\":{\"volume\":" ONE
	 ",\"subtract\":{\"value\":1}}}",
	 1},
	{"{\"type\":\"DESTROY_DISK\",\"destroy_disk\":{\"source\":" ONE "}}", 1},
	{"{\"type\":\"CREATE_DISK\",\"create_disk\":{\"source\":" ONE
	 ",\"target_type\":\"MOUNT\"}}",
	 1},
	{"{\"type\":\"RESERVE\"}", 0},
};

static void count_one(void *context, Mesos__Resource *resource)
{
	*(int *)context += 1;
	cr_expect_str_eq(resource->name, "cpus");
}

Test(proto_operation, visits_each_resource_once)
{
	for (size_t i = 0; i < sizeof(visited) / sizeof(*visited); i++) {
		int count = 0;

		operation_each_resource(operation_of(visited[i].operation), count_one, &count);
		cr_expect_eq(count, visited[i].count, "%s", visited[i].operation);
	}
}
