/* Variables in a leveldb, as Apache Mesos' state abstraction keeps them: a name, a value and a
 * uuid that changes with each store, so that who stores says which value he knew.
 *
 * Operations are carried out in order by a thread of the state's own; a future says what became
 * of one. Keys are names; a value is the packed message {name = 1, uuid = 2, value = 3}, as Mesos'
 * LevelDBState writes it. All functions from any thread. Memory that runs out is NULL, or a future
 * that failed, and never the process' end (leveldb's own excepted). */
#ifndef BINDINGS_JVM_STATE_H
#define BINDINGS_JVM_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory/buf.h"

#define STATE_UUID_BYTES 16

/* One value that a name had. Not changed after it was made. */
struct state_variable {
	char *name;
	uint8_t uuid[STATE_UUID_BYTES];
	char *value; /* may hold anything */
	size_t len;
};

struct state_variable *state_variable_new(const char *name, const uint8_t *uuid,
					  struct slice value);
void state_variable_free(struct state_variable *variable);

struct state;
struct state_future;

/* Opens or makes the database; what goes wrong there is told by each future. */
struct state *state_open(const char *path);
/* Operations that wait are cancelled; the one that runs ends first. */
void state_close(struct state *state);

/* Begin operations. Fetching an unknown name gives an empty value, which is stored only by a
 * store. Storing and expunging do nothing if the name has another uuid than `variable`. */
struct state_future *state_fetch(struct state *state, const char *name);
struct state_future *state_store(struct state *state, const struct state_variable *variable);
struct state_future *state_expunge(struct state *state, const struct state_variable *variable);
struct state_future *state_names(struct state *state);

enum state_outcome { STATE_PENDING, STATE_READY, STATE_FAILED, STATE_CANCELLED };

void state_future_free(struct state_future *future);
/* Only what has not begun can be cancelled; whether it was. */
bool state_future_cancel(struct state_future *future);
enum state_outcome state_future_outcome(struct state_future *future);
/* Waits up to `nanoseconds`. */
enum state_outcome state_future_wait(struct state_future *future, int64_t nanoseconds);

/* Of a future that is ready. The fetched or stored variable (NULL: it had changed), whether
 * something was expunged, the names (`*count` of them). They are the future's. */
const struct state_variable *state_future_variable(const struct state_future *future);
bool state_future_expunged(const struct state_future *future);
char *const *state_future_names(const struct state_future *future, size_t *count);
/* Of one that failed. */
const char *state_future_error(const struct state_future *future);

#endif
