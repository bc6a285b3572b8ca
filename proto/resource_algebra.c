/* Collections of resources: add, subtract, contain.
 *
 * Pieces keep the order in which they were added, so the same operations in the same order
 * give the same collection. Each piece of a collection holds a reference to its shape.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/resource_internal.h"

static bool addable(const struct resource_piece *to, const struct resource_piece *more)
{
	if (!same_identity(to, more))
		return false;
	switch (to->shape->mode) {
	case SHAPE_PLAIN:
		return true;
	case SHAPE_SHARED:
		return value_equal(to, more);
	default:
		return false;
	}
}

static bool subtractable(const struct resource_piece *from, const struct resource_piece *less)
{
	return same_identity(from, less) &&
	       (from->shape->mode == SHAPE_PLAIN || value_equal(from, less));
}

static bool piece_contains(const struct resource_piece *have, const struct resource_piece *want)
{
	if (!subtractable(have, want))
		return false;
	if (have->shape->mode == SHAPE_SHARED)
		return have->shares >= want->shares;
	return value_contains(have, want);
}

static void remove_piece(struct resources *r, uint32_t i)
{
	shape_unref(r->pieces[i].shape);
	value_free(&r->pieces[i]);
	memmove(&r->pieces[i], &r->pieces[i + 1], (--r->count - i) * sizeof(*r->pieces));
}

/* The piece's value is not copied: the collection owns it from here on. */
static void append_piece(struct resources *to, const struct resource_piece *piece)
{
	if (to->count == to->cap) {
		to->cap = to->cap ? to->cap * 2 : 4;
		to->pieces = xrealloc(to->pieces, to->cap * sizeof(*to->pieces));
	}
	shape_ref(piece->shape);
	to->pieces[to->count++] = *piece;
}

void resources_clear(struct resources *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		shape_unref(r->pieces[i].shape);
		value_free(&r->pieces[i]);
	}
	r->count = 0;
}

void resources_free(struct resources *r)
{
	resources_clear(r);
	free(r->pieces);
	*r = RESOURCES_INIT;
}

void resources_add_piece(struct resources *to, const struct resource_piece *piece)
{
	struct resource_piece copy;

	if (value_empty(piece))
		return;
	for (uint32_t i = 0; i < to->count; i++) {
		struct resource_piece *into = &to->pieces[i];

		if (!addable(into, piece))
			continue;
		if (into->shape->mode == SHAPE_SHARED)
			into->shares += piece->shares;
		else
			value_add(into, piece);
		return;
	}
	value_copy(&copy, piece);
	append_piece(to, &copy);
}

void resources_add(struct resources *to, const struct resources *more)
{
	uint32_t count = more->count; /* `more` may be `to` */

	for (uint32_t i = 0; i < count; i++) {
		struct resource_piece piece;

		if (to != more) {
			resources_add_piece(to, &more->pieces[i]);
			continue;
		}
		value_copy(&piece, &more->pieces[i]);
		resources_add_piece(to, &piece);
		value_free(&piece);
	}
}

void resources_copy(struct resources *to, const struct resources *from)
{
	*to = RESOURCES_INIT;
	if (!from->count)
		return;
	to->cap = from->count;
	to->pieces = xcalloc(to->cap, sizeof(*to->pieces));
	for (uint32_t i = 0; i < from->count; i++) {
		struct resource_piece copy;

		value_copy(&copy, &from->pieces[i]);
		append_piece(to, &copy);
	}
}

void resources_subtract_piece(struct resources *from, const struct resource_piece *piece)
{
	if (value_empty(piece))
		return;
	for (uint32_t i = 0; i < from->count; i++) {
		struct resource_piece *have = &from->pieces[i];

		if (!subtractable(have, piece))
			continue;
		if (have->shape->mode == SHAPE_SHARED)
			have->shares -= piece->shares < have->shares ? piece->shares : have->shares;
		else if (have->shape->mode == SHAPE_EXCLUSIVE)
			have->shares = 0;
		else
			value_subtract(have, piece);
		if (value_empty(have))
			remove_piece(from, i);
		return;
	}
}

void resources_subtract(struct resources *from, const struct resources *less)
{
	if (from == less) {
		resources_clear(from);
		return;
	}
	for (uint32_t i = 0; i < less->count; i++)
		resources_subtract_piece(from, &less->pieces[i]);
}

static uint32_t count_equal(const struct resources *r, uint32_t count,
			    const struct resource_piece *piece)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < count; i++)
		found += subtractable(&r->pieces[i], piece);
	return found;
}

bool resources_contain(const struct resources *have, const struct resources *want)
{
	for (uint32_t i = 0; i < want->count; i++) {
		const struct resource_piece *piece = &want->pieces[i];
		uint32_t j = 0;

		while (j < have->count && !piece_contains(&have->pieces[j], piece))
			j++;
		if (j == have->count)
			return false;
		/* Volumes are used up: two equal ones need two. */
		if (piece->shape->mode == SHAPE_EXCLUSIVE &&
		    resource_shape_persistence(piece->shape) &&
		    count_equal(want, i + 1, piece) > count_equal(have, have->count, piece))
			return false;
	}
	return true;
}

bool resources_equal(const struct resources *a, const struct resources *b)
{
	return resources_contain(a, b) && resources_contain(b, a);
}

bool resources_empty(const struct resources *r)
{
	return !r->count;
}

void resources_allocate(struct resource_shapes *shapes, const struct resources *from,
			const char *role, struct resources *out)
{
	Mesos__Resource__AllocationInfo allocation = MESOS__RESOURCE__ALLOCATION_INFO__INIT;
	struct resources result = RESOURCES_INIT; /* `out` may be `from` */

	allocation.role = (char *)role;
	for (uint32_t i = 0; i < from->count; i++) {
		struct resource_piece piece = from->pieces[i];
		Mesos__Resource message = *piece.shape->message;

		message.allocation_info = role ? &allocation : NULL;
		piece.shape = shape_intern(shapes, &message);
		resources_add_piece(&result, &piece);
	}
	if (out == from)
		resources_free(out);
	*out = result;
}

int64_t resources_quantity(const struct resources *r, const char *name)
{
	int64_t total = 0;

	for (uint32_t i = 0; i < r->count; i++)
		if (!strcmp(resource_shape_name(r->pieces[i].shape), name) &&
		    __builtin_add_overflow(total, resource_piece_quantity(&r->pieces[i]), &total))
			return INT64_MAX;
	return total;
}
