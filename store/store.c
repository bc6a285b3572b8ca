/* The queue of batches and the thread that writes them (store.h).
 *
 * store_write() merges a batch into the last group that waits (groups.h). The writer takes
 * all waiting groups at once, applies each atomically and syncs with the last one if a
 * SYNCED batch is among them.
 *
 * Failure: the first write that fails ends writing; what waits is dropped.
 */
#include "store/store.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory/arena.h"
#include "store/backend.h"
#include "store/groups.h"

#define WRITER_NICE 5 /* gets a quarter of a busy processor: more than it needs */

struct store {
	struct store_backend *backend;
	void (*notify)(void *context);
	void *context;

	pthread_mutex_t lock; /* guards what is below, up to `closing` */
	pthread_cond_t wake;
	pthread_cond_t progress; /* something was written, or failed */
	struct list waiting;	 /* of groups, oldest first */
	char *note;		 /* that waits, or NULL; heap */
	uint64_t note_number;	 /* of the last one */
	uint64_t marked;	 /* the batch up to which `mark` says what is written */
	char mark[STORE_MARK_MAX];
	bool closing;

	uint64_t last_number; /* the caller's thread only */
	pthread_t writer;
	_Atomic uint64_t applied;
	_Atomic uint64_t durable;
	_Atomic uint64_t noted;
	_Atomic uint64_t size;
	_Atomic(const char *) failure; /* heap; set once, by the writer */
};

static int group_apply(struct store *store, struct store_group *group, bool sync, struct err *err)
{
	size_t count;
	struct store_op *ops = store_group_ops(group, &count);
	int rv = store->backend->ops->write(store->backend, ops, count, sync, err);

	free(ops);
	return rv;
}

/* Before anybody is told that something was written. */
static void mark_written(struct store *store, uint64_t number)
{
	struct store_backend *backend = store->backend;

	if (!backend->ops->mark)
		return;
	pthread_mutex_lock(&store->lock);
	store->marked = number;
	backend->ops->mark(backend, store->mark);
	pthread_mutex_unlock(&store->lock);
}

static void store_fail(struct store *store, const struct err *err)
{
	atomic_store(&store->failure, xstrdup(err->text[0] ? err->text : "the store failed"));
}

/* Writes (or after a failure drops) all groups of the list. */
static void drain(struct store *store, struct list *groups, bool sync)
{
	struct store_group *group, *next;

	list_for_each (group, next, groups, link) {
		bool last = group->link.next == groups;
		struct err err = {""};

		if (!store_failed(store)) {
			if (group_apply(store, group, last && sync, &err) < 0) {
				store_fail(store, &err);
			} else {
				mark_written(store, group->last);
				atomic_store(&store->applied, group->last);
				if (last && sync)
					atomic_store(&store->durable, group->last);
			}
			if (store->notify)
				store->notify(store->context);
		}
		store_group_free(group);
	}
}

/* Takes the note over. */
static void write_note(struct store *store, char *note, uint64_t number)
{
	struct err err = {""};

	if (!store_failed(store)) {
		if (store->backend->ops->note(store->backend, note, &err) < 0)
			store_fail(store, &err);
		else
			mark_written(store, store_applied(store));
		if (!store_failed(store))
			atomic_store(&store->noted, number);
		if (store->notify)
			store->notify(store->context);
	}
	free(note);
}

/* Where they share a processor, the loop is not to be put aside for what is written behind.
 * The backend's own threads, which the writer starts, inherit it. */
static void step_back(void)
{
	id_t self = (id_t)gettid();

	setpriority(PRIO_PROCESS, self, getpriority(PRIO_PROCESS, self) + WRITER_NICE);
}

/* Every so many drains: it looks at each file. */
#define SIZE_INTERVAL 256

static void store_measure(struct store *store)
{
	if (store->backend->ops->size)
		atomic_store(&store->size, store->backend->ops->size(store->backend));
}

static void *writer_main(void *argument)
{
	struct store *store = argument;
	bool closing = false, sync;
	unsigned drains = 0;

	step_back();
	while (!closing) {
		struct list groups;
		uint64_t number;
		char *note;

		pthread_mutex_lock(&store->lock);
		while (list_empty(&store->waiting) && !store->note && !store->closing)
			pthread_cond_wait(&store->wake, &store->lock);
		sync = store_groups_take(&store->waiting, &groups);
		note = store->note;
		number = store->note_number;
		store->note = NULL;
		closing = store->closing;
		pthread_mutex_unlock(&store->lock);
		if (note)
			write_note(store, note, number);
		if (drains++ % SIZE_INTERVAL == 0)
			store_measure(store);
		drain(store, &groups, sync);
		pthread_mutex_lock(&store->lock);
		pthread_cond_broadcast(&store->progress);
		pthread_mutex_unlock(&store->lock);
	}
	if (!store_failed(store) && store_durable(store) < store_applied(store)) {
		struct err err = {""};

		if (store->backend->ops->write(store->backend, NULL, 0, true, &err) < 0)
			store_fail(store, &err);
		else
			atomic_store(&store->durable, store_applied(store));
	}
	return NULL;
}

static int writer_start(struct store *store)
{
	sigset_t all, old;

	/* Signals belong to the loop's thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int rv = pthread_create(&store->writer, NULL, writer_main, store);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rv;
}

static void store_free(struct store *store)
{
	store->backend->ops->close(store->backend);
	pthread_cond_destroy(&store->wake);
	pthread_cond_destroy(&store->progress);
	pthread_mutex_destroy(&store->lock);
	free((char *)atomic_load(&store->failure));
	free(store);
}

int store_open_backend(struct store_backend *backend, void (*notify)(void *context), void *context,
		       struct store **out, struct err *err)
{
	struct store *store = xcalloc(1, sizeof(*store));

	store->backend = backend;
	store->notify = notify;
	store->context = context;
	pthread_mutex_init(&store->lock, NULL);
	pthread_cond_init(&store->wake, NULL);
	pthread_cond_init(&store->progress, NULL);
	list_init(&store->waiting);
	mark_written(store, 0);
	int rv = writer_start(store);
	if (rv != 0) {
		store_free(store);
		return err_set(err, ERR_IO, "Failed to start the store's thread: %s", strerror(rv));
	}
	*out = store;
	return 0;
}

int store_open(const struct store_options *options, struct store **out, struct err *err)
{
	const char *name = options->backend ? options->backend : "leveldb";
	struct store_backend *backend = NULL;

	if (strcmp(name, "memory") == 0) {
		backend = store_memory_open();
	} else if (strcmp(name, "leveldb") == 0) {
		int rv = store_leveldb_open(options, &backend, err);
		if (rv < 0)
			return rv;
	} else if (strcmp(name, "zookeeper") == 0) {
		int rv = store_zookeeper_open(options, &backend, err);
		if (rv < 0)
			return rv;
	} else {
		return err_set(err, ERR_INVALID,
			       "Unknown store '%s': expected 'leveldb', 'memory' or 'zookeeper'",
			       name);
	}
	return store_open_backend(backend, options->notify, options->context, out, err);
}

void store_close(struct store *store)
{
	if (!store)
		return;
	pthread_mutex_lock(&store->lock);
	store->closing = true;
	pthread_cond_signal(&store->wake);
	pthread_mutex_unlock(&store->lock);
	pthread_join(store->writer, NULL);
	store_groups_free(&store->waiting);
	free(store->note);
	store_free(store);
}

int store_load(struct store *store, const char *prefix,
	       int (*each)(void *context, struct slice key, struct slice value), void *context,
	       struct err *err)
{
	return store->backend->ops->load(store->backend, prefix ? prefix : "", each, context, err);
}

uint64_t store_write(struct store *store, enum store_class class, const struct store_op *ops,
		     size_t count)
{
	uint64_t number = ++store->last_number;

	if (store_failed(store))
		return number;
	pthread_mutex_lock(&store->lock);
	bool idle = list_empty(&store->waiting);
	store_groups_add(&store->waiting, store->backend->ops->group_bytes, number, class, ops,
			 count);
	pthread_mutex_unlock(&store->lock);
	/* Otherwise the writer was woken already, or looks before it sleeps. Not under the
	 * lock, which would be the first thing that it waits for. */
	if (idle)
		pthread_cond_signal(&store->wake);
	return number;
}

int store_wait(struct store *store, uint64_t number, struct err *err)
{
	pthread_mutex_lock(&store->lock);
	while (store_durable(store) < number && !store_failed(store))
		pthread_cond_wait(&store->progress, &store->lock);
	pthread_mutex_unlock(&store->lock);
	return store_failed(store) ? err_set(err, ERR_IO, "%s", store_failed(store)) : 0;
}

uint64_t store_applied(const struct store *store)
{
	return atomic_load(&store->applied);
}

uint64_t store_durable(const struct store *store)
{
	return atomic_load(&store->durable);
}

uint64_t store_size(const struct store *store)
{
	return atomic_load(&store->size);
}

const char *store_holder(const struct store *store)
{
	struct store_backend *backend = store->backend;

	return backend->ops->holder ? backend->ops->holder(backend) : NULL;
}

uint64_t store_note(struct store *store, const char *text)
{
	uint64_t number;

	pthread_mutex_lock(&store->lock);
	free(store->note);
	store->note = xstrdup(text);
	number = ++store->note_number;
	pthread_mutex_unlock(&store->lock);
	pthread_cond_signal(&store->wake);
	return number;
}

uint64_t store_noted(const struct store *store)
{
	return atomic_load(&store->noted);
}

const char *store_note_before(const struct store *store)
{
	struct store_backend *backend = store->backend;

	return backend->ops->note_before ? backend->ops->note_before(backend) : NULL;
}

uint64_t store_mark(struct store *store, char mark[STORE_MARK_MAX])
{
	uint64_t number;

	pthread_mutex_lock(&store->lock);
	memcpy(mark, store->mark, STORE_MARK_MAX);
	number = store->marked;
	pthread_mutex_unlock(&store->lock);
	return number;
}

bool store_is_cached(const struct store *store)
{
	struct store_backend *backend = store->backend;

	return backend->ops->cached && backend->ops->cached(backend);
}

const char *store_failed(const struct store *store)
{
	return atomic_load(&store->failure);
}
