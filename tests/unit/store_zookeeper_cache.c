/* A registry in ZooKeeper is taken from a cache if nothing was written there since, and only then.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "base/time/clock.h"
#include "tests/unit/store_zookeeper_rig.h"

TestSuite(store_zookeeper_cache, .init = reset_zookeeper, .fini = reset_zookeeper);

static struct {
	char mark[STORE_MARK_MAX];
	int asked; /* for values */
} cache;

static void cached_keys(void *context, void (*each)(void *context, struct slice key),
			void *each_context)
{
	(void)context;
	each(each_context, (struct slice){"b", 1});
	each(each_context, (struct slice){"a", 1});
}

static struct slice cached_value(void *context, struct slice key)
{
	(void)context;
	cache.asked++;
	return *key.data == 'a' ? (struct slice){"", 0} : (struct slice){"two", 3};
}

static struct store_backend *open_with_cache(void)
{
	const struct store_cache offered = {
		.mark = {cache.mark, strlen(cache.mark)},
		.keys = cached_keys,
		.value = cached_value,
	};
	struct store_backend *backend;

	cache.asked = 0;
	cr_assert_eq(try_open_with(&offered, SECOND, &backend), 0, "%s", err.text);
	return backend;
}

/* "a" and "b" are there, and `cache.mark` is of that. */
static struct store_backend *write_two(void)
{
	struct store_backend *b = open_store();

	write_one(b, "a", "");
	write_one(b, "b", "two");
	b->ops->mark(b, cache.mark);
	return b;
}

Test(store_zookeeper_cache, what_nobody_changed_is_taken_from_a_cache)
{
	struct store_backend *b = write_two();
	int requests;

	b->ops->close(b);
	requests = zookeeper_fake.requests;
	b = open_with_cache();
	cr_expect(b->ops->cached(b));
	expect_all(b, "", "a=;b=two;");
	expect_all(b, "b", "b=two;");
	cr_expect_eq(cache.asked, 3);
	/* Neither a bucket was listed nor a node read. */
	cr_expect_leq(zookeeper_fake.requests - requests, 8);

	/* It knows what is there, and what it writes counts from then on. */
	cr_expect_eq(write_one(b, "a", "anew"), 0, "%s", err.text);
	cr_expect_eq(write_one(b, "b", NULL), 0, "%s", err.text);
	cr_expect_eq(write_one(b, "c", "three"), 0, "%s", err.text);
	expect_all(b, "", "a=anew;c=three;");
	cr_expect_eq(cache.asked, 3);
	b->ops->close(b);
	b = open_store();
	expect_all(b, "", "a=anew;c=three;");
	b->ops->close(b);
}

static void expect_cache_refused(const char *expected)
{
	struct store_backend *b = open_with_cache();

	cr_expect_not(b->ops->cached(b));
	expect_all(b, "", expected);
	cr_expect_eq(cache.asked, 0);
	b->ops->close(b);
}

Test(store_zookeeper_cache, a_cache_is_over_with_the_next_write)
{
	struct store_backend *b = write_two();

	write_one(b, "b", "anew");
	b->ops->close(b);
	expect_cache_refused("a=;b=anew;");
}

Test(store_zookeeper_cache, a_cache_is_over_with_the_next_note)
{
	struct store_backend *b = write_two();

	cr_assert_eq(b->ops->note(b, "something", &err), 0);
	b->ops->close(b);
	expect_cache_refused("a=;b=two;");
}

Test(store_zookeeper_cache, a_cache_is_over_with_the_next_opening)
{
	struct store_backend *b = write_two();

	b->ops->close(b);
	b = open_store();
	b->ops->close(b);
	expect_cache_refused("a=;b=two;");
}

Test(store_zookeeper_cache, no_cache_and_those_with_half_a_mark)
{
	struct store_backend *b = write_two();

	b->ops->close(b);
	cache.mark[strlen(cache.mark) - 1] = '\0';
	expect_cache_refused("a=;b=two;");
	cache.mark[0] = '\0';
	expect_cache_refused("a=;b=two;");
}

Test(store_zookeeper_cache, each_write_gives_another_mark)
{
	struct store_backend *b = write_two();
	char mark[STORE_MARK_MAX];

	b->ops->mark(b, mark);
	cr_expect_str_eq(mark, cache.mark);
	write_one(b, "c", "");
	b->ops->mark(b, mark);
	cr_expect_str_neq(mark, cache.mark);
	b->ops->close(b);
	b = open_store();
	b->ops->mark(b, cache.mark);
	cr_expect_str_neq(mark, cache.mark);
	b->ops->close(b);
}
