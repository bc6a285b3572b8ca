/* random, table and base64: known answers and bounds. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/memory/arena.h"
#include "base/random.h"
#include "base/table.h"

Test(rng, repeats_with_the_seed_and_only_then)
{
	struct rng a, b, c;
	int same = 0;

	rng_seed(&a, 1);
	rng_seed(&b, 1);
	rng_seed(&c, 2);
	for (int i = 0; i < 100; i++) {
		uint64_t x = rng_next(&a);

		cr_assert_eq(x, rng_next(&b));
		same += x == rng_next(&c);
	}
	cr_assert_eq(same, 0);
}

Test(rng, is_xoshiro256starstar)
{
	/* First outputs of the authors' program for the state 1, 2, 3, 4. */
	static const uint64_t expected[] = {11520, 0, 1509978240, 1215971899390074240};
	struct rng rng = {{1, 2, 3, 4}};

	for (int i = 0; i < 4; i++)
		cr_assert_eq(rng_next(&rng), expected[i]);
}

Test(rng, unit_is_in_range)
{
	struct rng rng;
	double sum = 0;

	rng_seed(&rng, 0);
	for (int i = 0; i < 10000; i++) {
		double x = rng_unit(&rng);

		cr_assert(x >= 0 && x < 1);
		sum += x;
	}
	cr_assert(sum > 4700 && sum < 5300);
	cr_assert_neq(rng_entropy(), rng_entropy());
}

Test(uuid, makes_formats_and_parses)
{
	uint8_t uuid[UUID_BYTES], again[UUID_BYTES];
	char text[UUID_TEXT];
	struct rng rng;

	rng_seed(&rng, 3);
	for (int i = 0; i < 100; i++) {
		uuid_make(&rng, uuid);
		cr_assert(uuid_valid(uuid, sizeof(uuid)));
		uuid_format(uuid, text);
		cr_assert_eq(strlen(text), 36);
		cr_assert_eq(text[14], '4');
		cr_assert(strchr("89ab", text[19]));
		cr_assert(uuid_parse(text, again));
		cr_assert_arr_eq(uuid, again, UUID_BYTES);
	}
}

Test(uuid, refuses_what_is_none)
{
	static const char *const bad[] = {
		"",
		"0123",
		"01234567-89ab-4def-8123-456789abcde",
		"01234567-89ab-4def-8123-456789abcdefa",
		"0123456789ab-4def-8123-456789abcdef00",
		"01234567+89ab-4def-8123-456789abcdef",
		"01234567-89ab-4def-8123-456789abcdeg",
		"{1234567-89ab-4def-8123-456789abcdef",
	};
	uint8_t out[UUID_BYTES] = {0}, zero[UUID_BYTES] = {0}, upper[UUID_BYTES];

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		cr_assert_not(uuid_parse(bad[i], out), "%s", bad[i]);
	cr_assert_not(uuid_parse(NULL, out));
	cr_assert_arr_eq(out, zero, UUID_BYTES, "untouched after a failure");
	cr_assert(uuid_parse("01234567-89AB-4DEF-8123-456789ABCDEF", upper));
	cr_assert_eq(upper[15], 0xef);
}

Test(uuid, needs_a_version)
{
	uint8_t bytes[UUID_BYTES] = {0};

	cr_assert_not(uuid_valid(bytes, sizeof(bytes)), "all zero");
	for (int version = 0; version < 16; version++) {
		bytes[6] = (uint8_t)(version << 4);
		cr_assert_eq(uuid_valid(bytes, sizeof(bytes)), version >= 1 && version <= 5);
	}
	bytes[6] = 0x40;
	cr_assert_not(uuid_valid(bytes, 15));
	cr_assert_not(uuid_valid(NULL, 0));
}

/* Key 00..0f, messages 00 01 02 ...: made by an implementation of its own that also gives the
 * vectors of the paper for SipHash-2-4. */
Test(table, is_siphash_1_3)
{
	static const struct {
		size_t len;
		uint64_t hash;
	} expected[] = {
		{0, 0xabac0158050fc4dc},  {1, 0xc9f49bf37d57ca93}, {2, 0x82cb9b024dc7d44d},
		{7, 0xd3927d989bb11140},  {8, 0x369095118d299a8e}, {15, 0xd320d86d2a519956},
		{63, 0x9d199062b7bbb3a8},
	};
	uint64_t key[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
	uint8_t bytes[64];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)i;
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++)
		cr_assert_eq(table_siphash13(key, bytes, expected[i].len), expected[i].hash,
			     "%zu bytes", expected[i].len);
}

Test(table, hash_depends_on_every_byte)
{
	uint64_t key[2] = {1, 2};
	uint8_t data[20] = {0};

	for (size_t i = 0; i < sizeof(data); i++) {
		uint64_t before = table_siphash13(key, data, sizeof(data));

		data[i] = 1;
		cr_assert_neq(before, table_siphash13(key, data, sizeof(data)));
		cr_assert_neq(table_siphash13(key, data, i), table_siphash13(key, data, i + 1));
	}
	cr_assert_eq(table_hash("abc", 3), table_hash("abc", 3));
}

struct entry {
	char name[16];
	int number;
	UT_hash_handle hh;
};

Test(table, iterates_in_order_of_insertion)
{
	struct entry *table = NULL, *entry, *tmp;
	int next = 0;

	for (int i = 0; i < 1000; i++) {
		entry = xcalloc(1, sizeof(*entry));
		snprintf(entry->name, sizeof(entry->name), "entry-%d", i);
		entry->number = i;
		HASH_ADD_STR(table, name, entry);
	}
	HASH_FIND_STR(table, "entry-500", entry);
	cr_assert_eq(entry->number, 500);
	HASH_FIND_STR(table, "entry-1000", entry);
	cr_assert_null(entry);
	HASH_ITER (hh, table, entry, tmp) {
		cr_assert_eq(entry->number, next++);
		HASH_DEL(table, entry);
		free(entry);
	}
	cr_assert_eq(next, 1000);
}

Test(base64, goes_both_ways)
{
	static const struct {
		const char *plain, *coded;
	} table[] = {
		{"", ""},
		{"f", "Zg=="},
		{"fo", "Zm8="},
		{"foo", "Zm9v"},
		{"foob", "Zm9vYg=="},
		{"fooba", "Zm9vYmE="},
		{"foobar", "Zm9vYmFy"},
		{"\xff\xfe\xfd", "//79"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		size_t len = strlen(table[i].coded);
		struct buf out = BUF_INIT;
		char plain[32];

		base64_encode(&out, table[i].plain, strlen(table[i].plain));
		cr_assert_str_eq(out.data, table[i].coded);
		cr_assert_eq(base64_decode(table[i].coded, len, plain),
			     (long)strlen(table[i].plain));
		cr_assert_arr_eq(plain, table[i].plain, strlen(table[i].plain));
		buf_free(&out);
	}
}

Test(base64, stays_in_its_bounds)
{
	struct rng rng;

	rng_seed(&rng, 4);
	for (size_t len = 0; len < 200; len++) {
		char *data = xmalloc(len), *again;
		struct buf out = BUF_INIT;

		for (size_t i = 0; i < len; i++)
			data[i] = (char)rng_next(&rng);
		base64_encode(&out, data, len);
		cr_assert_eq(out.len, (len + 2) / 3 * 4);
		/* Also without padding, in memory of the promised size. */
		for (size_t cut = 0; cut < 2; cut++) {
			while (cut && out.len && out.data[out.len - 1] == '=')
				out.len--;
			again = xmalloc(out.len / 4 * 3 + 3);
			cr_assert_eq(base64_decode(out.data, out.len, again), (long)len);
			cr_assert(len == 0 || memcmp(again, data, len) == 0);
			free(again);
		}
		buf_free(&out);
		free(data);
	}
}

Test(base64, knows_what_is_none)
{
	static const struct {
		const char *text;
		long len;
	} table[] = {
		{"Zm9v\nYmFy", 6}, {" Z g = = ", 1}, {"Zg", 1},	       {"Zg=", 1},
		{"====", 0},	   {"Z", -1},	     {"Zm9vY", -1},    {"Zm-v", -1},
		{"Zm_v", -1},	   {"Zg==Zg==", -1}, {"Zm9v\x80", -1}, {"Zm9v.", -1},
	};
	char out[32];

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		cr_assert_eq(base64_decode(table[i].text, strlen(table[i].text), out), table[i].len,
			     "%s", table[i].text);
	cr_assert_eq(base64_decode("Zm\0v", 4, out), -1);
}
