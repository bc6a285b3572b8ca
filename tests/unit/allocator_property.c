/* Thousands of random histories: the allocator and the oracle must make the same offers
 * and inverse offers, and agree on shares, consumption and filters. What differs is
 * printed as a script, as short as can be.
 *
 *	ALLOCATOR_SEEDS=n        so many histories
 *	ALLOCATOR_EVENTS=n       of so many events
 *	ALLOCATOR_FIRST=n        from this seed on
 *	ALLOCATOR_SCRIPT=file    this script instead
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocator_world.h"
#include "base/memory/arena.h"

#define SEEDS 3000
#define EVENTS 50

/* What all histories together compared: they must not be about nothing. */
struct tally {
	uint64_t cycles, grants, inverse;
};

/* Half of the histories begin with somebody there. */
static void random_start(struct world *world, struct rng *rng, struct script *script)
{
	struct event event;

	while (script->count < 1 + 2 * SCRIPT_AGENTS) {
		event = world_random_event(world, rng);
		if (event.kind != EVENT_AGENT && event.kind != EVENT_FRAMEWORK &&
		    event.kind != EVENT_QUOTA)
			continue;
		script_add(script, &event);
		world_apply(world, &event);
	}
}

/* False: the history is one in which they differ. */
static bool run_seed(uint64_t seed, size_t events, bool deaf, struct script *script,
		     struct tally *tally)
{
	struct world world;
	struct event event;
	struct rng rng;

	rng_seed(&rng, seed);
	script->count = 0;
	event = world_random_options(&rng);
	script_add(script, &event);
	world_open(&world, &event);
	world.deaf = deaf;
	if (seed % 2)
		random_start(&world, &rng, script);
	while (script->count < events && !world.difference[0]) {
		event = world_random_event(&world, &rng);
		script_add(script, &event);
		world_apply(&world, &event);
	}
	bool same = !world.difference[0];
	tally->cycles += world.cycles;
	tally->grants += world.grants;
	tally->inverse += world.inverse;
	world_close(&world);
	return same;
}

static bool differs(const struct script *script, void *context)
{
	return !world_run(script, context != NULL, NULL);
}

static void report(struct script *script, const char *where, uint64_t seed)
{
	struct buf text = BUF_INIT, difference = BUF_INIT;

	script_shrink(script, differs, NULL);
	script_print(script, &text);
	buf_putc(&text, '\0');
	world_run(script, false, &difference);
	buf_putc(&difference, '\0');
	cr_expect_fail("%s %llu, shrunk to %zu events:\n%s\n%s", where, (unsigned long long)seed,
		       script->count, text.data, difference.data);
	buf_free(&text);
	buf_free(&difference);
}

static uint64_t number_from(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

static bool replay(const char *path, struct script *script)
{
	struct err err = {""};
	char text[65536];
	FILE *file = fopen(path, "r");

	cr_assert_not_null(file, "%s cannot be read", path);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	cr_assert_eq(script_parse(text, script, &err), 0, "%s: %s", path, err.text);
	return world_run(script, false, NULL);
}

Test(allocator_property, agrees_with_the_full_scan, .timeout = 3600)
{
	uint64_t first = number_from("ALLOCATOR_FIRST", 1);
	uint64_t count = number_from("ALLOCATOR_SEEDS", SEEDS);
	size_t events = number_from("ALLOCATOR_EVENTS", EVENTS);
	const char *path = getenv("ALLOCATOR_SCRIPT");
	struct script *script = xcalloc(1, sizeof(*script));
	struct tally tally = {0};

	cr_assert_leq(events, SCRIPT_EVENTS);
	if (path) {
		if (!replay(path, script))
			report(script, path, 0);
		free(script);
		return;
	}
	for (uint64_t seed = first; seed < first + count; seed++) {
		if (!run_seed(seed, events, false, script, &tally)) {
			report(script, "seed", seed);
			free(script);
			return;
		}
	}
	cr_expect_gt(tally.cycles, 5 * count);
	cr_expect_gt(tally.grants, 3 * count);
	cr_expect_gt(tally.inverse, count / 10);
	free(script);
}

/* Without word of weights the oracle must go wrong some time; what is left of that
 * history then must be short, and no event of it be without need. */
Test(allocator_property, shrinks_what_differs)
{
	struct script *script = xcalloc(1, sizeof(*script)), *again = xcalloc(1, sizeof(*again));
	struct buf text = BUF_INIT;
	struct err err = {""};
	struct tally tally = {0};
	uint64_t seed = 1;

	while (seed < 2000 && run_seed(seed, EVENTS, true, script, &tally))
		seed++;
	cr_assert(differs(script, script), "nobody minds weights");
	script_shrink(script, differs, script);
	script_print(script, &text);
	buf_putc(&text, '\0');
	cr_expect_leq(script->count, 8, "%s", text.data);
	cr_expect_not_null(strstr(text.data, "weight "));
	cr_assert_eq(script_parse(text.data, again, &err), 0, "%s", err.text);
	cr_expect_eq(again->count, script->count);
	cr_expect_eq(memcmp(again->events, script->events, script->count * sizeof(struct event)),
		     0);
	for (size_t i = 0; i < script->count; i++) {
		again->count = script->count - 1;
		memcpy(again->events, script->events, i * sizeof(struct event));
		memcpy(again->events + i, script->events + i + 1,
		       (again->count - i) * sizeof(struct event));
		cr_expect(!differs(again, script), "event %zu is needless in\n%s", i, text.data);
	}
	buf_free(&text);
	free(script);
	free(again);
}
