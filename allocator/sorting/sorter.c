/* Dominant shares: the pool they are shares of, and the nodes that have them. */
#include <stdlib.h>
#include <string.h>

#include "allocator/objects.h"
#include "allocator/sorting/group.h"
#include "allocator/sorting/sorter.h"
#include "base/memory/arena.h"

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
	pool->divisors = xrealloc(pool->divisors, (name->number + 1) * sizeof(*pool->divisors));
	pool->divisors[name->number] = 0;
	return name;
}

uint32_t alloc_pool_number(struct pool *pool, const char *name)
{
	return pool_name_get(pool, name)->number;
}

/* The shape's tag remembers the number, plus one. Another pool may have tagged it. */
uint32_t alloc_pool_shape(struct pool *pool, const struct resource_shape *shape)
{
	uint32_t tag = resource_shape_tag(shape);
	const char *name = resource_shape_name(shape);

	if (tag == 0 || tag > HASH_COUNT(pool->names) ||
	    strcmp(pool->by_number[tag - 1]->text, name) != 0) {
		tag = alloc_pool_number(pool, name) + 1;
		resource_shape_set_tag(shape, tag);
	}
	return tag - 1;
}

void alloc_pool_exclude(struct pool *pool, const char *name)
{
	pool_name_get(pool, name)->excluded = true;
}

/* As Mesos turns its fixed point back: equal shares there are equal here. */
static double milli_value(int64_t milli)
{
	return (double)(milli / 1000) + (double)(milli % 1000) / 1000.0;
}

static void pool_add(struct pool *pool, const struct resources *resources, int sign)
{
	for (uint32_t i = 0; i < resources->count; i++) {
		const struct resource_piece *piece = &resources->pieces[i];

		if (resource_shape_type(piece->shape) == MESOS__VALUE__TYPE__SCALAR)
			alloc_quantities_add(&pool->change, alloc_pool_shape(pool, piece->shape),
					     sign * piece->milli);
	}
}

void alloc_pool_change(struct pool *pool, const struct resources *old, const struct resources *new)
{
	bool changed = false;

	pool_add(pool, old, -1);
	pool_add(pool, new, 1);
	for (uint32_t i = 0; i < pool->change.count; i++) {
		if (pool->change.milli[i] == 0)
			continue;
		alloc_quantities_add(&pool->total, i, pool->change.milli[i]);
		pool->change.milli[i] = 0;
		if (!pool->by_number[i]->excluded)
			pool->divisors[i] = milli_value(pool->total.milli[i]);
		changed = true;
	}
	pool->epoch += changed;
}

void alloc_pool_free(struct pool *pool)
{
	struct pool_name *name, *next;

	HASH_ITER (hh, pool->names, name, next) {
		HASH_DEL(pool->names, name);
		free(name);
	}
	free(pool->by_number);
	free(pool->divisors);
	alloc_quantities_free(&pool->total);
	alloc_quantities_free(&pool->change);
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
	free(node->values);
}

void alloc_node_touch(struct sorter_node *node)
{
	if (node->group && list_empty(&node->stale))
		list_append(&node->group->stale, &node->stale);
}

void alloc_node_add(struct sorter_node *node, uint32_t name, int64_t milli)
{
	uint32_t count = node->sum.count;

	alloc_quantities_add(&node->sum, name, milli);
	if (node->sum.count > count) {
		node->values = xrealloc(node->values, node->sum.count * sizeof(*node->values));
		memset(node->values + count, 0, (node->sum.count - count) * sizeof(*node->values));
	}
	node->values[name] = milli_value(node->sum.milli[name]);
	alloc_node_touch(node);
}

double alloc_node_share(const struct pool *pool, const struct sorter_node *node)
{
	double share = 0;

	for (uint32_t i = 0; i < node->sum.count; i++) {
		double part = node->values[i] / pool->divisors[i];

		if (pool->divisors[i] > 0 && part > share)
			share = part;
	}
	return share / node->weight;
}

void alloc_node_compute(const struct pool *pool, struct sorter_node *node)
{
	node->key = alloc_node_share(pool, node);
	node->key_count = node->count;
	if (!list_empty(&node->stale))
		list_remove(&node->stale);
}

int alloc_node_order(const struct sorter_node *a, const struct sorter_node *b)
{
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->key_count != b->key_count)
		return a->key_count < b->key_count ? -1 : 1;
	return strcmp(a->name, b->name);
}
