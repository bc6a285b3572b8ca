/* See scheduler.h. The driver's methods run on the loop's thread and on the callback thread; the
 * functions of the contract are at the end. */
#include "client/libmesos/scheduler.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "client/libmesos/driver_internal.h"
#include "client/libmesos/local.h"
#include "client/libmesos/master.h"
#include "client/scheduler.h"
#include "proto/wire_write.h"

#define HOSTNAME_BYTES 256
#define TEARDOWN_WAIT_MS 5000 /* of a driver that subscribes once more to say it */

/* Field numbers of scheduler.proto and mesos.proto, for parts that are passed on packed. */
enum {
	EVENT_SUBSCRIBED = 2,
	EVENT_OFFERS = 3,
	EVENT_RESCIND = 4,
	EVENT_UPDATE = 5,
	EVENT_MESSAGE = 6,
	EVENT_FAILURE = 7,
	SUBSCRIBED_FRAMEWORK_ID = 1,
	SUBSCRIBED_MASTER_INFO = 3,
	RESCIND_OFFER_ID = 1,
	UPDATE_STATUS = 1,
	MESSAGE_AGENT_ID = 1,
	MESSAGE_EXECUTOR_ID = 2,
	MESSAGE_DATA = 3,
	FAILURE_AGENT_ID = 1,
	FAILURE_EXECUTOR_ID = 2,
	FAILURE_STATUS = 3,
	STATUS_TASK_ID = 1,
	STATUS_AGENT_ID = 5,
	STATUS_UUID = 11,
	CALL_TYPE = 2,
	CALL_ACKNOWLEDGE = 8,
	ACKNOWLEDGE_AGENT_ID = 1,
	ACKNOWLEDGE_TASK_ID = 2,
	ACKNOWLEDGE_UUID = 3,
};

/* What the callback thread is told, beside events by their types. */
enum { KIND_DISCONNECTED = 1000, KIND_REREGISTERED, KIND_LOCAL_UPDATE };

struct libmesos_scheduler {
	struct driver driver;
	struct libmesos_scheduler_handlers handlers;
	void *context;
	char *master;		    /* as given */
	char *address;		    /* "host:port" or "local"; since start */
	Mesos__FrameworkInfo *info; /* heap; the id is set once known */
	char **suppressed_roles;
	size_t suppressed_role_count;
	bool implicit;
	char *principal, *secret;
	bool tear_down; /* at the end */
	/* On the loop's thread: */
	struct scheduler_driver *session;
	struct local_cluster *local;
	uv_timer_t *last_wait; /* of a subscription that is only to say TEARDOWN */
	bool was_registered;
	bool unwanted; /* the master ended it, maybe because another one took the framework over */
};

static struct libmesos_scheduler *scheduler_of(struct driver *driver)
{
	return container_of(driver, struct libmesos_scheduler, driver);
}

/* ---- on the callback thread ------------------------------------------------ */

static struct slice part_of(struct slice message, uint32_t field)
{
	struct slice part = SLICE("");

	wire_part(message, field, &part);
	return part;
}

static enum libmesos_status acknowledge(struct libmesos_scheduler *s, struct slice status)
{
	struct slice uuid = part_of(status, STATUS_UUID), agent_id;
	struct buf body = BUF_INIT, call = BUF_INIT;

	/* What the master says by itself has none. */
	if (uuid.len == 0 || !wire_part(status, STATUS_AGENT_ID, &agent_id))
		return driver_status(&s->driver);
	wire_put_bytes(&body, ACKNOWLEDGE_AGENT_ID, agent_id);
	wire_put_bytes(&body, ACKNOWLEDGE_TASK_ID, part_of(status, STATUS_TASK_ID));
	wire_put_bytes(&body, ACKNOWLEDGE_UUID, uuid);
	wire_put_bytes(&call, CALL_ACKNOWLEDGE, (struct slice){body.data, body.len});
	buf_free(&body);
	return libmesos_scheduler_call(s, MESOS__SCHEDULER__CALL__TYPE__ACKNOWLEDGE, &call);
}

static int tell_update(struct libmesos_scheduler *s, struct slice status)
{
	int rv = s->handlers.update(s->context, status);

	if (rv == 0 && s->implicit)
		acknowledge(s, status);
	return rv;
}

static int tell_registered(struct libmesos_scheduler *s, struct slice event, bool again)
{
	struct slice subscribed = part_of(event, EVENT_SUBSCRIBED);
	struct slice master = part_of(subscribed, SUBSCRIBED_MASTER_INFO);

	if (again)
		return s->handlers.reregistered(s->context, master);
	return s->handlers.registered(s->context, part_of(subscribed, SUBSCRIBED_FRAMEWORK_ID),
				      master);
}

static int tell_message(struct libmesos_scheduler *s, struct slice message)
{
	return s->handlers.message(s->context, part_of(message, MESSAGE_EXECUTOR_ID),
				   part_of(message, MESSAGE_AGENT_ID),
				   part_of(message, MESSAGE_DATA));
}

static int tell_failure(struct libmesos_scheduler *s, struct slice failure)
{
	struct slice agent_id = part_of(failure, FAILURE_AGENT_ID), executor_id;
	uint64_t status = 0;

	if (!wire_part(failure, FAILURE_EXECUTOR_ID, &executor_id))
		return s->handlers.agent_lost(s->context, agent_id);
	wire_number(failure, FAILURE_STATUS, &status);
	return s->handlers.executor_lost(s->context, executor_id, agent_id, (int)status);
}

static int tell_event(struct libmesos_scheduler *s, int type, struct slice event)
{
	switch (type) {
	case MESOS__SCHEDULER__EVENT__TYPE__SUBSCRIBED:
		return tell_registered(s, event, false);
	case MESOS__SCHEDULER__EVENT__TYPE__OFFERS:
		return s->handlers.offers(s->context, part_of(event, EVENT_OFFERS));
	case MESOS__SCHEDULER__EVENT__TYPE__RESCIND:
		return s->handlers.rescinded(
			s->context, part_of(part_of(event, EVENT_RESCIND), RESCIND_OFFER_ID));
	case MESOS__SCHEDULER__EVENT__TYPE__UPDATE:
		return tell_update(s, part_of(part_of(event, EVENT_UPDATE), UPDATE_STATUS));
	case MESOS__SCHEDULER__EVENT__TYPE__MESSAGE:
		return tell_message(s, part_of(event, EVENT_MESSAGE));
	case MESOS__SCHEDULER__EVENT__TYPE__FAILURE:
		return tell_failure(s, part_of(event, EVENT_FAILURE));
	default: /* libmesos' callbacks know no others */
		return 0;
	}
}

static int tell(struct driver *driver, struct callback *callback)
{
	struct libmesos_scheduler *s = scheduler_of(driver);
	struct slice bytes = {callback->bytes.data, callback->bytes.len};

	switch (callback->kind) {
	case KIND_DISCONNECTED:
		return s->handlers.disconnected(s->context);
	case KIND_REREGISTERED:
		return tell_registered(s, bytes, true);
	case KIND_LOCAL_UPDATE:
		return s->handlers.update(s->context, bytes);
	default:
		return tell_event(s, callback->kind, bytes);
	}
}

static void tell_error(struct driver *driver, const char *why)
{
	struct libmesos_scheduler *s = scheduler_of(driver);

	s->handlers.error(s->context, why);
}

/* ---- on the loop's thread --------------------------------------------------- */

static void push(struct libmesos_scheduler *s, int kind, struct slice bytes)
{
	driver_push(&s->driver, callback_new(kind, bytes.data, bytes.len));
}

/* A master before 1.1 does not say who it is, and what the program is told must be whole. */
static void add_master(struct libmesos_scheduler *s, struct slice record)
{
	Mesos__MasterInfo master = MESOS__MASTER_INFO__INIT;
	struct buf event = BUF_INIT, subscribed = BUF_INIT;
	struct slice said = part_of(record, EVENT_SUBSCRIBED);
	char *address = xstrdup(s->address), *colon = strrchr(address, ':');

	*colon = '\0';
	master.id = (char *)"";
	master.port = (uint32_t)atoi(colon + 1);
	master.hostname = address;
	buf_append(&subscribed, said.data, said.len);
	wire_put_message(&subscribed, SUBSCRIBED_MASTER_INFO, &master);
	wire_put_bytes(&event, EVENT_SUBSCRIBED, (struct slice){subscribed.data, subscribed.len});
	push(s, s->was_registered ? KIND_REREGISTERED : MESOS__SCHEDULER__EVENT__TYPE__SUBSCRIBED,
	     (struct slice){event.data, event.len});
	buf_free(&subscribed);
	buf_free(&event);
	free(address);
}

static void take_subscribed(struct libmesos_scheduler *s, struct slice record)
{
	struct slice master;

	if (!wire_part(part_of(record, EVENT_SUBSCRIBED), SUBSCRIBED_MASTER_INFO, &master))
		add_master(s, record);
	else if (s->was_registered)
		push(s, KIND_REREGISTERED, record);
	else
		push(s, MESOS__SCHEDULER__EVENT__TYPE__SUBSCRIBED, record);
	s->was_registered = true;
}

static void record_cb(void *context, Mesos__Scheduler__Event__Type type, struct slice record)
{
	struct libmesos_scheduler *s = context;

	if (type == MESOS__SCHEDULER__EVENT__TYPE__SUBSCRIBED)
		take_subscribed(s, record);
	else
		push(s, type, record);
}

static void disconnected_cb(void *context, const char *why)
{
	log_info("disconnected from the master: %s", why);
	push(context, KIND_DISCONNECTED, SLICE(""));
}

static void failed_cb(void *context, const char *why)
{
	struct libmesos_scheduler *s = context;

	s->unwanted = true;
	driver_fail(&s->driver, why);
}

static void refused_cb(void *context, Mesos__Scheduler__Call__Type type, int status,
		       const char *why)
{
	log_warning("the master refused a %s (%d): %s",
		    proto_enum_name(&mesos__scheduler__call__type__descriptor, type, SPELL_V1),
		    status, why);
}

static void unreachable_cb(void *context, const char *why)
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
	.disconnected = disconnected_cb,
	.failed = failed_cb,
	.refused = refused_cb,
	.unreachable = unreachable_cb,
	.record = record_cb,
};

static void local_ready_cb(void *context, const char *master, const char *why)
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

static void begin(struct driver *driver)
{
	struct libmesos_scheduler *s = scheduler_of(driver);

	if (libmesos_master_is_local(s->address))
		s->local = local_cluster_start(driver_loop_uv(driver->loop), local_ready_cb, s);
	else
		open_session(s, s->address, &session_handlers);
}

/* ---- the end, on the loop's thread ------------------------------------------ */

static void local_ended_cb(void *context)
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
		local_cluster_stop(local, local_ended_cb);
	else
		driver_settled(&s->driver);
}

static void finished_cb(void *context)
{
	close_session(context);
}

static void end(struct driver *driver)
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

static void timer_closed_cb(uv_handle_t *handle)
{
	free(handle);
}

static void close_last_session(struct libmesos_scheduler *s)
{
	if (s->last_wait)
		uv_close((uv_handle_t *)s->last_wait, timer_closed_cb);
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

static void last_wait_cb(uv_timer_t *timer)
{
	close_last_session(timer->data);
}

static void tear_down_task(struct loop_task *task)
{
	static const struct scheduler_handlers handlers = {
		.disconnected = last_failed_cb,
		.failed = last_failed_cb,
		.refused = refused_cb,
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
	uv_timer_start(s->last_wait, last_wait_cb, TEARDOWN_WAIT_MS, 0);
}

/* ---- calls, on the loop's thread -------------------------------------------- */

struct call_task {
	struct loop_task task;
	struct libmesos_scheduler *scheduler;
	Mesos__Scheduler__Call__Type type;
	struct buf bytes;
};

static bool is_partition_aware(const Mesos__FrameworkInfo *info)
{
	for (size_t i = 0; i < info->n_capabilities; i++)
		if (info->capabilities[i]->type ==
		    MESOS__FRAMEWORK_INFO__CAPABILITY__TYPE__PARTITION_AWARE)
			return true;
	return false;
}

static void lose_task(struct libmesos_scheduler *s, const Mesos__TaskInfo *task)
{
	Mesos__TaskStatus status = MESOS__TASK_STATUS__INIT;
	struct buf bytes = BUF_INIT;

	status.task_id = task->task_id;
	status.agent_id = task->agent_id;
	status.executor_id = task->executor ? task->executor->executor_id : NULL;
	status.state = is_partition_aware(s->info) ? MESOS__TASK_STATE__TASK_DROPPED
						   : MESOS__TASK_STATE__TASK_LOST;
	status.has_source = 1;
	status.source = MESOS__TASK_STATUS__SOURCE__SOURCE_MASTER;
	status.has_reason = 1;
	status.reason = MESOS__TASK_STATUS__REASON__REASON_MASTER_DISCONNECTED;
	status.message = (char *)"Master disconnected";
	status.has_timestamp = 1;
	status.timestamp = clock_seconds(clock_now());
	proto_pack(&status, &bytes);
	push(s, KIND_LOCAL_UPDATE, (struct slice){bytes.data, bytes.len});
	buf_free(&bytes);
}

/* The tasks of an ACCEPT that reaches no master. */
static void lose_tasks(struct libmesos_scheduler *s, const struct buf *bytes)
{
	struct arena arena;
	struct err err;
	const Mesos__Scheduler__Call *call;

	arena_init(&arena);
	call = proto_unpack(&mesos__scheduler__call__descriptor, &arena, bytes->data, bytes->len,
			    &err);
	for (size_t i = 0; call && call->accept && i < call->accept->n_operations; i++) {
		const Mesos__Offer__Operation *operation = call->accept->operations[i];

		if (operation->type != MESOS__OFFER__OPERATION__TYPE__LAUNCH || !operation->launch)
			continue;
		for (size_t j = 0; j < operation->launch->n_task_infos; j++)
			lose_task(s, operation->launch->task_infos[j]);
	}
	arena_free(&arena);
}

static void run_call(struct loop_task *task)
{
	struct call_task *t = container_of(task, struct call_task, task);
	struct libmesos_scheduler *s = t->scheduler;

	if (s->session && scheduler_driver_subscribed(s->session))
		scheduler_driver_send(s->session, t->type, t->bytes.data, t->bytes.len);
	else if (t->type == MESOS__SCHEDULER__CALL__TYPE__ACCEPT)
		lose_tasks(s, &t->bytes);
	buf_free(&t->bytes);
	free(t);
}

enum libmesos_status libmesos_scheduler_call(struct libmesos_scheduler *s,
					     Mesos__Scheduler__Call__Type type, struct buf *call)
{
	struct call_task *t = xcalloc(1, sizeof(*t));

	wire_put_number(call, CALL_TYPE, type);
	t->task.run = run_call;
	t->scheduler = s;
	t->type = type;
	t->bytes = *call;
	*call = BUF_INIT;
	if (!driver_post(&s->driver, &t->task)) {
		buf_free(&t->bytes);
		free(t);
	}
	return driver_status(&s->driver);
}

enum libmesos_status libmesos_scheduler_acknowledge(struct libmesos_scheduler *s,
						    struct slice status)
{
	return acknowledge(s, status);
}

bool libmesos_scheduler_acknowledges(const struct libmesos_scheduler *s)
{
	return s->implicit;
}

/* ---- a framework that changes ------------------------------------------------ */

struct update_task {
	struct loop_task task;
	struct libmesos_scheduler *scheduler;
	Mesos__Scheduler__Call__UpdateFramework *update; /* heap */
};

static void run_update(struct loop_task *task)
{
	struct update_task *t = container_of(task, struct update_task, task);
	struct libmesos_scheduler *s = t->scheduler;
	Mesos__Scheduler__Call call = MESOS__SCHEDULER__CALL__INIT;
	Mesos__FrameworkID id = MESOS__FRAMEWORK_ID__INIT;

	if (s->session) {
		id.value = (char *)scheduler_driver_id(s->session);
		if (*id.value && !t->update->framework_info->id)
			t->update->framework_info->id = proto_copy(&id);
		scheduler_driver_change(s->session, t->update->framework_info,
					t->update->suppressed_roles, t->update->n_suppressed_roles,
					t->update->offer_constraints);
		call.type = MESOS__SCHEDULER__CALL__TYPE__UPDATE_FRAMEWORK;
		call.update_framework = t->update;
		scheduler_driver_call(s->session, &call);
	}
	proto_free(t->update);
	free(t);
}

/* ---- the contract ------------------------------------------------------------ */

static const struct driver_methods methods = {
	.tell = tell,
	.begin = begin,
	.end = end,
	.error = tell_error,
};

/* As libmesos: who runs this, and where. */
static Mesos__FrameworkInfo *complete_info(const Mesos__FrameworkInfo *info)
{
	Mesos__FrameworkInfo filled = *info;
	char host[HOSTNAME_BYTES] = "", buffer[4096];
	struct passwd entry, *found = NULL;

	if (!filled.user || !*filled.user) {
		getpwuid_r(geteuid(), &entry, buffer, sizeof(buffer), &found);
		filled.user = found ? found->pw_name : (char *)"nobody";
	}
	if (!filled.hostname || !*filled.hostname) {
		gethostname(host, sizeof(host) - 1);
		filled.hostname = host;
	}
	return proto_copy(&filled);
}

struct creation {
	const struct libmesos_scheduler_options *options;
	struct libmesos_scheduler *s;
};

static void create_guarded(void *context)
{
	struct creation *c = context;
	struct libmesos_scheduler *s = xcalloc(1, sizeof(*s));

	s->master = xstrdup(c->options->master);
	s->info = complete_info(c->options->info);
	s->suppressed_role_count = c->options->suppressed_role_count;
	s->suppressed_roles = xcalloc(s->suppressed_role_count + 1, sizeof(char *));
	for (size_t i = 0; i < s->suppressed_role_count; i++)
		s->suppressed_roles[i] = xstrdup(c->options->suppressed_roles[i]);
	s->implicit = c->options->implicit_acknowledgements;
	s->principal = c->options->principal ? xstrdup(c->options->principal) : NULL;
	s->secret = c->options->secret ? xstrdup(c->options->secret) : NULL;
	c->s = s;
}

struct libmesos_scheduler *
libmesos_scheduler_new(const struct libmesos_scheduler_options *options,
		       const struct libmesos_scheduler_handlers *handlers, void *context)
{
	struct creation c = {options, NULL};

	if (!libmesos_guard(create_guarded, &c))
		return NULL;
	c.s->handlers = *handlers;
	c.s->context = context;
	driver_init(&c.s->driver, &methods, context, handlers->thread_begins,
		    handlers->thread_ends);
	return c.s;
}

void libmesos_scheduler_free(struct libmesos_scheduler *s)
{
	driver_finish(&s->driver);
	free(s->master);
	free(s->address);
	proto_free(s->info);
	for (size_t i = 0; i < s->suppressed_role_count; i++)
		free(s->suppressed_roles[i]);
	free(s->suppressed_roles);
	free(s->principal);
	free(s->secret);
	free(s);
}

struct start {
	struct libmesos_scheduler *s;
	char *address;
	struct err err;
};

static void find_address(void *context)
{
	struct start *start = context;

	if (libmesos_master_parse(start->s->master, &start->address, &start->err) < 0)
		start->address = NULL;
}

enum libmesos_status libmesos_scheduler_start(struct libmesos_scheduler *s)
{
	struct start start = {s, NULL, {"out of memory"}};

	if (driver_status(&s->driver) != DRIVER_NOT_STARTED)
		return driver_status(&s->driver);
	libmesos_guard(find_address, &start);
	if (!start.address)
		return driver_start(&s->driver, start.err.text);
	free(s->address);
	s->address = start.address;
	return driver_start(&s->driver, NULL);
}

enum libmesos_status libmesos_scheduler_stop(struct libmesos_scheduler *s, bool failover)
{
	enum libmesos_status status;

	if (driver_status(&s->driver) == DRIVER_RUNNING)
		s->tear_down = !failover;
	status = driver_stop(&s->driver);
	if (status == DRIVER_ABORTED && !failover && s->address &&
	    !libmesos_master_is_local(s->master))
		driver_again(&s->driver, tear_down_task);
	return status;
}

enum libmesos_status libmesos_scheduler_abort(struct libmesos_scheduler *s)
{
	return driver_abort(&s->driver);
}

enum libmesos_status libmesos_scheduler_join(struct libmesos_scheduler *s)
{
	return driver_join(&s->driver);
}

enum libmesos_status libmesos_scheduler_status(struct libmesos_scheduler *s)
{
	return driver_status(&s->driver);
}

enum libmesos_status
libmesos_scheduler_update_framework(struct libmesos_scheduler *s,
				    const Mesos__Scheduler__Call__UpdateFramework *update)
{
	struct update_task *t = xcalloc(1, sizeof(*t));
	Mesos__Scheduler__Call__UpdateFramework completed = *update;

	completed.framework_info = complete_info(update->framework_info);
	t->task.run = run_update;
	t->scheduler = s;
	t->update = proto_copy(&completed);
	proto_free(completed.framework_info);
	if (!driver_post(&s->driver, &t->task)) {
		proto_free(t->update);
		free(t);
	}
	return driver_status(&s->driver);
}
