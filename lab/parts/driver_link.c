#include "lab/ensemble/ensemble.h"
#include "lab/parts/driver.h"
#include "lab/parts/scheduler_offers.h"
#include "lab/parts/scheduler_part.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "net/masters/detector.h"
#include "net/masters/election.h"

#define PATIENCE_LOW (2 * SECOND) /* with a try to register; it doubles */
#define PATIENCE_HIGH MINUTE
#define DETECT_HIGH (10 * SECOND) /* until a break is known to be one */
#define RENEW_HIGH (5 * SECOND)	  /* until the scheduler has another driver */
/* A careful scheduler takes a driver for lost that hears nothing for so long. */
#define SILENCE_HIGH (5 * MINUTE)

static bool chance(struct driver *d, double probability)
{
	return rng_unit(&d->rng) < probability;
}

static int64_t driver_link_within(struct driver *d, int64_t high)
{
	return (int64_t)(rng_unit(&d->rng) * (double)high);
}

/* NULL: there is none that it knows of. */
static const char *master_of(const struct driver *d)
{
	return d->detector ? d->master : MASTER_PID;
}

/* ---- what it says ------------------------------------------------------------------ */

static void driver_link_send_message(struct driver *d, const char *actor, const void *message,
				     bool force)
{
	struct letter letter = {.message = message, .force = force};

	if (master_of(d))
		pid_post(&d->part->process, actor, master_of(d), &letter);
}

static void driver_link_say(struct driver *d, const char *actor, Mesos__Scheduler__Call *call,
			    const char *framework_id)
{
	bool force = call->type == CALL(SUBSCRIBE) && d->force;
	Mesos__FrameworkID id = MESOS__FRAMEWORK_ID__INIT;
	struct arena arena;

	arena_init(&arena);
	id.value = (char *)framework_id;
	call->has_type = true;
	call->framework_id = framework_id ? &id : NULL;
	driver_link_send_message(
		d, actor, driver_wrap_call(&arena, call, d->part->options.old, force), force);
	arena_free(&arena);
}

void driver_say_as(struct driver *d, const char *pid, Mesos__Scheduler__Call *call)
{
	driver_link_say(d, pid, call, d->part->framework_id);
}

void driver_deactivate(struct driver *d, const char *pid)
{
	Mesos__Internal__DeactivateFrameworkMessage message =
		MESOS__INTERNAL__DEACTIVATE_FRAMEWORK_MESSAGE__INIT;
	Mesos__FrameworkID id = MESOS__FRAMEWORK_ID__INIT;

	id.value = d->part->framework_id;
	message.framework_id = &id;
	driver_link_send_message(d, pid, &message, false);
}

/* ---- instances --------------------------------------------------------------------- */

/* Another one. It is a failover if it is made with the framework's id. */
static void renew(struct driver *d)
{
	const struct scheduler_traits *o = &d->part->options;

	free(d->actor);
	free(d->pid);
	d->actors++;
	d->actor = o->fixed ? xprintf(PID_DRIVER "(%d)", d->actors)
			    : xprintf(PID_DRIVER "-%d.%d", o->number, d->actors);
	d->pid = xprintf("%s@%s", d->actor, d->address);
	d->force = d->part->framework_id != NULL;
	d->patience = PATIENCE_LOW;
	d->aborted = d->lost = false;
}

static void driver_link_leave(struct driver *d)
{
	d->part->subscribed = false;
	scheduler_drop_offers(d->part);
}

/* It is over; the scheduler makes another one. */
static void end_instance(struct driver *d)
{
	d->aborted = true;
	driver_link_leave(d);
	if (!d->part->gone)
		world_after(d->part->world, &d->part->connect, driver_link_within(d, RENEW_HIGH));
}

/* Another one takes its place. */
static void fail_over(struct driver *d)
{
	struct scheduler_part *part = d->part;

	if (!part->alive || d->aborted || !part->framework_id || part->leaving || part->gone)
		return;
	world_log(part->world, "%s makes another driver", part->name);
	if (part->subscribed && chance(d, 0.5))
		driver_deactivate(d, d->actor);
	else if (chance(d, 0.7))
		driver_past_begin(d, d->pid);
	end_instance(d);
}

void scheduler_part_fail_over(struct scheduler_part *part)
{
	if (part->driver)
		fail_over(part->driver);
}

static void wait_for_unrest(struct driver *d)
{
	double mean = d->part->options.unrest;

	if (mean > 0 && !d->part->finishing)
		world_after(d->part->world, &d->unrest,
			    (int64_t)(-log(1 - rng_unit(&d->rng)) * mean * SECOND));
}

static void on_unrest(struct happening *h)
{
	struct driver *d = container_of(h, struct driver, unrest);

	if (d->haunted) {
		scheduler_part_kill(d->part);
		return;
	}
	if (!d->part->finishing)
		fail_over(d);
	wait_for_unrest(d);
}

/* ---- registration ------------------------------------------------------------------- */

static void driver_subscribe(struct scheduler_part *part, Mesos__Scheduler__Call *message)
{
	driver_link_say(part->driver, part->driver->actor, message, part->framework_id);
}

/* There is a master, or it is time to try again. */
static void driver_connect(struct scheduler_part *part)
{
	struct driver *d = part->driver;

	if (d->aborted)
		renew(d);
	if ((part->subscribed && !d->lost) || !master_of(d))
		return;
	driver_link_leave(d);
	d->lost = false;
	pid_link(&part->process, master_of(d));
	scheduler_subscribe(part);
	world_after(part->world, &part->connect, MILLISECOND + driver_link_within(d, d->patience));
	d->patience = d->patience * 2 < PATIENCE_HIGH ? d->patience * 2 : PATIENCE_HIGH;
}

static void driver_link_registered(struct driver *d)
{
	d->force = false;
	d->patience = PATIENCE_LOW;
	world_cancel(d->part->world, &d->part->connect);
	/* It may have broken meanwhile. */
	pid_link(&d->part->process, master_of(d));
	driver_past_wake(d);
}

static void driver_link_closed(struct process *p, struct conn *conn)
{
	struct scheduler_part *part = container_of(p, struct scheduler_part, process);
	struct driver *d = part->driver;

	if (!conn->linked || conn->of[CONN_CLIENT].process != p || !part->subscribed || d->lost)
		return;
	d->lost = true;
	world_after(part->world, &part->connect, driver_link_within(d, DETECT_HIGH));
}

/* Another master leads, or none. */
static void driver_detected(void *context, const char *pid)
{
	struct driver *d = context;

	if (pid && d->master && !strcmp(pid, d->master))
		return;
	free(d->master);
	d->master = pid ? xstrdup(pid) : NULL;
	if (d->aborted)
		return;
	driver_link_leave(d);
	d->lost = true;
	d->patience = PATIENCE_LOW;
	if (pid)
		world_after(d->part->world, &d->part->connect, 0);
}

static void driver_detection_failed(void *context, const char *why)
{
	struct driver *d = context;

	world_fail(d->part->world, "the driver of %s finds no master: %s", d->part->name, why);
}

static void begin_to_look(struct driver *d)
{
	static const struct detector_handlers handlers = {.detected = driver_detected,
							  .failed = driver_detection_failed};
	struct scheduler_part *part = d->part;

	sim_loop_init(&part->loop, &part->process, &part->next_call);
	sim_be(&part->process, NULL);
	d->detector = detector_create(&part->loop, ENSEMBLE_URL, ELECTION_SESSION_TIMEOUT_MS,
				      &handlers, d);
	detector_look(d->detector);
}

static void look_no_more(struct driver *d)
{
	if (!d->detector)
		return;
	d->part->process.killed = true;
	detector_close(d->detector);
	sim_loop_free(&d->part->loop);
	free(d->master);
	d->detector = NULL;
	d->master = NULL;
}

/* ---- what it hears --------------------------------------------------------------------- */

static void acknowledge(struct driver *d, const Mesos__TaskStatus *status)
{
	Mesos__Scheduler__Call call = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Scheduler__Call__Acknowledge acknowledge = MESOS__SCHEDULER__CALL__ACKNOWLEDGE__INIT;

	acknowledge.agent_id = status->agent_id;
	acknowledge.task_id = status->task_id;
	acknowledge.uuid = status->uuid;
	call.type = CALL(ACKNOWLEDGE);
	call.acknowledge = &acknowledge;
	driver_link_say(d, d->actor, &call, d->part->framework_id);
}

/* What is usual between lives of drivers and masters, or after misdeeds. */
static bool is_usual(const struct driver *d, const char *error)
{
	return !strcmp(error, "Framework failed over") ||
	       !strcmp(error, "Framework disconnected") ||
	       (d->part->options.mischief > 0 && d->part->subscribed);
}

/* An error ends the driver, whoever it comes from. */
static void driver_link_fail(struct driver *d, const Mesos__Scheduler__Event *event,
			     const struct letter *letter)
{
	struct scheduler_part *part = d->part;
	const char *text = event->error->message;

	world_log(part->world, "the driver of %s ends: %s", part->name, text);
	if (part->subscribed)
		driver_deactivate(d, d->actor);
	if (!strcmp(text, "Framework has been removed"))
		scheduler_hear(part, event, letter);
	else if (!is_usual(d, text))
		world_fail(part->world, "the driver of %s hears an error: %s", part->name, text);
	end_instance(d);
}

static void driver_link_hear(struct driver *d, const void *message,
			     const Mesos__Scheduler__Event *event, const struct letter *letter)
{
	const Mesos__TaskStatus *status = event->update ? event->update->status : NULL;
	struct scheduler_part *part = d->part;
	const char *why = driver_check_message(message, part->framework_id);

	if (why) {
		world_fail(part->world, "routes: the driver of %s dies of %s", part->name, why);
		return;
	}
	d->heard = part->world->now;
	if (event->subscribed)
		driver_link_registered(d);
	if (status && status->has_uuid)
		driver_past_update(d, status);
	scheduler_hear(part, event, letter);
	if (status && status->has_uuid && part->options.implicit && part->subscribed)
		acknowledge(d, status);
}

/* What an earlier process at this address said before its end may come late. The master takes an
 * actor that is not there for a framework then, and gives it offers, for as long as the process
 * lives, as Mesos does: whoever runs it sees a framework too many, and starts it again. */
static void note_ghost(struct driver *d, const struct letter *letter)
{
	if (letter->type != &mesos__internal__framework_registered_message__descriptor ||
	    d->actors > 1 || d->haunted)
		return;
	d->haunted = true;
	world_cancel(d->part->world, &d->unrest);
	world_after(d->part->world, &d->unrest, driver_link_within(d, RENEW_HIGH));
}

static void driver_link_receive(struct process *p, struct conn *conn, const struct letter *letter)
{
	struct scheduler_part *part = container_of(p, struct scheduler_part, process);
	struct driver *d = part->driver;
	Mesos__Scheduler__Event event;
	struct arena arena;
	void *message;

	(void)conn;
	if (letter->name && strcmp(letter->name, d->pid))
		note_ghost(d, letter);
	if (d->aborted || !letter->name || strcmp(letter->name, d->pid))
		return;
	message = letter_open(letter, letter->type);
	arena_init(&arena);
	if (!message || !driver_unwrap_event(&arena, message, &event))
		; /* nothing for it */
	else if (event.error)
		driver_link_fail(d, &event, letter);
	else if (master_of(d) && !strcmp(letter->from, master_of(d)) &&
		 !event.subscribed == part->subscribed)
		driver_link_hear(d, message, &event, letter);
	arena_free(&arena);
}

static const struct process_ops ops = {driver_link_receive, driver_link_closed,
				       scheduler_kill_process};

/* ---- calls ------------------------------------------------------------------------------- */

static bool driver_ready(struct scheduler_part *part)
{
	return part->subscribed;
}

/* Not all that a v1 scheduler may say. */
static bool knows(const struct scheduler_part *part, const Mesos__Scheduler__Call *call)
{
	return call->type != CALL(SHUTDOWN) &&
	       !(call->type == CALL(ACKNOWLEDGE) && part->options.implicit);
}

static void driver_call(struct scheduler_part *part, Mesos__Scheduler__Call *message,
			const char *framework_id, const char *speaker)
{
	struct driver *d = part->driver;

	if (!knows(part, message))
		return;
	driver_link_say(d, speaker ? speaker : d->actor, message, framework_id);
	/* Nobody answers that: whether it was heard the next driver finds out. */
	if (message->type == CALL(TEARDOWN) && !speaker &&
	    !strcmp(framework_id, part->framework_id))
		end_instance(d);
}

static void driver_watch(struct scheduler_part *part)
{
	struct driver *d = part->driver;

	if (part->subscribed && part->world->now - d->heard > SILENCE_HIGH)
		fail_over(d);
}

/* ---- lives ------------------------------------------------------------------------------- */

static void driver_begin(struct scheduler_part *part)
{
	const struct scheduler_traits *o = &part->options;
	struct driver *d = part->driver;

	if (!d) {
		d = part->driver = xcalloc(1, sizeof(*d));
		d->part = part;
		d->unrest.run = on_unrest;
		rng_seed(&d->rng, part->world->seed ^ (uint64_t)(0xd100 + o->number));
		driver_past_init(d);
	}
	if (!o->fixed || !d->address) {
		free(d->address);
		d->address = xprintf("10.2.%d.%d:%d", o->number / 250, o->number % 250,
				     7000 + d->homes++ % 50000);
	}
	if (o->fixed)
		d->actors = 0;
	d->haunted = false;
	process_start(&part->process, part->world, &ops, part->name, d->address);
	renew(d);
	wait_for_unrest(d);
	if (part->world->keeper)
		begin_to_look(d);
}

static void driver_end(struct scheduler_part *part)
{
	struct driver *d = part->driver;

	world_cancel(part->world, &d->unrest);
	driver_past_end(d);
	/* What it was stopped in saying may come late. */
	if (part->framework_id && !part->gone && chance(d, 0.5))
		driver_past_begin(d, d->pid);
	look_no_more(d);
}

void driver_destroy(struct driver *d)
{
	if (!d)
		return;
	driver_past_end(d);
	free(d->actor);
	free(d->address);
	free(d->pid);
	free(d);
}

const struct scheduler_wire driver_wire = {
	.begin = driver_begin,
	.end = driver_end,
	.connect = driver_connect,
	.subscribe = driver_subscribe,
	.ready = driver_ready,
	.call = driver_call,
	.watch = driver_watch,
};
