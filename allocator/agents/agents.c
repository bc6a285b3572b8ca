/* Agents: their totals, what is free on them, and which of them a cycle must see. */
#include <stdlib.h>
#include <string.h>

#include "allocator/agents/agents.h"
#include "allocator/agents/filters.h"
#include "allocator/agents/hold.h"
#include "allocator/agents/inverse.h"
#include "allocator/agents/stakes.h"
#include "allocator/agents/whitelist.h"
#include "allocator/memory.h"
#include "allocator/objects.h"
#include "allocator/quota/headroom.h"
#include "allocator/roles/accounts.h"
#include "allocator/roles/frameworks.h"
#include "allocator/sorting/sorter.h"
#include "base/memory/arena.h"

struct alloc_agent *alloc_agent_find(struct allocator *a, const char *id)
{
	struct alloc_agent *agent;

	HASH_FIND_STR(a->agents, id, agent);
	return agent;
}

static void mark_dirty(struct allocator *a, struct alloc_agent *agent)
{
	if (alloc_agent_open(agent) && list_empty(&agent->dirty))
		list_append(&a->dirty, &agent->dirty);
}

void alloc_agent_change(struct allocator *a, struct alloc_agent *agent)
{
	agent->changed = true;
	agent->free_known = false;
	mark_dirty(a, agent);
}

void alloc_agent_wake(struct allocator *a, struct stake *stake)
{
	if (list_empty(&stake->woken))
		list_append(&stake->key.agent->woken, &stake->woken);
	mark_dirty(a, stake->key.agent);
}

void alloc_agent_mark_candidate(struct allocator *a, struct alloc_agent *agent)
{
	if (list_empty(&agent->candidate))
		list_append(&a->candidates, &agent->candidate);
}

void alloc_agent_compute_free(struct alloc_agent *agent)
{
	if (agent->free_known)
		return;
	resources_free(&agent->free);
	resources_copy(&agent->free, &agent->total);
	for (uint32_t i = 0; i < agent->used.count; i++) {
		/* A shared volume stays free whoever uses it. */
		if (!resource_shape_shared(agent->used.pieces[i].shape))
			resources_subtract_piece(&agent->free, &agent->used.pieces[i]);
	}
	agent->free_known = true;
}

static void total_changed(struct allocator *a, struct alloc_agent *agent)
{
	alloc_headroom_touch(a, agent);
	alloc_agent_change(a, agent);
}

static void look_for_kinds(struct alloc_agent *agent)
{
	agent->gpus = resources_quantity(&agent->total, "gpus") > 0;
	agent->revocable = resources_have_revocable(&agent->total);
}

/* Takes over `total`. */
void alloc_agent_set_total(struct allocator *a, struct alloc_agent *agent, struct resources *total)
{
	alloc_pool_change(&a->pool, &agent->total, total);
	alloc_account_reserve(a, &agent->total, total);
	resources_free(&agent->total);
	agent->total = *total;
	*total = RESOURCES_INIT;
	look_for_kinds(agent);
	total_changed(a, agent);
}

static bool has_kinds(const struct resources *r)
{
	return resources_have_revocable(r) || resources_quantity(r, "gpus") > 0;
}

void alloc_agent_convert_total(struct allocator *a, struct alloc_agent *agent,
			       const struct resources *less, const struct resources *more)
{
	alloc_pool_change(&a->pool, less, more);
	alloc_account_reserve(a, less, more);
	resources_subtract(&agent->total, less);
	resources_add(&agent->total, more);
	if (has_kinds(less) || has_kinds(more))
		look_for_kinds(agent);
	total_changed(a, agent);
}

static struct alloc_agent *agent_make(struct allocator *a, const char *id)
{
	struct alloc_agent *agent = xcalloc(1, sizeof(*agent));

	agent->id = xstrdup(id);
	agent->multi_role = agent->hierarchical_role = true;
	list_init(&agent->stakes);
	list_init(&agent->woken);
	list_init(&agent->dirty);
	list_init(&agent->spare);
	list_init(&agent->candidate);
	list_init(&agent->blocked);
	list_init(&agent->revocable_stale);
	list_init(&agent->returning);
	list_init(&agent->window);
	list_init(&agent->inverse);
	list_init(&agent->memory.changed);
	HASH_ADD_KEYPTR(hh, a->agents, agent->id, strlen(agent->id), agent);
	alloc_whitelist_meet(a, agent);
	return agent;
}

struct alloc_agent *allocator_meet_agent(struct allocator *a, const char *id, void *owner)
{
	struct alloc_agent *agent = agent_make(a, id);

	agent->owner = owner;
	return agent;
}

void allocator_add_agent(struct allocator *a, struct alloc_agent *agent,
			 const struct resources *total)
{
	struct resources copy;

	if (agent->added) {
		allocator_update_agent(a, agent, total);
		return;
	}
	agent->added = agent->active = true;
	if (agent->ghost) {
		alloc_memory_return(a, agent);
	} else {
		agent->number = ++a->last_agent;
		alloc_memory_agent(a, agent);
	}
	resources_copy(&copy, total);
	alloc_agent_set_total(a, agent, &copy);
	alloc_hold_count(a);
	alloc_agent_mark_candidate(a, agent);
}

void allocator_update_agent(struct allocator *a, struct alloc_agent *agent,
			    const struct resources *total)
{
	struct resources copy;

	if (!agent->added || resources_equal(&agent->total, total))
		return;
	resources_copy(&copy, total);
	alloc_agent_set_total(a, agent, &copy);
	alloc_agent_mark_candidate(a, agent);
}

void allocator_activate_agent(struct allocator *a, struct alloc_agent *agent, bool active)
{
	if (!agent->added || agent->active == active)
		return;
	agent->active = active;
	if (active) {
		alloc_agent_change(a, agent);
	} else {
		list_remove(&agent->dirty);
		list_remove(&agent->spare);
		list_remove(&agent->blocked);
	}
}

void allocator_set_agent_capabilities(struct allocator *a, struct alloc_agent *agent,
				      bool multi_role, bool hierarchical_role)
{
	if (agent->multi_role == multi_role && agent->hierarchical_role == hierarchical_role)
		return;
	agent->multi_role = multi_role;
	agent->hierarchical_role = hierarchical_role;
	alloc_agent_change(a, agent);
	alloc_agent_mark_candidate(a, agent);
}

static void set_region(struct allocator *a, struct alloc_agent *agent, const char *region)
{
	if (!strcmp(agent->region ? agent->region : "", region ? region : ""))
		return;
	free(agent->region);
	agent->region = region ? xstrdup(region) : NULL;
	alloc_agent_change(a, agent);
	alloc_agent_mark_candidate(a, agent);
}

void allocator_set_agent_info(struct allocator *a, struct alloc_agent *agent,
			      const Mesos__AgentInfo *info)
{
	const Mesos__DomainInfo *domain = info->domain;
	const Mesos__DomainInfo__FaultDomain *fault = domain ? domain->fault_domain : NULL;

	agent->info = info;
	set_region(a, agent, fault && fault->region ? fault->region->name : NULL);
	alloc_whitelist_name(a, agent, info->hostname);
}

void allocator_forget_filters(struct allocator *a, struct alloc_agent *agent)
{
	struct stake *stake, *next;

	list_for_each (stake, next, &agent->stakes, of_agent) {
		alloc_filters_drop(a, stake);
		alloc_stake_put(a, stake);
	}
	alloc_inverse_clear_agent_filters(a, agent);
	alloc_agent_change(a, agent);
	alloc_agent_mark_candidate(a, agent);
}

static void agent_free(struct allocator *a, struct alloc_agent *agent)
{
	struct resources nothing = RESOURCES_INIT;

	alloc_memory_drop_agent(a, agent);
	alloc_inverse_drop_agent(a, agent);
	alloc_pool_change(&a->pool, &agent->total, &nothing);
	alloc_account_reserve(a, &agent->total, &nothing);
	alloc_headroom_forget(a, agent);
	list_remove(&agent->dirty);
	list_remove(&agent->spare);
	list_remove(&agent->candidate);
	list_remove(&agent->window);
	list_remove(&agent->blocked);
	HASH_DEL(a->agents, agent);
	resources_free(&agent->total);
	resources_free(&agent->used);
	resources_free(&agent->free);
	free(agent->hostname);
	free(agent->region);
	free(agent->id);
	free(agent);
}

void allocator_remove_agent(struct allocator *a, struct alloc_agent *agent)
{
	struct stake *stake, *next;

	list_for_each (stake, next, &agent->stakes, of_agent) {
		struct leaf *leaf = stake->key.leaf;

		alloc_filters_drop(a, stake);
		alloc_stake_release_all(a, stake);
		list_remove(&stake->woken);
		alloc_stake_put(a, stake);
		alloc_leaf_put(a, leaf);
	}
	agent_free(a, agent);
}

void alloc_agents_free(struct allocator *a)
{
	struct alloc_agent *agent, *next;

	HASH_ITER (hh, a->agents, agent, next)
		allocator_remove_agent(a, agent);
}
