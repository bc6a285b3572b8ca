/* A disk: batches are written in order, each all or nothing. What is in a process's memory
 * dies with the process, what was written with the machine, what was synced with neither. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/table.h"
#include "lab/world/disk.h"

#define WRITE_HIGH (2 * MILLISECOND)
#define SYNC_HIGH (20 * MILLISECOND)
#define SLOW_HIGH (3 * SECOND)

/* What is written under a key. */
struct disk_record {
	UT_hash_handle hh; /* in disk.synced */
	size_t key_len, len;
	bool gone;    /* deleted */
	char bytes[]; /* key, value, NUL */
};

struct disk_batch {
	struct happening happening;
	struct list link;
	struct disk *disk;
	int line;
	enum store_class class;
	uint64_t ticket;
	size_t count;
	struct disk_record *records[]; /* NULL: it is in the table */
};

static void batch_free(struct disk_batch *batch)
{
	world_cancel(batch->disk->world, &batch->happening);
	list_remove(&batch->link);
	for (size_t i = 0; i < batch->count; i++)
		free(batch->records[i]);
	free(batch);
}

static struct disk_record *record_new(const struct store_op *op)
{
	struct disk_record *r = xmalloc(sizeof(*r) + op->key.len + op->value.len + 1);

	r->key_len = op->key.len;
	r->len = op->value.len;
	r->gone = !op->value.data;
	memcpy(r->bytes, op->key.data, r->key_len);
	if (r->len)
		memcpy(r->bytes + r->key_len, op->value.data, r->len);
	r->bytes[r->key_len + r->len] = '\0';
	return r;
}

static struct slice record_key(const struct disk_record *r)
{
	return (struct slice){r->bytes, r->key_len};
}

static struct slice record_value(const struct disk_record *r)
{
	return (struct slice){r->gone ? NULL : r->bytes + r->key_len, r->len};
}

/* Takes it over. */
static void disk_put(struct disk_record **table, struct disk_record *r)
{
	struct disk_record *old;
	unsigned hash;

	HASH_VALUE(r->bytes, r->key_len, hash);
	HASH_FIND_BYHASHVALUE(hh, *table, r->bytes, r->key_len, hash, old);
	if (old) {
		HASH_DEL(*table, old);
		free(old);
	}
	if (r->gone)
		free(r);
	else
		HASH_ADD_KEYPTR_BYHASHVALUE(hh, *table, r->bytes, r->key_len, hash, r);
}

static void sync_written(struct disk *disk, int line)
{
	struct disk_batch *batch, *next;

	list_for_each (batch, next, &disk->lines[line].written, link) {
		for (size_t i = 0; i < batch->count; i++) {
			disk_put(&disk->synced, batch->records[i]);
			batch->records[i] = NULL;
		}
		batch_free(batch);
	}
	if (disk->world->observer)
		disk->world->observer->synced(disk->world->observer, disk, line);
}

static void tell_written(const struct disk_batch *batch)
{
	struct observer *o = batch->disk->world->observer;

	for (size_t i = 0; o && i < batch->count; i++)
		o->written(o, batch->disk, batch->line, record_key(batch->records[i]),
			   record_value(batch->records[i]));
}

static void written(struct happening *h)
{
	struct disk_batch *batch = container_of(h, struct disk_batch, happening);
	struct disk *disk = batch->disk;
	uint64_t ticket = batch->ticket;
	int line = batch->line;
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
			list_append(&disk->lines[line].written, &batch->link);
		}
		disk->fail(disk->context, true);
		return;
	}
	list_remove(&batch->link);
	list_append(&disk->lines[line].written, &batch->link);
	tell_written(batch);
	if (sync)
		sync_written(disk, line);
	if (disk->done)
		disk->done(disk->context, line, ticket);
}

void disk_init(struct disk *disk, struct world *w, const char *name,
	       void (*fail)(void *context, bool crash), void *context)
{
	*disk = (struct disk){.world = w, .name = name, .fail = fail, .context = context};
	for (int i = 0; i < DISK_LINES; i++) {
		list_init(&disk->lines[i].written);
		list_init(&disk->lines[i].queued);
	}
}

static void list_free(struct list *batches)
{
	while (!list_empty(batches))
		batch_free(list_first(batches, struct disk_batch, link));
}

void disk_free(struct disk *disk)
{
	struct disk_record *r, *next;

	for (int i = 0; i < DISK_LINES; i++) {
		list_free(&disk->lines[i].queued);
		list_free(&disk->lines[i].written);
	}
	HASH_ITER (hh, disk->synced, r, next) {
		HASH_DEL(disk->synced, r);
		free(r);
	}
}

bool disk_open(struct disk *disk, void (*done)(void *context, int line, uint64_t ticket))
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

/* A crash of the machine loses a random part of what was not synced. */
static void crash_line(struct disk *disk, int line)
{
	struct disk_batch *batch, *next;
	bool lost = false;

	list_for_each (batch, next, &disk->lines[line].written, link) {
		lost = lost || world_chance(disk->world, 0.2);
		if (lost)
			batch_free(batch);
	}
	/* The machine's memory is gone: what is left is on the disk itself. */
	sync_written(disk, line);
}

void disk_drop(struct disk *disk, bool crash)
{
	disk->done = NULL;
	for (int i = 0; i < DISK_LINES; i++) {
		list_free(&disk->lines[i].queued);
		if (crash)
			crash_line(disk, i);
	}
	if (!crash)
		return;
	if (disk->world->observer)
		disk->world->observer->crashed(disk->world->observer, disk);
}

void disk_write(struct disk *disk, int number, enum store_class class, const struct store_op *ops,
		size_t count, uint64_t ticket)
{
	struct disk_line *line = &disk->lines[number];
	struct world *w = disk->world;
	struct disk_batch *batch = xcalloc(1, sizeof(*batch) + count * sizeof(*batch->records));
	int64_t high = class == STORE_REGISTRY ? SYNC_HIGH : WRITE_HIGH, when;

	if (w->slow_disks_until > w->now)
		high = SLOW_HIGH;
	batch->happening.run = written;
	batch->disk = disk;
	batch->line = number;
	batch->class = class;
	batch->ticket = ticket;
	batch->count = count;
	for (size_t i = 0; i < count; i++) {
		batch->records[i] = record_new(&ops[i]);
		disk->bytes += ops[i].key.len + ops[i].value.len;
	}
	when = w->now + world_between(w, 20 * MICROSECOND, high);
	if (when < line->last)
		when = line->last;
	line->last = when;
	list_init(&batch->link);
	list_append(&line->queued, &batch->link);
	world_at(w, &batch->happening, when);
}

struct found {
	const struct disk_record *record;
	size_t order; /* of writing */
};

static int disk_compare(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	const struct disk_record *r = x->record, *other = y->record;
	size_t len = r->key_len < other->key_len ? r->key_len : other->key_len;
	int order = memcmp(r->bytes, other->bytes, len);

	if (order)
		return order;
	if (r->key_len != other->key_len)
		return r->key_len < other->key_len ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

static bool same_key(const struct disk_record *a, const struct disk_record *b)
{
	return a->key_len == b->key_len && !memcmp(a->bytes, b->bytes, a->key_len);
}

static void add_found(struct found *found, size_t *count, const struct disk_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		found[*count] = (struct found){batch->records[i], *count};
		++*count;
	}
}

/* What one life wrote the next one reads, synced or not. */
static struct found *find_all(const struct disk *disk, size_t *count)
{
	struct disk_record *r, *next;
	struct disk_batch *batch, *after;
	struct found *found;
	size_t most = HASH_COUNT(disk->synced);

	for (int i = 0; i < DISK_LINES; i++) {
		list_for_each (batch, after, &disk->lines[i].written, link)
			most += batch->count;
	}
	found = xmalloc(most * sizeof(*found));
	*count = 0;
	HASH_ITER (hh, disk->synced, r, next) {
		found[*count] = (struct found){r, *count};
		++*count;
	}
	for (int i = 0; i < DISK_LINES; i++) {
		list_for_each (batch, after, &disk->lines[i].written, link)
			add_found(found, count, batch);
	}
	qsort(found, *count, sizeof(*found), disk_compare);
	return found;
}

int disk_load(struct disk *disk, int (*each)(void *context, struct slice key, struct slice value),
	      void *context)
{
	size_t count;
	struct found *found = find_all(disk, &count);
	int rv = 0;

	for (size_t i = 0; i < count && !rv; i++) {
		const struct disk_record *r = found[i].record;

		/* What was written last counts. */
		if (!r->gone && (i + 1 == count || !same_key(r, found[i + 1].record)))
			rv = each(context, record_key(r), record_value(r));
	}
	free(found);
	return rv;
}
