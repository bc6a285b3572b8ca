/* libmesos' v1 scheduler library (`mesos::v1::scheduler::Mesos`): the program makes calls and is
 * told of events, nothing is done in between. It says SUBSCRIBE itself when `connected` was told,
 * and again as often as it likes until SUBSCRIBED comes.
 *
 * Threads: any function from any thread but free(), which is not for callbacks. Callbacks come one
 * at a time, on a thread of its own.
 *
 * `connected`: a master answers. `disconnected`: it does so no longer, or the stream of events
 * ended; another `connected` follows when a master is found. Calls that a master refuses for good
 * become an ERROR event, as do master strings that say nothing. */
#ifndef CLIENT_LIBMESOS_CALLS_H
#define CLIENT_LIBMESOS_CALLS_H

#include "base/memory/buf.h"

struct libmesos_calls;

/* As those of scheduler.h. */
struct libmesos_calls_handlers {
	int (*connected)(void *context);
	int (*disconnected)(void *context);
	int (*received)(void *context, struct slice event);
	void (*thread_begins)(void *context);
	void (*thread_ends)(void *context);
};

/* `principal` NULL: no credential. NULL when there is no memory. */
struct libmesos_calls *libmesos_calls_new(const char *master, const char *principal,
					  const char *secret,
					  const struct libmesos_calls_handlers *handlers,
					  void *context);
void libmesos_calls_free(struct libmesos_calls *calls);
/* Begins to look for a master. */
void libmesos_calls_start(struct libmesos_calls *calls);

/* The bytes of a whole Call. */
void libmesos_calls_send(struct libmesos_calls *calls, struct slice call);
/* Drops the connections and looks for a master anew. */
void libmesos_calls_reconnect(struct libmesos_calls *calls);

#endif
