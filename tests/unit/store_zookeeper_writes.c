/* The registry in ZooKeeper, on one in memory: what is written is there for whoever opens it next,
 * whatever answers were lost, and who is deposed writes nothing more. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

#include "base/memory/arena.h"
#include "base/random.h"
#include "base/time/clock.h"
#include "store/backend.h"
#include "tests/unit/store_zookeeper_rig.h"

#define KEYS 40

TestSuite(store_zookeeper, .init = reset_zookeeper, .fini = reset_zookeeper);

/* ---- reading what was written ------------------------------------------------------------ */

Test(store_zookeeper, keys_come_in_their_order_and_by_prefix)
{
	struct store_backend *b = open_store();

	expect_all(b, "", "");
	write_one(b, "b/2", "two");
	write_one(b, "a", "");
	write_one(b, "b/10", "ten");
	write_one(b, "b", "b");
	write_one(b, "b/2", "anew");
	expect_all(b, "", "a=;b=b;b/10=ten;b/2=anew;");
	expect_all(b, "b/", "b/10=ten;b/2=anew;");
	expect_all(b, "b/2", "b/2=anew;");
	expect_all(b, "c", "");
	cr_expect_eq(write_one(b, "b/2", NULL), 0);
	cr_expect_eq(write_one(b, "never", NULL), 0);
	expect_all(b, "b", "b=b;b/10=ten;");
	b->ops->close(b);
	b = open_store();
	expect_all(b, "", "a=;b=b;b/10=ten;");
	cr_expect_eq(write_one(b, "b/10", NULL), 0);
	cr_expect_eq(write_one(b, "b/2", "back"), 0);
	expect_all(b, "", "a=;b=b;b/2=back;");
	b->ops->close(b);
}

static int stop_at_first(void *context, struct slice key, struct slice value)
{
	return ++*(int *)context == 1 ? -77 : 0;
}

Test(store_zookeeper, who_reads_may_stop)
{
	struct store_backend *b = open_store();
	int seen = 0;

	write_one(b, "a", "1");
	write_one(b, "b", "2");
	cr_expect_eq(b->ops->load(b, "", stop_at_first, &seen, &err), -77);
	cr_expect_eq(seen, 1);
	b->ops->close(b);
}

Test(store_zookeeper, strangers_nodes_are_left_alone)
{
	struct store_backend *b = open_store();

	write_one(b, "a", "1");
	b->ops->close(b);
	zookeeper_fake_put(ROOT "/00/no%key", "x");
	b = open_store();
	expect_all(b, "", "a=1;");
	cr_expect_str_eq(zookeeper_fake_data(ROOT "/00/no%key"), "x");
	b->ops->close(b);
}

Test(store_zookeeper, a_bucket_that_somebody_removed_is_made_again)
{
	struct store_backend *b = open_store();

	write_one(b, "a", "1");
	b->ops->close(b);
	for (int i = 0; i < 256; i++) {
		char path[64];

		snprintf(path, sizeof(path), ROOT "/%02x", i);
		cr_expect(zookeeper_fake_data(path), "%s", path);
		/* The one that holds `a` stays: ZooKeeper removes no node that has children. */
		zookeeper_fake_remove(path);
		if (i % 3)
			zookeeper_fake_put(path, "");
	}
	b = open_store();
	for (int i = 0; i < 60; i++) {
		char key[8];

		snprintf(key, sizeof(key), "k%d", i);
		cr_expect_eq(write_one(b, key, "v"), 0, "%s", err.text);
	}
	b->ops->close(b);
}

Test(store_zookeeper, what_a_newer_one_wrote_is_left_alone)
{
	static const char *const heads[] = {"mesita-2 other 7", "mesita-12 all is different"};
	struct store_backend *b = open_store();

	cr_expect_eq(strncmp(zookeeper_fake_data(ROOT "/head"), "mesita-1 ", 9), 0);
	b->ops->close(b);
	for (size_t i = 0; i < 2; i++) {
		zookeeper_fake_put(ROOT "/head", heads[i]);
		cr_expect_eq(try_open(10 * SECOND, &b), ERR_INVALID);
		cr_expect(strstr(err.text, i ? "has format 12" : "has format 2"), "%s", err.text);
		cr_expect(strstr(err.text, "reads formats up to 1"), "%s", err.text);
		cr_expect_str_eq(zookeeper_fake_data(ROOT "/head"), heads[i]);
	}
	/* Nobody's, as an empty one is. */
	zookeeper_fake_put(ROOT "/head", "mesita");
	b = open_store();
	b->ops->close(b);
}

Test(store_zookeeper, the_path_may_be_there_and_out_of_bounds)
{
	struct store_backend *b;

	zookeeper_fake_put("/mesos.mesita", "mine");
	b = open_store();
	cr_expect_str_eq(zookeeper_fake_data("/mesos.mesita"), "mine");
	b->ops->close(b);
}

Test(store_zookeeper, with_credentials_others_only_read)
{
	struct store_backend *b = open_store();

	cr_expect_null(zookeeper_fake.credentials);
	cr_expect_eq(zookeeper_fake.acl_count, 1);
	b->ops->close(b);
	url.credentials = (char *)"user:secret";
	b = open_store();
	cr_expect_str_eq(zookeeper_fake.credentials, "user:secret");
	cr_expect_eq(zookeeper_fake.acl_count, 2);
	b->ops->close(b);
}

/* ---- batches --------------------------------------------------------------------------------- */

/* Writes as many keys as asked in one batch, each with so many bytes. */
static int write_many(struct store_backend *b, int count, size_t bytes)
{
	struct store_op *ops = xcalloc((size_t)count, sizeof(*ops));
	char *value = xmalloc(bytes + 1);
	int rv;

	memset(value, 'x', bytes);
	for (int i = 0; i < count; i++) {
		char *key = xprintf("many/%05d", i);

		ops[i] = (struct store_op){{key, strlen(key)}, {value, bytes}};
	}
	rv = b->ops->write(b, ops, (size_t)count, true, &err);
	for (int i = 0; i < count; i++)
		free((void *)ops[i].key.data);
	free(value);
	free(ops);
	return rv;
}

static int count_keys(void *context, struct slice key, struct slice value)
{
	++*(int *)context;
	return 0;
}

Test(store_zookeeper, a_batch_is_one_request_unless_zookeeper_would_not_take_it)
{
	struct store_backend *b = open_store();
	int seen = 0;

	zookeeper_fake.multis = 0;
	cr_expect_eq(write_many(b, 100, 1000), 0);
	cr_expect_eq(zookeeper_fake.multis, 1);
	cr_expect_eq(zookeeper_fake.ops_max, 101);
	/* 2.1 MB in parts below 768 KB. */
	cr_expect_eq(write_many(b, 210, 10000), 0);
	cr_expect_eq(zookeeper_fake.multis, 4);
	cr_expect_leq(zookeeper_fake.bytes_max, 768 * 1024);
	cr_expect_geq(zookeeper_fake.bytes_max, 700 * 1024);
	/* And 2,000 operations at most. */
	zookeeper_fake.multis = 0;
	cr_expect_eq(write_many(b, 2001, 1), 0);
	cr_expect_eq(zookeeper_fake.multis, 2);
	cr_expect_eq(zookeeper_fake.ops_max, 2001);
	/* One that is larger than that goes alone. */
	cr_expect_eq(write_many(b, 2, 900 * 1024), 0);
	cr_expect_eq(zookeeper_fake.multis, 4);
	cr_expect_eq(b->ops->load(b, "many/", count_keys, &seen, &err), 0);
	cr_expect_eq(seen, 2001);
	b->ops->close(b);
}

Test(store_zookeeper, nothing_to_write_asks_nobody)
{
	struct store_backend *b = open_store();

	zookeeper_fake.requests = 0;
	cr_expect_eq(b->ops->write(b, NULL, 0, true, &err), 0);
	cr_expect_eq(write_one(b, "not-there", NULL), 0);
	cr_expect_eq(zookeeper_fake.requests, 0);
	b->ops->close(b);
}

/* ---- who holds it ------------------------------------------------------------------------------
 */

Test(store_zookeeper, who_opened_it_last_holds_it)
{
	struct store_backend *first = open_store(), *second;

	write_one(first, "a", "1");
	second = open_store();
	cr_expect_eq(write_one(first, "a", "2"), ERR_STATE);
	cr_expect(strstr(err.text, "another master has taken over the registry '" ROOT "'"), "%s",
		  err.text);
	expect_all(second, "", "a=1;");
	cr_expect_eq(write_one(second, "a", "3"), 0);
	cr_expect_eq(write_one(first, "b", "4"), ERR_STATE);
	expect_all(second, "", "a=3;");
	first->ops->close(first);
	second->ops->close(second);
}

Test(store_zookeeper, a_write_that_was_lost_is_not_written_again_once_another_holds_it)
{
	struct store_backend *first = open_store(), *second = open_store();

	zookeeper_fake.lost = 1;
	cr_expect_eq(write_one(first, "a", "1"), ERR_STATE);
	expect_all(second, "", "");
	first->ops->close(first);
	second->ops->close(second);
}

/* Nobody who opens it meanwhile, and says nothing, changes it. */
Test(store_zookeeper, a_note_lasts_until_another_is_written)
{
	struct store_backend *first = open_store(), *second, *third;

	cr_expect_str_eq(first->ops->note_before(first), "");
	cr_expect_eq(first->ops->note(first, "H1 a b", &err), 0, "%s", err.text);
	cr_expect_str_eq(first->ops->note_before(first), "", "as it was opened");
	write_one(first, "a", "1");
	second = open_store();
	cr_expect_str_eq(second->ops->note_before(second), "H1 a b");
	cr_expect_str_neq(second->ops->holder(second), first->ops->holder(first));
	cr_expect_eq(first->ops->note(first, "H1", &err), ERR_STATE);
	write_one(second, "a", "2");
	third = open_store();
	cr_expect_str_eq(third->ops->note_before(third), "H1 a b");
	cr_expect_eq(third->ops->note(third, "", &err), 0);
	first->ops->close(first);
	first = open_store();
	cr_expect_str_eq(first->ops->note_before(first), "");
	expect_all(first, "", "a=2;");
	first->ops->close(first);
	second->ops->close(second);
	third->ops->close(third);
}

Test(store_zookeeper, a_note_has_room_for_many)
{
	struct store_backend *b = open_store();
	char text[STORE_NOTE_MAX];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	cr_expect_eq(b->ops->note(b, text, &err), 0);
	b->ops->close(b);
	b = open_store();
	cr_expect_str_eq(b->ops->note_before(b), text);
	cr_expect_eq(write_one(b, "a", "1"), 0);
	b->ops->close(b);
}

Test(store_zookeeper, before_there_were_notes)
{
	struct store_backend *b;

	for (int i = 0; i < 2; i++) {
		b = open_store();
		b->ops->close(b);
		zookeeper_fake_put(ROOT "/head", i ? "mesita-1 other 7" : "mesita-1 other");
		b = open_store();
		cr_expect_str_eq(b->ops->note_before(b), "");
		b->ops->close(b);
	}
}

/* Of what is read while another one takes over a part is too late. */
Test(store_zookeeper, who_is_deposed_reads_nothing)
{
	struct store_backend *first = open_store(), *second = open_store();
	struct buf text = BUF_INIT;

	cr_expect_eq(first->ops->load(first, "", append_pair, &text, &err), ERR_STATE);
	cr_expect_eq(text.len, 0);
	first->ops->close(first);
	second->ops->close(second);
	buf_free(&text);
}

/* What writes notes for a store's owner, who does not wait. */
Test(store_zookeeper, the_last_of_the_notes_that_wait_is_written)
{
	struct store_backend *backend = open_store();
	struct store *store;
	uint64_t number = 0;

	cr_assert_eq(store_open_backend(backend, NULL, NULL, &store, &err), 0);
	cr_expect_eq(store_noted(store), 0);
	cr_expect_str_eq(store_note_before(store), "");
	for (int i = 0; i < 100; i++) {
		number = store_note(store, i == 99 ? "H1 the last" : "H1 one");
		cr_expect_eq(number, (uint64_t)i + 1);
	}
	while (store_noted(store) < number && !store_failed(store))
		;
	cr_expect_eq(store_noted(store), number);
	store_close(store);
	backend = open_store();
	cr_expect_str_eq(backend->ops->note_before(backend), "H1 the last");
	backend->ops->close(backend);
}

/* ---- answers that are lost
 * ------------------------------------------------------------------------ */

Test(store_zookeeper, lost_answers_are_settled)
{
	for (int kind = 0; kind < 4; kind++) {
		struct store_backend *b;

		zookeeper_fake_reset();
		b = open_store();
		zookeeper_fake.lost_are_done = kind & 1;
		zookeeper_fake.lost_expire = kind & 2;
		zookeeper_fake.multis = 0;
		zookeeper_fake.lost = 1;
		cr_expect_eq(write_one(b, "a", "1"), 0, "%d: %s", kind, err.text);
		/* Written once, in whichever try. */
		cr_expect_eq(zookeeper_fake.multis, 1, "%d", kind);
		cr_expect_eq(write_one(b, "a", "2"), 0, "%d: %s", kind, err.text);
		expect_all(b, "", "a=2;");
		cr_expect_eq(zookeeper_fake.sessions, kind & 2 ? 2 : 1);
		b->ops->close(b);
	}
}

Test(store_zookeeper, several_in_a_row)
{
	struct store_backend *b = open_store();

	for (int lost = 1; lost < 8; lost++) {
		zookeeper_fake.lost_are_done = lost & 1;
		zookeeper_fake.lost = lost;
		cr_expect_eq(write_one(b, "a", lost & 2 ? "x" : "y"), 0, "%s", err.text);
		cr_expect_eq(zookeeper_fake.lost, 0);
	}
	expect_all(b, "", "a=x;");
	b->ops->close(b);
}

Test(store_zookeeper, openings_are_tried_again)
{
	struct store_backend *b = open_store();

	write_one(b, "a", "1");
	b->ops->close(b);
	/* At each of its first requests. */
	for (int at = 0; at < 12; at++) {
		zookeeper_fake.skipped = at;
		zookeeper_fake.lost = 1;
		zookeeper_fake.lost_are_done = at & 1;
		b = open_store();
		expect_all(b, "", "a=1;");
		b->ops->close(b);
	}
	zookeeper_fake.unknown = 1;
	b = open_store();
	b->ops->close(b);
}

/* ---- what is not reached, or refuses
 * ---------------------------------------------------------------- */

Test(store_zookeeper, patience_ends)
{
	struct store_backend *b;
	int64_t begin = clock_now();

	zookeeper_fake.unreachable = true;
	cr_expect_eq(try_open(SECOND / 20, &b), ERR_IO);
	cr_expect(strstr(err.text, "ZooKeeper at nowhere:1 is not reached"), "%s", err.text);
	cr_expect_geq(clock_now() - begin, SECOND / 20);
	zookeeper_fake.unreachable = false;
	cr_assert_eq(try_open(SECOND / 20, &b), 0);
	zookeeper_fake.lost = 1 << 30;
	cr_expect_eq(write_one(b, "a", "1"), ERR_IO);
	cr_expect(strstr(err.text, "did not take a write in time"), "%s", err.text);
	b->ops->close(b);
}

static void *give_up(void *ignored)
{
	given_up = true;
	return NULL;
}

/* Also if it is waited for already. */
Test(store_zookeeper, who_gives_up_does_not_wait, .timeout = 20)
{
	struct store_backend *b = open_store(), *other;
	pthread_t thread;

	zookeeper_fake.unreachable = true;
	zookeeper_fake.lost = 1;
	zookeeper_fake.lost_expire = true;
	pthread_create(&thread, NULL, give_up, NULL);
	cr_expect_eq(write_one(b, "a", "1"), ERR_IO);
	pthread_join(thread, NULL);
	cr_expect_eq(try_open(HOUR, &other), ERR_IO);
	b->ops->close(b);
}

Test(store_zookeeper, refusals_are_told)
{
	struct store_backend *b;

	zookeeper_fake.refusal = ZNOAUTH;
	cr_expect_eq(try_open(SECOND, &b), ERR_IO);
	cr_expect(strstr(err.text, "cannot open '" ROOT "' in ZooKeeper: not authenticated"), "%s",
		  err.text);
	zookeeper_fake.refusal = 0;
	b = open_store();
	write_one(b, "a", "1");
	zookeeper_fake.refusal = ZNOAUTH;
	cr_expect_eq(write_one(b, "a", "2"), ERR_IO);
	cr_expect(strstr(err.text, "cannot write to '" ROOT "' in ZooKeeper: not authenticated"),
		  "%s", err.text);
	cr_expect_eq(b->ops->load(b, "", append_pair, NULL, &err), ERR_IO);
	cr_expect(strstr(err.text, "cannot read '" ROOT "' in ZooKeeper: not authenticated"), "%s",
		  err.text);
	zookeeper_fake.refusal = 0;
	expect_all(b, "", "a=1;");
	b->ops->close(b);
}

/* ---- histories
 * --------------------------------------------------------------------------------------- */

/* What must be there: of each key its number, or -1. */
struct oracle {
	int values[KEYS];
	char note[32];
};

static uint64_t below(struct rng *rng, uint64_t bound)
{
	return rng_next(rng) % bound;
}

static void random_fault(struct rng *rng)
{
	zookeeper_fake.skipped = (int)below(rng, 3);
	zookeeper_fake.lost = below(rng, 3) == 0 ? (int)below(rng, 4) : 0;
	zookeeper_fake.lost_are_done = below(rng, 2);
	zookeeper_fake.lost_expire = below(rng, 4) == 0;
}

static void no_fault(void)
{
	zookeeper_fake.lost = zookeeper_fake.skipped = 0;
}

static void random_note(struct rng *rng, struct store_backend *b, struct oracle *oracle)
{
	snprintf(oracle->note, sizeof(oracle->note), "H %d %d", (int)below(rng, 100),
		 (int)below(rng, 100));
	random_fault(rng);
	cr_assert_eq(b->ops->note(b, oracle->note, &err), 0, "%s", err.text);
	no_fault();
}

static void random_batch(struct rng *rng, struct store_backend *b, struct oracle *oracle)
{
	struct store_op ops[8];
	char keys[8][16], values[8][16];
	size_t count = 1 + below(rng, 8);
	bool used[KEYS] = {false};

	for (size_t i = 0; i < count; i++) {
		int key, value = (int)below(rng, 1000);

		do {
			key = (int)below(rng, KEYS);
		} while (used[key]);
		used[key] = true;
		snprintf(keys[i], sizeof(keys[i]), key % 2 ? "k/%02d" : "%02d ä/", key);
		snprintf(values[i], sizeof(values[i]), "%d", value);
		ops[i] = (struct store_op){{keys[i], strlen(keys[i])},
					   {values[i], strlen(values[i])}};
		if (below(rng, 3) == 0)
			ops[i].value = (struct slice){NULL, 0};
		oracle->values[key] = ops[i].value.data ? value : -1;
	}
	random_fault(rng);
	cr_assert_eq(b->ops->write(b, ops, count, true, &err), 0, "%s", err.text);
	no_fault();
}

struct comparison {
	const struct oracle *oracle;
	int seen;
};

static int compare_pair(void *context, struct slice key, struct slice value)
{
	struct comparison *comparison = context;
	char text[16];
	int number;

	snprintf(text, sizeof(text), "%.*s", (int)key.len, key.data);
	number = atoi(text + (*text == 'k' ? 2 : 0));
	snprintf(text, sizeof(text), "%.*s", (int)value.len, value.data);
	cr_expect_eq(atoi(text), comparison->oracle->values[number], "%.*s", (int)key.len,
		     key.data);
	comparison->seen++;
	return 0;
}

static void compare(struct store_backend *b, const struct oracle *oracle)
{
	struct comparison comparison = {.oracle = oracle};
	int expected = 0;

	for (int i = 0; i < KEYS; i++)
		expected += oracle->values[i] >= 0;
	cr_assert_eq(b->ops->load(b, "", compare_pair, &comparison, &err), 0, "%s", err.text);
	cr_expect_eq(comparison.seen, expected);
	cr_expect_eq(zookeeper_fake_leaves(), (size_t)expected + 1 /* head */);
}

Test(store_zookeeper, random_histories_of_faults_and_of_masters)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct store_backend *b, *next;
		struct oracle oracle;
		struct rng rng;

		zookeeper_fake_reset();
		rng_seed(&rng, seed);
		for (int i = 0; i < KEYS; i++)
			oracle.values[i] = -1;
		oracle.note[0] = '\0';
		b = open_store();
		for (int step = 0; step < 30; step++) {
			random_batch(&rng, b, &oracle);
			if (below(&rng, 3) == 0)
				random_note(&rng, b, &oracle);
			if (below(&rng, 5) == 0) {
				next = open_store();
				cr_expect_str_eq(next->ops->note_before(next), oracle.note);
				cr_expect_eq(write_one(b, "k/01", "1"), ERR_STATE);
				cr_expect_eq(b->ops->note(b, "other", &err), ERR_STATE);
				b->ops->close(b);
				b = next;
			}
			compare(b, &oracle);
		}
		b->ops->close(b);
	}
}
