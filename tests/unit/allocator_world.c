#include "allocator_world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocator/allocator_looks.h"
#include "allocator/constraints.h"
#include "allocator_kit.h"
#include "allocator_named.h"
#include "base/memory/arena.h"

/* Whom world_shunning() keeps away, said otherwise. */
static bool excludes(const void *context, const char *framework, const char *role,
		     const char *agent)
{
	const struct world *world = context;
	unsigned a = (unsigned)(agent[1] - '1');

	return world->shuns[framework[1] - '1'] >> (a + world->attributes[a]) % SCRIPT_AGENTS & 1 &&
	       role[0] != 'b';
}

void world_open(struct world *world, const struct event *first)
{
	static const char *const excluded[] = {NULL, "disk", "gpus,cpus"};
	struct allocator_options options = {.allocation_interval = SECOND,
					    .filter_gpu_resources = true};

	memset(world, 0, sizeof(*world));
	world->shapes = resource_shapes_create();
	world->now = 1000 * SECOND;
	options.shapes = world->shapes;
	if (first && first->kind == EVENT_OPTIONS) {
		options.min_allocatable_resources = first->value[0] ? "" : NULL;
		options.filter_gpu_resources = first->value[1];
		options.fair_sharing_excluded = excluded[first->value[2]];
		options.region = first->value[3] ? NAME(regions, first->value[3]) : NULL;
		options.remembers = first->value[4];
	}
	world->options = options;
	if (allocator_create(&options, &world->a, NULL) != 0)
		abort();
	world->o = oracle_create(&options, excludes, world);
	world->totals = xcalloc(script_totals.count, sizeof(*world->totals));
}

void world_close(struct world *world)
{
	named_destroy(world->a);
	oracle_destroy(world->o);
	world_forget(world);
	for (unsigned i = 0; i < script_totals.count; i++)
		resources_free(&world->totals[i]);
	free(world->totals);
	for (unsigned i = 0; i < SCRIPT_FRAMEWORKS; i++)
		constraints_destroy(world->constraints[i]);
	resource_shapes_destroy(world->shapes);
}

static void differ(struct world *world, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void differ(struct world *world, const char *format, ...)
{
	va_list args;

	if (world->difference[0])
		return;
	va_start(args, format);
	vsnprintf(world->difference, sizeof(world->difference), format, args);
	va_end(args);
}

/* -- comparing -- */

static void print_grants(const struct allocator_grants *grants, struct buf *out)
{
	for (size_t i = 0; i < grants->count; i++) {
		const struct allocator_grant *grant = &grants->items[i];

		buf_printf(out, "  %s(%s)@%s ", named_id(grant->framework), grant->role,
			   named_id(grant->agent));
		resources_print(&grant->resources, out);
		buf_putc(out, '\n');
	}
	for (size_t i = 0; i < grants->inverse_count; i++)
		buf_printf(out, "  inverse %s@%s\n", named_id(grants->inverse[i].framework),
			   named_id(grants->inverse[i].agent));
}

static bool has_grant(const struct allocator_grants *grants, const struct allocator_grant *want)
{
	for (size_t i = 0; i < grants->count; i++) {
		const struct allocator_grant *grant = &grants->items[i];

		if (strcmp(grant->framework, want->framework) == 0 &&
		    strcmp(grant->role, want->role) == 0 && strcmp(grant->agent, want->agent) == 0)
			return resources_equal(&grant->resources, &want->resources);
	}
	return false;
}

static bool has_inverse(const struct allocator_grants *grants, const struct allocator_inverse *want)
{
	for (size_t i = 0; i < grants->inverse_count; i++) {
		if (strcmp(grants->inverse[i].framework, want->framework) == 0 &&
		    strcmp(grants->inverse[i].agent, want->agent) == 0)
			return true;
	}
	return false;
}

/* Without order: within a cycle it means nothing, and what it does to shares shows later. */
static bool same_grants(const struct allocator_grants *got, const struct allocator_grants *want)
{
	if (got->count != want->count || got->inverse_count != want->inverse_count)
		return false;
	for (size_t i = 0; i < want->count; i++) {
		if (!has_grant(got, &want->items[i]))
			return false;
	}
	for (size_t i = 0; i < want->inverse_count; i++) {
		if (!has_inverse(got, &want->inverse[i]))
			return false;
	}
	return true;
}

static void run_cycle(struct world *world, bool all)
{
	struct allocator_grants got = {0}, want = {0};
	bool pending = allocator_pending(world->a);

	if (pending != oracle_pending(world->o))
		differ(world, "a cycle is%s asked for", pending ? "" : " not");
	if (!all && !oracle_pending(world->o))
		return;
	allocator_cycle(world->a, world->now, all, &got);
	oracle_cycle(world->o, world->now, all, &want);
	if (!same_grants(&got, &want)) {
		struct buf text = BUF_INIT;

		buf_puts(&text, "granted\n");
		print_grants(&got, &text);
		buf_puts(&text, "expected\n");
		print_grants(&want, &text);
		buf_putc(&text, '\0');
		differ(world, "%s", text.data);
		buf_free(&text);
	}
	if (++world->cycles % 4 == 0)
		resource_shapes_collect(world->shapes);
	world->grants += want.count;
	world->inverse += want.inverse_count;
	allocator_grants_free(&got);
	allocator_grants_free(&want);
	world_compare(world);
}

void world_compare(struct world *world)
{
	size_t got = allocator_filter_count(world->a), want = oracle_filter_count(world->o);

	if (got != want)
		differ(world, "%zu filters, not %zu", got, want);
	for (unsigned r = 0; r < SCRIPT_ROLES; r++) {
		const char *role = NAME(roles, r);
		double share = allocator_role_share(world->a, role),
		       right = oracle_role_share(world->o, role);

		if (share != right)
			differ(world, "the share of %s is %.17g, not %.17g", role, share, right);
		for (unsigned i = 0; i < SCRIPT_FRAMEWORKS; i++) {
			share = allocator_framework_share(world->a, NAME(frameworks, i), role);
			right = oracle_framework_share(world->o, NAME(frameworks, i), role);
			if (share != right)
				differ(world, "the share of %s in %s is %.17g, not %.17g",
				       NAME(frameworks, i), role, share, right);
		}
		for (unsigned i = 0; i < script_names.count; i++) {
			int64_t used = allocator_quota_consumed(world->a, role, NAME(names, i)),
				due = oracle_consumed(world->o, role, NAME(names, i));

			if (used != due)
				differ(world, "%s consumes %lld of %s, not %lld", role,
				       (long long)used, NAME(names, i), (long long)due);
		}
	}
}

/* -- agents -- */

static void set_agent(struct world *world, const char *id, unsigned place)
{
	struct resources *total = &world->totals[place];

	if (resources_empty(total))
		*total = kit_resources(world->shapes, NAME(totals, place));
	if (oracle_total(world->o, id))
		named_update_agent(world->a, id, total);
	else
		named_add_agent(world->a, id, total, NULL);
	world_tell_place(world, world->a, (unsigned)(id[1] - '1'));
	world->begun = true;
	oracle_set_agent(world->o, id, total);
}

static void whitelist(struct world *world, bool on, unsigned set)
{
	const char *hosts[SCRIPT_HOSTS];
	size_t count = 0;

	for (unsigned i = 0; i < SCRIPT_HOSTS; i++) {
		if (set >> i & 1)
			hosts[count++] = NAME(hosts, i);
	}
	allocator_set_whitelist(world->a, on ? hosts : NULL, count);
	oracle_set_whitelist(world->o, on ? hosts : NULL, count);
}

/* -- frameworks -- */

static size_t roles_of(unsigned set, const char *out[SCRIPT_ROLES])
{
	size_t count = 0;

	for (unsigned i = 0; i < SCRIPT_ROLES; i++) {
		if (set >> i & 1)
			out[count++] = NAME(roles, i);
	}
	return count;
}

static const struct allocator_amount third_of_a_percent[] = {{"cpus", 3}},
				     two_cpus[] = {{"cpus", 2000}}, some_mem[] = {{"mem", 256000}},
				     both[] = {{"cpus", 1000}, {"mem", 512000}};
static const struct allocator_amounts minimum_sets[][2] = {
	{{NULL, 0}}, {{NULL, 0}}, {{third_of_a_percent, 1}}, {{two_cpus, 1}, {some_mem, 1}},
	{{both, 2}},
};
static const size_t minimum_counts[] = {0, 0, 1, 2, 1};

static void set_framework(struct world *world, const unsigned value[EVENT_VALUES])
{
	const char *roles[SCRIPT_ROLES], *suppressed[SCRIPT_ROLES],
		*id = NAME(frameworks, value[0]);
	unsigned can = value[3], minimum = value[4];
	struct allocator_minimum minima[SCRIPT_ROLES];
	struct allocator_framework framework = {
		.id = id,
		.roles = roles,
		.role_count = roles_of(value[1], roles),
		.suppressed_roles = suppressed,
		.suppressed_count = roles_of(value[1] & value[2], suppressed),
		.active = value[6],
		.gpu_resources = can & CAN_GPUS,
		.revocable_resources = can & CAN_REVOCABLE,
		.shared_resources = can & CAN_SHARED,
		.reservation_refinement = can & CAN_REFINEMENT,
		.multi_role = can & CAN_MULTI_ROLE,
		.region_aware = can & CAN_REGIONS,
		.minima = minima,
	};
	struct constraints *before = world->constraints[value[0]];

	/* Not for the first role, so that there is one with the common minimum. */
	for (size_t i = 1; minimum > 0 && i < framework.role_count; i++)
		minima[framework.minimum_count++] = (struct allocator_minimum){
			roles[i], minimum_sets[minimum], minimum_counts[minimum]};
	world->begun = true;
	world->shuns[value[0]] = value[5];
	world->constraints[value[0]] = world_shunning(value[5]);
	framework.constraints = world->constraints[value[0]];
	named_add_framework(world->a, &framework);
	constraints_destroy(before);
	oracle_set_framework(world->o, &framework);
}

static void suppress_or_revive(struct world *world, const char *id, unsigned set, bool suppress)
{
	const char *roles[SCRIPT_ROLES];
	size_t count = roles_of(set, roles);

	(suppress ? named_suppress : named_revive)(world->a, id, count ? roles : NULL, count);
	for (size_t i = 0; i < count; i++)
		oracle_suppress(world->o, id, roles[i], suppress);
	if (count == 0)
		oracle_suppress(world->o, id, NULL, suppress);
}

/* -- quota -- */

/* "cpus:3;mem:256" */
static size_t parse_amounts(const char *text, char names[4][8], struct allocator_amount out[4])
{
	size_t count = 0;
	double amount;
	int len;

	while (sscanf(text, "%7[a-z]:%lf%n", names[count], &amount, &len) == 2) {
		out[count].name = names[count];
		out[count].milli = (int64_t)llround(amount * 1000);
		count++;
		text += len;
		text += *text == ';';
	}
	return count;
}

/* No guarantee of more than the limit. */
static bool consistent(const struct allocator_quota *quota)
{
	for (size_t i = 0; i < quota->guarantees.count; i++) {
		for (size_t j = 0; j < quota->limits.count; j++) {
			if (strcmp(quota->guarantees.items[i].name, quota->limits.items[j].name) ==
				    0 &&
			    quota->guarantees.items[i].milli > quota->limits.items[j].milli)
				return false;
		}
	}
	return true;
}

static void set_quota(struct world *world, const unsigned value[EVENT_VALUES])
{
	const char *role = NAME(roles, value[0]);
	struct allocator_amount guarantees[4], limits[4];
	char names[2][4][8];
	struct allocator_quota quota = {
		{guarantees, parse_amounts(NAME(guarantees, value[1]), names[0], guarantees)},
		{limits, parse_amounts(NAME(limits, value[2]), names[1], limits)},
	};
	bool none = quota.guarantees.count + quota.limits.count == 0;

	if (strchr(role, '/') || !consistent(&quota))
		return;
	allocator_set_quota(world->a, role, none && world->now / SECOND % 2 ? NULL : &quota);
	oracle_set_quota(world->o, role, &quota);
}

static void set_weight(struct world *world, const char *role, double weight)
{
	allocator_set_weight(world->a, role, weight);
	if (!world->deaf)
		oracle_set_weight(world->o, role, weight);
}

static void hold(struct world *world, unsigned agents, unsigned milliseconds)
{
	int64_t until = world->now + milliseconds * MILLISECOND;

	if (world->begun)
		return;
	allocator_hold(world->a, agents, until);
	oracle_hold(world->o, agents, until);
}

static void answer(struct world *world, const unsigned value[EVENT_VALUES])
{
	const char *framework = NAME(frameworks, value[0]), *agent = NAME(agents, value[1]);
	struct allocator_filter filter;

	if (!oracle_inverse_outstanding(world->o, framework, agent))
		return;
	named_end_inverse(world->a, world->now, framework, agent, world_filter(value[2], &filter));
	oracle_end_inverse(world->o, world->now, framework, agent, world_filter(value[2], &filter));
}

/* -- running -- */

static void apply_to_agent(struct world *world, const struct event *event)
{
	const unsigned *value = event->value;
	const char *id = NAME(agents, value[0]);

	switch (event->kind) {
	case EVENT_AGENT:
		set_agent(world, id, value[1]);
		break;
	case EVENT_REMOVE_AGENT:
		named_remove_agent(world->a, id);
		oracle_remove_agent(world->o, id);
		break;
	case EVENT_ACTIVATE_AGENT:
		named_activate_agent(world->a, id, value[1]);
		oracle_activate_agent(world->o, id, value[1]);
		break;
	case EVENT_CAPABILITIES:
		named_set_agent_capabilities(world->a, id, value[1] & 1, value[1] & 2);
		oracle_set_capabilities(world->o, id, value[1] & 1, value[1] & 2);
		break;
	case EVENT_REGION:
		named_set_agent_region(world->a, id, value[1] ? NAME(regions, value[1]) : NULL);
		oracle_set_region(world->o, id, value[1] ? NAME(regions, value[1]) : NULL);
		break;
	case EVENT_HOST:
		named_set_agent_hostname(world->a, id, NAME(hosts, value[1]));
		oracle_set_hostname(world->o, id, NAME(hosts, value[1]));
		break;
	case EVENT_ATTRIBUTES:
		world->attributes[value[0]]++;
		world_tell_place(world, world->a, value[0]);
		named_forget_filters(world->a, id);
		oracle_forget_filters(world->o, id);
		break;
	default: /* EVENT_WINDOW */
		named_set_unavailability(world->a, id, value[1]);
		oracle_set_unavailability(world->o, id, value[1]);
		break;
	}
}

static void apply_to_framework(struct world *world, const struct event *event)
{
	const unsigned *value = event->value;
	const char *id = NAME(frameworks, value[0]);

	switch (event->kind) {
	case EVENT_FRAMEWORK:
		set_framework(world, value);
		break;
	case EVENT_REMOVE_FRAMEWORK:
		named_remove_framework(world->a, id);
		oracle_remove_framework(world->o, id);
		break;
	case EVENT_ACTIVATE_FRAMEWORK:
		named_activate_framework(world->a, id, value[1]);
		oracle_activate_framework(world->o, id, value[1]);
		break;
	default: /* EVENT_SUPPRESS, EVENT_REVIVE */
		suppress_or_revive(world, id, value[1], event->kind == EVENT_SUPPRESS);
		break;
	}
}

static void apply_to_all(struct world *world, const struct event *event)
{
	const unsigned *value = event->value;

	switch (event->kind) {
	case EVENT_QUOTA:
		set_quota(world, value);
		break;
	case EVENT_WEIGHT:
		set_weight(world, NAME(roles, value[0]), strtod(NAME(weights, value[1]), NULL));
		break;
	case EVENT_WHITELIST:
		whitelist(world, value[0], value[1]);
		break;
	case EVENT_HOLD:
		hold(world, value[0], value[1]);
		break;
	case EVENT_ANSWER:
		answer(world, value);
		break;
	case EVENT_CRASH:
		world_crash(world);
		run_cycle(world, false); /* that everybody came back asks for one */
		break;
	case EVENT_CYCLE:
	case EVENT_TICK:
		world->now += value[0] * MILLISECOND;
		run_cycle(world, event->kind == EVENT_TICK);
		break;
	default: /* EVENT_OPTIONS: see world_open */
		break;
	}
}

void world_apply(struct world *world, const struct event *event)
{
	switch (event->kind) {
	case EVENT_AGENT ... EVENT_ATTRIBUTES:
	case EVENT_WINDOW:
		apply_to_agent(world, event);
		break;
	case EVENT_FRAMEWORK ... EVENT_REVIVE:
		apply_to_framework(world, event);
		break;
	case EVENT_RECOVER ... EVENT_RESTORE:
		world_apply_to_held(world, event);
		break;
	default:
		apply_to_all(world, event);
		break;
	}
	world_remember(world);
}

bool world_run(const struct script *script, bool deaf, struct buf *difference)
{
	struct world world;

	world_open(&world, script->events);
	world.deaf = deaf;
	for (size_t i = 0; i < script->count && !world.difference[0]; i++)
		world_apply(&world, &script->events[i]);
	bool same = !world.difference[0];
	if (difference)
		buf_puts(difference, world.difference);
	world_close(&world);
	return same;
}
