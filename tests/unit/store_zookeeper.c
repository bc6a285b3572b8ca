/* Names of nodes for keys. What the store does on real servers is tried in
 * tests/e2e/test_election.py. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/zookeeper/zk_names.h"

static void expect_name(struct slice key, const char *name)
{
	char *path = zk_key_path("/r", key), bucket[8];
	struct buf back = BUF_INIT;

	snprintf(bucket, sizeof(bucket), "/r/%02x/", zk_bucket(key));
	cr_expect_eq(strncmp(path, bucket, strlen(bucket)), 0);
	cr_expect_str_eq(path + strlen(bucket), name);
	cr_expect(zk_key_parse(path + strlen(bucket), &back));
	cr_expect_eq(back.len, key.len);
	cr_expect_eq(memcmp(back.len ? back.data : "", key.data, key.len), 0);
	buf_free(&back);
	free(path);
}

Test(zk_names, every_key_has_a_name_of_its_own)
{
	expect_name(SLICE("agent/5e1f-S0"), "agent%2F5e1f-S0");
	expect_name(SLICE("a@b:c_d"), "a@b:c_d");
	expect_name(SLICE("."), "%2E");
	expect_name(SLICE(".."), "%2E%2E");
	expect_name(SLICE("%25"), "%2525");
	expect_name(SLICE("%"), "%25");
	expect_name(SLICE(""), "%");
	expect_name(SLICE("a\0\xff\n b"), "a%00%FF%0A%20b");
}

Test(zk_names, keys_are_spread)
{
	unsigned counts[ZK_BUCKETS] = {0};

	for (int i = 0; i < 256 * 100; i++) {
		char key[64];

		snprintf(key, sizeof(key), "agent/43c2b9ac-9a4b-41a7-b362-c5a0b8d1cf8e-S%d", i);
		counts[zk_bucket((struct slice){key, strlen(key)})]++;
	}
	for (int i = 0; i < ZK_BUCKETS; i++)
		cr_expect(counts[i] > 40 && counts[i] < 200, "%d: %u", i, counts[i]);
	/* Where a key is does not change between versions. */
	cr_expect_eq(zk_bucket(SLICE("master")), 0xbe);
}

Test(zk_names, names_that_are_no_keys)
{
	static const char *const names[] = {"a/b", "a.b", "%2", "%2f", "a%", "%GG", "\xc3\xa4"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct buf key = BUF_INIT;

		cr_expect_not(zk_key_parse(names[i], &key), "%s", names[i]);
		buf_free(&key);
	}
}
