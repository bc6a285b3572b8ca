/* The scheduler driver's master, on the loop's thread: subscription, end, a cluster of its own; see
 * scheduler_internal.h. */
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "client/libmesos/master.h"
#include "client/libmesos/scheduler_internal.h"
#include "proto/wire/wire_write.h"

#define TEARDOWN_WAIT_MS 5000 /* of a driver that subscribes once more to say it */

/* Field numbers of scheduler.proto and mesos.proto, for parts that are passed on packed. */
enum {
	EVENT_SUBSCRIBED = 2,
	SUBSCRIBED_MASTER_INFO = 3,
};

void scheduler_push(struct libmesos_scheduler *s, int kind, struct slice bytes)
{
	driver_push(&s->driver, callback_new(kind, bytes.data, bytes.len));
}

/* A master before 1.1 does not say who it is, and what the program is told must be whole. */
static void add_master(struct libmesos_scheduler *s, struct slice record)
{
	Mesos__MasterInfo master = MESOS__MASTER_INFO__INIT;
	struct buf event = BUF_INIT, subscribed = BUF_INIT;
	struct slice said = wire_part_of(record, EVENT_SUBSCRIBED);
	char *address;
	int port;

	scheduler_driver_master(s->session, &address, &port);
	master.id = (char *)"";
	master.port = (uint32_t)port;
	master.hostname = address;
	buf_append(&subscribed, said.data, said.len);
	wire_put_message(&subscribed, SUBSCRIBED_MASTER_INFO, &master);
	wire_put_bytes(&event, EVENT_SUBSCRIBED, (struct slice){subscribed.data, subscribed.len});
	scheduler_push(s,
		       s->was_registered ? KIND_REREGISTERED
					 : MESOS__SCHEDULER__EVENT__TYPE__SUBSCRIBED,
		       (struct slice){event.data, event.len});
	buf_free(&subscribed);
	buf_free(&event);
	free(address);
}

static void scheduler_link_take_subscribed(struct libmesos_scheduler *s, struct slice record)
{
	struct slice master;

	if (!wire_part(wire_part_of(record, EVENT_SUBSCRIBED), SUBSCRIBED_MASTER_INFO, &master))
		add_master(s, record);
	else if (s->was_registered)
		scheduler_push(s, KIND_REREGISTERED, record);
	else
		scheduler_push(s, MESOS__SCHEDULER__EVENT__TYPE__SUBSCRIBED, record);
	s->was_registered = true;
}

static void scheduler_link_record_cb(void *context, Mesos__Scheduler__Event__Type type,
				     struct slice record)
{
	struct libmesos_scheduler *s = context;

	if (type == MESOS__SCHEDULER__EVENT__TYPE__SUBSCRIBED)
		scheduler_link_take_subscribed(s, record);
	else
		scheduler_push(s, type, record);
}

static void scheduler_link_disconnected_cb(void *context, const char *why)
{
	log_info("disconnected from the master: %s", why);
	scheduler_push(context, KIND_DISCONNECTED, SLICE(""));
}

static void scheduler_link_failed_cb(void *context, const char *why)
{
	struct libmesos_scheduler *s = context;

	s->unwanted = true;
	driver_fail(&s->driver, why);
}

static void scheduler_link_refused_cb(void *context, Mesos__Scheduler__Call__Type type, int status,
				      const char *why)
{
	log_warning("the master refused a %s (%d): %s",
		    proto_enum_name(&mesos__scheduler__call__type__descriptor, type, SPELL_V1),
		    status, why);
}

static void scheduler_link_unreachable_cb(void *context, const char *why)
{
	log_warning("%s; trying again", why);
}

static void open_session(struct libmesos_scheduler *s, const char *address,
			 const struct scheduler_handlers *handlers)
{
	struct scheduler_options options = {
		.master = address,
		.info = s->info,
		.suppressed_roles = s->suppressed_roles,
		.suppressed_role_count = s->suppressed_role_count,
		.principal = s->principal,
		.secret = s->secret,
	};
	struct err err;

	if (scheduler_driver_create(driver_loop_uv(s->driver.loop), &options, handlers, s,
				    &s->session, &err) < 0)
		driver_fail(&s->driver, err.text);
}

static const struct scheduler_handlers session_handlers = {
	.disconnected = scheduler_link_disconnected_cb,
	.failed = scheduler_link_failed_cb,
	.refused = scheduler_link_refused_cb,
	.unreachable = scheduler_link_unreachable_cb,
	.record = scheduler_link_record_cb,
};

static void scheduler_link_local_ready_cb(void *context, const char *master, const char *why)
{
	struct libmesos_scheduler *s = context;

	if (!master) {
		driver_fail(&s->driver, why);
		return;
	}
	free(s->address);
	s->address = xstrdup(master);
	open_session(s, master, &session_handlers);
}

void scheduler_begin(struct driver *driver)
{
	struct libmesos_scheduler *s = scheduler_of(driver);

	if (libmesos_master_is_local(s->address))
		s->local = local_cluster_start(driver_loop_uv(driver->loop),
					       scheduler_link_local_ready_cb, s);
	else
		open_session(s, s->address, &session_handlers);
}

/* ---- the end, on the loop's thread ------------------------------------------ */

static void scheduler_link_local_ended_cb(void *context)
{
	struct libmesos_scheduler *s = context;

	driver_settled(&s->driver);
}

static void close_session(struct libmesos_scheduler *s)
{
	struct local_cluster *local = s->local;
	const char *id;

	if (s->session) {
		id = scheduler_driver_id(s->session);
		if (*id && !s->info->id) {
			Mesos__FrameworkID known = MESOS__FRAMEWORK_ID__INIT;

			known.value = (char *)id;
			s->info->id = proto_copy(&known);
		}
		scheduler_driver_close(s->session);
	}
	s->session = NULL;
	s->local = NULL;
	if (local)
		local_cluster_stop(local, scheduler_link_local_ended_cb);
	else
		driver_settled(&s->driver);
}

static void finished_cb(void *context)
{
	close_session(context);
}

void scheduler_end(struct driver *driver)
{
	struct libmesos_scheduler *s = scheduler_of(driver);
	enum libmesos_status status = driver_status(driver);

	if (!s->session || status == DRIVER_ABORTED)
		close_session(s);
	else if (s->tear_down)
		scheduler_driver_teardown(s->session, finished_cb);
	else
		scheduler_driver_finish(s->session, finished_cb);
}

/* An aborted driver that is stopped without failover: it closed its stream, and only a
 * subscribed framework may say TEARDOWN, so it subscribes once more. */

static void scheduler_link_timer_closed_cb(uv_handle_t *handle)
{
	free(handle);
}

static void close_last_session(struct libmesos_scheduler *s)
{
	if (s->last_wait)
		uv_close((uv_handle_t *)s->last_wait, scheduler_link_timer_closed_cb);
	s->last_wait = NULL;
	if (s->session)
		close_session(s);
}

static void last_finished_cb(void *context)
{
	close_last_session(context);
}

static void last_record_cb(void *context, Mesos__Scheduler__Event__Type type, struct slice record)
{
	struct libmesos_scheduler *s = context;

	if (type == MESOS__SCHEDULER__EVENT__TYPE__SUBSCRIBED)
		scheduler_driver_teardown(s->session, last_finished_cb);
}

static void last_failed_cb(void *context, const char *why)
{
	close_last_session(context);
}

static void scheduler_link_last_wait_cb(uv_timer_t *timer)
{
	close_last_session(timer->data);
}

void scheduler_tear_down(struct loop_task *task)
{
	static const struct scheduler_handlers handlers = {
		.disconnected = last_failed_cb,
		.failed = last_failed_cb,
		.refused = scheduler_link_refused_cb,
		.unreachable = last_failed_cb,
		.record = last_record_cb,
	};
	struct driver *driver = container_of(task, struct driver, end_task);
	struct libmesos_scheduler *s = scheduler_of(driver);

	if (s->info->id && !s->unwanted)
		open_session(s, s->address, &handlers);
	if (!s->session) {
		driver_settled(driver);
		return;
	}
	s->last_wait = xcalloc(1, sizeof(*s->last_wait));
	uv_timer_init(driver_loop_uv(driver->loop), s->last_wait);
	s->last_wait->data = s;
	uv_timer_start(s->last_wait, scheduler_link_last_wait_cb, TEARDOWN_WAIT_MS, 0);
}
