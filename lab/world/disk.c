/* A disk: batches are written in order, each all or nothing. What is in a process's memory
 * dies with the process, what was written with the machine, what was synced with neither. */
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/table.h"
#include "lab/world/disk.h"
#include "store/groups.h"

#define WAKE_HIGH (20 * MICROSECOND) /* until the writer takes what waits */
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

/* What was written at once. */
struct disk_group {
	struct list link;
	size_t count;
	struct disk_record *records[]; /* NULL: it is in the table */
};

static void group_free(struct disk_group *group)
{
	list_remove(&group->link);
	for (size_t i = 0; i < group->count; i++)
		free(group->records[i]);
	free(group);
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

static int line_number(const struct disk_line *line)
{
	return (int)(line - line->disk->lines);
}

static void sync_written(struct disk *disk, int line)
{
	struct disk_group *group, *next;

	list_for_each (group, next, &disk->lines[line].written, link) {
		for (size_t i = 0; i < group->count; i++) {
			disk_put(&disk->synced, group->records[i]);
			group->records[i] = NULL;
		}
		group_free(group);
	}
	if (disk->world->observer)
		disk->world->observer->synced(disk->world->observer, disk, line);
}

static void tell_written(struct disk_line *line, const struct disk_group *group)
{
	struct observer *o = line->disk->world->observer;

	for (size_t i = 0; o && i < group->count; i++)
		o->written(o, line->disk, line_number(line), record_key(group->records[i]),
			   record_value(group->records[i]));
}

/* The group is with the kernel. */
static struct disk_group *keep_written(struct disk_line *line, const struct store_group *group)
{
	size_t count;
	struct store_op *ops = store_group_ops(group, &count);
	struct disk_group *kept = xcalloc(1, sizeof(*kept) + count * sizeof(*kept->records));

	kept->count = count;
	for (size_t i = 0; i < count; i++)
		kept->records[i] = record_new(&ops[i]);
	free(ops);
	list_append(&line->written, &kept->link);
	return kept;
}

/* False if it cannot be written: then the process is over. */
static bool write_group(struct disk_line *line, const struct store_group *group, bool sync)
{
	struct disk *disk = line->disk;
	bool whole;

	if (disk->failing_until > disk->world->now && (sync || disk->full)) {
		world_log(disk->world, "a write of %s fails", disk->name);
		disk->fail(disk->context, false);
		return false;
	}
	if (disk->doom && --disk->doom == 0) {
		whole = world_chance(disk->world, 0.5);
		world_log(disk->world, "the machine of %s crashes %s a write", disk->name,
			  whole ? "after" : "in");
		if (whole)
			keep_written(line, group);
		disk->fail(disk->context, true);
		return false;
	}
	tell_written(line, keep_written(line, group));
	if (sync)
		sync_written(disk, line_number(line));
	return true;
}

static void line_written(struct happening *h);

static void write_next(struct disk_line *line)
{
	struct world *w = line->disk->world;
	bool last = line->writing.next == line->writing.prev;
	int64_t high = last && line->sync ? SYNC_HIGH : WRITE_HIGH;

	if (w->slow_disks_until > w->now)
		high = SLOW_HIGH;
	line->happening.run = line_written;
	world_after(w, &line->happening, world_between(w, 20 * MICROSECOND, high));
}

static void line_wakes(struct happening *h)
{
	struct disk_line *line = container_of(h, struct disk_line, happening);

	line->sync = store_groups_take(&line->waiting, &line->writing);
	write_next(line);
}

static void line_written(struct happening *h)
{
	struct disk_line *line = container_of(h, struct disk_line, happening);
	struct store_group *group = list_first(&line->writing, struct store_group, link);
	bool sync = line->sync && line->writing.next == line->writing.prev;

	if (!write_group(line, group, sync))
		return;
	line->applied = group->last;
	if (sync)
		line->durable = group->last;
	store_group_free(group);
	if (!list_empty(&line->writing))
		write_next(line);
	else if (!list_empty(&line->waiting))
		line_wakes(h);
	if (line->disk->done)
		line->disk->done(line->disk->context, line_number(line));
}

void disk_init(struct disk *disk, struct world *w, const char *name,
	       void (*fail)(void *context, bool crash), void *context)
{
	*disk = (struct disk){.world = w, .name = name, .fail = fail, .context = context};
	for (int i = 0; i < DISK_LINES; i++) {
		disk->lines[i].disk = disk;
		list_init(&disk->lines[i].waiting);
		list_init(&disk->lines[i].writing);
		list_init(&disk->lines[i].written);
	}
}

/* What is in the memory of the process. */
static void line_drop(struct disk_line *line)
{
	world_cancel(line->disk->world, &line->happening);
	store_groups_free(&line->waiting);
	store_groups_free(&line->writing);
	line->last = line->applied = line->durable = 0;
}

static void written_free(struct disk_line *line)
{
	while (!list_empty(&line->written))
		group_free(list_first(&line->written, struct disk_group, link));
}

void disk_free(struct disk *disk)
{
	struct disk_record *r, *next;

	for (int i = 0; i < DISK_LINES; i++) {
		line_drop(&disk->lines[i]);
		written_free(&disk->lines[i]);
	}
	HASH_ITER (hh, disk->synced, r, next) {
		HASH_DEL(disk->synced, r);
		free(r);
	}
}

bool disk_open(struct disk *disk, void (*done)(void *context, int line))
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
	struct disk_group *group, *next;
	bool lost = false;

	list_for_each (group, next, &disk->lines[line].written, link) {
		lost = lost || world_chance(disk->world, 0.2);
		if (lost)
			group_free(group);
	}
	/* The machine's memory is gone: what is left is on the disk itself. */
	sync_written(disk, line);
}

void disk_drop(struct disk *disk, bool crash)
{
	disk->done = NULL;
	for (int i = 0; i < DISK_LINES; i++) {
		line_drop(&disk->lines[i]);
		if (crash)
			crash_line(disk, i);
	}
	if (!crash)
		return;
	if (disk->world->observer)
		disk->world->observer->crashed(disk->world->observer, disk);
}

uint64_t disk_write(struct disk *disk, int number, enum store_class class,
		    const struct store_op *ops, size_t count)
{
	struct disk_line *line = &disk->lines[number];
	struct world *w = disk->world;

	for (size_t i = 0; i < count; i++)
		disk->bytes += ops[i].key.len + ops[i].value.len;
	if (list_empty(&line->writing) && list_empty(&line->waiting)) {
		line->happening.run = line_wakes;
		world_after(w, &line->happening, world_between(w, 0, WAKE_HIGH));
	}
	store_groups_add(&line->waiting, 0, ++line->last, class, ops, count);
	return line->last;
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

static void add_found(struct found *found, size_t *count, const struct disk_group *group)
{
	for (size_t i = 0; i < group->count; i++) {
		found[*count] = (struct found){group->records[i], *count};
		++*count;
	}
}

/* What one life wrote the next one reads, synced or not. */
static struct found *find_all(const struct disk *disk, size_t *count)
{
	struct disk_record *r, *next;
	struct disk_group *group, *after;
	struct found *found;
	size_t most = HASH_COUNT(disk->synced);

	for (int i = 0; i < DISK_LINES; i++) {
		list_for_each (group, after, &disk->lines[i].written, link)
			most += group->count;
	}
	found = xmalloc(most * sizeof(*found));
	*count = 0;
	HASH_ITER (hh, disk->synced, r, next) {
		found[*count] = (struct found){r, *count};
		++*count;
	}
	for (int i = 0; i < DISK_LINES; i++) {
		list_for_each (group, after, &disk->lines[i].written, link)
			add_found(found, count, group);
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
