/* Guarantees and limits of top-level roles, and what follows from a change of what they
 * consume: how much is required for guarantees, whose leaves may have more than before, and
 * in which group of the top the role is ordered. Each change costs a few additions; the
 * rest is done before the next walk, once for each role that changed.
 */
#include <stdlib.h>
#include <string.h>

#include "allocator/agents/agents.h"
#include "allocator/objects.h"
#include "allocator/quota/cut.h"
#include "allocator/quota/headroom.h"
#include "allocator/quota/quota.h"
#include "allocator/roles/accounts.h"
#include "allocator/roles/frameworks.h"
#include "allocator/sorting/group.h"
#include "allocator/sorting/sorter.h"
#include "base/memory/arena.h"

void alloc_quota_init(struct allocator *a)
{
	list_init(&a->revocable_stale);
	list_init(&a->loose);
	list_init(&a->regroup);
	list_init(&a->blocked);
	alloc_group_init(&a->unmet);
	alloc_group_init(&a->exhausted);
}

void alloc_quota_end_all(struct allocator *a)
{
	alloc_group_free(&a->unmet);
	alloc_group_free(&a->exhausted);
	alloc_quantities_free(&a->required);
	alloc_quantities_free(&a->reserved);
	alloc_quantities_free(&a->reserved_held);
	alloc_quantities_free(&a->revocable_free);
	alloc_quantities_free(&a->headroom.required);
	alloc_quantities_free(&a->headroom.available);
	alloc_quantities_free(&a->low);
	free(a->budgets);
	free(a->guaranteed);
}

int64_t alloc_quota_lack(const struct quota *quota, uint32_t name)
{
	int64_t consumed = alloc_quantity(&quota->account->consumed, name);
	int64_t guarantee = alloc_quantity(&quota->guarantees, name);

	return guarantee > consumed ? guarantee - consumed : 0;
}

int64_t alloc_quota_left(const struct quota *quota, uint32_t name)
{
	int64_t consumed = alloc_quantity(&quota->account->consumed, name);

	if (name >= quota->limits.count || quota->limits.milli[name] == QUOTA_UNLIMITED)
		return QUOTA_UNLIMITED;
	return quota->limits.milli[name] > consumed ? quota->limits.milli[name] - consumed : 0;
}

bool alloc_quota_lacks(const struct quota *quota)
{
	for (uint32_t i = 0; i < quota->guarantees.count; i++) {
		if (alloc_quota_lack(quota, i) > 0)
			return true;
	}
	return false;
}

bool alloc_quota_loose(const struct quota *quota)
{
	for (uint32_t i = 0; i < quota->high.count; i++) {
		if (alloc_quantity(&quota->account->consumed, i) < quota->high.milli[i] &&
		    (alloc_quantity(&quota->guarantees, i) > 0 ||
		     alloc_quota_left(quota, i) != QUOTA_UNLIMITED))
			return true;
	}
	return false;
}

static void mark_moved(struct allocator *a, struct quota *quota)
{
	a->quota_version++;
	if (list_empty(&quota->regroup))
		list_append(&a->regroup, &quota->regroup);
}

void alloc_quota_moved(struct allocator *a, struct quota *quota, uint32_t name, int64_t before)
{
	int64_t after = alloc_quantity(&quota->account->consumed, name);
	int64_t guarantee = alloc_quantity(&quota->guarantees, name);
	int64_t high = alloc_quantity(&quota->high, name);

	if (guarantee > 0)
		alloc_quantities_add(&a->required, name,
				     alloc_quota_lack(quota, name) -
					     (guarantee > before ? guarantee - before : 0));
	if (after > high)
		alloc_quantities_add(&quota->high, name, after - high);
	if (after < before && list_empty(&quota->loose))
		list_append(&a->loose, &quota->loose);
	mark_moved(a, quota);
}

/* ---- setting ----------------------------------------------------------------------------- */

/* Names between those that are set have the amount `rest`. */
static void set_amounts(struct allocator *a, struct quantities *to,
			const struct allocator_amounts *from, int64_t rest)
{
	for (size_t i = 0; i < from->count; i++) {
		uint32_t name = alloc_pool_number(&a->pool, from->items[i].name);

		for (uint32_t j = to->count; j <= name; j++)
			alloc_quantities_add(to, j, rest);
		to->milli[name] = from->items[i].milli > 0 ? from->items[i].milli : 0;
	}
}

static void require(struct allocator *a, const struct quota *quota, int sign)
{
	for (uint32_t i = 0; i < quota->guarantees.count; i++)
		alloc_quantities_add(&a->required, i, sign * alloc_quota_lack(quota, i));
}

static void count_lacking(struct allocator *a, struct quota *quota, uint64_t lacking)
{
	for (uint64_t bit = 0; (quota->lacking | lacking) >> bit; bit++) {
		a->lacking[bit] += lacking >> bit & 1;
		a->lacking[bit] -= quota->lacking >> bit & 1;
		if (bit == QUOTA_NAMES - 1)
			break;
	}
	a->lackers += lacking != 0;
	a->lackers -= quota->lacking != 0;
	quota->lacking = lacking;
}

void alloc_quota_free(struct allocator *a, struct quota *quota)
{
	require(a, quota, -1);
	count_lacking(a, quota, 0);
	list_remove(&quota->loose);
	list_remove(&quota->regroup);
	quota->account->quota = NULL;
	a->quotas--;
	alloc_quantities_free(&quota->guarantees);
	alloc_quantities_free(&quota->limits);
	alloc_quantities_free(&quota->high);
	free(quota);
}

static void quota_create(struct allocator *a, struct account *account,
			 const struct allocator_quota *from)
{
	struct quota *quota = xcalloc(1, sizeof(*quota));

	quota->account = account;
	list_init(&quota->loose);
	list_init(&quota->regroup);
	set_amounts(a, &quota->guarantees, &from->guarantees, 0);
	set_amounts(a, &quota->limits, &from->limits, QUOTA_UNLIMITED);
	alloc_quantities_copy(&quota->high, &account->consumed);
	account->quota = quota;
	a->quotas++;
	require(a, quota, 1);
	mark_moved(a, quota);
}

/* What its leaves may have is new: all agents are tried. */
static void wake_role(struct allocator *a, struct role *role)
{
	struct sorter_cursor cursor = {0};
	struct sorter_node *node;

	while ((node = alloc_group_next(&role->frameworks, &cursor)))
		alloc_leaf_make_willing(a, container_of(node, struct leaf, node));
	if (role->node.group) {
		alloc_group_leave(&role->node);
		alloc_group_join(&a->pool, alloc_quota_group(a, role), &role->node);
	}
}

void allocator_set_quota(struct allocator *a, const char *role, const struct allocator_quota *from)
{
	if (strchr(role, '/'))
		return;
	struct account *account = alloc_account_get(a, role);
	if (account->quota)
		alloc_quota_free(a, account->quota);
	if (from && (from->guarantees.count > 0 || from->limits.count > 0))
		quota_create(a, account, from);
	if (account->role)
		wake_role(a, account->role);
	a->quota_version++;
	alloc_account_put(a, account);
}

/* ---- groups ------------------------------------------------------------------------------ */

bool alloc_quota_exhausted(struct allocator *a, const struct role *role)
{
	/* Its children are not limited by it, and leaves with a least of their own may want
	 * what is not limited. */
	return role->group.count == 0 && role->own_minima == 0 &&
	       alloc_cut_hopeless(a, role->account->quota);
}

struct sorter_group *alloc_quota_group(struct allocator *a, struct role *role)
{
	struct quota *quota = role->account->quota;

	if (role->parent != &a->root || !quota || a->random)
		return &role->parent->group;
	if (role->frameworks.count > 0 && alloc_quota_lacks(quota))
		return &a->unmet;
	return alloc_quota_exhausted(a, role) ? &a->exhausted : &a->root.group;
}

static uint64_t name_bit(uint32_t name)
{
	return (uint64_t)1 << (name < QUOTA_NAMES ? name : QUOTA_NAMES - 1);
}

static uint64_t lacking_names(const struct quota *quota)
{
	uint64_t mask = 0;

	for (uint32_t i = 0; i < quota->guarantees.count; i++) {
		if (alloc_quota_lack(quota, i) > 0)
			mask |= name_bit(i);
	}
	return mask;
}

static void regroup_one(struct allocator *a, struct quota *quota)
{
	struct role *role = quota->account->role;

	if (role && role->node.group) {
		struct sorter_group *group = alloc_quota_group(a, role);

		if (role->node.group != group) {
			alloc_group_leave(&role->node);
			alloc_group_join(&a->pool, group, &role->node);
		}
	}
	count_lacking(a, quota, role && role->frameworks.count > 0 ? lacking_names(quota) : 0);
}

void alloc_quota_regroup(struct allocator *a)
{
	struct quota *quota, *next;

	list_for_each (quota, next, &a->regroup, regroup) {
		list_remove(&quota->regroup);
		regroup_one(a, quota);
	}
}

void alloc_quota_touch(struct allocator *a, struct role *role)
{
	if (role->account->quota)
		mark_moved(a, role->account->quota);
}

bool alloc_quota_wants(struct allocator *a, const struct alloc_agent *agent)
{
	for (uint32_t i = 0; i < agent->free.count; i++) {
		const struct resource_piece *piece = &agent->free.pieces[i];

		if (!alloc_piece_counts(piece))
			continue;
		uint32_t name = alloc_pool_shape(&a->pool, piece->shape);
		if (a->lacking[name < QUOTA_NAMES ? name : QUOTA_NAMES - 1] > 0)
			return true;
	}
	return false;
}

/* ---- cycles ------------------------------------------------------------------------------ */

/* Brittle agents may give something else since anything moved. */
static void change_brittle(struct allocator *a)
{
	struct alloc_agent *agent, *next;

	if (!a->brittle || a->quota_version == a->quota_seen)
		return;
	a->brittle = false;
	list_for_each (agent, next, &a->blocked, blocked) {
		if (agent->brittle) {
			alloc_agent_change(a, agent);
			a->brittle = true;
		}
	}
}

void alloc_quota_begin(struct allocator *a)
{
	alloc_quota_regroup(a);
	alloc_headroom_begin(a);
	change_brittle(a);
	a->quota_begun = a->quota_version;
	a->headroom_rose = alloc_headroom_loose(a);
}

bool alloc_quota_any_loose(struct allocator *a)
{
	struct quota *quota, *next;

	list_for_each (quota, next, &a->loose, loose) {
		if (alloc_quota_loose(quota))
			return true;
		list_remove(&quota->loose);
	}
	return alloc_headroom_loose(a);
}

void alloc_quota_end(struct allocator *a, bool all)
{
	struct quota *quota, *next;

	if (!all)
		return;
	a->quota_seen = a->quota_begun;
	list_for_each (quota, next, &a->loose, loose) {
		list_remove(&quota->loose);
		alloc_quantities_copy(&quota->high, &quota->account->consumed);
	}
	if (a->headroom_rose)
		alloc_headroom_settle(a);
}
