/* What the scheduler and the executor driver share: status, the thread on which callbacks run,
 * and the hand-over between that thread, the loop's thread and the program's threads.
 *
 *   program's threads --- post() ---> loop's thread --- push() ---> callback thread
 *
 * The callback thread starts with start() and ends when the driver is no longer running and
 * what remains to be said was said. Each driver embeds `struct driver`. */
#ifndef CLIENT_LIBMESOS_DRIVER_INTERNAL_H
#define CLIENT_LIBMESOS_DRIVER_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/list.h"
#include "base/memory/buf.h"
#include "client/libmesos/loop.h"
#include "client/libmesos/status.h"

/* Something to tell the program. Embedded in what a driver queues; heap. */
struct callback {
	struct list link;
	bool final; /* told even when the driver runs no more, before its thread ends */
	struct buf bytes;
	int kind; /* the driver's own */
};

struct driver;

struct driver_methods {
	/* On the callback thread. 0, or negative: the program's code failed, the driver aborts. */
	int (*tell)(struct driver *driver, struct callback *callback);
	/* On the loop's thread, once each: */
	void (*begin)(struct driver *driver); /* after start */
	void (*end)(struct driver *driver); /* after stop or abort; driver_settled() must follow */
	/* The program's `error` callback, on the thread that calls. */
	void (*error)(struct driver *driver, const char *why);
};

struct driver {
	const struct driver_methods *methods;
	void *context;			      /* the program's */
	void (*thread_begins)(void *context); /* around the life of the callback thread */
	void (*thread_ends)(void *context);
	struct driver_loop *loop;
	struct loop_member member;
	struct loop_task begin_task;
	struct loop_task end_task;
	struct callback last_words; /* of a driver without memory */
	pthread_t thread;
	pthread_mutex_t mutex;	/* of what follows; nobody asks for memory below it */
	pthread_cond_t changed; /* something of what follows */
	enum libmesos_status status;
	bool was_aborted;
	bool thread_runs;
	bool ending;  /* `end` was posted, or the loop is lost */
	bool settled; /* nothing of the driver is left on the loop; true at first */
	struct list callbacks;
};

/* `begins` and `ends` are called around the life of the callback thread; may be NULL. */
void driver_init(struct driver *driver, const struct driver_methods *methods, void *context,
		 void (*begins)(void *context), void (*ends)(void *context));
/* Aborts if it runs, and returns when no thread uses the driver any more. Not on the loop's
 * thread. */
void driver_finish(struct driver *driver);

/* Of the contract; any thread. `why` not NULL: start failed, tell that. */
enum libmesos_status driver_start(struct driver *driver, const char *why);
enum libmesos_status driver_abort(struct driver *driver);
enum libmesos_status driver_stop(struct driver *driver);
enum libmesos_status driver_join(struct driver *driver);
enum libmesos_status driver_status(struct driver *driver);

/* Has a task run on the loop's thread if the driver runs; otherwise, false: it is the caller's
 * still. */
bool driver_post(struct driver *driver, struct loop_task *task);

/* On the loop's thread: */
struct callback *callback_new(int kind, const void *bytes, size_t len);
void driver_push(struct driver *driver, struct callback *callback); /* takes it */
/* Aborts the driver, then has `why` told by the `error` callback. */
void driver_fail(struct driver *driver, const char *why);
void driver_settled(struct driver *driver);
/* Any thread: has `run` called on the loop once more though the driver has ended; it is to
 * call driver_settled() again. False when there is no loop to do so. */
bool driver_again(struct driver *driver, void (*run)(struct loop_task *task));

#endif
