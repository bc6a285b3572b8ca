/* A world to run scripts in: the allocator and the oracle, which get every event and
 * must do the same. */
#ifndef TESTS_UNIT_ALLOCATOR_WORLD_H
#define TESTS_UNIT_ALLOCATOR_WORLD_H

#include "allocator_oracle.h"
#include "allocator_script.h"
#include "base/random.h"

/* The text at a place of a table. */
#define NAME(table, place) script_##table.texts[(place)]

struct memory_entry;

struct world {
	struct resource_shapes *shapes;
	struct allocator *a;
	struct oracle *o;
	struct allocator_options options;
	struct memory_entry *memory; /* what the allocator told of itself, by key */
	struct allocator *next;	     /* after a crash */
	int64_t now;
	bool begun;			    /* there was an agent or a framework */
	unsigned shuns[SCRIPT_FRAMEWORKS];  /* agents that the constraints exclude */
	unsigned attributes[SCRIPT_AGENTS]; /* how often they changed */
	struct constraints *constraints[SCRIPT_FRAMEWORKS];
	struct resources *totals;	  /* of the table */
	bool deaf;			  /* for the shrinker: the oracle hears of no weights */
	uint64_t cycles, grants, inverse; /* what was compared */
	char difference[2048];		  /* the first one; "" = none */
};

/* The options are those of the script's first event, if it is EVENT_OPTIONS. */
void world_open(struct world *world, const struct event *first);
void world_close(struct world *world);
void world_apply(struct world *world, const struct event *event);
/* EVENT_RECOVER to EVENT_RESTORE. */
void world_apply_to_held(struct world *world, const struct event *event);
/* Of the table of refusals; NULL = none. */
const struct allocator_filter *world_filter(unsigned place, struct allocator_filter *out);
/* The allocator's process ends and a new one is told what is known, if it remembers. */
void world_crash(struct world *world);
/* Stores what is new to remember. */
void world_remember(struct world *world);
void world_forget(struct world *world);
/* Constraints that shun the agents of some places: in each role but those in and below "b".
 * Where an agent is depends on how often its attributes changed. NULL: none is shunned. */
struct constraints *world_shunning(unsigned places);
void world_tell_place(struct world *world, struct allocator *a, unsigned agent);
/* Shares, consumption, filters. */
void world_compare(struct world *world);

/* Runs all of it, or up to the first difference. False: there was one, and which is said
 * in `difference` if that is not NULL. */
bool world_run(const struct script *script, bool deaf, struct buf *difference);

/* An event that might happen next; most have something to act on. */
struct event world_random_event(struct world *world, struct rng *rng);
struct event world_random_options(struct rng *rng);

#endif
