/* Operations that a scheduler named: what becomes of each it must hear, or find out when it
 * asks. Those it does not name are the master's to acknowledge. */
#include "lab/parts/scheduler.h"
#include "lab/parts/scheduler_books.h"
#include "lab/parts/scheduler_offers.h"

#include <stdlib.h>

#define OPERATION(name) MESOS__OPERATION_STATE__OPERATION_##name

static struct deed *scheduler_operations_find(const struct scheduler_part *part, const char *id)
{
	struct deed *deed;

	HASH_FIND_STR(part->deeds, id, deed);
	return deed;
}

static struct deed *scheduler_operations_add(struct scheduler_part *part, const char *agent_id)
{
	struct deed *deed = xcalloc(1, sizeof(*deed));

	deed->id = xprintf("s%d-o%d", part->options.number, part->next_deed++);
	deed->agent_id = xstrdup(agent_id);
	deed->state = OPERATION(PENDING);
	HASH_ADD_KEYPTR(hh, part->deeds, deed->id, strlen(deed->id), deed);
	list_append(&part->open_deeds, &deed->link);
	return deed;
}

static void scheduler_operations_set_over(struct scheduler_part *part, struct deed *deed, bool over)
{
	if (over != deed->over && over)
		list_remove(&deed->link);
	else if (over != deed->over)
		list_append(&part->open_deeds, &deed->link);
	deed->over = over;
}

void scheduler_name_operations(struct scheduler_part *part, struct answer *answer,
			       const char *agent_id)
{
	struct arena *arena = &answer->arena;

	for (size_t i = 0; part->options.names && i < answer->accept.n_operations; i++) {
		Mesos__Offer__Operation *o = answer->accept.operations[i];

		if (o->launch || o->launch_group)
			continue;
		o->id = PROTO_NEW(arena, Mesos__OperationID, mesos__operation_id__descriptor);
		o->id->value = arena_strdup(arena, scheduler_operations_add(part, agent_id)->id);
	}
}

/* ---- what it hears ------------------------------------------------------------------- */

static void acknowledge(struct scheduler_part *part, const struct deed *deed,
			const Mesos__OperationStatus *status)
{
	Mesos__Scheduler__Call message = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Scheduler__Call__AcknowledgeOperationStatus acknowledge =
		MESOS__SCHEDULER__CALL__ACKNOWLEDGE_OPERATION_STATUS__INIT;
	Mesos__OperationID id = MESOS__OPERATION_ID__INIT;

	if (!part->finishing && scheduler_chance(part, part->options.forgetting))
		return;
	id.value = deed->id;
	acknowledge.operation_id = &id;
	acknowledge.agent_id = status->agent_id;
	acknowledge.uuid = status->uuid->value;
	message.type = CALL(ACKNOWLEDGE_OPERATION_STATUS);
	message.acknowledge_operation_status = &acknowledge;
	scheduler_tell(part, &message);
}

/* Of one that nobody knows nothing more is to be heard; except from an agent that is back. */
static bool is_end(Mesos__OperationState state)
{
	switch (state) {
	case OPERATION(PENDING):
	case OPERATION(UNREACHABLE):
	case OPERATION(RECOVERING):
		return false;
	default:
		return true;
	}
}

/* Only what its agent says is for good. */
void scheduler_take_operation(struct scheduler_part *part, const Mesos__OperationStatus *status)
{
	struct deed *deed = status->operation_id
				    ? scheduler_operations_find(part, status->operation_id->value)
				    : NULL;

	if (!deed) {
		world_fail(part->world, "%s hears of operation %s, which is not its own",
			   part->name, status->operation_id ? status->operation_id->value : "");
		return;
	}
	world_log(
		part->world, "%s hears that operation %s is %s", part->name, deed->id,
		proto_enum_name(&mesos__operation_state__descriptor, (int)status->state, SPELL_V1));
	if (deed->told && status->uuid && deed->state != status->state)
		world_fail(part->world, "operation %s ended as %d and then as %d", deed->id,
			   deed->state, status->state);
	if (!deed->told || status->uuid)
		deed->state = status->state;
	deed->told = deed->told || status->uuid;
	scheduler_operations_set_over(part, deed, deed->told || is_end(deed->state));
	if (status->uuid)
		acknowledge(part, deed, status);
}

/* ---- what it asks --------------------------------------------------------------------- */

void scheduler_reconcile_operations(struct scheduler_part *part)
{
	Mesos__Scheduler__Call message = MESOS__SCHEDULER__CALL__INIT;
	Mesos__Scheduler__Call__ReconcileOperations reconcile =
		MESOS__SCHEDULER__CALL__RECONCILE_OPERATIONS__INIT;
	struct arena arena;
	struct deed *deed, *next;

	if (scheduler_deeds_done(part))
		return;
	arena_init(&arena);
	list_for_each (deed, next, &part->open_deeds, link) {
		Mesos__Scheduler__Call__ReconcileOperations__Operation *o;

		o = PROTO_NEW(&arena, Mesos__Scheduler__Call__ReconcileOperations__Operation,
			      mesos__scheduler__call__reconcile_operations__operation__descriptor);
		o->operation_id =
			PROTO_NEW(&arena, Mesos__OperationID, mesos__operation_id__descriptor);
		o->operation_id->value = deed->id;
		o->agent_id = PROTO_NEW(&arena, Mesos__AgentID, mesos__agent_id__descriptor);
		o->agent_id->value = deed->agent_id;
		proto_push(&arena, reconcile.n_operations, reconcile.operations, o);
	}
	message.type = CALL(RECONCILE_OPERATIONS);
	message.reconcile_operations = &reconcile;
	scheduler_tell(part, &message);
	arena_free(&arena);
}

/* ---- for the lab ------------------------------------------------------------------------- */

bool scheduler_deeds_done(const struct scheduler_part *part)
{
	return list_empty(&part->open_deeds);
}

const char *scheduler_part_waits_for(const struct scheduler_part *part)
{
	const struct deed *first = list_first(&part->open_deeds, struct deed, link);

	return first ? first->agent_id : NULL;
}

void scheduler_describe_deeds(const struct scheduler_part *part, struct buf *out)
{
	struct deed *deed, *next;

	list_for_each (deed, next, &part->open_deeds, link)
		buf_printf(out, "%s on %s, last heard of as %s\n", deed->id, deed->agent_id,
			   proto_enum_name(&mesos__operation_state__descriptor, (int)deed->state,
					   SPELL_V1));
}

void scheduler_deeds_free(struct scheduler_part *part)
{
	struct deed *deed, *next;

	list_init(&part->open_deeds);
	HASH_ITER (hh, part->deeds, deed, next) {
		HASH_DEL(part->deeds, deed);
		free(deed->id);
		free(deed->agent_id);
		free(deed);
	}
}
