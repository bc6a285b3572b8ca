/* The end of the allocator's process, and what its owner tells the next one. */
#include <string.h>

#include "allocator_named.h"
#include "allocator_oracle_internal.h"

static size_t list_amounts(const struct amounts *from, int64_t none, struct allocator_amount *out)
{
	size_t count = 0;

	for (int i = 0; i < ORACLE_NAMES; i++) {
		if (from->of[i] != none)
			out[count++] = (struct allocator_amount){oracle_names[i], from->of[i]};
	}
	return count;
}

static void tell_rules(const struct oracle *o, struct allocator *a)
{
	const char *hosts[HOSTS];
	size_t count = 0;

	for (int i = 0; i < HOSTS; i++) {
		if (o->hosts[i][0])
			hosts[count++] = o->hosts[i];
	}
	allocator_set_whitelist(a, o->whitelisted ? hosts : NULL, count);
	for (int r = 0; r < ROLES; r++) {
		struct allocator_amount guarantees[ORACLE_NAMES], limits[ORACLE_NAMES];
		struct allocator_quota quota = {
			{guarantees, list_amounts(&o->quotas[r].guarantees, 0, guarantees)},
			{limits, list_amounts(&o->quotas[r].limits, UNLIMITED, limits)},
		};

		if (!o->roles[r][0])
			continue;
		if (quota.guarantees.count + quota.limits.count > 0)
			allocator_set_quota(a, o->roles[r], &quota);
		if (o->weights[r] != 1)
			allocator_set_weight(a, o->roles[r], o->weights[r]);
	}
}

/* Not active yet. */
static void tell_framework(const struct oracle *o, const struct oframework *f, struct allocator *a)
{
	const char *roles[ROLES], *suppressed[ROLES];
	struct allocator_amount amounts[ROLES][SETS][ORACLE_NAMES];
	struct allocator_amounts sets[ROLES][SETS];
	struct allocator_minimum minima[ROLES];
	struct allocator_framework framework = f->info;

	framework.id = f->id;
	framework.active = false;
	framework.roles = roles;
	framework.suppressed_roles = suppressed;
	framework.minima = minima;
	framework.role_count = framework.suppressed_count = framework.minimum_count = 0;
	for (int r = 0; r < ROLES; r++) {
		if (!f->subscribed[r])
			continue;
		roles[framework.role_count++] = o->roles[r];
		if (f->suppressed[r])
			suppressed[framework.suppressed_count++] = o->roles[r];
		if (!f->own_minimum[r])
			continue;
		for (size_t s = 0; s < f->minima[r].count; s++) {
			sets[r][s].items = amounts[r][s];
			sets[r][s].count = list_amounts(&f->minima[r].sets[s], 0, amounts[r][s]);
		}
		minima[framework.minimum_count++] =
			(struct allocator_minimum){o->roles[r], sets[r], f->minima[r].count};
	}
	named_add_framework(a, &framework);
}

static void tell_agent(const struct oracle *o, int index, struct allocator *a)
{
	const struct oagent *agent = &o->agents[index];

	named_add_agent(a, agent->id, &agent->total, agent->region[0] ? agent->region : NULL);
	named_set_agent_hostname(a, agent->id, agent->hostname);
	named_set_agent_capabilities(a, agent->id, agent->multi_role, agent->hierarchical);
	for (int f = 0; f < FRAMEWORKS; f++) {
		for (int r = 0; r < ROLES; r++) {
			const struct resources *held = &o->frameworks[f].held[index][r];

			if (!resources_empty(held))
				named_restore(a, o->frameworks[f].id, agent->id, held);
		}
	}
	named_activate_agent(a, agent->id, agent->active);
	if (agent->window)
		named_set_unavailability(a, agent->id, true);
}

/* What is over goes. Whether a batch met the others is not known any more: it did if they are
 * old enough. */
static void age_filters(struct oracle *o, int64_t now)
{
	o->batches++;
	for (int i = 0; i < FILTERS; i++) {
		struct ofilter *filter = &o->filters[i];

		if (!filter->used)
			continue;
		filter->born =
			filter->since <= now - o->options.allocation_interval ? 0 : o->batches;
		if (filter->deadline <= now) {
			resources_free(&filter->refused);
			filter->used = false;
		}
	}
}

bool oracle_crash(struct oracle *o, int64_t now, struct allocator *a,
		  void (*remember)(void *context), void *context)
{
	uint64_t last = UINT64_MAX;

	if (o->held_back)
		return false;
	tell_rules(o, a);
	for (int f = 0; f < FRAMEWORKS; f++) {
		if (o->frameworks[f].id[0])
			tell_framework(o, &o->frameworks[f], a);
	}
	remember(context);
	/* The latest first, to see whether they find their places. */
	for (;;) {
		int next = -1;

		for (int i = 0; i < ORACLE_AGENTS; i++) {
			if (o->agents[i].id[0] && o->agents[i].arrival < last &&
			    (next < 0 || o->agents[i].arrival > o->agents[next].arrival))
				next = i;
		}
		if (next < 0)
			break;
		last = o->agents[next].arrival;
		tell_agent(o, next, a);
		memset(o->agents[next].outstanding, 0, sizeof(o->agents[next].outstanding));
		o->agents[next].candidate = true;
	}
	o->all_candidates = false;
	for (int f = 0; f < FRAMEWORKS; f++) {
		if (!o->frameworks[f].active)
			continue;
		named_activate_framework(a, o->frameworks[f].id, true);
		o->all_candidates = true;
	}
	oracle_inverse_filters_remove(o, -1, -1);
	age_filters(o, now);
	return true;
}
