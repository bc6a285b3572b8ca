/* Values of resources: scalars in thousandths, ranges, sets.
 *
 * Ranges of a piece are always ascending and coalesced. An operation allocates only if the
 * result has ranges or items that were not there.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "proto/resource_internal.h"

int64_t scalar_to_milli(double value)
{
	return llround(value * 1000);
}

/* By parts, so that a division of doubles only ever sees 0 to 999. */
double scalar_from_milli(int64_t milli)
{
	return (double)(milli / 1000) + (double)(milli % 1000) / 1000.0;
}

/* ---- ranges --------------------------------------------------------------------------- */

static int compare_ranges(const void *a, const void *b)
{
	const struct resource_range *left = a, *right = b;

	if (left->begin != right->begin)
		return left->begin < right->begin ? -1 : 1;
	return left->end < right->end ? -1 : left->end > right->end;
}

/* Whether `next`, which begins no earlier, overlaps or touches. */
static bool joins(const struct resource_range *range, const struct resource_range *next)
{
	return next->begin <= range->end || next->begin - range->end == 1;
}

uint32_t ranges_coalesce(struct resource_range *ranges, uint32_t count)
{
	uint32_t kept = 0;

	if (!count)
		return 0;
	qsort(ranges, count, sizeof(*ranges), compare_ranges);
	for (uint32_t i = 1; i < count; i++) {
		if (!joins(&ranges[kept], &ranges[i]))
			ranges[++kept] = ranges[i];
		else if (ranges[i].end > ranges[kept].end)
			ranges[kept].end = ranges[i].end;
	}
	return kept + 1;
}

static bool ranges_contain(const struct resource_piece *have, const struct resource_piece *want)
{
	uint32_t i = 0;

	for (uint32_t j = 0; j < want->count; j++) {
		while (i < have->count && have->ranges[i].end < want->ranges[j].begin)
			i++;
		if (i == have->count || have->ranges[i].begin > want->ranges[j].begin ||
		    have->ranges[i].end < want->ranges[j].end)
			return false;
	}
	return true;
}

static void ranges_add(struct resource_piece *to, const struct resource_piece *more)
{
	uint32_t count = to->count + more->count;

	if (ranges_contain(to, more))
		return;
	to->ranges = xrealloc(to->ranges, count * sizeof(*to->ranges));
	memcpy(to->ranges + to->count, more->ranges, more->count * sizeof(*more->ranges));
	to->count = ranges_coalesce(to->ranges, count);
}

/* Cuts one range out of `from`; there is room for one range more than there are. */
static void ranges_cut(struct resource_piece *from, const struct resource_range *cut)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < from->count; i++) {
		struct resource_range range = from->ranges[i];

		if (range.end < cut->begin || range.begin > cut->end) {
			from->ranges[n++] = range;
			continue;
		}
		if (range.begin < cut->begin && range.end > cut->end) {
			memmove(&from->ranges[i + 2], &from->ranges[i + 1],
				(from->count - i - 1) * sizeof(range));
			from->ranges[n] = (struct resource_range){range.begin, cut->begin - 1};
			from->ranges[n + 1] = (struct resource_range){cut->end + 1, range.end};
			from->count++;
			return;
		}
		if (range.begin < cut->begin)
			from->ranges[n++] = (struct resource_range){range.begin, cut->begin - 1};
		else if (range.end > cut->end)
			from->ranges[n++] = (struct resource_range){cut->end + 1, range.end};
	}
	from->count = n;
}

static bool splits(const struct resource_piece *from, const struct resource_range *cut)
{
	for (uint32_t i = 0; i < from->count; i++)
		if (from->ranges[i].begin < cut->begin && from->ranges[i].end > cut->end)
			return true;
	return false;
}

static void ranges_subtract(struct resource_piece *from, const struct resource_piece *less)
{
	for (uint32_t i = 0; i < less->count && from->count; i++) {
		if (splits(from, &less->ranges[i]))
			from->ranges =
				xrealloc(from->ranges, (from->count + 1) * sizeof(*from->ranges));
		ranges_cut(from, &less->ranges[i]);
	}
}

/* ---- sets ----------------------------------------------------------------------------- */

static bool set_has(const struct resource_piece *set, const char *item)
{
	for (uint32_t i = 0; i < set->count; i++)
		if (!strcmp(set->items[i], item))
			return true;
	return false;
}

static bool set_contains(const struct resource_piece *have, const struct resource_piece *want)
{
	if (want->count > have->count)
		return false;
	for (uint32_t i = 0; i < want->count; i++)
		if (!set_has(have, want->items[i]))
			return false;
	return true;
}

static void set_add(struct resource_piece *to, const struct resource_piece *more)
{
	for (uint32_t i = 0; i < more->count; i++) {
		if (set_has(to, more->items[i]))
			continue;
		to->items = xrealloc(to->items, (to->count + 1) * sizeof(*to->items));
		to->items[to->count++] = xstrdup(more->items[i]);
	}
}

static void set_subtract(struct resource_piece *from, const struct resource_piece *less)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < from->count; i++) {
		if (set_has(less, from->items[i]))
			free(from->items[i]);
		else
			from->items[kept++] = from->items[i];
	}
	from->count = kept;
}

/* ---- any ------------------------------------------------------------------------------ */

bool value_empty(const struct resource_piece *piece)
{
	if (!piece->shares)
		return true;
	if (resource_shape_type(piece->shape) == MESOS__VALUE__TYPE__SCALAR)
		return piece->milli <= 0;
	return !piece->count;
}

bool value_equal(const struct resource_piece *a, const struct resource_piece *b)
{
	switch (resource_shape_type(a->shape)) {
	case MESOS__VALUE__TYPE__SCALAR:
		return a->milli == b->milli;
	case MESOS__VALUE__TYPE__RANGES:
		return a->count == b->count &&
		       (!a->count || !memcmp(a->ranges, b->ranges, a->count * sizeof(*a->ranges)));
	default:
		return a->count == b->count && set_contains(a, b);
	}
}

bool value_contains(const struct resource_piece *have, const struct resource_piece *want)
{
	switch (resource_shape_type(have->shape)) {
	case MESOS__VALUE__TYPE__SCALAR:
		return have->milli >= want->milli;
	case MESOS__VALUE__TYPE__RANGES:
		return ranges_contain(have, want);
	default:
		return set_contains(have, want);
	}
}

void value_add(struct resource_piece *to, const struct resource_piece *more)
{
	switch (resource_shape_type(to->shape)) {
	case MESOS__VALUE__TYPE__SCALAR:
		if (__builtin_add_overflow(to->milli, more->milli, &to->milli))
			to->milli = INT64_MAX;
		break;
	case MESOS__VALUE__TYPE__RANGES:
		ranges_add(to, more);
		break;
	default:
		set_add(to, more);
	}
}

void value_subtract(struct resource_piece *from, const struct resource_piece *less)
{
	switch (resource_shape_type(from->shape)) {
	case MESOS__VALUE__TYPE__SCALAR:
		from->milli -= less->milli; /* neither is negative */
		break;
	case MESOS__VALUE__TYPE__RANGES:
		ranges_subtract(from, less);
		break;
	default:
		set_subtract(from, less);
	}
}

void value_copy(struct resource_piece *to, const struct resource_piece *from)
{
	*to = *from;
	if (from->ranges)
		to->ranges = xmemdup(from->ranges, from->count * sizeof(*from->ranges));
	if (from->items)
		to->items = xcalloc(from->count, sizeof(*from->items));
	for (uint32_t i = 0; from->items && i < from->count; i++)
		to->items[i] = xstrdup(from->items[i]);
}

void value_free(struct resource_piece *piece)
{
	for (uint32_t i = 0; piece->items && i < piece->count; i++)
		free(piece->items[i]);
	free(piece->items);
	free(piece->ranges);
}

int64_t resource_piece_quantity(const struct resource_piece *piece)
{
	uint64_t total = 0;

	switch (resource_shape_type(piece->shape)) {
	case MESOS__VALUE__TYPE__SCALAR:
		return piece->milli;
	case MESOS__VALUE__TYPE__RANGES:
		for (uint32_t i = 0; i < piece->count; i++) {
			uint64_t size = piece->ranges[i].end - piece->ranges[i].begin;

			/* The whole of uint64 has one number more than uint64 can tell. */
			if (__builtin_add_overflow(total, size, &total) || ++total == 0)
				return INT64_MAX;
		}
		break;
	default:
		total = piece->count;
	}
	return total > INT64_MAX / 1000 ? INT64_MAX : (int64_t)total * 1000;
}
