/* See driver_internal.h. */
#include "client/libmesos/driver_internal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/memory/arena.h"

#define KIND_ERROR (-1)		     /* beside the drivers' own kinds */
#define STACK_SIZE (8 * 1024 * 1024) /* callbacks are code of the program */
#define EXIT_WAIT_SECONDS 1	     /* for the farewell to the master */
#define NO_MEMORY "out of memory, the driver gave up"

static pthread_mutex_t stops_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t stops_changed = PTHREAD_COND_INITIALIZER;
static int stops; /* drivers that were started and are ending */

static void count_stops(int by)
{
	pthread_mutex_lock(&stops_mutex);
	stops += by;
	pthread_cond_broadcast(&stops_changed);
	pthread_mutex_unlock(&stops_mutex);
}

void libmesos_wait_for_stops(void)
{
	struct timespec until;
	int rv = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += EXIT_WAIT_SECONDS;
	pthread_mutex_lock(&stops_mutex);
	while (stops > 0 && rv == 0)
		rv = pthread_cond_timedwait(&stops_changed, &stops_mutex, &until);
	pthread_mutex_unlock(&stops_mutex);
}

/* ---- callbacks ------------------------------------------------------------ */

struct callback *callback_new(int kind, const void *bytes, size_t len)
{
	struct callback *callback = xcalloc(1, sizeof(*callback));

	callback->kind = kind;
	buf_append(&callback->bytes, bytes, len);
	return callback;
}

static void free_callback(struct driver *driver, struct callback *callback)
{
	if (callback == &driver->last_words)
		return;
	buf_free(&callback->bytes);
	free(callback);
}

void driver_push(struct driver *driver, struct callback *callback)
{
	pthread_mutex_lock(&driver->mutex);
	list_append(&driver->callbacks, &callback->link);
	pthread_cond_broadcast(&driver->changed);
	pthread_mutex_unlock(&driver->mutex);
}

/* Waits for something to tell; NULL when there will be nothing any more. */
static struct callback *next_callback(struct driver *driver)
{
	struct callback *callback, *next, *found = NULL;

	pthread_mutex_lock(&driver->mutex);
	while (driver->status == DRIVER_RUNNING && list_empty(&driver->callbacks))
		pthread_cond_wait(&driver->changed, &driver->mutex);
	list_for_each (callback, next, &driver->callbacks, link) {
		list_remove(&callback->link);
		if (driver->status == DRIVER_RUNNING || callback->final) {
			found = callback;
			break;
		}
		free_callback(driver, callback);
	}
	pthread_mutex_unlock(&driver->mutex);
	return found;
}

static void end(struct driver *driver);

static void set_aborted(struct driver *driver)
{
	if (driver->status == DRIVER_RUNNING) {
		driver->status = DRIVER_ABORTED;
		driver->was_aborted = true;
	}
	pthread_cond_broadcast(&driver->changed);
}

/* Under the mutex. */
static void say_last_words(struct driver *driver)
{
	if (driver->status == DRIVER_RUNNING && list_empty(&driver->last_words.link))
		list_append(&driver->callbacks, &driver->last_words.link);
	set_aborted(driver);
}

static void fail_without_memory(struct driver *driver)
{
	pthread_mutex_lock(&driver->mutex);
	say_last_words(driver);
	pthread_mutex_unlock(&driver->mutex);
	end(driver);
}

struct telling {
	struct driver *driver;
	struct callback *callback;
	int rv;
};

static void tell_guarded(void *context)
{
	struct telling *t = context;

	t->rv = t->driver->methods->tell(t->driver, t->callback);
}

static void tell(struct driver *driver, struct callback *callback)
{
	struct telling t = {driver, callback, 0};

	if (callback->kind == KIND_ERROR)
		driver->methods->error(driver,
				       callback->bytes.data ? callback->bytes.data : NO_MEMORY);
	else if (!libmesos_guard(tell_guarded, &t))
		fail_without_memory(driver);
	else if (t.rv < 0)
		driver_abort(driver);
}

static void *driver_thread_main(void *context)
{
	struct driver *driver = context;
	struct callback *callback;

	if (driver->thread_begins)
		driver->thread_begins(driver->context);
	while ((callback = next_callback(driver))) {
		tell(driver, callback);
		free_callback(driver, callback);
	}
	if (driver->thread_ends)
		driver->thread_ends(driver->context);
	pthread_mutex_lock(&driver->mutex);
	driver->thread_runs = false;
	pthread_cond_broadcast(&driver->changed);
	pthread_mutex_unlock(&driver->mutex);
	return NULL;
}

static int start_thread(struct driver *driver)
{
	sigset_t all, old;
	pthread_attr_t attributes;
	int rv;

	sigfillset(&all);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rv = pthread_create(&driver->thread, &attributes, driver_thread_main, driver);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attributes);
	return rv;
}

/* ---- the loop's side ------------------------------------------------------- */

static void run_begin(struct loop_task *task)
{
	struct driver *driver = container_of(task, struct driver, begin_task);

	driver->methods->begin(driver);
}

static void run_end(struct loop_task *task)
{
	struct driver *driver = container_of(task, struct driver, end_task);

	driver->methods->end(driver);
}

void driver_settled(struct driver *driver)
{
	driver_loop_leave(driver->loop, &driver->member);
	pthread_mutex_lock(&driver->mutex);
	driver->settled = true;
	pthread_cond_broadcast(&driver->changed);
	pthread_mutex_unlock(&driver->mutex);
	count_stops(-1);
}

/* The loop ran out of memory; the callback thread says so without asking for any. */
static void lost(struct loop_member *member)
{
	struct driver *driver = container_of(member, struct driver, member);
	bool was_ending;

	pthread_mutex_lock(&driver->mutex);
	was_ending = driver->ending;
	driver->ending = driver->settled = true;
	say_last_words(driver);
	pthread_mutex_unlock(&driver->mutex);
	if (was_ending)
		count_stops(-1);
}

/* The status is no longer RUNNING: takes the driver off the loop, once. */
static void end(struct driver *driver)
{
	bool first;

	pthread_mutex_lock(&driver->mutex);
	first = !driver->ending;
	driver->ending = true;
	pthread_mutex_unlock(&driver->mutex);
	if (!first)
		return;
	count_stops(1);
	/* If the loop is lost, it tells us so itself. */
	driver_loop_post(driver->loop, &driver->end_task);
}

void driver_fail(struct driver *driver, const char *why)
{
	struct callback *callback = callback_new(KIND_ERROR, why, strlen(why));
	bool running;

	callback->final = true;
	pthread_mutex_lock(&driver->mutex);
	running = driver->status == DRIVER_RUNNING;
	if (running)
		list_append(&driver->callbacks, &callback->link);
	set_aborted(driver);
	pthread_mutex_unlock(&driver->mutex);
	if (running)
		end(driver);
	else
		free_callback(driver, callback);
}

/* Below the mutex, so that no task comes behind the one that ends the driver. */
bool driver_post(struct driver *driver, struct loop_task *task)
{
	bool posted;

	pthread_mutex_lock(&driver->mutex);
	posted = driver->status == DRIVER_RUNNING && driver_loop_post(driver->loop, task);
	pthread_mutex_unlock(&driver->mutex);
	return posted;
}

/* ---- the contract ---------------------------------------------------------- */

void driver_init(struct driver *driver, const struct driver_methods *methods, void *context,
		 void (*begins)(void *context), void (*ends)(void *context))
{
	driver->methods = methods;
	driver->context = context;
	driver->thread_begins = begins;
	driver->thread_ends = ends;
	driver->status = DRIVER_NOT_STARTED;
	driver->settled = true;
	driver->member.lost = lost;
	driver->begin_task.run = run_begin;
	driver->end_task.run = run_end;
	driver->last_words.kind = KIND_ERROR;
	driver->last_words.final = true;
	list_init(&driver->last_words.link);
	list_init(&driver->member.link);
	list_init(&driver->callbacks);
	pthread_mutex_init(&driver->mutex, NULL);
	pthread_cond_init(&driver->changed, NULL);
}

enum libmesos_status driver_status(struct driver *driver)
{
	enum libmesos_status status;

	pthread_mutex_lock(&driver->mutex);
	status = driver->status;
	pthread_mutex_unlock(&driver->mutex);
	return status;
}

/* Gets a loop and a thread; under the mutex. NULL, or what failed. */
static const char *set_going(struct driver *driver, struct err *err)
{
	if (driver_loop_join(&driver->member, &driver->loop, err) < 0)
		return err->text;
	driver->status = DRIVER_RUNNING;
	driver->settled = false;
	driver->thread_runs = true;
	if (start_thread(driver)) {
		driver_loop_leave(driver->loop, &driver->member);
		driver->settled = true;
		driver->thread_runs = false;
		return "cannot start a thread";
	}
	driver_loop_post(driver->loop, &driver->begin_task);
	return NULL;
}

enum libmesos_status driver_start(struct driver *driver, const char *why)
{
	enum libmesos_status status;
	struct err err;

	pthread_mutex_lock(&driver->mutex);
	status = driver->status;
	if (status == DRIVER_NOT_STARTED) {
		if (!why)
			why = set_going(driver, &err);
		status = driver->status = why ? DRIVER_ABORTED : DRIVER_RUNNING;
		driver->was_aborted = why != NULL;
	} else {
		why = NULL;
	}
	pthread_mutex_unlock(&driver->mutex);
	if (why)
		driver->methods->error(driver, why);
	return status;
}

enum libmesos_status driver_abort(struct driver *driver)
{
	enum libmesos_status status;

	pthread_mutex_lock(&driver->mutex);
	status = driver->status;
	if (status == DRIVER_RUNNING)
		set_aborted(driver);
	pthread_mutex_unlock(&driver->mutex);
	if (status != DRIVER_RUNNING)
		return status;
	end(driver);
	return DRIVER_ABORTED;
}

enum libmesos_status driver_stop(struct driver *driver)
{
	enum libmesos_status status;
	bool running, was_aborted;

	pthread_mutex_lock(&driver->mutex);
	running = driver->status == DRIVER_RUNNING;
	if (running || driver->status == DRIVER_ABORTED)
		driver->status = DRIVER_STOPPED;
	status = driver->status;
	was_aborted = driver->was_aborted;
	driver->was_aborted = false;
	pthread_cond_broadcast(&driver->changed);
	pthread_mutex_unlock(&driver->mutex);
	if (running)
		end(driver);
	return status == DRIVER_STOPPED && was_aborted ? DRIVER_ABORTED : status;
}

bool driver_again(struct driver *driver, void (*run)(struct loop_task *task))
{
	struct err err;
	bool ok;

	pthread_mutex_lock(&driver->mutex);
	while (!driver->settled)
		pthread_cond_wait(&driver->changed, &driver->mutex);
	ok = driver->loop && driver_loop_join(&driver->member, &driver->loop, &err) == 0;
	if (ok) {
		driver->settled = false;
		count_stops(1);
		driver->end_task.run = run;
		driver_loop_post(driver->loop, &driver->end_task);
	}
	pthread_mutex_unlock(&driver->mutex);
	return ok;
}

static bool on_callback_thread(const struct driver *driver)
{
	return driver->thread_runs && pthread_equal(driver->thread, pthread_self());
}

enum libmesos_status driver_join(struct driver *driver)
{
	enum libmesos_status status;

	pthread_mutex_lock(&driver->mutex);
	while (driver->status == DRIVER_RUNNING ||
	       (driver->status != DRIVER_NOT_STARTED && !on_callback_thread(driver) &&
		(driver->thread_runs || !driver->settled)))
		pthread_cond_wait(&driver->changed, &driver->mutex);
	status = driver->status;
	pthread_mutex_unlock(&driver->mutex);
	return status;
}

void driver_finish(struct driver *driver)
{
	struct callback *callback, *next;

	driver_abort(driver);
	driver_join(driver);
	list_for_each (callback, next, &driver->callbacks, link)
		free_callback(driver, callback);
	pthread_cond_destroy(&driver->changed);
	pthread_mutex_destroy(&driver->mutex);
}
