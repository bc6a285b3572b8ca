/* Keys in a hash table, for tests and for masters that need not remember. Nothing
 * fails; loading sorts the matching keys. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/table.h"
#include "store/backend.h"

struct pair {
	UT_hash_handle hh;
	struct slice key;
	struct slice value;
	char data[]; /* both */
};

struct memory {
	struct store_backend backend;
	pthread_mutex_t lock;
	struct pair *pairs;
};

static void pair_remove(struct memory *memory, struct slice key)
{
	struct pair *pair;

	HASH_FIND(hh, memory->pairs, key.data, key.len, pair);
	if (pair) {
		HASH_DEL(memory->pairs, pair);
		free(pair);
	}
}

static void pair_add(struct memory *memory, const struct store_op *op)
{
	struct pair *pair = xmalloc(sizeof(*pair) + op->key.len + op->value.len + 1);

	memset(pair, 0, sizeof(*pair));
	pair->key = (struct slice){pair->data, op->key.len};
	pair->value = (struct slice){pair->data + op->key.len, op->value.len};
	memcpy(pair->data, op->key.data, op->key.len);
	memcpy(pair->data + op->key.len, op->value.data, op->value.len);
	HASH_ADD_KEYPTR(hh, memory->pairs, pair->data, pair->key.len, pair);
}

static int memory_write(struct store_backend *backend, const struct store_op *ops, size_t count,
			bool sync, struct err *err)
{
	struct memory *memory = (struct memory *)backend;

	pthread_mutex_lock(&memory->lock);
	for (size_t i = 0; i < count; i++) {
		pair_remove(memory, ops[i].key);
		if (ops[i].value.data)
			pair_add(memory, &ops[i]);
	}
	pthread_mutex_unlock(&memory->lock);
	return 0;
}

static int pair_order(const void *left, const void *right)
{
	const struct pair *a = *(struct pair *const *)left, *b = *(struct pair *const *)right;

	return slice_compare(a->key, b->key);
}

static int memory_load(struct store_backend *backend, const char *prefix,
		       int (*each)(void *context, struct slice key, struct slice value),
		       void *context, struct err *err)
{
	struct memory *memory = (struct memory *)backend;
	size_t length = strlen(prefix), count = 0;
	struct pair *pair;
	int rv = 0;

	pthread_mutex_lock(&memory->lock);
	struct pair **found = xcalloc(HASH_COUNT(memory->pairs) + 1, sizeof(*found));
	for (pair = memory->pairs; pair; pair = pair->hh.next) {
		if (pair->key.len >= length && memcmp(pair->key.data, prefix, length) == 0)
			found[count++] = pair;
	}
	qsort(found, count, sizeof(*found), pair_order);
	for (size_t i = 0; i < count && rv == 0; i++)
		rv = each(context, found[i]->key, found[i]->value);
	free(found);
	pthread_mutex_unlock(&memory->lock);
	return rv;
}

static void memory_close(struct store_backend *backend)
{
	struct memory *memory = (struct memory *)backend;
	struct pair *pair, *next;

	HASH_ITER (hh, memory->pairs, pair, next) {
		HASH_DEL(memory->pairs, pair);
		free(pair);
	}
	pthread_mutex_destroy(&memory->lock);
	free(memory);
}

static const struct store_backend_ops memory_ops = {
	.write = memory_write,
	.load = memory_load,
	.close = memory_close,
};

struct store_backend *store_memory_open(void)
{
	struct memory *memory = xcalloc(1, sizeof(*memory));

	memory->backend.ops = &memory_ops;
	pthread_mutex_init(&memory->lock, NULL);
	return &memory->backend;
}
