#include "allocator_named.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocator/agents/agents.h"
#include "allocator/roles/frameworks.h"
#include "base/memory/arena.h"

/* The owner of a framework or an agent. Its name is first: see named_id(). */
struct named {
	char id[32];
	/* Of an agent: */
	Mesos__AgentInfo info;
	Mesos__DomainInfo domain;
	Mesos__DomainInfo__FaultDomain fault;
	Mesos__DomainInfo__FaultDomain__RegionInfo region;
	Mesos__DomainInfo__FaultDomain__ZoneInfo zone;
	Mesos__Attribute place, *attributes[1];
	Mesos__Value__Text text;
	char names[3][32]; /* of host, region and place */
};

static struct named *named_create(const char *id)
{
	struct named *named = xcalloc(1, sizeof(*named));

	snprintf(named->id, sizeof(named->id), "%s", id);
	mesos__agent_info__init(&named->info);
	mesos__domain_info__init(&named->domain);
	mesos__domain_info__fault_domain__init(&named->fault);
	mesos__domain_info__fault_domain__region_info__init(&named->region);
	mesos__domain_info__fault_domain__zone_info__init(&named->zone);
	mesos__attribute__init(&named->place);
	mesos__value__text__init(&named->text);
	named->info.hostname = named->names[0];
	named->domain.fault_domain = &named->fault;
	named->fault.region = &named->region;
	named->region.name = named->names[1];
	named->fault.zone = &named->zone;
	named->zone.name = "";
	named->place.name = "place";
	named->place.type = MESOS__VALUE__TYPE__TEXT;
	named->place.text = &named->text;
	named->text.value = named->names[2];
	named->attributes[0] = &named->place;
	return named;
}

void named_destroy(struct allocator *a)
{
	struct alloc_framework *framework, *next_framework;
	struct alloc_agent *agent, *next_agent;

	if (!a)
		return;
	HASH_ITER (hh, a->frameworks, framework, next_framework)
		named_remove_framework(a, framework->id);
	HASH_ITER (hh, a->agents, agent, next_agent)
		named_remove_agent(a, agent->id);
	allocator_destroy(a);
}

/* ---- frameworks ------------------------------------------------------------------------- */

void named_add_framework(struct allocator *a, const struct allocator_framework *say)
{
	struct alloc_framework *framework = alloc_framework_find(a, say->id);

	if (framework)
		allocator_update_framework(a, framework, say);
	else
		allocator_add_framework(a, named_create(say->id), say);
}

void named_activate_framework(struct allocator *a, const char *id, bool active)
{
	struct alloc_framework *framework = alloc_framework_find(a, id);

	if (framework)
		allocator_activate_framework(a, framework, active);
}

void named_remove_framework(struct allocator *a, const char *id)
{
	struct alloc_framework *framework = alloc_framework_find(a, id);
	void *owner = framework ? framework->owner : NULL;

	if (framework)
		allocator_remove_framework(a, framework);
	free(owner);
}

void named_suppress(struct allocator *a, const char *id, const char *const *roles, size_t count)
{
	struct alloc_framework *framework = alloc_framework_find(a, id);

	if (framework)
		allocator_suppress(a, framework, roles, count);
}

void named_revive(struct allocator *a, const char *id, const char *const *roles, size_t count)
{
	struct alloc_framework *framework = alloc_framework_find(a, id);

	if (framework)
		allocator_revive(a, framework, roles, count);
}

/* ---- agents --------------------------------------------------------------------------------- */

static struct alloc_agent *named_meet(struct allocator *a, const char *id)
{
	struct alloc_agent *agent = alloc_agent_find(a, id);

	return agent ? agent : allocator_meet_agent(a, id, named_create(id));
}

void named_add_agent(struct allocator *a, const char *id, const struct resources *total,
		     const char *region)
{
	struct alloc_agent *agent = named_meet(a, id);

	if (region)
		named_set_agent_region(a, id, region);
	allocator_add_agent(a, agent, total);
}

void named_update_agent(struct allocator *a, const char *id, const struct resources *total)
{
	struct alloc_agent *agent = alloc_agent_find(a, id);

	if (agent)
		allocator_update_agent(a, agent, total);
}

void named_activate_agent(struct allocator *a, const char *id, bool active)
{
	struct alloc_agent *agent = alloc_agent_find(a, id);

	if (agent)
		allocator_activate_agent(a, agent, active);
}

void named_remove_agent(struct allocator *a, const char *id)
{
	struct alloc_agent *agent = alloc_agent_find(a, id);
	void *owner = agent ? agent->owner : NULL;

	if (agent)
		allocator_remove_agent(a, agent);
	free(owner);
}

void named_set_agent_capabilities(struct allocator *a, const char *id, bool multi_role,
				  bool hierarchical_role)
{
	struct alloc_agent *agent = alloc_agent_find(a, id);

	if (agent)
		allocator_set_agent_capabilities(a, agent, multi_role, hierarchical_role);
}

/* The name in the place, of an agent that is there. */
static struct named *agent_name(struct allocator *a, const char *id, int place, const char *name)
{
	struct alloc_agent *agent = alloc_agent_find(a, id);
	struct named *named = agent ? agent->owner : NULL;

	if (named)
		snprintf(named->names[place], sizeof(named->names[place]), "%s", name);
	return named;
}

static void say_info(struct allocator *a, const char *id, const struct named *named)
{
	if (named)
		allocator_set_agent_info(a, alloc_agent_find(a, id), &named->info);
}

void named_set_agent_region(struct allocator *a, const char *id, const char *region)
{
	struct named *named = agent_name(a, id, 1, region ? region : "");

	if (named)
		named->info.domain = region ? &named->domain : NULL;
	say_info(a, id, named);
}

void named_set_agent_hostname(struct allocator *a, const char *id, const char *hostname)
{
	say_info(a, id, agent_name(a, id, 0, hostname));
}

void named_set_agent_place(struct allocator *a, const char *id, const char *place)
{
	struct named *named = agent_name(a, id, 2, place);

	if (named) {
		named->info.attributes = named->attributes;
		named->info.n_attributes = 1;
	}
	say_info(a, id, named);
}

void named_forget_filters(struct allocator *a, const char *id)
{
	struct alloc_agent *agent = alloc_agent_find(a, id);

	if (agent)
		allocator_forget_filters(a, agent);
}

void named_set_unavailability(struct allocator *a, const char *id, bool scheduled)
{
	struct alloc_agent *agent = alloc_agent_find(a, id);

	if (agent)
		allocator_set_unavailability(a, agent, scheduled);
}

/* ---- pairs ------------------------------------------------------------------------------------
 */

void named_restore(struct allocator *a, const char *framework_id, const char *agent_id,
		   const struct resources *allocated)
{
	struct alloc_framework *framework = alloc_framework_find(a, framework_id);
	struct alloc_agent *agent = alloc_agent_find(a, agent_id);

	if (framework && agent)
		allocator_restore(a, framework, agent, allocated);
}

void named_recover(struct allocator *a, int64_t now, const char *framework_id, const char *agent_id,
		   const struct resources *allocated, const struct allocator_filter *filter)
{
	struct alloc_framework *framework = alloc_framework_find(a, framework_id);
	struct alloc_agent *agent = alloc_agent_find(a, agent_id);

	if (framework && agent)
		allocator_recover(a, now, framework, agent, allocated, filter);
}

void named_convert(struct allocator *a, const char *framework_id, const char *agent_id,
		   const struct resources *before, const struct resources *after)
{
	struct alloc_framework *framework = alloc_framework_find(a, framework_id);
	struct alloc_agent *agent = alloc_agent_find(a, agent_id);

	if (framework && agent)
		allocator_convert(a, framework, agent, before, after);
}

void named_end_inverse(struct allocator *a, int64_t now, const char *framework_id,
		       const char *agent_id, const struct allocator_filter *filter)
{
	struct alloc_framework *framework = alloc_framework_find(a, framework_id);
	struct alloc_agent *agent = alloc_agent_find(a, agent_id);

	if (framework && agent)
		allocator_end_inverse(a, now, framework, agent, filter);
}

bool named_remember(struct allocator *a, int64_t now, const struct allocator_memory *memory)
{
	if (memory->kind == ALLOCATOR_MEMORY_AGENT)
		named_meet(a, memory->agent);
	return allocator_remember(a, now, memory);
}
