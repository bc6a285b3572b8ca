#include "allocator_oracle.h"

#include <stdlib.h>
#include <string.h>

#include "allocator_oracle_internal.h"
#include "base/memory/arena.h"

static bool lists(const char *names, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = names; at && *at;
	     at += strcspn(at, ",") + (strchr(at, ',') != NULL)) {
		if (strcspn(at, ",") == len && strncmp(at, name, len) == 0)
			return true;
	}
	return false;
}

struct oracle *oracle_create(const struct allocator_options *options, oracle_excludes *excludes,
			     const void *context)
{
	struct oracle *o = xcalloc(1, sizeof(*o));

	o->options = *options;
	o->excludes = excludes;
	o->context = context;
	for (int i = 0; i < ORACLE_NAMES; i++)
		o->excluded[i] = lists(options->fair_sharing_excluded, oracle_names[i]);
	if (!options->min_allocatable_resources) { /* cpus:0.01|mem:32 */
		o->minimum.count = 2;
		o->minimum.sets[0].of[oracle_name("cpus")] = 10;
		o->minimum.sets[1].of[oracle_name("mem")] = 32000;
	} else if (options->min_allocatable_resources[0]) {
		abort();
	}
	osorter_init(&o->role_sorter);
	for (int r = 0; r < ROLES; r++) {
		osorter_init(&o->framework_sorters[r]);
		o->weights[r] = 1;
		for (int i = 0; i < ORACLE_NAMES; i++)
			o->quotas[r].limits.of[i] = UNLIMITED;
	}
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

int oracle_agent_index(const struct oracle *o, const char *id)
{
	for (int i = 0; i < ORACLE_AGENTS; i++) {
		if (strcmp(o->agents[i].id, id) == 0)
			return i;
	}
	return -1;
}

int oracle_framework_index(const struct oracle *o, const char *id)
{
	for (int i = 0; i < FRAMEWORKS; i++) {
		if (strcmp(o->frameworks[i].id, id) == 0)
			return i;
	}
	return -1;
}

int oracle_role_index(struct oracle *o, const char *role)
{
	for (int i = 0; i < ROLES; i++) {
		if (!o->roles[i][0])
			strcpy(o->roles[i], role);
		if (strcmp(o->roles[i], role) == 0)
			return i;
	}
	abort();
}

static double weight_of(const void *context, const char *path)
{
	const struct oracle *o = context;

	for (int i = 0; i < ROLES; i++) {
		if (strcmp(o->roles[i], path) == 0)
			return o->weights[i];
	}
	return 1;
}

struct oscale oracle_scale(struct oracle *o)
{
	struct oscale scale = {.weight = weight_of, .context = o};

	for (int i = 0; i < ORACLE_AGENTS; i++)
		amounts_add(&scale.pool, &o->agents[i].total);
	memcpy(scale.excluded, o->excluded, sizeof(scale.excluded));
	return scale;
}

void oracle_trigger(struct oracle *o, int agent)
{
	if (o->held_back)
		return;
	if (agent < 0)
		o->all_candidates = true;
	else
		o->agents[agent].candidate = true;
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
	return f->subscribed[role] || holds_role(f, role);
}

static bool any_tracked(struct oracle *o, int role)
{
	for (int f = 0; f < FRAMEWORKS; f++) {
		if (tracked(&o->frameworks[f], role))
			return true;
	}
	return false;
}

void oracle_sync_role(struct oracle *o, int role, bool add)
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

void oracle_sync(struct oracle *o)
{
	for (int role = 0; role < ROLES; role++)
		oracle_sync_role(o, role, true);
	for (int role = 0; role < ROLES; role++)
		oracle_sync_role(o, role, false);
}

void oracle_charge(struct oracle *o, int framework, int agent, int role,
		   const struct resources *more, bool gift)
{
	struct oframework *f = &o->frameworks[framework];

	resources_add(&f->held[agent][role], more);
	oracle_sync_role(o, role, true);
	osorter_allocated(&o->role_sorter, o->roles[role], agent, more, gift);
	osorter_allocated(&o->framework_sorters[role], f->id, agent, more, gift);
}

void oracle_discharge(struct oracle *o, int framework, int agent, int role,
		      const struct resources *less)
{
	struct oframework *f = &o->frameworks[framework];

	resources_subtract(&f->held[agent][role], less);
	osorter_unallocated(&o->role_sorter, o->roles[role], agent, less);
	osorter_unallocated(&o->framework_sorters[role], f->id, agent, less);
}

/* -- events -- */

static void set_minima(struct oracle *o, struct oframework *f,
		       const struct allocator_framework *info)
{
	memset(f->own_minimum, 0, sizeof(f->own_minimum));
	for (size_t i = 0; i < info->minimum_count; i++) {
		const struct allocator_minimum *from = &info->minima[i];
		int role = oracle_role_index(o, from->role);
		struct ominimum *to = &f->minima[role];

		f->own_minimum[role] = true;
		memset(to, 0, sizeof(*to));
		for (to->count = 0; to->count < from->count; to->count++) {
			const struct allocator_amounts *set = &from->any_of[to->count];

			for (size_t j = 0; j < set->count; j++)
				to->sets[to->count].of[oracle_name(set->items[j].name)] =
					set->items[j].milli;
		}
	}
}

void oracle_set_framework(struct oracle *o, const struct allocator_framework *info)
{
	int index = oracle_framework_index(o, info->id);

	if (index < 0) {
		index = oracle_framework_index(o, "");
		strcpy(o->frameworks[index].id, info->id);
	}
	struct oframework *f = &o->frameworks[index];
	bool was_active = f->active;
	f->info = *info;
	f->active = info->active;
	for (size_t i = 0; i < info->role_count; i++)
		oracle_role_index(o, info->roles[i]);
	for (int r = 0; r < ROLES; r++) {
		bool subscribed = false, suppressed = false;

		for (size_t i = 0; i < info->role_count; i++)
			subscribed |= strcmp(info->roles[i], o->roles[r]) == 0;
		for (size_t i = 0; i < info->suppressed_count; i++)
			suppressed |= strcmp(info->suppressed_roles[i], o->roles[r]) == 0;
		if ((f->subscribed[r] && !subscribed) || (f->suppressed[r] && !suppressed))
			oracle_filters_remove(o, index, -1, r);
		f->subscribed[r] = subscribed;
		f->suppressed[r] = suppressed;
	}
	oracle_sync(o);
	set_minima(o, f, info);
	if (!was_active && f->active)
		oracle_trigger(o, -1);
	oracle_inverse_filters_remove(o, index, -1);
	if (was_active && !f->active)
		oracle_filters_remove(o, index, -1, -1);
}

void oracle_activate_framework(struct oracle *o, const char *id, bool active)
{
	int index = oracle_framework_index(o, id);

	if (index < 0)
		return;
	o->frameworks[index].active = active;
	if (active) {
		oracle_trigger(o, -1);
	} else {
		oracle_filters_remove(o, index, -1, -1);
		oracle_inverse_filters_remove(o, index, -1);
	}
	oracle_sync(o);
}

static void framework_clear(struct oframework *f)
{
	for (int a = 0; a < ORACLE_AGENTS; a++) {
		for (int r = 0; r < ROLES; r++)
			resources_free(&f->held[a][r]);
	}
	memset(f, 0, sizeof(*f));
}

void oracle_remove_framework(struct oracle *o, const char *id)
{
	int index = oracle_framework_index(o, id);

	if (index < 0)
		return;
	struct oframework *f = &o->frameworks[index];
	for (int a = 0; a < ORACLE_AGENTS; a++) {
		for (int r = 0; r < ROLES; r++) {
			struct resources all;

			if (resources_empty(&f->held[a][r]))
				continue;
			resources_copy(&all, &f->held[a][r]);
			oracle_discharge(o, index, a, r, &all);
			resources_free(&all);
			resources_free(&f->held[a][r]);
		}
	}
	oracle_filters_remove(o, index, -1, -1);
	oracle_inverse_filters_remove(o, index, -1);
	for (int a = 0; a < ORACLE_AGENTS; a++)
		o->agents[a].outstanding[index] = false;
	memset(f->subscribed, 0, sizeof(f->subscribed));
	oracle_sync(o);
	framework_clear(f);
}

void oracle_suppress(struct oracle *o, const char *framework, const char *role, bool suppress)
{
	int f = oracle_framework_index(o, framework);

	if (f < 0)
		return;
	for (int r = 0; r < ROLES; r++) {
		if (!o->frameworks[f].subscribed[r] || (role && strcmp(role, o->roles[r]) != 0))
			continue;
		o->frameworks[f].suppressed[r] = suppress;
		if (!suppress)
			oracle_filters_remove(o, f, -1, r);
	}
	if (!suppress) {
		oracle_inverse_filters_remove(o, f, -1);
		oracle_trigger(o, -1);
	}
	oracle_sync(o);
}

/* -- looking in -- */

double oracle_framework_share(struct oracle *o, const char *framework, const char *role)
{
	struct oscale scale = oracle_scale(o);

	scale.weight = NULL; /* frameworks have none */
	return osorter_share(&o->framework_sorters[oracle_role_index(o, role)], framework, &scale);
}

double oracle_role_share(struct oracle *o, const char *role)
{
	struct oscale scale = oracle_scale(o);

	return osorter_share(&o->role_sorter, role, &scale);
}

const struct resources *oracle_held(struct oracle *o, const char *framework, const char *agent,
				    const char *role)
{
	int a = oracle_agent_index(o, agent), f = oracle_framework_index(o, framework);

	return a < 0 || f < 0 ? NULL : &o->frameworks[f].held[a][oracle_role_index(o, role)];
}

const struct resources *oracle_total(struct oracle *o, const char *agent)
{
	int a = oracle_agent_index(o, agent);

	return a < 0 ? NULL : &o->agents[a].total;
}

struct resources oracle_used(struct oracle *o, const char *agent)
{
	struct resources used = RESOURCES_INIT;
	int index = oracle_agent_index(o, agent);

	for (int f = 0; f < FRAMEWORKS; f++) {
		for (int r = 0; r < ROLES; r++) {
			struct resources plain = RESOURCES_INIT;

			if (resources_empty(&o->frameworks[f].held[index][r]))
				continue;
			resources_allocate(o->options.shapes, &o->frameworks[f].held[index][r],
					   NULL, &plain);
			resources_add(&used, &plain);
			resources_free(&plain);
		}
	}
	return used;
}

struct resources oracle_free(struct oracle *o, int agent)
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
