/* What no scheduler should do, and some do: ids of nobody and of others, acknowledgements
 * twice, late or not at all, task ids twice, more than was offered, offers of others and of
 * yesterday. None of it may hurt anybody else, nor the books of the cluster. */
#include "lab/parts/scheduler.h"
#include "lab/parts/scheduler_books.h"
#include "lab/parts/scheduler_offers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAUSE_HIGH (20 * SECOND)
#define SILENCE_HIGH (2 * MINUTE)

static int scheduler_misdeeds_below(struct scheduler_part *part, int count)
{
	return (int)(rng_unit(&part->rng) * count);
}

/* ---- names --------------------------------------------------------------------- */

/* A task that nobody launched, or somebody else. */
static char *task_of_nobody(struct scheduler_part *part, struct arena *arena)
{
	int task;

	if (scheduler_misdeeds_below(part, 2))
		return arena_printf(arena, NOBODY "%d", scheduler_misdeeds_below(part, 3));
	task = scheduler_misdeeds_below(part, 20);
	return arena_printf(arena, "s%d-t%d", scheduler_misdeeds_below(part, 4), task);
}

static const char *some_agent(struct scheduler_part *part)
{
	return part->last_offer && scheduler_misdeeds_below(part, 3)
		       ? part->last_offer->agent_id->value
		       : "agent-of-nobody";
}

/* Close to one of its own: maybe somebody else's. */
static char *some_offer(struct scheduler_part *part, struct arena *arena)
{
	const char *own = part->last_offer->id->value, *number = strrchr(own, 'O');

	if (!number || !scheduler_misdeeds_below(part, 4))
		return arena_strdup(arena, "offer-of-nobody");
	return arena_printf(arena, "%.*s%d", (int)(number + 1 - own), own,
			    atoi(number + 1) + scheduler_misdeeds_below(part, 5) - 2);
}

static Mesos__TaskStatus *status_of_nobody(struct scheduler_part *part, struct arena *arena)
{
	Mesos__TaskStatus *status =
		PROTO_NEW(arena, Mesos__TaskStatus, mesos__task_status__descriptor);
	uint8_t *uuid = arena_alloc(arena, UUID_BYTES);

	uuid_make(&part->rng, uuid);
	status->task_id = PROTO_NEW(arena, Mesos__TaskID, mesos__task_id__descriptor);
	status->task_id->value = task_of_nobody(part, arena);
	status->agent_id = PROTO_NEW(arena, Mesos__AgentID, mesos__agent_id__descriptor);
	status->agent_id->value = arena_strdup(arena, some_agent(part));
	status->has_uuid = true;
	status->uuid = (ProtobufCBinaryData){UUID_BYTES, uuid};
	return status;
}

/* ---- deeds ----------------------------------------------------------------------- */

static void acknowledge_nothing(struct scheduler_part *part, struct arena *arena)
{
	Mesos__TaskStatus *status = status_of_nobody(part, arena);

	/* Of its own task, an update that never was. */
	if (part->last_status && scheduler_misdeeds_below(part, 2)) {
		status->task_id = part->last_status->task_id;
		status->agent_id = part->last_status->agent_id;
	}
	scheduler_acknowledge(part, status);
}

static void acknowledge_again(struct scheduler_part *part, struct arena *arena)
{
	(void)arena;
	if (part->last_status)
		scheduler_acknowledge(part, part->last_status);
}

static void be_silent(struct scheduler_part *part, struct arena *arena)
{
	(void)arena;
	part->silent_until = part->world->now + world_between(part->world, 0, SILENCE_HIGH);
}

static void kill_nobody(struct scheduler_part *part, struct arena *arena)
{
	const char *id = task_of_nobody(part, arena);

	if (!scheduler_book_find(part, id))
		scheduler_send_kill(part, id);
}

static void shut_nobody_down(struct scheduler_part *part, struct arena *arena)
{
	const char *agent = some_agent(part);

	scheduler_send_shutdown(
		part, arena_printf(arena, "e%d", 7 + scheduler_misdeeds_below(part, 3)), agent);
}

static void reconcile_nobody(struct scheduler_part *part, struct arena *arena)
{
	Mesos__Scheduler__Call message = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Scheduler__Call__Reconcile reconcile = MESOS__SCHEDULER__CALL__RECONCILE__INIT;
	Mesos__Scheduler__Call__Reconcile__Task task =
		MESOS__SCHEDULER__CALL__RECONCILE__TASK__INIT;
	Mesos__Scheduler__Call__Reconcile__Task *list = &task;
	Mesos__TaskStatus *status = status_of_nobody(part, arena);

	task.task_id = status->task_id;
	task.agent_id = scheduler_misdeeds_below(part, 2) ? status->agent_id : NULL;
	reconcile.n_tasks = 1;
	reconcile.tasks = &list;
	message.type = CALL(RECONCILE);
	message.reconcile = &reconcile;
	scheduler_tell(part, &message);
}

/* Launches a task on offers that are another's, or over; half of the time one is its own. */
static void accept_others(struct scheduler_part *part, struct arena *arena)
{
	Mesos__Scheduler__Call message = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Scheduler__Call__Accept accept = MESOS__SCHEDULER__CALL__ACCEPT__INIT;
	Mesos__Offer__Operation operation = MESOS__OFFER__OPERATION__INIT;
	Mesos__Offer__Operation__Launch launch = MESOS__OFFER__OPERATION__LAUNCH__INIT;
	Mesos__Offer__Operation *operations = &operation;
	Mesos__OfferID ids[2] = {MESOS__OFFER_ID__INIT, MESOS__OFFER_ID__INIT};
	Mesos__OfferID *list[2] = {&ids[0], &ids[1]};

	if (!part->last_offer || !scheduler_has_work(part))
		return;
	ids[0].value = some_offer(part, arena);
	ids[1].value = part->last_offer->id->value;
	accept.offer_ids = list;
	accept.n_offer_ids = 1 + (size_t)scheduler_misdeeds_below(part, 2);
	proto_push(arena, launch.n_task_infos, launch.task_infos,
		   scheduler_make_task(part, arena, part->last_offer->agent_id->value));
	operation.has_type = true;
	operation.type = MESOS__OFFER__OPERATION__TYPE__LAUNCH;
	operation.launch = &launch;
	accept.n_operations = 1;
	accept.operations = &operations;
	message.type = CALL(ACCEPT);
	message.accept = &accept;
	scheduler_tell(part, &message);
}

static void decline_others(struct scheduler_part *part, struct arena *arena)
{
	Mesos__Scheduler__Call message = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Scheduler__Call__Decline decline = MESOS__SCHEDULER__CALL__DECLINE__INIT;
	Mesos__OfferID id = MESOS__OFFER_ID__INIT;
	Mesos__OfferID *list = &id;

	if (!part->last_offer)
		return;
	id.value = scheduler_misdeeds_below(part, 2) ? some_offer(part, arena)
						     : part->last_offer->id->value;
	decline.n_offer_ids = 1;
	decline.offer_ids = &list;
	message.type = CALL(DECLINE);
	message.decline = &decline;
	scheduler_tell(part, &message);
}

static void change_mood(struct scheduler_part *part, struct arena *arena)
{
	(void)arena;
	if (!part->finishing || part->suppressed)
		scheduler_suppress(part, !part->suppressed);
}

/* On a stream that is not its own, or in another's name. */
static void pretend(struct scheduler_part *part, struct arena *arena)
{
	Mesos__Scheduler__Call message = MESOS__SCHEDULER__CALL__INIT;
	const char *number = strrchr(part->framework_id, '-');

	message.type = scheduler_misdeeds_below(part, 2) ? CALL(TEARDOWN) : CALL(SUPPRESS);
	if (scheduler_misdeeds_below(part, 2) || !number)
		scheduler_tell_as(part, &message, NULL, "stream-of-nobody");
	else
		scheduler_tell_as(
			part, &message,
			arena_printf(arena, "%.*s-%04d", (int)(number - part->framework_id),
				     part->framework_id,
				     (atoi(number + 1) + 1 + scheduler_misdeeds_below(part, 2)) %
					     10000),
			NULL);
}

static void send_call_without_content(struct scheduler_part *part, struct arena *arena)
{
	static const Mesos__Scheduler__Call__Type types[] = {CALL(ACCEPT),    CALL(DECLINE),
							     CALL(KILL),      CALL(ACKNOWLEDGE),
							     CALL(RECONCILE), CALL(UNKNOWN)};
	Mesos__Scheduler__Call message = MESOS__SCHEDULER__CALL__INIT;

	(void)arena;
	message.type = types[scheduler_misdeeds_below(part, 6)];
	scheduler_tell(part, &message);
}

static void (*const deeds[])(struct scheduler_part *part, struct arena *arena) = {
	acknowledge_nothing,	   acknowledge_again, be_silent,      kill_nobody, shut_nobody_down,
	reconcile_nobody,	   accept_others,     decline_others, change_mood, pretend,
	send_call_without_content,
};

static void wait_a_while(struct scheduler_part *part)
{
	world_after(part->world, &part->misdeed,
		    world_between(part->world, 100 * MILLISECOND, PAUSE_HIGH));
}

static void on_misdeed(struct happening *h)
{
	struct scheduler_part *part = container_of(h, struct scheduler_part, misdeed);
	int at = scheduler_misdeeds_below(part, (int)(sizeof(deeds) / sizeof(*deeds)));
	struct arena arena;

	arena_init(&arena);
	if (part->subscribed && !part->leaving) {
		part->counts.misdeeds++;
		deeds[at](part, &arena);
	}
	arena_free(&arena);
	wait_a_while(part);
}

void scheduler_begin_misdeeds(struct scheduler_part *part)
{
	part->misdeed.run = on_misdeed;
	if (part->options.mischief > 0)
		wait_a_while(part);
}

void scheduler_end_misdeeds(struct scheduler_part *part)
{
	world_cancel(part->world, &part->misdeed);
}

/* ---- launches ----------------------------------------------------------------------- */

/* A task that is on its way or runs; NULL if there is none. */
static struct book *live_task(struct scheduler_part *part)
{
	struct book *book, *next;

	HASH_ITER (hh, part->books, book, next) {
		if (!book->over && book->last == STATE(RUNNING))
			return book;
	}
	return NULL;
}

void scheduler_spoil_launch(struct scheduler_part *part, struct answer *answer,
			    Mesos__Offer__Operation__Launch *launch)
{
	struct arena *arena = &answer->arena;
	Mesos__TaskInfo *last = launch->task_infos[launch->n_task_infos - 1], *task;
	struct book *book;

	if (!scheduler_chance(part, part->options.mischief))
		return;
	part->counts.misdeeds++;
	switch (scheduler_misdeeds_below(part, 3)) {
	case 0: /* more than there is */
		last->resources[0]->scalar->value = 1000;
		break;
	case 1: /* twice */
		book = scheduler_book_find(part, last->task_id->value);
		book->muddled = true;
		proto_push(arena, launch->n_task_infos, launch->task_infos, last);
		break;
	default: /* the id of one that lives */
		book = live_task(part);
		if (!book)
			break;
		book->muddled = true;
		task = proto_copy_to(arena, last);
		task->task_id->value = arena_strdup(arena, book->task_id);
		proto_push(arena, launch->n_task_infos, launch->task_infos, task);
		break;
	}
}

/* ---- updates ---------------------------------------------------------------------------- */

bool scheduler_wants_acknowledged(struct scheduler_part *part, const Mesos__TaskStatus *status)
{
	/* Retries become rare: in the end it does what ends a task in time. */
	if (!part->finishing && (scheduler_chance(part, part->options.forgetting) ||
				 part->silent_until > part->world->now))
		return false;
	if (part->options.mischief > 0) {
		if (part->last_status)
			proto_free(part->last_status);
		part->last_status = proto_copy(status);
		if (scheduler_chance(part, part->options.mischief))
			scheduler_acknowledge(part, status);
	}
	return true;
}

/* Nobody's tasks do not live, and others' are unknown to it. */
bool scheduler_asked_for(struct scheduler_part *part, const Mesos__TaskStatus *status)
{
	switch (status->state) {
	case STATE(LOST):
	case STATE(UNKNOWN):
	case STATE(GONE):
	case STATE(GONE_BY_OPERATOR):
	case STATE(UNREACHABLE):
		return part->options.mischief > 0 && !status->has_uuid;
	default:
		return false;
	}
}
