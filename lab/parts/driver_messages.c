#include "lab/parts/driver.h"

#include <string.h>

#define NO_PID "@0.0.0.0:0"
#define EVENT(name) MESOS__SCHEDULER__EVENT__TYPE__##name
#define NEW(arena, Type, name)                                                                     \
	PROTO_NEW(arena, Mesos__Internal__##Type, mesos__internal__##name##__descriptor)
#define NEW_PART(arena, Type, name)                                                                \
	PROTO_NEW(arena, Mesos__Scheduler__Call__##Type,                                           \
		  mesos__scheduler__call__##name##__descriptor)
#define NEW_EVENT(arena, Type, name)                                                               \
	PROTO_NEW(arena, Mesos__Scheduler__Event__##Type,                                          \
		  mesos__scheduler__event__##name##__descriptor)

/* ---- calls of old ---------------------------------------------------------------- */

static void *wrap_subscribe(struct arena *arena, const Mesos__Scheduler__Call *call, bool force)
{
	Mesos__FrameworkInfo *info = call->subscribe->framework_info;
	Mesos__Internal__ReregisterFrameworkMessage *again;
	Mesos__Internal__RegisterFrameworkMessage *first;

	if (!info->id) {
		first = NEW(arena, RegisterFrameworkMessage, register_framework_message);
		first->framework = info;
		return first;
	}
	again = NEW(arena, ReregisterFrameworkMessage, reregister_framework_message);
	again->framework = info;
	again->failover = force;
	return again;
}

static void *wrap_launch(struct arena *arena, const Mesos__Scheduler__Call *call)
{
	const Mesos__Scheduler__Call__Accept *accept = call->accept;
	const Mesos__Scheduler__Call__Decline *decline = call->decline;
	Mesos__Internal__LaunchTasksMessage *m =
		NEW(arena, LaunchTasksMessage, launch_tasks_message);
	const Mesos__Offer__Operation__Launch *launch =
		accept && accept->n_operations ? accept->operations[0]->launch : NULL;

	m->framework_id = call->framework_id;
	m->filters = accept ? accept->filters : decline->filters;
	if (!m->filters)
		m->filters = PROTO_NEW(arena, Mesos__Filters, mesos__filters__descriptor);
	m->n_offer_ids = accept ? accept->n_offer_ids : decline->n_offer_ids;
	m->offer_ids = accept ? accept->offer_ids : decline->offer_ids;
	m->n_tasks = launch ? launch->n_task_infos : 0;
	m->tasks = launch ? launch->task_infos : NULL;
	return m;
}

static void *wrap_acknowledgement(struct arena *arena, const Mesos__Scheduler__Call *call)
{
	Mesos__Internal__StatusUpdateAcknowledgementMessage *m = NEW(
		arena, StatusUpdateAcknowledgementMessage, status_update_acknowledgement_message);

	m->framework_id = call->framework_id;
	m->agent_id = call->acknowledge->agent_id;
	m->task_id = call->acknowledge->task_id;
	m->uuid = call->acknowledge->uuid;
	return m;
}

static void *wrap_reconcile(struct arena *arena, const Mesos__Scheduler__Call *call)
{
	const Mesos__Scheduler__Call__Reconcile *reconcile = call->reconcile;
	Mesos__Internal__ReconcileTasksMessage *m =
		NEW(arena, ReconcileTasksMessage, reconcile_tasks_message);

	m->framework_id = call->framework_id;
	for (size_t i = 0; i < reconcile->n_tasks; i++) {
		Mesos__TaskStatus *status =
			PROTO_NEW(arena, Mesos__TaskStatus, mesos__task_status__descriptor);

		status->task_id = reconcile->tasks[i]->task_id;
		status->agent_id = reconcile->tasks[i]->agent_id;
		status->state = MESOS__TASK_STATE__TASK_RUNNING;
		proto_push(arena, m->n_statuses, m->statuses, status);
	}
	return m;
}

static void *wrap_kill(struct arena *arena, const Mesos__Scheduler__Call *call)
{
	Mesos__Internal__KillTaskMessage *m = NEW(arena, KillTaskMessage, kill_task_message);

	m->framework_id = call->framework_id;
	m->task_id = call->kill->task_id;
	return m;
}

static void *wrap_revive(struct arena *arena, const Mesos__Scheduler__Call *call)
{
	Mesos__Internal__ReviveOffersMessage *m =
		NEW(arena, ReviveOffersMessage, revive_offers_message);

	m->framework_id = call->framework_id;
	return m;
}

static void *wrap_teardown(struct arena *arena, const Mesos__Scheduler__Call *call)
{
	Mesos__Internal__UnregisterFrameworkMessage *m =
		NEW(arena, UnregisterFrameworkMessage, unregister_framework_message);

	m->framework_id = call->framework_id;
	return m;
}

/* Drivers of 0.20 could launch tasks and nothing else with an offer. */
static bool only_launches(const Mesos__Scheduler__Call__Accept *accept)
{
	return !accept->n_operations ||
	       (accept->n_operations == 1 && accept->operations[0]->launch);
}

const void *driver_wrap_call(struct arena *arena, const Mesos__Scheduler__Call *call, bool old,
			     bool force)
{
	if (!old)
		return call;
	if (call->subscribe)
		return wrap_subscribe(arena, call, force);
	if (call->decline || (call->accept && only_launches(call->accept)))
		return wrap_launch(arena, call);
	if (call->acknowledge)
		return wrap_acknowledgement(arena, call);
	if (call->reconcile)
		return wrap_reconcile(arena, call);
	if (call->kill)
		return wrap_kill(arena, call);
	if (call->type == CALL(REVIVE))
		return wrap_revive(arena, call);
	return call->type == CALL(TEARDOWN) ? wrap_teardown(arena, call) : call;
}

/* ---- and what they say ------------------------------------------------------------- */

static Mesos__Scheduler__Call *new_call(struct arena *arena, Mesos__Scheduler__Call__Type type,
					Mesos__FrameworkID *id)
{
	Mesos__Scheduler__Call *call =
		PROTO_NEW(arena, Mesos__Scheduler__Call, mesos__scheduler__call__descriptor);

	call->has_type = true;
	call->type = type;
	call->framework_id = id;
	return call;
}

static Mesos__Scheduler__Call *unwrap_subscribe(struct arena *arena, Mesos__FrameworkInfo *info)
{
	Mesos__Scheduler__Call *call = new_call(arena, CALL(SUBSCRIBE), info->id);

	call->subscribe = NEW_PART(arena, Subscribe, subscribe);
	call->subscribe->framework_info = info;
	return call;
}

static Mesos__Scheduler__Call *unwrap_launch(struct arena *arena,
					     const Mesos__Internal__LaunchTasksMessage *m)
{
	Mesos__Scheduler__Call *call =
		new_call(arena, m->n_tasks ? CALL(ACCEPT) : CALL(DECLINE), m->framework_id);
	Mesos__Offer__Operation *o;

	if (!m->n_tasks) {
		call->decline = NEW_PART(arena, Decline, decline);
		call->decline->n_offer_ids = m->n_offer_ids;
		call->decline->offer_ids = m->offer_ids;
		call->decline->filters = m->filters;
		return call;
	}
	o = PROTO_NEW(arena, Mesos__Offer__Operation, mesos__offer__operation__descriptor);
	o->has_type = true;
	o->type = MESOS__OFFER__OPERATION__TYPE__LAUNCH;
	o->launch = PROTO_NEW(arena, Mesos__Offer__Operation__Launch,
			      mesos__offer__operation__launch__descriptor);
	o->launch->n_task_infos = m->n_tasks;
	o->launch->task_infos = m->tasks;
	call->accept = NEW_PART(arena, Accept, accept);
	call->accept->n_offer_ids = m->n_offer_ids;
	call->accept->offer_ids = m->offer_ids;
	call->accept->filters = m->filters;
	proto_push(arena, call->accept->n_operations, call->accept->operations, o);
	return call;
}

static Mesos__Scheduler__Call *
unwrap_acknowledgement(struct arena *arena,
		       const Mesos__Internal__StatusUpdateAcknowledgementMessage *m)
{
	Mesos__Scheduler__Call *call = new_call(arena, CALL(ACKNOWLEDGE), m->framework_id);

	call->acknowledge = NEW_PART(arena, Acknowledge, acknowledge);
	call->acknowledge->agent_id = m->agent_id;
	call->acknowledge->task_id = m->task_id;
	call->acknowledge->uuid = m->uuid;
	return call;
}

static Mesos__Scheduler__Call *unwrap_reconcile(struct arena *arena,
						const Mesos__Internal__ReconcileTasksMessage *m)
{
	Mesos__Scheduler__Call *call = new_call(arena, CALL(RECONCILE), m->framework_id);

	call->reconcile = NEW_PART(arena, Reconcile, reconcile);
	for (size_t i = 0; i < m->n_statuses; i++) {
		Mesos__Scheduler__Call__Reconcile__Task *task =
			PROTO_NEW(arena, Mesos__Scheduler__Call__Reconcile__Task,
				  mesos__scheduler__call__reconcile__task__descriptor);

		task->task_id = m->statuses[i]->task_id;
		task->agent_id = m->statuses[i]->agent_id;
		proto_push(arena, call->reconcile->n_tasks, call->reconcile->tasks, task);
	}
	return call;
}

#define IS(message, name)                                                                          \
	(((const ProtobufCMessage *)(message))->descriptor ==                                      \
	 &mesos__internal__##name##__descriptor)

const Mesos__Scheduler__Call *driver_unwrap_call(struct arena *arena, const void *message)
{
	Mesos__Scheduler__Call *call;

	if (((const ProtobufCMessage *)message)->descriptor == &mesos__scheduler__call__descriptor)
		return message;
	if (IS(message, register_framework_message))
		return unwrap_subscribe(
			arena,
			((const Mesos__Internal__RegisterFrameworkMessage *)message)->framework);
	if (IS(message, reregister_framework_message))
		return unwrap_subscribe(
			arena,
			((const Mesos__Internal__ReregisterFrameworkMessage *)message)->framework);
	if (IS(message, launch_tasks_message))
		return unwrap_launch(arena, message);
	if (IS(message, status_update_acknowledgement_message))
		return unwrap_acknowledgement(arena, message);
	if (IS(message, reconcile_tasks_message))
		return unwrap_reconcile(arena, message);
	if (IS(message, kill_task_message)) {
		const Mesos__Internal__KillTaskMessage *m = message;

		call = new_call(arena, CALL(KILL), m->framework_id);
		call->kill = NEW_PART(arena, Kill, kill);
		call->kill->task_id = m->task_id;
		return call;
	}
	if (IS(message, revive_offers_message))
		return new_call(
			arena, CALL(REVIVE),
			((const Mesos__Internal__ReviveOffersMessage *)message)->framework_id);
	if (IS(message, unregister_framework_message))
		return new_call(arena, CALL(TEARDOWN),
				((const Mesos__Internal__UnregisterFrameworkMessage *)message)
					->framework_id);
	return NULL;
}

bool driver_says(const ProtobufCMessageDescriptor *type)
{
	static const ProtobufCMessageDescriptor *const types[] = {
		&mesos__scheduler__call__descriptor,
		&mesos__internal__register_framework_message__descriptor,
		&mesos__internal__reregister_framework_message__descriptor,
		&mesos__internal__launch_tasks_message__descriptor,
		&mesos__internal__status_update_acknowledgement_message__descriptor,
		&mesos__internal__reconcile_tasks_message__descriptor,
		&mesos__internal__kill_task_message__descriptor,
		&mesos__internal__revive_offers_message__descriptor,
		&mesos__internal__unregister_framework_message__descriptor,
		&mesos__internal__deactivate_framework_message__descriptor,
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		if (types[i] == type)
			return true;
	}
	return false;
}

bool driver_is_registration(const void *message)
{
	const Mesos__Scheduler__Call *call = message;

	if (call->base.descriptor == &mesos__scheduler__call__descriptor)
		return call->type == CALL(SUBSCRIBE) || call->type == CALL(TEARDOWN);
	return IS(message, register_framework_message) ||
	       IS(message, reregister_framework_message) ||
	       IS(message, unregister_framework_message) ||
	       IS(message, deactivate_framework_message);
}

/* ---- events -------------------------------------------------------------------------- */

/* Without a pid to acknowledge it to, an update has no uuid for the scheduler. */
static void unwrap_update(struct arena *arena, const Mesos__Internal__StatusUpdateMessage *m,
			  Mesos__Scheduler__Event *out)
{
	bool answered =
		m->update->has_uuid && m->update->uuid.len && m->pid && strcmp(m->pid, NO_PID) != 0;
	Mesos__TaskStatus *status = arena_memdup(arena, m->update->status, sizeof(*status));

	out->type = EVENT(UPDATE);
	out->update = NEW_EVENT(arena, Update, update);
	out->update->status = status;
	status->has_uuid = answered;
	if (answered)
		status->uuid = m->update->uuid;
	if (m->update->agent_id)
		status->agent_id = m->update->agent_id;
}

static void unwrap_registered(struct arena *arena, Mesos__FrameworkID *id,
			      Mesos__Scheduler__Event *out)
{
	out->type = EVENT(SUBSCRIBED);
	out->subscribed = NEW_EVENT(arena, Subscribed, subscribed);
	out->subscribed->framework_id = id;
}

static void unwrap_failure(struct arena *arena, Mesos__AgentID *agent_id,
			   Mesos__ExecutorID *executor_id, Mesos__Scheduler__Event *out)
{
	out->type = EVENT(FAILURE);
	out->failure = NEW_EVENT(arena, Failure, failure);
	out->failure->agent_id = agent_id;
	out->failure->executor_id = executor_id;
}

bool driver_unwrap_event(struct arena *arena, const void *message, Mesos__Scheduler__Event *out)
{
	mesos__scheduler__event__init(out);
	out->has_type = true;
	if (IS(message, status_update_message)) {
		unwrap_update(arena, message, out);
	} else if (IS(message, resource_offers_message)) {
		const Mesos__Internal__ResourceOffersMessage *m = message;

		out->type = EVENT(OFFERS);
		out->offers = NEW_EVENT(arena, Offers, offers);
		out->offers->n_offers = m->n_offers;
		out->offers->offers = m->offers;
	} else if (IS(message, rescind_resource_offer_message)) {
		const Mesos__Internal__RescindResourceOfferMessage *m = message;

		out->type = EVENT(RESCIND);
		out->rescind = NEW_EVENT(arena, Rescind, rescind);
		out->rescind->offer_id = m->offer_id;
	} else if (IS(message, framework_registered_message)) {
		unwrap_registered(arena,
				  ((const Mesos__Internal__FrameworkRegisteredMessage *)message)
					  ->framework_id,
				  out);
	} else if (IS(message, framework_reregistered_message)) {
		unwrap_registered(arena,
				  ((const Mesos__Internal__FrameworkReregisteredMessage *)message)
					  ->framework_id,
				  out);
	} else if (IS(message, framework_error_message)) {
		out->type = EVENT(ERROR);
		out->error = NEW_EVENT(arena, Error, error);
		out->error->message =
			((const Mesos__Internal__FrameworkErrorMessage *)message)->message;
	} else if (IS(message, lost_slave_message)) {
		unwrap_failure(arena,
			       ((const Mesos__Internal__LostSlaveMessage *)message)->agent_id, NULL,
			       out);
	} else if (IS(message, exited_executor_message)) {
		const Mesos__Internal__ExitedExecutorMessage *m = message;

		unwrap_failure(arena, m->agent_id, m->executor_id, out);
	} else {
		return false;
	}
	return true;
}

const char *driver_check_message(const void *message, const char *framework_id)
{
	if (IS(message, resource_offers_message)) {
		const Mesos__Internal__ResourceOffersMessage *m = message;

		return m->n_pids == m->n_offers ? NULL : "not as many pids as offers";
	}
	if (IS(message, status_update_message)) {
		const Mesos__Internal__StatusUpdateMessage *m = message;

		if (!framework_id || strcmp(m->update->framework_id->value, framework_id))
			return "an update of another framework";
		return m->update->has_uuid && m->update->uuid.len && !m->update->agent_id
			       ? "an update to acknowledge, and no agent"
			       : NULL;
	}
	if (IS(message, framework_reregistered_message)) {
		const Mesos__Internal__FrameworkReregisteredMessage *m = message;

		return framework_id && !strcmp(m->framework_id->value, framework_id)
			       ? NULL
			       : "another framework's registration";
	}
	return NULL;
}
