/* Operations change what an agent has as soon as the master orders them. One that its agent
 * did not carry out is undone, if nobody uses its result. */
#include "lab/books/books_operations.h"

#include <stdlib.h>
#include <string.h>

#include "lab/books/books_agents.h"
#include "lab/books/books_internal.h"
#include "lab/books/books_tally.h"
#include "lab/books/books_volumes.h"
#include "lab/books/records.h"

#define OPERATION(name) MESOS__OFFER__OPERATION__TYPE__##name

struct operation_note {
	UT_hash_handle hh;
	char uuid[16];
	struct view *view;
	struct tally consumed, converted;
	bool failed; /* to be undone after this step */
};

static void note_free(struct books *b, struct operation_note *note)
{
	HASH_DEL(b->operations, note);
	tally_free(&note->consumed);
	tally_free(&note->converted);
	free(note);
}

/* One list of resources in two forms. */
static void convert_all(struct books *b, struct operation_note *note, Mesos__Resource *const *list,
			size_t count, enum form before, enum form after)
{
	tally_put_messages(b, &note->consumed, list, count, before);
	tally_put_messages(b, &note->converted, list, count, after);
}

static void books_operations_convert(struct books *b, struct operation_note *note,
				     const Mesos__Offer__Operation *o)
{
	struct tally part = {0};

	switch (o->type) {
	case OPERATION(RESERVE):
		convert_all(b, note, o->reserve->resources, o->reserve->n_resources, UNRESERVED,
			    AS_IS);
		break;
	case OPERATION(UNRESERVE):
		convert_all(b, note, o->unreserve->resources, o->unreserve->n_resources, AS_IS,
			    UNRESERVED);
		break;
	case OPERATION(CREATE):
		convert_all(b, note, o->create->volumes, o->create->n_volumes, NO_VOLUME, AS_IS);
		break;
	case OPERATION(DESTROY):
		convert_all(b, note, o->destroy->volumes, o->destroy->n_volumes, AS_IS, NO_VOLUME);
		break;
	case OPERATION(GROW_VOLUME):
		tally_put_message(b, &note->consumed, o->grow_volume->volume, AS_IS);
		tally_put_message(b, &note->consumed, o->grow_volume->addition, AS_IS);
		tally_put_message(b, &part, o->grow_volume->volume, AS_IS);
		part.items[0].milli += tally_of(
			&note->consumed, note->consumed.items[note->consumed.count - 1].kind);
		tally_put_all(&note->converted, &part);
		break;
	case OPERATION(SHRINK_VOLUME):
		tally_put_message(b, &note->consumed, o->shrink_volume->volume, AS_IS);
		tally_put_message(b, &note->converted, o->shrink_volume->volume, AS_IS);
		tally_put_message(b, &part, o->shrink_volume->volume, NO_VOLUME);
		part.items[0].milli = (int64_t)(o->shrink_volume->subtract->value * 1000 + 0.5);
		note->converted.items[0].milli -= part.items[0].milli;
		tally_put_all(&note->converted, &part);
		break;
	default:
		break;
	}
	tally_free(&part);
}

static void change_total(struct books *b, struct view *v, const struct tally *less,
			 const struct tally *more)
{
	struct tally total = {0};

	tally_put_all(&total, &v->total);
	tally_take_all(&total, less);
	tally_put_all(&total, more);
	books_set_total(b, v, &total);
	tally_free(&total);
}

/* Those of schedulers are made of what they accepted. */
static void take_from_pool(struct books *b, const struct operation_note *note,
			   const Mesos__Offer__Operation *operation)
{
	struct current_call *call = &b->call;
	uint32_t which;

	if (!call->accepts || call->view != note->view) {
		world_fail(b->world,
			   "offers: an operation is sent to agent %s, and no offer of it was "
			   "accepted",
			   note->view->id);
		return;
	}
	if (!tally_within(b, &note->consumed, &call->pool, &which)) {
		world_fail(b->world,
			   "sums: an operation of framework %s needs %g of '%s', %g are left of "
			   "what it accepted",
			   call->fw->id, (double)tally_of(&note->consumed, which) / 1000,
			   kind_key(b, which), (double)tally_of(&call->pool, which) / 1000);
		return;
	}
	tally_take_all(&call->pool, &note->consumed);
	/* What a volume is resized to comes with a later offer. */
	if (operation->type != OPERATION(GROW_VOLUME) &&
	    operation->type != OPERATION(SHRINK_VOLUME))
		tally_put_all(&call->pool, &note->converted);
}

void books_operation_ordered(struct books *b, const char *to, const struct letter *letter)
{
	const Mesos__Internal__ApplyOperationMessage *m =
		books_unpack(b, &mesos__internal__apply_operation_message__descriptor, letter);
	struct view *v = books_view_at(b, to);
	struct operation_note *note;
	uint32_t which;

	if (!v) {
		world_fail(b->world, "routes: an operation is sent to %s, where no agent is", to);
		return;
	}
	note = xcalloc(1, sizeof(*note));
	memcpy(note->uuid, m->operation_uuid->value.data, sizeof(note->uuid));
	note->view = v;
	books_operations_convert(b, note, m->operation_info);
	HASH_ADD(hh, b->operations, uuid, sizeof(note->uuid), note);
	if (m->framework_id)
		take_from_pool(b, note, m->operation_info);
	if (!tally_within(b, &note->consumed, &v->total, &which))
		world_fail(b->world,
			   "sums: an operation needs %g of '%s' of agent %s, which has %g",
			   (double)tally_of(&note->consumed, which) / 1000, kind_key(b, which),
			   v->id, (double)tally_of(&v->total, which) / 1000);
	change_total(b, v, &note->consumed, &note->converted);
}

static bool books_operations_is_over(Mesos__OperationState state)
{
	return state != MESOS__OPERATION_STATE__OPERATION_PENDING &&
	       state != MESOS__OPERATION_STATE__OPERATION_UNREACHABLE &&
	       state != MESOS__OPERATION_STATE__OPERATION_RECOVERING &&
	       state != MESOS__OPERATION_STATE__OPERATION_UNKNOWN;
}

static bool has_operations(const struct books *b, const struct view *v)
{
	const struct operation_note *note;

	for (note = b->operations; note; note = note->hh.next) {
		if (note->view == v)
			return true;
	}
	return false;
}

static void books_operations_finish(struct books *b, struct operation_note *note)
{
	const struct view *v = note->view;

	note_free(b, note);
	if (!v->outdated && !has_operations(b, v))
		books_resources_confirmed(b, v);
}

void books_operation_status(struct books *b, const char *from, const struct letter *letter)
{
	const Mesos__Internal__UpdateOperationStatusMessage *m = books_unpack(
		b, &mesos__internal__update_operation_status_message__descriptor, letter);
	const Mesos__OperationStatus *latest = m->latest_status ? m->latest_status : m->status;
	struct operation_note *note;

	if (!m->operation_uuid || m->operation_uuid->value.len != sizeof(note->uuid) ||
	    !books_operations_is_over(latest->state))
		return;
	HASH_FIND(hh, b->operations, m->operation_uuid->value.data, sizeof(note->uuid), note);
	if (!note || strcmp(note->view->address, from))
		return;
	if (latest->state == MESOS__OPERATION_STATE__OPERATION_FINISHED)
		books_operations_finish(b, note);
	else
		note->failed = true;
}

void books_undo_operations(struct books *b)
{
	struct operation_note *note, *next;

	HASH_ITER (hh, b->operations, note, next) {
		struct view *v = note->view;
		struct tally rest = {0};
		uint32_t which;

		if (!note->failed)
			continue;
		tally_put_all(&rest, &v->total);
		tally_take_all(&rest, &v->used);
		tally_take_all(&rest, &v->offered);
		if (tally_within(b, &note->converted, &rest, &which))
			change_total(b, v, &note->converted, &note->consumed);
		else
			v->outdated = true;
		tally_free(&rest);
		note_free(b, note);
	}
}

void books_operations_confirmed(struct books *b, struct view *v)
{
	struct operation_note *note, *next;

	HASH_ITER (hh, b->operations, note, next) {
		if (note->view == v)
			note_free(b, note);
	}
}

void books_free_operations(struct books *b)
{
	struct operation_note *note, *next;

	HASH_ITER (hh, b->operations, note, next)
		note_free(b, note);
}
