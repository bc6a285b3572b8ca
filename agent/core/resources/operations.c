/* Operations on resources: ApplyOperationMessage, and reliable delivery of its status.
 *
 * Happy path: the operation changes the total (total.c), its record and status are stored
 * with that, OPERATION_FINISHED goes to the master, and again 10 s later and at doubling
 * intervals up to 10 min, until it is acknowledged; then the record goes.
 * Failures: made against another version of our resources: OPERATION_DROPPED. Not to be
 * applied: OPERATION_ERROR; its volumes not to be made: OPERATION_FAILED. One that is known
 * is not applied again.
 *
 * Nothing is sent while the agent is not registered. UpdateSlaveMessage, after every
 * registration, tells all of them. */
#include "agent/core/resources/operations.h"

#include <string.h>

#include "agent/core/actions.h"
#include "agent/core/drain.h"
#include "agent/core/objects.h"
#include "agent/core/registration.h"
#include "agent/core/resources/total.h"
#include "agent/core/resources/volumes.h"
#include "agent/core/states.h"
#include "agent/core/store/checkpoint.h"
#include "proto/operation.h"

#define OPERATION(state) MESOS__OPERATION_STATE__OPERATION_##state

/* ---- the table ------------------------------------------------------------- */

struct operation *agent_operation_find(struct agent *agent, const uint8_t *uuid)
{
	struct operation *operation;

	HASH_FIND(hh, agent->operations, uuid, UUID_BYTES, operation);
	return operation;
}

/* Takes `record`, which has a whole uuid. */
static struct operation *operation_add(struct agent *agent, Mesos__Operation *record)
{
	struct operation *operation = xcalloc(1, sizeof(*operation));

	operation->record = record;
	operation->interval = UPDATE_RETRY_MIN;
	operation->retry.kind = TIMER_OPERATION;
	memcpy(operation->uuid, record->uuid->value.data, UUID_BYTES);
	HASH_ADD(hh, agent->operations, uuid, UUID_BYTES, operation);
	return operation;
}

static void operation_free(struct agent *agent, struct operation *operation)
{
	HASH_DELETE(hh, agent->operations, operation);
	timers_stop(&agent->timers, &operation->retry);
	proto_free(operation->record);
	free(operation);
}

void agent_operations_free(struct agent *agent)
{
	struct operation *operation, *next;

	HASH_ITER (hh, agent->operations, operation, next)
		operation_free(agent, operation);
	free(agent->acked);
	agent->acked = NULL;
}

static void operations_remember(struct agent *agent, const uint8_t *uuid)
{
	if (!agent->acked)
		agent->acked = xcalloc(OPERATIONS_REMEMBERED, sizeof(*agent->acked));
	memcpy(agent->acked[agent->acked_count++ % OPERATIONS_REMEMBERED], uuid, UUID_BYTES);
}

static bool is_remembered(const struct agent *agent, const uint8_t *uuid)
{
	uint64_t count = agent->acked_count < OPERATIONS_REMEMBERED ? agent->acked_count
								    : OPERATIONS_REMEMBERED;

	for (uint64_t i = 0; i < count; i++) {
		if (memcmp(agent->acked[i], uuid, UUID_BYTES) == 0)
			return true;
	}
	return false;
}

static bool operations_is_whole(const Mesos__UUID *uuid)
{
	return uuid && uuid->value.len == UUID_BYTES;
}

static bool is_final(const struct operation *operation)
{
	return operation->record->latest_status->state != OPERATION(PENDING);
}

/* ---- what it does ---------------------------------------------------------- */

struct preparation {
	struct agent *agent;
	struct err *err;
	int rv;
};

/* Our total knows no allocations. */
static void operations_prepare(void *context, Mesos__Resource *resource)
{
	struct preparation *p = context;

	if (p->rv < 0)
		return;
	p->rv = resource_validate(resource, p->err);
	if (p->rv == 0 && resource->provider_id)
		p->rv = err_set(p->err, ERR_INVALID, "Resource providers are not supported");
	if (p->rv < 0)
		return;
	resource_upgrade(&p->agent->out->arena, resource);
	resource->allocation_info = NULL;
}

int agent_operation_convert(struct agent *agent, const struct operation *operation,
			    struct resources *total, struct err *err)
{
	Mesos__Offer__Operation *info = proto_copy_to(&agent->out->arena, operation->record->info);
	struct resources consumed = RESOURCES_INIT, converted = RESOURCES_INIT;
	struct preparation p = {agent, err, 0};
	int rv;

	if (!operation_converts(info->type))
		return err_set(err, ERR_INVALID, "This agent does not know the operation %s",
			       proto_enum_name(&mesos__offer__operation__type__descriptor,
					       info->type, SPELL_V1));
	operation_each_resource(info, operations_prepare, &p);
	if (p.rv < 0)
		return p.rv;
	rv = operation_conversion(agent->options.shapes, info, &consumed, &converted, err);
	if (rv < 0)
		return rv;
	rv = resources_apply_conversion(total, &consumed, &converted, err);
	resources_free(&consumed);
	resources_free(&converted);
	return rv;
}

/* ---- status ---------------------------------------------------------------- */

static Mesos__UUID *uuid_message(struct agent *agent, const uint8_t *uuid)
{
	Mesos__UUID *message = agent_new(agent, Mesos__UUID, mesos__uuid__descriptor);

	message->value = (ProtobufCBinaryData){UUID_BYTES,
					       arena_memdup(&agent->out->arena, uuid, UUID_BYTES)};
	return message;
}

static Mesos__OperationStatus *new_status(struct agent *agent, const Mesos__OperationID *id,
					  Mesos__OperationState state, const char *message)
{
	Mesos__OperationStatus *status =
		agent_new(agent, Mesos__OperationStatus, mesos__operation_status__descriptor);

	status->state = state;
	status->operation_id = proto_copy_to(&agent->out->arena, id);
	status->agent_id = agent_own_id(agent);
	if (message)
		status->message = arena_strdup(&agent->out->arena, message);
	return status;
}

void agent_operation_settle(struct agent *agent, struct operation *operation,
			    Mesos__OperationState state, const char *message)
{
	Mesos__Operation next = *operation->record, *old = operation->record;
	Mesos__OperationStatus *status = new_status(agent, old->info->id, state, message);
	uint8_t uuid[UUID_BYTES];

	if (is_final(operation))
		return;
	uuid_make(agent->options.rng, uuid);
	status->uuid = uuid_message(agent, uuid);
	next.latest_status = status;
	next.n_statuses = 1;
	next.statuses = &status;
	operation->record = proto_copy(&next);
	proto_free(old);
	log_info("Operation %s: %s",
		 proto_enum_name(&mesos__offer__operation__type__descriptor,
				 operation->record->info->type, SPELL_V1),
		 proto_enum_name(&mesos__operation_state__descriptor, state, SPELL_V1));
	agent->batch_class = STORE_SYNCED;
	agent_store_operation(operation, agent);
	agent_wait(agent, operation->ticket, WAIT_OPERATION, "", NULL, operation->uuid);
}

static void send_status(struct agent *agent, const Mesos__FrameworkID *framework_id,
			const uint8_t *uuid, Mesos__OperationStatus *status, bool latest)
{
	Mesos__Internal__UpdateOperationStatusMessage *message =
		agent_new(agent, Mesos__Internal__UpdateOperationStatusMessage,
			  mesos__internal__update_operation_status_message__descriptor);

	message->framework_id = proto_copy_to(&agent->out->arena, framework_id);
	message->agent_id = agent_own_id(agent);
	message->status = status;
	if (latest)
		message->latest_status = status;
	if (uuid)
		message->operation_uuid = uuid_message(agent, uuid);
	agent_send(agent, agent->master, message);
}

void agent_operation_send(struct agent *agent, struct operation *operation)
{
	const Mesos__Operation *record = operation->record;

	if (!is_final(operation) || agent->state != STATE_RUNNING ||
	    operation->ticket > agent->stored)
		return;
	send_status(agent, record->framework_id, operation->uuid,
		    proto_copy_to(&agent->out->arena, record->latest_status), true);
	timers_start(&agent->timers, &operation->retry, agent->now + operation->interval);
}

void agent_operation_timeout(struct agent *agent, struct operation *operation)
{
	operation->interval *= 2;
	if (operation->interval > UPDATE_RETRY_MAX)
		operation->interval = UPDATE_RETRY_MAX;
	log_warning("Sending the status of an operation again");
	agent_operation_send(agent, operation);
}

void agent_operations_pause(struct agent *agent)
{
	struct operation *operation, *next;

	HASH_ITER (hh, agent->operations, operation, next)
		timers_stop(&agent->timers, &operation->retry);
}

void agent_operations_resume(struct agent *agent)
{
	struct operation *operation, *next;

	HASH_ITER (hh, agent->operations, operation, next) {
		operation->interval = UPDATE_RETRY_MIN;
		agent_operation_send(agent, operation);
	}
}

/* ---- after a restart ------------------------------------------------------- */

int agent_load_operation(struct agent *agent, const char *uuid, Mesos__Operation *record,
			 struct err *err)
{
	uint8_t key[UUID_BYTES];

	if (!uuid_parse(uuid, key) || !operations_is_whole(record->uuid) ||
	    memcmp(record->uuid->value.data, key, UUID_BYTES) != 0) {
		proto_free(record);
		return err_set(err, ERR_INVALID, "it does not hold the operation it is named for");
	}
	operation_add(agent, record);
	return 0;
}

/* Those that wait for removals only; the others were stored with their status. */
void agent_operations_recover(struct agent *agent)
{
	struct operation *operation, *next_operation;
	struct removal *removal, *next;

	HASH_ITER (hh, agent->removals, removal, next) {
		operation = removal->ordered ? agent_operation_find(agent, removal->uuid) : NULL;
		if (operation)
			operation->removals++;
		agent_removal_start(agent, removal->path);
	}
	HASH_ITER (hh, agent->operations, operation, next_operation) {
		if (!operation->removals)
			agent_operation_settle(agent, operation, OPERATION(FINISHED), NULL);
	}
}

/* ---- to the master --------------------------------------------------------- */

/* A status that is not stored yet may still be lost: the operation is pending till then. */
static Mesos__Operation *operation_to_send(struct agent *agent, const struct operation *operation)
{
	Mesos__Operation *record = proto_copy_to(&agent->out->arena, operation->record);

	if (is_final(operation) && operation->ticket > agent->stored) {
		record->latest_status =
			new_status(agent, record->info->id, OPERATION(PENDING), NULL);
		record->n_statuses = 0;
	}
	return record;
}

void agent_send_update_slave(struct agent *agent)
{
	Mesos__Internal__UpdateSlaveMessage *message =
		agent_new(agent, Mesos__Internal__UpdateSlaveMessage,
			  mesos__internal__update_slave_message__descriptor);
	Mesos__Internal__UpdateSlaveMessage__Operations *list =
		agent_new(agent, Mesos__Internal__UpdateSlaveMessage__Operations,
			  mesos__internal__update_slave_message__operations__descriptor);
	struct operation *operation, *next;

	HASH_ITER (hh, agent->operations, operation, next)
		proto_push(&agent->out->arena, list->n_operations, list->operations,
			   operation_to_send(agent, operation));
	message->agent_id = agent_own_id(agent);
	message->has_update_oversubscribed_resources = 1;
	message->update_oversubscribed_resources = !resources_empty(&agent->oversubscribed);
	resources_to_messages(&agent->out->arena, &agent->oversubscribed,
			      &message->n_oversubscribed_resources,
			      &message->oversubscribed_resources);
	message->operations = list;
	message->resource_version_uuid = uuid_message(agent, agent->version);
	message->resource_providers =
		agent_new(agent, Mesos__Internal__UpdateSlaveMessage__ResourceProviders,
			  mesos__internal__update_slave_message__resource_providers__descriptor);
	agent_send(agent, agent->master, message);
}

/* ---- messages -------------------------------------------------------------- */

static struct operation *operation_create(struct agent *agent,
					  const Mesos__Internal__ApplyOperationMessage *message)
{
	Mesos__Operation record = MESOS__OPERATION__INIT;

	record.framework_id = message->framework_id;
	record.agent_id = agent_own_id(agent);
	record.info = message->operation_info;
	record.latest_status =
		new_status(agent, message->operation_info->id, OPERATION(PENDING), NULL);
	record.uuid = message->operation_uuid;
	return operation_add(agent, proto_copy(&record));
}

static bool may_apply(struct agent *agent, const char *from, const Mesos__UUID *uuid)
{
	const char *why = NULL;

	if (!agent_from_master(agent, from, "ApplyOperationMessage"))
		return false;
	if (agent->state == STATE_RECOVERING || agent->state == STATE_TERMINATING)
		why = agent_state_name(agent->state);
	else if (!agent->info->id)
		why = "not registered";
	else if (!operations_is_whole(uuid))
		why = "not to know its uuid";
	if (why)
		log_warning("Dropped an operation: the agent is %s", why);
	return !why;
}

void agent_handle_apply_operation(struct agent *agent, const char *from,
				  Mesos__Internal__ApplyOperationMessage *message)
{
	const Mesos__UUID *version = message->resource_version_uuid->uuid;
	struct operation *operation;

	if (!may_apply(agent, from, message->operation_uuid))
		return;
	operation = agent_operation_find(agent, message->operation_uuid->value.data);
	if (operation) {
		agent_operation_send(agent, operation);
		return;
	}
	if (is_remembered(agent, message->operation_uuid->value.data))
		return;
	operation = operation_create(agent, message);
	if (operations_is_whole(version) &&
	    memcmp(version->value.data, agent->version, UUID_BYTES) == 0) {
		agent_change(agent, operation, NULL);
		return;
	}
	agent_operation_settle(agent, operation, OPERATION(DROPPED),
			       "Operation assumes outdated resource state");
	/* A former master may have ordered it: to this one the framework's acknowledgement would
	 * be of nothing that it knows. */
	if (operation->record->info->id && agent->state == STATE_RUNNING)
		agent_send_update_slave(agent);
}

void agent_handle_acknowledge_operation(struct agent *agent, const char *from,
					Mesos__Internal__AcknowledgeOperationStatusMessage *message)
{
	struct operation *operation = NULL;
	const Mesos__UUID *status = NULL;

	if (!agent_from_master(agent, from, "AcknowledgeOperationStatusMessage"))
		return;
	if (operations_is_whole(message->operation_uuid))
		operation = agent_operation_find(agent, message->operation_uuid->value.data);
	if (operation && operation->ticket <= agent->stored)
		status = operation->record->latest_status->uuid;
	if (!status || !operations_is_whole(message->status_uuid) ||
	    memcmp(message->status_uuid->value.data, status->value.data, UUID_BYTES) != 0) {
		log_warning("Dropped an unexpected acknowledgement of an operation's status");
		return;
	}
	operations_remember(agent, operation->uuid);
	agent_forget_operation(operation, agent);
	operation_free(agent, operation);
	agent_drain_settle(agent);
}

/* ---- reconciliation -------------------------------------------------------- */

static bool has_id(const struct operation *operation, const char *framework_id,
		   const Mesos__OperationID *id)
{
	const Mesos__Operation *record = operation->record;

	return id && record->info->id && record->framework_id &&
	       strcmp(record->info->id->value, id->value) == 0 &&
	       strcmp(record->framework_id->value, framework_id) == 0;
}

static struct operation *find_by_id(struct agent *agent, const char *framework_id,
				    const Mesos__OperationID *id)
{
	struct operation *operation, *next;

	HASH_ITER (hh, agent->operations, operation, next) {
		if (has_id(operation, framework_id, id))
			return operation;
	}
	return NULL;
}

/* A scheduler asks of what its master does not know. Not sent reliably, so without uuid. */
static void answer_scheduler(struct agent *agent, const Mesos__FrameworkID *framework_id,
			     const Mesos__Internal__ReconcileOperationsMessage__Operation *asked)
{
	struct operation *operation =
		operations_is_whole(asked->operation_uuid)
			? agent_operation_find(agent, asked->operation_uuid->value.data)
			: find_by_id(agent, framework_id->value, asked->operation_id);
	const uint8_t *uuid;
	Mesos__OperationStatus *status;

	if (operation) {
		status = operation_to_send(agent, operation)->latest_status;
		status->uuid = NULL;
		uuid = operation->uuid;
	} else if (operations_is_whole(asked->operation_uuid)) {
		status = new_status(agent, asked->operation_id, OPERATION(UNKNOWN),
				    "Reconciliation: Operation is unknown");
		uuid = asked->operation_uuid->value.data;
	} else if (asked->operation_id && asked->resource_provider_id) {
		/* There are no resource providers here: this one is unknown, too. */
		status = new_status(agent, asked->operation_id, OPERATION(UNKNOWN), NULL);
		status->resource_provider_id =
			proto_copy_to(&agent->out->arena, asked->resource_provider_id);
		uuid = NULL;
	} else {
		return;
	}
	send_status(agent, framework_id, uuid, status, false);
}

void agent_handle_reconcile_operations(struct agent *agent, const char *from,
				       Mesos__Internal__ReconcileOperationsMessage *message)
{
	if (!agent_from_master(agent, from, "ReconcileOperationsMessage") || !agent->info->id)
		return;
	for (size_t i = 0; i < message->n_operations; i++) {
		const Mesos__Internal__ReconcileOperationsMessage__Operation *asked =
			message->operations[i];

		if (message->framework_id)
			answer_scheduler(agent, message->framework_id, asked);
		/* The master asks of what it misses in our list: it never came here. */
		else if (operations_is_whole(asked->operation_uuid) &&
			 !agent_operation_find(agent, asked->operation_uuid->value.data))
			send_status(agent, NULL, asked->operation_uuid->value.data,
				    new_status(agent, NULL, OPERATION(DROPPED), NULL), false);
	}
}
