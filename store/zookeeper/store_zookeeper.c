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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/memory/arena.h"
#include "base/time/clock.h"
#include "store/format.h"
#include "store/zookeeper/zk_names.h"
#include "store/zookeeper/zk_store.h"

#define CLAIM_TRIES 100 /* others who claim it at the same time */
/* ZooKeeper takes no request of more than 1 MiB. Groups of batches stay well below; what is larger
 * is one batch, and only that goes in parts (zk_writing.c). */
#define GROUP_BYTES_MAX (256 * 1024)

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
			code = zk_head_read(zs, handle, &seen);
		if (code == ZOK)
			return seen.ours ? 0 : zk_deposed(zs, err);
		if (!zk_is_passing(code) || clock_steady() >= deadline)
			return zk_refused(zs, code, "read", err);
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
			known_note(zs, (struct slice){key.data, key.len}, true);
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

static int claim_try(struct zk_store *zs, zhandle_t *handle, const struct head_seen *seen,
		     struct Stat *stat)
{
	char *text;
	int code;

	snprintf(zs->note, sizeof(zs->note), "%s", seen->note);
	text = zk_head_text(zs, 1);
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
		code = zk_head_read(zs, handle, &seen);
		zs->newer = code == ZOK && seen.format > STORE_FORMAT ? seen.format : 0;
		if (zs->newer)
			code = ZINVALIDSTATE;
		if (code == ZOK)
			code = claim_try(zs, handle, &seen, &stat);
	}
	if (code != ZOK)
		return code;
	memcpy(zs->note_before, zs->note, sizeof(zs->note));
	zs->cached = zs->cache_counts = zk_cache_good(zs, &seen);
	zs->written = 1;
	zs->version = stat.version;
	return ZOK;
}

static void key_offered(void *context, struct slice key)
{
	known_note(context, key, true);
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
			return zk_refused(zs, code, "open", err);
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

	zk_mark_text(zs->id, zs->version, mark);
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
