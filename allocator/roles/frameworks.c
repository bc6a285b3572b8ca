/* Frameworks and their leaves: who may be offered something.
 *
 * A leaf (a framework in a role) is active, that is in the sorter, while the
 * framework is active and the role is subscribed and not suppressed. Each change that could
 * make a leaf accept what it did not accept before moves it to the end of the allocator's
 * list of willing leaves.
 */
#include <stdlib.h>
#include <string.h>

#include "allocator/agents/agents.h"
#include "allocator/agents/filters.h"
#include "allocator/agents/inverse.h"
#include "allocator/agents/stakes.h"
#include "allocator/memory.h"
#include "allocator/objects.h"
#include "allocator/quota/quota.h"
#include "allocator/roles/frameworks.h"
#include "allocator/roles/minima.h"
#include "allocator/roles/roles.h"
#include "allocator/sorting/sorter.h"
#include "base/memory/arena.h"
#include "base/texts.h"

struct alloc_framework *alloc_framework_find(struct allocator *a, const char *id)
{
	struct alloc_framework *framework;

	HASH_FIND_STR(a->frameworks, id, framework);
	return framework;
}

struct leaf *alloc_leaf_find(struct alloc_framework *framework, const char *role)
{
	struct leaf *leaf;

	HASH_FIND_STR(framework->leaves, role, leaf);
	return leaf;
}

struct leaf *alloc_leaf_get(struct allocator *a, struct alloc_framework *framework,
			    const char *role)
{
	struct leaf *leaf = alloc_leaf_find(framework, role);

	if (leaf)
		return leaf;
	leaf = xcalloc(1, sizeof(*leaf));
	leaf->framework = framework;
	leaf->role_name = xstrdup(role);
	alloc_node_init(&leaf->node, framework->id);
	list_init(&leaf->stakes);
	list_init(&leaf->willing);
	list_init(&leaf->ghost);
	list_init(&leaf->memory.changed);
	HASH_ADD_KEYPTR(hh, framework->leaves, leaf->role_name, strlen(leaf->role_name), leaf);
	alloc_role_attach(a, leaf);
	return leaf;
}

static void count_own_minima(struct allocator *a, struct leaf *leaf, int by)
{
	a->own_minima += (size_t)by;
	if (by == 0)
		return;
	leaf->role->own_minima += (size_t)by;
	alloc_quota_touch(a, leaf->role);
}

static void leaf_set_minima(struct allocator *a, struct leaf *leaf,
			    const struct allocator_minimum *minimum)
{
	count_own_minima(a, leaf, -leaf->own_minima);
	alloc_minima_free(&leaf->minima);
	leaf->own_minima = minimum != NULL;
	count_own_minima(a, leaf, leaf->own_minima);
	if (!minimum || minimum->count == 0)
		return;
	struct allocator_amounts *sets = xcalloc(minimum->count, sizeof(*sets));
	leaf->minima = (struct minima){sets, minimum->count};
	for (size_t i = 0; i < minimum->count; i++) {
		size_t count = minimum->any_of[i].count;
		struct allocator_amount *items = xcalloc(count + 1, sizeof(*items));

		for (size_t j = 0; j < count; j++) {
			items[j].name = xstrdup(minimum->any_of[i].items[j].name);
			items[j].milli = minimum->any_of[i].items[j].milli;
		}
		sets[i] = (struct allocator_amounts){items, count};
	}
}

static void leaf_free(struct allocator *a, struct leaf *leaf)
{
	struct stake *stake, *next;

	list_for_each (stake, next, &leaf->stakes, of_leaf) {
		alloc_filters_drop(a, stake);
		list_remove(&stake->woken);
		alloc_stake_put(a, stake);
	}
	alloc_memory_drop_leaf(a, leaf);
	leaf_set_minima(a, leaf, NULL);
	alloc_role_detach(a, leaf);
	list_remove(&leaf->willing);
	HASH_DEL(leaf->framework->leaves, leaf);
	alloc_node_free(&leaf->node);
	free(leaf->role_name);
	free(leaf);
}

static void framework_free(struct allocator *a, struct alloc_framework *framework)
{
	alloc_inverse_drop_framework(a, framework);
	HASH_DEL(a->frameworks, framework);
	free(framework->id);
	free(framework);
}

void alloc_leaf_put(struct allocator *a, struct leaf *leaf)
{
	if (!leaf->subscribed && leaf->holdings == 0)
		leaf_free(a, leaf);
}

static void leaf_update(struct allocator *a, struct leaf *leaf)
{
	alloc_role_activate(a, leaf,
			    leaf->framework->active && leaf->subscribed && !leaf->suppressed);
}

void alloc_leaf_make_willing(struct allocator *a, struct leaf *leaf)
{
	leaf->willing_at = ++a->willing_clock;
	list_remove(&leaf->willing);
	list_append(&a->willing, &leaf->willing);
}

static void leaf_clear_filters(struct allocator *a, struct leaf *leaf)
{
	struct stake *stake, *next;

	list_for_each (stake, next, &leaf->stakes, of_leaf) {
		alloc_filters_drop(a, stake);
		alloc_stake_put(a, stake);
	}
}

static void set_capabilities(struct alloc_framework *framework,
			     const struct allocator_framework *from)
{
	framework->gpu_resources = from->gpu_resources;
	framework->revocable_resources = from->revocable_resources;
	framework->shared_resources = from->shared_resources;
	framework->reservation_refinement = from->reservation_refinement;
	framework->multi_role = from->multi_role;
	framework->region_aware = from->region_aware;
	framework->constraints = from->constraints;
}

static void drop_roles(struct allocator *a, struct alloc_framework *framework,
		       const struct allocator_framework *from)
{
	struct leaf *leaf, *next;
	struct texts roles;

	texts_index(&roles, from->roles, from->role_count);
	HASH_ITER (hh, framework->leaves, leaf, next) {
		if (!leaf->subscribed || texts_have(&roles, leaf->role_name))
			continue;
		leaf->subscribed = leaf->suppressed = false;
		leaf_set_minima(a, leaf, NULL);
		leaf_clear_filters(a, leaf);
		leaf_update(a, leaf);
		alloc_leaf_put(a, leaf);
	}
	texts_free(&roles);
}

static void set_role(struct allocator *a, struct alloc_framework *framework, const char *role,
		     bool suppressed, const struct allocator_minimum *minimum)
{
	struct leaf *leaf = alloc_leaf_get(a, framework, role);

	leaf_set_minima(a, leaf, minimum);
	if (leaf->suppressed && !suppressed)
		leaf_clear_filters(a, leaf);
	leaf->subscribed = true;
	leaf->suppressed = suppressed;
	leaf_update(a, leaf);
	alloc_leaf_make_willing(a, leaf);
}

static void set_roles(struct allocator *a, struct alloc_framework *framework,
		      const struct allocator_framework *from)
{
	const char **names = xcalloc(from->minimum_count + 1, sizeof(*names));
	struct texts suppressed, minima;

	for (size_t i = 0; i < from->minimum_count; i++)
		names[i] = from->minima[i].role;
	texts_index(&minima, names, from->minimum_count);
	texts_index(&suppressed, from->suppressed_roles, from->suppressed_count);
	for (size_t i = 0; i < from->role_count; i++) {
		const char *role = from->roles[i];
		size_t at = texts_find(&minima, role);

		set_role(a, framework, role, texts_have(&suppressed, role),
			 at == TEXTS_NONE ? NULL : &from->minima[at]);
	}
	texts_free(&suppressed);
	texts_free(&minima);
	free(names);
}

static void set_framework(struct allocator *a, struct alloc_framework *framework,
			  const struct allocator_framework *from)
{
	set_capabilities(framework, from);
	set_roles(a, framework, from);
	drop_roles(a, framework, from);
	alloc_inverse_clear_filters(a, framework);
}

struct alloc_framework *allocator_add_framework(struct allocator *a, void *owner,
						const struct allocator_framework *say)
{
	struct alloc_framework *framework = xcalloc(1, sizeof(*framework));

	framework->id = xstrdup(say->id);
	framework->owner = owner;
	list_init(&framework->inverse);
	HASH_ADD_KEYPTR(hh, a->frameworks, framework->id, strlen(framework->id), framework);
	framework->active = say->active;
	set_framework(a, framework, say);
	if (framework->active)
		a->all_candidates = true;
	return framework;
}

void allocator_update_framework(struct allocator *a, struct alloc_framework *framework,
				const struct allocator_framework *say)
{
	set_framework(a, framework, say);
	if (framework->active != say->active)
		allocator_activate_framework(a, framework, say->active);
}

void allocator_activate_framework(struct allocator *a, struct alloc_framework *framework,
				  bool active)
{
	struct leaf *leaf, *next;

	framework->active = active;
	HASH_ITER (hh, framework->leaves, leaf, next) {
		leaf_update(a, leaf);
		if (active)
			alloc_leaf_make_willing(a, leaf);
		else
			leaf_clear_filters(a, leaf);
	}
	if (active)
		a->all_candidates = true;
	else
		alloc_inverse_clear_filters(a, framework);
}

static void remove_leaf(struct allocator *a, struct leaf *leaf)
{
	struct stake *stake, *next;

	leaf->subscribed = false;
	leaf_update(a, leaf);
	list_for_each (stake, next, &leaf->stakes, of_leaf) {
		alloc_filters_drop(a, stake);
		if (!resources_empty(&stake->held))
			alloc_agent_change(a, stake->key.agent);
		alloc_stake_release_all(a, stake);
	}
	leaf_free(a, leaf);
}

void allocator_remove_framework(struct allocator *a, struct alloc_framework *framework)
{
	struct leaf *leaf, *next;

	HASH_ITER (hh, framework->leaves, leaf, next)
		remove_leaf(a, leaf);
	framework_free(a, framework);
}

static void set_suppressed(struct allocator *a, struct leaf *leaf, bool suppressed)
{
	leaf->suppressed = suppressed;
	if (!suppressed) {
		leaf_clear_filters(a, leaf);
		alloc_leaf_make_willing(a, leaf);
	}
	leaf_update(a, leaf);
}

static void set_suppressed_roles(struct allocator *a, struct alloc_framework *framework,
				 const char *const *roles, size_t count, bool suppressed)
{
	struct leaf *leaf, *next;
	struct texts named;

	texts_index(&named, roles, count);
	HASH_ITER (hh, framework->leaves, leaf, next) {
		if (leaf->subscribed && (count == 0 || texts_have(&named, leaf->role_name)))
			set_suppressed(a, leaf, suppressed);
	}
	texts_free(&named);
}

void allocator_suppress(struct allocator *a, struct alloc_framework *framework,
			const char *const *roles, size_t count)
{
	set_suppressed_roles(a, framework, roles, count, true);
}

void allocator_revive(struct allocator *a, struct alloc_framework *framework,
		      const char *const *roles, size_t count)
{
	set_suppressed_roles(a, framework, roles, count, false);
	alloc_inverse_clear_filters(a, framework);
	a->all_candidates = true;
}

void alloc_frameworks_free(struct allocator *a)
{
	struct alloc_framework *framework, *next;

	HASH_ITER (hh, a->frameworks, framework, next)
		allocator_remove_framework(a, framework);
}
