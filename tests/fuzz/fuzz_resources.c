/* Resources: the value of --resources, and messages as frameworks send them. What the rules
 * accept can be added, taken away, printed and turned into messages again. */
#include <stdint.h>
#include <stdlib.h>

#include "proto/resources.h"

static void check(struct resource_shapes *shapes, const struct resources *r, struct arena *arena)
{
	struct resources copy, again = RESOURCES_INIT;
	struct buf text = BUF_INIT;
	Mesos__Resource **list;
	struct json_writer w;
	struct err err;
	size_t count;

	resources_to_messages(arena, r, &count, &list);
	if (resources_validate(list, count, &err))
		abort();
	resources_add_messages(shapes, &again, list, count);
	resources_copy(&copy, r);
	resources_add(&copy, r);
	if (!resources_contain(r, &again) || !resources_contain(&copy, r))
		abort();
	resources_subtract(&copy, r);
	resources_subtract(&copy, r);
	if (!resources_empty(&copy))
		abort();
	resources_print(r, &text);
	jw_init(&w, &text);
	resources_write_model(r, &w);
	buf_free(&text);
	resources_free(&copy);
	resources_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct resource_shapes *shapes = resource_shapes_create();
	char *text = xstrndup((const char *)data, size);
	struct resources r, sum = RESOURCES_INIT;
	Mesos__Resource **list;
	struct arena arena;
	struct err err;
	size_t count;

	arena_init(&arena);
	if (!resources_parse(shapes, text, "*", &r, &err))
		check(shapes, &r, &arena);
	resources_free(&r);
	if (!resources_parse_messages(&arena, text, "role", &count, &list, &err) &&
	    !resources_validate(list, count, &err)) {
		resources_add_messages(shapes, &sum, list, count);
		check(shapes, &sum, &arena);
	}
	resources_free(&sum);
	free(text);
	arena_free(&arena);
	resource_shapes_destroy(shapes);
	return 0;
}
