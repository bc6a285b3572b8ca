/* The events that schedulers hear: v1 ones on their streams, messages of v0 to drivers
 * (driver_events.c).
 *
 * A framework that is not connected hears nothing: agents repeat their own
 * updates, what the master itself says is lost. Offers are in the format that the
 * framework's capabilities ask for.
 */
#include "master/core/frameworks/events.h"

#include <string.h>

#include "master/core/emit.h"
#include "master/core/frameworks/driver.h"
#include "master/core/objects.h"
#include "master/core/offers/inverse_offers.h"
#include "master/core/offers/offers.h"
#include "master/core/operations/operation_records.h"

static Mesos__Scheduler__Event *event_make(struct master *m, Mesos__Scheduler__Event__Type type)
{
	Mesos__Scheduler__Event *event =
		STEP_NEW(m, Mesos__Scheduler__Event, mesos__scheduler__event__descriptor);

	event->has_type = true;
	event->type = type;
	return event;
}

static void stream_send(struct master *m, uint64_t stream, Mesos__Scheduler__Event *event)
{
	struct master_action *action = master_emit(m, MASTER_SEND_EVENT);

	action->send_event.stream = stream;
	action->send_event.event = event;
}

static void events_tell(struct master *m, struct framework *f, Mesos__Scheduler__Event *event)
{
	if (!framework_connected(f))
		return;
	f->counters.events[event->type]++;
	if (f->http)
		stream_send(m, f->stream, event);
	else
		driver_tell(m, f, event);
}

void master_refuse_stream(struct master *m, uint64_t stream, const char *text)
{
	Mesos__Scheduler__Event *event = event_make(m, MESOS__SCHEDULER__EVENT__TYPE__ERROR);

	event->error = STEP_NEW(m, Mesos__Scheduler__Event__Error,
				mesos__scheduler__event__error__descriptor);
	event->error->message = master_text(m, text);
	stream_send(m, stream, event);
	master_emit(m, MASTER_END_STREAM)->end_stream.stream = stream;
}

/* What schedulers hear of the master. JSON decoders that were generated before AGENT_DRAINING and
 * QUOTA_V2 existed (mesos-go's, a Rust client's) give up at a name that they do not know, and no
 * scheduler needs either. */
static Mesos__MasterInfo *info_for_schedulers(struct master *m)
{
	Mesos__MasterInfo *info = STEP_NEW(m, Mesos__MasterInfo, mesos__master_info__descriptor);

	*info = *m->info;
	info->n_capabilities = 0;
	info->capabilities = NULL;
	for (size_t i = 0; i < m->info->n_capabilities; i++) {
		Mesos__MasterInfo__Capability *capability = m->info->capabilities[i];

		if (capability->type == MESOS__MASTER_INFO__CAPABILITY__TYPE__AGENT_UPDATE)
			proto_push(&m->out->arena, info->n_capabilities, info->capabilities,
				   capability);
	}
	return info;
}

void master_tell_subscribed(struct master *m, struct framework *f)
{
	Mesos__Scheduler__Event *event = event_make(m, MESOS__SCHEDULER__EVENT__TYPE__SUBSCRIBED);

	event->subscribed = STEP_NEW(m, Mesos__Scheduler__Event__Subscribed,
				     mesos__scheduler__event__subscribed__descriptor);
	event->subscribed->framework_id = master_framework_id(m, f->id);
	event->subscribed->has_heartbeat_interval_seconds = true;
	event->subscribed->heartbeat_interval_seconds = MASTER_HEARTBEAT;
	event->subscribed->master_info = info_for_schedulers(m);
	events_tell(m, f, event);
}

void master_tell_heartbeat(struct master *m, struct framework *f)
{
	events_tell(m, f, event_make(m, MESOS__SCHEDULER__EVENT__TYPE__HEARTBEAT));
	timers_start(&m->timers, &f->heartbeat, m->now + MASTER_HEARTBEAT * SECOND);
}

void master_tell_rescind(struct master *m, struct framework *f, const char *offer_id)
{
	Mesos__Scheduler__Event *event = event_make(m, MESOS__SCHEDULER__EVENT__TYPE__RESCIND);

	event->rescind = STEP_NEW(m, Mesos__Scheduler__Event__Rescind,
				  mesos__scheduler__event__rescind__descriptor);
	event->rescind->offer_id = master_offer_id(m, offer_id);
	f->counters.offers_rescinded++;
	events_tell(m, f, event);
}

void master_tell_rescind_inverse(struct master *m, struct framework *f, const char *id)
{
	Mesos__Scheduler__Event *event =
		event_make(m, MESOS__SCHEDULER__EVENT__TYPE__RESCIND_INVERSE_OFFER);

	event->rescind_inverse_offer =
		STEP_NEW(m, Mesos__Scheduler__Event__RescindInverseOffer,
			 mesos__scheduler__event__rescind_inverse_offer__descriptor);
	event->rescind_inverse_offer->inverse_offer_id = master_offer_id(m, id);
	events_tell(m, f, event);
}

void master_tell_update(struct master *m, struct framework *f, Mesos__TaskStatus *status)
{
	Mesos__Scheduler__Event *event = event_make(m, MESOS__SCHEDULER__EVENT__TYPE__UPDATE);

	event->update = STEP_NEW(m, Mesos__Scheduler__Event__Update,
				 mesos__scheduler__event__update__descriptor);
	event->update->status = status;
	events_tell(m, f, event);
}

void master_tell_forwarded(struct master *m, struct framework *f, Mesos__TaskStatus *status,
			   Mesos__TaskState latest)
{
	if (!framework_connected(f) || f->http) {
		master_tell_update(m, f, status);
		return;
	}
	f->counters.events[MESOS__SCHEDULER__EVENT__TYPE__UPDATE]++;
	driver_tell_update(m, f, status, latest);
}

void master_tell_message(struct master *m, struct framework *f,
			 const Mesos__Internal__ExecutorToFrameworkMessage *message)
{
	Mesos__Scheduler__Event *event = event_make(m, MESOS__SCHEDULER__EVENT__TYPE__MESSAGE);

	event->message = STEP_NEW(m, Mesos__Scheduler__Event__Message,
				  mesos__scheduler__event__message__descriptor);
	event->message->agent_id = master_agent_id(m, message->agent_id->value);
	event->message->executor_id = master_executor_id(m, message->executor_id->value);
	event->message->data.data =
		arena_memdup(&m->out->arena, message->data.data, message->data.len);
	event->message->data.len = message->data.len;
	events_tell(m, f, event);
}

static Mesos__Scheduler__Event *failure_make(struct master *m, const char *agent_id)
{
	Mesos__Scheduler__Event *event = event_make(m, MESOS__SCHEDULER__EVENT__TYPE__FAILURE);

	event->failure = STEP_NEW(m, Mesos__Scheduler__Event__Failure,
				  mesos__scheduler__event__failure__descriptor);
	event->failure->agent_id = master_agent_id(m, agent_id);
	return event;
}

void master_tell_executor_failure(struct master *m, struct framework *f, const char *agent_id,
				  const char *executor_id, int status)
{
	Mesos__Scheduler__Event *event = failure_make(m, agent_id);

	event->failure->executor_id = master_executor_id(m, executor_id);
	event->failure->has_status = true;
	event->failure->status = status;
	events_tell(m, f, event);
}

void master_tell_agent_failure(struct master *m, const char *agent_id)
{
	Mesos__Scheduler__Event *event = failure_make(m, agent_id);
	struct framework *f, *next;

	HASH_ITER (hh, m->frameworks, f, next)
		events_tell(m, f, event);
}

void master_tell_operation(struct master *m, struct framework *f, Mesos__OperationStatus *status)
{
	Mesos__Scheduler__Event *event =
		event_make(m, MESOS__SCHEDULER__EVENT__TYPE__UPDATE_OPERATION_STATUS);

	event->update_operation_status =
		STEP_NEW(m, Mesos__Scheduler__Event__UpdateOperationStatus,
			 mesos__scheduler__event__update_operation_status__descriptor);
	event->update_operation_status->status = status;
	events_tell(m, f, event);
}

void master_tell_operation_error(struct master *m, struct framework *f,
				 const Mesos__OperationID *id, const char *message)
{
	Mesos__OperationStatus *status =
		STEP_NEW(m, Mesos__OperationStatus, mesos__operation_status__descriptor);

	status->operation_id = STEP_NEW(m, Mesos__OperationID, mesos__operation_id__descriptor);
	status->operation_id->value = master_text(m, id->value);
	status->state = MESOS__OPERATION_STATE__OPERATION_ERROR;
	status->message = master_text(m, message);
	master_tell_operation(m, f, status);
}

/* ---- offers ----------------------------------------------------------------- */

/* The offer as its framework may see it. */
static Mesos__Offer *offer_seen(struct master *m, const struct offer *o)
{
	struct arena *arena = &m->out->arena;
	Mesos__Offer *offer = master_offer_message(m, arena, o);
	size_t kept = 0;

	for (size_t i = 0; i < offer->n_resources; i++) {
		Mesos__Resource *r = offer->resources[i];

		if (!strcmp(r->name, "ephemeral_ports"))
			continue;
		if (!o->framework->multi_role)
			r->allocation_info = NULL;
		if (!o->framework->reservation_refinement)
			resource_downgrade(arena, r);
		offer->resources[kept++] = r;
	}
	offer->n_resources = kept;
	if (!o->framework->multi_role)
		offer->allocation_info = NULL;
	return offer;
}

void master_offers_event_add(struct master *m, struct offer *o)
{
	struct framework *f = o->framework;

	if (!f->offers_event) {
		f->offers_event = event_make(m, MESOS__SCHEDULER__EVENT__TYPE__OFFERS);
		f->offers_event->offers = STEP_NEW(m, Mesos__Scheduler__Event__Offers,
						   mesos__scheduler__event__offers__descriptor);
	}
	proto_push(&m->out->arena, f->offers_event->offers->n_offers,
		   f->offers_event->offers->offers, offer_seen(m, o));
	f->counters.offers_sent++;
}

void master_offers_event_send(struct master *m, struct framework *f)
{
	Mesos__Scheduler__Event *event = f->offers_event;

	f->offers_event = NULL;
	events_tell(m, f, event);
}

/* ---- inverse offers ---------------------------------------------------------- */

void master_inverse_event_add(struct master *m, struct inverse_offer *o)
{
	struct framework *f = o->framework;

	if (!f->inverse_event) {
		f->inverse_event = event_make(m, MESOS__SCHEDULER__EVENT__TYPE__INVERSE_OFFERS);
		f->inverse_event->inverse_offers =
			STEP_NEW(m, Mesos__Scheduler__Event__InverseOffers,
				 mesos__scheduler__event__inverse_offers__descriptor);
	}
	proto_push(&m->out->arena, f->inverse_event->inverse_offers->n_inverse_offers,
		   f->inverse_event->inverse_offers->inverse_offers,
		   STEP_COPY(m, master_inverse_message(&m->out->arena, o)));
}

void master_inverse_event_send(struct master *m, struct framework *f)
{
	Mesos__Scheduler__Event *event = f->inverse_event;

	f->inverse_event = NULL;
	events_tell(m, f, event);
}
