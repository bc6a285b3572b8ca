#include <stdlib.h>
#include <string.h>

#include "allocator_oracle_internal.h"
#include "base/memory/arena.h"

/* What one cycle has to remember. */
struct run {
	struct oracle *o;
	struct allocator_grants *out;
	struct amounts required, available;
	struct resources shared[ORACLE_AGENTS]; /* volumes offered in this cycle */
	bool chosen[ORACLE_AGENTS];		/* candidates */
	bool offering[ORACLE_AGENTS];		/* those of them that may offer */
};

/* The places of the agents in order of their arrival. */
static size_t arrivals(const struct oracle *o, int order[ORACLE_AGENTS])
{
	size_t count = 0;

	for (int i = 0; i < ORACLE_AGENTS; i++) {
		size_t at = count;

		if (!o->agents[i].id[0])
			continue;
		for (; at > 0 && o->agents[i].arrival < o->agents[order[at - 1]].arrival; at--)
			order[at] = order[at - 1];
		order[at] = i;
		count++;
	}
	return count;
}

static bool whitelisted(const struct oracle *o, int agent)
{
	for (int i = 0; i < HOSTS && o->whitelisted; i++) {
		if (o->hosts[i][0] && strcmp(o->hosts[i], o->agents[agent].hostname) == 0)
			return true;
	}
	return !o->whitelisted;
}

/* -- who may have what -- */

static bool visible(const struct oracle *o, int role, const struct resource_piece *piece)
{
	const char *reserved = resource_shape_role(piece->shape);

	return resource_shape_reservations(piece->shape) == 0 ||
	       strcmp(o->roles[role], reserved) == 0 ||
	       role_is_strict_subrole(o->roles[role], reserved);
}

static bool may_have(struct run *run, int agent, int framework, int role,
		     const struct resource_piece *piece)
{
	const struct allocator_framework *info = &run->o->frameworks[framework].info;
	struct resources one = {(struct resource_piece *)piece, 1, 1};

	if (!visible(run->o, role, piece))
		return false;
	if (resource_shape_shared(piece->shape) &&
	    (!info->shared_resources || resources_contain(&run->shared[agent], &one)))
		return false;
	if (resource_shape_revocable(piece->shape) && !info->revocable_resources)
		return false;
	return resource_shape_reservations(piece->shape) < 2 || info->reservation_refinement;
}

static bool acceptable(const struct oracle *o, int framework, int role, int agent)
{
	const struct oframework *f = &o->frameworks[framework];
	const struct oagent *a = &o->agents[agent];

	if (f->info.constraints && o->excludes(o->context, f->id, o->roles[role], a->id))
		return false;
	if (o->options.filter_gpu_resources && !f->info.gpu_resources &&
	    resources_quantity(&a->total, "gpus") > 0)
		return false;
	if (!f->info.region_aware && o->options.region && a->region[0] &&
	    strcmp(a->region, o->options.region) != 0)
		return false;
	if (f->info.multi_role && !a->multi_role)
		return false;
	return a->hierarchical || !strchr(o->roles[role], '/');
}

static bool allocatable(const struct oracle *o, int framework, int role,
			const struct resources *offer)
{
	const struct oframework *f = &o->frameworks[framework];
	const struct ominimum *minimum = f->own_minimum[role] ? &f->minima[role] : &o->minimum;

	if (resources_empty(offer))
		return false;
	for (size_t i = 0; i < minimum->count; i++) {
		bool met = true;

		for (int n = 0; n < ORACLE_NAMES; n++)
			met &= resources_quantity(offer, oracle_names[n]) >= minimum->sets[i].of[n];
		if (met)
			return true;
	}
	return minimum->count == 0;
}

/* What the framework could be offered there: what quota is about, and the rest. */
static void split(struct run *run, int agent, int framework, int role, struct resources *quota,
		  struct resources *rest)
{
	struct resources left = oracle_free(run->o, agent);

	for (uint32_t i = 0; i < left.count; i++) {
		if (may_have(run, agent, framework, role, &left.pieces[i]))
			resources_add_piece(oracle_quota_piece(&left.pieces[i]) ? quota : rest,
					    &left.pieces[i]);
	}
	resources_free(&left);
}

/* -- offering -- */

static void grant(struct run *run, int framework, int role, int agent,
		  const struct resources *offer)
{
	struct oracle *o = run->o;
	struct resources allocated = RESOURCES_INIT;

	resources_allocate(o->options.shapes, offer, o->roles[role], &allocated);
	oracle_charge(o, framework, agent, role, &allocated, true);
	for (uint32_t i = 0; i < offer->count; i++) {
		if (resource_shape_shared(offer->pieces[i].shape))
			resources_add_piece(&run->shared[agent], &offer->pieces[i]);
	}
	for (size_t i = 0; i < run->out->count; i++) {
		struct allocator_grant *other = &run->out->items[i];

		if (other->framework == o->frameworks[framework].id &&
		    other->role == o->roles[role] && other->agent == o->agents[agent].id) {
			resources_add(&other->resources, &allocated);
			resources_free(&allocated);
			return;
		}
	}
	run->out->items =
		xrealloc(run->out->items, (run->out->count + 1) * sizeof(*run->out->items));
	run->out->items[run->out->count++] =
		(struct allocator_grant){.framework = o->frameworks[framework].id,
					 .role = o->roles[role],
					 .agent = o->agents[agent].id,
					 .resources = allocated};
}

static struct amounts sum_of(const struct resources *r)
{
	struct amounts sum = {0};

	amounts_add(&sum, r);
	return sum;
}

/* Keeps of `*x` what limits and headroom allow beside `also`. */
static void cut(struct run *run, int role, struct amounts also, struct resources *x)
{
	const struct oquota *quota = &run->o->quotas[role];
	struct resources less;

	if (oracle_has_limits(quota)) {
		struct amounts allow =
			amounts_minus(quota->limits, oracle_consumption(run->o, role));

		less = oracle_shrink(x, amounts_minus(allow, also));
		resources_free(x);
		*x = less;
	}
	if (!amounts_empty(run->required)) {
		less = oracle_shrink(x, amounts_minus(run->available, run->required));
		resources_free(x);
		*x = less;
	}
}

/* Towards the role's guarantees; what was granted of those is taken from `unsatisfied`. */
static void try_guarantees(struct run *run, int agent, int role, int framework,
			   struct amounts *unsatisfied)
{
	struct resources quota = RESOURCES_INIT, offer = RESOURCES_INIT, burst;

	if (!acceptable(run->o, framework, role, agent))
		return;
	split(run, agent, framework, role, &quota, &offer);
	struct resources guaranteed = oracle_shrink(&quota, *unsatisfied);
	if (!resources_empty(&guaranteed)) {
		struct amounts given = sum_of(&guaranteed);

		resources_copy(&burst, &quota);
		resources_subtract(&burst, &guaranteed);
		cut(run, role, given, &burst);
		struct amounts more = sum_of(&burst);
		resources_add(&offer, &guaranteed);
		resources_add(&offer, &burst);
		if (allocatable(run->o, framework, role, &offer) &&
		    !oracle_filtered(run->o, framework, agent, role, &offer)) {
			grant(run, framework, role, agent, &offer);
			run->required = amounts_minus(run->required, given);
			for (int i = 0; i < ORACLE_NAMES; i++)
				given.of[i] += more.of[i];
			*unsatisfied = amounts_minus(*unsatisfied, given);
			run->available = amounts_minus(run->available, given);
		}
		resources_free(&burst);
	}
	resources_free(&guaranteed);
	resources_free(&quota);
	resources_free(&offer);
}

static void try_all(struct run *run, int agent, int role, int framework)
{
	struct resources quota = RESOURCES_INIT, offer = RESOURCES_INIT;

	if (!acceptable(run->o, framework, role, agent))
		return;
	split(run, agent, framework, role, &quota, &offer);
	cut(run, role, (struct amounts){0}, &quota);
	struct amounts given = sum_of(&quota);
	resources_add(&offer, &quota);
	if (allocatable(run->o, framework, role, &offer) &&
	    !oracle_filtered(run->o, framework, agent, role, &offer)) {
		grant(run, framework, role, agent, &offer);
		run->available = amounts_minus(run->available, given);
	}
	resources_free(&quota);
	resources_free(&offer);
}

static void serve(struct run *run, int agent, bool guarantees)
{
	char roles[ORACLE_SORTED][ORACLE_PATH], frameworks[ORACLE_SORTED][ORACLE_PATH];
	struct oracle *o = run->o;
	struct oscale scale = oracle_scale(o);
	size_t role_count = osorter_sort(&o->role_sorter, &scale, roles);

	scale.weight = NULL; /* frameworks have none */
	for (size_t i = 0; i < role_count; i++) {
		int role = oracle_role_index(o, roles[i]);
		struct amounts unsatisfied = {0};

		if (guarantees) {
			if (amounts_empty(o->quotas[role].guarantees))
				continue;
			unsatisfied = amounts_minus(o->quotas[role].guarantees,
						    oracle_consumption(o, role));
		}
		size_t count = osorter_sort(&o->framework_sorters[role], &scale, frameworks);
		for (size_t j = 0; j < count; j++) {
			int framework = oracle_framework_index(o, frameworks[j]);

			if (!guarantees)
				try_all(run, agent, role, framework);
			else if (!amounts_empty(unsatisfied))
				try_guarantees(run, agent, role, framework, &unsatisfied);
		}
	}
}

/* -- inverse offers -- */

static bool holds_there(const struct oframework *f, int agent)
{
	for (int r = 0; r < ROLES; r++) {
		if (!resources_empty(&f->held[agent][r]))
			return true;
	}
	return false;
}

static void invert(struct run *run, int agent)
{
	struct oracle *o = run->o;
	struct allocator_grants *out = run->out;

	for (int f = 0; f < FRAMEWORKS; f++) {
		const struct oframework *framework = &o->frameworks[f];

		if (!framework->active || !holds_there(framework, agent) ||
		    o->agents[agent].outstanding[f] || oracle_inverse_filtered(o, f, agent))
			continue;
		o->agents[agent].outstanding[f] = true;
		out->inverse =
			xrealloc(out->inverse, (out->inverse_count + 1) * sizeof(*out->inverse));
		out->inverse[out->inverse_count++] =
			(struct allocator_inverse){o->frameworks[f].id, o->agents[agent].id};
	}
}

/* -- the cycle -- */

static void choose(struct run *run, bool everyone)
{
	struct oracle *o = run->o;

	for (int i = 0; i < ORACLE_AGENTS; i++) {
		struct oagent *agent = &o->agents[i];

		run->chosen[i] = agent->id[0] && (everyone || agent->candidate);
		run->offering[i] = run->chosen[i] && agent->active && whitelisted(o, i);
		agent->candidate = false;
	}
	o->all_candidates = false;
}

static void allocate(struct oracle *o, bool all, struct allocator_grants *out)
{
	struct run run = {.o = o, .out = out};
	int order[ORACLE_AGENTS];
	size_t count = arrivals(o, order);

	choose(&run, all || o->all_candidates);
	run.required = oracle_required(o);
	run.available = oracle_available(o);
	for (int stage = 1; stage <= 2; stage++) {
		for (size_t i = 0; i < count; i++) {
			if (run.offering[order[i]])
				serve(&run, order[i], stage == 1);
		}
	}
	for (size_t i = 0; i < count; i++) {
		if (run.chosen[order[i]] && o->agents[order[i]].window)
			invert(&run, order[i]);
	}
	for (int i = 0; i < ORACLE_AGENTS; i++)
		resources_free(&run.shared[i]);
}

void oracle_cycle(struct oracle *o, int64_t now, bool all, struct allocator_grants *out)
{
	oracle_filters_end(o, now);
	if (o->held_back && now >= o->hold_until)
		o->held_back = false;
	if (!o->held_back)
		allocate(o, all, out);
	if (all) {
		o->batches++;
		oracle_filters_end(o, now);
	}
}

bool oracle_pending(const struct oracle *o)
{
	bool pending = o->all_candidates;

	for (int i = 0; i < ORACLE_AGENTS; i++)
		pending |= o->agents[i].candidate;
	return pending;
}
