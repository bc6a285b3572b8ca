/* The stores of both lines: a registry of before, in which everything was, is taken apart. */
#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log/log.h"
#include "base/memory/arena.h"
#include "master/store_lines.h"

static char directory[] = "/tmp/mesita-lines-XXXXXX";
static char warm_path[64], registry_path[64];
static struct store_options options[STORE_LINES];

static void make_directory(void)
{
	cr_assert_not_null(mkdtemp(directory));
	log_setup(LOG_LEVEL_ERROR, 2);
	snprintf(warm_path, sizeof(warm_path), "%s/warm", directory);
	snprintf(registry_path, sizeof(registry_path), "%s/registry", directory);
	options[LINE_WARM].path = warm_path;
	options[LINE_REGISTRY].path = registry_path;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(path);
}

static void remove_directory(void)
{
	nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

TestSuite(master_store_lines, .init = make_directory, .fini = remove_directory);

static void put_all(struct store *store, const char *const *keys, const char *value)
{
	struct err err;
	uint64_t last = 0;

	for (; *keys; keys++) {
		struct store_op op = {slice_of(*keys), slice_of(value)};

		last = store_write(store, STORE_SYNCED, &op, 1);
	}
	cr_assert_eq(store_wait(store, last, &err), 0, "%s", err.text);
}

static int append_pair(void *context, struct slice key, struct slice value)
{
	buf_printf(context, "%.*s=%.*s;", (int)key.len, key.data, (int)value.len, value.data);
	return 0;
}

static void expect_lines(const char *warm, const char *registry)
{
	const char *const expected[] = {[LINE_WARM] = warm, [LINE_REGISTRY] = registry};
	struct store *stores[STORE_LINES];
	struct err err;

	cr_assert_eq(store_lines_open(options, stores, &err), 0, "%s", err.text);
	for (int i = 0; i < STORE_LINES; i++) {
		struct buf text = BUF_INIT;

		cr_assert_eq(store_load(stores[i], "", append_pair, &text, &err), 0);
		buf_putc(&text, '\0');
		cr_expect_str_eq(text.data, expected[i]);
		buf_free(&text);
		/* The core counts its batches from 1. */
		cr_expect_eq(store_write(stores[i], STORE_BEHIND, NULL, 0), 1);
		store_close(stores[i]);
	}
}

static void make_old_registry(void)
{
	static const char *const keys[] = {
		"agent/a",  "arrival/a",   "completed/f/1",	   "executor/a/f/e",
		"filter/1", "framework/f", "given-role/r",	   "given/f/r",
		"gone/g",   "later/x",	   "maintenance/schedule", "master",
		"quota/r",  "task/f/t",	   "unreachable/u",	   "weight/r",
		NULL};
	struct store *store;
	struct err err;

	cr_assert_eq(store_open(&options[LINE_REGISTRY], &store, &err), 0, "%s", err.text);
	put_all(store, keys, "old");
	store_close(store);
}

#define OLD_WARM                                                                                   \
	"arrival/a=old;completed/f/1=old;executor/a/f/e=old;filter/1=old;framework/f=old;"         \
	"given-role/r=old;given/f/r=old;task/f/t=old;"
#define OLD_REGISTRY                                                                               \
	"agent/a=old;gone/g=old;later/x=old;maintenance/schedule=old;master=old;quota/r=old;"      \
	"unreachable/u=old;weight/r=old;"

Test(master_store_lines, new_ones_are_empty)
{
	expect_lines("", "");
}

Test(master_store_lines, what_is_written_behind_leaves_a_registry_of_before)
{
	make_old_registry();
	expect_lines(OLD_WARM, OLD_REGISTRY);
	expect_lines(OLD_WARM, OLD_REGISTRY);
}

/* Killed after the first half of the move. */
Test(master_store_lines, a_move_that_was_cut_off_is_finished)
{
	static const char *const moved[] = {"framework/f", "task/f/t", NULL};
	struct store *store;
	struct err err;

	make_old_registry();
	cr_assert_eq(store_open(&options[LINE_WARM], &store, &err), 0, "%s", err.text);
	put_all(store, moved, "old");
	store_close(store);
	expect_lines(OLD_WARM, OLD_REGISTRY);
}

Test(master_store_lines, an_open_store_is_not_opened_again)
{
	struct store *stores[STORE_LINES], *again[STORE_LINES];
	struct err err;

	cr_assert_eq(store_lines_open(options, stores, &err), 0);
	cr_expect_eq(store_lines_open(options, again, &err), ERR_EXISTS);
	cr_expect_null(again[LINE_WARM]);
	cr_expect_null(again[LINE_REGISTRY]);
	store_close(stores[LINE_WARM]);
	/* The first one can be opened, the second cannot: the first is closed. */
	cr_expect_eq(store_lines_open(options, again, &err), ERR_EXISTS);
	store_close(stores[LINE_REGISTRY]);
	cr_assert_eq(store_lines_open(options, stores, &err), 0, "%s", err.text);
	store_close(stores[LINE_WARM]);
	store_close(stores[LINE_REGISTRY]);
}
