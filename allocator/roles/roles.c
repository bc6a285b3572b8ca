/* The tree of roles.
 *
 * A role exists while frameworks are tracked in it or below. `node` sums its
 * subtree and competes with its siblings; `self` sums its own frameworks and, as
 * soon as the role has children, competes with them as the virtual leaf ".".
 * Counts of gifts survive as in Mesos: a leaf that becomes a parent hands its count
 * to the virtual leaf and keeps it too, and so does a parent that becomes a leaf.
 */
#include <stdlib.h>
#include <string.h>

#include "allocator/memory.h"
#include "allocator/objects.h"
#include "allocator/quota/cut.h"
#include "allocator/quota/quota.h"
#include "allocator/roles/accounts.h"
#include "allocator/roles/roles.h"
#include "allocator/sorting/group.h"
#include "allocator/sorting/sorter.h"
#include "base/memory/arena.h"

static void role_init(struct role *role, struct role *parent, char *component,
		      struct account *account)
{
	role->account = account;
	account->role = role;
	role->parent = parent;
	role->component = component;
	role->depth = parent ? parent->depth + 1 : 0;
	alloc_node_init(&role->node, component);
	alloc_node_init(&role->self, ".");
	role->node.weight = account->weight;
	alloc_group_init(&role->group);
	alloc_group_init(&role->frameworks);
	list_init(&role->memory.changed);
}

static void role_release(struct role *role)
{
	alloc_node_free(&role->node);
	alloc_node_free(&role->self);
	alloc_group_free(&role->group);
	alloc_group_free(&role->frameworks);
	lottery_free(&role->lottery);
	free(role->component);
}

void alloc_roles_init(struct allocator *a)
{
	role_init(&a->root, NULL, xstrdup(""), &a->accounts);
}

/* All frameworks are gone by now, and with them all roles but the root. */
void alloc_roles_free(struct allocator *a)
{
	role_release(&a->root);
}

static struct role *find_child(struct role *parent, const char *component, size_t len)
{
	struct role *child;

	HASH_FIND(hh, parent->children, component, len, child);
	return child;
}

struct role *alloc_role_find(struct allocator *a, const char *name)
{
	struct role *role = &a->root;

	while (role) {
		size_t len = strcspn(name, "/");

		role = find_child(role, name, len);
		if (!name[len])
			break;
		name += len + 1;
	}
	return role;
}

static void set_own_count(struct allocator *a, struct role *role, uint64_t count)
{
	if (role->self.count == count)
		return;
	role->self.count = count;
	alloc_memory_role(a, role);
}

static struct role *add_child(struct allocator *a, struct role *parent, const char *component,
			      size_t len)
{
	struct role *child = xcalloc(1, sizeof(*child));

	role_init(child, parent, xstrndup(component, len),
		  alloc_account_child(parent->account, component, len));
	a->role_count++;
	if (!parent->children && parent != &a->root) {
		set_own_count(a, parent, parent->leaves > 0 ? parent->node.count : 0);
		if (parent->frameworks.count > 0)
			alloc_group_join(&a->pool, &parent->group, &parent->self);
	}
	HASH_ADD_KEYPTR(hh, parent->children, child->component, len, child);
	return child;
}

/* Removes the role if nothing needs it, and so its ancestors. */
static void prune(struct allocator *a, struct role *role)
{
	while (role != &a->root && role->leaves == 0 && !role->children) {
		struct role *parent = role->parent;

		alloc_memory_drop_role(a, role);
		HASH_DEL(parent->children, role);
		role->account->role = NULL;
		alloc_account_put(a, role->account);
		role_release(role);
		free(role);
		a->role_count--;
		if (!parent->children)
			alloc_group_leave(&parent->self);
		role = parent;
	}
}

void alloc_role_attach(struct allocator *a, struct leaf *leaf)
{
	struct role *role = &a->root;
	const char *name = leaf->role_name;

	for (;;) {
		size_t len = strcspn(name, "/");
		struct role *child = find_child(role, name, len);

		role = child ? child : add_child(a, role, name, len);
		if (!name[len])
			break;
		name += len + 1;
	}
	if (role->leaves++ == 0)
		set_own_count(a, role, 0);
	leaf->role = role;
}

void alloc_role_detach(struct allocator *a, struct leaf *leaf)
{
	struct role *role = leaf->role;

	alloc_role_activate(a, leaf, false);
	leaf->role = NULL;
	role->leaves--;
	prune(a, role);
}

static void count_active(struct allocator *a, struct role *role, bool active)
{
	for (; role != &a->root; role = role->parent) {
		if (active && role->active++ == 0)
			alloc_group_join(&a->pool, alloc_quota_group(a, role), &role->node);
		else if (!active && --role->active == 0)
			alloc_group_leave(&role->node);
		alloc_quota_touch(a, role);
	}
}

void alloc_role_activate(struct allocator *a, struct leaf *leaf, bool active)
{
	struct role *role = leaf->role;

	if (active == (leaf->node.group != NULL))
		return;
	if (active) {
		alloc_group_join(&a->pool, &role->frameworks, &leaf->node);
		if (role->children)
			alloc_group_join(&a->pool, &role->group, &role->self);
	} else {
		alloc_group_leave(&leaf->node);
		if (role->frameworks.count == 0)
			alloc_group_leave(&role->self);
	}
	count_active(a, role, active);
}

/* The nodes that a leaf's holdings count for, from the bottom to the root; NULL after the
 * last. */
static struct sorter_node *next_node(struct leaf *leaf, struct sorter_node *node, struct role **at)
{
	if (!node)
		return &leaf->node;
	if (node == &leaf->node) {
		*at = leaf->role;
		return &leaf->role->self;
	}
	if (node != &leaf->role->self)
		*at = (*at)->parent;
	return *at ? &(*at)->node : NULL;
}

static struct share_use *share_use_get(struct allocator *a, struct sorter_node *node,
				       struct alloc_agent *agent)
{
	struct share_key key = {node, agent};
	struct share_use *use;

	HASH_FIND(hh, a->shares, &key, sizeof(key), use);
	if (!use) {
		use = xcalloc(1, sizeof(*use));
		use->key = key;
		HASH_ADD(hh, a->shares, key, sizeof(use->key), use);
	}
	return use;
}

/* What the node's sum changed by. */
static int64_t change_shared(struct allocator *a, struct sorter_node *node,
			     struct alloc_agent *agent, const struct resource_piece *piece,
			     uint32_t name, int sign)
{
	int64_t change = 0;
	struct share_use *use = share_use_get(a, node, agent);
	struct resource_piece copy = *piece;
	struct resources one = {&copy, 1, 1};

	copy.shares = 1;
	if (sign < 0)
		resources_subtract_piece(&use->volumes, piece);
	if (!resources_contain(&use->volumes, &one))
		change = sign * piece->milli;
	alloc_node_add(node, name, change);
	if (sign > 0)
		resources_add_piece(&use->volumes, piece);
	if (resources_empty(&use->volumes)) {
		HASH_DEL(a->shares, use);
		resources_free(&use->volumes);
		free(use);
	}
	return change;
}

static void change_piece(struct allocator *a, struct alloc_agent *agent, struct leaf *leaf,
			 const struct resource_piece *piece, int sign)
{
	struct sorter_node *node = NULL;
	struct role *at = NULL;
	int64_t change = 0;

	if (resource_shape_type(piece->shape) != MESOS__VALUE__TYPE__SCALAR)
		return;
	uint32_t name = alloc_pool_shape(&a->pool, piece->shape);
	while ((node = next_node(leaf, node, &at))) {
		change = sign * piece->milli;
		if (resource_shape_shared(piece->shape))
			change = change_shared(a, node, agent, piece, name, sign);
		else
			alloc_node_add(node, name, change);
	}
	/* The last was the root. */
	if (resource_shape_reservations(piece->shape) > 0)
		alloc_quantities_add(&a->reserved_held, name, change);
	else if (alloc_piece_counts(piece))
		alloc_account_charge(a, leaf->role->account, name, change);
}

void alloc_role_charge(struct allocator *a, struct alloc_agent *agent, struct leaf *leaf,
		       const struct resources *resources, bool given)
{
	struct sorter_node *node = NULL;
	struct role *at = NULL;

	a->quota_version++;
	for (uint32_t i = 0; i < resources->count; i++)
		change_piece(a, agent, leaf, &resources->pieces[i], 1);
	while (given && (node = next_node(leaf, node, &at))) {
		node->count++;
		alloc_node_touch(node);
	}
	if (given)
		alloc_memory_gift(a, leaf);
}

void alloc_role_discharge(struct allocator *a, struct alloc_agent *agent, struct leaf *leaf,
			  const struct resources *resources)
{
	a->quota_version++;
	for (uint32_t i = 0; i < resources->count; i++)
		change_piece(a, agent, leaf, &resources->pieces[i], -1);
}

int alloc_leaf_order(const struct leaf *a, const struct leaf *b)
{
	const struct role *left = a->role, *right = b->role;
	const struct sorter_node *left_node = &left->self, *right_node = &right->self;

	if (left == right)
		return alloc_node_order(&a->node, &b->node);
	while (left->depth > right->depth) {
		left_node = &left->node;
		left = left->parent;
	}
	while (right->depth > left->depth) {
		right_node = &right->node;
		right = right->parent;
	}
	while (left != right) {
		left_node = &left->node;
		left = left->parent;
		right_node = &right->node;
		right = right->parent;
	}
	return alloc_node_order(left_node, right_node);
}
