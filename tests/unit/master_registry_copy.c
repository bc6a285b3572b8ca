/* The registry in the table of masters that follow. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/buf.h"
#include "master/follow/registry_copy.h"

static struct warm_table table;
static struct registry_copy *copy;
static struct buf told;

static void set_up(void)
{
	warm_table_init(&table);
	copy = registry_copy_create(&table);
	told = (struct buf)BUF_INIT;
}

static void tear_down(void)
{
	registry_copy_free(copy);
	warm_table_clear(&table);
	buf_free(&told);
}

TestSuite(registry_copy, .init = set_up, .fini = tear_down);

static struct slice text(const char *text)
{
	return (struct slice){text, text ? strlen(text) : 0};
}

static void tell(void *context, const struct store_op *ops, size_t count)
{
	(void)context;
	for (size_t i = 0; i < count; i++)
		buf_printf(&told, "%.*s=%.*s;", (int)ops[i].key.len, ops[i].key.data,
			   ops[i].value.data ? (int)ops[i].value.len : 1,
			   ops[i].value.data ? ops[i].value.data : "-");
}

static void wrote(uint64_t number, const char *key, const char *value)
{
	const struct store_op op = {text(key), text(value)};

	registry_copy_wrote(copy, number, &op, 1);
}

static void durable(uint64_t number, const char *mark, const char *expected)
{
	buf_clear(&told);
	registry_copy_durable(copy, number, mark, tell, NULL);
	cr_expect_str_eq(told.len ? told.data : "", expected);
}

static void list_key(void *context, struct slice key)
{
	buf_printf(context, "%.*s;", (int)key.len, key.data);
}

static void expect_offered(const char *mark, const char *keys)
{
	struct store_cache cache;
	struct buf list = BUF_INIT;

	registry_copy_offer(&table, &cache);
	if (mark)
		cr_expect(cache.mark.len == strlen(mark) &&
			  !memcmp(cache.mark.data, mark, strlen(mark)));
	else
		cr_expect_null(cache.mark.data);
	cache.keys(cache.context, list_key, &list);
	cr_expect_str_eq(list.len ? list.data : "", keys);
	buf_free(&list);
}

Test(registry_copy, tells_what_is_durable_and_its_mark)
{
	durable(0, "m0", "\x02=m0;");
	wrote(1, "a", "1");
	wrote(2, "b", "2");
	wrote(3, "c", "3");
	expect_offered("m0", "");
	durable(2, "m2",
		"\x01"
		"a=1;\x01"
		"b=2;\x02=m2;");
	expect_offered("m2", "a;b;");
	durable(2, "m2", "");
	/* A note alone. */
	durable(2, "m3", "\x02=m3;");
	wrote(4, "a", NULL);
	durable(4, "m5",
		"\x01"
		"c=3;\x01"
		"a=-;\x02=m5;");
	expect_offered("m5", "b;c;");
	/* What is known already does not come back. */
	durable(3, "m4", "");
	expect_offered("m5", "b;c;");
}

Test(registry_copy, keeps_what_it_was_given)
{
	char key[] = "key", value[] = "value";
	struct store_cache cache;
	struct slice found;

	wrote(1, key, value);
	memset(key, 'x', 3);
	memset(value, 'x', 5);
	durable(1, "m", "\x01key=value;\x02=m;");
	registry_copy_offer(&table, &cache);
	found = cache.value(cache.context, text("key"));
	cr_expect_eq(found.len, 5);
	cr_expect_eq(memcmp(found.data, "value", 5), 0);
	cr_expect_null(cache.value(cache.context, text("xxx")).data);
}

Test(registry_copy, an_empty_value_is_one)
{
	const struct store_op op = {text("a"), {"", 0}};

	registry_copy_wrote(copy, 1, &op, 1);
	durable(1, "m",
		"\x01"
		"a=;\x02=m;");
	expect_offered("m", "a;");
}

Test(registry_copy, lives_beside_what_is_written_behind)
{
	const struct store_op behind = {text("task/f/1"), text("t")};

	warm_table_apply(&table, &behind);
	expect_offered(NULL, "");
	registry_copy_put(&table, text("agent/1"), text("a"));
	durable(0, "m", "\x02=m;");
	cr_expect_eq(warm_table_count(&table), 3);
	expect_offered("m", "agent/1;");
	cr_expect_not(registry_copy_is(behind.key));
	cr_expect_not(registry_copy_is(text("")));

	registry_copy_keep(&table);
	cr_expect_eq(warm_table_count(&table), 2);
	expect_offered("m", "agent/1;");
	warm_table_apply(&table, &behind);
	registry_copy_drop(&table);
	cr_expect_eq(warm_table_count(&table), 1);
	cr_expect_eq(warm_table_get(&table, behind.key).len, 1);
	expect_offered(NULL, "");
}

Test(registry_copy, may_be_over_with_batches_on_their_way)
{
	wrote(1, "a", "1");
	registry_copy_free(NULL);
}
