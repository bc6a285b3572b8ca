#include "store/groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/table.h"

struct store_entry {
	UT_hash_handle hh;
	size_t key_len;
	size_t value_len;
	bool deletes;
	char data[]; /* the key, then the value */
};

void store_group_free(struct store_group *group)
{
	struct store_entry *entry, *next;

	list_remove(&group->link);
	HASH_ITER (hh, group->entries, entry, next) {
		HASH_DEL(group->entries, entry);
		free(entry);
	}
	free(group);
}

void store_groups_free(struct list *groups)
{
	while (!list_empty(groups))
		store_group_free(list_first(groups, struct store_group, link));
}

static void group_put(struct store_group *group, const struct store_op *op)
{
	struct store_entry *old, *entry = xmalloc(sizeof(*entry) + op->key.len + op->value.len + 1);
	unsigned hash;

	memset(entry, 0, sizeof(*entry));
	entry->key_len = op->key.len;
	entry->deletes = op->value.data == NULL;
	entry->value_len = entry->deletes ? 0 : op->value.len;
	if (op->key.len > 0)
		memcpy(entry->data, op->key.data, op->key.len);
	if (entry->value_len > 0)
		memcpy(entry->data + op->key.len, op->value.data, op->value.len);
	HASH_VALUE(entry->data, entry->key_len, hash);
	HASH_FIND_BYHASHVALUE(hh, group->entries, entry->data, entry->key_len, hash, old);
	if (old) {
		HASH_DEL(group->entries, old);
		group->bytes -= old->key_len + old->value_len;
		free(old);
	}
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, group->entries, entry->data, entry->key_len, hash, entry);
	group->bytes += entry->key_len + entry->value_len;
}

void store_groups_add(struct list *groups, size_t group_bytes, uint64_t number,
		      enum store_class class, const struct store_op *ops, size_t count)
{
	struct store_group *group =
		list_empty(groups) ? NULL : list_entry(groups->prev, struct store_group, link);

	if (!group || group->bytes >= (group_bytes ? group_bytes : GROUP_BYTES)) {
		group = xcalloc(1, sizeof(*group));
		list_append(groups, &group->link);
	}
	for (size_t i = 0; i < count; i++)
		group_put(group, &ops[i]);
	group->last = number;
	group->synced |= class == STORE_SYNCED;
}

bool store_groups_take(struct list *from, struct list *to)
{
	struct store_group *group, *next;
	bool sync = false;

	list_init(to);
	if (list_empty(from))
		return false;
	*to = *from;
	to->next->prev = to->prev->next = to;
	list_init(from);
	list_for_each (group, next, to, link)
		sync |= group->synced;
	return sync;
}

struct store_op *store_group_ops(const struct store_group *group, size_t *count)
{
	struct store_op *ops;
	struct store_entry *entry;

	*count = HASH_COUNT(group->entries);
	ops = xcalloc(*count + 1, sizeof(*ops));
	for (entry = group->entries; entry; entry = entry->hh.next, ops++) {
		ops->key = (struct slice){entry->data, entry->key_len};
		if (!entry->deletes)
			ops->value = (struct slice){entry->data + entry->key_len, entry->value_len};
	}
	return ops - *count;
}
