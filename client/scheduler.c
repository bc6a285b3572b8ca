/* The scheduler driver; see scheduler.h.
 *
 * Two connections: one holds the event stream, the other carries calls in order.
 * States: waiting (retry timer runs) -> subscribing -> subscribed -> waiting ...
 */
#include "client/scheduler.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log/log.h"
#include "base/zk/zk_url.h"
#include "client/address.h"
#include "client/credential.h"
#include "net/client.h"
#include "net/masters/detector.h"
#include "net/masters/election.h"
#include "proto/wire/wire_write.h"

#define SCHEDULER_PATH "/api/v1/scheduler"
/* A master that accepts and says nothing is taken for gone; a busy one answers within seconds. */
#define SUBSCRIBE_TIMEOUT_MS 15000
#define CALL_TIMEOUT_MS 30000
#define CALLS_AT_A_TIME 64 /* on their way; the master answers them in order */
#define RETRY_FIRST_MS 100 /* a master that restarts is back in a blink */
#define RETRY_LAST_MS 5000
#define TEARDOWN_TIMEOUT_MS 5000
#define SILENCE_BEATS 5 /* missing heartbeats after which the master is taken for gone */

/* A call whose answer is awaited. */
struct sent_call {
	struct list link;
	struct scheduler_driver *driver;
	Mesos__Scheduler__Call__Type type;
};

struct scheduler_driver {
	uv_loop_t *loop;
	uv_timer_t retry;	   /* also carries out what must not run inside a call */
	uv_timer_t silence;	   /* restarted by every record */
	char *source;		   /* the master as given */
	struct detector *detector; /* NULL: the source is an address */
	char *first_host;	   /* of the source; NULL: no master leads */
	int first_port;
	char *host; /* where redirects led */
	int port;
	Mesos__Scheduler__Call__Subscribe
		*subscription; /* heap; its framework's id is set once known */
	char *authorization;   /* heap; NULL: none is sent */
	struct scheduler_handlers handlers;
	void *context;
	struct http_client *stream; /* NULL while waiting */
	struct http_client *calls;
	struct list sent; /* struct sent_call of `calls` */
	char *stream_id;  /* heap; NULL without a stream */
	bool subscribed;  /* SUBSCRIBED came on this stream */
	int pause_ms;
	bool failed; /* does nothing more */
	bool closed;
	int open_handles;
	void (*torn_down)(void *context); /* set while TEARDOWN or the last calls are under way */
};

static void subscribe(struct scheduler_driver *d);

/* ---- the end of a connection --------------------------------------------- */

static void scheduler_drop_connections(struct scheduler_driver *d)
{
	struct sent_call *sent, *next;

	list_for_each (sent, next, &d->sent, link) {
		list_remove(&sent->link);
		free(sent);
	}
	if (d->stream)
		http_client_close(d->stream);
	if (d->calls)
		http_client_close(d->calls);
	d->stream = d->calls = NULL;
	free(d->stream_id);
	d->stream_id = NULL;
	d->subscribed = false;
	uv_timer_stop(&d->silence);
}

static void finish_teardown(struct scheduler_driver *d)
{
	void (*done)(void *context) = d->torn_down;

	d->torn_down = NULL;
	d->failed = true;
	uv_timer_stop(&d->retry);
	scheduler_drop_connections(d);
	done(d->context);
}

static void scheduler_retry_cb(uv_timer_t *timer)
{
	struct scheduler_driver *d = timer->data;

	if (d->torn_down)
		finish_teardown(d);
	else
		subscribe(d);
}

/* The subscription, or the try to get one, came to nothing. */
static void connection_lost(struct scheduler_driver *d, const char *why)
{
	bool was_subscribed = d->subscribed;

	if (d->failed || d->closed)
		return;
	if (d->torn_down) {
		finish_teardown(d);
		return;
	}
	scheduler_drop_connections(d);
	uv_timer_start(&d->retry, scheduler_retry_cb, (uint64_t)d->pause_ms, 0);
	d->pause_ms = d->pause_ms * 2 > RETRY_LAST_MS ? RETRY_LAST_MS : d->pause_ms * 2;
	if (was_subscribed)
		d->handlers.disconnected(d->context, why);
	else if (d->handlers.unreachable)
		d->handlers.unreachable(d->context, why);
}

static void scheduler_silence_cb(uv_timer_t *timer)
{
	connection_lost(timer->data, "no heartbeat from the master");
}

static void scheduler_fail(struct scheduler_driver *d, const char *why)
{
	if (d->failed)
		return;
	if (d->torn_down) {
		finish_teardown(d);
		return;
	}
	d->failed = true;
	d->handlers.failed(d->context, why);
}

/* ---- incoming ------------------------------------------------------------ */

static void go_to(struct scheduler_driver *d, char *host, int port)
{
	free(d->host);
	d->host = host;
	d->port = port;
}

/* The leader is elsewhere. */
static void scheduler_follow(struct scheduler_driver *d, const char *location)
{
	struct err err;
	char *host;
	int port;

	if (address_parse(location, 5050, &host, &port, &err) < 0)
		log_warning("the master redirects to nowhere: %s", err.text);
	else
		go_to(d, host, port);
}

static void scheduler_opened_cb(void *context, const struct http_answer *answer)
{
	struct scheduler_driver *d = context;
	char *why;

	switch (answer->status) {
	case 0: /* `ended` says why; who redirected us may know a better leader now */
		if (d->first_host)
			go_to(d, xstrdup(d->first_host), d->first_port);
		return;
	case 503: /* not ready yet */
		return;
	case 200:
		free(d->stream_id);
		d->stream_id = xstrdup(answer->stream_id);
		uv_timer_start(&d->silence, scheduler_silence_cb, SUBSCRIBE_TIMEOUT_MS, 0);
		return;
	case 302:
	case 307:
	case 308:
		scheduler_follow(d, answer->location);
		return;
	default:
		why = xprintf("the master %s:%d refused the subscription (%d): %.*s", d->host,
			      d->port, answer->status, (int)answer->body.len, answer->body.data);
		scheduler_fail(d, why);
		free(why);
	}
}

static void scheduler_take_subscribed(struct scheduler_driver *d,
				      const Mesos__Scheduler__Event__Subscribed *subscribed)
{
	double beat = subscribed->heartbeat_interval_seconds;

	d->subscribed = true;
	d->pause_ms = RETRY_FIRST_MS;
	if (!d->subscription->framework_info->id)
		d->subscription->framework_info->id = proto_copy(subscribed->framework_id);
	uv_timer_stop(&d->silence);
	if (beat > 0 && beat < 1e6)
		uv_timer_start(&d->silence, scheduler_silence_cb,
			       (uint64_t)(beat * 1000 * SILENCE_BEATS) + 1,
			       (uint64_t)(beat * 1000 * SILENCE_BEATS) + 1);
}

static void take_event(struct scheduler_driver *d, const Mesos__Scheduler__Event *event)
{
	switch (event->type) {
	case MESOS__SCHEDULER__EVENT__TYPE__ERROR:
		scheduler_fail(d,
			       event->error ? event->error->message : "the master sent an error");
		break;
	case MESOS__SCHEDULER__EVENT__TYPE__HEARTBEAT:
		break;
	case MESOS__SCHEDULER__EVENT__TYPE__SUBSCRIBED:
		if (event->subscribed)
			scheduler_take_subscribed(d, event->subscribed);
		break;
	default:
		break;
	}
}

static void unpack_event(struct scheduler_driver *d, struct slice record, bool tell)
{
	struct arena arena;
	struct err err;
	Mesos__Scheduler__Event *event;

	arena_init(&arena);
	event = proto_unpack(&mesos__scheduler__event__descriptor, &arena, record.data, record.len,
			     &err);
	if (event) {
		take_event(d, event);
		if (tell && event->type != MESOS__SCHEDULER__EVENT__TYPE__ERROR &&
		    event->type != MESOS__SCHEDULER__EVENT__TYPE__HEARTBEAT &&
		    (event->type != MESOS__SCHEDULER__EVENT__TYPE__SUBSCRIBED || event->subscribed))
			d->handlers.event(d->context, event);
	} else {
		log_warning("dropped an event that does not parse: %s", err.text);
	}
	arena_free(&arena);
}

/* The owner wants bytes: only what the driver itself has to know is unpacked. */
static void pass_record(struct scheduler_driver *d, struct slice record)
{
	uint64_t type = 0;
	bool was_subscribed = d->subscribed;

	if (!wire_number(record, 1, &type)) {
		log_warning("dropped an event without a type");
		return;
	}
	if (type == MESOS__SCHEDULER__EVENT__TYPE__ERROR ||
	    type == MESOS__SCHEDULER__EVENT__TYPE__SUBSCRIBED)
		unpack_event(d, record, false);
	if (type == MESOS__SCHEDULER__EVENT__TYPE__ERROR ||
	    type == MESOS__SCHEDULER__EVENT__TYPE__HEARTBEAT || !d->subscribed ||
	    (type == MESOS__SCHEDULER__EVENT__TYPE__SUBSCRIBED && was_subscribed))
		return;
	d->handlers.record(d->context, (Mesos__Scheduler__Event__Type)type, record);
}

static void scheduler_record_cb(void *context, struct slice record)
{
	struct scheduler_driver *d = context;

	if (d->failed)
		return;
	if (d->subscribed && uv_is_active((uv_handle_t *)&d->silence))
		uv_timer_again(&d->silence);
	if (d->handlers.record)
		pass_record(d, record);
	else
		unpack_event(d, record, true);
}

static void scheduler_ended_cb(void *context, const char *why)
{
	connection_lost(context, why);
}

/* ---- life ---------------------------------------------------------------- */

static const struct http_stream_handlers stream_handlers = {
	scheduler_opened_cb, scheduler_record_cb, scheduler_ended_cb};

static void subscribe(struct scheduler_driver *d)
{
	const char *headers[] = {"Content-Type",
				 "application/x-protobuf",
				 "Accept",
				 "application/x-protobuf",
				 d->authorization ? "Authorization" : NULL,
				 d->authorization,
				 NULL};
	Mesos__Scheduler__Call call = MESOS__SCHEDULER__CALL__INIT;
	struct buf bytes = BUF_INIT;

	if (!d->first_host)
		return; /* detected_cb() goes on */
	call.has_type = 1;
	call.type = MESOS__SCHEDULER__CALL__TYPE__SUBSCRIBE;
	call.framework_id = d->subscription->framework_info->id;
	call.subscribe = d->subscription;
	proto_pack(&call, &bytes);
	d->stream = http_client_create(d->loop, d->host, d->port);
	d->calls = http_client_create(d->loop, d->host, d->port);
	http_client_pipeline(d->calls, CALLS_AT_A_TIME);
	http_client_stream(d->stream, SCHEDULER_PATH, headers, bytes.data, bytes.len,
			   SUBSCRIBE_TIMEOUT_MS, &stream_handlers, d);
	buf_free(&bytes);
}

void scheduler_driver_change(struct scheduler_driver *d, const Mesos__FrameworkInfo *info,
			     char *const *suppressed_roles, size_t count,
			     const Mesos__Scheduler__OfferConstraints *constraints)
{
	Mesos__Scheduler__Call__Subscribe said = MESOS__SCHEDULER__CALL__SUBSCRIBE__INIT;
	Mesos__Scheduler__Call__Subscribe *old = d->subscription;
	Mesos__FrameworkInfo with_id = *info;

	if (old && old->framework_info->id)
		with_id.id = old->framework_info->id;
	said.framework_info = &with_id;
	said.suppressed_roles = (char **)suppressed_roles;
	said.n_suppressed_roles = count;
	said.offer_constraints = (Mesos__Scheduler__OfferConstraints *)constraints;
	d->subscription = proto_copy(&said);
	proto_free(old);
}

/* ---- finding the master by ZooKeeper ----------------------------------------- */

static void scheduler_detected_cb(void *context, const char *pid)
{
	struct scheduler_driver *d = context;
	struct err err;

	if (d->failed || d->closed)
		return;
	free(d->first_host);
	d->first_host = NULL;
	if (!pid) {
		/* Who is served by a master that ZooKeeper does not reach stays there. */
		if (!d->stream && d->handlers.unreachable)
			d->handlers.unreachable(d->context, "no master leads");
		return;
	}
	if (address_parse(pid, 5050, &d->first_host, &d->first_port, &err) < 0)
		return;
	if (d->stream && d->port == d->first_port && !strcmp(d->host, d->first_host))
		return;
	go_to(d, xstrdup(d->first_host), d->first_port);
	d->pause_ms = RETRY_FIRST_MS;
	if (d->stream)
		connection_lost(d, "another master leads");
	else if (!d->torn_down)
		uv_timer_start(&d->retry, scheduler_retry_cb, 0, 0);
}

static void detection_failed_cb(void *context, const char *why)
{
	scheduler_fail(context, why);
}

static const struct detector_handlers detector_handlers = {.detected = scheduler_detected_cb,
							   .failed = detection_failed_cb};

static int find_master(struct scheduler_driver *d, struct err *err)
{
	struct zk_url url;
	int rv;

	if (!zk_url_is(d->source)) {
		rv = address_parse(d->source, 5050, &d->first_host, &d->first_port, err);
		if (rv == 0)
			go_to(d, xstrdup(d->first_host), d->first_port);
		return rv;
	}
	rv = zk_url_parse(d->source, &url, err);
	zk_url_free(&url);
	if (rv < 0)
		return err_wrap(err, rv, "'%s'", d->source);
	d->detector = detector_create(d->loop, d->source, ELECTION_SESSION_TIMEOUT_MS,
				      &detector_handlers, d);
	return 0;
}

int scheduler_driver_create(uv_loop_t *loop, const struct scheduler_options *options,
			    const struct scheduler_handlers *handlers, void *context,
			    struct scheduler_driver **out, struct err *err)
{
	struct scheduler_driver *d = xcalloc(1, sizeof(*d));
	int rv;

	d->loop = loop;
	d->source = xstrdup(options->master);
	rv = find_master(d, err);
	if (rv < 0) {
		free(d->source);
		free(d);
		return rv;
	}
	scheduler_driver_change(d, options->info, options->suppressed_roles,
				options->suppressed_role_count, NULL);
	if (options->principal)
		d->authorization = credential_basic(options->principal, options->secret);
	d->handlers = *handlers;
	d->context = context;
	d->pause_ms = RETRY_FIRST_MS;
	list_init(&d->sent);
	uv_timer_init(loop, &d->retry);
	uv_timer_init(loop, &d->silence);
	d->retry.data = d->silence.data = d;
	*out = d;
	if (d->detector)
		detector_look(d->detector);
	else
		subscribe(d);
	return 0;
}

static void scheduler_closed_cb(uv_handle_t *handle)
{
	struct scheduler_driver *d = handle->data;

	if (--d->open_handles > 0)
		return;
	proto_free(d->subscription);
	free(d->authorization);
	free(d->source);
	free(d->first_host);
	free(d->host);
	free(d);
}

void scheduler_driver_close(struct scheduler_driver *d)
{
	if (d->closed)
		return;
	d->closed = true;
	scheduler_drop_connections(d);
	if (d->detector)
		detector_close(d->detector);
	d->open_handles = 2;
	uv_close((uv_handle_t *)&d->retry, scheduler_closed_cb);
	uv_close((uv_handle_t *)&d->silence, scheduler_closed_cb);
}

void scheduler_driver_master(const struct scheduler_driver *d, char **host, int *port)
{
	*host = xstrdup(d->host ? d->host : "");
	*port = d->port;
}

const char *scheduler_driver_id(const struct scheduler_driver *d)
{
	const Mesos__FrameworkID *id = d->subscription->framework_info->id;

	return id ? id->value : "";
}

/* ---- calls --------------------------------------------------------------- */

static void scheduler_answered_cb(void *context, const struct http_answer *answer)
{
	struct sent_call *sent = context;
	struct scheduler_driver *d = sent->driver;
	Mesos__Scheduler__Call__Type type = sent->type;

	list_remove(&sent->link);
	free(sent);
	if (d->torn_down && list_empty(&d->sent)) {
		finish_teardown(d);
	} else if (answer->status == 0) {
		/* Whether the call arrived is unknown: a new subscription makes it plain. */
		connection_lost(d, answer->error);
	} else if (answer->status >= 300 && d->handlers.refused) {
		char *why = xstrndup(answer->body.data, answer->body.len);

		d->handlers.refused(d->context, type, answer->status, why);
		free(why);
	}
}

bool scheduler_driver_subscribed(const struct scheduler_driver *d)
{
	return d->subscribed && !d->failed && !d->closed;
}

static void scheduler_send_call(struct scheduler_driver *d, Mesos__Scheduler__Call__Type type,
				const struct buf *bytes)
{
	bool last = type == MESOS__SCHEDULER__CALL__TYPE__TEARDOWN;
	const char *headers[] = {"Content-Type",
				 "application/x-protobuf",
				 "Mesos-Stream-Id",
				 d->stream_id,
				 d->authorization ? "Authorization" : NULL,
				 d->authorization,
				 NULL};
	struct sent_call *sent = xmalloc(sizeof(*sent));

	sent->driver = d;
	sent->type = type;
	list_append(&d->sent, &sent->link);
	http_client_send(d->calls, "POST", SCHEDULER_PATH, headers, bytes->data, bytes->len,
			 last ? TEARDOWN_TIMEOUT_MS : CALL_TIMEOUT_MS, scheduler_answered_cb, sent);
}

void scheduler_driver_call(struct scheduler_driver *d, Mesos__Scheduler__Call *call)
{
	struct buf bytes = BUF_INIT;

	if (!scheduler_driver_subscribed(d))
		return;
	call->has_type = 1;
	call->framework_id = d->subscription->framework_info->id;
	proto_pack(call, &bytes);
	scheduler_send_call(d, call->type, &bytes);
	buf_free(&bytes);
}

void scheduler_driver_send(struct scheduler_driver *d, Mesos__Scheduler__Call__Type type,
			   const void *data, size_t len)
{
	struct buf bytes = BUF_INIT;

	if (!scheduler_driver_subscribed(d))
		return;
	buf_append(&bytes, data, len);
	wire_put_message(&bytes, 1, d->subscription->framework_info->id);
	scheduler_send_call(d, type, &bytes);
	buf_free(&bytes);
}

void scheduler_driver_acknowledge(struct scheduler_driver *d, const Mesos__TaskStatus *status)
{
	Mesos__Scheduler__Call call = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Scheduler__Call__Acknowledge body = MESOS__SCHEDULER__CALL__ACKNOWLEDGE__INIT;

	if (!status->has_uuid || !status->agent_id)
		return;
	body.agent_id = status->agent_id;
	body.task_id = status->task_id;
	body.uuid = status->uuid;
	call.type = MESOS__SCHEDULER__CALL__TYPE__ACKNOWLEDGE;
	call.acknowledge = &body;
	scheduler_driver_call(d, &call);
}

void scheduler_driver_teardown(struct scheduler_driver *d, void (*done)(void *context))
{
	Mesos__Scheduler__Call call = MESOS__SCHEDULER__CALL__INIT;

	if (d->torn_down)
		return;
	d->torn_down = done;
	call.type = MESOS__SCHEDULER__CALL__TYPE__TEARDOWN;
	if (scheduler_driver_subscribed(d))
		scheduler_driver_call(d, &call);
	else
		uv_timer_start(&d->retry, scheduler_retry_cb, 0, 0);
}

void scheduler_driver_finish(struct scheduler_driver *d, void (*done)(void *context))
{
	if (d->torn_down)
		return;
	d->torn_down = done;
	uv_timer_start(&d->retry, scheduler_retry_cb,
		       list_empty(&d->sent) ? 0 : TEARDOWN_TIMEOUT_MS, 0);
}
