/* The backend that keeps the keys in ZooKeeper, for masters of which one leads at a time.
 *
 * Each key is a node. Each batch is one multi operation, the first part of which sets the node
 * `head` and asks for the version that it left there last. Whoever opens the store sets `head`
 * first: from then on all writes of those before fail, and what is read after that is complete.
 * `head` also holds the note, which therefore lasts from one who opened the store to the next.
 *
 * A write whose answer was lost is settled by what `head` says once the servers are reached again.
 * Failure: another one holds the store, the servers are not reached for `patience`, or they refuse.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/memory/arena.h"
#include "base/random.h"
#include "base/table.h"
#include "base/time/clock.h"
#include "store/backend.h"
#include "store/format.h"
#include "store/zookeeper/zk_link.h"
#include "store/zookeeper/zk_names.h"

#define FORMAT "mesita-" /* and STORE_FORMAT */
#define CLAIM_TRIES 100	 /* others who claim it at the same time */
/* ZooKeeper takes no request of more than 1 MiB. Groups of batches stay well below; what is larger
 * is one batch, and only that goes in parts. */
#define GROUP_BYTES_MAX (256 * 1024)
#define PART_BYTES_MAX (768 * 1024)
#define PART_OPS_MAX 2000
#define NODE_BYTES 64 /* around a key and its value in a request */

struct known_key {
	UT_hash_handle hh;
	size_t len;
	char data[];
};

struct zk_store {
	struct store_backend backend;
	struct zk_url url;
	struct zk_link *link;
	int64_t patience;
	char *root, *head;
	char id[UUID_TEXT]; /* ours, of this opening */
	char note[STORE_NOTE_MAX], note_before[STORE_NOTE_MAX];
	struct store_cache cache;
	bool cached;		 /* it holds what was there when this one took over */
	uint64_t written;	 /* parts, the claim included; `head` says how many */
	int version;		 /* of `head` */
	int newer;		 /* format that `head` has, if a newer mesita wrote it */
	pthread_mutex_t lock;	 /* load() may run beside write(): guards the rest */
	bool cache_counts;	 /* it holds what is there */
	struct known_key *known; /* all keys that are there */
};

/* ---- keys ------------------------------------------------------------------------ */

static struct known_key *key_find(struct zk_store *zs, struct slice key)
{
	struct known_key *known;

	HASH_FIND(hh, zs->known, key.data, key.len, known);
	return known;
}

static void key_note(struct zk_store *zs, struct slice key, bool there)
{
	struct known_key *known = key_find(zs, key);

	if (there && !known) {
		known = xcalloc(1, sizeof(*known) + key.len + 1);
		known->len = key.len;
		if (key.len)
			memcpy(known->data, key.data, key.len);
		HASH_ADD_KEYPTR(hh, zs->known, known->data, known->len, known);
	} else if (!there && known) {
		HASH_DEL(zs->known, known);
		free(known);
	}
}

/* ---- head ------------------------------------------------------------------------- */

static char *head_text(const struct zk_store *zs, uint64_t written)
{
	return xprintf(FORMAT "%d %s %" PRIu64 " %s", STORE_FORMAT, zs->id, written, zs->note);
}

/* What `head` says: ours with a number, or somebody else's. */
struct head_seen {
	char id[256];
	char note[STORE_NOTE_MAX];
	bool ours;
	uint64_t written;
	int version;
	int format; /* 0: it holds something else */
};

static int head_read(struct zk_store *zs, zhandle_t *handle, struct head_seen *seen)
{
	char text[STORE_NOTE_MAX + 256];
	int len = sizeof(text) - 1, code, end = 0;
	struct Stat stat;

	code = zk_link_sync(handle, zs->head);
	if (code == ZOK)
		code = zoo_get(handle, zs->head, 0, text, &len, &stat);
	if (code != ZOK)
		return code;
	text[len > 0 ? len : 0] = '\0';
	seen->version = stat.version;
	/* Of a later format only the number is known. */
	if (sscanf(text, FORMAT "%d", &seen->format) != 1)
		seen->format = 0;
	if (sscanf(text, FORMAT "%*d %255s %" SCNu64 " %n", seen->id, &seen->written, &end) != 2)
		seen->id[0] = '\0';
	snprintf(seen->note, sizeof(seen->note), "%s", text + end);
	if (!end)
		seen->note[0] = '\0';
	seen->ours = !strcmp(seen->id, zs->id);
	return ZOK;
}

static int refused(const struct zk_store *zs, int code, const char *what, struct err *err)
{
	return err_set(err, ERR_IO, "cannot %s '%s' in ZooKeeper: %s", what, zs->root,
		       zerror(code));
}

static int deposed(const struct zk_store *zs, struct err *err)
{
	return err_set(err, ERR_STATE, "another master has taken over the registry '%s'", zs->root);
}

/* ---- writing ------------------------------------------------------------------------ */

/* One multi operation. Paths are heap. */
struct part {
	zoo_op_t *ops;
	zoo_op_result_t *results;
	char **paths;
	int count;
	struct Stat head;
};

static void part_init(struct part *part, size_t room)
{
	part->ops = xcalloc(room + 1, sizeof(*part->ops));
	part->results = xcalloc(room + 1, sizeof(*part->results));
	part->paths = xcalloc(room + 1, sizeof(*part->paths));
	part->count = 1; /* that of `head` */
}

static void part_free(struct part *part)
{
	for (int i = 1; i < part->count; i++)
		free(part->paths[i]);
	free(part->paths);
	free(part->results);
	free(part->ops);
}

static void part_add(struct zk_store *zs, struct part *part, const struct store_op *op)
{
	bool there = key_find(zs, op->key) != NULL;
	char *path;

	if (!op->value.data && !there)
		return;
	path = part->paths[part->count] = zk_key_path(zs->root, op->key);
	if (!op->value.data)
		zoo_delete_op_init(&part->ops[part->count], path, -1);
	else if (there)
		zoo_set_op_init(&part->ops[part->count], path, op->value.data, (int)op->value.len,
				-1, NULL);
	else
		zoo_create_op_init(&part->ops[part->count], path, op->value.data,
				   (int)op->value.len, zk_handle_acl(&zs->url), 0, NULL, 0);
	part->count++;
}

static int part_send(struct zk_store *zs, zhandle_t *handle, struct part *part)
{
	char *text = head_text(zs, zs->written + 1);
	int code;

	zoo_set_op_init(&part->ops[0], zs->head, text, (int)strlen(text), zs->version, &part->head);
	code = zoo_multi(handle, part->count, part->ops, part->results);
	free(text);
	return code;
}

/* Whether the part whose answer was lost was written. False: send it again; or it failed. */
static bool was_written(struct zk_store *zs, const struct head_seen *seen)
{
	if (seen->written != zs->written + 1)
		return false;
	zs->written++;
	zs->version = seen->version;
	return true;
}

static int part_write(struct zk_store *zs, struct part *part, struct err *err)
{
	int64_t deadline = clock_steady() + zs->patience;
	bool undecided = false;
	struct head_seen seen;
	zhandle_t *handle;
	int code;

	while ((handle = zk_link_reach(zs->link, deadline, err))) {
		code = undecided ? head_read(zs, handle, &seen) : ZOK;
		if (code == ZOK && undecided) {
			if (!seen.ours)
				return deposed(zs, err);
			if (was_written(zs, &seen))
				return 0;
		}
		if (code == ZOK)
			code = part_send(zs, handle, part);
		if (code == ZOK) {
			zs->written++;
			zs->version = part->head.version;
			return 0;
		}
		if (code == ZBADVERSION && !undecided)
			return deposed(zs, err);
		/* Otherwise it may be the first try that set the version, late. */
		if (code != ZBADVERSION && !zk_is_passing(code))
			return refused(zs, code, "write to", err);
		undecided = true;
		if (clock_steady() >= deadline)
			break;
	}
	return err_set(err, ERR_IO, "ZooKeeper at %s did not take a write in time",
		       zs->url.servers);
}

/* How many of the operations go into one part. */
static size_t part_length(const struct store_op *ops, size_t count)
{
	size_t bytes = 0, i;

	for (i = 0; i < count && i < PART_OPS_MAX; i++) {
		bytes += 3 * ops[i].key.len + ops[i].value.len + NODE_BYTES;
		if (i && bytes > PART_BYTES_MAX)
			break;
	}
	return i;
}

static int zk_write(struct store_backend *backend, const struct store_op *ops, size_t count,
		    bool sync, struct err *err)
{
	struct zk_store *zs = (struct zk_store *)backend;
	int rv = 0;

	(void)sync; /* what ZooKeeper acknowledges is on disks */
	while (count > 0 && rv == 0) {
		size_t length = part_length(ops, count);
		struct part part;

		part_init(&part, length);
		pthread_mutex_lock(&zs->lock);
		zs->cache_counts = false;
		for (size_t i = 0; i < length; i++)
			part_add(zs, &part, &ops[i]);
		pthread_mutex_unlock(&zs->lock);
		if (part.count > 1)
			rv = part_write(zs, &part, err);
		part_free(&part);
		pthread_mutex_lock(&zs->lock);
		for (size_t i = 0; i < length && rv == 0; i++)
			key_note(zs, ops[i].key, ops[i].value.data != NULL);
		pthread_mutex_unlock(&zs->lock);
		ops += length;
		count -= length;
	}
	return rv;
}

static int zk_note(struct store_backend *backend, const char *text, struct err *err)
{
	struct zk_store *zs = (struct zk_store *)backend;
	struct part part;
	int rv;

	snprintf(zs->note, sizeof(zs->note), "%s", text);
	part_init(&part, 0);
	rv = part_write(zs, &part, err);
	part_free(&part);
	return rv;
}

/* ---- reading --------------------------------------------------------------------------- */

/* What is read of one key after the other; the arrays are of the same order. */
struct reading {
	struct slice *keys;
	char **paths;
	struct slice *values; /* heap */
	size_t count;
};

static void value_got(void *context, size_t index, struct slice data)
{
	struct reading *reading = context;

	free((void *)reading->values[index].data);
	reading->values[index] = (struct slice){xmemdup(data.data, data.len), data.len};
}

static int key_order(const void *left, const void *right)
{
	return slice_compare(*(const struct slice *)left, *(const struct slice *)right);
}

/* The keys with the prefix, in their order, copied. */
static void reading_init(struct zk_store *zs, const char *prefix, struct reading *reading)
{
	size_t length = strlen(prefix), room;
	struct known_key *known;

	pthread_mutex_lock(&zs->lock);
	room = HASH_COUNT(zs->known) + 1;
	*reading = (struct reading){
		.keys = xcalloc(room, sizeof(*reading->keys)),
		.paths = xcalloc(room, sizeof(*reading->paths)),
		.values = xcalloc(room, sizeof(*reading->values)),
	};
	for (known = zs->known; known; known = known->hh.next)
		if (known->len >= length && !memcmp(known->data, prefix, length))
			reading->keys[reading->count++] =
				(struct slice){xmemdup(known->data, known->len), known->len};
	pthread_mutex_unlock(&zs->lock);
	qsort(reading->keys, reading->count, sizeof(*reading->keys), key_order);
	for (size_t i = 0; i < reading->count; i++)
		reading->paths[i] = zk_key_path(zs->root, reading->keys[i]);
}

static void reading_free(struct reading *reading)
{
	for (size_t i = 0; i < reading->count; i++) {
		free((void *)reading->keys[i].data);
		free((void *)reading->values[i].data);
		free(reading->paths[i]);
	}
	free(reading->keys);
	free(reading->values);
	free(reading->paths);
}

/* False: the cache does not count, or not any more. */
static bool take_values(struct zk_store *zs, struct reading *reading)
{
	bool counts;

	pthread_mutex_lock(&zs->lock);
	counts = zs->cache_counts;
	pthread_mutex_unlock(&zs->lock);
	for (size_t i = 0; i < reading->count && counts; i++)
		value_got(reading, i, zs->cache.value(zs->cache.context, reading->keys[i]));
	return counts;
}

/* All values, anew as a whole if a connection breaks. They are of one time if nobody has taken over
 * until the last one was read. */
static int read_values(struct zk_store *zs, struct reading *reading, struct err *err)
{
	int64_t deadline = clock_steady() + zs->patience;
	struct head_seen seen;
	zhandle_t *handle;
	int code;

	while ((handle = zk_link_reach(zs->link, deadline, err))) {
		code = zk_link_sync(handle, zs->head);
		if (code == ZOK)
			code = zk_link_get(handle, reading->paths, reading->count, value_got,
					   reading);
		if (code == ZOK)
			code = head_read(zs, handle, &seen);
		if (code == ZOK)
			return seen.ours ? 0 : deposed(zs, err);
		if (!zk_is_passing(code) || clock_steady() >= deadline)
			return refused(zs, code, "read", err);
	}
	return ERR_IO;
}

static int zk_load(struct store_backend *backend, const char *prefix,
		   int (*each)(void *context, struct slice key, struct slice value), void *context,
		   struct err *err)
{
	struct zk_store *zs = (struct zk_store *)backend;
	struct reading reading;
	int rv = 0;

	reading_init(zs, prefix, &reading);
	if (!take_values(zs, &reading))
		rv = read_values(zs, &reading, err);
	for (size_t i = 0; i < reading.count && rv == 0; i++)
		rv = each(context, reading.keys[i], reading.values[i]);
	reading_free(&reading);
	return rv;
}

/* ---- opening ---------------------------------------------------------------------------- */

/* All nodes on the way to it, each if it is not there. */
static int make_path(struct zk_store *zs, zhandle_t *handle, const char *path)
{
	int code = ZOK;

	for (size_t end = 0; path[end] && code == ZOK;) {
		char *part;

		end += 1 + strcspn(path + end + 1, "/");
		part = xstrndup(path, end);
		code = zoo_create(handle, part, "", 0, zk_handle_acl(&zs->url), 0, NULL, 0);
		if (code == ZNODEEXISTS || (code == ZNOAUTH && path[end]))
			code = ZOK;
		free(part);
	}
	return code;
}

static void bucket_listed(void *context, size_t index, const struct String_vector *names)
{
	struct zk_store *zs = context;
	struct buf key = BUF_INIT;

	(void)index;
	for (int i = 0; i < names->count; i++) {
		buf_clear(&key);
		if (zk_key_parse(names->data[i], &key))
			key_note(zs, (struct slice){key.data, key.len}, true);
		else
			log_warning("'%s' in the registry '%s' is none of its nodes",
				    names->data[i], zs->root);
	}
	buf_free(&key);
}

static int list_keys(struct zk_store *zs, zhandle_t *handle)
{
	char *buckets[ZK_BUCKETS];
	int code;

	for (unsigned i = 0; i < ZK_BUCKETS; i++)
		buckets[i] = zk_bucket_path(zs->root, i);
	code = zk_link_list(handle, buckets, ZK_BUCKETS, bucket_listed, zs);
	for (unsigned i = 0; code == ZNONODE && i < ZK_BUCKETS; i++) {
		int made =
			zoo_create(handle, buckets[i], "", 0, zk_handle_acl(&zs->url), 0, NULL, 0);

		if (made != ZOK && made != ZNODEEXISTS)
			code = made;
	}
	if (code == ZNONODE)
		code = zk_link_list(handle, buckets, ZK_BUCKETS, bucket_listed, zs);
	for (unsigned i = 0; i < ZK_BUCKETS; i++)
		free(buckets[i]);
	return code;
}

static void mark_write(const char *id, int version, char mark[STORE_MARK_MAX])
{
	snprintf(mark, STORE_MARK_MAX, "%.*s %d", UUID_TEXT - 1, id, version);
}

/* Whether nothing was written since the cache was made: each write gives `head` a version more, or,
 * of one who opened the store, another id. */
static bool is_cache_good(const struct zk_store *zs, const struct head_seen *seen)
{
	char mark[STORE_MARK_MAX];

	if (!zs->cache.mark.data)
		return false;
	mark_write(seen->id, seen->version, mark);
	return zs->cache.mark.len == strlen(mark) &&
	       !memcmp(zs->cache.mark.data, mark, strlen(mark));
}

static int claim_try(struct zk_store *zs, zhandle_t *handle, const struct head_seen *seen,
		     struct Stat *stat)
{
	char *text;
	int code;

	snprintf(zs->note, sizeof(zs->note), "%s", seen->note);
	text = head_text(zs, 1);
	code = zoo_set2(handle, zs->head, text, (int)strlen(text), seen->version, stat);
	free(text);
	return code;
}

/* Makes us the one whose writes count. ZINVALIDSTATE: a newer mesita wrote there; `zs->newer` is
 * its format. */
static int claim(struct zk_store *zs, zhandle_t *handle)
{
	struct head_seen seen;
	struct Stat stat;
	int code = ZBADVERSION;

	for (int i = 0; code == ZBADVERSION && i < CLAIM_TRIES; i++) {
		code = head_read(zs, handle, &seen);
		zs->newer = code == ZOK && seen.format > STORE_FORMAT ? seen.format : 0;
		if (zs->newer)
			code = ZINVALIDSTATE;
		if (code == ZOK)
			code = claim_try(zs, handle, &seen, &stat);
	}
	if (code != ZOK)
		return code;
	memcpy(zs->note_before, zs->note, sizeof(zs->note));
	zs->cached = zs->cache_counts = is_cache_good(zs, &seen);
	zs->written = 1;
	zs->version = stat.version;
	return ZOK;
}

static void key_offered(void *context, struct slice key)
{
	key_note(context, key, true);
}

static int find_keys(struct zk_store *zs, zhandle_t *handle)
{
	if (!zs->cached)
		return list_keys(zs, handle);
	zs->cache.keys(zs->cache.context, key_offered, zs);
	return ZOK;
}

/* What fails for now is tried as a whole again: a claim may be made twice. */
static int take(struct zk_store *zs, struct err *err)
{
	int64_t deadline = clock_steady() + zs->patience;
	zhandle_t *handle;
	int code = ZOK;

	while ((handle = zk_link_reach(zs->link, deadline, err))) {
		code = make_path(zs, handle, zs->head);
		if (code == ZOK)
			code = claim(zs, handle);
		if (code == ZOK)
			code = find_keys(zs, handle);
		if (code == ZOK)
			return 0;
		if (zs->newer)
			return err_set(
				err, ERR_INVALID,
				"The registry '%s' in ZooKeeper has format %d, which a newer "
				"mesita wrote; this one reads formats up to %d",
				zs->root, zs->newer, STORE_FORMAT);
		if (!zk_is_passing(code) || clock_steady() >= deadline)
			return refused(zs, code, "open", err);
	}
	return ERR_IO;
}

static void zk_close(struct store_backend *backend)
{
	struct zk_store *zs = (struct zk_store *)backend;
	struct known_key *known, *next;

	zk_link_close(zs->link);
	HASH_ITER (hh, zs->known, known, next) {
		HASH_DEL(zs->known, known);
		free(known);
	}
	pthread_mutex_destroy(&zs->lock);
	zk_url_free(&zs->url);
	free(zs->head);
	free(zs->root);
	free(zs);
}

static const char *zk_holder(struct store_backend *backend)
{
	return ((const struct zk_store *)backend)->id;
}

static const char *zk_note_before(struct store_backend *backend)
{
	return ((const struct zk_store *)backend)->note_before;
}

static void zk_mark(struct store_backend *backend, char mark[STORE_MARK_MAX])
{
	const struct zk_store *zs = (const struct zk_store *)backend;

	mark_write(zs->id, zs->version, mark);
}

static bool zk_cached(struct store_backend *backend)
{
	return ((const struct zk_store *)backend)->cached;
}

static const struct store_backend_ops zk_ops = {
	.group_bytes = GROUP_BYTES_MAX,
	.write = zk_write,
	.load = zk_load,
	.holder = zk_holder,
	.note = zk_note,
	.note_before = zk_note_before,
	.mark = zk_mark,
	.cached = zk_cached,
	.close = zk_close,
};

int store_zookeeper_open(const struct store_options *options, struct store_backend **out,
			 struct err *err)
{
	struct zk_store *zs = xcalloc(1, sizeof(*zs));
	uint8_t uuid[UUID_BYTES];
	struct rng rng;
	int rv;

	zs->backend.ops = &zk_ops;
	zs->url = (struct zk_url){.servers = xstrdup(options->zookeeper->servers),
				  .path = xstrdup(options->path)};
	if (options->zookeeper->credentials)
		zs->url.credentials = xstrdup(options->zookeeper->credentials);
	zs->patience = options->patience;
	if (options->cache)
		zs->cache = *options->cache;
	zs->root = xstrdup(options->path);
	zs->head = xprintf("%s/head", zs->root);
	rng_seed(&rng, rng_entropy());
	uuid_make(&rng, uuid);
	uuid_format(uuid, zs->id);
	pthread_mutex_init(&zs->lock, NULL);
	zs->link = zk_link_open(&zs->url, options->zookeeper_timeout_ms, options->given_up);
	rv = take(zs, err);
	if (rv < 0) {
		zk_close(&zs->backend);
		return rv;
	}
	log_info("the registry is '%s' in ZooKeeper at %s", zs->root, zs->url.servers);
	*out = &zs->backend;
	return 0;
}
