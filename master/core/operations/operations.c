/* Operations on resources, carried out: RESERVE, UNRESERVE, CREATE, DESTROY, GROW_VOLUME and
 * SHRINK_VOLUME.
 *
 * They are speculative: the agent's total, what it is to checkpoint, the offers' rest and the
 * allocator change at once, and the agent is told. One with RESOURCE_PROVIDER is told the
 * operation and answers it (operation_feedback.c); any other is told the whole list of what
 * to checkpoint. An operation that cannot be carried out changes nothing.
 */
#include "master/core/operations/operations.h"

#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "master/core/agents/agent_health.h"
#include "master/core/authorize.h"
#include "master/core/emit.h"
#include "master/core/journal.h"
#include "master/core/offers/accept.h"
#include "master/core/offers/offers.h"
#include "master/core/operations/operation_records.h"
#include "master/core/tasks/task_validate.h"
#include "proto/operation.h"

#define OPERATION(name) MESOS__OFFER__OPERATION__TYPE__##name

/* ---- the agent's side --------------------------------------------------------------- */

static void forget_checkpointed(struct agent *a)
{
	for (size_t i = 0; i < a->checkpointed_count; i++)
		proto_free(a->checkpointed[i]);
	free(a->checkpointed);
	a->checkpointed = NULL;
	a->checkpointed_count = 0;
}

/* Dynamic reservations and volumes: agents do not find these again by themselves. */
static bool is_checkpointed(const struct resource_piece *piece)
{
	return resource_shape_dynamic(piece->shape) || resource_shape_persistence(piece->shape);
}

static size_t count_checkpointed(const struct resources *total)
{
	size_t count = 0;

	for (uint32_t i = 0; i < total->count; i++)
		count += is_checkpointed(&total->pieces[i]);
	return count;
}

/* Not in the step's arena, as an agent may have many. */
static void list_checkpointed(struct agent *a)
{
	struct arena arena;

	a->checkpointed_changed = false;
	arena_init(&arena);
	forget_checkpointed(a);
	a->checkpointed = xcalloc(a->total.count + 1, sizeof(*a->checkpointed));
	for (uint32_t i = 0; i < a->total.count; i++) {
		const struct resource_piece *piece = &a->total.pieces[i];

		if (is_checkpointed(piece))
			a->checkpointed[a->checkpointed_count++] =
				proto_copy(resource_piece_to_message(&arena, piece));
	}
	arena_free(&arena);
}

void master_send_checkpointed(struct master *m, const struct agent *a)
{
	Mesos__Internal__CheckpointResourcesMessage *message =
		STEP_NEW(m, Mesos__Internal__CheckpointResourcesMessage,
			 mesos__internal__checkpoint_resources_message__descriptor);

	for (size_t i = 0; i < a->checkpointed_count; i++) {
		Mesos__Resource *copy = STEP_COPY(m, a->checkpointed[i]);

		if (!a->reservation_refinement && !resource_downgrade(&m->out->arena, copy)) {
			log_warning("agent %s knows no refined reservations: its checkpointed "
				    "resources are left as they are",
				    a->id);
			return;
		}
		proto_push(&m->out->arena, message->n_resources, message->resources, copy);
	}
	master_send_agent(m, a, message);
}

void master_end_changes(struct master *m, struct agent *a)
{
	if (!a->checkpointed_changed)
		return;
	list_checkpointed(a);
	if (!a->resource_provider)
		master_send_checkpointed(m, a);
}

static void send_operation(struct master *m, const struct agent *a, const struct operation *o)
{
	Mesos__Internal__ApplyOperationMessage *message =
		STEP_NEW(m, Mesos__Internal__ApplyOperationMessage,
			 mesos__internal__apply_operation_message__descriptor);

	message->framework_id = STEP_COPY(m, o->info->framework_id);
	message->operation_info = STEP_COPY(m, o->info->info);
	message->operation_uuid = master_uuid(m, o->uuid, UUID_BYTES);
	message->resource_version_uuid =
		STEP_NEW(m, Mesos__Internal__ResourceVersionUUID,
			 mesos__internal__resource_version_uuid__descriptor);
	message->resource_version_uuid->uuid =
		master_uuid(m, a->resource_version, a->resource_version_len);
	master_send_agent(m, a, message);
}

static void log_operation(const struct agent *a, const struct framework *f,
			  const Mesos__Offer__Operation *operation)
{
	log_info("%s of %s%s on agent %s", operation_name(operation),
		 f ? "framework " : "an operator", f ? f->id : "", a->id);
}

/* What an agent must keep, it must also be able to report again. */
#define CHECKPOINTED_MAX 1000

static int check_checkpointed(const struct agent *a, const struct resources *less,
			      const struct resources *more, struct err *err)
{
	size_t before, after;
	struct resources total;

	/* Each piece of `more` is one more at most. */
	if (a->total.count + more->count <= CHECKPOINTED_MAX)
		return 0;
	before = count_checkpointed(&a->total);
	if (before + more->count <= CHECKPOINTED_MAX)
		return 0;
	resources_copy(&total, &a->total);
	resources_subtract(&total, less);
	resources_add(&total, more);
	after = count_checkpointed(&total);
	resources_free(&total);
	if (after <= CHECKPOINTED_MAX || after <= before)
		return 0;
	return err_set(err, ERR_LIMIT,
		       "Agent %s has %d reservations and volumes already, which is the most", a->id,
		       CHECKPOINTED_MAX);
}

static int change_total(struct master *m, struct agent *a, const struct resources *consumed,
			const struct resources *converted, struct err *err)
{
	struct resources less = RESOURCES_INIT, more = RESOURCES_INIT;
	int rv;

	resources_allocate(m->shapes, consumed, NULL, &less);
	resources_allocate(m->shapes, converted, NULL, &more);
	rv = resources_check_conversion(&a->total, &less, &more, err);
	if (!rv)
		rv = check_checkpointed(a, &less, &more, err);
	if (!rv)
		rv = resources_apply_conversion(&a->total, &less, &more, err);
	resources_free(&less);
	resources_free(&more);
	return rv;
}

int master_change_agent(struct master *m, struct agent *a, struct framework *f,
			const Mesos__Offer__Operation *operation, const struct resources *consumed,
			const struct resources *converted, struct err *err)
{
	int rv;

	if (a->resource_provider && !a->resource_version)
		return err_set(err, ERR_STATE, "Agent %s has not told its resource version", a->id);
	if (HASH_COUNT(a->operations) >= MASTER_AGENT_OPERATIONS)
		return err_set(err, ERR_LIMIT, "Agent %s has %d operations that are not over",
			       a->id, MASTER_AGENT_OPERATIONS);
	rv = change_total(m, a, consumed, converted, err);
	if (rv)
		return rv;
	log_operation(a, f, operation);
	a->checkpointed_changed = true;
	journal_agent(m, JOURNAL_AGENT_CHANGED, a);
	if (f)
		f->counters.operations[operation->type]++;
	if (a->resource_provider)
		send_operation(m, a, master_order_operation(m, a, f, operation));
	return 0;
}

bool operation_helps(const struct resources *offered, struct resources *needed)
{
	struct resources left;
	bool same;

	resources_copy(&left, needed);
	resources_subtract(&left, offered);
	same = resources_equal(&left, needed);
	resources_free(needed);
	*needed = left;
	return !same;
}

void agent_free_resources(struct master *m, const struct agent *a, struct resources *out)
{
	struct resources taken = RESOURCES_INIT, plain;

	resources_copy(&taken, &a->used);
	resources_add(&taken, &a->offered);
	resources_allocate(m->shapes, &taken, NULL, &plain);
	resources_copy(out, &a->total);
	for (uint32_t i = 0; i < plain.count; i++) {
		if (!resource_shape_shared(plain.pieces[i].shape))
			resources_subtract_piece(out, &plain.pieces[i]);
	}
	resources_free(&taken);
	resources_free(&plain);
}

/* Offers that hold some of it. */
static void rescind_holders(struct master *m, struct agent *a, const struct resources *r)
{
	struct resources needed, offered;
	struct offer *o, *next;

	resources_copy(&needed, r);
	list_for_each (o, next, &a->offers, by_agent) {
		resources_allocate(m->shapes, &o->resources, NULL, &offered);
		if (operation_helps(&offered, &needed))
			master_rescind_offer(m, o);
		resources_free(&offered);
	}
	resources_free(&needed);
}

static bool undo(struct master *m, struct agent *a, const struct resources *consumed,
		 const struct resources *converted)
{
	struct resources available = RESOURCES_INIT;
	bool done;

	rescind_holders(m, a, converted);
	agent_free_resources(m, a, &available);
	done = resources_contain(&available, converted) &&
	       !resources_apply_conversion(&a->total, converted, consumed, NULL);
	resources_free(&available);
	if (!done)
		return false;
	list_checkpointed(a);
	journal_agent(m, JOURNAL_AGENT_CHANGED, a);
	allocator_update_agent(m->allocator, a->alloc, &a->total);
	return true;
}

void master_undo_operation(struct master *m, struct operation *o)
{
	struct resources consumed, converted;
	struct agent *a = o->agent;

	if (operation_conversion(m->shapes, o->info->info, &consumed, &converted, NULL))
		return;
	resources_allocate(m->shapes, &consumed, NULL, &consumed);
	resources_allocate(m->shapes, &converted, NULL, &converted);
	if (undo(m, a, &consumed, &converted)) {
		log_warning("agent %s did not carry out a %s: undone here, too", a->id,
			    operation_name(o->info->info));
	} else {
		log_warning("agent %s did not carry out a %s, whose result is in use", a->id,
			    operation_name(o->info->info));
		master_ask_again(m, a);
	}
	resources_free(&consumed);
	resources_free(&converted);
}

/* ---- the offers' side --------------------------------------------------------------------- */

static bool resizes(const Mesos__Offer__Operation *operation)
{
	return operation->type == OPERATION(GROW_VOLUME) ||
	       operation->type == OPERATION(SHRINK_VOLUME);
}

/* Whether the piece is the volume, whoever it is allocated to. */
static bool is_volume(struct master *m, const struct resource_piece *piece,
		      const struct resources *volume)
{
	const char *id = resource_shape_persistence(piece->shape);
	struct resource_piece one = *piece;
	const struct resources allocated = {.pieces = &one, .count = 1};
	struct resources plain = RESOURCES_INIT;
	bool same;

	if (!id || strcmp(id, resource_shape_persistence(volume->pieces[0].shape)))
		return false;
	resources_allocate(m->shapes, &allocated, NULL, &plain);
	same = resources_contain(&plain, volume);
	resources_free(&plain);
	return same;
}

bool master_holds_volume(struct master *m, const struct resources *r,
			 const struct resources *volume)
{
	for (uint32_t i = 0; i < r->count; i++) {
		if (is_volume(m, &r->pieces[i], volume))
			return true;
	}
	return false;
}

/* Whether the offer has a volume of those, which have no allocation role. */
static bool offers_volume(struct master *m, const struct offer *o, const struct resources *volumes)
{
	bool found = false;

	for (uint32_t i = 0; i < volumes->count && !found; i++) {
		struct resource_piece piece = volumes->pieces[i];
		struct resources one = {.pieces = &piece, .count = 1};

		piece.shares = 1;
		found = master_holds_volume(m, &o->resources, &one);
	}
	return found;
}

void master_rescind_volumes(struct master *m, struct agent *a,
			    const Mesos__Offer__Operation__Destroy *destroy)
{
	struct resources volumes = RESOURCES_INIT;
	struct offer *o, *next;

	master_resources(m, destroy->volumes, destroy->n_volumes, &volumes);
	resources_allocate(m->shapes, &volumes, NULL, &volumes);
	list_for_each (o, next, &a->offers, by_agent) {
		if (offers_volume(m, o, &volumes))
			master_rescind_offer(m, o);
	}
	resources_free(&volumes);
}

/* What a volume is resized to is for nobody in this ACCEPT: only the consumed goes. */
static int check_remaining(const struct accepting *accepting,
			   const Mesos__Offer__Operation *operation,
			   const struct resources *consumed, const struct resources *left,
			   struct err *err)
{
	int rv = resources_check_conversion(&accepting->remaining, consumed, left, err);

	if (rv && resizes(operation))
		err_wrap(err, rv, "Invalid %s operation", operation_name(operation));
	return rv;
}

static int operations_convert(struct master *m, struct accepting *accepting,
			      const Mesos__Offer__Operation *operation,
			      const struct resources *consumed, const struct resources *converted,
			      struct err *err)
{
	const struct resources none = RESOURCES_INIT;
	const struct resources *left = resizes(operation) ? &none : converted;
	int rv = check_remaining(accepting, operation, consumed, left, err);

	if (!rv)
		rv = master_change_agent(m, accepting->a, accepting->f, operation, consumed,
					 converted, err);
	if (!rv)
		rv = resources_apply_conversion(&accepting->remaining, consumed, left, err);
	if (rv)
		return rv;
	if (resizes(operation))
		resources_add(&accepting->resized, converted);
	if (resources_have_shared(consumed) || resources_have_shared(converted))
		accept_note_shared(accepting);
	allocator_convert(m->allocator, accepting->f->alloc, accepting->a->alloc, consumed,
			  converted);
	return 0;
}

static int operations_validate(struct master *m, struct accepting *accepting,
			       const Mesos__Offer__Operation *operation, struct err *err)
{
	const struct agent *a = accepting->a;
	int rv;

	if (!operation_converts(operation->type) && !a->resource_provider)
		return err_set(err, ERR_INVALID,
			       "Not supported on agent %s at %s (%s) because it does not have "
			       "RESOURCE_PROVIDER capability",
			       a->id, a->pid, a->info->hostname);
	rv = master_validate_operation(m, accepting->f, a, accepting->f->info->principal, operation,
				       err);
	if (rv)
		err_set(err, rv, "%s; on agent %s at %s (%s)", err->text, a->id, a->pid,
			a->info->hostname);
	else
		rv = authorize_operation(m, accepting->f->info->principal, operation, err);
	return rv;
}

void accept_convert(struct master *m, struct accepting *accepting,
		    Mesos__Offer__Operation *operation)
{
	struct resources consumed = RESOURCES_INIT, converted = RESOURCES_INIT;
	struct err err = {{0}};
	int rv = operations_validate(m, accepting, operation, &err);

	if (!rv && operation->type == OPERATION(DESTROY))
		master_rescind_volumes(m, accepting->a, operation->destroy);
	if (!rv)
		rv = operation_conversion(m->shapes, operation, &consumed, &converted, &err);
	if (!rv)
		rv = operations_convert(m, accepting, operation, &consumed, &converted, &err);
	if (rv)
		accept_drop(m, accepting->f, operation, err.text);
	resources_free(&consumed);
	resources_free(&converted);
}
