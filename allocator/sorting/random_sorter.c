/* The random sorter: roles, and frameworks in a role, are asked in a random order that
 * ignores what they hold.
 *
 * The chance of a role is the product, along its path, of each node's part of the weights of
 * its active siblings; all active roles are drawn together, not level by level. Frameworks
 * have equal chances. Chances are computed when the first walk of a cycle needs them: within
 * a cycle nothing changes who is active. Roles that a walk leaves out (quota met, or used up)
 * are thrown away when they are first drawn: within a cycle they stay so. As an agent from which
 * nothing could be given gives nothing in any order, agents settle as with DRF, and leaves that
 * woke there take the order that a walk over all would have given them.
 */
#include <math.h>
#include <stdlib.h>

#include "allocator/objects.h"
#include "allocator/quota/quota.h"
#include "allocator/sorting/group.h"
#include "allocator/sorting/walk.h"
#include "base/memory/arena.h"

static double weight_sum(const struct sorter_group *group)
{
	struct sorter_cursor cursor = {0};
	const struct sorter_node *node;
	double sum = 0;

	while ((node = alloc_group_next(group, &cursor)))
		sum += node->weight;
	return sum;
}

static void random_sorter_enter(struct role *role, double chance)
{
	role->chance_unit = chance / weight_sum(&role->group);
	role->cursor = (struct sorter_cursor){0};
}

static void add_role(struct allocator *a, struct role *role, double chance)
{
	role->chance = chance;
	lottery_add(&a->role_lotteries[WALK_ALL], role, chance);
}

static void compute_chances(struct allocator *a)
{
	struct role *role = &a->root;

	if (a->chances_of == a->cycles)
		return;
	a->chances_of = a->cycles;
	lottery_clear(&a->role_lotteries[WALK_ALL]);
	random_sorter_enter(role, 1);
	/* Not by recursion: the tree may be deeper than the stack. */
	while (role) {
		struct sorter_node *node = alloc_group_next(&role->group, &role->cursor);

		if (!node) {
			role = role->parent;
			continue;
		}
		double chance = role->chance_unit * node->weight;
		struct role *child = container_of(node, struct role, node);
		if (node == &role->self) {
			add_role(a, role, chance);
		} else if (child->group.count == 0) {
			add_role(a, child, chance);
		} else {
			random_sorter_enter(child, chance);
			role = child;
		}
	}
	lottery_begin(&a->role_lotteries[WALK_ALL]);
}

static bool random_sorter_belongs(struct allocator *a, enum walk_kind kind, struct role *role)
{
	struct quota *quota = role->parent == &a->root ? role->account->quota : NULL;

	switch (kind) {
	case WALK_UNMET:
		return quota && alloc_quota_lacks(quota);
	case WALK_OPEN:
		return !quota || !alloc_quota_exhausted(a, role);
	default:
		return true;
	}
}

void alloc_random_start(struct allocator *a, enum walk_kind kind)
{
	struct lottery *all = &a->role_lotteries[WALK_ALL], *lottery = &a->role_lotteries[kind];

	compute_chances(a);
	if (kind == WALK_ALL || a->lottery_of[kind] == a->cycles) {
		lottery_again(lottery);
		return;
	}
	a->lottery_of[kind] = a->cycles;
	lottery_clear(lottery);
	for (uint32_t i = 0; i < all->count; i++)
		lottery_add(lottery, all->items[i], all->weights[i]);
	lottery_begin(lottery);
}

struct role *alloc_random_role(struct allocator *a)
{
	struct lottery *lottery = &a->role_lotteries[a->walk_kind];
	struct role *role;

	while ((role = lottery_draw(lottery, a->random))) {
		if (random_sorter_belongs(a, a->walk_kind, role))
			break;
		lottery_discard(lottery);
	}
	return role;
}

bool alloc_random_left_out(const struct allocator *a)
{
	return a->role_lotteries[a->walk_kind].discarded > 0;
}

void alloc_random_enter(struct allocator *a, struct role *role)
{
	struct sorter_cursor cursor = {0};
	struct sorter_node *node;

	if (role->lottery_of == a->cycles) {
		lottery_again(&role->lottery);
		return;
	}
	role->lottery_of = a->cycles;
	lottery_clear(&role->lottery);
	while ((node = alloc_group_next(&role->frameworks, &cursor)))
		lottery_add(&role->lottery, container_of(node, struct leaf, node), 1);
	lottery_begin(&role->lottery);
}

struct leaf *alloc_random_leaf(struct allocator *a, struct role *role)
{
	return lottery_draw(&role->lottery, a->random);
}

/* ---- a few leaves of all ----------------------------------------------------------------- */

struct placed {
	struct leaf *leaf;
	double role_key, key; /* the smaller comes first */
};

static int placed_order(const void *left, const void *right)
{
	const struct placed *a = left, *b = right;

	if (a->role_key != b->role_key)
		return (a->role_key > b->role_key) - (a->role_key < b->role_key);
	return (a->key > b->key) - (a->key < b->key);
}

/* -ln(u) / weight orders as u^(1/weight) does, the other way round, and does not vanish for
 * small weights. */
static double random_key(struct allocator *a, double weight)
{
	return -log1p(-rng_unit(a->random)) / weight;
}

void alloc_random_sort(struct allocator *a, struct leaf **leaves, size_t count)
{
	struct placed *placed = xcalloc(count, sizeof(*placed));
	uint64_t round = ++a->random_sorts;

	compute_chances(a);
	for (size_t i = 0; i < count; i++) {
		struct role *role = leaves[i]->role;

		if (role->key_of != round) {
			role->key_of = round;
			role->key = random_key(a, role->chance);
		}
		placed[i] = (struct placed){leaves[i], role->key, random_key(a, 1)};
	}
	qsort(placed, count, sizeof(*placed), placed_order);
	for (size_t i = 0; i < count; i++)
		leaves[i] = placed[i].leaf;
	free(placed);
}
