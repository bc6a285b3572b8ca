/* Opening the stores of both lines, and the move of records that are in the wrong one.
 *
 * A move is repeated if the process dies in it: it is synced in the new place before it is deleted
 * in the old one, and no master starts in between.
 */
#include "master/store_lines.h"

#include <stdlib.h>

#include "base/log/log.h"
#include "base/memory/arena.h"

struct moves {
	struct arena arena;
	struct store_op *ops; /* heap; keys and values are in the arena */
	size_t count, cap;
};

static int note_misplaced(void *context, struct slice key, struct slice value)
{
	struct moves *moves = context;
	enum store_line line;

	if (!master_record_line(key, &line) || line == LINE_REGISTRY)
		return 0;
	if (moves->count == moves->cap) {
		moves->cap = moves->cap ? moves->cap * 2 : 64;
		moves->ops = xrealloc(moves->ops, moves->cap * sizeof(*moves->ops));
	}
	moves->ops[moves->count++] = (struct store_op){
		.key = {arena_memdup(&moves->arena, key.data, key.len), key.len},
		.value = {arena_memdup(&moves->arena, value.data, value.len), value.len},
	};
	return 0;
}

static void close_all(struct store *stores[STORE_LINES])
{
	for (int i = 0; i < STORE_LINES; i++) {
		store_close(stores[i]);
		stores[i] = NULL;
	}
}

static int open_all(const struct store_options options[STORE_LINES], struct store *out[STORE_LINES],
		    struct err *err)
{
	int rv = 0;

	for (int i = 0; i < STORE_LINES && rv == 0; i++)
		rv = store_open(&options[i], &out[i], err);
	if (rv < 0)
		close_all(out);
	return rv;
}

static int write_synced(struct store *store, const struct moves *moves, struct err *err)
{
	return store_wait(store, store_write(store, STORE_SYNCED, moves->ops, moves->count), err);
}

static int move_records(const struct store_options options[STORE_LINES],
			struct store *stores[STORE_LINES], struct moves *moves, struct err *err)
{
	int rv;

	log_info("%zu records of the registry move to the store of what is written behind",
		 moves->count);
	rv = write_synced(stores[LINE_WARM], moves, err);
	for (size_t i = 0; i < moves->count; i++)
		moves->ops[i].value.data = NULL;
	if (rv == 0)
		rv = write_synced(stores[LINE_REGISTRY], moves, err);
	if (rv < 0)
		return rv;
	/* The batches of the core are counted from 1. */
	close_all(stores);
	return open_all(options, stores, err);
}

int store_lines_open(const struct store_options options[STORE_LINES],
		     struct store *out[STORE_LINES], struct err *err)
{
	struct moves moves = {0};
	int rv;

	for (int i = 0; i < STORE_LINES; i++)
		out[i] = NULL;
	rv = open_all(options, out, err);
	if (rv < 0)
		return rv;
	arena_init(&moves.arena);
	rv = store_load(out[LINE_REGISTRY], "", note_misplaced, &moves, err);
	if (rv == 0 && moves.count)
		rv = move_records(options, out, &moves, err);
	if (rv < 0)
		close_all(out);
	arena_free(&moves.arena);
	free(moves.ops);
	return rv;
}
