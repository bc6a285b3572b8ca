#include <string.h>

#include "allocator_oracle_internal.h"

/* Ends the hold once enough agents were added. */
static void count_held_back(struct oracle *o)
{
	if (o->held_back && --o->hold_agents == 0)
		o->held_back = false;
}

void oracle_set_agent(struct oracle *o, const char *id, const struct resources *total)
{
	int index = oracle_agent_index(o, id);

	if (index < 0) {
		index = oracle_agent_index(o, "");
		strcpy(o->agents[index].id, id);
		o->agents[index].arrival = ++o->arrivals;
		o->agents[index].active = true;
		o->agents[index].multi_role = o->agents[index].hierarchical = true;
		resources_copy(&o->agents[index].total, total);
		count_held_back(o);
		oracle_trigger(o, index);
		return;
	} else if (resources_equal(&o->agents[index].total, total)) {
		return;
	}
	resources_free(&o->agents[index].total);
	resources_copy(&o->agents[index].total, total);
	oracle_trigger(o, index);
}

void oracle_set_capabilities(struct oracle *o, const char *id, bool multi_role, bool hierarchical)
{
	int index = oracle_agent_index(o, id);

	if (index < 0 || (o->agents[index].multi_role == multi_role &&
			  o->agents[index].hierarchical == hierarchical))
		return;
	o->agents[index].multi_role = multi_role;
	o->agents[index].hierarchical = hierarchical;
	oracle_trigger(o, index);
}

void oracle_set_region(struct oracle *o, const char *id, const char *region)
{
	int index = oracle_agent_index(o, id);

	if (index < 0 || strcmp(o->agents[index].region, region ? region : "") == 0)
		return;
	strcpy(o->agents[index].region, region ? region : "");
	oracle_trigger(o, index);
}

void oracle_set_hostname(struct oracle *o, const char *id, const char *hostname)
{
	int index = oracle_agent_index(o, id);

	if (index < 0 || strcmp(o->agents[index].hostname, hostname) == 0)
		return;
	strcpy(o->agents[index].hostname, hostname);
	oracle_trigger(o, index);
}

void oracle_set_whitelist(struct oracle *o, const char *const *hostnames, size_t count)
{
	memset(o->hosts, 0, sizeof(o->hosts));
	o->whitelisted = hostnames != NULL;
	for (size_t i = 0; hostnames && i < count; i++)
		strcpy(o->hosts[i], hostnames[i]);
}

void oracle_hold(struct oracle *o, size_t agents, int64_t until)
{
	o->held_back = agents > 0;
	o->hold_agents = agents;
	o->hold_until = until;
}

void oracle_activate_agent(struct oracle *o, const char *id, bool active)
{
	int index = oracle_agent_index(o, id);

	if (index >= 0)
		o->agents[index].active = active;
}

void oracle_remove_agent(struct oracle *o, const char *id)
{
	int index = oracle_agent_index(o, id);

	if (index < 0)
		return;
	for (int f = 0; f < FRAMEWORKS; f++) {
		for (int r = 0; r < ROLES; r++) {
			struct resources all;

			resources_copy(&all, &o->frameworks[f].held[index][r]);
			if (!resources_empty(&all))
				oracle_discharge(o, f, index, r, &all);
			resources_free(&all);
			resources_free(&o->frameworks[f].held[index][r]);
		}
	}
	oracle_filters_remove(o, -1, index, -1);
	oracle_inverse_filters_remove(o, -1, index);
	oracle_sync(o);
	resources_free(&o->agents[index].total);
	memset(&o->agents[index], 0, sizeof(o->agents[index]));
}

void oracle_forget_filters(struct oracle *o, const char *agent)
{
	int index = oracle_agent_index(o, agent);

	if (index < 0)
		return;
	oracle_filters_remove(o, -1, index, -1);
	oracle_inverse_filters_remove(o, -1, index);
	oracle_trigger(o, index);
}

static int role_of(struct oracle *o, const struct resources *allocated)
{
	return oracle_role_index(o, resource_shape_allocation_role(allocated->pieces[0].shape));
}

void oracle_restore(struct oracle *o, const char *framework, const char *agent,
		    const struct resources *allocated)
{
	int a = oracle_agent_index(o, agent), f = oracle_framework_index(o, framework);

	if (a < 0 || f < 0)
		return;
	oracle_charge(o, f, a, role_of(o, allocated), allocated, true);
}

void oracle_recover(struct oracle *o, int64_t now, const char *framework, const char *agent,
		    const struct resources *allocated, const struct allocator_filter *filter)
{
	int a = oracle_agent_index(o, agent), f = oracle_framework_index(o, framework);

	if (a < 0 || f < 0)
		return;
	int role = role_of(o, allocated);
	oracle_discharge(o, f, a, role, allocated);
	if (filter && o->frameworks[f].subscribed[role])
		oracle_filter_create(o, now, f, a, role, allocated, filter->refuse_seconds);
	oracle_sync_role(o, role, false);
}

void oracle_convert(struct oracle *o, const char *framework, const char *agent,
		    const struct resources *before, const struct resources *after)
{
	int a = oracle_agent_index(o, agent), f = oracle_framework_index(o, framework);
	struct resources less = RESOURCES_INIT, more = RESOURCES_INIT;

	if (a < 0 || f < 0)
		return;
	oracle_charge(o, f, a, role_of(o, after), after, false);
	if (!resources_empty(before))
		oracle_discharge(o, f, a, role_of(o, before), before);
	oracle_sync(o);
	resources_allocate(o->options.shapes, before, NULL, &less);
	resources_allocate(o->options.shapes, after, NULL, &more);
	/* Another copy of a shared volume consumes nothing and adds nothing. */
	if (!resources_empty(before)) {
		resources_subtract(&o->agents[a].total, &less);
		resources_add(&o->agents[a].total, &more);
	}
	resources_free(&less);
	resources_free(&more);
}
