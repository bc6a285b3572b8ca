/* What the parts of the backend of ZooKeeper share. Internal to store/zookeeper/. */
#ifndef STORE_ZOOKEEPER_ZK_STORE_H
#define STORE_ZOOKEEPER_ZK_STORE_H

#include <pthread.h>

#include "base/random.h"
#include "base/table.h"
#include "store/backend.h"
#include "store/zookeeper/zk_link.h"

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

/* Keys that are there. Under the lock. */
struct known_key *known_find(struct zk_store *zs, struct slice key);
void known_note(struct zk_store *zs, struct slice key, bool there);

/* What `head` says: ours with a number, or somebody else's. */
struct head_seen {
	char id[256];
	char note[STORE_NOTE_MAX];
	bool ours;
	uint64_t written;
	int version;
	int format; /* 0: it holds something else */
};

/* Heap. */
char *zk_head_text(const struct zk_store *zs, uint64_t written);
/* What it says now, whoever wrote it. A code. */
int zk_head_read(struct zk_store *zs, zhandle_t *handle, struct head_seen *seen);
/* The mark that a version of `head` is. */
void zk_mark_text(const char *id, int version, char mark[STORE_MARK_MAX]);
/* Whether nothing was written since the cache was made: each write gives `head` a version more, or,
 * of one who opened the store, another id. */
bool zk_cache_good(const struct zk_store *zs, const struct head_seen *seen);

/* ERR_IO, ERR_STATE. */
int zk_refused(const struct zk_store *zs, int code, const char *what, struct err *err);
int zk_deposed(const struct zk_store *zs, struct err *err);

/* Of the backend's table. */
int zk_write(struct store_backend *backend, const struct store_op *ops, size_t count, bool sync,
	     struct err *err);
int zk_note(struct store_backend *backend, const char *text, struct err *err);

#endif
