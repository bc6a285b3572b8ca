/* A scheduler on the v1 API: the production driver (client/scheduler.h) on a simulated loop. What
 * no scheduler should say goes past the driver, on a connection of its own. */
#include "client/scheduler.h"
#include "lab/ensemble/ensemble.h"
#include "lab/parts/scheduler.h"
#include "lab/parts/scheduler_books.h"

#include <stdlib.h>

#define ANEW_HIGH (3 * SECOND)

/* ---- what it hears ------------------------------------------------------------------ */

/* In the letter that is being read, where others have looked at it, too. */
static void stream_hear_letter(struct scheduler_part *part)
{
	const struct letter *letter = part->loop.letter;
	const Mesos__Scheduler__Event *event =
		letter_open(letter, &mesos__scheduler__event__descriptor);

	if (event)
		scheduler_hear(part, event, letter);
}

static void stream_event(void *context, const Mesos__Scheduler__Event *event)
{
	(void)event;
	stream_hear_letter(context);
}

static void stream_record(void *context, Mesos__Scheduler__Event__Type type, struct slice bytes)
{
	(void)type;
	(void)bytes;
	stream_hear_letter(context);
}

static void stream_disconnected(void *context, const char *why)
{
	struct scheduler_part *part = context;

	(void)why;
	part->subscribed = false;
}

/* The driver does nothing more. If the framework begins anew, it does so with another one. */
static void stream_failed(void *context, const char *why)
{
	struct scheduler_part *part = context;

	part->subscribed = false;
	world_after(part->world, &part->connect,
		    world_between(part->world, MILLISECOND, ANEW_HIGH));
	scheduler_refused(part, why);
}

static void stream_refused(void *context, Mesos__Scheduler__Call__Type type, int status,
			   const char *why)
{
	(void)context;
	(void)type;
	(void)status;
	(void)why;
}

/* Both ways to be told of events, by turns. */
static const struct scheduler_handlers handlers[2] = {
	{.event = stream_event,
	 .disconnected = stream_disconnected,
	 .failed = stream_failed,
	 .refused = stream_refused},
	{.record = stream_record,
	 .disconnected = stream_disconnected,
	 .failed = stream_failed,
	 .refused = stream_refused},
};

/* ---- what it says ---------------------------------------------------------------------- */

static void stream_connect(struct scheduler_part *part)
{
	if (part->link)
		scheduler_driver_close(part->link);
	part->link = NULL;
	scheduler_subscribe(part);
}

static void stream_subscribe(struct scheduler_part *part, Mesos__Scheduler__Call *message)
{
	const struct scheduler_options options = {
		.master = part->world->keeper ? ENSEMBLE_URL : MASTER_ADDRESS,
		.info = message->subscribe->framework_info,
	};
	struct err err;

	if (scheduler_driver_create(&part->loop, &options, &handlers[part->options.number % 2],
				    part, &part->link, &err))
		world_fail(part->world, "no driver: %s", err.text);
}

static bool stream_ready(struct scheduler_part *part)
{
	return part->link && scheduler_driver_subscribed(part->link);
}

/* That of the driver, or any. */
static const char *spoofed_master(struct scheduler_part *part)
{
	static const char *const several[] = {MASTER_ADDRESS, "10.0.0.2:5050", "10.0.0.3:5050"};
	char *host;
	int port;

	if (!part->world->keeper)
		return MASTER_ADDRESS;
	if (part->link) {
		scheduler_driver_master(part->link, &host, &port);
		free(part->spoofed);
		part->spoofed = host ? xprintf("%s:%d", host, port) : NULL;
		free(host);
		if (part->spoofed)
			return part->spoofed;
	}
	return several[(size_t)(rng_unit(&part->rng) * 3)];
}

static void stream_spoof(struct scheduler_part *part, Mesos__Scheduler__Call *message,
			 const char *framework_id, const char *stream_id)
{
	struct letter letter = {.kind = LETTER_CALL, .number = ++part->next_call};
	Mesos__FrameworkID id = MESOS__FRAMEWORK_ID__INIT;

	if (!part->spoofs)
		part->spoofs = conn_open(&part->process, spoofed_master(part));
	if (!part->spoofs)
		return;
	id.value = (char *)framework_id;
	message->has_type = true;
	message->framework_id = framework_id ? &id : NULL;
	proto_pack(message, &letter.bytes);
	letter.message = message;
	letter.name = stream_id ? xstrdup(stream_id) : NULL;
	conn_send(part->spoofs, &part->process, &letter);
}

static void stream_call(struct scheduler_part *part, Mesos__Scheduler__Call *message,
			const char *framework_id, const char *speaker)
{
	if (!speaker && framework_id == part->framework_id)
		scheduler_driver_call(part->link, message);
	else
		stream_spoof(part, message, framework_id, speaker ? speaker : part->loop.stream_id);
}

/* ---- its process -------------------------------------------------------------------------- */

static void scheduler_stream_receive(struct process *p, struct conn *conn,
				     const struct letter *letter)
{
	struct scheduler_part *part = container_of(p, struct scheduler_part, process);

	sim_loop_receive(&part->loop, conn, letter);
}

static void scheduler_stream_closed(struct process *p, struct conn *conn)
{
	struct scheduler_part *part = container_of(p, struct scheduler_part, process);

	if (conn == part->spoofs)
		part->spoofs = NULL;
	else
		sim_loop_conn_closed(&part->loop, conn);
}

static const struct process_ops ops = {scheduler_stream_receive, scheduler_stream_closed,
				       scheduler_kill_process};

static void stream_begin(struct scheduler_part *part)
{
	process_start(&part->process, part->world, &ops, part->name, NULL);
	sim_loop_init(&part->loop, &part->process, &part->next_call);
}

/* Killed: its connections end with the process. */
static void stream_end_of_process(struct scheduler_part *part)
{
	part->loop.dead = true;
	if (part->link)
		scheduler_driver_close(part->link);
	part->link = NULL;
	part->spoofs = NULL;
	sim_loop_free(&part->loop);
}

/* The driver sees to its connections itself. */
static void stream_watch(struct scheduler_part *part)
{
	(void)part;
}

const struct scheduler_wire scheduler_stream_wire = {
	.begin = stream_begin,
	.end = stream_end_of_process,
	.connect = stream_connect,
	.subscribe = stream_subscribe,
	.ready = stream_ready,
	.call = stream_call,
	.watch = stream_watch,
};
