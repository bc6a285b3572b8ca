/* What roles are charged for, and what was said of them.
 *
 * A tree beside that of roles: reservations, quota and weights are of roles that no
 * framework may be in. An account is charged for the reservations of its subtree on all
 * agents, used or not, and for what the subtree holds that is neither reserved nor
 * revocable.
 */
#include <stdlib.h>
#include <string.h>

#include "allocator/objects.h"
#include "allocator/quota/quota.h"
#include "allocator/roles/accounts.h"
#include "allocator/sorting/sorter.h"
#include "base/memory/arena.h"

static void account_init(struct account *account, struct account *parent, char *component)
{
	account->parent = parent;
	account->component = component;
	account->weight = 1.0;
}

static void account_release(struct account *account)
{
	alloc_quantities_free(&account->consumed);
	free(account->component);
}

void alloc_accounts_init(struct allocator *a)
{
	account_init(&a->accounts, NULL, xstrdup(""));
}

static bool nothing_consumed(const struct account *account)
{
	for (uint32_t i = 0; i < account->consumed.count; i++) {
		if (account->consumed.milli[i] != 0)
			return false;
	}
	return true;
}

void alloc_account_put(struct allocator *a, struct account *account)
{
	while (account != &a->accounts && !account->role && !account->children && !account->quota &&
	       account->weight == 1.0 && nothing_consumed(account)) {
		struct account *parent = account->parent;

		HASH_DEL(parent->children, account);
		account_release(account);
		free(account);
		account = parent;
	}
}

/* Roles and agents are gone: what is left has a weight or a quota. Climbs down without a
 * stack, as roles may be deep. */
void alloc_accounts_free(struct allocator *a)
{
	struct account *account = &a->accounts;

	for (;;) {
		struct account *child = account->children;

		if (child) {
			account = child;
			continue;
		}
		if (account == &a->accounts)
			break;
		if (account->quota)
			alloc_quota_free(a, account->quota);
		struct account *parent = account->parent;
		HASH_DEL(parent->children, account);
		account_release(account);
		free(account);
		account = parent;
	}
	account_release(&a->accounts);
}

static struct account *find_child(const struct account *parent, const char *component, size_t len)
{
	struct account *child;

	HASH_FIND(hh, parent->children, component, len, child);
	return child;
}

struct account *alloc_account_child(struct account *parent, const char *component, size_t len)
{
	struct account *child = find_child(parent, component, len);

	if (!child) {
		child = xcalloc(1, sizeof(*child));
		account_init(child, parent, xstrndup(component, len));
		HASH_ADD_KEYPTR(hh, parent->children, child->component, len, child);
	}
	return child;
}

struct account *alloc_account_get(struct allocator *a, const char *role)
{
	struct account *account = &a->accounts;

	for (;;) {
		size_t len = strcspn(role, "/");

		account = alloc_account_child(account, role, len);
		if (!role[len])
			return account;
		role += len + 1;
	}
}

static const struct account *account_find(const struct allocator *a, const char *role)
{
	const struct account *account = &a->accounts;

	while (account) {
		size_t len = strcspn(role, "/");

		account = find_child(account, role, len);
		if (!role[len])
			break;
		role += len + 1;
	}
	return account;
}

void alloc_account_charge(struct allocator *a, struct account *account, uint32_t name,
			  int64_t milli)
{
	for (; account != &a->accounts; account = account->parent) {
		int64_t before = alloc_quantity(&account->consumed, name);

		alloc_quantities_add(&account->consumed, name, milli);
		if (account->quota)
			alloc_quota_moved(a, account->quota, name, before);
	}
}

static void charge_reservations(struct allocator *a, const struct resources *total, int sign)
{
	for (uint32_t i = 0; i < total->count; i++) {
		const struct resource_piece *piece = &total->pieces[i];

		if (resource_shape_reservations(piece->shape) == 0 ||
		    resource_shape_type(piece->shape) != MESOS__VALUE__TYPE__SCALAR)
			continue;
		uint32_t name = alloc_pool_shape(&a->pool, piece->shape);
		struct account *account = alloc_account_get(a, resource_shape_role(piece->shape));

		alloc_quantities_add(&a->reserved, name, sign * piece->milli);
		alloc_account_charge(a, account, name, sign * piece->milli);
		alloc_account_put(a, account);
	}
}

void alloc_account_reserve(struct allocator *a, const struct resources *old,
			   const struct resources *new)
{
	a->quota_version++;
	/* First what is new: what stays loosens nothing in between. */
	charge_reservations(a, new, 1);
	charge_reservations(a, old, -1);
}

int64_t allocator_quota_consumed(const struct allocator *a, const char *role, const char *name)
{
	const struct account *account = account_find(a, role);
	struct pool_name *number;

	HASH_FIND_STR(a->pool.names, name, number);
	return account && number ? alloc_quantity(&account->consumed, number->number) : 0;
}

/* The order of shares changes with it, not whether something can be given: no agent must be
 * seen again. */
void allocator_set_weight(struct allocator *a, const char *role, double weight)
{
	struct account *account = alloc_account_get(a, role);

	account->weight = weight;
	if (account->role) {
		account->role->node.weight = weight;
		alloc_node_touch(&account->role->node);
	}
	alloc_account_put(a, account);
}
