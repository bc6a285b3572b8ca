/* The executor driver; see executor.h. */
#include "client/executor.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log/log.h"
#include "base/time/clock.h"
#include "base/time/duration.h"
#include "client/address.h"
#include "net/client.h"

#define EXECUTOR_PATH "/slave(1)/api/v1/executor"
#define CALLS_AT_A_TIME 16 /* on their way; the agent answers them in order */
#define RETRY_MS 1000	   /* of a first subscription, as Mesos' built-in executors */
/* An agent that accepts and says nothing is taken for gone; a real one answers in a blink. */
#define SUBSCRIBE_TIMEOUT_MS 15000
#define CALL_TIMEOUT_MS 30000
#define AGAIN_MS 50		/* a restarted agent waits for us: the first tries are quick */
#define FIRST_WAIT (1 * MINUTE) /* an agent that never answers is gone */

struct pending_update {
	struct list link;
	Mesos__Executor__Call__Update *update; /* heap */
	bool told;			       /* to the agent, on the present subscription */
};

struct pending_task {
	struct list link;
	Mesos__TaskInfo *task; /* heap; until one of its updates is acknowledged */
};

struct executor_driver {
	uv_loop_t *loop;
	struct rng *rng;
	struct executor_handlers handlers;
	void *context;
	char *host;
	int port;
	char *framework_id;
	char *executor_id;
	char *authorization; /* NULL: none */
	bool checkpoint;
	int64_t recovery_timeout; /* ns */
	int64_t backoff_max;	  /* ns */
	int64_t backoff;	  /* ns; bound of the next wait for an agent that was lost */
	struct http_client *stream;
	struct http_client *calls;
	uv_timer_t retry;   /* of the subscription; while subscribed: of updates, which wait */
	uv_timer_t give_up; /* runs while not subscribed */
	struct list updates;
	struct list tasks;
	size_t update_count;
	bool asked;	 /* an update is on its way, and not answered yet */
	bool subscribed; /* now */
	bool ever_subscribed;
	bool over; /* SHUTDOWN or failure was told */
	int open_handles;
};

static void executor_subscribe(struct executor_driver *d);
static void send_updates(struct executor_driver *d);

/* ---- the end ------------------------------------------------------------- */

static void tell_shutdown(struct executor_driver *d)
{
	Mesos__Executor__Event event = MESOS__EXECUTOR__EVENT__INIT;

	if (d->over)
		return;
	d->over = true;
	event.has_type = 1;
	event.type = MESOS__EXECUTOR__EVENT__TYPE__SHUTDOWN;
	d->handlers.event(d->context, &event);
}

static void executor_drop_connections(struct executor_driver *d)
{
	struct pending_update *u, *next;

	list_for_each (u, next, &d->updates, link)
		u->told = false;
	if (d->stream)
		http_client_close(d->stream);
	if (d->calls)
		http_client_close(d->calls);
	d->stream = d->calls = NULL;
	d->subscribed = d->asked = false;
}

static void executor_retry_cb(uv_timer_t *timer)
{
	executor_subscribe(timer->data);
}

static void give_up_cb(uv_timer_t *timer)
{
	struct executor_driver *d = timer->data;

	log_warning(d->ever_subscribed ? "the agent did not come back within the recovery timeout"
				       : "the agent does not take our subscription");
	uv_timer_stop(&d->retry);
	executor_drop_connections(d);
	tell_shutdown(d);
}

static void wait_at_most(struct executor_driver *d, int64_t time)
{
	uv_timer_start(&d->give_up, give_up_cb, (uint64_t)(time / MILLISECOND), 0);
}

/* ---- incoming ------------------------------------------------------------ */

static void forget_task(struct executor_driver *d, const char *task_id)
{
	struct pending_task *t, *next;

	list_for_each (t, next, &d->tasks, link) {
		if (strcmp(t->task->task_id->value, task_id))
			continue;
		list_remove(&t->link);
		proto_free(t->task);
		free(t);
	}
}

static void forget_update(struct executor_driver *d, const ProtobufCBinaryData *uuid)
{
	struct pending_update *u, *next;

	list_for_each (u, next, &d->updates, link) {
		const ProtobufCBinaryData *mine = &u->update->status->uuid;

		if (mine->len != uuid->len || memcmp(mine->data, uuid->data, uuid->len))
			continue;
		list_remove(&u->link);
		proto_free(u->update);
		free(u);
		d->update_count--;
	}
}

static void remember_task(struct executor_driver *d, const Mesos__TaskInfo *task)
{
	struct pending_task *t = xcalloc(1, sizeof(*t));

	t->task = proto_copy(task);
	list_append(&d->tasks, &t->link);
}

static void executor_take_subscribed(struct executor_driver *d)
{
	d->subscribed = d->ever_subscribed = true;
	uv_timer_stop(&d->give_up);
	uv_timer_stop(&d->retry);
	/* Those that were made since the subscription was sent. */
	send_updates(d);
}

static void remember_group(struct executor_driver *d, const Mesos__Executor__Event__LaunchGroup *l)
{
	for (size_t i = 0; i < l->task_group->n_tasks; i++)
		remember_task(d, l->task_group->tasks[i]);
}

/* Notes what the driver itself has to know; false: not for the owner. */
static bool note_event(struct executor_driver *d, const Mesos__Executor__Event *event)
{
	switch (event->type) {
	case MESOS__EXECUTOR__EVENT__TYPE__SUBSCRIBED:
		executor_take_subscribed(d);
		break;
	case MESOS__EXECUTOR__EVENT__TYPE__LAUNCH:
		if (!event->launch)
			return false;
		remember_task(d, event->launch->task);
		break;
	case MESOS__EXECUTOR__EVENT__TYPE__LAUNCH_GROUP:
		if (!event->launch_group)
			return false;
		remember_group(d, event->launch_group);
		break;
	case MESOS__EXECUTOR__EVENT__TYPE__ACKNOWLEDGED:
		if (!event->acknowledged)
			return false;
		forget_task(d, event->acknowledged->task_id->value);
		forget_update(d, &event->acknowledged->uuid);
		break;
	case MESOS__EXECUTOR__EVENT__TYPE__SHUTDOWN:
		tell_shutdown(d);
		return false;
	case MESOS__EXECUTOR__EVENT__TYPE__HEARTBEAT:
		return false;
	default:
		break;
	}
	return true;
}

static void executor_record_cb(void *context, struct slice record)
{
	struct executor_driver *d = context;
	struct arena arena;
	struct err err;
	Mesos__Executor__Event *event;

	arena_init(&arena);
	event = proto_unpack(&mesos__executor__event__descriptor, &arena, record.data, record.len,
			     &err);
	if (!event)
		log_warning("dropped an event that does not parse: %s", err.text);
	else if (note_event(d, event))
		d->handlers.event(d->context, event);
	arena_free(&arena);
}

static void executor_ended_cb(void *context, const char *why);

/* It took the subscription and says nothing. */
static void silent_cb(uv_timer_t *timer)
{
	executor_ended_cb(timer->data, "no SUBSCRIBED from the agent");
}

static void executor_opened_cb(void *context, const struct http_answer *answer)
{
	struct executor_driver *d = context;
	char *why;

	if (answer->status == 200)
		uv_timer_start(&d->retry, silent_cb, SUBSCRIBE_TIMEOUT_MS, 0);
	/* 503 and 404: the agent is not ready yet. */
	if (answer->status < 400 || answer->status == 503 || answer->status == 404 || d->over)
		return;
	d->over = true;
	why = xprintf("the agent refused the subscription (%d): %.*s", answer->status,
		      (int)answer->body.len, answer->body.data);
	d->handlers.failed(d->context, why);
	free(why);
}

static void executor_ended_cb(void *context, const char *why)
{
	struct executor_driver *d = context;
	bool was_subscribed = d->subscribed;
	int64_t pause = RETRY_MS * MILLISECOND;

	executor_drop_connections(d);
	if (d->over)
		return;
	if (was_subscribed) {
		log_info("the connection to the agent broke: %s", why);
		if (!d->checkpoint) {
			tell_shutdown(d);
			return;
		}
		wait_at_most(d, d->recovery_timeout);
		d->backoff = AGAIN_MS * MILLISECOND;
		if (d->handlers.disconnected)
			d->handlers.disconnected(d->context);
		if (d->over)
			return;
	}
	if (d->ever_subscribed) {
		if (d->backoff > d->backoff_max)
			d->backoff = d->backoff_max;
		pause = (int64_t)((double)d->backoff * rng_unit(d->rng));
		d->backoff *= 2;
	}
	uv_timer_start(&d->retry, executor_retry_cb, (uint64_t)(pause / MILLISECOND), 0);
}

/* ---- outgoing ------------------------------------------------------------ */

static void fill_headers(const struct executor_driver *d, const char *headers[7])
{
	headers[0] = "Content-Type";
	headers[1] = headers[3] = "application/x-protobuf";
	headers[2] = "Accept";
	headers[4] = d->authorization ? "Authorization" : NULL;
	headers[5] = d->authorization;
	headers[6] = NULL;
}

static void fill_ids(struct executor_driver *d, Mesos__Executor__Call *call,
		     Mesos__FrameworkID *framework_id, Mesos__ExecutorID *executor_id)
{
	mesos__framework_id__init(framework_id);
	mesos__executor_id__init(executor_id);
	framework_id->value = d->framework_id;
	executor_id->value = d->executor_id;
	call->has_type = 1;
	call->framework_id = framework_id;
	call->executor_id = executor_id;
}

static void fill_unacknowledged(struct executor_driver *d, struct arena *arena,
				Mesos__Executor__Call__Subscribe *body)
{
	struct pending_update *u, *next_u;
	struct pending_task *t, *next_t;

	list_for_each (u, next_u, &d->updates, link) {
		u->told = true;
		proto_push(arena, body->n_unacknowledged_updates, body->unacknowledged_updates,
			   u->update);
	}
	list_for_each (t, next_t, &d->tasks, link)
		proto_push(arena, body->n_unacknowledged_tasks, body->unacknowledged_tasks,
			   t->task);
}

static const struct http_stream_handlers stream_handlers = {executor_opened_cb, executor_record_cb,
							    executor_ended_cb};

static void executor_subscribe(struct executor_driver *d)
{
	Mesos__Executor__Call call = MESOS__EXECUTOR__CALL__INIT;
	Mesos__Executor__Call__Subscribe body = MESOS__EXECUTOR__CALL__SUBSCRIBE__INIT;
	Mesos__FrameworkID framework_id;
	Mesos__ExecutorID executor_id;
	struct buf bytes = BUF_INIT;
	struct arena arena;
	const char *headers[7];

	arena_init(&arena);
	fill_headers(d, headers);
	fill_ids(d, &call, &framework_id, &executor_id);
	fill_unacknowledged(d, &arena, &body);
	call.type = MESOS__EXECUTOR__CALL__TYPE__SUBSCRIBE;
	call.subscribe = &body;
	proto_pack(&call, &bytes);
	d->stream = http_client_create(d->loop, d->host, d->port);
	d->calls = http_client_create(d->loop, d->host, d->port);
	http_client_pipeline(d->calls, CALLS_AT_A_TIME);
	http_client_stream(d->stream, EXECUTOR_PATH, headers, bytes.data, bytes.len,
			   SUBSCRIBE_TIMEOUT_MS, &stream_handlers, d);
	buf_free(&bytes);
	arena_free(&arena);
}

static void retry_updates_cb(uv_timer_t *timer)
{
	struct executor_driver *d = timer->data;
	struct pending_update *u, *next;

	list_for_each (u, next, &d->updates, link)
		u->told = false;
	send_updates(d);
}

static void warn_of_refusal(const struct http_answer *answer)
{
	if (answer->status >= 300)
		log_warning("the agent refused a call (%d): %.*s", answer->status,
			    (int)answer->body.len, answer->body.data);
}

/* An update that did not get through is repeated as long as the subscription lasts (the
 * agent knows repeated ones by their uuid). None may overtake it: an agent that hears of a task's
 * end drops what it is told of the task after that. */
static void executor_updated_cb(void *context, const struct http_answer *answer)
{
	struct executor_driver *d = context;

	warn_of_refusal(answer);
	d->asked = false;
	if ((answer->status == 0 || answer->status >= 500) && d->subscribed)
		uv_timer_start(&d->retry, retry_updates_cb, RETRY_MS, 0);
	else
		send_updates(d);
}

/* Messages are best effort. */
static void executor_messaged_cb(void *context, const struct http_answer *answer)
{
	(void)context;
	warn_of_refusal(answer);
}

static void executor_send_call(struct executor_driver *d, Mesos__Executor__Call *call,
			       void (*answered)(void *context, const struct http_answer *answer))
{
	struct buf bytes = BUF_INIT;
	const char *headers[7];

	if (!d->subscribed)
		return;
	fill_headers(d, headers);
	proto_pack(call, &bytes);
	http_client_send(d->calls, "POST", EXECUTOR_PATH, headers, bytes.data, bytes.len,
			 CALL_TIMEOUT_MS, answered, d);
	buf_free(&bytes);
}

/* The first that was not told: one after the other. */
static void send_updates(struct executor_driver *d)
{
	Mesos__Executor__Call call = MESOS__EXECUTOR__CALL__INIT;
	Mesos__FrameworkID framework_id;
	Mesos__ExecutorID executor_id;
	struct pending_update *u, *next;

	if (!d->subscribed || d->asked || uv_is_active((uv_handle_t *)&d->retry))
		return;
	fill_ids(d, &call, &framework_id, &executor_id);
	call.type = MESOS__EXECUTOR__CALL__TYPE__UPDATE;
	list_for_each (u, next, &d->updates, link) {
		if (u->told)
			continue;
		u->told = d->asked = true;
		call.update = u->update;
		executor_send_call(d, &call, executor_updated_cb);
		return;
	}
}

void executor_driver_update(struct executor_driver *d, const Mesos__TaskStatus *status)
{
	Mesos__Executor__Call__Update body = MESOS__EXECUTOR__CALL__UPDATE__INIT;
	Mesos__TaskStatus filled = *status;
	Mesos__ExecutorID executor_id = MESOS__EXECUTOR_ID__INIT;
	struct pending_update *pending = xcalloc(1, sizeof(*pending));
	uint8_t uuid[UUID_BYTES];

	uuid_make(d->rng, uuid);
	executor_id.value = d->executor_id;
	filled.executor_id = &executor_id;
	filled.has_uuid = 1;
	filled.uuid = (ProtobufCBinaryData){sizeof(uuid), uuid};
	filled.has_timestamp = 1;
	filled.timestamp = clock_seconds(clock_wall());
	filled.has_source = 1;
	filled.source = MESOS__TASK_STATUS__SOURCE__SOURCE_EXECUTOR;
	body.status = &filled;
	pending->update = proto_copy(&body);
	list_append(&d->updates, &pending->link);
	d->update_count++;
	send_updates(d);
}

void executor_driver_message(struct executor_driver *d, const void *data, size_t len)
{
	Mesos__Executor__Call call = MESOS__EXECUTOR__CALL__INIT;
	Mesos__Executor__Call__Message body = MESOS__EXECUTOR__CALL__MESSAGE__INIT;
	Mesos__FrameworkID framework_id;
	Mesos__ExecutorID executor_id;

	fill_ids(d, &call, &framework_id, &executor_id);
	body.data = (ProtobufCBinaryData){len, (uint8_t *)data};
	call.type = MESOS__EXECUTOR__CALL__TYPE__MESSAGE;
	call.message = &body;
	executor_send_call(d, &call, executor_messaged_cb);
}

size_t executor_driver_unacknowledged(const struct executor_driver *d)
{
	return d->update_count;
}

bool executor_driver_waiting(const struct executor_driver *d)
{
	return d->subscribed && http_client_waiting(d->calls) > 0;
}

bool executor_driver_connected(const struct executor_driver *d)
{
	return d->subscribed;
}

/* ---- life ---------------------------------------------------------------- */

static int64_t duration_from(const char *variable, int64_t preset)
{
	const char *text = getenv(variable);
	int64_t value;
	struct err err;

	return text && duration_parse(text, &value, &err) == 0 && value >= 0 ? value : preset;
}

/* The agent's "host:port"; NULL if nobody says it. Agents before 1.0 gave their pid only. */
static const char *agent_endpoint(void)
{
	const char *endpoint = getenv("MESOS_AGENT_ENDPOINT"), *pid = getenv("MESOS_SLAVE_PID");

	return endpoint ? endpoint : pid && strchr(pid, '@') ? strchr(pid, '@') + 1 : NULL;
}

int executor_environment_check(struct err *err)
{
	const char *missing = !agent_endpoint()		      ? "MESOS_AGENT_ENDPOINT"
			      : !getenv("MESOS_FRAMEWORK_ID") ? "MESOS_FRAMEWORK_ID"
			      : !getenv("MESOS_EXECUTOR_ID")  ? "MESOS_EXECUTOR_ID"
							      : NULL;

	if (missing)
		return err_set(
			err, ERR_INVALID,
			"expecting '%s' to be set in the environment: an executor is started "
			"by an agent",
			missing);
	return 0;
}

static int read_environment(struct executor_driver *d, struct err *err)
{
	const char *checkpoint = getenv("MESOS_CHECKPOINT");
	const char *token = getenv("MESOS_EXECUTOR_AUTHENTICATION_TOKEN");
	int rv = executor_environment_check(err);

	if (rv < 0)
		return rv;
	d->framework_id = xstrdup(getenv("MESOS_FRAMEWORK_ID"));
	d->executor_id = xstrdup(getenv("MESOS_EXECUTOR_ID"));
	d->authorization = token ? xprintf("Bearer %s", token) : NULL;
	d->checkpoint = checkpoint && !strcmp(checkpoint, "1");
	d->recovery_timeout = duration_from("MESOS_RECOVERY_TIMEOUT", 15 * MINUTE);
	d->backoff_max = duration_from("MESOS_SUBSCRIPTION_BACKOFF_MAX", 2 * SECOND);
	return address_parse(agent_endpoint(), 5051, &d->host, &d->port, err);
}

static void free_driver(struct executor_driver *d)
{
	struct pending_update *u, *next_u;
	struct pending_task *t, *next_t;

	list_for_each (u, next_u, &d->updates, link) {
		proto_free(u->update);
		free(u);
	}
	list_for_each (t, next_t, &d->tasks, link) {
		proto_free(t->task);
		free(t);
	}
	free(d->host);
	free(d->framework_id);
	free(d->executor_id);
	free(d->authorization);
	free(d);
}

int executor_driver_create(uv_loop_t *loop, struct rng *rng,
			   const struct executor_handlers *handlers, void *context,
			   struct executor_driver **out, struct err *err)
{
	struct executor_driver *d = xcalloc(1, sizeof(*d));
	int rv;

	d->loop = loop;
	d->rng = rng;
	d->handlers = *handlers;
	d->context = context;
	list_init(&d->updates);
	list_init(&d->tasks);
	rv = read_environment(d, err);
	if (rv < 0) {
		free_driver(d);
		return rv;
	}
	uv_timer_init(loop, &d->retry);
	uv_timer_init(loop, &d->give_up);
	d->retry.data = d->give_up.data = d;
	wait_at_most(d, d->checkpoint && d->recovery_timeout > FIRST_WAIT ? d->recovery_timeout
									  : FIRST_WAIT);
	executor_subscribe(d);
	*out = d;
	return 0;
}

static void executor_closed_cb(uv_handle_t *handle)
{
	struct executor_driver *d = handle->data;

	if (--d->open_handles == 0)
		free_driver(d);
}

void executor_driver_close(struct executor_driver *d)
{
	if (d->open_handles)
		return;
	d->over = true;
	executor_drop_connections(d);
	d->open_handles = 2;
	uv_close((uv_handle_t *)&d->retry, executor_closed_cb);
	uv_close((uv_handle_t *)&d->give_up, executor_closed_cb);
}
