#include "lab/ensemble/epochs.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/table.h"

struct contents_pair {
	UT_hash_handle hh;
	size_t key_len;
	uint64_t hash;
	char key[];
};

/* A batch that is not known to be durable, and the contents after it. */
struct batch {
	struct list link;
	uint64_t number, hash;
};

struct epoch {
	struct list link;
	struct epochs *epochs;
	char *leader;
	struct contents contents; /* after the last batch */
	uint64_t durable, hash;	  /* the last one that was told, and the contents after it */
	struct list batches;	  /* struct batch.link, those after it */
	bool over;
	bool too_late;	   /* from its beginning on */
	uint64_t included; /* over: of its batches the next leader has these */
};

/* ---- contents ----------------------------------------------------------------------------- */

/* FNV-1a, mixed: the sum over all pairs tells contents apart. */
static uint64_t pair_hash(struct slice key, struct slice value)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < key.len + 1 + value.len; i++) {
		unsigned char byte = i < key.len    ? (unsigned char)key.data[i]
				     : i == key.len ? 0xff
						    : (unsigned char)value.data[i - key.len - 1];

		hash = (hash ^ byte) * UINT64_C(1099511628211);
	}
	hash ^= hash >> 31;
	return hash * UINT64_C(0x9e3779b97f4a7c15);
}

void contents_put(struct contents *contents, const struct store_op *op)
{
	struct contents_pair *pair;

	HASH_FIND(hh, contents->pairs, op->key.data, op->key.len, pair);
	if (pair)
		contents->hash -= pair->hash;
	if (pair && !op->value.data) {
		HASH_DEL(contents->pairs, pair);
		free(pair);
		return;
	}
	if (!op->value.data)
		return;
	if (!pair) {
		pair = xcalloc(1, sizeof(*pair) + op->key.len);
		pair->key_len = op->key.len;
		memcpy(pair->key, op->key.data, op->key.len);
		HASH_ADD_KEYPTR(hh, contents->pairs, pair->key, pair->key_len, pair);
	}
	pair->hash = pair_hash(op->key, op->value);
	contents->hash += pair->hash;
}

void contents_free(struct contents *contents)
{
	struct contents_pair *pair, *next;

	HASH_ITER (hh, contents->pairs, pair, next) {
		HASH_DEL(contents->pairs, pair);
		free(pair);
	}
	contents->hash = 0;
}

/* ---- epochs -------------------------------------------------------------------------------- */

void epochs_init(struct epochs *epochs, struct world *w, const char *line, bool skips)
{
	*epochs = (struct epochs){.world = w, .line = line, .skips = skips};
	list_init(&epochs->all);
}

static void batches_drop(struct epoch *epoch, uint64_t number)
{
	struct batch *batch;

	while ((batch = list_first(&epoch->batches, struct batch, link)) &&
	       batch->number <= number) {
		epoch->durable = batch->number;
		epoch->hash = batch->hash;
		list_remove(&batch->link);
		free(batch);
	}
}

void epochs_free(struct epochs *epochs)
{
	struct epoch *epoch;

	while ((epoch = list_first(&epochs->all, struct epoch, link))) {
		batches_drop(epoch, UINT64_MAX);
		contents_free(&epoch->contents);
		list_remove(&epoch->link);
		free(epoch->leader);
		free(epoch);
	}
}

/* Which of its batches make these contents: the last of those that do. False: none does. */
static bool find_included(const struct epoch *epoch, uint64_t hash, uint64_t *number)
{
	bool found = epoch->hash == hash;

	*number = epoch->durable;
	for (const struct list *at = epoch->batches.next; at != &epoch->batches; at = at->next) {
		const struct batch *batch = list_entry(at, struct batch, link);

		if (batch->hash != hash)
			continue;
		found = true;
		*number = batch->number;
	}
	return found;
}

static void epoch_end(struct epoch *epoch, bool forgets)
{
	epoch->over = true;
	epoch->included = forgets ? UINT64_MAX : epoch->durable;
}

/* One must have left the contents: the last one, or those before which may be skipped to. */
static bool find_origin(const struct epochs *epochs, uint64_t hash)
{
	for (struct list *at = epochs->all.prev; at != &epochs->all; at = at->prev) {
		struct epoch *epoch = list_entry(at, struct epoch, link);
		uint64_t number;

		if (find_included(epoch, hash, &number)) {
			epoch->included = number;
			return true;
		}
		if (!epochs->skips || epoch->durable)
			return false;
	}
	return list_empty(&epochs->all);
}

static void follow_the_last(struct epochs *epochs, const char *leader, uint64_t hash, bool forgets)
{
	if (!list_empty(&epochs->all))
		epoch_end(list_entry(epochs->all.prev, struct epoch, link), forgets);
	if (!forgets && !find_origin(epochs, hash))
		world_fail(epochs->world,
			   "durable: %s begins with a %s that is none that the leader before it "
			   "may have left",
			   leader, epochs->line);
}

struct epoch *epoch_begin(struct epochs *epochs, const char *leader, struct contents *contents,
			  enum beginning how)
{
	struct epoch *epoch = xcalloc(1, sizeof(*epoch));

	if (how != TOO_LATE)
		follow_the_last(epochs, leader, contents->hash, how == FORGETS);
	epoch->epochs = epochs;
	epoch->leader = xstrdup(leader);
	epoch->contents = *contents;
	epoch->hash = contents->hash;
	*contents = (struct contents){0};
	list_init(&epoch->batches);
	epoch->over = epoch->too_late = how == TOO_LATE;
	/* It is none that another one goes on from. */
	if (epoch->over)
		list_prepend(&epochs->all, &epoch->link);
	else
		list_append(&epochs->all, &epoch->link);
	return epoch;
}

bool epoch_is_over(const struct epoch *epoch)
{
	return epoch->over;
}

void epoch_write(struct epoch *epoch, uint64_t number, const struct store_op *ops, size_t count)
{
	struct batch *batch;

	/* One that does not know that it is over still tells who follows it: if the leader after it
	 * ends before anything of its own is durable, the one after that may begin with what it was
	 * told. */
	if (epoch->too_late)
		return;
	for (size_t i = 0; i < count; i++)
		contents_put(&epoch->contents, &ops[i]);
	batch = xcalloc(1, sizeof(*batch));
	batch->number = number;
	batch->hash = epoch->contents.hash;
	list_append(&epoch->batches, &batch->link);
}

void epoch_durable(struct epoch *epoch, uint64_t number)
{
	if (epoch->over && number > epoch->included)
		world_fail(epoch->epochs->world,
			   "durable: %s hears that its batch %llu of the %s is, and the leader "
			   "after it does not have it",
			   epoch->leader, (unsigned long long)number, epoch->epochs->line);
	if (!epoch->over)
		batches_drop(epoch, number);
}
