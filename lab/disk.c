/* A disk: batches are written in order, each all or nothing. What is in a process's memory
 * dies with the process, what was written with the machine, what was synced with neither. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/table.h"
#include "lab/world.h"

#define WRITE_HIGH (2 * MILLISECOND)
#define SYNC_HIGH (20 * MILLISECOND)
#define SLOW_HIGH (3 * SECOND)

struct disk_pair {
	UT_hash_handle hh;
	char *key;
	size_t key_len;
	char *value;
	size_t len;
};

struct disk_op {
	char *key;
	size_t key_len;
	char *value; /* NULL = delete */
	size_t len;
};

struct disk_batch {
	struct happening happening;
	struct list link;
	struct disk *disk;
	enum store_class class;
	uint64_t ticket;
	struct disk_op *ops;
	size_t count;
};

static void batch_free(struct disk_batch *batch)
{
	world_cancel(batch->disk->world, &batch->happening);
	list_remove(&batch->link);
	for (size_t i = 0; i < batch->count; i++) {
		free(batch->ops[i].key);
		free(batch->ops[i].value);
	}
	free(batch->ops);
	free(batch);
}

static void pair_drop(struct disk_pair **table, const char *key, size_t len)
{
	struct disk_pair *pair;

	HASH_FIND(hh, *table, key, len, pair);
	if (!pair)
		return;
	HASH_DEL(*table, pair);
	free(pair->key);
	free(pair->value);
	free(pair);
}

/* Takes over the value. */
static void pair_put(struct disk_pair **table, const char *key, size_t key_len, char *value,
		     size_t len)
{
	struct disk_pair *pair;

	HASH_FIND(hh, *table, key, key_len, pair);
	if (!pair) {
		pair = xcalloc(1, sizeof(*pair));
		pair->key = xmemdup(key, key_len);
		pair->key_len = key_len;
		HASH_ADD_KEYPTR(hh, *table, pair->key, pair->key_len, pair);
	}
	free(pair->value);
	pair->value = value;
	pair->len = len;
}

/* `last`: the batch is needed no more. */
static void apply(struct disk_pair **table, struct disk_batch *batch, bool last)
{
	for (size_t i = 0; i < batch->count; i++) {
		struct disk_op *op = &batch->ops[i];

		if (!op->value) {
			pair_drop(table, op->key, op->key_len);
			continue;
		}
		pair_put(table, op->key, op->key_len,
			 last ? op->value : xmemdup(op->value, op->len + 1), op->len);
		if (last)
			op->value = NULL;
	}
}

static void sync_written(struct disk *disk)
{
	struct disk_batch *batch, *next;

	list_for_each (batch, next, &disk->written, link) {
		apply(&disk->synced, batch, true);
		batch_free(batch);
	}
	if (disk->world->observer)
		disk->world->observer->synced(disk->world->observer, disk);
}

static void tell_written(const struct disk_batch *batch)
{
	struct observer *o = batch->disk->world->observer;

	for (size_t i = 0; o && i < batch->count; i++) {
		const struct disk_op *op = &batch->ops[i];

		o->written(o, batch->disk, (struct slice){op->key, op->key_len},
			   (struct slice){op->value, op->len});
	}
}

static void written(struct happening *h)
{
	struct disk_batch *batch = container_of(h, struct disk_batch, happening);
	struct disk *disk = batch->disk;
	uint64_t ticket = batch->ticket;
	bool sync = batch->class == STORE_REGISTRY;

	if (disk->failing_until > disk->world->now && (sync || disk->full)) {
		world_log(disk->world, "a write of %s fails", disk->name);
		disk->fail(disk->context, false);
		return;
	}
	if (disk->doom && --disk->doom == 0) {
		bool whole = world_chance(disk->world, 0.5);

		world_log(disk->world, "the machine of %s crashes %s a write", disk->name,
			  whole ? "after" : "in");
		if (whole) {
			list_remove(&batch->link);
			list_append(&disk->written, &batch->link);
		}
		disk->fail(disk->context, true);
		return;
	}
	list_remove(&batch->link);
	list_append(&disk->written, &batch->link);
	tell_written(batch);
	if (sync)
		sync_written(disk);
	if (disk->done)
		disk->done(disk->context, ticket);
}

void disk_init(struct disk *disk, struct world *w, const char *name,
	       void (*fail)(void *context, bool crash), void *context)
{
	*disk = (struct disk){.world = w, .name = name, .fail = fail, .context = context};
	list_init(&disk->written);
	list_init(&disk->queued);
}

static void table_free(struct disk_pair **table)
{
	while (*table)
		pair_drop(table, (*table)->key, (*table)->key_len);
}

static void list_free(struct list *batches)
{
	while (!list_empty(batches))
		batch_free(list_first(batches, struct disk_batch, link));
}

void disk_free(struct disk *disk)
{
	list_free(&disk->queued);
	list_free(&disk->written);
	table_free(&disk->synced);
}

bool disk_open(struct disk *disk, void (*done)(void *context, uint64_t ticket))
{
	if (disk->failing_until > disk->world->now)
		return false;
	disk->done = done;
	return true;
}

void disk_mend(struct disk *disk)
{
	disk->failing_until = 0;
	disk->doom = 0;
}

void disk_drop(struct disk *disk, bool crash)
{
	struct disk_batch *batch, *next;
	bool lost = false;

	disk->done = NULL;
	list_free(&disk->queued);
	if (!crash)
		return;
	list_for_each (batch, next, &disk->written, link) {
		lost = lost || world_chance(disk->world, 0.2);
		if (lost)
			batch_free(batch);
	}
	/* The machine's memory is gone: what is left is on the disk itself. */
	sync_written(disk);
	if (disk->world->observer)
		disk->world->observer->crashed(disk->world->observer, disk);
}

void disk_write(struct disk *disk, enum store_class class, const struct store_op *ops, size_t count,
		uint64_t ticket)
{
	struct world *w = disk->world;
	struct disk_batch *batch = xcalloc(1, sizeof(*batch));
	int64_t high = class == STORE_REGISTRY ? SYNC_HIGH : WRITE_HIGH, when;

	if (w->slow_disks_until > w->now)
		high = SLOW_HIGH;
	batch->happening.run = written;
	batch->disk = disk;
	batch->class = class;
	batch->ticket = ticket;
	batch->count = count;
	batch->ops = xcalloc(count + 1, sizeof(*batch->ops));
	for (size_t i = 0; i < count; i++) {
		struct disk_op *op = &batch->ops[i];

		op->key = xmemdup(ops[i].key.data, ops[i].key.len);
		op->key_len = ops[i].key.len;
		if (ops[i].value.data) {
			op->value = xmalloc(ops[i].value.len + 1);
			memcpy(op->value, ops[i].value.data, ops[i].value.len);
			op->value[ops[i].value.len] = '\0';
			op->len = ops[i].value.len;
		}
		disk->bytes += op->key_len + op->len;
	}
	when = w->now + world_between(w, 20 * MICROSECOND, high);
	if (when < disk->last)
		when = disk->last;
	disk->last = when;
	list_init(&batch->link);
	list_append(&disk->queued, &batch->link);
	world_at(w, &batch->happening, when);
}

static int by_key(const void *a, const void *b)
{
	const struct disk_pair *x = *(const struct disk_pair *const *)a;
	const struct disk_pair *y = *(const struct disk_pair *const *)b;
	size_t len = x->key_len < y->key_len ? x->key_len : y->key_len;
	int order = memcmp(x->key, y->key, len);

	return order ? order : (x->key_len > y->key_len) - (x->key_len < y->key_len);
}

int disk_load(struct disk *disk, int (*each)(void *context, struct slice key, struct slice value),
	      void *context)
{
	struct disk_pair **sorted, *pair, *next, *table = NULL;
	struct disk_batch *batch, *after;
	size_t count = 0;
	int rv = 0;

	/* What one life wrote the next one reads, synced or not. */
	HASH_ITER (hh, disk->synced, pair, next)
		pair_put(&table, pair->key, pair->key_len, xmemdup(pair->value, pair->len + 1),
			 pair->len);
	list_for_each (batch, after, &disk->written, link)
		apply(&table, batch, false);
	sorted = xcalloc(HASH_COUNT(table) + 1, sizeof(*sorted));
	HASH_ITER (hh, table, pair, next)
		sorted[count++] = pair;
	qsort(sorted, count, sizeof(*sorted), by_key);
	for (size_t i = 0; i < count && !rv; i++)
		rv = each(context, (struct slice){sorted[i]->key, sorted[i]->key_len},
			  (struct slice){sorted[i]->value, sorted[i]->len});
	free(sorted);
	table_free(&table);
	return rv;
}
