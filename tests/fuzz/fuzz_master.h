/* A master's core for the fuzzers: its invariants are checked after each step. */
#ifndef TESTS_FUZZ_FUZZ_MASTER_H
#define TESTS_FUZZ_FUZZ_MASTER_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log/log.h"
#include "base/time/clock.h"
#include "master/core/master.h"

struct game {
	struct master *m;
	struct master_actions out;
	struct rng rng;
	int64_t now;
	uint64_t ticket; /* of the last store action */
};

static inline void game_step(struct game *g, const struct master_event *event)
{
	struct err why = {{0}};

	master_actions_clear(&g->out);
	master_step(g->m, g->now, event, &g->out);
	for (size_t i = 0; i < g->out.count; i++) {
		if (g->out.items[i].type == MASTER_STORE)
			g->ticket = g->out.items[i].store.ticket;
	}
	if (!master_check(g->m, &why)) {
		fprintf(stderr, "%s\n", why.text);
		abort();
	}
}

static inline void game_stored(struct game *g)
{
	struct master_event event = {.type = MASTER_STORED};

	event.stored.ticket = g->ticket;
	game_step(g, &event);
}

static inline void game_pass(struct game *g, uint8_t seconds)
{
	struct master_event event = {.type = MASTER_TICK};

	g->now += seconds * SECOND;
	game_step(g, &event);
}

static inline struct master_options game_options(struct game *g)
{
	log_setup(LOG_LEVEL_ERROR, 2);
	rng_seed(&g->rng, 1);
	return (struct master_options){
		.id = "M",
		.ip = "127.0.0.1",
		.port = 5050,
		.hostname = "localhost",
		.version = "1.12.0",
		.rng = &g->rng,
		.agent_ping_timeout = 15 * SECOND,
		.max_agent_ping_timeouts = 5,
		.agent_reregister_timeout = 10 * MINUTE,
		.recovery_removal_limit = 100,
		.allocation_interval = SECOND,
		.root_submissions = true,
		.max_completed_frameworks = 5,
		.max_completed_tasks_per_framework = 5,
		.max_unreachable_tasks_per_framework = 5,
	};
}

static inline void game_begin(struct game *g)
{
	struct master_options options = game_options(g);
	struct err err;

	master_actions_init(&g->out);
	g->now = 1000 * SECOND;
	if (master_create(&options, &g->m, &err) < 0)
		abort();
	master_start(g->m, g->now, &g->out);
	g->ticket = 1;
	game_stored(g);
}

#endif
