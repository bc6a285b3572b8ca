/* What the master remembers beyond the registry, as keys and values in memory: written by who
 * leads, copied by those that follow. Readers may go through it in pieces while it changes. */
#ifndef MASTER_FOLLOW_WARM_TABLE_H
#define MASTER_FOLLOW_WARM_TABLE_H

#include <stdbool.h>

#include "base/list.h"
#include "store/store.h"

struct warm_pair;

struct warm_table {
	struct warm_pair *pairs;
	struct list cursors;
};

/* A place in the table, before a pair that was not read yet. */
struct warm_cursor {
	struct list link;
	struct warm_pair *next; /* NULL: the end */
};

void warm_table_init(struct warm_table *table);
/* A value without data deletes the key. */
void warm_table_apply(struct warm_table *table, const struct store_op *op);
void warm_table_clear(struct warm_table *table);
/* Deletes the keys that it does not keep. */
void warm_table_keep(struct warm_table *table, bool (*keeps)(struct slice key));
/* Good until the table changes; data is NULL: it is not there. */
struct slice warm_table_get(const struct warm_table *table, struct slice key);
size_t warm_table_count(const struct warm_table *table);
/* Calls `each` for all pairs, in no order; a non-zero return stops and is returned. */
int warm_table_each(struct warm_table *table,
		    int (*each)(void *context, struct slice key, struct slice value),
		    void *context);

/* At the beginning. What changes behind the cursor is not read again; what is new comes at the
 * end. */
void warm_cursor_begin(struct warm_cursor *cursor, struct warm_table *table);
/* The next pair, good until the table changes; false: there is none, and the cursor has ended. */
bool warm_cursor_next(struct warm_cursor *cursor, struct slice *key, struct slice *value);
/* May be called again. */
void warm_cursor_end(struct warm_cursor *cursor);

#endif
