/* The least that an offer must hold: one of several sets of
 * amounts, summed over all pieces of a name; no set at all asks for nothing. */
#include <stdlib.h>
#include <string.h>

#include "allocator/objects.h"
#include "allocator/roles/minima.h"
#include "base/memory/arena.h"

void alloc_minima_free(struct minima *minima)
{
	for (size_t i = 0; i < minima->count; i++) {
		for (size_t j = 0; j < minima->any_of[i].count; j++)
			free((char *)minima->any_of[i].items[j].name);
		free((void *)minima->any_of[i].items);
	}
	free(minima->any_of);
	*minima = (struct minima){0};
}

static struct allocator_amounts amounts_of(const struct resources *resources)
{
	struct allocator_amount *items = xcalloc(resources->count + 1, sizeof(*items));

	for (uint32_t i = 0; i < resources->count; i++) {
		items[i].name = xstrdup(resource_shape_name(resources->pieces[i].shape));
		items[i].milli = resource_piece_quantity(&resources->pieces[i]);
	}
	return (struct allocator_amounts){items, resources->count};
}

static int minima_parse_one(struct resource_shapes *shapes, const char *text, struct minima *out,
			    struct err *err)
{
	struct resources resources = RESOURCES_INIT;
	int rv = resources_parse(shapes, text, "*", &resources, err);

	if (rv == 0 && resources_empty(&resources))
		rv = err_set(err, ERR_INVALID, "'%s' names no resource", text);
	if (rv == 0) {
		out->any_of = xrealloc(out->any_of, (out->count + 1) * sizeof(*out->any_of));
		out->any_of[out->count++] = amounts_of(&resources);
	}
	resources_free(&resources);
	return rv;
}

int alloc_minima_parse(struct resource_shapes *shapes, const char *text, struct minima *out,
		       struct err *err)
{
	char *copy = xstrdup(text), *rest = copy, *part;
	int rv = 0;

	*out = (struct minima){0};
	while (*text && rv == 0 && (part = strsep(&rest, "|")))
		rv = minima_parse_one(shapes, part, out, err);
	free(copy);
	if (rv < 0) {
		alloc_minima_free(out);
		err_wrap(err, rv, "Invalid min_allocatable_resources '%s'", text);
	}
	return rv;
}

bool alloc_minima_name(const struct minima *minima, const char *name)
{
	for (size_t i = 0; i < minima->count; i++) {
		for (size_t j = 0; j < minima->any_of[i].count; j++) {
			if (strcmp(minima->any_of[i].items[j].name, name) == 0)
				return true;
		}
	}
	return minima->count == 0;
}

static bool amounts_met(const struct allocator_amounts *amounts, const struct resources *resources)
{
	for (size_t i = 0; i < amounts->count; i++) {
		if (resources_quantity(resources, amounts->items[i].name) < amounts->items[i].milli)
			return false;
	}
	return true;
}

bool alloc_minima_met(const struct minima *minima, const struct resources *resources)
{
	for (size_t i = 0; i < minima->count; i++) {
		if (amounts_met(&minima->any_of[i], resources))
			return true;
	}
	return minima->count == 0;
}
