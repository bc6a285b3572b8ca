/* See state.h. */
#include "bindings/jvm/state.h"

#include <leveldb/c.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/list.h"
#include "base/memory/arena.h"
#include "base/random.h"
#include "client/libmesos/status.h"
#include "proto/wire/wire_write.h"

enum { ENTRY_NAME = 1, ENTRY_UUID = 2, ENTRY_VALUE = 3 };
enum operation { FETCH, STORE, EXPUNGE, NAMES };

struct state {
	leveldb_t *db; /* NULL: it could not be opened, `problem` says why */
	char problem[512];
	leveldb_options_t *options;
	leveldb_readoptions_t *reading;
	leveldb_writeoptions_t *writing;
	struct rng rng; /* of the thread */
	pthread_t thread;
	pthread_mutex_t mutex; /* of the queue */
	pthread_cond_t changed;
	struct list queue; /* struct state_future */
	bool closing;
};

struct state_future {
	struct list link;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int references; /* Java's and the thread's */
	enum operation operation;
	enum state_outcome outcome;
	bool begun;
	struct state_variable *argument;
	struct state_variable *variable;
	bool expunged;
	char **names;
	size_t count;
	char error[512];
};

/* ---- variables ---------------------------------------------------------------- */

struct state_variable *state_variable_new(const char *name, const uint8_t *uuid, struct slice value)
{
	struct state_variable *variable = calloc(1, sizeof(*variable));

	if (!variable)
		return NULL;
	variable->name = strdup(name);
	variable->value = malloc(value.len + 1);
	if (!variable->name || !variable->value) {
		state_variable_free(variable);
		return NULL;
	}
	if (uuid)
		memcpy(variable->uuid, uuid, STATE_UUID_BYTES);
	if (value.len)
		memcpy(variable->value, value.data, value.len);
	variable->len = value.len;
	return variable;
}

void state_variable_free(struct state_variable *variable)
{
	if (!variable)
		return;
	free(variable->name);
	free(variable->value);
	free(variable);
}

/* ---- futures ------------------------------------------------------------------- */

void state_future_free(struct state_future *future)
{
	bool last;

	pthread_mutex_lock(&future->mutex);
	last = --future->references == 0;
	pthread_mutex_unlock(&future->mutex);
	if (!last)
		return;
	state_variable_free(future->argument);
	state_variable_free(future->variable);
	for (size_t i = 0; i < future->count; i++)
		free(future->names[i]);
	free(future->names);
	pthread_cond_destroy(&future->changed);
	pthread_mutex_destroy(&future->mutex);
	free(future);
}

static struct state_future *future_new(enum operation operation)
{
	struct state_future *future = calloc(1, sizeof(*future));
	pthread_condattr_t attributes;

	if (!future)
		return NULL;
	list_init(&future->link);
	pthread_mutex_init(&future->mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&future->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	future->references = 2;
	future->operation = operation;
	return future;
}

static void state_settle(struct state_future *future, enum state_outcome outcome)
{
	pthread_mutex_lock(&future->mutex);
	if (future->outcome == STATE_PENDING)
		future->outcome = outcome;
	pthread_cond_broadcast(&future->changed);
	pthread_mutex_unlock(&future->mutex);
}

/* The thread is about to carry it out. */
static bool state_begin(struct state_future *future)
{
	bool ok;

	pthread_mutex_lock(&future->mutex);
	ok = future->outcome == STATE_PENDING;
	future->begun = ok;
	pthread_mutex_unlock(&future->mutex);
	return ok;
}

bool state_future_cancel(struct state_future *future)
{
	bool ok;

	pthread_mutex_lock(&future->mutex);
	ok = future->outcome == STATE_PENDING && !future->begun;
	if (ok)
		future->outcome = STATE_CANCELLED;
	pthread_cond_broadcast(&future->changed);
	pthread_mutex_unlock(&future->mutex);
	return ok;
}

enum state_outcome state_future_outcome(struct state_future *future)
{
	return state_future_wait(future, 0);
}

enum state_outcome state_future_wait(struct state_future *future, int64_t nanoseconds)
{
	struct timespec until;
	enum state_outcome outcome;
	int rv = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += nanoseconds / 1000000000;
	until.tv_nsec += nanoseconds % 1000000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&future->mutex);
	while (future->outcome == STATE_PENDING && rv == 0 && nanoseconds > 0)
		rv = pthread_cond_timedwait(&future->changed, &future->mutex, &until);
	outcome = future->outcome;
	pthread_mutex_unlock(&future->mutex);
	return outcome;
}

const struct state_variable *state_future_variable(const struct state_future *future)
{
	return future->variable;
}

bool state_future_expunged(const struct state_future *future)
{
	return future->expunged;
}

char *const *state_future_names(const struct state_future *future, size_t *count)
{
	*count = future->count;
	return future->names;
}

const char *state_future_error(const struct state_future *future)
{
	return future->error;
}

/* ---- the database, on the state's thread ------------------------------------------ */

struct work {
	struct state *state;
	struct state_future *future;
	bool ok;
};

/* Takes leveldb's text. */
static bool succeeded(struct state_future *future, char *error)
{
	if (!error)
		return true;
	snprintf(future->error, sizeof(future->error), "%s", error);
	leveldb_free(error);
	return false;
}

static bool parse_entry(struct slice bytes, const char *name, struct state_variable **out)
{
	struct slice uuid, value = SLICE("");

	if (!wire_part(bytes, ENTRY_UUID, &uuid) || uuid.len != STATE_UUID_BYTES)
		return false;
	wire_part(bytes, ENTRY_VALUE, &value);
	*out = state_variable_new(name, (const uint8_t *)uuid.data, value);
	return *out != NULL;
}

/* What is stored; `*out` NULL: nothing. */
static bool read_entry(struct work *w, const char *name, struct state_variable **out)
{
	size_t len;
	char *error = NULL, *bytes;
	bool ok = true;

	*out = NULL;
	bytes = leveldb_get(w->state->db, w->state->reading, name, strlen(name), &len, &error);
	if (!succeeded(w->future, error))
		return false;
	if (bytes && !parse_entry((struct slice){bytes, len}, name, out)) {
		snprintf(w->future->error, sizeof(w->future->error),
			 "Failed to deserialize Entry of '%s'", name);
		ok = false;
	}
	leveldb_free(bytes);
	return ok;
}

static bool write_entry(struct work *w, const struct state_variable *variable)
{
	struct buf bytes = BUF_INIT;
	char *error = NULL;

	wire_put_bytes(&bytes, ENTRY_NAME, slice_of(variable->name));
	wire_put_bytes(&bytes, ENTRY_UUID,
		       (struct slice){(const char *)variable->uuid, STATE_UUID_BYTES});
	wire_put_bytes(&bytes, ENTRY_VALUE, (struct slice){variable->value, variable->len});
	leveldb_put(w->state->db, w->state->writing, variable->name, strlen(variable->name),
		    bytes.data, bytes.len, &error);
	buf_free(&bytes);
	return succeeded(w->future, error);
}

static bool fetch(struct work *w)
{
	uint8_t uuid[STATE_UUID_BYTES];
	const char *name = w->future->argument->name;

	if (!read_entry(w, name, &w->future->variable))
		return false;
	if (w->future->variable)
		return true;
	uuid_make(&w->state->rng, uuid);
	w->future->variable = state_variable_new(name, uuid, SLICE(""));
	return w->future->variable != NULL;
}

/* Whether the name has another uuid than whoever writes believes. */
static bool has_changed(const struct state_variable *stored, const struct state_variable *known)
{
	return memcmp(stored->uuid, known->uuid, STATE_UUID_BYTES) != 0;
}

static bool store(struct work *w)
{
	const struct state_variable *known = w->future->argument;
	struct state_variable *stored, *next;
	uint8_t uuid[STATE_UUID_BYTES];
	bool changed;

	if (!read_entry(w, known->name, &stored))
		return false;
	changed = stored && has_changed(stored, known);
	state_variable_free(stored);
	if (changed)
		return true;
	uuid_make(&w->state->rng, uuid);
	next = state_variable_new(known->name, uuid, (struct slice){known->value, known->len});
	if (!next || !write_entry(w, next)) {
		state_variable_free(next);
		return false;
	}
	w->future->variable = next;
	return true;
}

static bool expunge(struct work *w)
{
	const struct state_variable *known = w->future->argument;
	struct state_variable *stored;
	char *error = NULL;
	bool changed;

	if (!read_entry(w, known->name, &stored))
		return false;
	changed = !stored || has_changed(stored, known);
	state_variable_free(stored);
	if (changed)
		return true;
	leveldb_delete(w->state->db, w->state->writing, known->name, strlen(known->name), &error);
	w->future->expunged = !error;
	return succeeded(w->future, error);
}

static bool names(struct work *w)
{
	leveldb_iterator_t *at = leveldb_create_iterator(w->state->db, w->state->reading);
	struct state_future *future = w->future;
	char *error = NULL;

	for (leveldb_iter_seek_to_first(at); leveldb_iter_valid(at); leveldb_iter_next(at)) {
		size_t len;
		const char *name = leveldb_iter_key(at, &len);

		future->names = xrealloc(future->names, (future->count + 1) * sizeof(char *));
		future->names[future->count++] = xstrndup(name, len);
	}
	leveldb_iter_get_error(at, &error);
	leveldb_iter_destroy(at);
	return succeeded(future, error);
}

static void work(void *context)
{
	static bool (*const operations[])(struct work * w) = {
		[FETCH] = fetch, [STORE] = store, [EXPUNGE] = expunge, [NAMES] = names};
	struct work *w = context;

	w->ok = operations[w->future->operation](w);
}

static void state_carry_out(struct state *state, struct state_future *future)
{
	struct work w = {state, future, false};

	snprintf(future->error, sizeof(future->error), "%s",
		 state->db ? "out of memory" : state->problem);
	if (state->db)
		libmesos_guard(work, &w);
	state_settle(future, w.ok ? STATE_READY : STATE_FAILED);
}

static struct state_future *next_future(struct state *state)
{
	struct state_future *future;

	pthread_mutex_lock(&state->mutex);
	while (list_empty(&state->queue) && !state->closing)
		pthread_cond_wait(&state->changed, &state->mutex);
	future = list_first(&state->queue, struct state_future, link);
	if (future)
		list_remove(&future->link);
	pthread_mutex_unlock(&state->mutex);
	return future;
}

static void *state_thread_main(void *context)
{
	struct state *state = context;
	struct state_future *future;

	while ((future = next_future(state))) {
		if (state_begin(future))
			state_carry_out(state, future);
		state_future_free(future);
	}
	return NULL;
}

/* ---- life ------------------------------------------------------------------------- */

static void open_database(struct state *state, const char *path)
{
	char *error = NULL;

	state->options = leveldb_options_create();
	leveldb_options_set_create_if_missing(state->options, 1);
	state->reading = leveldb_readoptions_create();
	leveldb_readoptions_set_verify_checksums(state->reading, 1);
	state->writing = leveldb_writeoptions_create();
	leveldb_writeoptions_set_sync(state->writing, 1);
	state->db = leveldb_open(state->options, path, &error);
	if (!error)
		return;
	snprintf(state->problem, sizeof(state->problem), "%s", error);
	leveldb_free(error);
	state->db = NULL;
}

static void free_state(struct state *state)
{
	if (state->db)
		leveldb_close(state->db);
	leveldb_options_destroy(state->options);
	leveldb_readoptions_destroy(state->reading);
	leveldb_writeoptions_destroy(state->writing);
	pthread_cond_destroy(&state->changed);
	pthread_mutex_destroy(&state->mutex);
	free(state);
}

struct state *state_open(const char *path)
{
	struct state *state = calloc(1, sizeof(*state));
	sigset_t all, old;
	int rv;

	if (!state)
		return NULL;
	list_init(&state->queue);
	pthread_mutex_init(&state->mutex, NULL);
	pthread_cond_init(&state->changed, NULL);
	rng_seed(&state->rng, rng_entropy());
	open_database(state, path);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rv = pthread_create(&state->thread, NULL, state_thread_main, state);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rv == 0)
		return state;
	free_state(state);
	return NULL;
}

void state_close(struct state *state)
{
	struct state_future *future, *next;

	pthread_mutex_lock(&state->mutex);
	state->closing = true;
	list_for_each (future, next, &state->queue, link)
		state_future_cancel(future);
	pthread_cond_signal(&state->changed);
	pthread_mutex_unlock(&state->mutex);
	pthread_join(state->thread, NULL);
	free_state(state);
}

static struct state_future *queue(struct state *state, struct state_future *future)
{
	if (!future)
		return NULL;
	pthread_mutex_lock(&state->mutex);
	list_append(&state->queue, &future->link);
	pthread_cond_signal(&state->changed);
	pthread_mutex_unlock(&state->mutex);
	return future;
}

/* Takes the argument. */
static struct state_future *queue_with(struct state *state, enum operation operation,
				       struct state_variable *argument)
{
	struct state_future *future = argument ? future_new(operation) : NULL;

	if (future)
		future->argument = argument;
	else
		state_variable_free(argument);
	return queue(state, future);
}

static struct state_variable *copy_of(const struct state_variable *variable)
{
	return state_variable_new(variable->name, variable->uuid,
				  (struct slice){variable->value, variable->len});
}

struct state_future *state_fetch(struct state *state, const char *name)
{
	return queue_with(state, FETCH, state_variable_new(name, NULL, SLICE("")));
}

struct state_future *state_store(struct state *state, const struct state_variable *variable)
{
	return queue_with(state, STORE, copy_of(variable));
}

struct state_future *state_expunge(struct state *state, const struct state_variable *variable)
{
	return queue_with(state, EXPUNGE, copy_of(variable));
}

struct state_future *state_names(struct state *state)
{
	return queue(state, future_new(NAMES));
}
