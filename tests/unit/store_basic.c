/* The store as its owner sees it: numbers, order, loading, failures, opening. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory/arena.h"
#include "store/backend.h"
#include "store/store.h"

static char directory[] = "/tmp/mesita-store-XXXXXX";

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

TestSuite(store_basic, .init = make_directory, .fini = remove_directory);

/* Wakes the test when the writer made progress. */
struct waiter {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	int notified;
};

#define WAITER_INIT                                                                                \
	{                                                                                          \
		PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0                             \
	}

static void waiter_notify(void *context)
{
	struct waiter *waiter = context;

	pthread_mutex_lock(&waiter->lock);
	waiter->notified++;
	pthread_cond_signal(&waiter->wake);
	pthread_mutex_unlock(&waiter->lock);
}

static void wait_for(struct waiter *waiter, const struct store *store,
		     uint64_t (*progress)(const struct store *), uint64_t number)
{
	pthread_mutex_lock(&waiter->lock);
	while (progress(store) < number && !store_failed(store))
		pthread_cond_wait(&waiter->wake, &waiter->lock);
	pthread_mutex_unlock(&waiter->lock);
}

static uint64_t put(struct store *store, enum store_class class, const char *key, const char *value)
{
	struct store_op op = {slice_of(key), value ? slice_of(value) : (struct slice){0}};

	return store_write(store, class, &op, 1);
}

static int append_pair(void *context, struct slice key, struct slice value)
{
	buf_printf(context, "%.*s=%.*s;", (int)key.len, key.data, (int)value.len, value.data);
	return 0;
}

static char *dump(struct store *store, const char *prefix)
{
	struct buf text = BUF_INIT;
	struct err err = {""};

	cr_assert_eq(store_load(store, prefix, append_pair, &text, &err), 0, "%s", err.text);
	return buf_take(&text);
}

static void expect_dump(struct store *store, const char *prefix, const char *expected)
{
	char *text = dump(store, prefix);

	cr_expect_str_eq(text, expected);
	free(text);
}

static struct store *open_at(const char *backend, const char *path, struct waiter *waiter)
{
	struct store_options options = {.backend = backend,
					.path = path,
					.notify = waiter ? waiter_notify : NULL,
					.context = waiter};
	struct store *store = NULL;
	struct err err = {""};

	cr_assert_eq(store_open(&options, &store, &err), 0, "%s", err.text);
	return store;
}

static void check_backend(const char *backend)
{
	struct waiter waiter = WAITER_INIT;
	struct store *store = open_at(backend, directory, &waiter);

	cr_expect_eq(put(store, STORE_BEHIND, "b/2", "two"), 1);
	cr_expect_eq(put(store, STORE_BEHIND, "b/1", "one"), 2);
	cr_expect_eq(put(store, STORE_BEHIND, "a", "x"), 3);
	cr_expect_eq(put(store, STORE_BEHIND, "b/10", ""), 4);
	wait_for(&waiter, store, store_applied, 4);
	cr_expect_eq(store_durable(store), 0, "only a REGISTRY batch is synced");
	expect_dump(store, "", "a=x;b/1=one;b/10=;b/2=two;");
	expect_dump(store, "b/", "b/1=one;b/10=;b/2=two;");
	expect_dump(store, "c", "");
	/* A key is a prefix of itself, and none of a shorter one. */
	expect_dump(store, "a", "a=x;");
	expect_dump(store, "b/1", "b/1=one;b/10=;");
	expect_dump(store, "b/100", "");

	struct store_op ops[] = {
		{SLICE("b/1"), {0}},
		{SLICE("c"), SLICE("new")},
		{SLICE("c"), SLICE("newer")},
		{SLICE("nothing"), {0}},
	};
	cr_expect_eq(store_write(store, STORE_SYNCED, ops, 4), 5);
	wait_for(&waiter, store, store_durable, 5);
	cr_expect_eq(store_durable(store), 5);
	cr_expect_eq(store_applied(store), 5);
	expect_dump(store, "", "a=x;b/10=;b/2=two;c=newer;");
	cr_expect_gt(waiter.notified, 0);
	cr_expect_null(store_failed(store));
	store_close(store);
}

Test(store_basic, memory)
{
	check_backend("memory");
}

Test(store_basic, leveldb)
{
	check_backend("leveldb");
	struct store *store = open_at("leveldb", directory, NULL);
	expect_dump(store, "", "a=x;b/10=;b/2=two;c=newer;");
	store_close(store);
}

Test(store_basic, its_size_is_that_of_its_files)
{
	const struct store_options options = {.backend = "leveldb", .path = directory};
	char value[4096];
	struct store_op op = {{"k", 1}, {value, sizeof(value)}};
	struct store_backend *backend;
	struct err err = {""};
	uint64_t before;

	memset(value, 'x', sizeof(value));
	cr_assert_eq(store_leveldb_open(&options, &backend, &err), 0, "%s", err.text);
	before = backend->ops->size(backend);
	for (int i = 0; i < 20; i++)
		cr_assert_eq(backend->ops->write(backend, &op, 1, true, &err), 0, "%s", err.text);
	cr_expect_geq(backend->ops->size(backend) - before, 20 * sizeof(value));
	cr_expect_leq(backend->ops->size(backend) - before, 22 * sizeof(value));
	backend->ops->close(backend);
}

Test(store_basic, bytes_of_any_value_survive)
{
	struct store *store = open_at("leveldb", directory, NULL);
	struct store_op op = {{"k\0\xff", 3}, {"\0v\0", 3}};

	store_write(store, STORE_BEHIND, &op, 1);
	store_close(store); /* writes what is queued */
	store = open_at("leveldb", directory, NULL);
	char *text = dump(store, "k");
	cr_expect_eq(memcmp(text, "k=;", 3), 0); /* printf stops at the NUL */
	free(text);
	store_close(store);
}

static int stop_at_two(void *context, struct slice key, struct slice value)
{
	return ++*(int *)context == 2 ? 42 : 0;
}

Test(store_basic, a_callback_can_stop_the_loading)
{
	const char *backends[] = {"memory", "leveldb"};

	for (int i = 0; i < 2; i++) {
		struct waiter waiter = WAITER_INIT;
		struct store *store = open_at(backends[i], directory, &waiter);
		int seen = 0;

		put(store, STORE_BEHIND, "a", "1");
		put(store, STORE_BEHIND, "b", "1");
		wait_for(&waiter, store, store_applied, put(store, STORE_BEHIND, "c", "1"));
		cr_expect_eq(store_load(store, "", stop_at_two, &seen, NULL), 42);
		cr_expect_eq(seen, 2);
		store_close(store);
	}
}

Test(store_basic, directories_are_made_for_their_owner_alone)
{
	char *path = xprintf("%s/one/two/three/", directory);
	char *parent = xprintf("%s/one", directory);
	struct stat st;

	store_close(open_at("leveldb", path, NULL));
	cr_assert_eq(stat(parent, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0700);
	cr_assert_eq(stat(path, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0700);
	free(path);
	free(parent);
}

static void expect_open_error(const char *backend, const char *path, int code, const char *part)
{
	struct store_options options = {.backend = backend, .path = path};
	struct store *store = NULL;
	struct err err = {""};

	cr_expect_eq(store_open(&options, &store, &err), code);
	cr_expect(strstr(err.text, part), "'%s' says nothing of '%s'", err.text, part);
	cr_expect_null(store);
}

Test(store_basic, what_cannot_be_opened)
{
	char *file = xprintf("%s/file", directory);
	char *below = xprintf("%s/file/store", directory);
	int fd = open(file, O_CREAT | O_WRONLY, 0600);

	close(fd);
	expect_open_error("paper", directory, ERR_INVALID, "Unknown store 'paper'");
	expect_open_error("leveldb", NULL, ERR_INVALID, "needs a path");
	expect_open_error("leveldb", "", ERR_INVALID, "needs a path");
	expect_open_error("leveldb", below, ERR_IO, below);
	expect_open_error("leveldb", file, ERR_IO, file);
	expect_open_error("leveldb", "/proc/no-such-place", ERR_IO, "/proc/no-such-place");
	free(file);
	free(below);
}

static int open_with(const char *format, bool repair)
{
	struct store_options options = {.backend = "leveldb", .path = directory, .repair = repair};
	char *path = xprintf("%s/FORMAT", directory);
	struct store *store;
	struct err err = {""};
	FILE *file;
	int rv;

	if (format) {
		file = fopen(path, "w");
		fputs(format, file);
		fclose(file);
	}
	free(path);
	rv = store_open(&options, &store, &err);
	if (rv == 0)
		store_close(store);
	else
		cr_expect(strstr(err.text, "format"), "%s", err.text);
	return rv;
}

static void expect_format(const char *expected)
{
	char *path = xprintf("%s/FORMAT", directory), text[32] = "";
	FILE *file = fopen(path, "r");

	cr_assert_not_null(file);
	cr_expect_not_null(fgets(text, sizeof(text), file));
	fclose(file);
	cr_expect_str_eq(text, expected);
	free(path);
}

/* Directories of before there were numbers have none. */
Test(store_basic, formats)
{
	static const char *const damaged[] = {"",     "x\n",	"1",	"0\n",
					      "01\n", "1\n1\n", "-1\n", "9999999999\n"};
	char *path = xprintf("%s/FORMAT", directory);

	cr_expect_eq(open_with(NULL, false), 0);
	expect_format("1\n");
	cr_assert_eq(remove(path), 0);
	cr_expect_eq(open_with(NULL, false), 0);
	expect_format("1\n");
	cr_expect_eq(open_with("2\n", false), ERR_INVALID);
	cr_expect_eq(open_with("2\n", true), ERR_INVALID, "what is newer is not damaged");
	expect_format("2\n");
	for (size_t i = 0; i < sizeof(damaged) / sizeof(*damaged); i++)
		cr_expect_eq(open_with(damaged[i], false), ERR_CORRUPT, "%s", damaged[i]);
	cr_expect_eq(open_with("x", true), 0);
	expect_format("1\n");
	free(path);
}

Test(store_basic, one_path_is_opened_once)
{
	struct store *store = open_at("leveldb", directory, NULL);
	char *alias = xprintf("%s/../%s/.", directory, strrchr(directory, '/') + 1);

	expect_open_error("leveldb", directory, ERR_EXISTS, "already open in this process");
	expect_open_error("leveldb", alias, ERR_EXISTS, "already open in this process");

	store_close(store);
	store_close(open_at("leveldb", alias, NULL));
	free(alias);
}

Test(store_basic, another_process_has_it)
{
	int ready[2], done[2];
	char c;

	cr_assert_eq(pipe(ready), 0);
	cr_assert_eq(pipe(done), 0);
	pid_t child = fork();
	if (child == 0) {
		close(done[1]);
		struct store *store = open_at("leveldb", directory, NULL);
		if (write(ready[1], "x", 1) == 1 && read(done[0], &c, 1) == 0)
			store_close(store);
		_exit(0);
	}
	close(done[0]);
	cr_assert_eq(read(ready[0], &c, 1), 1);
	expect_open_error("leveldb", directory, ERR_EXISTS, "is in use by another process");
	close(done[1]);
	cr_assert_eq(waitpid(child, NULL, 0), child);
	store_close(open_at("leveldb", directory, NULL));
}

/* A backend that counts, waits and fails as told. */
struct faulty {
	struct store_backend backend;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stalled; /* write() waits while true */
	bool entered; /* write() was called */
	int writes, syncs, ops;
	int fail_at; /* the write that fails; 0 = none */
	bool *closed;
};

static int faulty_write(struct store_backend *backend, const struct store_op *ops, size_t count,
			bool sync, struct err *err)
{
	struct faulty *faulty = (struct faulty *)backend;
	int rv = 0;

	pthread_mutex_lock(&faulty->lock);
	faulty->entered = true;
	pthread_cond_broadcast(&faulty->wake);
	while (faulty->stalled)
		pthread_cond_wait(&faulty->wake, &faulty->lock);
	faulty->ops += (int)count;
	faulty->syncs += sync;
	if (++faulty->writes == faulty->fail_at)
		rv = err_set(err, ERR_IO, "No space left on device");
	pthread_mutex_unlock(&faulty->lock);
	return rv;
}

static int faulty_load(struct store_backend *backend, const char *prefix,
		       int (*each)(void *context, struct slice key, struct slice value),
		       void *context, struct err *err)
{
	return err_set(err, ERR_IO, "Input/output error");
}

static void faulty_close(struct store_backend *backend)
{
	struct faulty *faulty = (struct faulty *)backend;

	*faulty->closed = true;
	free(faulty);
}

static const struct store_backend_ops faulty_ops = {
	.write = faulty_write, .load = faulty_load, .close = faulty_close};

static struct faulty *faulty_new(bool *closed)
{
	struct faulty *faulty = xcalloc(1, sizeof(*faulty));

	faulty->backend.ops = &faulty_ops;
	pthread_mutex_init(&faulty->lock, NULL);
	pthread_cond_init(&faulty->wake, NULL);
	faulty->closed = closed;
	return faulty;
}

static void faulty_wait_entered(struct faulty *faulty)
{
	pthread_mutex_lock(&faulty->lock);
	while (!faulty->entered)
		pthread_cond_wait(&faulty->wake, &faulty->lock);
	pthread_mutex_unlock(&faulty->lock);
}

static void faulty_resume(struct faulty *faulty)
{
	pthread_mutex_lock(&faulty->lock);
	faulty->stalled = false;
	pthread_cond_broadcast(&faulty->wake);
	pthread_mutex_unlock(&faulty->lock);
}

Test(store_basic, a_failed_write_is_the_end_of_writing)
{
	struct waiter waiter = WAITER_INIT;
	bool closed = false;
	struct faulty *faulty = faulty_new(&closed);
	struct store *store = NULL;
	struct err err = {""};

	faulty->fail_at = 2;
	cr_assert_eq(store_open_backend(&faulty->backend, waiter_notify, &waiter, &store, &err), 0);
	cr_expect_eq(put(store, STORE_SYNCED, "a", "1"), 1);
	wait_for(&waiter, store, store_durable, 1);
	cr_expect_eq(store_durable(store), 1);
	cr_expect_eq(put(store, STORE_SYNCED, "b", "1"), 2);
	wait_for(&waiter, store, store_durable, 2);
	cr_assert_not_null(store_failed(store));
	cr_expect_str_eq(store_failed(store), "No space left on device");
	cr_expect_eq(put(store, STORE_SYNCED, "c", "1"), 3, "numbers go on");
	cr_expect_eq(store_durable(store), 1);
	cr_expect_eq(store_applied(store), 1);
	cr_expect_eq(store_load(store, "", append_pair, NULL, &err), ERR_IO);
	cr_expect_str_eq(err.text, "Input/output error");
	cr_expect_eq(faulty->writes, 2, "nothing is written after a failure");
	store_close(store);
	cr_expect(closed);
}

/* ---- marks ------------------------------------------------------------------------ */

static int faulty_note(struct store_backend *backend, const char *text, struct err *err)
{
	return faulty_write(backend, NULL, 0, true, err);
}

/* How many writes there were. */
static void faulty_mark(struct store_backend *backend, char mark[STORE_MARK_MAX])
{
	snprintf(mark, STORE_MARK_MAX, "%d", ((struct faulty *)backend)->writes);
}

static const struct store_backend_ops marked_ops = {.write = faulty_write,
						    .load = faulty_load,
						    .note = faulty_note,
						    .mark = faulty_mark,
						    .close = faulty_close};

Test(store_basic, marks_are_of_what_is_written)
{
	struct waiter waiter = WAITER_INIT;
	bool closed = false;
	struct faulty *faulty = faulty_new(&closed);
	char mark[STORE_MARK_MAX];
	struct store *store = NULL;

	faulty->backend.ops = &marked_ops;
	cr_assert_eq(store_open_backend(&faulty->backend, waiter_notify, &waiter, &store, NULL), 0);
	cr_expect_eq(store_mark(store, mark), 0);
	cr_expect_str_eq(mark, "0");
	put(store, STORE_SYNCED, "a", "1");
	wait_for(&waiter, store, store_durable, 1);
	cr_expect_eq(store_mark(store, mark), 1);
	cr_expect_str_eq(mark, "1");
	/* A note changes nothing but the mark. */
	cr_expect_eq(store_note(store, "something"), 1);
	wait_for(&waiter, store, store_noted, 1);
	cr_expect_eq(store_mark(store, mark), 1);
	cr_expect_str_eq(mark, "2");
	/* What fails has none. */
	faulty->fail_at = 3;
	put(store, STORE_SYNCED, "b", "1");
	wait_for(&waiter, store, store_durable, 2);
	cr_assert_not_null(store_failed(store));
	cr_expect_eq(store_mark(store, mark), 1);
	cr_expect_str_eq(mark, "2");
	cr_expect_not(store_is_cached(store));
	store_close(store);
}

Test(store_basic, stores_of_one_have_no_marks)
{
	struct store *store = open_at("memory", NULL, NULL);
	char mark[STORE_MARK_MAX] = "x";

	put(store, STORE_SYNCED, "a", "1");
	store_mark(store, mark);
	cr_expect_str_eq(mark, "");
	cr_expect_not(store_is_cached(store));
	store_close(store);
}

Test(store_basic, waiting_batches_share_one_sync_and_their_memory)
{
	struct waiter waiter = WAITER_INIT;
	bool closed = false;
	struct faulty *faulty = faulty_new(&closed);
	struct store *store = NULL;
	uint64_t last = 0;

	faulty->stalled = true;
	cr_assert_eq(store_open_backend(&faulty->backend, waiter_notify, &waiter, &store, NULL), 0);
	put(store, STORE_BEHIND, "first", "x");
	faulty_wait_entered(faulty);
	for (int i = 0; i < 1000; i++) {
		char key[16];

		snprintf(key, sizeof(key), "key%d", i % 10);
		last = put(store, i % 100 == 50 ? STORE_SYNCED : STORE_BEHIND, key, "value");
	}
	cr_expect_eq(store_applied(store), 0);
	faulty_resume(faulty);
	wait_for(&waiter, store, store_durable, last);
	cr_expect_eq(store_durable(store), last);
	cr_expect_eq(faulty->syncs, 1);
	cr_expect_eq(faulty->writes, 2);
	cr_expect_eq(faulty->ops, 1 + 10, "a newer value replaces one that waits");
	store_close(store);
	cr_expect(closed);
}

Test(store_basic, closing_syncs_what_was_written_behind)
{
	struct waiter waiter = WAITER_INIT;
	bool closed = false;
	struct faulty *faulty = faulty_new(&closed);
	struct store *store = NULL;

	cr_assert_eq(store_open_backend(&faulty->backend, waiter_notify, &waiter, &store, NULL), 0);
	wait_for(&waiter, store, store_applied, put(store, STORE_BEHIND, "a", "1"));
	cr_expect_eq(faulty->syncs, 0);
	waiter.notified = 0;
	faulty->fail_at = 2; /* the sync at the end fails: it must not crash */
	store_close(store);
	cr_expect(closed);
	store_close(NULL);
}

Test(store_basic, an_empty_batch_is_a_barrier)
{
	struct waiter waiter = WAITER_INIT;
	struct store *store = open_at("leveldb", directory, &waiter);

	put(store, STORE_BEHIND, "a", "1");
	wait_for(&waiter, store, store_durable, store_write(store, STORE_SYNCED, NULL, 0));
	cr_expect_eq(store_durable(store), 2);
	store_close(store);
}

Test(store_basic, waiting_ends_when_the_batch_is_durable)
{
	struct store *store = open_at("leveldb", directory, NULL);
	struct err err = {""};

	for (int i = 0; i < 20; i++) {
		uint64_t number = put(store, STORE_SYNCED, "a", "1");

		cr_expect_eq(store_wait(store, number, &err), 0, "%s", err.text);
		cr_expect_geq(store_durable(store), number);
	}
	cr_expect_eq(store_wait(store, 1, &err), 0, "long ago");
	store_close(store);
}

Test(store_basic, waiting_ends_when_the_write_fails)
{
	bool closed = false;
	struct faulty *faulty = faulty_new(&closed);
	struct store *store = NULL;
	struct err err = {""};

	faulty->fail_at = 1;
	cr_assert_eq(store_open_backend(&faulty->backend, NULL, NULL, &store, NULL), 0);
	cr_expect_eq(store_wait(store, put(store, STORE_SYNCED, "a", "1"), &err), ERR_IO);
	cr_expect_neq(err.text[0], '\0');
	store_close(store);
}
