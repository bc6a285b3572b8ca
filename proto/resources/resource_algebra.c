/* Collections of resources: add, subtract, contain.
 *
 * Pieces keep the order in which they were added, so the same operations in the same order
 * give the same collection. Each piece of a collection holds a reference to its shape.
 *
 * Collections that meet mostly hold alike pieces in alike order, as each came from the other.
 * So a search begins behind the place of the last find, and goes once around: then a sum or a
 * difference takes time for each piece, not for each pair. Where it begins makes no
 * difference, for all that fit are equal.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/resources/resource_internal.h"

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
	if (!same_identity(from, less))
		return false;
	/* One that was taken out is still there until the end of a subtraction. */
	return from->shape->mode == SHAPE_PLAIN || (from->shares && value_equal(from, less));
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

typedef bool fits(const struct resource_piece *piece, const struct resource_piece *with);

/* The first that fits, from `at` on and around; moves `at` behind it. NULL if none does. */
static struct resource_piece *find_piece(const struct resources *r, uint32_t *at, fits *fit,
					 const struct resource_piece *with)
{
	uint32_t i = *at < r->count ? *at : 0;

	for (uint32_t tried = 0; tried < r->count; tried++) {
		if (fit(&r->pieces[i], with)) {
			*at = i + 1;
			return &r->pieces[i];
		}
		if (++i == r->count)
			i = 0;
	}
	return NULL;
}

static void add_piece(struct resources *to, uint32_t *at, const struct resource_piece *piece)
{
	struct resource_piece *into, copy;

	if (value_empty(piece))
		return;
	into = piece->shape->mode == SHAPE_EXCLUSIVE ? NULL : find_piece(to, at, addable, piece);
	if (!into) {
		value_copy(&copy, piece);
		append_piece(to, &copy);
	} else if (into->shape->mode == SHAPE_SHARED) {
		into->shares += piece->shares;
	} else {
		value_add(into, piece);
	}
}

void resources_add_piece(struct resources *to, const struct resource_piece *piece)
{
	uint32_t at = 0;

	add_piece(to, &at, piece);
}

void resources_add(struct resources *to, const struct resources *more)
{
	uint32_t count = more->count; /* `more` may be `to` */
	uint32_t at = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct resource_piece piece;

		if (to != more) {
			add_piece(to, &at, &more->pieces[i]);
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

void resources_trim(struct resources *r)
{
	if (!r->count) {
		resources_free(r);
		return;
	}
	r->pieces = xrealloc(r->pieces, r->count * sizeof(*r->pieces));
	r->cap = r->count;
}

/* What is left may be empty: then it is yet to be removed. Returns where; NULL if nowhere. */
static struct resource_piece *reduce(const struct resources *from, uint32_t *at,
				     const struct resource_piece *less)
{
	struct resource_piece *have = NULL;

	if (!value_empty(less))
		have = find_piece(from, at, subtractable, less);
	if (!have)
		return NULL;
	if (have->shape->mode == SHAPE_SHARED)
		have->shares -= less->shares < have->shares ? less->shares : have->shares;
	else if (have->shape->mode == SHAPE_EXCLUSIVE)
		have->shares = 0;
	else
		value_subtract(have, less);
	return have;
}

void resources_subtract_piece(struct resources *from, const struct resource_piece *piece)
{
	uint32_t at = 0;
	struct resource_piece *left = reduce(from, &at, piece);

	if (left && value_empty(left))
		remove_piece(from, (uint32_t)(left - from->pieces));
}

/* From `first` on. */
static void remove_empty(struct resources *r, uint32_t first)
{
	uint32_t kept = first;

	for (uint32_t i = first; i < r->count; i++) {
		if (!value_empty(&r->pieces[i])) {
			r->pieces[kept++] = r->pieces[i];
			continue;
		}
		shape_unref(r->pieces[i].shape);
		value_free(&r->pieces[i]);
	}
	r->count = kept;
}

void resources_subtract(struct resources *from, const struct resources *less)
{
	uint32_t emptied = 0, first = 0, at = 0;

	if (from == less) {
		resources_clear(from);
		return;
	}
	for (uint32_t i = 0; i < less->count; i++) {
		const struct resource_piece *left = reduce(from, &at, &less->pieces[i]);
		uint32_t place = left ? (uint32_t)(left - from->pieces) : 0;

		if (!left || !value_empty(left))
			continue;
		first = !emptied || place < first ? place : first;
		emptied++;
	}
	if (emptied == 1)
		remove_piece(from, first);
	else if (emptied)
		remove_empty(from, first);
}

static bool volume_alone(const struct resource_piece *piece)
{
	return piece->shape->mode == SHAPE_EXCLUSIVE && resource_shape_persistence(piece->shape);
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
	uint32_t at = 0;

	for (uint32_t i = 0; i < want->count; i++) {
		const struct resource_piece *piece = &want->pieces[i];
		uint32_t alike;

		if (!find_piece(have, &at, piece_contains, piece))
			return false;
		/* Volumes are used up: two equal ones need two. */
		if (!volume_alone(piece))
			continue;
		alike = count_equal(want, i + 1, piece);
		if (alike > 1 && alike > count_equal(have, have->count, piece))
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

bool resources_are_scalars(const struct resources *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		if (resource_shape_type(r->pieces[i].shape) != MESOS__VALUE__TYPE__SCALAR)
			return false;
	}
	return true;
}

bool resources_have_shared(const struct resources *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		if (resource_shape_shared(r->pieces[i].shape))
			return true;
	}
	return false;
}

bool resources_have_revocable(const struct resources *r)
{
	for (uint32_t i = 0; i < r->count; i++) {
		if (resource_shape_revocable(r->pieces[i].shape))
			return true;
	}
	return false;
}

/* Pieces that differ in nothing but the allocation role become one when that changes. */
static bool one_allocation_role(const struct resources *r)
{
	for (uint32_t i = 1; i < r->count; i++) {
		const char *first = resource_shape_allocation_role(r->pieces[0].shape);
		const char *role = resource_shape_allocation_role(r->pieces[i].shape);

		if (first != role && (!first || !role || strcmp(first, role) != 0))
			return false;
	}
	return true;
}

void resources_allocate(struct resource_shapes *shapes, const struct resources *from,
			const char *role, struct resources *out)
{
	struct resources result = RESOURCES_INIT, merged = RESOURCES_INIT; /* `out` may be `from` */

	result.cap = from->count;
	result.pieces = from->count ? xcalloc(from->count, sizeof(*result.pieces)) : NULL;
	for (uint32_t i = 0; i < from->count; i++) {
		struct resource_piece piece;

		value_copy(&piece, &from->pieces[i]);
		piece.shape = shape_allocate(shapes, piece.shape, role);
		append_piece(&result, &piece);
	}
	if (!one_allocation_role(from)) {
		resources_add(&merged, &result);
		resources_free(&result);
		result = merged;
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
