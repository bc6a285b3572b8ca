/* What the disks hold: what was written outlives a kill, what was synced a crash of the
 * machine. Of records that stand for something else than their key says, that is noted:
 * "uuid/<hex>" of an update, "completed/<framework>/<task>", "kill/<framework>/<task>" of one that
 * is to be killed. */
#include "lab/books/books_disks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/books/books_agents.h"
#include "lab/books/books_hosts.h"
#include "lab/books/books_internal.h"
#include "lab/books/books_kills.h"
#include "lab/books/books_offers.h"
#include "lab/books/books_registry.h"
#include "lab/books/books_roles.h"
#include "lab/books/books_volumes.h"
#include "lab/books/records.h"
#include "lab/world/disk.h"

struct record {
	UT_hash_handle hh;
	char *key;
	bool written, synced;
	struct list unsynced; /* in disk_book.unsynced */
};

struct disk_book {
	UT_hash_handle hh;
	struct books *books;
	char *owner;
	struct record *records;
	struct list unsynced[DISK_LINES]; /* struct record.unsynced */
	int line;			  /* of the write that is being noted */
	/* Of an agent: what this life found, and has not yet told the master. */
	char **found;
	size_t found_count;
};

static struct disk_book *find_disk(const struct books *b, const char *owner)
{
	struct disk_book *d;

	HASH_FIND_STR(b->disks, owner, d);
	return d;
}

static struct disk_book *disk_of(struct books *b, const char *owner)
{
	struct disk_book *d = b->disk;

	if (d && !strcmp(d->owner, owner))
		return d;
	b->disk = d = find_disk(b, owner);
	if (d)
		return d;
	b->disk = d = xcalloc(1, sizeof(*d));
	d->books = b;
	d->owner = xstrdup(owner);
	for (int i = 0; i < DISK_LINES; i++)
		list_init(&d->unsynced[i]);
	HASH_ADD_KEYPTR(hh, b->disks, d->owner, strlen(d->owner), d);
	return d;
}

static void record_free(struct disk_book *d, struct record *r)
{
	HASH_DEL(d->records, r);
	list_remove(&r->unsynced);
	free(r->key);
	free(r);
}

static void books_disks_note(struct disk_book *d, const char *key, size_t len, bool there)
{
	struct record *r;

	HASH_FIND(hh, d->records, key, len, r);
	if (!r && !there)
		return;
	if (!r) {
		r = xcalloc(1, sizeof(*r));
		r->key = xstrndup(key, len);
		list_init(&r->unsynced);
		HASH_ADD_KEYPTR(hh, d->records, r->key, len, r);
	}
	r->written = there;
	if (r->written != r->synced && list_empty(&r->unsynced))
		list_append(&d->unsynced[d->line], &r->unsynced);
}

/* ---- writes ---------------------------------------------------------------------- */

static bool has_prefix(struct slice key, const char *prefix)
{
	size_t len = strlen(prefix);

	return key.len >= len && !memcmp(key.data, prefix, len);
}

static void uuid_key(const uint8_t *uuid, char key[64])
{
	static const char digits[] = "0123456789abcdef";
	char *at = stpcpy(key, "uuid/");

	for (int i = 0; i < UUID_BYTES; i++) {
		*at++ = digits[uuid[i] >> 4];
		*at++ = digits[uuid[i] & 15];
	}
	*at = '\0';
}

/* Both the update and its acknowledgement keep it known. */
static void note_update(struct books *b, struct disk_book *d, struct slice value)
{
	const Mesos__Internal__StatusUpdateRecord *record;
	const ProtobufCBinaryData *uuid;
	char key[64];
	struct err err;

	if (!value.data)
		return;
	arena_reset(&b->arena);
	record = proto_unpack(&mesos__internal__status_update_record__descriptor, &b->arena,
			      value.data, value.len, &err);
	if (!record)
		return;
	uuid = record->update ? &record->update->uuid : &record->uuid;
	if (uuid->len != UUID_BYTES)
		return;
	uuid_key(uuid->data, key);
	books_disks_note(d, key, strlen(key), true);
}

static void note_completed(struct books *b, struct disk_book *d, struct slice value)
{
	const Mesos__Task *task;
	struct buf key = BUF_INIT;
	struct err err;

	if (!value.data)
		return;
	arena_reset(&b->arena);
	task = proto_unpack(&mesos__task__descriptor, &b->arena, value.data, value.len, &err);
	if (!task)
		return;
	buf_printf(&key, "completed/%s/%s", task->framework_id->value, task->task_id->value);
	books_disks_note(d, key.data, key.len, true);
	buf_free(&key);
}

/* "task/<framework>/<task>"; most were never to be killed. */
static void note_task(struct books *b, struct disk_book *d, struct slice key, struct slice value)
{
	const Mesita__StoredTask *stored = NULL;
	struct buf kill = BUF_INIT;
	struct record *r;
	struct err err;

	books_disks_note(d, key.data, key.len, value.data != NULL);
	buf_printf(&kill, "kill/%.*s", (int)key.len - 5, key.data + 5);
	HASH_FIND(hh, d->records, kill.data, kill.len, r);
	if (value.data && (r || books_is_to_be_killed(b, kill.data + 5))) {
		arena_reset(&b->arena);
		stored = proto_unpack(&mesita__stored_task__descriptor, &b->arena, value.data,
				      value.len, &err);
	}
	/* The agent that is lost takes the order with it, as in Mesos. */
	books_disks_note(d, kill.data, kill.len,
			 stored && stored->kill_wanted && !stored->unreachable);
	buf_free(&kill);
}

static void note_order(struct books *b, struct disk_book *d, struct slice key, struct slice value)
{
	char role[256];

	books_disks_note(d, key.data, key.len, value.data != NULL);
	snprintf(role, sizeof(role), "%.*s", (int)key.len, key.data);
	if (has_prefix(key, "quota/"))
		books_quota_written(b, role + 6, value);
	else
		books_weight_written(b, role + 7, value);
}

/* One that did not come back in time ends without a word to anybody. */
static void note_framework(struct books *b, struct slice value)
{
	const Mesita__StoredFramework *stored;
	struct err err;
	struct fw *fw;

	if (!value.data)
		return;
	arena_free(&b->arena);
	stored = proto_unpack(&mesita__stored_framework__descriptor, &b->arena, value.data,
			      value.len, &err);
	if (!stored || !stored->completed)
		return;
	fw = books_fw(b, stored->info->id->value);
	books_set_stream(b, fw, 0);
	if (!fw->torn)
		books_tear_down(b, fw);
}

static void note_registry(struct books *b, struct disk_book *d, struct slice key,
			  struct slice value)
{
	char text[256], *id;

	books_disks_note(d, key.data, key.len, value.data != NULL);
	snprintf(text, sizeof(text), "%.*s", (int)key.len, key.data);
	id = strchr(text, '/');
	*id++ = '\0';
	if (!strcmp(text, "maintenance"))
		books_maintenance_written(b, value);
	else
		books_registry_written(b, text, id, value);
}

static void take_write(struct books *b, struct disk_book *d, struct slice key, struct slice value)
{
	if (has_prefix(key, "update/"))
		note_update(b, d, value);
	else if (has_prefix(key, "completed/"))
		note_completed(b, d, value);
	else if (has_prefix(key, "quota/") || has_prefix(key, "weight/"))
		note_order(b, d, key, value);
	else if (!strcmp(d->owner, "master") && has_prefix(key, "framework/"))
		note_framework(b, value);
	else if (!strcmp(d->owner, "master") &&
		 (has_prefix(key, "agent/") || has_prefix(key, "unreachable/") ||
		  has_prefix(key, "gone/") || has_prefix(key, "maintenance/")))
		note_registry(b, d, key, value);
	else if (key.len == 15 && has_prefix(key, "agent/resources"))
		books_resources_written(b, d->owner, value);
	else if (!strcmp(d->owner, "master") && has_prefix(key, "task/"))
		note_task(b, d, key, value);
	else if (has_prefix(key, "agent/") || has_prefix(key, "task/") ||
		 has_prefix(key, "gone/") || has_prefix(key, "maintenance/"))
		books_disks_note(d, key.data, key.len, value.data != NULL);
}

void books_written(struct books *b, struct disk *disk, int line, struct slice key,
		   struct slice value)
{
	struct disk_book *d = disk_of(b, disk->name);
	char id[256];

	d->line = line;
	take_write(b, d, key, value);
	if (value.data || !has_prefix(key, "agent/") || strcmp(disk->name, "master"))
		return;
	snprintf(id, sizeof(id), "%.*s", (int)(key.len - 6), key.data + 6);
	books_agent_record_deleted(b, id);
}

void books_synced(struct books *b, struct disk *disk, int line)
{
	struct disk_book *d = disk_of(b, disk->name);
	struct record *r, *next;

	list_for_each (r, next, &d->unsynced[line], unsynced) {
		list_remove(&r->unsynced);
		r->synced = r->written;
		if (!r->written)
			record_free(d, r);
	}
}

static int reload(void *context, struct slice key, struct slice value)
{
	struct disk_book *d = context;

	take_write(d->books, d, key, value);
	return 0;
}

void books_crashed(struct books *b, struct disk *disk)
{
	struct disk_book *d = disk_of(b, disk->name);
	struct record *r, *next;

	b->crashes++;
	b->crashes_of_master += !strcmp(disk->name, "master");
	books_host_crashed(b, disk->name);
	HASH_ITER (hh, d->records, r, next)
		record_free(d, r);
	if (!strcmp(disk->name, "master"))
		books_forget_orders(b);
	if (!strcmp(disk->name, "master"))
		books_forget_registry(b);
	books_resources_lost(b, disk->name);
	disk_load(disk, reload, d);
	for (int i = 0; i < DISK_LINES; i++)
		books_synced(b, disk, i);
}

/* ---- questions --------------------------------------------------------------------------- */

static bool has(const struct disk_book *d, const char *key, size_t len, enum survival after)
{
	struct record *r = NULL;

	if (d)
		HASH_FIND(hh, d->records, key, len, r);
	return r && (after == AFTER_CRASH ? r->synced && r->written : r->written);
}

bool books_stored(const struct books *b, const char *owner, enum survival after, const char *format,
		  ...)
{
	char key[512];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(key, sizeof(key), format, args);
	va_end(args);
	return has(find_disk(b, owner), key, (size_t)len, after);
}

bool books_would_return(const struct books *b, const char *owner, const char *format, ...)
{
	const struct disk_book *d = find_disk(b, owner);
	struct record *r = NULL;
	char key[512];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(key, sizeof(key), format, args);
	va_end(args);
	if (d)
		HASH_FIND(hh, d->records, key, (size_t)len, r);
	return r && r->synced;
}

bool books_update_stored(const struct books *b, const char *owner, const uint8_t *uuid)
{
	char key[64];

	uuid_key(uuid, key);
	return has(find_disk(b, owner), key, strlen(key), AFTER_KILL);
}

/* ---- what agents find again ----------------------------------------------------------------- */

static void forget_found(struct disk_book *d)
{
	for (size_t i = 0; i < d->found_count; i++)
		free(d->found[i]);
	free(d->found);
	d->found = NULL;
	d->found_count = 0;
}

void books_agent_began(struct books *b, const struct process *p)
{
	struct disk_book *d = disk_of(b, p->name);
	struct record *r, *next;

	books_resources_life_began(b, p->name);
	forget_found(d);
	/* What another agent than it is now had launched is nobody's. */
	if (!has(d, "agent/info", 10, AFTER_KILL))
		return;
	d->found = xcalloc(HASH_COUNT(d->records) + 1, sizeof(char *));
	HASH_ITER (hh, d->records, r, next) {
		if (r->written && !strncmp(r->key, "task/", 5))
			d->found[d->found_count++] = xstrdup(r->key);
	}
}

void books_agent_registers(struct books *b, const struct process *from, const struct letter *letter)
{
	struct disk_book *d = disk_of(b, from->name);
	const Mesos__Internal__RegisterSlaveMessage *message =
		books_unpack(b, &mesos__internal__register_slave_message__descriptor, letter);

	books_resources_told(b, from->name, message->checkpointed_resources,
			     message->n_checkpointed_resources);
	forget_found(d);
	if (has(d, "agent/info", 10, AFTER_KILL))
		world_fail(b->world, "durable: %s has an identity and registers as a new agent",
			   from->name);
}

/* "task/<framework>/<executor>/<task>" */
static bool is_key_of(const char *key, const Mesos__Task *task)
{
	const char *framework = key + 5, *id = strrchr(key, '/') + 1;
	size_t len = strlen(task->framework_id->value);

	return !strcmp(id, task->task_id->value) &&
	       !strncmp(framework, task->framework_id->value, len) && framework[len] == '/';
}

static bool tells(const Mesos__Internal__ReregisterSlaveMessage *message, const char *key)
{
	for (size_t i = 0; i < message->n_tasks; i++) {
		if (is_key_of(key, message->tasks[i]))
			return true;
	}
	for (size_t i = 0; i < message->n_completed_frameworks; i++) {
		const Mesos__Internal__Archive__Framework *f = message->completed_frameworks[i];

		for (size_t k = 0; k < f->n_tasks; k++) {
			if (is_key_of(key, f->tasks[k]))
				return true;
		}
	}
	return false;
}

void books_agent_reregisters(struct books *b, const struct process *from,
			     const struct letter *letter)
{
	struct disk_book *d = disk_of(b, from->name);
	const Mesos__Internal__ReregisterSlaveMessage *message;

	if (!d->found)
		return;
	message = books_unpack(b, &mesos__internal__reregister_slave_message__descriptor, letter);
	books_resources_told(b, from->name, message->checkpointed_resources,
			     message->n_checkpointed_resources);
	for (size_t i = 0; i < d->found_count; i++) {
		if (!tells(message, d->found[i]))
			world_fail(b->world,
				   "durable: %s had %s in its store, and does not tell "
				   "the master of it",
				   from->name, d->found[i]);
	}
	forget_found(d);
}

void books_free_disks(struct books *b)
{
	struct disk_book *d, *next;
	struct record *r, *after;

	HASH_ITER (hh, b->disks, d, next) {
		HASH_ITER (hh, d->records, r, after)
			record_free(d, r);
		forget_found(d);
		HASH_DEL(b->disks, d);
		free(d->owner);
		free(d);
	}
}
