/* The order of a large group stays that of a full sort, however few or many of its
 * members change between two looks. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "allocator/sorting/group.h"
#include "allocator/sorting/sorter.h"
#include "allocator_kit.h"
#include "base/random.h"

#define NODES 200

static void expect_sorted(const struct pool *pool, struct sorter_group *group, uint32_t members)
{
	const struct sorter_node *node, *last = NULL;
	struct sorter_cursor cursor = {0};
	uint32_t found = 0;

	cr_assert_eq(group->count, members);
	cr_assert(list_empty(&group->stale));
	for (; (node = alloc_group_next(group, &cursor)); last = node) {
		cr_assert_eq(node->key, alloc_node_share(pool, node));
		cr_assert_eq(node->key_count, node->count);
		cr_assert_eq(node->group, group);
		cr_assert(!last || alloc_node_order(last, node) < 0);
		found++;
	}
	cr_assert_eq(found, members);
	for (uint32_t i = 0; i < group->chunk_count; i++)
		cr_assert_gt(group->chunks[i]->count, 0);
}

static void change_pool(struct resource_shapes *shapes, struct pool *pool, struct resources *total,
			const char *text)
{
	struct resources next = kit_resources(shapes, text);

	alloc_pool_change(pool, total, &next);
	resources_free(total);
	*total = next;
}

Test(allocator_sorter, few_or_many_changes)
{
	static struct sorter_node nodes[NODES];
	static char names[NODES][8];
	struct resource_shapes *shapes = resource_shapes_create();
	struct resources total = RESOURCES_INIT;
	struct pool pool = {.epoch = 1};
	struct sorter_group group;
	uint32_t members = 0;
	struct rng rng;

	rng_seed(&rng, 42);
	alloc_group_init(&group);
	change_pool(shapes, &pool, &total, "cpus:100;mem:100");
	uint32_t cpus = alloc_pool_number(&pool, "cpus"), mem = alloc_pool_number(&pool, "mem");
	for (int i = 0; i < NODES; i++) {
		snprintf(names[i], sizeof(names[i]), "%d", i);
		alloc_node_init(&nodes[i], names[i]);
	}
	for (int round = 0; round < 3000; round++) {
		int changes = rng_next(&rng) % 50 == 0 ? NODES : (int)(rng_next(&rng) % 10);

		while (changes-- > 0) {
			struct sorter_node *node = &nodes[rng_next(&rng) % NODES];

			alloc_node_add(node, rng_next(&rng) % 2 ? cpus : mem,
				       (int64_t)(rng_next(&rng) % 3) * 500);
			node->count += rng_next(&rng) % 2;
			alloc_node_touch(node);
			if (rng_next(&rng) % 4)
				continue;
			members += node->group ? -1 : 1;
			if (node->group)
				alloc_group_leave(node);
			else
				alloc_group_join(&pool, &group, node);
		}
		if (rng_next(&rng) % 100 == 0)
			change_pool(shapes, &pool, &total,
				    rng_next(&rng) % 2 ? "cpus:100;mem:900" : "cpus:900;mem:100");
		alloc_group_refresh(&pool, &group);
		expect_sorted(&pool, &group, members);
	}
	for (int i = 0; i < NODES; i++)
		alloc_node_free(&nodes[i]);
	alloc_group_free(&group);
	alloc_pool_free(&pool);
	resources_free(&total);
	resource_shapes_destroy(shapes);
}
