#include "allocator_world.h"
#include "base/time/clock.h"

static unsigned roll(struct rng *rng, unsigned sides)
{
	return (unsigned)(rng_next(rng) % sides);
}

/* A set of places, each of them in one of `out_of` cases. */
static unsigned some(struct rng *rng, unsigned count, unsigned out_of)
{
	unsigned set = 0;

	for (unsigned i = 0; i < count; i++)
		set |= (unsigned)(roll(rng, out_of) == 0) << i;
	return set;
}

struct event world_random_options(struct rng *rng)
{
	struct event event = {EVENT_OPTIONS, {0}};

	event.value[0] = roll(rng, 4) == 0;
	event.value[1] = roll(rng, 4) > 0;
	event.value[2] = roll(rng, 3) == 0 ? roll(rng, 3) : 0;
	event.value[3] = roll(rng, 2);
	event.value[4] = roll(rng, 2);
	return event;
}

/* Somebody who holds something, if there is anybody. */
static void pick_holder(struct world *world, struct rng *rng, struct event *event)
{
	const unsigned count = SCRIPT_FRAMEWORKS * SCRIPT_AGENTS * SCRIPT_ROLES;
	unsigned from = roll(rng, count);

	for (unsigned i = 0; i < count; i++) {
		unsigned at = (from + i) % count;

		event->value[0] = at % SCRIPT_FRAMEWORKS;
		event->value[1] = at / SCRIPT_FRAMEWORKS / SCRIPT_AGENTS;
		event->value[2] = at / SCRIPT_FRAMEWORKS % SCRIPT_AGENTS;
		const struct resources *held = oracle_held(
			world->o, script_frameworks.texts[event->value[0]],
			script_agents.texts[event->value[2]], script_roles.texts[event->value[1]]);
		if (held && !resources_empty(held))
			return;
	}
}

static void random_framework(struct rng *rng, unsigned *value)
{
	value[0] = roll(rng, SCRIPT_FRAMEWORKS);
	value[1] = some(rng, SCRIPT_ROLES, 3);
	value[2] = some(rng, SCRIPT_ROLES, 6);
	value[3] = roll(rng, 2) ? CAN_ALL : roll(rng, CAN_ALL + 1);
	value[4] = roll(rng, 4) == 0 ? roll(rng, script_minima.count) : 0;
	value[5] = roll(rng, 6) == 0 ? some(rng, SCRIPT_AGENTS, 2) : 0;
	value[6] = roll(rng, 8) > 0;
}

/* The same few dozen milliseconds and whole seconds, so that deadlines are met. */
static unsigned random_pause(struct rng *rng)
{
	static const unsigned pauses[] = {0, 1, 500, 1000, 1000, 1500, 2000, 5000};

	return pauses[roll(rng, sizeof(pauses) / sizeof(*pauses))];
}

static void random_answer(struct world *world, struct rng *rng, unsigned *value)
{
	unsigned from = roll(rng, SCRIPT_FRAMEWORKS * SCRIPT_AGENTS);

	for (unsigned i = 0; i < SCRIPT_FRAMEWORKS * SCRIPT_AGENTS; i++) {
		unsigned at = (from + i) % (SCRIPT_FRAMEWORKS * SCRIPT_AGENTS);

		value[0] = at % SCRIPT_FRAMEWORKS;
		value[1] = at / SCRIPT_FRAMEWORKS;
		if (oracle_inverse_outstanding(world->o, script_frameworks.texts[value[0]],
					       script_agents.texts[value[1]]))
			break;
	}
	value[2] = roll(rng, script_refusals.count);
}

/* How often each kind comes, among all. */
static const unsigned char often[EVENT_KINDS] = {
	[EVENT_AGENT] = 9,
	[EVENT_REMOVE_AGENT] = 2,
	[EVENT_ACTIVATE_AGENT] = 3,
	[EVENT_CAPABILITIES] = 1,
	[EVENT_REGION] = 1,
	[EVENT_HOST] = 2,
	[EVENT_ATTRIBUTES] = 2,
	[EVENT_FRAMEWORK] = 9,
	[EVENT_REMOVE_FRAMEWORK] = 2,
	[EVENT_ACTIVATE_FRAMEWORK] = 3,
	[EVENT_SUPPRESS] = 3,
	[EVENT_REVIVE] = 3,
	[EVENT_RECOVER] = 24,
	[EVENT_RESERVE] = 4,
	[EVENT_UNRESERVE] = 2,
	[EVENT_CREATE] = 3,
	[EVENT_DESTROY] = 1,
	[EVENT_COPY] = 1,
	[EVENT_RESTORE] = 3,
	[EVENT_QUOTA] = 7,
	[EVENT_WEIGHT] = 3,
	[EVENT_WHITELIST] = 2,
	[EVENT_HOLD] = 1,
	[EVENT_WINDOW] = 3,
	[EVENT_ANSWER] = 4,
	[EVENT_CYCLE] = 16,
	[EVENT_TICK] = 18,
	[EVENT_CRASH] = 2,
};

static enum event_kind random_kind(struct rng *rng)
{
	unsigned sum = 0, at;

	for (int kind = 0; kind < EVENT_KINDS; kind++)
		sum += often[kind];
	at = roll(rng, sum);
	for (int kind = 0;; kind++) {
		if (at < often[kind])
			return (enum event_kind)kind;
		at -= often[kind];
	}
}

struct event world_random_event(struct world *world, struct rng *rng)
{
	struct event event = {random_kind(rng), {0}};
	unsigned *value = event.value;

	switch (event.kind) {
	case EVENT_AGENT:
		value[1] = roll(rng, script_totals.count);
		break;
	case EVENT_ACTIVATE_AGENT:
	case EVENT_ACTIVATE_FRAMEWORK:
	case EVENT_WINDOW:
		value[1] = roll(rng, 3) > 0;
		break;
	case EVENT_CAPABILITIES:
		value[1] = roll(rng, 4);
		break;
	case EVENT_REGION:
		value[1] = roll(rng, script_regions.count);
		break;
	case EVENT_HOST:
		value[1] = roll(rng, SCRIPT_HOSTS);
		break;
	case EVENT_SUPPRESS:
	case EVENT_REVIVE:
		value[1] = roll(rng, 3) == 0 ? 0 : some(rng, SCRIPT_ROLES, 3);
		break;
	case EVENT_RECOVER:
		value[3] = roll(rng, 3) ? 255 : roll(rng, 256);
		value[4] = roll(rng, 2) ? 100 : 1 + roll(rng, 99);
		value[5] = roll(rng, script_refusals.count);
		break;
	case EVENT_RESERVE:
	case EVENT_UNRESERVE:
		value[3] = roll(rng, script_names.count);
		break;
	case EVENT_CREATE:
		value[3] = roll(rng, script_volumes.count);
		value[4] = roll(rng, 2);
		break;
	case EVENT_RESTORE:
		value[3] = roll(rng, script_uses.count);
		break;
	case EVENT_QUOTA:
		value[1] = roll(rng, script_guarantees.count);
		value[2] = roll(rng, 3) == 0 ? 0 : roll(rng, script_limits.count);
		break;
	case EVENT_WEIGHT:
		value[1] = roll(rng, script_weights.count);
		break;
	default:
		break;
	}
	switch (event.kind) {
	case EVENT_RECOVER ... EVENT_DESTROY:
	case EVENT_COPY:
		pick_holder(world, rng, &event);
		break;
	case EVENT_FRAMEWORK:
		random_framework(rng, value);
		break;
	case EVENT_RESTORE:
		value[0] = roll(rng, SCRIPT_FRAMEWORKS);
		value[1] = roll(rng, SCRIPT_ROLES);
		value[2] = roll(rng, SCRIPT_AGENTS);
		break;
	case EVENT_QUOTA: /* roles without ancestors */
		value[0] = (const unsigned[]){0, 1, 1, 5}[roll(rng, 4)];
		break;
	case EVENT_WEIGHT:
		value[0] = roll(rng, SCRIPT_ROLES);
		break;
	case EVENT_WHITELIST:
		value[0] = roll(rng, 3) > 0;
		value[1] = roll(rng, 1 << SCRIPT_HOSTS);
		break;
	case EVENT_HOLD:
		value[0] = roll(rng, 4);
		value[1] = random_pause(rng);
		break;
	case EVENT_ANSWER:
		random_answer(world, rng, value);
		break;
	case EVENT_CYCLE:
	case EVENT_TICK:
		value[0] = event.kind == EVENT_CYCLE && roll(rng, 2) ? 0 : random_pause(rng);
		break;
	default:
		value[0] = roll(rng, SCRIPT_FRAMEWORKS); /* as many agents as frameworks */
		break;
	}
	return event;
}
