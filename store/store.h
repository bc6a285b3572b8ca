/* Store: a durable log of key-value operations behind one interface.
 *
 * Two classes: STORE_SYNCED batches must be durable
 * before anything follows from them; STORE_BEHIND batches are written behind.
 * Batches are applied in the order of store_write(), each all or nothing; a
 * SYNCED batch is synced (and with it every batch before it); many waiting
 * batches share one sync. Writing happens on the store's own thread; the loop
 * learns of progress by `notify` (called on that thread; it should wake the loop,
 * uv_async_send for instance) and then asks store_durable().
 *
 * Durable means: on the disk, all that was written before included.
 *
 * A write that fails is permanent: store_failed() tells, the owner should exit. What is in
 * ZooKeeper belongs to who opened it last: the writes of those before fail.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/memory/buf.h"
#include "base/zk/zk_url.h"

enum store_class { STORE_BEHIND, STORE_SYNCED };

struct store_op {
	struct slice key;
	struct slice value; /* data == NULL: delete the key */
};

struct store;

/* What somebody keeps of a store that one of several may write: used in place of it if nothing was
 * written since it had that mark. */
#define STORE_MARK_MAX 128 /* bytes of a mark, with its '\0' */
struct store_cache {
	struct slice mark; /* data == NULL: there is none */
	void (*keys)(void *context, void (*each)(void *context, struct slice key),
		     void *each_context);
	struct slice (*value)(void *context, struct slice key); /* good while it is loaded */
	void *context;
};

struct store_options {
	const char *backend;		 /* "leveldb", "memory" or "zookeeper" */
	const char *path;		 /* directory, or node of ZooKeeper; made if missing */
	bool repair;			 /* go on with what is left of a damaged one (leveldb) */
	size_t buffer;			 /* bytes gathered before a table is made of them, in
					    memory and in the log; 0 = 1 MiB */
	const struct zk_url *zookeeper;	 /* the servers, and who we are to them (zookeeper) */
	int zookeeper_timeout_ms;	 /* of the session */
	const struct store_cache *cache; /* copied; its context is asked until it is loaded; or NULL
					   (zookeeper) */
	int64_t patience; /* how long servers may be out of reach until opening, loading or a
			     write fails (zookeeper) */
	const atomic_bool
		*given_up; /* set by the owner: they are not waited for any more; or NULL */
	void (*notify)(void *context); /* may be NULL */
	void *context;
};

/* ERR_CORRUPT: what is stored is damaged, and would be lost in part; the text says how to go on. */
int store_open(const struct store_options *options, struct store **out, struct err *err);
/* Writes what is queued, syncs, frees. */
void store_close(struct store *store);

/* Of a store that one of several may write (zookeeper): a name for this opening of it; NULL: there
 * is none. */
const char *store_holder(const struct store *store);
/* Such a store has a note beside its keys, of less than STORE_NOTE_MAX bytes and without line ends.
 * It stays until it is replaced, whoever opens the store meanwhile. Never blocks; returns the
 * note's number, from 1, rising by 1. Of notes that wait only the last is written. */
#define STORE_NOTE_MAX 1024
uint64_t store_note(struct store *store, const char *text);
/* The number of the note that is durable; 0: it is still that of before. */
uint64_t store_noted(const struct store *store);
/* What it said when the store was opened; "": nothing; NULL: there are no notes. */
const char *store_note_before(const struct store *store);

/* A mark of the keys and values that are there when the batch of the number that is returned, and
 * none after it, is written; every write of anybody gives another one. "": such a store it is not.
 */
uint64_t store_mark(struct store *store, char mark[STORE_MARK_MAX]);
/* Whether the cache was good when the store was opened. */
bool store_is_cached(const struct store *store);

/* Calls `each` for every key with the prefix, in byte order; a non-zero return
 * stops and is returned. Sees what store_write() was given before only after it
 * was applied; meant for start-up. */
int store_load(struct store *store, const char *prefix,
	       int (*each)(void *context, struct slice key, struct slice value), void *context,
	       struct err *err);

/* Queues a batch (copied). Returns its number, from 1, rising by 1. Never blocks
 * on the disk; memory of the queue is bounded only by the caller's rate. */
uint64_t store_write(struct store *store, enum store_class class, const struct store_op *ops,
		     size_t count);

/* Blocks until the batch of that number, of class SYNCED, is durable; ERR_IO if it cannot be. For
 * start-up, where no loop waits. */
int store_wait(struct store *store, uint64_t number, struct err *err);

/* The highest number such that it and all before it are applied / synced. */
uint64_t store_applied(const struct store *store);
uint64_t store_durable(const struct store *store);
/* Bytes on the disk, as of some seconds ago. */
uint64_t store_size(const struct store *store);
/* NULL, or the text of the failure that ended writing. */
const char *store_failed(const struct store *store);

#endif
