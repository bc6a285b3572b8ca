/* A framework's scheduler.
 *
 * It resubscribes when it loses the master, reconciles what it does not know the end of when it
 * comes back and every minute, and never forgets a task: what it writes down survives its
 * own death, as that of a careful scheduler does. */
#include "lab/parts/scheduler_part.h"
#include "lab/parts/driver.h"
#include "lab/parts/scheduler_books.h"
#include "lab/parts/scheduler_offers.h"

#include <stdlib.h>
#include <string.h>

#define RESTART_LOW (100 * MILLISECOND)
#define RESTART_HIGH (40 * SECOND)
#define RECONCILE_EVERY MINUTE

static void scheduler_part_on_connect(struct happening *h)
{
	struct scheduler_part *part = container_of(h, struct scheduler_part, connect);

	if (!part->gone)
		part->wire->connect(part);
}

static void on_reconcile(struct happening *h)
{
	struct scheduler_part *part = container_of(h, struct scheduler_part, reconcile);

	scheduler_send_reconcile(part);
	scheduler_reconcile_operations(part);
	scheduler_send_teardown(part);
	scheduler_end_tasks(part);
	part->wire->watch(part);
	world_after(part->world, &part->reconcile, RECONCILE_EVERY);
}

/* Offers that it refused meanwhile are wanted again. */
static void on_work(struct happening *h)
{
	struct scheduler_part *part = container_of(h, struct scheduler_part, work);

	if (scheduler_has_work(part))
		scheduler_suppress(part, false);
	world_after(part->world, &part->work, (int64_t)(part->options.pace * SECOND));
}

/* ---- events --------------------------------------------------------------------------------- */

static void subscribed(struct scheduler_part *part, const char *id)
{
	if (part->framework_id && strcmp(part->framework_id, id))
		world_fail(part->world, "%s became %s", part->framework_id, id);
	if (!part->framework_id)
		part->framework_id = xstrdup(id);
	part->subscribed = true;
	part->suppressed = false;
	scheduler_drop_offers(part);
	world_log(part->world, "%s is subscribed as %s", part->name, id);
	scheduler_send_reconcile(part);
	scheduler_reconcile_operations(part);
	scheduler_send_teardown(part);
}

static void abandon(struct scheduler_part *part)
{
	size_t count = (size_t)part->abandoned_count + 1;

	part->abandoned = xrealloc(part->abandoned, count * sizeof(*part->abandoned));
	part->abandoned[part->abandoned_count++] = part->framework_id;
	part->framework_id = NULL;
}

/* Its framework is no more: it came back too late, or an operator ended it. Whatever it
 * launched is over, and nothing more of that is to be heard. */
static void begin_anew(struct scheduler_part *part)
{
	world_log(part->world, "%s finds its framework %s gone", part->name, part->framework_id);
	scheduler_books_free(part);
	scheduler_deeds_free(part);
	abandon(part);
	part->doomed = false;
}

void scheduler_refused(struct scheduler_part *part, const char *why)
{
	if (part->leaving)
		part->gone = true;
	else if (part->framework_id && (part->doomed || part->options.failover > 0))
		begin_anew(part);
	else
		world_fail(part->world, "%s is refused: %s", part->name, why);
}

void scheduler_hear(struct scheduler_part *part, const Mesos__Scheduler__Event *event,
		    const struct letter *letter)
{
	switch (event->type) {
	case MESOS__SCHEDULER__EVENT__TYPE__SUBSCRIBED:
		subscribed(part, event->subscribed->framework_id->value);
		break;
	case MESOS__SCHEDULER__EVENT__TYPE__OFFERS:
		for (size_t i = 0; i < event->offers->n_offers; i++)
			scheduler_take_offer(part, event->offers->offers[i], letter);
		break;
	case MESOS__SCHEDULER__EVENT__TYPE__RESCIND:
		scheduler_rescind(part, event->rescind->offer_id->value);
		break;
	case MESOS__SCHEDULER__EVENT__TYPE__UPDATE:
		scheduler_take_update(part, event->update->status);
		break;
	case MESOS__SCHEDULER__EVENT__TYPE__ERROR:
		scheduler_refused(part, event->error->message);
		break;
	case MESOS__SCHEDULER__EVENT__TYPE__UPDATE_OPERATION_STATUS:
		scheduler_take_operation(part, event->update_operation_status->status);
		break;
	default:
		break;
	}
}

/* ---- lives ------------------------------------------------------------------------------------
 */

static void scheduler_part_on_start(struct happening *h)
{
	struct scheduler_part *part = container_of(h, struct scheduler_part, start);

	part->wire->begin(part);
	part->alive = true;
	world_log(part->world, "%s starts", part->name);
	world_after(part->world, &part->connect, 0);
	world_after(part->world, &part->reconcile, RECONCILE_EVERY);
	if (part->options.pace > 0)
		world_after(part->world, &part->work, (int64_t)(part->options.pace * SECOND));
	scheduler_begin_misdeeds(part);
}

struct scheduler_part *scheduler_part_create(struct world *w,
					     const struct scheduler_traits *options)
{
	struct scheduler_part *part = xcalloc(1, sizeof(*part));

	part->world = w;
	part->options = *options;
	/* They cannot hear of operations. */
	part->options.names = options->names && !options->driver;
	/* Nor of more than they could say then. */
	part->options.plain = options->plain && options->driver;
	part->options.keeper = options->keeper && !part->options.plain;
	part->wire = options->driver ? &driver_wire : &scheduler_stream_wire;
	part->name = xprintf("scheduler%d", options->number);
	part->start.run = scheduler_part_on_start;
	part->connect.run = scheduler_part_on_connect;
	part->reconcile.run = on_reconcile;
	part->work.run = on_work;
	list_init(&part->offers);
	list_init(&part->open_deeds);
	rng_seed(&part->rng, w->seed ^ (uint64_t)(0x5c00 + options->number));
	world_after(w, &part->start, world_between(w, 0, 5 * SECOND));
	return part;
}

static void scheduler_part_stop(struct scheduler_part *part)
{
	if (!part->alive)
		return;
	part->alive = part->subscribed = false;
	part->wire->end(part);
	world_cancel(part->world, &part->connect);
	world_cancel(part->world, &part->reconcile);
	world_cancel(part->world, &part->work);
	scheduler_end_misdeeds(part);
	scheduler_drop_offers(part);
	process_end(&part->process);
}

void scheduler_part_kill(struct scheduler_part *part)
{
	if (!part->alive)
		return;
	world_log(part->world, "%s is killed", part->name);
	scheduler_part_stop(part);
	/* What it launched ends with its framework; volumes would not. */
	if (part->options.failover > 0 && !part->options.keeper &&
	    scheduler_chance(part, part->options.desertion)) {
		part->gone = true;
		if (part->framework_id)
			abandon(part);
	} else {
		world_after(part->world, &part->start,
			    world_between(part->world, RESTART_LOW, RESTART_HIGH));
	}
}

void scheduler_kill_process(struct process *p)
{
	scheduler_part_kill(container_of(p, struct scheduler_part, process));
}

void scheduler_part_desert(struct scheduler_part *part)
{
	part->options.desertion = 1;
	scheduler_part_kill(part);
}

const char *scheduler_part_framework(struct scheduler_part *part)
{
	return part->framework_id;
}

const char *scheduler_part_abandoned(const struct scheduler_part *part, int at)
{
	return at < part->abandoned_count ? part->abandoned[at] : NULL;
}

void scheduler_part_doom(struct scheduler_part *part)
{
	part->doomed = true;
}

void scheduler_part_destroy(struct scheduler_part *part)
{
	scheduler_part_stop(part);
	world_cancel(part->world, &part->start);
	scheduler_books_free(part);
	scheduler_deeds_free(part);
	if (part->last_offer)
		content_release(part->last_content);
	if (part->last_status)
		proto_free(part->last_status);
	for (int i = 0; i < part->abandoned_count; i++)
		free(part->abandoned[i]);
	free(part->abandoned);
	free(part->name);
	free(part->framework_id);
	free(part->spoofed);
	driver_destroy(part->driver);
	free(part);
}

bool scheduler_part_alive(const struct scheduler_part *part)
{
	return part->alive;
}

bool scheduler_part_subscribed(const struct scheduler_part *part)
{
	return part->subscribed;
}

struct process *scheduler_part_process(struct scheduler_part *part)
{
	return part->alive ? &part->process : NULL;
}

void scheduler_part_finish(struct scheduler_part *part)
{
	part->finishing = true;
	if (part->suppressed)
		scheduler_suppress(part, false);
}

void scheduler_part_teardown(struct scheduler_part *part)
{
	part->leaving = true;
	scheduler_send_teardown(part);
}

bool scheduler_part_gone(const struct scheduler_part *part)
{
	return part->gone;
}

struct scheduler_counts scheduler_part_counts(const struct scheduler_part *part)
{
	return part->counts;
}
