/* Records of operations that agents carry out, from the order to the acknowledgement of their
 * end.
 *
 * Agents keep them durably and report them when they (re)register (UpdateSlaveMessage), so
 * they are not stored here. An operation of a framework that is not here is a stray until it
 * comes.
 */
#include "master/core/operations/operation_records.h"

#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "master/core/agents/drain.h"
#include "master/core/emit.h"
#include "master/core/objects.h"
#include "master/core/operations/operation_life.h"
#include "master/core/operations/operations.h"

#define STATE(name) MESOS__OPERATION_STATE__OPERATION_##name

/* An agent may send statuses for as long as it likes. */
#define STATUSES_MAX 100

struct operation *agent_find_operation(const struct agent *a, const uint8_t *uuid)
{
	struct operation *o;

	HASH_FIND(hh, a->operations, uuid, UUID_BYTES, o);
	return o;
}

struct operation *framework_find_operation(const struct framework *f, const char *id)
{
	struct operation *o;

	HASH_FIND(hh_id, f->named_operations, id, strlen(id), o);
	return o;
}

/* ---- frameworks ---------------------------------------------------------------------- */

const char *operation_id(const struct operation *o)
{
	return o->info->info->id ? o->info->info->id->value : NULL;
}

static void unname(struct operation *o)
{
	if (o->named)
		HASH_DELETE(hh_id, o->framework->named_operations, o);
	o->named = false;
}

static void operation_records_adopt(struct framework *f, struct operation *o)
{
	const char *id = operation_id(o);
	struct operation *other;

	o->framework = f;
	list_remove(&o->by_framework);
	list_append(&f->operations, &o->by_framework);
	if (!id)
		return;
	other = framework_find_operation(f, id);
	if (other)
		unname(other);
	HASH_ADD_KEYPTR(hh_id, f->named_operations, id, strlen(id), o);
	o->named = true;
}

/* Nobody's if it is an operator's. */
static void operation_records_leave(struct master *m, struct operation *o)
{
	unname(o);
	o->framework = NULL;
	list_remove(&o->by_framework);
	list_append(&m->stray_operations, &o->by_framework);
}

void master_adopt_operations(struct master *m, struct framework *f)
{
	struct operation *o, *next;

	list_for_each (o, next, &m->stray_operations, by_framework) {
		if (!strcmp(o->info->framework_id->value, f->id))
			operation_records_adopt(f, o);
	}
}

void master_leave_operations(struct master *m, struct framework *f)
{
	struct operation *o, *next;

	list_for_each (o, next, &f->operations, by_framework)
		operation_records_leave(m, o);
}

/* ---- records --------------------------------------------------------------------------- */

struct operation *master_add_operation(struct master *m, struct agent *a,
				       const Mesos__Operation *record)
{
	struct operation *o = xcalloc(1, sizeof(*o));
	struct framework *f = NULL;

	o->info = proto_copy(record);
	o->agent = a;
	memcpy(o->uuid, record->uuid->value.data, UUID_BYTES);
	list_init(&o->by_framework);
	HASH_ADD(hh, a->operations, uuid, UUID_BYTES, o);
	m->operation_count++;
	operation_life_count(m, o->info->info->type, o->info->latest_status->state, 1);
	if (!o->info->framework_id)
		return o;
	f = master_find_framework(m, o->info->framework_id->value);
	if (f)
		operation_records_adopt(f, o);
	else
		list_append(&m->stray_operations, &o->by_framework);
	return o;
}

struct operation *master_order_operation(struct master *m, struct agent *a, struct framework *f,
					 const Mesos__Offer__Operation *operation)
{
	Mesos__Operation *record = STEP_NEW(m, Mesos__Operation, mesos__operation__descriptor);
	Mesos__OperationStatus *status =
		STEP_NEW(m, Mesos__OperationStatus, mesos__operation_status__descriptor);
	uint8_t uuid[UUID_BYTES];
	struct operation *o;

	uuid_make(m->options.rng, uuid);
	status->state = STATE(PENDING);
	status->operation_id = operation->id;
	status->agent_id = master_agent_id(m, a->id);
	record->uuid = master_uuid(m, uuid, UUID_BYTES);
	record->info = (Mesos__Offer__Operation *)operation;
	record->latest_status = status;
	record->agent_id = status->agent_id;
	record->framework_id = f ? master_framework_id(m, f->id) : NULL;
	o = master_add_operation(m, a, record);
	o->assumed = true;
	return o;
}

void master_confirm_operations(struct agent *a)
{
	struct operation *o, *next;

	HASH_ITER (hh, a->operations, o, next)
		o->assumed = false;
}

void master_remove_operation(struct master *m, struct operation *o)
{
	int state = o->info->latest_status->state;

	if (!operation_state_terminal(state))
		operation_life_count(m, o->info->info->type, state, -1);
	master_touch_drain(m, o->agent);
	unname(o);
	list_remove(&o->by_framework);
	HASH_DEL(o->agent->operations, o);
	m->operation_count--;
	proto_free(o->info);
	free(o);
}

void master_remove_operations(struct master *m, struct agent *a)
{
	struct operation *o, *next;

	HASH_ITER (hh, a->operations, o, next)
		master_remove_operation(m, o);
}

/* ---- statuses -------------------------------------------------------------------------- */

static void append_status(Mesos__Operation *info, const Mesos__OperationStatus *status)
{
	size_t last = info->n_statuses - 1;

	if (info->n_statuses && proto_equal(info->statuses[last], status))
		return;
	if (info->n_statuses >= STATUSES_MAX) {
		proto_free(info->statuses[0]);
		memmove(info->statuses, info->statuses + 1, last * sizeof(*info->statuses));
	} else {
		info->statuses =
			xrealloc(info->statuses, (info->n_statuses + 1) * sizeof(*info->statuses));
		info->n_statuses++;
	}
	info->statuses[info->n_statuses - 1] = proto_copy(status);
}

void master_update_operation(struct master *m, struct operation *o,
			     const Mesos__OperationStatus *status,
			     const Mesos__OperationStatus *latest)
{
	enum operation_effect effect = operation_life_move(m, o, latest ? latest : status);

	append_status(o->info, status);
	if (effect == OPERATION_FAILS && o->assumed)
		master_undo_operation(m, o);
	if (effect == OPERATION_FAILS || effect == OPERATION_STANDS)
		o->assumed = false;
	log_info("operation '%s' on agent %s is %s", operation_id(o) ? operation_id(o) : "",
		 o->agent->id,
		 proto_enum_name(&mesos__operation_state__descriptor, o->info->latest_status->state,
				 SPELL_V1));
}

const Mesos__OperationStatus *operation_last_status(const struct operation *o)
{
	return o->info->n_statuses ? o->info->statuses[o->info->n_statuses - 1]
				   : o->info->latest_status;
}
