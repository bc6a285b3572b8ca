/* See warm_table.h. A changed value stays in its place, so that who reads meanwhile comes to an
 * end. */
#include "master/follow/warm_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/table.h"

struct warm_pair {
	UT_hash_handle hh;
	struct slice value; /* heap */
	size_t key_len;
	char key[];
};

void warm_table_init(struct warm_table *table)
{
	table->pairs = NULL;
	list_init(&table->cursors);
}

static struct slice key_of(const struct warm_pair *pair)
{
	return (struct slice){pair->key, pair->key_len};
}

static void pair_remove(struct warm_table *table, struct warm_pair *pair)
{
	struct warm_cursor *cursor, *next;

	list_for_each (cursor, next, &table->cursors, link)
		if (cursor->next == pair)
			cursor->next = pair->hh.next;
	HASH_DEL(table->pairs, pair);
	free((void *)pair->value.data);
	free(pair);
}

static struct warm_pair *pair_add(struct warm_table *table, struct slice key)
{
	struct warm_pair *pair = xcalloc(1, sizeof(*pair) + key.len + 1);
	struct warm_cursor *cursor, *next;

	pair->key_len = key.len;
	memcpy(pair->key, key.data, key.len);
	HASH_ADD_KEYPTR(hh, table->pairs, pair->key, pair->key_len, pair);
	list_for_each (cursor, next, &table->cursors, link)
		if (!cursor->next)
			cursor->next = pair;
	return pair;
}

void warm_table_apply(struct warm_table *table, const struct store_op *op)
{
	struct warm_pair *pair;

	HASH_FIND(hh, table->pairs, op->key.data, op->key.len, pair);
	if (!op->value.data) {
		if (pair)
			pair_remove(table, pair);
		return;
	}
	if (!pair)
		pair = pair_add(table, op->key);
	free((void *)pair->value.data);
	pair->value = (struct slice){xmemdup(op->value.data, op->value.len), op->value.len};
}

void warm_table_clear(struct warm_table *table)
{
	struct warm_pair *pair, *next;

	HASH_ITER (hh, table->pairs, pair, next)
		pair_remove(table, pair);
}

void warm_table_keep(struct warm_table *table, bool (*keeps)(struct slice key))
{
	struct warm_pair *pair, *next;

	HASH_ITER (hh, table->pairs, pair, next)
		if (!keeps(key_of(pair)))
			pair_remove(table, pair);
}

struct slice warm_table_get(const struct warm_table *table, struct slice key)
{
	struct warm_pair *pair;

	HASH_FIND(hh, table->pairs, key.data, key.len, pair);
	return pair ? pair->value : (struct slice){NULL, 0};
}

size_t warm_table_count(const struct warm_table *table)
{
	return HASH_COUNT(table->pairs);
}

int warm_table_each(struct warm_table *table,
		    int (*each)(void *context, struct slice key, struct slice value), void *context)
{
	int rv = 0;

	for (struct warm_pair *pair = table->pairs; pair && rv == 0; pair = pair->hh.next)
		rv = each(context, key_of(pair), pair->value);
	return rv;
}

void warm_cursor_begin(struct warm_cursor *cursor, struct warm_table *table)
{
	cursor->next = table->pairs;
	list_append(&table->cursors, &cursor->link);
}

bool warm_cursor_next(struct warm_cursor *cursor, struct slice *key, struct slice *value)
{
	struct warm_pair *pair = cursor->next;

	if (!pair) {
		warm_cursor_end(cursor);
		return false;
	}
	cursor->next = pair->hh.next;
	*key = key_of(pair);
	*value = pair->value;
	return true;
}

void warm_cursor_end(struct warm_cursor *cursor)
{
	list_remove(&cursor->link);
	list_init(&cursor->link);
	cursor->next = NULL;
}
