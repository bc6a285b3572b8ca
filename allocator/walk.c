/* Walks: roles and frameworks in the order in which they are asked.
 *
 * Depth first through the tree of roles, each level in order of share; a role that has
 * children is met as its virtual leaf. Or in the random sorter's order.
 */
#include <stdlib.h>

#include "allocator/internal.h"

static void enter(struct allocator *a, struct role *role)
{
	alloc_group_refresh(&a->pool, &role->group);
	role->cursor = (struct sorter_cursor){0};
	a->walk = role;
}

void alloc_walk_start(struct allocator *a)
{
	if (a->random)
		alloc_random_start(a);
	else
		enter(a, &a->root);
}

struct role *alloc_walk_role(struct allocator *a)
{
	if (a->random)
		return alloc_random_role(a);
	/* Not by recursion: the tree may be deeper than the stack. */
	while (a->walk) {
		struct role *role = a->walk;
		struct sorter_node *node = alloc_group_next(&role->group, &role->cursor);

		if (!node) {
			a->walk = role->parent;
			continue;
		}
		if (node == &role->self)
			return role;
		struct role *child = container_of(node, struct role, node);
		if (child->group.count == 0)
			return child;
		enter(a, child);
	}
	return NULL;
}

void alloc_walk_enter(struct allocator *a, struct role *role)
{
	if (a->random) {
		alloc_random_enter(a, role);
		return;
	}
	alloc_group_refresh(&a->pool, &role->frameworks);
	role->leaf_cursor = (struct sorter_cursor){0};
}

struct leaf *alloc_walk_leaf(struct allocator *a, struct role *role)
{
	struct sorter_node *node;

	if (a->random)
		return alloc_random_leaf(a, role);
	node = alloc_group_next(&role->frameworks, &role->leaf_cursor);
	return node ? container_of(node, struct leaf, node) : NULL;
}

static int leaf_order(const void *left, const void *right)
{
	return alloc_leaf_order(*(struct leaf *const *)left, *(struct leaf *const *)right);
}

void alloc_walk_sort(struct allocator *a, struct leaf **leaves, size_t count)
{
	if (count < 2)
		return;
	if (a->random) {
		alloc_random_sort(a, leaves, count);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		alloc_group_refresh(&a->pool, &leaves[i]->role->frameworks);
		for (struct role *role = leaves[i]->role; role != &a->root; role = role->parent)
			alloc_group_refresh(&a->pool, &role->parent->group);
	}
	qsort(leaves, count, sizeof(struct leaf *), leaf_order);
}
