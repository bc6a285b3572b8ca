/* Schedulers as drivers of v0: actors scheduler(1), scheduler(2), ... behind one listening
 * port, which say mesos.scheduler.Call and are sent messages, as libmesos' driver does. What
 * they hear becomes the event that says the same (driver_messages.c).
 *
 * Failures: an error of the master's, what libmesos would not bear, or the end of the link
 * to the master fails the run. */
#include <stdlib.h>
#include <string.h>

#include "bench/load/fleet/actor.h"
#include "bench/load/schedulers/driver_messages.h"
#include "bench/load/schedulers/scheduler_internal.h"
#include "net/http.h"
#include "net/libprocess.h"

#define BODY_MAX (64 * 1024 * 1024)

struct drivers {
	struct load *load;
	struct http_server *server;
	struct messenger *messenger;
	struct scheduler **actors; /* by number; NULL: none, or closed */
	size_t count;
	char master[PID_MAX];
};

/* ---- messages in ------------------------------------------------------------ */

static void take(struct scheduler *s, const struct libprocess_message *message, struct arena *arena)
{
	Mesos__Scheduler__Event event = MESOS__SCHEDULER__EVENT__INIT;
	struct err err = {0};

	switch (driver_message_parse(message->name, message->body, arena, &event, &err)) {
	case DRIVER_EVENT:
		scheduler_take_event(s, &event);
		break;
	case DRIVER_IGNORED:
		s->load->books.events++;
		break;
	case DRIVER_BAD:
		load_fail(s->load, "scheduler %zu: %s: %s", s->number, message->name, err.text);
		break;
	}
}

static void on_request(void *context, struct http_request *request)
{
	struct drivers *d = context;
	struct libprocess_message message;
	struct scheduler *s = NULL;
	uint32_t number;

	if (!libprocess_is_message(request) || !libprocess_parse(request, &message)) {
		http_reply_text(request, 400, NULL);
		return;
	}
	if (actor_find(message.to, "scheduler", d->load->plan.drivers, &number))
		s = d->actors[number];
	if (!s) {
		http_reply_text(request, 404, NULL);
		return;
	}
	take(s, &message, &request->arena);
	http_reply(request, 202, NULL, NULL, 0, NULL);
}

static void exited_cb(void *context, const char *pid)
{
	struct drivers *d = context;

	for (int64_t i = 0; i < d->load->plan.drivers; i++) {
		struct scheduler *s = d->actors[i];

		if (!s || scheduler_lost(s))
			continue;
		if (d->load->phase < PHASE_LEAVING && !s->leaving)
			load_fail(d->load, "scheduler %zu: the link to %s broke", s->number, pid);
	}
}

/* ---- life of what they share ------------------------------------------------ */

static struct drivers *create_drivers(struct load *load, struct err *err)
{
	struct drivers *d = xcalloc(1, sizeof(*d));
	struct http_server_options options = {
		.loop = &load->loop,
		.ip = load->plan.ip,
		.body_max = BODY_MAX,
		.handler = on_request,
		.tls = load->tls,
		.context = d,
	};

	d->load = load;
	if (http_server_create(&options, &d->server, err) < 0) {
		free(d);
		return NULL;
	}
	d->actors = xcalloc((size_t)load->plan.drivers, sizeof(struct scheduler *));
	snprintf(d->master, sizeof(d->master), "master@%s:%d", load->plan.host, load->plan.port);
	d->messenger = messenger_create(&load->loop, load->tls, exited_cb, d);
	return d;
}

static void free_drivers(void *context)
{
	struct drivers *d = context;

	free(d->actors);
	free(d);
}

static void send_bytes(struct scheduler *s)
{
	struct drivers *d = s->load->drivers;
	char from[PID_MAX];

	snprintf(from, sizeof(from), "scheduler(%zu)@%s:%d", s->number + 1, s->load->plan.ip,
		 http_server_port(d->server));
	messenger_send(d->messenger, from, d->master, "mesos.scheduler.Call", s->body.data,
		       s->body.len);
}

/* ---- the wire --------------------------------------------------------------- */

static void send_subscribe(struct scheduler *s, const Mesos__Scheduler__Call *call)
{
	buf_clear(&s->body);
	driver_message_subscribe(call, &s->body);
	send_bytes(s);
}

/* Without an answer it does so again, as drivers do: scheduler_return(). */
static void driver_subscribe(struct scheduler *s)
{
	struct load *load = s->load;
	struct err err = {0};

	if (!load->drivers)
		load->drivers = create_drivers(load, &err);
	if (!load->drivers) {
		load_fail(load, "scheduler %zu cannot listen: %s", s->number, err.text);
		return;
	}
	if (!load->drivers->actors[s->number]) {
		load->drivers->actors[s->number] = s;
		load->drivers->count++;
	}
	messenger_link(load->drivers->messenger, load->drivers->master);
	scheduler_call_subscribe(s, send_subscribe);
}

static void driver_connected(struct scheduler *s)
{
	(void)s;
}

static void driver_send(struct scheduler *s, Mesos__Scheduler__Call__Type type,
			const Mesos__Scheduler__Call *call)
{
	buf_clear(&s->body);
	proto_pack(call, &s->body);
	send_bytes(s);
	/* Nobody answers that. */
	if (type == MESOS__SCHEDULER__CALL__TYPE__TEARDOWN)
		s->torn_down = true;
}

static void driver_hang_up(struct scheduler *s)
{
	(void)s;
}

static void driver_close(struct scheduler *s)
{
	struct drivers *d = s->load->drivers;

	if (!d || d->actors[s->number] != s)
		return;
	d->actors[s->number] = NULL;
	if (--d->count > 0)
		return;
	s->load->drivers = NULL;
	messenger_close(d->messenger);
	http_server_close(d->server, free_drivers, d);
}

const struct wire driver_wire = {
	.subscribe = driver_subscribe,
	.connected = driver_connected,
	.send = driver_send,
	.hang_up = driver_hang_up,
	.close = driver_close,
};
