/* What the tests of resources share: an arena and a table of shapes of their own for each, and
 * resources from text. */
#ifndef TESTS_UNIT_PROTO_RESOURCES_H
#define TESTS_UNIT_PROTO_RESOURCES_H

#include <criterion/criterion.h>
#include <string.h>

#include "proto/resources.h"

/* Members of JSON objects. */
#define CPU "\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1}"
#define DISK "\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1}"

static struct arena arena;
static struct resource_shapes *shapes;

static inline void set_up(void)
{
	arena_init(&arena);
	shapes = resource_shapes_create();
}

static inline void tear_down(void)
{
	arena_free(&arena);
	resource_shapes_destroy(shapes);
}

#define RESOURCES_SUITE(name) TestSuite(name, .init = set_up, .fini = tear_down)

/* From text or JSON; volumes and the like too, which --resources may not have. */
static inline struct resources make(const char *text)
{
	struct resources r = RESOURCES_INIT;
	Mesos__Resource **list;
	struct err err = {""};
	size_t count;

	cr_assert_eq(resources_parse_messages(&arena, text, "*", &count, &list, &err), 0, "%s: %s",
		     text, err.text);
	cr_assert_eq(resources_validate(list, count, &err), 0, "%s", err.text);
	resources_add_messages(shapes, &r, list, count);
	return r;
}

/* Of the members of a JSON object. */
static inline Mesos__Resource *message_of(const char *fields)
{
	const char *text = arena_printf(&arena, "{%s}", fields);
	struct err err = {""};
	struct json *json;
	Mesos__Resource *resource;

	cr_assert_eq(json_parse(&arena, text, strlen(text), &json, &err), 0, "%s", err.text);
	resource = json_to_proto(&mesos__resource__descriptor, json, SPELL_V1, &arena, &err);
	cr_assert(resource, "%s: %s", text, err.text);
	return resource;
}

static inline const char *text_of(const struct resources *r)
{
	struct buf out = BUF_INIT;
	char *text;

	resources_print(r, &out);
	text = arena_strdup(&arena, out.data);
	buf_free(&out);
	return text;
}

#endif
