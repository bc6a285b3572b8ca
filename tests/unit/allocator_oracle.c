#include "allocator_oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "allocator_oracle_sorter.h"
#include "base/arena.h"
#include "base/clock.h"

#define FRAMEWORKS 8
#define ROLES 12
#define FILTERS 4096

struct oagent {
	char id[16]; /* "" = none */
	uint64_t arrival;
	bool active, candidate;
	struct resources total;
};

struct oframework {
	char id[16];
	bool known, active;
	struct allocator_framework info; /* capabilities only */
	bool subscribed[ROLES], suppressed[ROLES];
	struct resources held[ORACLE_AGENTS][ROLES]; /* allocated */
};

struct ofilter {
	bool used;
	int framework, agent, role;
	struct resources refused;
	int64_t deadline;
	uint64_t born;
};

struct oracle {
	struct resource_shapes *shapes;
	int64_t interval;
	char roles[ROLES][64];
	struct oagent agents[ORACLE_AGENTS];
	struct oframework frameworks[FRAMEWORKS];
	struct osorter role_sorter;
	struct osorter framework_sorters[ROLES];
	struct ofilter filters[FILTERS];
	uint64_t arrivals, batches;
	bool all_candidates;
};

struct oracle *oracle_create(struct resource_shapes *shapes, int64_t interval)
{
	struct oracle *o = xcalloc(1, sizeof(*o));

	o->shapes = shapes;
	o->interval = interval;
	osorter_init(&o->role_sorter);
	for (int i = 0; i < ROLES; i++)
		osorter_init(&o->framework_sorters[i]);
	return o;
}

void oracle_destroy(struct oracle *o)
{
	for (int f = 0; f < FRAMEWORKS; f++) {
		for (int a = 0; a < ORACLE_AGENTS; a++) {
			for (int r = 0; r < ROLES; r++)
				resources_free(&o->frameworks[f].held[a][r]);
		}
	}
	for (int i = 0; i < ORACLE_AGENTS; i++)
		resources_free(&o->agents[i].total);
	for (int i = 0; i < FILTERS; i++)
		resources_free(&o->filters[i].refused);
	osorter_free(&o->role_sorter);
	for (int i = 0; i < ROLES; i++)
		osorter_free(&o->framework_sorters[i]);
	free(o);
}

static int agent_index(const struct oracle *o, const char *id)
{
	for (int i = 0; i < ORACLE_AGENTS; i++) {
		if (strcmp(o->agents[i].id, id) == 0)
			return i;
	}
	return -1;
}

static int framework_index(const struct oracle *o, const char *id)
{
	for (int i = 0; i < FRAMEWORKS; i++) {
		if (strcmp(o->frameworks[i].id, id) == 0)
			return i;
	}
	return -1;
}

static int role_index(struct oracle *o, const char *role)
{
	for (int i = 0; i < ROLES; i++) {
		if (!o->roles[i][0])
			strcpy(o->roles[i], role);
		if (strcmp(o->roles[i], role) == 0)
			return i;
	}
	abort();
}

static int64_t pool_total(void *context, const char *name)
{
	struct oracle *o = context;
	int64_t sum = 0;

	for (int i = 0; i < ORACLE_AGENTS; i++) {
		for (uint32_t j = 0; j < o->agents[i].total.count; j++) {
			const struct resource_piece *piece = &o->agents[i].total.pieces[j];

			if (strcmp(resource_shape_name(piece->shape), name) == 0)
				sum += piece->milli;
		}
	}
	return sum;
}

/* -- sorters follow what frameworks subscribe to and hold -- */

static bool holds_role(const struct oframework *f, int role)
{
	for (int i = 0; i < ORACLE_AGENTS; i++) {
		if (!resources_empty(&f->held[i][role]))
			return true;
	}
	return false;
}

static bool tracked(const struct oframework *f, int role)
{
	return f->known && (f->subscribed[role] || holds_role(f, role));
}

static bool any_tracked(struct oracle *o, int role)
{
	for (int f = 0; f < FRAMEWORKS; f++) {
		if (tracked(&o->frameworks[f], role))
			return true;
	}
	return false;
}

static void sync_role(struct oracle *o, int role, bool add)
{
	if (!o->roles[role][0])
		return;
	if (add && any_tracked(o, role) && !osorter_has(&o->role_sorter, o->roles[role])) {
		osorter_add(&o->role_sorter, o->roles[role]);
		osorter_activate(&o->role_sorter, o->roles[role], true);
	}
	for (int i = 0; i < FRAMEWORKS; i++) {
		struct oframework *f = &o->frameworks[i];
		struct osorter *sorter = &o->framework_sorters[role];

		if (!f->id[0])
			continue;
		bool present = osorter_has(sorter, f->id);
		if (add && tracked(f, role) && !present)
			osorter_add(sorter, f->id);
		if (!add && !tracked(f, role) && present)
			osorter_remove(sorter, f->id);
		if (tracked(f, role) && osorter_has(sorter, f->id))
			osorter_activate(sorter, f->id,
					 f->active && f->subscribed[role] && !f->suppressed[role]);
	}
	if (!add && !any_tracked(o, role) && osorter_has(&o->role_sorter, o->roles[role]))
		osorter_remove(&o->role_sorter, o->roles[role]);
}

static void sync_sorters(struct oracle *o)
{
	for (int role = 0; role < ROLES; role++)
		sync_role(o, role, true);
	for (int role = 0; role < ROLES; role++)
		sync_role(o, role, false);
}

static void charge(struct oracle *o, int framework, int agent, int role,
		   const struct resources *more, bool gift)
{
	struct oframework *f = &o->frameworks[framework];

	resources_add(&f->held[agent][role], more);
	sync_sorters(o);
	if (!f->known)
		return;
	osorter_allocated(&o->role_sorter, o->roles[role], agent, more, gift);
	osorter_allocated(&o->framework_sorters[role], f->id, agent, more, gift);
}

static void discharge(struct oracle *o, int framework, int agent, int role,
		      const struct resources *less)
{
	struct oframework *f = &o->frameworks[framework];

	resources_subtract(&f->held[agent][role], less);
	if (f->known) {
		osorter_unallocated(&o->role_sorter, o->roles[role], agent, less);
		osorter_unallocated(&o->framework_sorters[role], f->id, agent, less);
	}
}

/* -- filters -- */

static void filter_remove(struct ofilter *filter)
{
	resources_free(&filter->refused);
	filter->used = false;
}

/* -1 matches all. */
static void filters_remove(struct oracle *o, int framework, int agent, int role)
{
	for (int i = 0; i < FILTERS; i++) {
		struct ofilter *filter = &o->filters[i];

		if (filter->used && (framework < 0 || filter->framework == framework) &&
		    (agent < 0 || filter->agent == agent) && (role < 0 || filter->role == role))
			filter_remove(filter);
	}
}

static void filter_create(struct oracle *o, int64_t now, int framework, int agent, int role,
			  const struct resources *allocated, double seconds)
{
	int i = 0;

	if (isnan(seconds) || seconds < 0)
		seconds = 5;
	if (seconds > 31536000)
		seconds = 31536000;
	int64_t duration = (int64_t)(seconds * 1e9);
	if (duration == 0)
		return;
	while (o->filters[i].used)
		i++;
	o->filters[i] = (struct ofilter){
		.used = true,
		.framework = framework,
		.agent = agent,
		.role = role,
		.deadline = now + (duration > o->interval ? duration : o->interval),
		.born = o->batches,
	};
	resources_allocate(o->shapes, allocated, NULL, &o->filters[i].refused);
}

static bool filtered(struct oracle *o, int framework, int agent, int role,
		     const struct resources *offer)
{
	for (int i = 0; i < FILTERS; i++) {
		const struct ofilter *filter = &o->filters[i];

		if (filter->used && filter->framework == framework && filter->agent == agent &&
		    filter->role == role && resources_contain(&filter->refused, offer))
			return true;
	}
	return false;
}

/* A filter ends at its time, but not before one batch was run over it. */
static void filters_end(struct oracle *o, int64_t now)
{
	for (int i = 0; i < FILTERS; i++) {
		struct ofilter *filter = &o->filters[i];

		if (filter->used && filter->deadline <= now && filter->born < o->batches)
			filter_remove(filter);
	}
}

/* -- events -- */

void oracle_set_framework(struct oracle *o, const struct allocator_framework *info)
{
	int index = framework_index(o, info->id);
	bool was_known = index >= 0 && o->frameworks[index].known;

	if (index < 0) {
		index = framework_index(o, "");
		strcpy(o->frameworks[index].id, info->id);
	}
	struct oframework *f = &o->frameworks[index];
	bool was_active = was_known && f->active;
	bool charged[ORACLE_AGENTS][ROLES];
	for (int a = 0; a < ORACLE_AGENTS; a++) {
		for (int r = 0; r < ROLES; r++)
			charged[a][r] = was_known || resources_empty(&f->held[a][r]);
	}
	f->known = true;
	f->info = *info;
	f->active = info->active;
	for (size_t i = 0; i < info->role_count; i++)
		role_index(o, info->roles[i]);
	for (int r = 0; r < ROLES; r++) {
		bool subscribed = false, suppressed = false;

		for (size_t i = 0; i < info->role_count; i++)
			subscribed |= strcmp(info->roles[i], o->roles[r]) == 0;
		for (size_t i = 0; i < info->suppressed_count; i++)
			suppressed |= strcmp(info->suppressed_roles[i], o->roles[r]) == 0;
		if ((f->subscribed[r] && !subscribed) || (f->suppressed[r] && !suppressed))
			filters_remove(o, index, -1, r);
		f->subscribed[r] = subscribed;
		f->suppressed[r] = suppressed;
	}
	sync_sorters(o);
	for (int a = 0; a < ORACLE_AGENTS; a++) {
		for (int r = 0; r < ROLES; r++) {
			if (charged[a][r])
				continue;
			osorter_allocated(&o->role_sorter, o->roles[r], a, &f->held[a][r], true);
			osorter_allocated(&o->framework_sorters[r], f->id, a, &f->held[a][r], true);
		}
	}
	if (!was_active && f->active)
		o->all_candidates = true;
	if (was_active && !f->active)
		filters_remove(o, index, -1, -1);
}

void oracle_activate_framework(struct oracle *o, const char *id, bool active)
{
	int index = framework_index(o, id);

	if (index < 0 || !o->frameworks[index].known)
		return;
	o->frameworks[index].active = active;
	if (active)
		o->all_candidates = true;
	else
		filters_remove(o, index, -1, -1);
	sync_sorters(o);
}

static void framework_clear(struct oframework *f)
{
	for (int a = 0; a < ORACLE_AGENTS; a++) {
		for (int r = 0; r < ROLES; r++)
			resources_free(&f->held[a][r]);
	}
	memset(f, 0, sizeof(*f));
}

static void forget_empty(struct oracle *o, int index)
{
	struct oframework *f = &o->frameworks[index];
	bool holds = f->known;

	for (int r = 0; r < ROLES; r++)
		holds |= holds_role(f, r);
	if (!holds)
		framework_clear(f);
}

void oracle_remove_framework(struct oracle *o, const char *id)
{
	int index = framework_index(o, id);

	if (index < 0)
		return;
	struct oframework *f = &o->frameworks[index];
	for (int a = 0; a < ORACLE_AGENTS; a++) {
		for (int r = 0; r < ROLES; r++) {
			struct resources all;

			if (resources_empty(&f->held[a][r]))
				continue;
			resources_copy(&all, &f->held[a][r]);
			discharge(o, index, a, r, &all);
			resources_free(&all);
			resources_free(&f->held[a][r]);
		}
	}
	filters_remove(o, index, -1, -1);
	f->known = false;
	memset(f->subscribed, 0, sizeof(f->subscribed));
	sync_sorters(o);
	framework_clear(f);
}

void oracle_set_agent(struct oracle *o, const char *id, const struct resources *total)
{
	int index = agent_index(o, id);

	if (index < 0) {
		index = agent_index(o, "");
		strcpy(o->agents[index].id, id);
		o->agents[index].arrival = ++o->arrivals;
		o->agents[index].active = true;
	} else if (resources_equal(&o->agents[index].total, total)) {
		return;
	}
	resources_free(&o->agents[index].total);
	resources_copy(&o->agents[index].total, total);
	o->agents[index].candidate = true;
}

void oracle_activate_agent(struct oracle *o, const char *id, bool active)
{
	int index = agent_index(o, id);

	if (index >= 0)
		o->agents[index].active = active;
}

void oracle_remove_agent(struct oracle *o, const char *id)
{
	int index = agent_index(o, id);

	if (index < 0)
		return;
	for (int f = 0; f < FRAMEWORKS; f++) {
		for (int r = 0; r < ROLES; r++) {
			struct resources all;

			resources_copy(&all, &o->frameworks[f].held[index][r]);
			if (!resources_empty(&all))
				discharge(o, f, index, r, &all);
			resources_free(&all);
			resources_free(&o->frameworks[f].held[index][r]);
		}
	}
	filters_remove(o, -1, index, -1);
	sync_sorters(o);
	for (int f = 0; f < FRAMEWORKS; f++)
		forget_empty(o, f);
	resources_free(&o->agents[index].total);
	memset(&o->agents[index], 0, sizeof(o->agents[index]));
}

void oracle_forget_filters(struct oracle *o, const char *agent)
{
	int index = agent_index(o, agent);

	if (index < 0)
		return;
	filters_remove(o, -1, index, -1);
	o->agents[index].candidate = true;
}

static int role_of(struct oracle *o, const struct resources *allocated)
{
	return role_index(o, resource_shape_allocation_role(allocated->pieces[0].shape));
}

void oracle_restore(struct oracle *o, const char *framework, const char *agent,
		    const struct resources *allocated)
{
	int a = agent_index(o, agent), f = framework_index(o, framework);

	if (a < 0)
		return;
	if (f < 0) {
		f = framework_index(o, "");
		strcpy(o->frameworks[f].id, framework);
	}
	charge(o, f, a, role_of(o, allocated), allocated, true);
}

void oracle_recover(struct oracle *o, int64_t now, const char *framework, const char *agent,
		    const struct resources *allocated, const struct allocator_filter *filter)
{
	int a = agent_index(o, agent), f = framework_index(o, framework);

	if (a < 0 || f < 0)
		return;
	int role = role_of(o, allocated);
	discharge(o, f, a, role, allocated);
	if (filter && o->frameworks[f].subscribed[role])
		filter_create(o, now, f, a, role, allocated, filter->refuse_seconds);
	sync_sorters(o);
	forget_empty(o, f);
}

void oracle_convert(struct oracle *o, const char *framework, const char *agent,
		    const struct resources *before, const struct resources *after)
{
	int a = agent_index(o, agent), f = framework_index(o, framework);
	struct resources less = RESOURCES_INIT, more = RESOURCES_INIT;

	if (a < 0 || f < 0)
		return;
	charge(o, f, a, role_of(o, after), after, false);
	if (!resources_empty(before))
		discharge(o, f, a, role_of(o, before), before);
	sync_sorters(o);
	resources_allocate(o->shapes, before, NULL, &less);
	resources_allocate(o->shapes, after, NULL, &more);
	/* Another copy of a shared volume consumes nothing and adds nothing. */
	if (!resources_empty(before)) {
		resources_subtract(&o->agents[a].total, &less);
		resources_add(&o->agents[a].total, &more);
	}
	resources_free(&less);
	resources_free(&more);
}

void oracle_suppress(struct oracle *o, const char *framework, const char *role, bool suppress)
{
	int f = framework_index(o, framework);

	if (f < 0 || !o->frameworks[f].known)
		return;
	for (int r = 0; r < ROLES; r++) {
		if (!o->frameworks[f].subscribed[r] || (role && strcmp(role, o->roles[r]) != 0))
			continue;
		o->frameworks[f].suppressed[r] = suppress;
		if (!suppress)
			filters_remove(o, f, -1, r);
	}
	if (!suppress)
		o->all_candidates = true;
	sync_sorters(o);
}

bool oracle_pending(const struct oracle *o)
{
	bool pending = o->all_candidates;

	for (int i = 0; i < ORACLE_AGENTS; i++)
		pending |= o->agents[i].candidate;
	return pending;
}

/* -- the cycle -- */

struct resources oracle_used(struct oracle *o, const char *agent)
{
	struct resources used = RESOURCES_INIT;
	int index = agent_index(o, agent);

	for (int f = 0; f < FRAMEWORKS; f++) {
		for (int r = 0; r < ROLES; r++) {
			struct resources plain = RESOURCES_INIT;

			resources_allocate(o->shapes, &o->frameworks[f].held[index][r], NULL,
					   &plain);
			resources_add(&used, &plain);
			resources_free(&plain);
		}
	}
	return used;
}

static struct resources free_of(struct oracle *o, int agent)
{
	struct resources used = oracle_used(o, o->agents[agent].id), left;

	resources_copy(&left, &o->agents[agent].total);
	for (uint32_t i = 0; i < used.count; i++) {
		if (!resource_shape_shared(used.pieces[i].shape))
			resources_subtract_piece(&left, &used.pieces[i]);
	}
	resources_free(&used);
	return left;
}

static bool may_have(struct oracle *o, int framework, int role, const struct resource_piece *piece,
		     const struct resources *shared_offered)
{
	const struct allocator_framework *info = &o->frameworks[framework].info;
	const char *reserved = resource_shape_role(piece->shape);
	struct resources one = {(struct resource_piece *)piece, 1, 1};
	size_t len = strlen(reserved);

	if (resource_shape_reservations(piece->shape) > 0 &&
	    !(strncmp(o->roles[role], reserved, len) == 0 &&
	      (o->roles[role][len] == '\0' || o->roles[role][len] == '/')))
		return false;
	if (resource_shape_shared(piece->shape) &&
	    (!info->shared_resources || resources_contain(shared_offered, &one)))
		return false;
	if (resource_shape_revocable(piece->shape) && !info->revocable_resources)
		return false;
	return resource_shape_reservations(piece->shape) < 2 || info->reservation_refinement;
}

static bool may_see(const struct oracle *o, int framework, int agent)
{
	return o->frameworks[framework].info.gpu_resources ||
	       resources_quantity(&o->agents[agent].total, "gpus") == 0;
}

static void try_framework(struct oracle *o, int agent, int role, int framework,
			  struct resources *shared_offered, struct allocator_grants *out)
{
	struct resources left = free_of(o, agent), offer = RESOURCES_INIT;

	for (uint32_t i = 0; i < left.count; i++) {
		if (may_have(o, framework, role, &left.pieces[i], shared_offered))
			resources_add_piece(&offer, &left.pieces[i]);
	}
	bool allocatable = resources_quantity(&offer, "cpus") >= 10 ||
			   resources_quantity(&offer, "mem") >= 32000;
	if (may_see(o, framework, agent) && allocatable &&
	    !filtered(o, framework, agent, role, &offer)) {
		struct allocator_grant grant = {.framework = o->frameworks[framework].id,
						.role = o->roles[role],
						.agent = o->agents[agent].id};

		resources_allocate(o->shapes, &offer, grant.role, &grant.resources);
		charge(o, framework, agent, role, &grant.resources, true);
		for (uint32_t i = 0; i < offer.count; i++) {
			if (resource_shape_shared(offer.pieces[i].shape))
				resources_add_piece(shared_offered, &offer.pieces[i]);
		}
		out->items = xrealloc(out->items, (out->count + 1) * sizeof(grant));
		out->items[out->count++] = grant;
	}
	resources_free(&left);
	resources_free(&offer);
}

static void serve_agent(struct oracle *o, int agent, struct allocator_grants *out)
{
	char roles[ORACLE_SORTED][64], frameworks[ORACLE_SORTED][64];
	struct resources shared_offered = RESOURCES_INIT;
	size_t role_count = osorter_sort(&o->role_sorter, pool_total, o, roles);

	for (size_t i = 0; i < role_count; i++) {
		int role = role_index(o, roles[i]);
		size_t count = osorter_sort(&o->framework_sorters[role], pool_total, o, frameworks);

		for (size_t j = 0; j < count; j++)
			try_framework(o, agent, role, framework_index(o, frameworks[j]),
				      &shared_offered, out);
	}
	resources_free(&shared_offered);
}

void oracle_cycle(struct oracle *o, int64_t now, bool all, struct allocator_grants *out)
{
	bool everyone = all || o->all_candidates;
	uint64_t last = 0;

	filters_end(o, now);
	for (;;) {
		int next = -1;

		for (int i = 0; i < ORACLE_AGENTS; i++) {
			const struct oagent *agent = &o->agents[i];

			if (agent->id[0] && agent->arrival > last &&
			    (next < 0 || agent->arrival < o->agents[next].arrival))
				next = i;
		}
		if (next < 0)
			break;
		last = o->agents[next].arrival;
		if (o->agents[next].active && (everyone || o->agents[next].candidate))
			serve_agent(o, next, out);
		o->agents[next].candidate = false;
	}
	o->all_candidates = false;
	if (all) {
		o->batches++;
		filters_end(o, now);
	}
}

/* -- looking in -- */

double oracle_framework_share(struct oracle *o, const char *framework, const char *role)
{
	return osorter_share(&o->framework_sorters[role_index(o, role)], framework, pool_total, o);
}

double oracle_role_share(struct oracle *o, const char *role)
{
	return osorter_share(&o->role_sorter, role, pool_total, o);
}

size_t oracle_filter_count(const struct oracle *o)
{
	size_t count = 0;

	for (int i = 0; i < FILTERS; i++)
		count += o->filters[i].used;
	return count;
}

const struct resources *oracle_held(struct oracle *o, const char *framework, const char *agent,
				    const char *role)
{
	int a = agent_index(o, agent), f = framework_index(o, framework);

	return a < 0 || f < 0 ? NULL : &o->frameworks[f].held[a][role_index(o, role)];
}
