/* What a store's writer thread needs of the thing that keeps the keys. Internal
 * to store/ (and to its tests, which bring a backend that fails on demand).
 *
 * write() is called by one thread at a time; load() may run beside it on another.
 */
#ifndef STORE_BACKEND_H
#define STORE_BACKEND_H

#include "store/store.h"

struct store_backend;

struct store_backend_ops {
	size_t group_bytes; /* a group above this takes no more batches; 0 = GROUP_BYTES */
	/* Applies all operations or none; no key occurs twice. With `sync` this and
	 * all that was written before is on the disk when it returns 0; `count` may
	 * then be 0. */
	int (*write)(struct store_backend *backend, const struct store_op *ops, size_t count,
		     bool sync, struct err *err);
	int (*load)(struct store_backend *backend, const char *prefix,
		    int (*each)(void *context, struct slice key, struct slice value), void *context,
		    struct err *err);
	uint64_t (*size)(struct store_backend *backend); /* bytes on the disk; NULL: none */
	/* See store_holder(), store_note() and store_note_before(). NULL: several cannot share it.
	 * note() is called as write() is, and what it wrote lasts when it returns 0. */
	const char *(*holder)(struct store_backend *backend);
	int (*note)(struct store_backend *backend, const char *text, struct err *err);
	const char *(*note_before)(struct store_backend *backend);
	/* Of such, too: the mark of what is written so far, see store_mark(), by the thread that
	 * writes; and store_is_cached(). */
	void (*mark)(struct store_backend *backend, char mark[STORE_MARK_MAX]);
	bool (*cached)(struct store_backend *backend);
	void (*close)(struct store_backend *backend); /* frees it */
};

struct store_backend {
	const struct store_backend_ops *ops;
};

int store_leveldb_open(const struct store_options *options, struct store_backend **out,
		       struct err *err);
struct store_backend *store_memory_open(void);
int store_zookeeper_open(const struct store_options *options, struct store_backend **out,
			 struct err *err);

/* A store over `backend`, which it owns from now on, also when this fails. */
int store_open_backend(struct store_backend *backend, void (*notify)(void *context), void *context,
		       struct store **out, struct err *err);

#endif
