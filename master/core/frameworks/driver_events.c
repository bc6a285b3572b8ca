/* What scheduler drivers of v0 hear: messages to their pid, made of the events that
 * other frameworks get (events.c).
 *
 * A driver goes by what it holds for the master's pid and ignores everything from
 * another one, so we speak from the address at which it reached us. Some messages that
 * are not as it expects kill its process: as many pids as offers, and updates of its
 * own framework alone.
 */
#include "master/core/objects.h"

#include <string.h>

#include "master/core/emit.h"
#include "master/core/frameworks/driver.h"

#define EVENT(name) MESOS__SCHEDULER__EVENT__TYPE__##name
#define NEW(m, Type, name)                                                                         \
	STEP_NEW(m, Mesos__Internal__##Type, mesos__internal__##name##__descriptor)

static void emit(struct master *m, const char *pid, const char *local, void *message)
{
	const char *from = local ? arena_printf(&m->out->arena, "master@%s", local) : "master";

	master_emit_message(m, from, pid, message);
}

static void driver_events_tell(struct master *m, const struct framework *f, void *message)
{
	emit(m, f->pid, f->reached, message);
}

/* ---- registration ------------------------------------------------------------------ */

void driver_tell_registered(struct master *m, struct framework *f, bool again)
{
	Mesos__Internal__FrameworkRegisteredMessage *first;
	Mesos__Internal__FrameworkReregisteredMessage *next;

	f->counters.events[EVENT(SUBSCRIBED)]++;
	if (again) {
		next = NEW(m, FrameworkReregisteredMessage, framework_reregistered_message);
		next->framework_id = master_framework_id(m, f->id);
		next->master_info = m->info;
		driver_events_tell(m, f, next);
	} else {
		first = NEW(m, FrameworkRegisteredMessage, framework_registered_message);
		first->framework_id = master_framework_id(m, f->id);
		first->master_info = m->info;
		driver_events_tell(m, f, first);
	}
}

void driver_tell_error(struct master *m, const char *pid, const char *local, const char *text)
{
	Mesos__Internal__FrameworkErrorMessage *message =
		NEW(m, FrameworkErrorMessage, framework_error_message);

	message->message = master_text(m, text);
	emit(m, pid, local, message);
}

/* ---- offers ------------------------------------------------------------------------- */

/* Where the agent is found; drivers may speak to executors there. */
static char *agent_pid(struct master *m, const Mesos__AgentID *id)
{
	struct agent *a = id ? master_find_agent(m, id->value) : NULL;

	return master_text(m, a && a->pid ? a->pid : MASTER_EMPTY_PID);
}

static void tell_offers(struct master *m, struct framework *f,
			const Mesos__Scheduler__Event__Offers *event)
{
	Mesos__Internal__ResourceOffersMessage *message =
		NEW(m, ResourceOffersMessage, resource_offers_message);
	size_t count = event->n_offers;

	message->n_offers = message->n_pids = count;
	message->offers = event->offers;
	message->pids = arena_alloc(&m->out->arena, (count + 1) * sizeof(*message->pids));
	for (size_t i = 0; i < count; i++)
		message->pids[i] = agent_pid(m, event->offers[i]->agent_id);
	driver_events_tell(m, f, message);
}

static void tell_inverse_offers(struct master *m, struct framework *f,
				const Mesos__Scheduler__Event__InverseOffers *event)
{
	Mesos__Internal__InverseOffersMessage *message =
		NEW(m, InverseOffersMessage, inverse_offers_message);
	size_t count = event->n_inverse_offers;

	message->n_inverse_offers = message->n_pids = count;
	message->inverse_offers = event->inverse_offers;
	message->pids = arena_alloc(&m->out->arena, (count + 1) * sizeof(*message->pids));
	for (size_t i = 0; i < count; i++)
		message->pids[i] = agent_pid(m, event->inverse_offers[i]->agent_id);
	driver_events_tell(m, f, message);
}

static void tell_rescind(struct master *m, struct framework *f, Mesos__OfferID *id)
{
	Mesos__Internal__RescindResourceOfferMessage *message =
		NEW(m, RescindResourceOfferMessage, rescind_resource_offer_message);

	message->offer_id = id;
	driver_events_tell(m, f, message);
}

static void tell_rescind_inverse(struct master *m, struct framework *f, Mesos__OfferID *id)
{
	Mesos__Internal__RescindInverseOfferMessage *message =
		NEW(m, RescindInverseOfferMessage, rescind_inverse_offer_message);

	message->inverse_offer_id = id;
	driver_events_tell(m, f, message);
}

/* ---- updates ---------------------------------------------------------------------------- */

/* The update around a status; who reads it acknowledges it if it has a uuid and a pid. */
static Mesos__Internal__StatusUpdateMessage *
update_message(struct master *m, const struct framework *f, Mesos__TaskStatus *status)
{
	Mesos__Internal__StatusUpdateMessage *message =
		NEW(m, StatusUpdateMessage, status_update_message);
	Mesos__Internal__StatusUpdate *update = NEW(m, StatusUpdate, status_update);

	message->update = update;
	update->framework_id = master_framework_id(m, f->id);
	update->executor_id = status->executor_id;
	update->agent_id = status->agent_id;
	update->status = status;
	update->timestamp = status->timestamp;
	return message;
}

void driver_tell_update(struct master *m, struct framework *f, Mesos__TaskStatus *status,
			Mesos__TaskState latest)
{
	Mesos__Internal__StatusUpdateMessage *message = update_message(m, f, status);

	message->update->has_uuid = true;
	message->update->uuid = status->uuid;
	message->update->has_latest_state = true;
	message->update->latest_state = latest;
	message->pid = agent_pid(m, status->agent_id);
	driver_events_tell(m, f, message);
}

/* One that the master made itself: nothing of it is to be acknowledged. */
static void tell_own_update(struct master *m, struct framework *f, Mesos__TaskStatus *status)
{
	Mesos__Internal__StatusUpdateMessage *message = update_message(m, f, status);

	if (!status->has_reason ||
	    status->reason != MESOS__TASK_STATUS__REASON__REASON_RECONCILIATION)
		message->pid = (char *)MASTER_EMPTY_PID;
	driver_events_tell(m, f, message);
}

/* ---- executors and agents ----------------------------------------------------------------- */

static void tell_message(struct master *m, struct framework *f,
			 const Mesos__Scheduler__Event__Message *event)
{
	Mesos__Internal__ExecutorToFrameworkMessage *message =
		NEW(m, ExecutorToFrameworkMessage, executor_to_framework_message);

	message->agent_id = event->agent_id;
	message->framework_id = master_framework_id(m, f->id);
	message->executor_id = event->executor_id;
	message->data = event->data;
	driver_events_tell(m, f, message);
}

static void tell_failure(struct master *m, struct framework *f,
			 const Mesos__Scheduler__Event__Failure *event)
{
	Mesos__Internal__ExitedExecutorMessage *executor;
	Mesos__Internal__LostSlaveMessage *agent;

	if (event->executor_id) {
		executor = NEW(m, ExitedExecutorMessage, exited_executor_message);
		executor->agent_id = event->agent_id;
		executor->framework_id = master_framework_id(m, f->id);
		executor->executor_id = event->executor_id;
		executor->status = event->status;
		driver_events_tell(m, f, executor);
	} else {
		agent = NEW(m, LostSlaveMessage, lost_slave_message);
		agent->agent_id = event->agent_id;
		driver_events_tell(m, f, agent);
	}
}

void driver_tell(struct master *m, struct framework *f, const Mesos__Scheduler__Event *event)
{
	switch (event->type) {
	case EVENT(OFFERS):
		tell_offers(m, f, event->offers);
		break;
	case EVENT(INVERSE_OFFERS):
		tell_inverse_offers(m, f, event->inverse_offers);
		break;
	case EVENT(RESCIND):
		tell_rescind(m, f, event->rescind->offer_id);
		break;
	case EVENT(RESCIND_INVERSE_OFFER):
		tell_rescind_inverse(m, f, event->rescind_inverse_offer->inverse_offer_id);
		break;
	case EVENT(UPDATE):
		tell_own_update(m, f, event->update->status);
		break;
	case EVENT(MESSAGE):
		tell_message(m, f, event->message);
		break;
	case EVENT(FAILURE):
		tell_failure(m, f, event->failure);
		break;
	default:
		/* Drivers know nothing of operations. */
		break;
	}
}
