/* What agents say of operations, on its way to schedulers, and acknowledgements back.
 *
 * Statuses with a uuid come again until they are acknowledged: by the scheduler if the
 * operation has an id and its framework is not removed, else by the master itself. A
 * status that cannot be forwarded now is left to come again.
 */
#include "master/core/operations/operation_feedback.h"

#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "master/core/emit.h"
#include "master/core/frameworks/events.h"
#include "master/core/objects.h"
#include "master/core/operations/operation_life.h"
#include "master/core/operations/operation_records.h"

#define STATE(name) MESOS__OPERATION_STATE__OPERATION_##name

/* A framework that did not come back for so long after its operation's agent will not come. */
#define ADOPTION_WAIT (10 * MINUTE)

/* ---- acknowledging ------------------------------------------------------------------ */

static void acknowledge_to(struct master *m, const struct agent *a, const uint8_t *operation,
			   const Mesos__UUID *uuid, const Mesos__ResourceProviderID *provider)
{
	Mesos__Internal__AcknowledgeOperationStatusMessage *message =
		STEP_NEW(m, Mesos__Internal__AcknowledgeOperationStatusMessage,
			 mesos__internal__acknowledge_operation_status_message__descriptor);

	message->status_uuid = STEP_COPY(m, (Mesos__UUID *)uuid);
	message->operation_uuid = master_uuid(m, operation, UUID_BYTES);
	message->resource_provider_id = STEP_COPY(m, (Mesos__ResourceProviderID *)provider);
	master_send_agent(m, a, message);
}

static void operation_feedback_acknowledge(struct master *m, struct operation *o,
					   const Mesos__UUID *uuid,
					   const Mesos__ResourceProviderID *provider)
{
	acknowledge_to(m, o->agent, o->uuid, uuid, provider);
}

static const Mesos__OperationStatus *find_status(const struct operation *o,
						 const ProtobufCBinaryData *uuid)
{
	for (size_t i = o->info->n_statuses; i--;) {
		const Mesos__OperationStatus *status = o->info->statuses[i];

		if (status->uuid && status->uuid->value.len == uuid->len &&
		    !memcmp(status->uuid->value.data, uuid->data, uuid->len))
			return status;
	}
	return NULL;
}

/* What is wrong with the acknowledgement; NULL if nothing. */
static const char *
operation_feedback_refuse(const struct agent *a, const struct operation *o,
			  const Mesos__Scheduler__Call__AcknowledgeOperationStatus *call)
{
	if (!a || !agent_registered(a))
		return "the agent is not registered";
	if (!agent_connected(a))
		return "the agent is disconnected";
	if (call->resource_provider_id && !a->resource_provider)
		return "the agent has no RESOURCE_PROVIDER capability";
	if (!call->resource_provider_id && !a->operation_feedback)
		return "the agent has no AGENT_OPERATION_FEEDBACK capability";
	if (!o || o->agent != a)
		return "the operation is not known";
	if (!find_status(o, &call->uuid))
		return "the status is not known";
	return NULL;
}

void master_acknowledge_operation(struct master *m, struct framework *f,
				  const Mesos__Scheduler__Call__AcknowledgeOperationStatus *call)
{
	const char *id = call->operation_id->value;
	struct agent *a = master_find_agent(m, call->agent_id->value);
	struct operation *o = framework_find_operation(f, id);
	const char *why = operation_feedback_refuse(a, o, call);
	const Mesos__OperationStatus *status;

	m->counters.messages_operation_status_update_acknowledgement++;
	if (why) {
		m->counters.invalid_operation_status_update_acknowledgements++;
		log_warning("dropped the acknowledgement of operation '%s' of framework %s on "
			    "agent %s: %s",
			    id, f->id, call->agent_id->value, why);
		return;
	}
	m->counters.valid_operation_status_update_acknowledgements++;
	status = find_status(o, &call->uuid);
	operation_feedback_acknowledge(m, o, status->uuid, call->resource_provider_id);
	if (operation_state_terminal(status->state))
		master_remove_operation(m, o);
}

/* ---- statuses ------------------------------------------------------------------------- */

static void forward(struct master *m, struct framework *f, const Mesos__OperationStatus *status)
{
	if (f)
		master_tell_operation(m, f, STEP_COPY(m, (Mesos__OperationStatus *)status));
}

/* Nobody will acknowledge it but the master. */
static bool masters_own(struct master *m, const struct operation *o)
{
	const struct agent *a = o->agent;
	int64_t since = a->reregistered_time ? a->reregistered_time : a->registered_time;

	if (!operation_id(o) || !o->info->framework_id)
		return true;
	if (o->framework)
		return false;
	return master_find_completed(m, o->info->framework_id->value) ||
	       m->now - since >= ADOPTION_WAIT;
}

static void operation_feedback_settle(struct master *m, struct operation *o,
				      const Mesos__OperationStatus *status)
{
	if (!masters_own(m, o)) {
		forward(m, o->framework, status);
		/* What has no uuid is never acknowledged. */
		if (operation_state_terminal(status->state) && !status->uuid)
			master_remove_operation(m, o);
		return;
	}
	if (status->uuid)
		operation_feedback_acknowledge(m, o, status->uuid, status->resource_provider_id);
	if (operation_state_terminal(status->state))
		master_remove_operation(m, o);
}

/* The status with the operation's id, which agents leave out when they are asked. */
static Mesos__OperationStatus *named(struct master *m, const struct operation *o,
				     const Mesos__OperationStatus *status)
{
	Mesos__OperationStatus *copy = STEP_COPY(m, (Mesos__OperationStatus *)status);

	if (copy && o->info->info->id)
		copy->operation_id = STEP_COPY(m, o->info->info->id);
	return copy;
}

static struct agent *speaking_agent(struct master *m, const char *from,
				    const Mesos__Internal__UpdateOperationStatusMessage *message)
{
	const char *id = message->agent_id ? message->agent_id->value : "";
	struct agent *a = master_find_agent(m, id);

	if (a && agent_registered(a) && a->pid && !strcmp(a->pid, from))
		return a;
	log_warning("ignored the status of an operation from %s: it is not agent '%s'", from, id);
	return NULL;
}

static struct operation *find_operation(const struct agent *a, const Mesos__UUID *uuid)
{
	return uuid && uuid->value.len == UUID_BYTES ? agent_find_operation(a, uuid->value.data)
						     : NULL;
}

/* The agent says that it does not know what is over already: an acknowledgement reached it that
 * we did not see, or that overtook the agent's report. There is nothing left to tell. */
static bool forgotten(const struct operation *o, const Mesos__OperationStatus *status)
{
	return operation_state_terminal(o->info->latest_status->state) && !status->uuid &&
	       status->state == STATE(DROPPED);
}

void master_operation_status(struct master *m, const char *from,
			     const Mesos__Internal__UpdateOperationStatusMessage *message)
{
	struct agent *a = speaking_agent(m, from, message);
	struct operation *o = a ? find_operation(a, message->operation_uuid) : NULL;
	Mesos__OperationStatus *status;

	m->counters.messages_operation_status_update++;
	if (!o) {
		/* An answer to a framework that asked, or of an operation forgotten since; one
		 * that had no name its framework knows nothing of. */
		if (a && message->framework_id && message->status->operation_id)
			forward(m, master_find_framework(m, message->framework_id->value),
				message->status);
		if (!a || message->operation_uuid)
			m->counters.invalid_operation_status_updates++;
		return;
	}
	m->counters.valid_operation_status_updates++;
	if (forgotten(o, message->status)) {
		master_remove_operation(m, o);
		return;
	}
	status = named(m, o, message->status);
	master_update_operation(m, o, status, named(m, o, message->latest_status));
	operation_feedback_settle(m, o, status);
}

/* ---- what agents report to have ---------------------------------------------------------- */

static void ask_about_missing(struct master *m, struct agent *a, uint64_t mark)
{
	Mesos__Internal__ReconcileOperationsMessage *ask =
		STEP_NEW(m, Mesos__Internal__ReconcileOperationsMessage,
			 mesos__internal__reconcile_operations_message__descriptor);
	struct operation *o, *next;

	HASH_ITER (hh, a->operations, o, next) {
		Mesos__Internal__ReconcileOperationsMessage__Operation *item;

		if (o->seen == mark)
			continue;
		item = STEP_NEW(
			m, Mesos__Internal__ReconcileOperationsMessage__Operation,
			mesos__internal__reconcile_operations_message__operation__descriptor);
		item->operation_uuid = master_uuid(m, o->uuid, UUID_BYTES);
		proto_push(&m->out->arena, ask->n_operations, ask->operations, item);
	}
	if (ask->n_operations)
		master_send_agent(m, a, ask);
}

/* Over, and nobody but the master waits for it: it may have been acknowledged while this was on
 * its way, and then nothing more would be heard of it. */
static bool over_for_all(const Mesos__Operation *record)
{
	return operation_state_terminal(record->latest_status->state) &&
	       record->latest_status->uuid && (!record->info->id || !record->framework_id);
}

void master_compare_operations(struct master *m, struct agent *a,
			       const Mesos__Internal__UpdateSlaveMessage__Operations *reported)
{
	uint64_t mark = ++m->mark;

	for (size_t i = 0; reported && i < reported->n_operations; i++) {
		const Mesos__Operation *record = reported->operations[i];
		struct operation *o = find_operation(a, record->uuid);

		if (record->uuid->value.len != UUID_BYTES)
			continue;
		if (!o && over_for_all(record)) {
			acknowledge_to(m, a, record->uuid->value.data, record->latest_status->uuid,
				       record->latest_status->resource_provider_id);
			continue;
		}
		if (!o && HASH_COUNT(a->operations) >= MASTER_AGENT_OPERATIONS)
			continue;
		if (!o) {
			log_info("agent %s reports an operation of %s%s", a->id,
				 record->framework_id ? "framework " : "an operator",
				 record->framework_id ? record->framework_id->value : "");
			o = master_add_operation(m, a, record);
			/* It may have been acknowledged since: the agent is asked whether it is
			 * still there, for nothing else would be heard of it. */
			if (operation_state_terminal(record->latest_status->state))
				continue;
		}
		o->seen = mark;
	}
	ask_about_missing(m, a, mark);
}

/* ---- lost agents --------------------------------------------------------------------------- */

static void tell_lost(struct master *m, const struct operation *o, Mesos__OperationState state,
		      const char *message)
{
	Mesos__OperationStatus *status;

	if (!operation_id(o) || !o->framework)
		return;
	status = STEP_NEW(m, Mesos__OperationStatus, mesos__operation_status__descriptor);
	status->operation_id = STEP_COPY(m, o->info->info->id);
	status->state = state;
	status->message = master_text(m, message);
	status->agent_id = master_agent_id(m, o->agent->id);
	master_tell_operation(m, o->framework, status);
}

void master_lose_operations(struct master *m, struct agent *a, Mesos__OperationState state,
			    const char *message)
{
	struct operation *o, *next;

	HASH_ITER (hh, a->operations, o, next) {
		if (state != STATE(UNKNOWN)) {
			tell_lost(m, o, state, message);
			operation_life_count(m, o->info->info->type, state, 1);
		}
		master_remove_operation(m, o);
	}
}
