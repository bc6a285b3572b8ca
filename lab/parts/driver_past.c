/* A driver that was failed over from and does not know: a process that was taken for dead, or
 * one whose scheduler made another. Whatever it says must change nothing. It does not register:
 * with a new master, which knows nobody's pid, that would be as good as the other's. */
#include "lab/parts/driver.h"

#include <stdlib.h>

#define LIFE_HIGH MINUTE
#define PAUSE_HIGH (5 * SECOND)

static int driver_past_below(struct driver *d, int count)
{
	return (int)(rng_unit(&d->rng) * count);
}

static void wait_a_while(struct driver *d)
{
	world_after(d->part->world, &d->past.next, (int64_t)(rng_unit(&d->rng) * PAUSE_HIGH));
}

/* ---- what it says ------------------------------------------------------------------ */

static void driver_past_kill_task(struct driver *d)
{
	Mesos__Scheduler__Call call = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Scheduler__Call__Kill kill = MESOS__SCHEDULER__CALL__KILL__INIT;
	Mesos__TaskID id = MESOS__TASK_ID__INIT;
	struct book *book, *next;

	HASH_ITER (hh, d->part->books, book, next) {
		if (book->over)
			continue;
		id.value = book->task_id;
		kill.task_id = &id;
		call.type = CALL(KILL);
		call.kill = &kill;
		driver_say_as(d, d->past.pid, &call);
		return;
	}
}

/* As if it had the offer that the other one has. */
static void decline(struct driver *d)
{
	struct held_offer *held = list_first(&d->part->offers, struct held_offer, link);
	Mesos__Scheduler__Call call = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Scheduler__Call__Decline decline = MESOS__SCHEDULER__CALL__DECLINE__INIT;
	Mesos__OfferID *list;

	if (!held)
		return;
	list = held->offer->id;
	decline.n_offer_ids = 1;
	decline.offer_ids = &list;
	call.type = CALL(DECLINE);
	call.decline = &decline;
	driver_say_as(d, d->past.pid, &call);
}

static void say_type(struct driver *d, Mesos__Scheduler__Call__Type type)
{
	Mesos__Scheduler__Call call = MESOS__SCHEDULER__CALL__INIT;

	call.type = type;
	driver_say_as(d, d->past.pid, &call);
}

static void say_something(struct driver *d)
{
	switch (driver_past_below(d, 6)) {
	case 0:
		driver_past_kill_task(d);
		break;
	case 1:
		decline(d);
		break;
	case 2:
		driver_deactivate(d, d->past.pid);
		break;
	case 3:
		say_type(d, CALL(SUPPRESS));
		break;
	case 4:
		say_type(d, CALL(REVIVE));
		break;
	default:
		say_type(d, CALL(TEARDOWN));
		break;
	}
}

/* Until the other one is registered it has a right to speak. */
static bool is_past(const struct driver *d)
{
	return d->past.pid && d->part->subscribed && d->part->world->now < d->past.until;
}

static void on_next(struct happening *h)
{
	struct driver *d = container_of(h, struct driver, past.next);
	struct scheduler_part *part = d->part;

	if (part->finishing || part->world->now >= d->past.until) {
		driver_past_end(d);
		return;
	}
	if (is_past(d)) {
		world_log(part->world, "a driver that %s had says something", part->name);
		say_something(d);
	}
	wait_a_while(d);
}

void driver_past_update(struct driver *d, const Mesos__TaskStatus *status)
{
	Mesos__Scheduler__Call call = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Scheduler__Call__Acknowledge acknowledge = MESOS__SCHEDULER__CALL__ACKNOWLEDGE__INIT;

	if (!is_past(d) || driver_past_below(d, 2))
		return;
	acknowledge.agent_id = status->agent_id;
	acknowledge.task_id = status->task_id;
	acknowledge.uuid = status->uuid;
	call.type = CALL(ACKNOWLEDGE);
	call.acknowledge = &acknowledge;
	driver_say_as(d, d->past.pid, &call);
}

/* ---- life ---------------------------------------------------------------------------- */

void driver_past_init(struct driver *d)
{
	d->past.next.run = on_next;
}

void driver_past_begin(struct driver *d, const char *pid)
{
	/* At a fixed pid they are all the same. */
	if (d->part->options.fixed || d->part->finishing)
		return;
	driver_past_end(d);
	d->past.pid = xstrdup(pid);
	d->past.until = d->part->world->now + (int64_t)(rng_unit(&d->rng) * LIFE_HIGH);
}

void driver_past_wake(struct driver *d)
{
	if (d->past.pid)
		wait_a_while(d);
}

void driver_past_end(struct driver *d)
{
	world_cancel(d->part->world, &d->past.next);
	free(d->past.pid);
	d->past.pid = NULL;
}
