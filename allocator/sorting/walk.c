/* Walks: roles and frameworks in the order in which they are asked.
 *
 * Depth first through the tree of roles, each level in order of share; a role that has
 * children is met as its virtual leaf. Or in the random sorter's order.
 */
#include <stdlib.h>

#include "allocator/objects.h"
#include "allocator/quota/quota.h"
#include "allocator/roles/roles.h"
#include "allocator/sorting/group.h"
#include "allocator/sorting/sorter.h"
#include "allocator/sorting/walk.h"

static void walk_enter(struct allocator *a, struct role *role)
{
	alloc_group_refresh(&a->pool, &role->group);
	role->cursor = (struct sorter_cursor){0};
	a->walk = role;
}

/* ---- the top: several groups, merged ------------------------------------------------------ */

static void add_source(struct allocator *a, struct sorter_group *group)
{
	struct walk_source *source = &a->sources[a->source_count];

	alloc_group_refresh(&a->pool, group);
	*source = (struct walk_source){.group = group};
	source->next = alloc_group_next(group, &source->cursor);
	a->source_count += source->next != NULL;
}

void alloc_walk_start(struct allocator *a, enum walk_kind kind)
{
	alloc_quota_regroup(a);
	a->walk_kind = kind;
	if (a->random) {
		alloc_random_start(a, kind);
		return;
	}
	a->walk = &a->root;
	a->source_count = 0;
	add_source(a, &a->unmet);
	if (kind != WALK_UNMET)
		add_source(a, &a->root.group);
	if (kind == WALK_ALL)
		add_source(a, &a->exhausted);
}

bool alloc_walk_left_out(const struct allocator *a)
{
	if (a->walk_kind != WALK_OPEN)
		return false;
	return a->random ? alloc_random_left_out(a) : a->exhausted.count > 0;
}

static struct sorter_node *next_at_top(struct allocator *a)
{
	struct walk_source *first = &a->sources[0];
	struct sorter_node *node;

	if (a->source_count == 0)
		return NULL;
	for (size_t i = 1; i < a->source_count; i++) {
		if (alloc_node_order(a->sources[i].next, first->next) < 0)
			first = &a->sources[i];
	}
	node = first->next;
	first->next = alloc_group_next(first->group, &first->cursor);
	if (!first->next)
		*first = a->sources[--a->source_count];
	return node;
}

static struct sorter_node *next_in(struct allocator *a, struct role *role)
{
	return role == &a->root ? next_at_top(a) : alloc_group_next(&role->group, &role->cursor);
}

struct role *alloc_walk_role(struct allocator *a)
{
	if (a->random)
		return alloc_random_role(a);
	/* Not by recursion: the tree may be deeper than the stack. */
	while (a->walk) {
		struct role *role = a->walk;
		struct sorter_node *node = next_in(a, role);

		if (!node) {
			a->walk = role->parent;
			continue;
		}
		if (node == &role->self)
			return role;
		struct role *child = container_of(node, struct role, node);
		if (child->group.count == 0)
			return child;
		walk_enter(a, child);
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
	alloc_quota_regroup(a);
	for (size_t i = 0; i < count; i++) {
		alloc_group_refresh(&a->pool, &leaves[i]->role->frameworks);
		for (struct role *role = leaves[i]->role; role != &a->root; role = role->parent)
			alloc_group_refresh(&a->pool, role->node.group);
	}
	qsort(leaves, count, sizeof(struct leaf *), leaf_order);
}
