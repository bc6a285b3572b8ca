/* Masters that follow one another, on one loop: the copy is the leader's table whatever happens to
 * the connection, and the note names it only while the leader waits for it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/table.h"
#include "master/follow/followers.h"
#include "master/follow/following.h"
#include "proto/proto.h"
#include "store/store.h"
#include "tests/unit/net_harness.h"

#define KEYS 60

/* ---- the table ------------------------------------------------------------------------ */

static uint64_t below(struct rng *rng, uint64_t bound)
{
	return rng_next(rng) % bound;
}

/* One random change of a table and of what it must hold; numbers of keys, -1: not there. */
static void change(struct rng *rng, struct warm_table *table, int expected[KEYS],
		   struct store_op *op, char key[16], char value[16])
{
	int number = (int)below(rng, KEYS), what = (int)below(rng, 1000);

	snprintf(key, 16, "%d/k", number);
	snprintf(value, 16, "%d", what);
	*op = (struct store_op){{key, strlen(key)}, {value, strlen(value)}};
	if (below(rng, 3) == 0)
		op->value = (struct slice){NULL, 0};
	expected[number] = op->value.data ? what : -1;
	warm_table_apply(table, op);
}

struct check {
	const int *expected;
	size_t seen;
	bool seen_of[KEYS];
};

static int check_pair(void *context, struct slice key, struct slice value)
{
	struct check *check = context;
	char text[16];

	snprintf(text, sizeof(text), "%.*s", (int)value.len, value.data);
	cr_expect_eq(check->expected[atoi(key.data)], atoi(text), "%.*s", (int)key.len, key.data);
	cr_expect_not(check->seen_of[atoi(key.data)], "%.*s comes twice", (int)key.len, key.data);
	check->seen_of[atoi(key.data)] = true;
	check->seen++;
	return 0;
}

static void expect_table(struct warm_table *table, const int expected[KEYS])
{
	struct check check = {.expected = expected};
	size_t count = 0;

	for (int i = 0; i < KEYS; i++)
		count += expected[i] >= 0;
	cr_expect_eq(warm_table_each(table, check_pair, &check), 0);
	cr_expect_eq(check.seen, count);
	cr_expect_eq(warm_table_count(table), count);
}

static void nothing_expected(int expected[KEYS])
{
	for (int i = 0; i < KEYS; i++)
		expected[i] = -1;
}

Test(warm_table, holds_what_was_written)
{
	struct warm_table table;
	char key[16], value[16];
	int expected[KEYS];
	struct store_op op;
	struct rng rng;

	rng_seed(&rng, 1);
	warm_table_init(&table);
	nothing_expected(expected);
	for (int i = 0; i < 3000; i++) {
		change(&rng, &table, expected, &op, key, value);
		if (i % 50 == 0)
			expect_table(&table, expected);
	}
	warm_table_clear(&table);
	nothing_expected(expected);
	expect_table(&table, expected);
}

/* Whoever reads it piece by piece, and is told each change as it comes, has the same in the end. */
Test(warm_table, readers_go_through_it_while_it_changes)
{
	for (uint64_t seed = 1; seed < 200; seed++) {
		struct warm_table table, copies[2];
		struct warm_cursor cursors[2];
		bool reading[2] = {true, true};
		char key[16], value[16];
		int expected[KEYS];
		struct store_op op;
		struct rng rng;
		int reads = 0;

		rng_seed(&rng, seed);
		warm_table_init(&table);
		nothing_expected(expected);
		for (uint64_t i = below(&rng, 100); i > 0; i--)
			change(&rng, &table, expected, &op, key, value);
		for (int r = 0; r < 2; r++) {
			warm_table_init(&copies[r]);
			warm_cursor_begin(&cursors[r], &table);
		}
		while (reading[0] || reading[1]) {
			int r = (int)below(&rng, 2);

			if (below(&rng, 3) == 0 && reads < 500) {
				change(&rng, &table, expected, &op, key, value);
				warm_table_apply(&copies[0], &op);
				warm_table_apply(&copies[1], &op);
			} else if (reading[r]) {
				reading[r] = warm_cursor_next(&cursors[r], &op.key, &op.value);
				if (reading[r])
					warm_table_apply(&copies[r], &op);
				reads++;
			}
		}
		for (int r = 0; r < 2; r++) {
			expect_table(&copies[r], expected);
			warm_table_clear(&copies[r]);
		}
		expect_table(&table, expected);
		warm_table_clear(&table);
	}
}

static int stop_at_two(void *context, struct slice key, struct slice value)
{
	return ++*(int *)context == 2 ? -7 : 0;
}

Test(warm_table, who_goes_through_all_may_stop)
{
	struct warm_table table;
	int seen = 0;

	warm_table_init(&table);
	for (int i = 0; i < 3; i++) {
		char key[2] = {(char)('a' + i), 0};

		warm_table_apply(&table, &(struct store_op){{key, 1}, {"", 0}});
	}
	cr_expect_eq(warm_table_each(&table, stop_at_two, &seen), -7);
	cr_expect_eq(seen, 2);
	warm_table_clear(&table);
}

Test(follow_proof, is_of_the_credentials_and_of_the_leader)
{
	char one[DIGEST_TEXT], other[DIGEST_TEXT];

	follow_proof("user:secret", "h:1", one);
	follow_proof("user:secret", "h:1", other);
	cr_expect_str_eq(one, other);
	cr_expect_eq(strlen(one), DIGEST_TEXT - 1);
	follow_proof("user:secret", "h:2", other);
	cr_expect_str_neq(one, other);
	follow_proof("user:another", "h:1", other);
	cr_expect_str_neq(one, other);
	follow_proof(NULL, "h:1", one);
	follow_proof("", "h:1", other);
	cr_expect_str_eq(one, other);
}

/* ---- one that leads, one that follows ------------------------------------------------------ */

static struct fixture fixture;
static struct followers *followers;
static struct following *following;
static struct warm_table table, copy;
static struct rng rng;
static uint64_t last;
static int refusal; /* status that a follower gets; 0: it may */
static bool mute;   /* its words are not heard */
static struct http_request *held[64];
static size_t held_count;
static int progress_count;
/* The registry's note: as it is durable, and as it was wanted last. */
static char noted[STORE_NOTE_MAX], wanted[STORE_NOTE_MAX];
static uint64_t wanted_number, noted_number;
static bool slow; /* nothing becomes durable */
static uv_timer_t writer;

static void progress(void *context)
{
	progress_count++;
}

static uint64_t want_note(void *context, const char *text)
{
	snprintf(wanted, sizeof(wanted), "%s", text);
	return ++wanted_number;
}

static void write_note(void)
{
	strcpy(noted, wanted);
	noted_number = wanted_number;
	followers_noted(followers, wanted_number);
}

static void writer_cb(uv_timer_t *timer)
{
	if (!slow && noted_number < wanted_number)
		write_note();
}

static void serve(void *context, struct http_request *request)
{
	if (refusal)
		http_reply_text(request, refusal, NULL);
	else if (!strcmp(request->path, "/master/follow"))
		followers_add(followers, request);
	else if (mute && held_count < 64)
		held[held_count++] = request;
	else
		followers_hear(followers, request);
}

static void start_followers(const char *holder)
{
	const struct followers_options options = {
		.loop = &fixture.loop,
		.rng = &rng,
		.table = &table,
		.holder = holder,
		.note = want_note,
		.progress = progress,
	};

	wanted_number = noted_number = 0;
	followers = followers_create(&options);
}

static void set_up(void)
{
	rng_seed(&rng, 7);
	warm_table_init(&table);
	warm_table_init(&copy);
	fixture_init(&fixture);
	fixture.handler = serve;
	fixture_start(&fixture);
	start_followers("H1");
	uv_timer_init(&fixture.loop, &writer);
	uv_timer_start(&writer, writer_cb, 1, 1);
	following = following_create(&fixture.loop, &copy, NULL, "follower.example:5050");
}

static void tear_down(void)
{
	if (following)
		following_close(following);
	for (size_t i = 0; i < held_count; i++)
		http_reply_text(held[i], 503, NULL);
	fixture_stop_server(&fixture);
	while (!fixture.server_closed)
		fixture_turn(&fixture);
	followers_close(followers);
	uv_close((uv_handle_t *)&writer, NULL);
	fixture_finish(&fixture);
	warm_table_clear(&table);
	warm_table_clear(&copy);
}

TestSuite(follow, .init = set_up, .fini = tear_down, .timeout = 60);

static void turn_to_server(void)
{
	char *address = xprintf("127.0.0.1:%d", http_server_port(fixture.server));

	following_turn(following, address);
	free(address);
}

static void write_batch(int expected[KEYS], int count)
{
	struct store_op ops[8];
	char keys[8][16], values[8][16];

	for (int i = 0; i < count; i++)
		change(&rng, &table, expected, &ops[i], keys[i], values[i]);
	followers_tell(followers, ops, (size_t)count, ++last);
}

/* Whether the durable note names the copy; the follower ends by it. */
static bool ends_complete(void)
{
	char *copy = following_finish(following);
	bool complete = copy && follow_note_names(noted, copy);

	following = NULL;
	free(copy);
	return complete;
}

static void beats(int count)
{
	for (int first = progress_count; progress_count < first + count;)
		fixture_turn(&fixture);
}

Test(follow, the_copy_is_what_there_is_and_what_changes)
{
	int expected[KEYS];

	nothing_expected(expected);
	for (int i = 0; i < 40; i++)
		write_batch(expected, 3);
	until(&fixture, noted_number == 1);
	turn_to_server();
	for (int i = 0; i < 200; i++) {
		write_batch(expected, 1 + i % 5);
		if (i % 3 == 0)
			fixture_turn(&fixture);
	}
	until(&fixture, followers_counted(followers) == 1);
	write_batch(expected, 5);
	cr_expect_lt(followers_durable(followers), last, "it is waited for");
	until(&fixture, followers_durable(followers) == last);
	expect_table(&copy, expected);
	cr_expect_gt(progress_count, 0);
	cr_expect(ends_complete());
}

Test(follow, nothing_is_durable_before_the_note_is_ours)
{
	int expected[KEYS];

	nothing_expected(expected);
	slow = true;
	write_batch(expected, 3);
	turn_to_server();
	for (int i = 0; i < 20; i++)
		fixture_turn(&fixture);
	cr_expect_eq(followers_durable(followers), 0);
	cr_expect_str_eq(wanted, "H1");
	cr_expect_eq(warm_table_count(&copy), 0, "nobody follows before that");
	slow = false;
	until(&fixture, followers_durable(followers) == last);
	until(&fixture, followers_counted(followers) == 1);
}

/* Its words say what it has; they are held back. */
Test(follow, who_lacks_something_is_not_named)
{
	int expected[KEYS];

	nothing_expected(expected);
	write_batch(expected, 3);
	until(&fixture, noted_number == 1);
	mute = true;
	turn_to_server();
	until(&fixture, held_count > 0);
	/* It has heard of all, and says so; what comes after that was acted on already. */
	write_batch(expected, 3);
	cr_expect_eq(followers_durable(followers), last);
	followers_hear(followers, held[--held_count]);
	beats(1);
	cr_expect_eq(wanted_number, 1, "it lacks a batch");
	mute = false;
	while (held_count > 0)
		followers_hear(followers, held[--held_count]);
	until(&fixture, followers_counted(followers) == 1);
	cr_expect(ends_complete());
}

#define LARGE (100 * 1024)

/* What changes meanwhile has numbers, and is told, too. */
Test(follow, who_has_a_part_of_the_beginning_says_so)
{
	char *value = xcalloc(1, LARGE), key[16];
	const Mesita__FollowWord *word;
	int expected[KEYS];
	struct err err;

	for (int i = 0; i < 200; i++) {
		snprintf(key, sizeof(key), "large/%d", i);
		warm_table_apply(&table, &(struct store_op){{key, strlen(key)}, {value, LARGE}});
	}
	nothing_expected(expected);
	until(&fixture, noted_number == 1);
	mute = true;
	turn_to_server();
	until(&fixture, warm_table_count(&copy) > 0);
	while (held_count == 0) {
		write_batch(expected, 1);
		fixture_turn(&fixture);
	}
	cr_assert_lt(warm_table_count(&copy), 200);
	word = proto_unpack(&mesita__follow_word__descriptor, &held[0]->arena, held[0]->body.data,
			    held[0]->body.len, &err);
	cr_assert(word, "%s", err.text);
	cr_expect_gt(word->number, 0);
	cr_expect_not(word->whole);
	mute = false;
	followers_hear(followers, held[--held_count]);
	until(&fixture, followers_counted(followers) == 1);
	cr_expect_geq(warm_table_count(&copy), 200);
	free(value);
}

Test(follow, who_does_not_answer_is_waited_for_until_the_note_is_without_it)
{
	int expected[KEYS];

	nothing_expected(expected);
	turn_to_server();
	until(&fixture, followers_counted(followers) == 1);
	mute = slow = true;
	write_batch(expected, 2);
	cr_expect_eq(followers_durable(followers), last - 1);
	until(&fixture, wanted_number > noted_number);
	cr_expect_str_eq(wanted, "H1");
	beats(3);
	cr_expect_eq(wanted_number, noted_number + 1, "once");
	cr_expect_eq(followers_counted(followers), 0);
	cr_expect_eq(followers_durable(followers), last - 1, "it may be the next leader");
	write_note();
	cr_expect_eq(followers_durable(followers), last);
	cr_expect_not(ends_complete());
}

Test(follow, who_left_is_waited_for_until_the_note_is_without_it)
{
	int expected[KEYS];
	char *name;

	nothing_expected(expected);
	turn_to_server();
	until(&fixture, followers_counted(followers) == 1);
	slow = true;
	/* As one that is elected. */
	name = following_finish(following);
	following = NULL;
	until(&fixture, wanted_number > noted_number);
	write_batch(expected, 2);
	beats(2);
	cr_expect_eq(followers_durable(followers), last - 1);
	cr_expect(follow_note_names(noted, name));
	write_note();
	cr_expect_not(follow_note_names(noted, name));
	cr_expect_eq(followers_durable(followers), last);
	free(name);
}

Test(follow, who_comes_back_is_named_again)
{
	int expected[KEYS];

	nothing_expected(expected);
	turn_to_server();
	until(&fixture, followers_counted(followers) == 1);
	mute = true;
	write_batch(expected, 2);
	until(&fixture, followers_counted(followers) == 0);
	until(&fixture, followers_durable(followers) == last);
	mute = false;
	while (held_count > 0)
		http_reply_text(held[--held_count], 503, NULL);
	until(&fixture, followers_counted(followers) == 1);
	cr_expect(ends_complete());
}

Test(follow, one_that_is_not_whole_is_no_copy)
{
	turn_to_server();
	for (int i = 0; i < 3; i++)
		fixture_turn(&fixture);
	cr_expect_eq(followers_counted(followers), 0);
	cr_expect_not(ends_complete());
}

Test(follow, a_copy_stays_complete_when_the_leader_goes)
{
	int expected[KEYS];

	nothing_expected(expected);
	write_batch(expected, 4);
	turn_to_server();
	until(&fixture, followers_counted(followers) == 1);
	slow = true;
	/* Its connections end with it. */
	fixture_stop_server(&fixture);
	until(&fixture, followers_counted(followers) == 0);
	beats(8);
	following_turn(following, NULL);
	cr_expect(ends_complete());
	expect_table(&copy, expected);
}

Test(follow, another_leader_begins_another_copy)
{
	int expected[KEYS];

	nothing_expected(expected);
	write_batch(expected, 4);
	turn_to_server();
	until(&fixture, followers_counted(followers) == 1);
	following_turn(following, NULL);
	until(&fixture, followers_counted(followers) == 0);
	followers_close(followers);
	warm_table_clear(&table);
	nothing_expected(expected);
	last = 0;
	start_followers("H2");
	write_batch(expected, 2);
	turn_to_server();
	until(&fixture, followers_counted(followers) == 1);
	expect_table(&copy, expected);
	cr_expect(str_has_prefix(noted, "H2 "));
	cr_expect(ends_complete());
}

Test(follow, who_is_refused_asks_again)
{
	refusal = 503;
	turn_to_server();
	for (int i = 0; i < 30; i++)
		fixture_turn(&fixture);
	cr_expect_eq(followers_counted(followers), 0);
	refusal = 0;
	until(&fixture, followers_counted(followers) == 1);
}

Test(follow_note, names_copies_of_its_holder)
{
	static const struct {
		const char *note, *copy;
		bool named;
	} cases[] = {
		{"H a", "H a", true},	   {"H b a", "H a", true},  {"H a b", "H a", true},
		{"H aa", "H a", false},	   {"H ba", "H a", false},  {"H b aa a", "H a", true},
		{"H", "H a", false},	   {"", "H a", false},	    {"G a", "H a", false},
		{"H2 a", "H a", false},	   {"H a", "H2 a", false},  {"H a", "a a", false},
		{"H H", "H H", true},	   {"HH a", "H a", false},  {"H a", "H", false},
		{"H aa ab", "H a", false}, {"H ab a", "H a", true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		cr_expect_eq(follow_note_names(cases[i].note, cases[i].copy), cases[i].named,
			     "'%s' and '%s'", cases[i].note, cases[i].copy);
}

static struct raw raw;

Test(follow, words_of_nobody)
{
	raw_open(&raw, &fixture);
	raw_expect(&raw, "POST /master/followed HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", " 404 ");
	raw_close(&raw);
}
