/* See store_zookeeper_rig.h. */
#include "tests/unit/store_zookeeper_rig.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/time/clock.h"

struct zk_url url = {.servers = (char *)"nowhere:1"};
struct err err;
atomic_bool given_up;

void reset_zookeeper(void)
{
	zookeeper_fake_reset();
	given_up = false;
	url.credentials = NULL;
}

int try_open_with(const struct store_cache *cache, int64_t patience, struct store_backend **out)
{
	const struct store_options options = {
		.backend = "zookeeper",
		.path = ROOT,
		.zookeeper = &url,
		.zookeeper_timeout_ms = 1000,
		.patience = patience,
		.cache = cache,
		.given_up = &given_up,
	};

	err.text[0] = '\0';
	return store_zookeeper_open(&options, out, &err);
}

int try_open(int64_t patience, struct store_backend **out)
{
	return try_open_with(NULL, patience, out);
}

struct store_backend *open_store(void)
{
	struct store_backend *backend;

	cr_assert_eq(try_open(10 * SECOND, &backend), 0, "%s", err.text);
	return backend;
}

int write_one(struct store_backend *b, const char *key, const char *value)
{
	const struct store_op op = {
		.key = {key, strlen(key)},
		.value = {value, value ? strlen(value) : 0},
	};

	err.text[0] = '\0';
	return b->ops->write(b, &op, 1, true, &err);
}

int append_pair(void *context, struct slice key, struct slice value)
{
	buf_printf(context, "%.*s=%.*s;", (int)key.len, key.data, (int)value.len, value.data);
	return 0;
}

void expect_all(struct store_backend *b, const char *prefix, const char *expected)
{
	struct buf text = BUF_INIT;

	cr_assert_eq(b->ops->load(b, prefix, append_pair, &text, &err), 0, "%s", err.text);
	cr_expect_str_eq(text.data ? text.data : "", expected);
	buf_free(&text);
}
