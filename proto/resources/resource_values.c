/* Values of resources: scalars in thousandths, ranges, sets.
 *
 * Ranges of a piece are always ascending and coalesced. An operation allocates only if the
 * result has ranges or items that were not there.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "proto/resources/resource_internal.h"

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

static bool ranges_ascend(const struct resource_range *ranges, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++) {
		if (ranges[i].begin < ranges[i - 1].begin)
			return false;
	}
	return true;
}

#define RADIX_MIN 256 /* ranges: fewer are compared */

/* By one byte of where they begin, from one array into the other; false if it is the same of
 * all. */
static bool sort_by_byte(const struct resource_range *from, struct resource_range *to,
			 uint32_t count, unsigned shift)
{
	uint32_t places[256] = {0}, place = 0;

	for (uint32_t i = 0; i < count; i++)
		places[from[i].begin >> shift & 0xff]++;
	if (places[from[0].begin >> shift & 0xff] == count)
		return false;
	for (unsigned byte = 0; byte < 256; byte++) {
		uint32_t size = places[byte];

		places[byte] = place;
		place += size;
	}
	for (uint32_t i = 0; i < count; i++)
		to[places[from[i].begin >> shift & 0xff]++] = from[i];
	return true;
}

void ranges_sort(struct resource_range *ranges, uint32_t count)
{
	struct resource_range *scratch, *from = ranges, *to;

	if (ranges_ascend(ranges, count))
		return;
	if (count < RADIX_MIN) {
		qsort(ranges, count, sizeof(*ranges), compare_ranges);
		return;
	}
	to = scratch = xmalloc(count * sizeof(*scratch));
	for (unsigned shift = 0; shift < 64; shift += 8) {
		struct resource_range *other = from;

		if (!sort_by_byte(from, to, count, shift))
			continue;
		from = to;
		to = other;
	}
	if (from != ranges)
		memcpy(ranges, from, count * sizeof(*ranges));
	free(scratch);
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
	ranges_sort(ranges, count);
	for (uint32_t i = 1; i < count; i++) {
		if (!joins(&ranges[kept], &ranges[i]))
			ranges[++kept] = ranges[i];
		else if (ranges[i].end > ranges[kept].end)
			ranges[kept].end = ranges[i].end;
	}
	return kept + 1;
}

/* The first range from `from` on that ends at `number` or behind it; probably near. */
static uint32_t seek(const struct resource_piece *piece, uint32_t from, uint64_t number)
{
	uint32_t low = from, step = 1, high;

	while (step < piece->count - low && piece->ranges[low + step - 1].end < number) {
		low += step;
		step *= 2;
	}
	high = step < piece->count - low ? low + step : piece->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (piece->ranges[middle].end < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool ranges_contain(const struct resource_piece *have, const struct resource_piece *want)
{
	uint32_t i = 0;

	for (uint32_t j = 0; j < want->count; j++) {
		i = seek(have, i, want->ranges[j].begin);
		if (i == have->count || have->ranges[i].begin > want->ranges[j].begin ||
		    have->ranges[i].end < want->ranges[j].end)
			return false;
	}
	return true;
}

/* Appends a range that begins no earlier than the last one. */
static void push_joined(struct resource_range *out, uint32_t *count, struct resource_range range)
{
	if (!*count || !joins(&out[*count - 1], &range))
		out[(*count)++] = range;
	else if (range.end > out[*count - 1].end)
		out[*count - 1].end = range.end;
}

#define RANGES_FEW 4 /* are put in or taken out one by one */

/* The ranges from `first` to before `end` become `count` others. */
static void splice(struct resource_piece *piece, uint32_t first, uint32_t end,
		   const struct resource_range *others, uint32_t count)
{
	uint32_t all = piece->count - (end - first) + count;

	if (all > piece->count)
		piece->ranges = xrealloc(piece->ranges, all * sizeof(*piece->ranges));
	if (piece->count > end)
		memmove(piece->ranges + first + count, piece->ranges + end,
			(piece->count - end) * sizeof(*piece->ranges));
	for (uint32_t i = 0; i < count; i++)
		piece->ranges[first + i] = others[i];
	piece->count = all;
}

static void put_in(struct resource_piece *to, struct resource_range range)
{
	uint32_t first = seek(to, 0, range.begin ? range.begin - 1 : 0);
	uint32_t end = first;

	for (; end < to->count && joins(&range, &to->ranges[end]); end++) {
		if (to->ranges[end].begin < range.begin)
			range.begin = to->ranges[end].begin;
		if (to->ranges[end].end > range.end)
			range.end = to->ranges[end].end;
	}
	splice(to, first, end, &range, 1);
}

static void take_out(struct resource_piece *from, struct resource_range range)
{
	uint32_t first = seek(from, 0, range.begin), end = first, count = 0;
	struct resource_range rest[2];

	while (end < from->count && from->ranges[end].begin <= range.end)
		end++;
	if (end == first)
		return;
	if (from->ranges[first].begin < range.begin)
		rest[count++] = (struct resource_range){from->ranges[first].begin, range.begin - 1};
	if (from->ranges[end - 1].end > range.end)
		rest[count++] = (struct resource_range){range.end + 1, from->ranges[end - 1].end};
	splice(from, first, end, rest, count);
}

static void ranges_add(struct resource_piece *to, const struct resource_piece *more)
{
	struct resource_range *merged;
	uint32_t count = 0, i = 0, j = 0;

	if (ranges_contain(to, more))
		return;
	if (more->count <= RANGES_FEW) {
		for (i = 0; i < more->count; i++)
			put_in(to, more->ranges[i]);
		return;
	}
	merged = xcalloc((size_t)to->count + more->count, sizeof(*merged));
	while (i < to->count || j < more->count) {
		bool first = j == more->count ||
			     (i < to->count && to->ranges[i].begin <= more->ranges[j].begin);

		push_joined(merged, &count, first ? to->ranges[i++] : more->ranges[j++]);
	}
	free(to->ranges);
	to->ranges = merged;
	to->count = count;
}

static bool ranges_meet(const struct resource_piece *a, const struct resource_piece *b)
{
	for (uint32_t i = 0, j = 0; i < a->count && j < b->count;) {
		if (a->ranges[i].end < b->ranges[j].begin)
			i = seek(a, i, b->ranges[j].begin);
		else if (b->ranges[j].end < a->ranges[i].begin)
			j = seek(b, j, a->ranges[i].begin);
		else
			return true;
	}
	return false;
}

/* What the cuts from the j-th on leave of a range. Returns the first cut that may reach the
 * next range. */
static uint32_t cut_range(struct resource_range range, const struct resource_piece *less,
			  uint32_t j, struct resource_range *out, uint32_t *count)
{
	while (j < less->count && less->ranges[j].end < range.begin)
		j++;
	for (; j < less->count && less->ranges[j].begin <= range.end; j++) {
		const struct resource_range *cut = &less->ranges[j];

		if (cut->begin > range.begin)
			out[(*count)++] = (struct resource_range){range.begin, cut->begin - 1};
		if (cut->end >= range.end)
			return j;
		range.begin = cut->end + 1;
	}
	out[(*count)++] = range;
	return j;
}

static void ranges_subtract(struct resource_piece *from, const struct resource_piece *less)
{
	struct resource_range *rest;
	uint32_t count = 0, j = 0;

	if (less->count <= RANGES_FEW && from != less) {
		for (uint32_t i = 0; i < less->count; i++)
			take_out(from, less->ranges[i]);
		return;
	}
	if (!ranges_meet(from, less))
		return;
	/* Each cut makes at most one range more. */
	rest = xcalloc((size_t)from->count + less->count, sizeof(*rest));
	for (uint32_t i = 0; i < from->count; i++)
		j = cut_range(from->ranges[i], less, j, rest, &count);
	free(from->ranges);
	from->ranges = rest;
	from->count = count;
}

/* ---- sets ----------------------------------------------------------------------------- */

/* Above so many items a set is searched by an index. */
#define SET_LINEAR 16

/* To look items of a set up; valid while the set's items are. */
struct set_index {
	char **sorted; /* NULL: `set` is searched as it is */
	const struct resource_piece *set;
	uint32_t count;
};

static int compare_items(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static struct set_index index_set(const struct resource_piece *set)
{
	struct set_index index = {.set = set, .count = set->count};

	if (set->count > SET_LINEAR) {
		index.sorted = xmemdup(set->items, set->count * sizeof(*set->items));
		qsort(index.sorted, set->count, sizeof(*index.sorted), compare_items);
	}
	return index;
}

static bool index_has(const struct set_index *index, char *item)
{
	if (index->sorted)
		return bsearch(&item, index->sorted, index->count, sizeof(*index->sorted),
			       compare_items) != NULL;
	for (uint32_t i = 0; i < index->count; i++)
		if (!strcmp(index->set->items[i], item))
			return true;
	return false;
}

static bool set_contains(const struct resource_piece *have, const struct resource_piece *want)
{
	struct set_index index;
	bool all = true;

	if (want->count > have->count)
		return false;
	index = index_set(have);
	for (uint32_t i = 0; all && i < want->count; i++)
		all = index_has(&index, want->items[i]);
	free(index.sorted);
	return all;
}

static void set_add(struct resource_piece *to, const struct resource_piece *more)
{
	struct set_index index = index_set(to);
	uint32_t kept = to->count;

	/* The index is of what was there: the items of `more` differ from one another. */
	to->items = xrealloc(to->items, ((size_t)kept + more->count) * sizeof(*to->items));
	for (uint32_t i = 0; i < more->count; i++)
		if (!index_has(&index, more->items[i]))
			to->items[to->count++] = xstrdup(more->items[i]);
	free(index.sorted);
}

static void set_subtract(struct resource_piece *from, const struct resource_piece *less)
{
	struct set_index index = index_set(less);
	uint32_t kept = 0;

	for (uint32_t i = 0; i < from->count; i++) {
		if (index_has(&index, from->items[i]))
			free(from->items[i]);
		else
			from->items[kept++] = from->items[i];
	}
	from->count = kept;
	free(index.sorted);
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
