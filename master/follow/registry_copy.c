/* See registry_copy.h. */
#include "master/follow/registry_copy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"

/* No key that is written behind begins so. */
#define PREFIX '\x01'
#define MARK_KEY "\x02"

struct registry_batch_out {
	struct list link;
	uint64_t number;
	struct arena arena; /* of the keys and values */
	struct store_op *ops;
	size_t count;
};

struct registry_copy {
	struct warm_table *table;
	struct list batches; /* not durable yet; oldest first */
	uint64_t told;	     /* number of the last one that is in the table */
	char mark[STORE_MARK_MAX];
};

struct registry_copy *registry_copy_create(struct warm_table *table)
{
	struct registry_copy *copy = xcalloc(1, sizeof(*copy));

	copy->table = table;
	list_init(&copy->batches);
	return copy;
}

static void batch_free(struct registry_batch_out *batch)
{
	list_remove(&batch->link);
	arena_free(&batch->arena);
	free(batch);
}

void registry_copy_free(struct registry_copy *copy)
{
	struct registry_batch_out *batch, *next;

	if (!copy)
		return;
	list_for_each (batch, next, &copy->batches, link)
		batch_free(batch);
	free(copy);
}

static struct slice key_in_table(struct arena *arena, struct slice key)
{
	char *name = arena_take(arena, key.len + 1);

	name[0] = PREFIX;
	if (key.len)
		memcpy(name + 1, key.data, key.len);
	return (struct slice){name, key.len + 1};
}

void registry_copy_wrote(struct registry_copy *copy, uint64_t number, const struct store_op *ops,
			 size_t count)
{
	struct registry_batch_out *batch = xcalloc(1, sizeof(*batch));

	batch->number = number;
	batch->count = count;
	batch->ops = arena_take(&batch->arena, count * sizeof(*ops));
	for (size_t i = 0; i < count; i++) {
		const struct slice *value = &ops[i].value;

		batch->ops[i].key = key_in_table(&batch->arena, ops[i].key);
		batch->ops[i].value = *value;
		if (value->data)
			batch->ops[i].value.data =
				arena_memdup(&batch->arena, value->data, value->len);
	}
	list_append(&copy->batches, &batch->link);
}

void registry_copy_durable(struct registry_copy *copy, uint64_t number, const char *mark,
			   void (*tell)(void *context, const struct store_op *ops, size_t count),
			   void *context)
{
	const struct store_op marking = {{MARK_KEY, 1}, {mark, strlen(mark)}};
	struct registry_batch_out *batch, *next;

	if (!strcmp(copy->mark, mark) || number < copy->told)
		return;
	list_for_each (batch, next, &copy->batches, link) {
		if (batch->number > number)
			break;
		/* Until the mark is told, too, nobody goes by what is half of it. */
		for (size_t i = 0; i < batch->count; i++)
			warm_table_apply(copy->table, &batch->ops[i]);
		tell(context, batch->ops, batch->count);
		batch_free(batch);
	}
	warm_table_apply(copy->table, &marking);
	tell(context, &marking, 1);
	snprintf(copy->mark, sizeof(copy->mark), "%s", mark);
	copy->told = number;
}

/* ---- who begins to lead -----------------------------------------------------------------------
 */

void registry_copy_put(struct warm_table *table, struct slice key, struct slice value)
{
	struct arena arena = {0};
	const struct store_op op = {key_in_table(&arena, key), value};

	warm_table_apply(table, &op);
	arena_free(&arena);
}

bool registry_copy_is(struct slice key)
{
	return key.len > 0 && (key.data[0] == PREFIX || key.data[0] == MARK_KEY[0]);
}

static bool is_written_behind(struct slice key)
{
	return !registry_copy_is(key);
}

void registry_copy_drop(struct warm_table *table)
{
	warm_table_keep(table, is_written_behind);
}

void registry_copy_keep(struct warm_table *table)
{
	warm_table_keep(table, registry_copy_is);
}

static struct slice offered_value(void *context, struct slice key)
{
	struct arena arena = {0};
	struct slice value = warm_table_get(context, key_in_table(&arena, key));

	arena_free(&arena);
	return value;
}

struct offering {
	void (*each)(void *context, struct slice key);
	void *context;
};

static int offer_key(void *context, struct slice key, struct slice value)
{
	const struct offering *offering = context;

	(void)value;
	if (key.len > 0 && key.data[0] == PREFIX)
		offering->each(offering->context, (struct slice){key.data + 1, key.len - 1});
	return 0;
}

static void offered_keys(void *context, void (*each)(void *context, struct slice key),
			 void *each_context)
{
	struct offering offering = {each, each_context};

	warm_table_each(context, offer_key, &offering);
}

void registry_copy_offer(struct warm_table *table, struct store_cache *out)
{
	*out = (struct store_cache){
		.mark = warm_table_get(table, (struct slice){MARK_KEY, 1}),
		.keys = offered_keys,
		.value = offered_value,
		.context = table,
	};
}
