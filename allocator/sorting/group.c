/* Groups: active siblings in order of share.
 *
 * Members are kept ordered by keys computed earlier. A change of a member only puts it
 * on the group's list of stale ones; before a walk each is taken out by its old key and
 * put back by its new one, or everything is sorted anew when many changed or the pool
 * did. During the walk over one agent the order stays as it is.
 *
 * The order is cut into chunks, so that moving one of n members costs the logarithm of n
 * to find its place and a chunk to make room there, and so that a walk over all of them
 * stays one over arrays.
 */
#include <stdlib.h>
#include <string.h>

#include "allocator/objects.h"
#include "allocator/sorting/group.h"
#include "allocator/sorting/sorter.h"
#include "base/memory/arena.h"

#define CHUNK_MAX 64
/* Above one stale member in so many, sorting all is cheaper than moving each. */
#define STALE_PART 8

static int member_order(const void *a, const void *b)
{
	return alloc_node_order(*(struct sorter_node *const *)a, *(struct sorter_node *const *)b);
}

void alloc_group_init(struct sorter_group *group)
{
	*group = (struct sorter_group){0};
	list_init(&group->stale);
}

void alloc_group_free(struct sorter_group *group)
{
	for (uint32_t i = 0; i < group->chunk_count; i++)
		free(group->chunks[i]);
	free(group->chunks);
	alloc_group_init(group);
}

/* ---- chunks ------------------------------------------------------------------------------ */

/* Makes room for `cap` members; small groups have small chunks. */
static void chunk_resize(struct sorter_group *group, uint32_t at, uint32_t cap)
{
	struct sorter_chunk *chunk = group->chunks[at];

	group->chunks[at] = xrealloc(chunk, sizeof(*chunk) + cap * sizeof(*chunk->members));
	group->chunks[at]->cap = cap;
}

/* An empty chunk before the at-th one. */
static struct sorter_chunk *chunk_add(struct sorter_group *group, uint32_t at, uint32_t cap)
{
	if (group->chunk_count == group->chunk_cap) {
		group->chunk_cap = group->chunk_cap ? group->chunk_cap * 2 : 1;
		group->chunks = xrealloc(group->chunks, group->chunk_cap * sizeof(*group->chunks));
	}
	memmove(&group->chunks[at + 1], &group->chunks[at],
		(group->chunk_count - at) * sizeof(*group->chunks));
	group->chunk_count++;
	group->chunks[at] = NULL;
	chunk_resize(group, at, cap);
	group->chunks[at]->count = 0;
	return group->chunks[at];
}

static void chunk_delete(struct sorter_group *group, uint32_t at)
{
	free(group->chunks[at]);
	memmove(&group->chunks[at], &group->chunks[at + 1],
		(--group->chunk_count - at) * sizeof(*group->chunks));
}

/* Moves the members of a full chunk from the middle on to a new one. */
static void chunk_split(struct sorter_group *group, uint32_t at)
{
	struct sorter_chunk *right = chunk_add(group, at + 1, CHUNK_MAX);
	struct sorter_chunk *left = group->chunks[at];

	right->count = left->count / 2;
	left->count -= right->count;
	memcpy(right->members, &left->members[left->count], right->count * sizeof(*right->members));
}

/* Puts the next chunk's members into this one when few are in both. Where there are several, each
 * has room for CHUNK_MAX. */
static void chunk_join(struct sorter_group *group, uint32_t at)
{
	struct sorter_chunk *left = group->chunks[at], *right;

	if (at + 1 == group->chunk_count)
		return;
	right = group->chunks[at + 1];
	if (left->count + right->count > CHUNK_MAX / 2)
		return;
	memcpy(&left->members[left->count], right->members, right->count * sizeof(*right->members));
	left->count += right->count;
	chunk_delete(group, at + 1);
}

/* ---- order ------------------------------------------------------------------------------- */

/* The first place whose member does not come before `node`, in the last chunk if all do. */
static struct sorter_cursor group_place(const struct sorter_group *group,
					const struct sorter_node *node)
{
	uint32_t low = 0, high = group->chunk_count - 1;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct sorter_chunk *chunk = group->chunks[middle];

		if (alloc_node_order(chunk->members[chunk->count - 1], node) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	struct sorter_cursor place = {.chunk = low};
	const struct sorter_chunk *chunk = group->chunks[low];
	for (low = 0, high = chunk->count; low < high;) {
		uint32_t middle = low + (high - low) / 2;

		if (alloc_node_order(chunk->members[middle], node) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	place.index = low;
	return place;
}

static void group_insert(struct sorter_group *group, struct sorter_node *node)
{
	struct sorter_cursor at = {0};

	if (group->chunk_count == 0)
		chunk_add(group, 0, 1);
	else
		at = group_place(group, node);
	if (group->chunks[at.chunk]->count == CHUNK_MAX) {
		chunk_split(group, at.chunk);
		at = group_place(group, node);
	}
	struct sorter_chunk *chunk = group->chunks[at.chunk];
	if (chunk->count == chunk->cap) {
		chunk_resize(group, at.chunk, chunk->cap * 2);
		chunk = group->chunks[at.chunk];
	}
	memmove(&chunk->members[at.index + 1], &chunk->members[at.index],
		(chunk->count - at.index) * sizeof(*chunk->members));
	chunk->members[at.index] = node;
	chunk->count++;
	group->count++;
}

static void group_remove(struct sorter_group *group, struct sorter_node *node)
{
	struct sorter_cursor at = group_place(group, node);
	struct sorter_chunk *chunk = group->chunks[at.chunk];

	group->count--;
	chunk->count--;
	memmove(&chunk->members[at.index], &chunk->members[at.index + 1],
		(chunk->count - at.index) * sizeof(*chunk->members));
	if (chunk->count == 0)
		chunk_delete(group, at.chunk);
	else
		chunk_join(group, at.chunk);
}

void alloc_group_join(const struct pool *pool, struct sorter_group *group, struct sorter_node *node)
{
	if (node->group)
		return;
	alloc_node_compute(pool, node);
	group_insert(group, node);
	node->group = group;
}

void alloc_group_leave(struct sorter_node *node)
{
	if (!node->group)
		return;
	group_remove(node->group, node);
	list_remove(&node->stale);
	node->group = NULL;
}

struct sorter_node *alloc_group_next(const struct sorter_group *group, struct sorter_cursor *cursor)
{
	while (cursor->chunk < group->chunk_count) {
		const struct sorter_chunk *chunk = group->chunks[cursor->chunk];

		if (cursor->index < chunk->count)
			return chunk->members[cursor->index++];
		*cursor = (struct sorter_cursor){.chunk = cursor->chunk + 1};
	}
	return NULL;
}

/* ---- bringing it up to date ---------------------------------------------------------------- */

/* Computes all keys; false when they are in another order now. */
static bool compute_all(const struct pool *pool, struct sorter_group *group)
{
	const struct sorter_node *last = NULL;
	struct sorter_cursor cursor = {0};
	struct sorter_node *node;
	bool ordered = true;

	while ((node = alloc_group_next(group, &cursor))) {
		alloc_node_compute(pool, node);
		ordered = ordered && (!last || alloc_node_order(last, node) < 0);
		last = node;
	}
	return ordered;
}

static void sort_all(struct sorter_group *group)
{
	struct sorter_node **all = xcalloc(group->count, sizeof(struct sorter_node *)), **at = all;

	for (uint32_t i = 0; i < group->chunk_count; i++) {
		const struct sorter_chunk *chunk = group->chunks[i];

		memcpy(at, chunk->members, chunk->count * sizeof(struct sorter_node *));
		at += chunk->count;
	}
	qsort(all, group->count, sizeof(struct sorter_node *), member_order);
	at = all;
	for (uint32_t i = 0; i < group->chunk_count; i++) {
		struct sorter_chunk *chunk = group->chunks[i];

		memcpy(chunk->members, at, chunk->count * sizeof(struct sorter_node *));
		at += chunk->count;
	}
	free(all);
}

static bool many_stale(const struct sorter_group *group)
{
	uint32_t stale = 0;

	for (const struct list *at = group->stale.next; at != &group->stale; at = at->next) {
		if (++stale > group->count / STALE_PART + 1)
			return true;
	}
	return false;
}

void alloc_group_refresh(const struct pool *pool, struct sorter_group *group)
{
	struct sorter_node *node, *next;

	bool all = group->epoch != pool->epoch, many = many_stale(group);
	struct list moved;

	/* Those that changed by themselves would disturb an order that is still the same. */
	list_init(&moved);
	list_for_each (node, next, &group->stale, stale) {
		if (many)
			break;
		group_remove(group, node);
		list_remove(&node->stale);
		list_append(&moved, &node->stale);
	}
	if ((all || many) && !compute_all(pool, group))
		sort_all(group);
	group->epoch = pool->epoch;
	list_for_each (node, next, &moved, stale) {
		alloc_node_compute(pool, node);
		group_insert(group, node);
	}
}
