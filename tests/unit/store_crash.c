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

#include "base/arena.h"
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
			    rng_next(&rng) % 4 == 0 ? STORE_REGISTRY : STORE_WARM);
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
			write_batch(store, batch, STORE_WARM);
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

Test(store_crash, garbage_at_the_end_is_skipped)
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
	cr_expect_eq(check_content(), 50);
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
