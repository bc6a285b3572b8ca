/* The registry as it is told to masters that follow: a part of the warm table. Who is elected with
 * such a copy need not read what ZooKeeper holds, if nothing was written there since.
 *
 * Only what is durable is in the copy, together with the store's mark of it (store_mark()). As a
 * cache it is worth nothing unless ZooKeeper confirms the mark. */
#ifndef MASTER_FOLLOW_REGISTRY_COPY_H
#define MASTER_FOLLOW_REGISTRY_COPY_H

#include "master/follow/warm_table.h"
#include "store/store.h"

/* Batches that are on their way to the registry. */
struct registry_copy;

struct registry_copy *registry_copy_create(struct warm_table *table); /* the owner's */
void registry_copy_free(struct registry_copy *copy);		      /* or NULL */
/* Was given to the store under that number. */
void registry_copy_wrote(struct registry_copy *copy, uint64_t number, const struct store_op *ops,
			 size_t count);
/* All up to that number is durable, and has that mark: the table is changed so. `tell` gets the
 * changes of the table, once. Nothing is done if this is known. */
void registry_copy_durable(struct registry_copy *copy, uint64_t number, const char *mark,
			   void (*tell)(void *context, const struct store_op *ops, size_t count),
			   void *context);

/* ---- in the table of one that begins to lead --------------------------------------------------
 */

/* A pair of the registry that was read. */
void registry_copy_put(struct warm_table *table, struct slice key, struct slice value);
/* Whether the key of the table is one of this copy, not one that is written behind. */
bool registry_copy_is(struct slice key);
/* Takes the copy out of the table, or leaves nothing else in it. */
void registry_copy_drop(struct warm_table *table);
void registry_copy_keep(struct warm_table *table);
/* For store_open(); `out->mark.data` is NULL if there is no copy. */
void registry_copy_offer(struct warm_table *table, struct store_cache *out);

#endif
