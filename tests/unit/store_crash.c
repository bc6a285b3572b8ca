/* Crash safety of the leveldb store: a process that writes is killed at random
 * moments, the file's tail is torn; what comes back is a prefix of the batches,
 * each whole, and holds at least what was reported durable. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory/arena.h"
#include "base/random.h"
#include "store/store.h"

#define SLOTS 23 /* keys that batches overwrite in turn */
#define WIDTH 7	 /* keys a batch */

static char directory[] = "/tmp/mesita-crash-XXXXXX";

static void make_directory(void)
{
	cr_assert_not_null(mkdtemp(directory));
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(path);
}

static void remove_directory(void)
{
	nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

TestSuite(store_crash, .init = make_directory, .fini = remove_directory, .timeout = 120);

/* Batch n sets slots n..n+WIDTH-1 (modulo) to n, deletes the one after, and sets
 * "last": so the whole content tells whether it is the state after some batch. */
static uint64_t slot_after(uint64_t batch, unsigned slot)
{
	for (uint64_t n = batch; n > 0 && n + SLOTS > batch; n--) {
		uint64_t distance = (slot + SLOTS - n % SLOTS) % SLOTS;

		if (distance < WIDTH)
			return n;
		if (distance == WIDTH)
			return 0;
	}
	return 0;
}

static void write_batch(struct store *store, uint64_t batch, enum store_class class)
{
	struct store_op ops[WIDTH + 2];
	char keys[WIDTH + 1][16], value[32];

	snprintf(value, sizeof(value), "%llu", (unsigned long long)batch);
	for (unsigned i = 0; i <= WIDTH; i++) {
		snprintf(keys[i], sizeof(keys[i]), "slot%02u", (unsigned)((batch + i) % SLOTS));
		ops[i].key = slice_of(keys[i]);
		ops[i].value = i < WIDTH ? slice_of(value) : (struct slice){0};
	}
	ops[WIDTH + 1] = (struct store_op){SLICE("last"), slice_of(value)};
	store_write(store, class, ops, WIDTH + 2);
}

struct content {
	uint64_t last;
	uint64_t slots[SLOTS];
};

static int load_one(void *context, struct slice key, struct slice value)
{
	struct content *content = context;
	char text[32] = "";

	cr_assert_lt(value.len, sizeof(text));
	memcpy(text, value.data, value.len);
	uint64_t number = strtoull(text, NULL, 10);
	if (slice_eq(key, "last"))
		content->last = number;
	else
		content->slots[atoi(key.data + 4) % SLOTS] = number;
	return 0;
}

static struct store *open_store(void (*notify)(void *), void *context)
{
	struct store_options options = {
		.backend = "leveldb", .path = directory, .notify = notify, .context = context};
	struct store *store = NULL;
	struct err err = {""};

	if (store_open(&options, &store, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
	return store;
}

/* Opens, checks that the content is the state after batch `last`, returns it. */
static uint64_t check_content(void)
{
	struct content content = {0};
	struct err err = {""};
	struct store *store = open_store(NULL, NULL);

	cr_assert_eq(store_load(store, "", load_one, &content, &err), 0, "%s", err.text);
	store_close(store);
	for (unsigned slot = 0; slot < SLOTS; slot++)
		cr_assert_eq(content.slots[slot], slot_after(content.last, slot),
			     "slot %u after batch %llu", slot, (unsigned long long)content.last);
	return content.last;
}

struct reporter {
	struct store *_Atomic store;
	uint64_t first; /* batches before this process */
	int fd;
};

static void report(void *context)
{
	struct reporter *reporter = context;

	if (reporter->store) {
		uint64_t durable = reporter->first + store_durable(reporter->store);

		if (write(reporter->fd, &durable, sizeof(durable)) != sizeof(durable))
			_exit(1);
	}
}

/* Writes until killed. */
static void write_for_ever(uint64_t first, uint64_t seed, int fd)
{
	struct reporter reporter = {NULL, first, fd};
	struct rng rng;

	rng_seed(&rng, seed);
	reporter.store = open_store(report, &reporter);
	for (uint64_t batch = first + 1;; batch++) {
		write_batch(reporter.store, batch,
			    rng_next(&rng) % 4 == 0 ? STORE_SYNCED : STORE_BEHIND);
		/* Keep the queue short at times, so that groups have all sizes. */
		if (rng_next(&rng) % 8 == 0) {
			while (store_applied(reporter.store) < batch - first)
				sched_yield();
		}
	}
}

static uint64_t read_reports(int fd, unsigned count)
{
	uint64_t durable = 0, report;

	for (unsigned i = 0; i < count; i++) {
		cr_assert_eq(read(fd, &report, sizeof(report)), (ssize_t)sizeof(report));
		durable = report;
	}
	return durable;
}

Test(store_crash, killed_at_random_moments)
{
	struct rng rng;
	uint64_t last = 0;

	rng_seed(&rng, 20240817);
	for (int round = 0; round < 20; round++) {
		int pipes[2];
		uint64_t durable, more;

		cr_assert_eq(pipe(pipes), 0);
		pid_t child = fork();
		if (child == 0) {
			close(pipes[0]);
			write_for_ever(last, rng_next(&rng), pipes[1]);
		}
		close(pipes[1]);
		durable = read_reports(pipes[0], 1 + (unsigned)(rng_next(&rng) % 200));
		kill(child, SIGKILL);
		/* What it reported before it died counts too. */
		while (read(pipes[0], &more, sizeof(more)) == sizeof(more))
			durable = more;
		close(pipes[0]);
		cr_assert_eq(waitpid(child, NULL, 0), child);
		last = check_content();
		cr_assert_geq(last, durable);
		rng_next(&rng);
	}
	cr_expect_gt(last, 20);
}

static char *log_file(void)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	char *path = NULL;

	cr_assert_not_null(dir);
	while ((entry = readdir(dir))) {
		if (str_has_suffix(entry->d_name, ".log"))
			path = xprintf("%s/%s", directory, entry->d_name);
	}
	closedir(dir);
	cr_assert_not_null(path);
	return path;
}

static void copy_file(const char *from, const char *to)
{
	char data[65536];
	int in = open(from, O_RDONLY), out = open(to, O_CREAT | O_TRUNC | O_WRONLY, 0600);
	ssize_t n;

	while ((n = read(in, data, sizeof(data))) > 0)
		cr_assert_eq(write(out, data, (size_t)n), n);
	close(in);
	close(out);
}

/* A child leaves 50 batches in the log file, then dies without closing. */
static void leave_batches(void)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		struct store *store = open_store(NULL, NULL);
		for (uint64_t batch = 1; batch <= 50; batch++) {
			write_batch(store, batch, STORE_BEHIND);
			while (store_applied(store) < batch)
				sched_yield();
		}
		_exit(0);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(status, 0);
}

Test(store_crash, a_torn_tail_loses_only_the_last_batches)
{
	leave_batches();
	char *path = log_file();
	struct stat st;
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(truncate(path, st.st_size - 5), 0);
	cr_expect_eq(check_content(), 49);
	free(path);
}

struct whole {
	size_t count, bytes;
};

static int count_pair(void *context, struct slice key, struct slice value)
{
	struct whole *whole = context;

	whole->count++;
	whole->bytes += value.len;
	return 0;
}

/* leveldb's first block ends with `rest` bytes, too few for a header; then others follow. */
static void leave_a_rest(size_t rest)
{
	/* A record has a header of 7 bytes, a batch one of 12, and the pair 1 + 1 + 1 + 3. */
	size_t len = 32768 - 7 - 12 - 6 - rest;
	char *value = xcalloc(1, len);
	struct store_op big = {{"k", 1}, {value, len}}, small = {{"s", 1}, {"v", 1}};
	pid_t child = fork();
	int status;

	memset(value, 'v', len);
	if (child == 0) {
		struct store *store = open_store(NULL, NULL);
		uint64_t last = store_write(store, STORE_BEHIND, &big, 1);

		/* Waiting ones would be one record. */
		while (store_applied(store) < last)
			sched_yield();
		last = store_write(store, STORE_SYNCED, &small, 1);
		while (store_durable(store) < last)
			sched_yield();
		_exit(0);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(status, 0);
	free(value);
}

/* Records do not begin in the last six bytes of a block. */
Test(store_crash, blocks_may_end_with_bytes_that_are_not_used)
{
	for (size_t rest = 0; rest < 16; rest++) {
		struct whole whole = {0};
		struct err err = {""};
		struct store *store;

		leave_a_rest(rest);
		store = open_store(NULL, NULL);
		cr_assert_eq(store_load(store, "", count_pair, &whole, &err), 0, "%s", err.text);
		cr_expect_eq(whole.count, 2, "with %zu left", rest);
		cr_expect_eq(whole.bytes, 32768 - 7 - 12 - 6 - rest + 1);
		store_close(store);
		remove_directory();
		cr_assert_eq(mkdir(directory, 0700), 0);
	}
}

/* What opening says. With `repair` the content is checked, and *last is its last batch. */
static int open_damaged(bool repair, uint64_t *last, struct err *err)
{
	struct store_options options = {.backend = "leveldb", .path = directory, .repair = repair};
	struct content content = {0};
	struct store *store = NULL;
	int rv = store_open(&options, &store, err);

	if (rv == 0) {
		rv = store_load(store, "", load_one, &content, err);
		store_close(store);
		*last = content.last;
	}
	return rv;
}

/* Nothing is opened without consent, and all but the damage is there with it. */
static void expect_damage(uint64_t least, const char *what)
{
	struct err err = {""};
	uint64_t last = 0;

	cr_assert_eq(open_damaged(false, &last, &err), ERR_CORRUPT, "%s: %s", what, err.text);
	cr_expect(strstr(err.text, "--repair_store"), "%s", err.text);
	cr_assert_eq(open_damaged(true, &last, &err), 0, "%s: %s", what, err.text);
	cr_expect_geq(last, least, "%s", what);
	cr_expect_eq(check_content(), last, "%s", what);
}

Test(store_crash, garbage_at_the_end_is_damage)
{
	leave_batches();
	char *path = log_file();
	char garbage[3000];
	struct rng rng;

	rng_seed(&rng, 7);
	for (size_t i = 0; i < sizeof(garbage); i++)
		garbage[i] = (char)rng_next(&rng);
	int fd = open(path, O_WRONLY | O_APPEND);
	cr_assert_eq(write(fd, garbage, sizeof(garbage)), (ssize_t)sizeof(garbage));
	close(fd);
	expect_damage(50, "garbage");
	free(path);
}

Test(store_crash, a_log_of_garbage_is_no_empty_store)
{
	struct rng rng;

	rng_seed(&rng, 8);
	leave_batches();
	for (int round = 0; round < 20; round++) {
		char *path = log_file();
		int fd = open(path, O_WRONLY | O_TRUNC);

		for (int i = 0; i < 5000; i++) {
			char byte = (char)rng_next(&rng);

			cr_assert_eq(write(fd, &byte, 1), 1);
		}
		close(fd);
		free(path);
		expect_damage(0, "all of it");
		remove_directory();
		cr_assert_eq(mkdir(directory, 0700), 0);
		leave_batches();
	}
}

/* Wherever it is: 50 batches were acknowledged, and none goes without a word. */
Test(store_crash, one_flipped_bit_is_damage)
{
	struct rng rng;

	rng_seed(&rng, 9);
	for (int round = 0; round < 150; round++) {
		struct stat st;
		off_t at;
		char byte, *path, what[64];
		int fd, bit;

		leave_batches();
		path = log_file();
		cr_assert_eq(stat(path, &st), 0);
		at = (off_t)(rng_next(&rng) % (uint64_t)st.st_size);
		bit = (int)(rng_next(&rng) % 8);
		fd = open(path, O_RDWR);
		cr_assert_eq(pread(fd, &byte, 1, at), 1);
		byte ^= (char)(1 << bit);
		cr_assert_eq(pwrite(fd, &byte, 1, at), 1);
		close(fd);
		free(path);
		snprintf(what, sizeof(what), "bit %d of byte %ld of %ld", bit, (long)at,
			 (long)st.st_size);
		expect_damage(0, what);
		remove_directory();
		cr_assert_eq(mkdir(directory, 0700), 0);
	}
}

/* A power cut may leave a sector unwritten and a later one written: nothing behind it counts. */
Test(store_crash, a_sector_that_was_not_written_is_the_end)
{
	char zeros[512] = {0};
	struct stat st;
	char *path;
	int fd;

	leave_batches();
	path = log_file();
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_gt(st.st_size, 1536);
	fd = open(path, O_RDWR);
	cr_assert_eq(pwrite(fd, zeros, sizeof(zeros), 512), (ssize_t)sizeof(zeros));
	close(fd);
	free(path);
	uint64_t last = check_content();
	cr_expect_gt(last, 0);
	cr_expect_lt(last, 50);
}

Test(store_crash, a_sector_that_begins_with_anything_was_written)
{
	char sector[512] = {1};
	char *path;
	int fd;

	leave_batches();
	path = log_file();
	fd = open(path, O_RDWR);
	cr_assert_eq(pwrite(fd, sector, sizeof(sector), 512), (ssize_t)sizeof(sector));
	close(fd);
	free(path);
	expect_damage(0, "a sector with one byte");
}

Test(store_crash, a_store_without_its_name_is_no_empty_one)
{
	struct err err = {""};
	char *path = xprintf("%s/CURRENT", directory);
	uint64_t last = 0;

	leave_batches();
	cr_assert_eq(check_content(), 50);
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(open_damaged(false, &last, &err), ERR_CORRUPT, "%s", err.text);
	cr_assert_eq(open_damaged(true, &last, &err), 0, "%s", err.text);
	cr_expect_eq(last, 50);
	free(path);
}

Test(store_crash, zeros_at_the_end_are_skipped)
{
	leave_batches();
	char *path = log_file();
	struct stat st;
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(truncate(path, st.st_size + 100000), 0);
	cr_expect_eq(check_content(), 50);
	free(path);
}

Test(store_crash, cut_at_every_length_it_is_a_prefix)
{
	leave_batches();
	char *path = log_file(), *copy = xprintf("%s.saved", directory);
	struct stat st;
	uint64_t before = 0;

	cr_assert_eq(stat(path, &st), 0);
	copy_file(path, copy);
	for (off_t length = 0; length < st.st_size; length += 211) {
		/* Opening moves the log into a table: begin anew each time. */
		remove_directory();
		cr_assert_eq(mkdir(directory, 0700), 0);
		leave_batches();
		char *again = log_file();
		copy_file(copy, again);
		cr_assert_eq(truncate(again, length), 0);
		uint64_t last = check_content();
		cr_assert_geq(last, before);
		before = last;
		free(again);
	}
	cr_expect_gt(before, 40);
	unlink(copy);
	free(path);
	free(copy);
}
