/* Thousands of random histories: the allocator and the oracle must grant the same,
 * in the same order, and agree on shares and filters; and on every agent what is
 * free and what is held make the total. ALLOCATOR_SEEDS=n runs more of them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocator_kit.h"
#include "allocator_oracle.h"
#include "base/arena.h"
#include "base/random.h"

#define SEEDS 1500
#define STEPS 120
#define AGENTS 6
#define FRAMEWORKS 6

static const char *const roles[] = {"*", "a", "a/b", "a/c", "a/b/d", "b", "b/x"};
#define ROLES (sizeof(roles) / sizeof(*roles))

static const char *const totals[] = {
	"cpus:4;mem:1024",
	"cpus:2;mem:2048;disk:100;ports:[31000-31010]",
	"cpus:1;mem:512;cpus(a):1;mem(a):256",
	"cpus(a/b):3;mem(a/b):512;cpus:0.005",
	"cpus:2;mem:512;cpus(a>a/b):1;disk(b):50",
	"cpus:4;mem:1024;cpus:2{rev}",
	"cpus:2;mem:512;disk(a):10{shared=v}",
	"cpus:2;mem:512;gpus:1",
	"disk:100;ports:[1-9]",
	"cpus:0.01;mem:16",
};
#define TOTALS (sizeof(totals) / sizeof(*totals))

struct world {
	struct rng rng;
	struct resource_shapes *shapes;
	struct allocator *a;
	struct oracle *o;
	int64_t now;
	bool agents[AGENTS];
	bool frameworks[FRAMEWORKS];
	uint64_t seed;
	int step;
};

static unsigned roll(struct world *w, unsigned sides)
{
	return (unsigned)(rng_next(&w->rng) % sides);
}

static const char *agent_id(unsigned i)
{
	static const char *const ids[] = {"s1", "s2", "s3", "s4", "s5", "s6"};

	return ids[i];
}

static const char *framework_id(unsigned i)
{
	static const char *const ids[] = {"f1", "f2", "f3", "f4", "f5", "f6"};

	return ids[i];
}

static void add_or_update_agent(struct world *w)
{
	unsigned i = roll(w, AGENTS);
	struct resources total = kit_resources(w->shapes, totals[roll(w, TOTALS)]);

	if (w->agents[i])
		allocator_update_agent(w->a, agent_id(i), &total);
	else
		allocator_add_agent(w->a, agent_id(i), &total, NULL);
	oracle_set_agent(w->o, agent_id(i), &total);
	w->agents[i] = true;
	resources_free(&total);
}

static void remove_agent(struct world *w)
{
	unsigned i = roll(w, AGENTS);

	allocator_remove_agent(w->a, agent_id(i));
	if (w->agents[i])
		oracle_remove_agent(w->o, agent_id(i));
	w->agents[i] = false;
}

static void activate_agent(struct world *w)
{
	unsigned i = roll(w, AGENTS);
	bool active = roll(w, 3) > 0;

	allocator_activate_agent(w->a, agent_id(i), active);
	oracle_activate_agent(w->o, agent_id(i), active);
}

static void forget_filters(struct world *w)
{
	unsigned i = roll(w, AGENTS);

	allocator_forget_filters(w->a, agent_id(i));
	if (w->agents[i])
		oracle_forget_filters(w->o, agent_id(i));
}

static void set_framework(struct world *w)
{
	unsigned i = roll(w, FRAMEWORKS);
	const char *list[ROLES], *suppressed[ROLES];
	struct allocator_framework framework = {
		.id = framework_id(i),
		.roles = list,
		.suppressed_roles = suppressed,
		.active = roll(w, 8) > 0,
		.gpu_resources = roll(w, 2),
		.revocable_resources = roll(w, 2),
		.shared_resources = roll(w, 2),
		.reservation_refinement = roll(w, 2),
	};

	for (size_t r = 0; r < ROLES; r++) {
		if (roll(w, 3) > 0)
			continue;
		list[framework.role_count++] = roles[r];
		if (roll(w, 5) == 0)
			suppressed[framework.suppressed_count++] = roles[r];
	}
	if (w->frameworks[i] && roll(w, 2))
		allocator_update_framework(w->a, &framework);
	else
		allocator_add_framework(w->a, &framework);
	oracle_set_framework(w->o, &framework);
	w->frameworks[i] = true;
}

static void remove_framework(struct world *w)
{
	unsigned i = roll(w, FRAMEWORKS);

	allocator_remove_framework(w->a, framework_id(i));
	oracle_remove_framework(w->o, framework_id(i));
	w->frameworks[i] = false;
}

static void activate_framework(struct world *w)
{
	const char *id = framework_id(roll(w, FRAMEWORKS));
	bool active = roll(w, 3) > 0;

	allocator_activate_framework(w->a, id, active);
	oracle_activate_framework(w->o, id, active);
}

static void suppress(struct world *w)
{
	const char *id = framework_id(roll(w, FRAMEWORKS)), *role = roles[roll(w, ROLES)];
	bool all = roll(w, 3) == 0;

	allocator_suppress(w->a, id, all ? NULL : &role, all ? 0 : 1);
	oracle_suppress(w->o, id, all ? NULL : role, true);
}

static void revive(struct world *w)
{
	const char *id = framework_id(roll(w, FRAMEWORKS)), *role = roles[roll(w, ROLES)];
	bool all = roll(w, 3) == 0;

	allocator_revive(w->a, id, all ? NULL : &role, all ? 0 : 1);
	oracle_suppress(w->o, id, all ? NULL : role, false);
}

/* A random part of what is held there: some pieces, of scalars perhaps a part. */
static struct resources random_part(struct world *w, const struct resources *held)
{
	struct resources part = RESOURCES_INIT;

	for (uint32_t i = 0; i < held->count; i++) {
		struct resource_piece piece = held->pieces[i];

		if (roll(w, 4) == 0)
			continue;
		piece.shares = 1;
		if (resource_shape_type(piece.shape) == MESOS__VALUE__TYPE__SCALAR &&
		    !resource_shape_shared(piece.shape) && piece.milli > 1 && roll(w, 3) == 0)
			piece.milli = 1 + roll(w, (unsigned)piece.milli - 1);
		resources_add_piece(&part, &piece);
	}
	return part;
}

/* Something that is held, at a random place. */
static const struct resources *pick_held(struct world *w, unsigned *framework, unsigned *agent,
					 const char **role)
{
	unsigned from = roll(w, FRAMEWORKS * AGENTS * ROLES);

	for (unsigned i = 0; i < FRAMEWORKS * AGENTS * ROLES; i++) {
		unsigned at = (from + i) % (FRAMEWORKS * AGENTS * ROLES);

		*framework = at % FRAMEWORKS;
		*agent = at / FRAMEWORKS % AGENTS;
		*role = roles[at / FRAMEWORKS / AGENTS];
		if (!w->agents[*agent])
			continue;
		const struct resources *held =
			oracle_held(w->o, framework_id(*framework), agent_id(*agent), *role);
		if (held && !resources_empty(held))
			return held;
	}
	return NULL;
}

static void recover(struct world *w)
{
	static const double seconds[] = {0, 0.5, 1, 2, 2.5, 7, -1, 1e12};
	unsigned framework, agent;
	const char *role;
	const struct resources *held = pick_held(w, &framework, &agent, &role);

	if (!held)
		return;
	struct resources part = random_part(w, held);
	struct allocator_filter filter = {seconds[roll(w, 8)]};
	bool filters = roll(w, 4) > 0;
	if (!resources_empty(&part)) {
		allocator_recover(w->a, w->now, framework_id(framework), agent_id(agent), &part,
				  filters ? &filter : NULL);
		oracle_recover(w->o, w->now, framework_id(framework), agent_id(agent), &part,
			       filters ? &filter : NULL);
	}
	resources_free(&part);
}

static void convert(struct world *w)
{
	unsigned framework, agent;
	const char *role;
	const struct resources *held = pick_held(w, &framework, &agent, &role);
	struct resources before = RESOURCES_INIT, after = RESOURCES_INIT;
	char text[64];

	if (!held)
		return;
	for (uint32_t i = 0; i < held->count && after.count == 0; i++) {
		const struct resource_piece *piece = &held->pieces[i];

		if (resource_shape_shared(piece->shape)) {
			struct resource_piece copy = *piece;
			copy.shares = 1;
			resources_add_piece(&after, &copy);
		} else if (resource_shape_type(piece->shape) == MESOS__VALUE__TYPE__SCALAR &&
			   resource_shape_reservations(piece->shape) == 0 &&
			   !resource_shape_revocable(piece->shape) && strcmp(role, "*") != 0) {
			snprintf(text, sizeof(text), "%s(%s):%.3f",
				 resource_shape_name(piece->shape), role,
				 (double)piece->milli / 1000);
			after = kit_allocated(w->shapes, role, text);
			resources_add_piece(&before, piece);
		}
	}
	if (after.count > 0) {
		allocator_convert(w->a, framework_id(framework), agent_id(agent), &before, &after);
		oracle_convert(w->o, framework_id(framework), agent_id(agent), &before, &after);
	}
	resources_free(&before);
	resources_free(&after);
}

static void restore(struct world *w)
{
	static const char *const uses[] = {"cpus:1;mem:100", "cpus:0.5", "mem:32",
					   "cpus(a):1;mem:10", "disk(a):10{shared=v}"};
	unsigned framework = roll(w, FRAMEWORKS), agent = roll(w, AGENTS);
	struct resources use = kit_allocated(w->shapes, roles[roll(w, ROLES)], uses[roll(w, 5)]);

	allocator_restore(w->a, framework_id(framework), agent_id(agent), &use);
	oracle_restore(w->o, framework_id(framework), agent_id(agent), &use);
	resources_free(&use);
}

static void expect_same_grants(struct world *w, const struct allocator_grants *got,
			       const struct allocator_grants *want)
{
	cr_assert_eq(got->count, want->count, "seed %llu step %d: %zu grants, not %zu",
		     (unsigned long long)w->seed, w->step, got->count, want->count);
	for (size_t i = 0; i < got->count; i++) {
		const struct allocator_grant *g = &got->items[i], *e = &want->items[i];

		cr_assert(strcmp(g->framework, e->framework) == 0 &&
				  strcmp(g->role, e->role) == 0 &&
				  strcmp(g->agent, e->agent) == 0 &&
				  resources_equal(&g->resources, &e->resources),
			  "seed %llu step %d: grant %zu is %s(%s)@%s, not %s(%s)@%s",
			  (unsigned long long)w->seed, w->step, i, g->framework, g->role, g->agent,
			  e->framework, e->role, e->agent);
	}
}

static void cycle(struct world *w, bool all)
{
	struct allocator_grants got = {0}, want = {0};

	cr_assert_eq(allocator_pending(w->a), oracle_pending(w->o), "seed %llu step %d",
		     (unsigned long long)w->seed, w->step);
	if (all)
		w->now += SECOND / 2 * (int64_t)(1 + roll(w, 4));
	else if (!oracle_pending(w->o))
		return;
	allocator_cycle(w->a, w->now, all, &got);
	oracle_cycle(w->o, w->now, all, &want);
	expect_same_grants(w, &got, &want);
	allocator_grants_free(&got);
	allocator_grants_free(&want);
}

static void check_agents(struct world *w)
{
	for (struct agent *agent = w->a->agents; agent; agent = agent->hh.next) {
		struct resources used = oracle_used(w->o, agent->id), sum;

		cr_assert(resources_equal(&used, &agent->used), "seed %llu step %d: use of %s",
			  (unsigned long long)w->seed, w->step, agent->id);
		alloc_agent_compute_free(agent);
		/* free + held = total, where the total holds what is held */
		resources_copy(&sum, &agent->free);
		for (uint32_t i = 0; i < used.count; i++) {
			if (!resource_shape_shared(used.pieces[i].shape))
				resources_add_piece(&sum, &used.pieces[i]);
		}
		cr_assert(resources_contain(&sum, &agent->total));
		bool fits = true;
		for (uint32_t i = 0; i < used.count; i++) {
			struct resources one = {&used.pieces[i], 1, 1};

			fits &= resource_shape_shared(used.pieces[i].shape) ||
				resources_contain(&agent->total, &one);
		}
		cr_assert(!fits || resources_contain(&agent->total, &sum),
			  "seed %llu step %d: %s has more than its total",
			  (unsigned long long)w->seed, w->step, agent->id);
		resources_free(&sum);
		resources_free(&used);
	}
}

static void check_shares(struct world *w)
{
	for (size_t r = 0; r < ROLES; r++) {
		double got = allocator_role_share(w->a, roles[r]);
		double want = oracle_role_share(w->o, roles[r]);

		cr_assert_eq(got, want, "seed %llu step %d: share of %s is %f, not %f",
			     (unsigned long long)w->seed, w->step, roles[r], got, want);
		for (unsigned i = 0; i < FRAMEWORKS; i++)
			cr_assert_eq(allocator_framework_share(w->a, framework_id(i), roles[r]),
				     oracle_framework_share(w->o, framework_id(i), roles[r]));
	}
	cr_assert_eq(allocator_filter_count(w->a), oracle_filter_count(w->o),
		     "seed %llu step %d: filters", (unsigned long long)w->seed, w->step);
}

static void step(struct world *w)
{
	static void (*const events[])(struct world *) = {
		add_or_update_agent,
		add_or_update_agent,
		add_or_update_agent,
		remove_agent,
		activate_agent,
		forget_filters,
		set_framework,
		set_framework,
		set_framework,
		remove_framework,
		activate_framework,
		suppress,
		revive,
		recover,
		recover,
		recover,
		recover,
		recover,
		recover,
		recover,
		convert,
		convert,
		restore,
	};
	unsigned what = roll(w, sizeof(events) / sizeof(*events) + 8);

	if (what < sizeof(events) / sizeof(*events))
		events[what](w);
	else
		cycle(w, what % 2 == 0);
}

static void run(uint64_t seed)
{
	struct world w = {.shapes = resource_shapes_create(), .now = SECOND, .seed = seed};
	struct allocator_options options = {
		.shapes = w.shapes, .allocation_interval = SECOND, .filter_gpu_resources = true};

	rng_seed(&w.rng, seed);
	cr_assert_eq(allocator_create(&options, &w.a, NULL), 0);
	w.o = oracle_create(w.shapes, SECOND);
	for (w.step = 0; w.step < STEPS; w.step++) {
		step(&w);
		if (w.step % 8 == 0) {
			check_agents(&w);
			check_shares(&w);
		}
	}
	allocator_destroy(w.a);
	oracle_destroy(w.o);
	resource_shapes_destroy(w.shapes);
}

Test(allocator_property, agrees_with_the_full_scan, .timeout = 300)
{
	const char *seeds = getenv("ALLOCATOR_SEEDS");
	uint64_t count = seeds ? strtoull(seeds, NULL, 10) : SEEDS;

	for (uint64_t seed = 1; seed <= count; seed++)
		run(seed);
}
