/* See calls.h.
 *
 * States on the loop's thread: looking (a timer runs, or a probe) -> connected (a client for
 * calls) -> subscribing (a stream, no event yet) -> subscribed -> looking ... */
#include "client/libmesos/calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/memory/arena.h"
#include "base/zk/zk_url.h"
#include "client/address.h"
#include "client/credential.h"
#include "client/libmesos/driver_internal.h"
#include "client/libmesos/local.h"
#include "client/libmesos/master.h"
#include "net/client.h"
#include "net/http.h"
#include "net/masters/detector.h"
#include "net/masters/election.h"
#include "proto/proto.h"
#include "proto/wire/wire_write.h"

#define SCHEDULER_PATH "/api/v1/scheduler"
#define PROBE_PATH "/health"
#define ANSWER_TIMEOUT_MS 15000 /* as client/scheduler.c */
#define CALLS_AT_A_TIME 64
#define RETRY_FIRST_MS 100
#define RETRY_LAST_MS 5000
#define SILENCE_BEATS 5
#define CALL_TYPE 2 /* field number */
#define EVENT_TYPE 1

#define REDIRECTS_MAX 5 /* masters that name each other have no leader yet */
#define CALL_TYPES 32	/* more than there are */

enum { KIND_CONNECTED, KIND_DISCONNECTED, KIND_RECEIVED };

/* What the answer to a call needs to know. */
struct sent_call {
	struct libmesos_calls *calls;
	int type;
};

struct libmesos_calls {
	struct driver driver;
	struct libmesos_calls_handlers handlers;
	void *context;
	char *address; /* "host:port", "zk://..." or "local"; NULL: `problem` says why */
	struct err problem;
	char *authorization; /* NULL: none */
	/* On the loop's thread: */
	char *host;
	int port;
	struct local_cluster *local;
	struct detector *detector; /* NULL: the address is one */
	uv_timer_t timer;	   /* retries while looking, then silence */
	struct http_client *calls, *stream;
	struct buf subscription;	   /* the call on `stream` */
	char *stream_id;		   /* heap; NULL without an open stream */
	struct sent_call sent[CALL_TYPES]; /* by type */
	bool connected;
	bool redirected; /* the master on `stream` named another one */
	int redirects;	 /* one after the other */
	int pause_ms;
	int open_handles;
};

static struct libmesos_calls *calls_of(struct driver *driver)
{
	return container_of(driver, struct libmesos_calls, driver);
}

/* ---- on the callback thread ------------------------------------------------ */

static int calls_tell(struct driver *driver, struct callback *callback)
{
	struct libmesos_calls *c = calls_of(driver);

	switch (callback->kind) {
	case KIND_CONNECTED:
		return c->handlers.connected(c->context);
	case KIND_DISCONNECTED:
		return c->handlers.disconnected(c->context);
	default:
		return c->handlers.received(
			c->context, (struct slice){callback->bytes.data, callback->bytes.len});
	}
}

static void pack_error(const char *why, struct buf *out)
{
	Mesos__Scheduler__Event event = MESOS__SCHEDULER__EVENT__INIT;
	Mesos__Scheduler__Event__Error error = MESOS__SCHEDULER__EVENT__ERROR__INIT;

	error.message = (char *)why;
	event.has_type = 1;
	event.type = MESOS__SCHEDULER__EVENT__TYPE__ERROR;
	event.error = &error;
	proto_pack(&event, out);
}

/* There is no callback for errors: they are events. */
static void tell_error(struct driver *driver, const char *why)
{
	struct libmesos_calls *c = calls_of(driver);
	struct buf event = BUF_INIT;

	pack_error(why, &event);
	c->handlers.received(c->context, (struct slice){event.data, event.len});
	buf_free(&event);
}

/* ---- finding a master, on the loop's thread ---------------------------------- */

static void look(struct libmesos_calls *c);

static void calls_push(struct libmesos_calls *c, int kind, struct slice bytes)
{
	driver_push(&c->driver, callback_new(kind, bytes.data, bytes.len));
}

static void push_error(struct libmesos_calls *c, const char *why)
{
	struct buf event = BUF_INIT;

	pack_error(why, &event);
	calls_push(c, KIND_RECEIVED, (struct slice){event.data, event.len});
	buf_free(&event);
}

static void drop_stream(struct libmesos_calls *c)
{
	if (c->stream)
		http_client_close(c->stream);
	c->stream = NULL;
	free(c->stream_id);
	c->stream_id = NULL;
	uv_timer_stop(&c->timer);
}

static void calls_drop_connections(struct libmesos_calls *c)
{
	drop_stream(c);
	if (c->calls)
		http_client_close(c->calls);
	c->calls = NULL;
	c->connected = false;
}

static void calls_timer_cb(uv_timer_t *timer)
{
	look(timer->data);
}

static void look_later(struct libmesos_calls *c)
{
	bool was_connected = c->connected;

	c->redirects = 0;
	calls_drop_connections(c);
	uv_timer_start(&c->timer, calls_timer_cb, (uint64_t)c->pause_ms, 0);
	c->pause_ms = c->pause_ms * 2 > RETRY_LAST_MS ? RETRY_LAST_MS : c->pause_ms * 2;
	if (was_connected)
		calls_push(c, KIND_DISCONNECTED, SLICE(""));
}

static void probed_cb(void *context, const struct http_answer *answer)
{
	struct libmesos_calls *c = context;

	if (answer->status == 0) {
		log_warning("%s; trying again", answer->error);
		look_later(c);
		return;
	}
	c->connected = true;
	calls_push(c, KIND_CONNECTED, SLICE(""));
}

static void look(struct libmesos_calls *c)
{
	if (!c->host)
		return; /* calls_detected_cb() goes on */
	c->calls = http_client_create(driver_loop_uv(c->driver.loop), c->host, c->port);
	http_client_pipeline(c->calls, CALLS_AT_A_TIME);
	http_client_send(c->calls, "GET", PROBE_PATH, NULL, NULL, 0, ANSWER_TIMEOUT_MS, probed_cb,
			 c);
}

static void look_at(struct libmesos_calls *c, const char *address)
{
	struct err err;

	free(c->host);
	c->host = NULL;
	if (address_parse(address, 5050, &c->host, &c->port, &err) < 0)
		driver_fail(&c->driver, err.text);
	else
		look(c);
}

static void calls_local_ready_cb(void *context, const char *master, const char *why)
{
	struct libmesos_calls *c = context;

	if (master)
		look_at(c, master);
	else
		driver_fail(&c->driver, why);
}

/* ZooKeeper says where the master is, or that there is none. */
static void calls_detected_cb(void *context, const char *pid)
{
	struct libmesos_calls *c = context;

	uv_timer_stop(&c->timer);
	if (c->calls || c->stream)
		look_later(c);
	uv_timer_stop(&c->timer);
	free(c->host);
	c->host = NULL;
	c->pause_ms = RETRY_FIRST_MS;
	if (pid)
		look_at(c, pid);
}

static void calls_detection_failed_cb(void *context, const char *why)
{
	struct libmesos_calls *c = context;

	driver_fail(&c->driver, why);
}

static void calls_begin(struct driver *driver)
{
	static const struct detector_handlers handlers = {.detected = calls_detected_cb,
							  .failed = calls_detection_failed_cb};
	struct libmesos_calls *c = calls_of(driver);
	uv_loop_t *loop = driver_loop_uv(driver->loop);

	uv_timer_init(loop, &c->timer);
	c->timer.data = c;
	c->pause_ms = RETRY_FIRST_MS;
	if (libmesos_master_is_local(c->address)) {
		c->local = local_cluster_start(loop, calls_local_ready_cb, c);
	} else if (zk_url_is(c->address)) {
		c->detector = detector_create(loop, c->address, ELECTION_SESSION_TIMEOUT_MS,
					      &handlers, c);
		detector_look(c->detector);
	} else {
		look_at(c, c->address);
	}
}

static void calls_settle(struct libmesos_calls *c)
{
	if (--c->open_handles == 0)
		driver_settled(&c->driver);
}

static void calls_timer_closed_cb(uv_handle_t *handle)
{
	calls_settle(handle->data);
}

static void calls_local_ended_cb(void *context)
{
	calls_settle(context);
}

static void calls_end(struct driver *driver)
{
	struct libmesos_calls *c = calls_of(driver);

	calls_drop_connections(c);
	if (c->detector)
		detector_close(c->detector);
	c->detector = NULL;
	c->open_handles = c->local ? 2 : 1;
	if (c->local)
		local_cluster_stop(c->local, calls_local_ended_cb);
	uv_close((uv_handle_t *)&c->timer, calls_timer_closed_cb);
}

/* ---- events, on the loop's thread --------------------------------------------- */

static void calls_subscribe(struct libmesos_calls *c);

static void calls_silence_cb(uv_timer_t *timer)
{
	log_warning("no heartbeat from the master");
	look_later(timer->data);
}

/* A refused call; texts are those of libmesos. */
static void calls_refused(struct libmesos_calls *c, const char *call,
			  const struct http_answer *answer)
{
	char *why = xprintf("Received unexpected '%d %s' (%.*s) for %s", answer->status,
			    http_status_text(answer->status), (int)answer->body.len,
			    answer->body.data, call);

	/* Not ready yet, or no leader: the program tries again. */
	if (answer->status == 503 || answer->status == 404)
		log_warning("%s", why);
	else
		push_error(c, why);
	free(why);
}

/* The leader is elsewhere. */
static void calls_follow(struct libmesos_calls *c, const char *location)
{
	struct err err;
	char *host;

	if (address_parse(location, 5050, &host, &c->port, &err) < 0) {
		log_warning("the master redirects to nowhere: %s", err.text);
		return;
	}
	free(c->host);
	c->host = host;
	c->redirected = true;
}

static void calls_opened_cb(void *context, const struct http_answer *answer)
{
	struct libmesos_calls *c = context;

	if (answer->status == 200) {
		free(c->stream_id);
		c->stream_id = xstrdup(answer->stream_id);
		uv_timer_start(&c->timer, calls_silence_cb, ANSWER_TIMEOUT_MS, 0);
	} else if (answer->status != 0 && answer->status / 100 != 3) {
		calls_refused(c, "SUBSCRIBE", answer);
	}
	if (answer->status / 100 == 3)
		calls_follow(c, answer->location);
}

/* What is to be known of SUBSCRIBED. */
static void calls_take_subscribed(struct libmesos_calls *c, struct slice record)
{
	struct arena arena;
	struct err err;
	const Mesos__Scheduler__Event *event;
	double beat = 0;

	arena_init(&arena);
	event = proto_unpack(&mesos__scheduler__event__descriptor, &arena, record.data, record.len,
			     &err);
	if (event && event->subscribed)
		beat = event->subscribed->heartbeat_interval_seconds;
	arena_free(&arena);
	uv_timer_stop(&c->timer);
	if (beat > 0 && beat < 1e6)
		uv_timer_start(&c->timer, calls_silence_cb,
			       (uint64_t)(beat * 1000 * SILENCE_BEATS) + 1,
			       (uint64_t)(beat * 1000 * SILENCE_BEATS) + 1);
	c->pause_ms = RETRY_FIRST_MS;
	c->redirects = 0;
}

static void calls_record_cb(void *context, struct slice record)
{
	struct libmesos_calls *c = context;
	uint64_t type = 0;

	wire_number(record, EVENT_TYPE, &type);
	if (type == MESOS__SCHEDULER__EVENT__TYPE__SUBSCRIBED)
		calls_take_subscribed(c, record);
	else if (uv_timer_get_repeat(&c->timer))
		uv_timer_again(&c->timer);
	calls_push(c, KIND_RECEIVED, record);
}

static void calls_ended_cb(void *context, const char *why)
{
	struct libmesos_calls *c = context;
	bool was_open = c->stream_id != NULL;

	log_info("the stream of events ended: %s", why);
	if (was_open || strcmp(why, "refused")) {
		look_later(c);
		return;
	}
	drop_stream(c);
	if (!c->redirected)
		return;
	c->redirected = false;
	if (++c->redirects > REDIRECTS_MAX) {
		look_later(c);
		return;
	}
	http_client_close(c->calls);
	c->calls = http_client_create(driver_loop_uv(c->driver.loop), c->host, c->port);
	http_client_pipeline(c->calls, CALLS_AT_A_TIME);
	calls_subscribe(c);
}

/* ---- calls ---------------------------------------------------------------------- */

static const struct http_stream_handlers stream_handlers = {calls_opened_cb, calls_record_cb,
							    calls_ended_cb};

static void calls_subscribe(struct libmesos_calls *c)
{
	const char *headers[] = {"Content-Type",
				 "application/x-protobuf",
				 "Accept",
				 "application/x-protobuf",
				 c->authorization ? "Authorization" : NULL,
				 c->authorization,
				 NULL};

	c->stream = http_client_create(driver_loop_uv(c->driver.loop), c->host, c->port);
	http_client_stream(c->stream, SCHEDULER_PATH, headers, c->subscription.data,
			   c->subscription.len, ANSWER_TIMEOUT_MS, &stream_handlers, c);
}

static void calls_answered_cb(void *context, const struct http_answer *answer)
{
	const struct sent_call *sent = context;

	if (answer->status == 0)
		look_later(sent->calls);
	else if (answer->status >= 300)
		calls_refused(sent->calls,
			      proto_enum_name(&mesos__scheduler__call__type__descriptor, sent->type,
					      SPELL_V1),
			      answer);
}

static void calls_send_call(struct libmesos_calls *c, uint64_t type, const struct buf *bytes)
{
	const char *headers[] = {"Content-Type",
				 "application/x-protobuf",
				 "Mesos-Stream-Id",
				 c->stream_id,
				 c->authorization ? "Authorization" : NULL,
				 c->authorization,
				 NULL};
	struct sent_call *sent = &c->sent[type < CALL_TYPES ? type : 0];

	*sent = (struct sent_call){c, (int)(type < CALL_TYPES ? type : 0)};
	http_client_send(c->calls, "POST", SCHEDULER_PATH, headers, bytes->data, bytes->len,
			 ANSWER_TIMEOUT_MS, calls_answered_cb, sent);
}

struct calls_task {
	struct loop_task task;
	struct libmesos_calls *calls;
	struct buf bytes;
	bool reconnect;
};

static void calls_carry_out(struct libmesos_calls *c, struct calls_task *t)
{
	uint64_t type = 0;

	if (t->reconnect) {
		if (c->connected)
			look_later(c);
		return;
	}
	wire_number((struct slice){t->bytes.data, t->bytes.len}, CALL_TYPE, &type);
	if (type == MESOS__SCHEDULER__CALL__TYPE__SUBSCRIBE) {
		if (!c->connected || c->stream) {
			log_warning("dropping a SUBSCRIBE: %s",
				    c->stream ? "one is under way" : "there is no master");
			return;
		}
		buf_free(&c->subscription);
		c->subscription = t->bytes;
		t->bytes = BUF_INIT;
		calls_subscribe(c);
	} else if (!c->stream_id) {
		log_warning("dropping a call: not subscribed");
	} else {
		calls_send_call(c, type, &t->bytes);
	}
}

static void run_task(struct loop_task *task)
{
	struct calls_task *t = container_of(task, struct calls_task, task);

	calls_carry_out(t->calls, t);
	buf_free(&t->bytes);
	free(t);
}

static void calls_post(struct libmesos_calls *c, struct slice call, bool reconnect)
{
	struct calls_task *t = xcalloc(1, sizeof(*t));

	t->task.run = run_task;
	t->calls = c;
	t->reconnect = reconnect;
	buf_append(&t->bytes, call.data, call.len);
	if (driver_post(&c->driver, &t->task))
		return;
	buf_free(&t->bytes);
	free(t);
}

void libmesos_calls_send(struct libmesos_calls *c, struct slice call)
{
	calls_post(c, call, false);
}

void libmesos_calls_reconnect(struct libmesos_calls *c)
{
	calls_post(c, SLICE(""), true);
}

/* ---- life ------------------------------------------------------------------------ */

static const struct driver_methods methods = {
	.tell = calls_tell,
	.begin = calls_begin,
	.end = calls_end,
	.error = tell_error,
};

struct creation {
	const char *master, *principal, *secret;
	struct libmesos_calls *c;
};

static void calls_create_guarded(void *context)
{
	struct creation *n = context;
	struct libmesos_calls *c = xcalloc(1, sizeof(*c));

	if (libmesos_master_parse(n->master, &c->address, &c->problem) < 0)
		c->address = NULL;
	if (n->principal)
		c->authorization = credential_basic(n->principal, n->secret);
	n->c = c;
}

struct libmesos_calls *libmesos_calls_new(const char *master, const char *principal,
					  const char *secret,
					  const struct libmesos_calls_handlers *handlers,
					  void *context)
{
	struct creation n = {master, principal, secret, NULL};

	if (!libmesos_guard(calls_create_guarded, &n))
		return NULL;
	n.c->handlers = *handlers;
	n.c->context = context;
	driver_init(&n.c->driver, &methods, context, handlers->thread_begins,
		    handlers->thread_ends);
	return n.c;
}

void libmesos_calls_start(struct libmesos_calls *c)
{
	driver_start(&c->driver, c->address ? NULL : c->problem.text);
}

void libmesos_calls_free(struct libmesos_calls *c)
{
	driver_finish(&c->driver);
	buf_free(&c->subscription);
	free(c->address);
	free(c->host);
	free(c->authorization);
	free(c);
}
