/* Dominant shares and the order they make.
 *
 * A group keeps its active members in an array ordered by keys computed earlier. A
 * change of a member only puts it on the group's list of stale ones; before a walk
 * each is taken out by its old key and put back by its new one, or everything is
 * sorted anew when many changed or the pool did. During the walk over one agent
 * the array stays as it is, so a walk sees the order at its start.
 */
#include <stdlib.h>
#include <string.h>

#include "allocator/internal.h"
#include "base/arena.h"

/* Above one stale member in so many, sorting all is cheaper than moving each. */
#define STALE_PART 8

void alloc_quantities_free(struct quantities *q)
{
	free(q->milli);
	*q = (struct quantities){0};
}

/* Absurd amounts wrap around, so that taking one away restores what was before. */
static void quantities_add(struct quantities *q, uint32_t name, int64_t milli)
{
	if (name >= q->count) {
		q->milli = xrealloc(q->milli, (name + 1) * sizeof(*q->milli));
		memset(q->milli + q->count, 0, (name + 1 - q->count) * sizeof(*q->milli));
		q->count = name + 1;
	}
	q->milli[name] = (int64_t)((uint64_t)q->milli[name] + (uint64_t)milli);
}

static struct pool_name *pool_name_get(struct pool *pool, const char *text)
{
	struct pool_name *name;

	HASH_FIND_STR(pool->names, text, name);
	if (name)
		return name;
	size_t len = strlen(text);
	name = xcalloc(1, sizeof(*name) + len + 1);
	memcpy(name->text, text, len);
	name->number = HASH_COUNT(pool->names);
	HASH_ADD_KEYPTR(hh, pool->names, name->text, len, name);
	pool->by_number = xrealloc(pool->by_number, (name->number + 1) * sizeof(*pool->by_number));
	pool->by_number[name->number] = name;
	return name;
}

uint32_t alloc_pool_number(struct pool *pool, const char *name)
{
	return pool_name_get(pool, name)->number;
}

void alloc_pool_exclude(struct pool *pool, const char *name)
{
	pool_name_get(pool, name)->excluded = true;
}

static void pool_add(struct pool *pool, const struct resources *resources, int sign)
{
	for (uint32_t i = 0; i < resources->count; i++) {
		const struct resource_piece *piece = &resources->pieces[i];

		if (resource_shape_type(piece->shape) == MESOS__VALUE__TYPE__SCALAR)
			quantities_add(&pool->total,
				       alloc_pool_number(pool, resource_shape_name(piece->shape)),
				       sign * piece->milli);
	}
}

void alloc_pool_change(struct pool *pool, const struct resources *old, const struct resources *new)
{
	struct quantities before = pool->total;
	size_t size = before.count * sizeof(*before.milli);

	before.milli = size > 0 ? xmemdup(before.milli, size) : NULL;
	pool_add(pool, old, -1);
	pool_add(pool, new, 1);
	if (before.count != pool->total.count ||
	    (size > 0 && memcmp(before.milli, pool->total.milli, size) != 0))
		pool->epoch++;
	free(before.milli);
}

void alloc_pool_free(struct pool *pool)
{
	struct pool_name *name, *next;

	HASH_ITER (hh, pool->names, name, next) {
		HASH_DEL(pool->names, name);
		free(name);
	}
	free(pool->by_number);
	alloc_quantities_free(&pool->total);
}

void alloc_node_init(struct sorter_node *node, const char *name)
{
	*node = (struct sorter_node){.name = name, .weight = 1.0};
	list_init(&node->stale);
}

void alloc_node_free(struct sorter_node *node)
{
	alloc_group_leave(node);
	alloc_quantities_free(&node->sum);
}

void alloc_node_touch(struct sorter_node *node)
{
	if (node->group && list_empty(&node->stale))
		list_append(&node->group->stale, &node->stale);
}

void alloc_node_add(struct sorter_node *node, uint32_t name, int64_t milli)
{
	quantities_add(&node->sum, name, milli);
	alloc_node_touch(node);
}

/* As Mesos turns its fixed point back: equal shares there are equal here. */
static double milli_value(int64_t milli)
{
	return (double)(milli / 1000) + (double)(milli % 1000) / 1000.0;
}

double alloc_node_share(const struct pool *pool, const struct sorter_node *node)
{
	double share = 0;

	for (uint32_t i = 0; i < node->sum.count; i++) {
		if (i >= pool->total.count || pool->total.milli[i] <= 0 ||
		    pool->by_number[i]->excluded)
			continue;
		double part = milli_value(node->sum.milli[i]) / milli_value(pool->total.milli[i]);
		if (part > share)
			share = part;
	}
	return share / node->weight;
}

int alloc_node_order(const struct sorter_node *a, const struct sorter_node *b)
{
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->key_count != b->key_count)
		return a->key_count < b->key_count ? -1 : 1;
	return strcmp(a->name, b->name);
}

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
	free(group->members);
	*group = (struct sorter_group){0};
	list_init(&group->stale);
}

static void compute_key(const struct pool *pool, struct sorter_node *node)
{
	node->key = alloc_node_share(pool, node);
	node->key_count = node->count;
	list_remove(&node->stale);
}

/* The first place whose member does not come before `node`. */
static uint32_t group_place(const struct sorter_group *group, const struct sorter_node *node)
{
	uint32_t low = 0, high = group->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (alloc_node_order(group->members[middle], node) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void group_insert(struct sorter_group *group, struct sorter_node *node)
{
	uint32_t at = group_place(group, node);

	memmove(&group->members[at + 1], &group->members[at],
		(group->count - at) * sizeof(*group->members));
	group->members[at] = node;
	group->count++;
}

static void group_remove(struct sorter_group *group, struct sorter_node *node)
{
	uint32_t at = group_place(group, node);

	group->count--;
	memmove(&group->members[at], &group->members[at + 1],
		(group->count - at) * sizeof(*group->members));
}

void alloc_group_join(const struct pool *pool, struct sorter_group *group, struct sorter_node *node)
{
	if (node->group)
		return;
	if (group->count == group->cap) {
		group->cap = group->cap ? group->cap * 2 : 4;
		group->members = xrealloc(group->members, group->cap * sizeof(*group->members));
	}
	compute_key(pool, node);
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

void alloc_group_refresh(const struct pool *pool, struct sorter_group *group)
{
	struct sorter_node *node, *next;
	uint32_t changed = 0;
	bool all = group->epoch != pool->epoch;

	list_for_each (node, next, &group->stale, stale) {
		if (all || ++changed > group->count / STALE_PART) {
			all = true;
			break;
		}
	}
	if (all) {
		for (uint32_t i = 0; i < group->count; i++)
			compute_key(pool, group->members[i]);
		if (group->count > 1)
			qsort(group->members, group->count, sizeof(*group->members), member_order);
		group->epoch = pool->epoch;
		return;
	}
	list_for_each (node, next, &group->stale, stale) {
		group_remove(group, node);
		compute_key(pool, node);
		group_insert(group, node);
	}
}
