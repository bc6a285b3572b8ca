/* Batches that wait to be written, merged into groups: what of the store needs no thread and no
 * disk. The caller guards it. Internal to store/ and to models of it.
 *
 * A group is a table of keys in which a later value replaces an earlier one, so a stalled disk
 * costs memory by live key and not by write. As whole batches are merged, a group is all or
 * nothing and so is each batch.
 */
#ifndef STORE_GROUPS_H
#define STORE_GROUPS_H

#include "base/list.h"
#include "store/store.h"

/* A group above this takes no more batches: bounds what the backend handles at
 * once, and the time until the next progress is told. */
#define GROUP_BYTES (1024 * 1024)

struct store_group {
	struct list link;
	struct store_entry *entries; /* by key */
	size_t bytes;
	uint64_t last; /* number of its last batch */
	bool synced;   /* holds a SYNCED batch */
};

/* Merges a batch (copied) into the last group of the list, or makes another if that has
 * `group_bytes` (0 = GROUP_BYTES). */
void store_groups_add(struct list *groups, size_t group_bytes, uint64_t number,
		      enum store_class class, const struct store_op *ops, size_t count);
/* Moves all groups of `from`, oldest first, to `to`, which is overwritten. True: they must be
 * synced with the last of them. */
bool store_groups_take(struct list *from, struct list *to);
/* The operations, each key once, in a heap array; they point into the group. */
struct store_op *store_group_ops(const struct store_group *group, size_t *count);
/* Also takes it out of its list. */
void store_group_free(struct store_group *group);
void store_groups_free(struct list *groups);

#endif
