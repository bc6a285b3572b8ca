/* See executor.h. */
#include "client/libmesos/executor.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log/log.h"
#include "base/memory/arena.h"
#include "base/time/clock.h"
#include "base/time/duration.h"
#include "client/executor.h"
#include "client/libmesos/driver_internal.h"
#include "proto/wire/wire_write.h"

#define GRACE_PERIOD (5 * SECOND) /* libmesos' own, if the agent does not say */
#define LAST_WORDS_MS 1000
#define LAST_WORDS_POLL_MS 5

/* Field numbers of executor.proto, for parts that are passed on packed. */
enum {
	EVENT_SUBSCRIBED = 2,
	EVENT_LAUNCH = 4,
	EVENT_KILL = 5,
	EVENT_MESSAGE = 6,
	EVENT_LAUNCH_GROUP = 8,
	SUBSCRIBED_EXECUTOR_INFO = 1,
	SUBSCRIBED_FRAMEWORK_INFO = 2,
	SUBSCRIBED_AGENT_INFO = 3,
	LAUNCH_TASK = 1,
	LAUNCH_GROUP_TASK_GROUP = 1,
	TASK_GROUP_TASKS = 1,
	KILL_TASK_ID = 1,
	MESSAGE_DATA = 1,
};

enum { KIND_DISCONNECTED = 1000, KIND_REREGISTERED };

struct libmesos_executor {
	struct driver driver;
	struct libmesos_executor_handlers handlers;
	void *context;
	/* On the loop's thread: */
	struct executor_driver *session;
	uv_timer_t timer; /* kills after a SHUTDOWN; waits for last words */
	uint64_t give_up; /* waiting for them, loop time */
	bool was_registered;
};

static struct libmesos_executor *executor_of(struct driver *driver)
{
	return container_of(driver, struct libmesos_executor, driver);
}

/* ---- on the callback thread ------------------------------------------------ */

static int tell_subscribed(struct libmesos_executor *e, struct slice subscribed, bool again)
{
	struct slice agent_info = wire_part_of(subscribed, SUBSCRIBED_AGENT_INFO);

	if (again)
		return e->handlers.reregistered(e->context, agent_info);
	return e->handlers.registered(
		e->context, wire_part_of(subscribed, SUBSCRIBED_EXECUTOR_INFO),
		wire_part_of(subscribed, SUBSCRIBED_FRAMEWORK_INFO), agent_info);
}

/* libmesos' executors know no groups: each task is launched for itself. */
static int tell_group(struct libmesos_executor *e, struct slice launch)
{
	struct slice group = wire_part_of(launch, LAUNCH_GROUP_TASK_GROUP), task;
	int rv = 0;

	while (rv == 0 && wire_next(&group, TASK_GROUP_TASKS, &task))
		rv = e->handlers.launch(e->context, task);
	return rv;
}

static int executor_tell(struct driver *driver, struct callback *callback)
{
	struct libmesos_executor *e = executor_of(driver);
	struct slice event = {callback->bytes.data, callback->bytes.len};

	switch (callback->kind) {
	case KIND_DISCONNECTED:
		return e->handlers.disconnected(e->context);
	case MESOS__EXECUTOR__EVENT__TYPE__SUBSCRIBED:
		return tell_subscribed(e, wire_part_of(event, EVENT_SUBSCRIBED), false);
	case KIND_REREGISTERED:
		return tell_subscribed(e, wire_part_of(event, EVENT_SUBSCRIBED), true);
	case MESOS__EXECUTOR__EVENT__TYPE__LAUNCH:
		return e->handlers.launch(
			e->context, wire_part_of(wire_part_of(event, EVENT_LAUNCH), LAUNCH_TASK));
	case MESOS__EXECUTOR__EVENT__TYPE__LAUNCH_GROUP:
		return tell_group(e, wire_part_of(event, EVENT_LAUNCH_GROUP));
	case MESOS__EXECUTOR__EVENT__TYPE__KILL:
		return e->handlers.kill(
			e->context, wire_part_of(wire_part_of(event, EVENT_KILL), KILL_TASK_ID));
	case MESOS__EXECUTOR__EVENT__TYPE__MESSAGE:
		return e->handlers.message(
			e->context, wire_part_of(wire_part_of(event, EVENT_MESSAGE), MESSAGE_DATA));
	case MESOS__EXECUTOR__EVENT__TYPE__SHUTDOWN:
		return e->handlers.shutdown(e->context);
	default:
		return 0;
	}
}

static void tell_error(struct driver *driver, const char *why)
{
	struct libmesos_executor *e = executor_of(driver);

	e->handlers.error(e->context, why);
}

/* ---- on the loop's thread --------------------------------------------------- */

static int64_t grace_period(void)
{
	const char *text = getenv("MESOS_EXECUTOR_SHUTDOWN_GRACE_PERIOD");
	int64_t value;
	struct err err;

	return text && duration_parse(text, &value, &err) == 0 && value >= 0 ? value : GRACE_PERIOD;
}

static void grace_over_cb(uv_timer_t *timer)
{
	log_warning("this executor was told to shut down and did not: killing it");
	killpg(0, SIGKILL);
}

static void take_shutdown(struct libmesos_executor *e)
{
	if (!getenv("MESOS_LOCAL"))
		uv_timer_start(&e->timer, grace_over_cb, (uint64_t)(grace_period() / MILLISECOND),
			       0);
}

static void event_cb(void *context, const Mesos__Executor__Event *event)
{
	struct libmesos_executor *e = context;
	int kind = event->type;
	struct buf bytes = BUF_INIT;

	if (kind == MESOS__EXECUTOR__EVENT__TYPE__ERROR) {
		driver_fail(&e->driver, event->error ? event->error->message : "error");
		return;
	}
	if (kind == MESOS__EXECUTOR__EVENT__TYPE__SUBSCRIBED && e->was_registered)
		kind = KIND_REREGISTERED;
	e->was_registered |= kind == MESOS__EXECUTOR__EVENT__TYPE__SUBSCRIBED;
	if (kind == MESOS__EXECUTOR__EVENT__TYPE__SHUTDOWN)
		take_shutdown(e);
	proto_pack(event, &bytes);
	driver_push(&e->driver, callback_new(kind, bytes.data, bytes.len));
	buf_free(&bytes);
}

static void executor_disconnected_cb(void *context)
{
	struct libmesos_executor *e = context;

	driver_push(&e->driver, callback_new(KIND_DISCONNECTED, NULL, 0));
}

static void failed_cb(void *context, const char *why)
{
	struct libmesos_executor *e = context;

	driver_fail(&e->driver, why);
}

static void executor_begin(struct driver *driver)
{
	static const struct executor_handlers handlers = {
		.event = event_cb, .failed = failed_cb, .disconnected = executor_disconnected_cb};
	struct libmesos_executor *e = executor_of(driver);
	uv_loop_t *loop = driver_loop_uv(driver->loop);
	struct err err;

	uv_timer_init(loop, &e->timer);
	if (executor_driver_create(loop, driver_loop_rng(driver->loop), &handlers, e, &e->session,
				   &err) < 0)
		driver_fail(driver, err.text);
}

static void executor_timer_closed_cb(uv_handle_t *handle)
{
	struct libmesos_executor *e =
		container_of((uv_timer_t *)handle, struct libmesos_executor, timer);

	driver_settled(&e->driver);
}

static void last_words_cb(uv_timer_t *timer)
{
	struct libmesos_executor *e = container_of(timer, struct libmesos_executor, timer);

	if (e->session && executor_driver_waiting(e->session) && uv_now(timer->loop) < e->give_up)
		return;
	if (e->session)
		executor_driver_close(e->session);
	e->session = NULL;
	uv_close((uv_handle_t *)timer, executor_timer_closed_cb);
}

/* A shutdown's timer, if any, ends here: who stopped has heard. */
static void end(struct driver *driver)
{
	struct libmesos_executor *e = executor_of(driver);
	bool stopped = driver_status(driver) == DRIVER_STOPPED;

	e->give_up = uv_now(e->timer.loop) + (stopped ? LAST_WORDS_MS : 0);
	uv_timer_start(&e->timer, last_words_cb, 0, LAST_WORDS_POLL_MS);
}

/* ---- calls ------------------------------------------------------------------- */

struct executor_task {
	struct loop_task task;
	struct libmesos_executor *executor;
	Mesos__TaskStatus *status; /* heap; NULL: `data` is a message */
	struct buf data;
};

static void free_task(struct executor_task *t)
{
	proto_free(t->status);
	buf_free(&t->data);
	free(t);
}

static void run_task(struct loop_task *task)
{
	struct executor_task *t = container_of(task, struct executor_task, task);

	if (t->executor->session && t->status)
		executor_driver_update(t->executor->session, t->status);
	else if (t->executor->session)
		executor_driver_message(t->executor->session, t->data.data, t->data.len);
	free_task(t);
}

static enum libmesos_status executor_post(struct libmesos_executor *e, Mesos__TaskStatus *status,
					  struct slice data)
{
	struct executor_task *t = xcalloc(1, sizeof(*t));

	t->task.run = run_task;
	t->executor = e;
	t->status = status;
	buf_append(&t->data, data.data, data.len);
	if (!driver_post(&e->driver, &t->task))
		free_task(t);
	return driver_status(&e->driver);
}

enum libmesos_status libmesos_executor_update(struct libmesos_executor *e, struct slice bytes)
{
	Mesos__TaskStatus *status =
		proto_unpack_heap(&mesos__task_status__descriptor, bytes.data, bytes.len);

	if (!status)
		return driver_status(&e->driver);
	if (status->state == MESOS__TASK_STATE__TASK_STAGING) {
		proto_free(status);
		driver_fail(&e->driver, "Attempted to send TASK_STAGING status update");
		return driver_status(&e->driver);
	}
	return executor_post(e, status, SLICE(""));
}

enum libmesos_status libmesos_executor_send(struct libmesos_executor *e, struct slice data)
{
	return executor_post(e, NULL, data);
}

/* ---- the contract ------------------------------------------------------------ */

static const struct driver_methods methods = {
	.tell = executor_tell,
	.begin = executor_begin,
	.end = end,
	.error = tell_error,
};

struct libmesos_executor *libmesos_executor_new(const struct libmesos_executor_handlers *handlers,
						void *context)
{
	struct libmesos_executor *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->handlers = *handlers;
	e->context = context;
	driver_init(&e->driver, &methods, context, handlers->thread_begins, handlers->thread_ends);
	return e;
}

void libmesos_executor_free(struct libmesos_executor *e)
{
	driver_finish(&e->driver);
	free(e);
}

enum libmesos_status libmesos_executor_start(struct libmesos_executor *e)
{
	struct err err;

	if (executor_environment_check(&err) < 0)
		return driver_start(&e->driver, err.text);
	return driver_start(&e->driver, NULL);
}

enum libmesos_status libmesos_executor_stop(struct libmesos_executor *e)
{
	return driver_stop(&e->driver);
}

enum libmesos_status libmesos_executor_abort(struct libmesos_executor *e)
{
	return driver_abort(&e->driver);
}

enum libmesos_status libmesos_executor_join(struct libmesos_executor *e)
{
	return driver_join(&e->driver);
}
