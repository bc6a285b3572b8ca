/* ACCEPT: offers become tasks, reservations and volumes.
 *
 * The offers are checked as a whole. If they are good they are taken, and the
 * operations run in their order, each against what the ones before left of them. What is
 * left at the end goes back to the allocator: what operations made of the offers without a
 * filter, the rest with the call's. If the offers are not good, every task of the call is
 * lost with REASON_INVALID_OFFERS and all named offers are given back.
 */
#include "master/core/offers/accept.h"

#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "master/core/emit.h"
#include "master/core/frameworks/driver.h"
#include "master/core/frameworks/events.h"
#include "master/core/offers/offers.h"
#include "master/core/operations/operation_life.h"
#include "master/core/operations/operation_records.h"
#include "master/core/operations/operations.h"
#include "master/core/tasks/tasks.h"

#define OPERATION(name) MESOS__OFFER__OPERATION__TYPE__##name
#define REASON(name) MESOS__TASK_STATUS__REASON__REASON_##name

/* ---- offers --------------------------------------------------------------------- */

static int check_duplicates(Mesos__OfferID *const *ids, size_t count, struct err *err)
{
	struct seen {
		const char *id;
		UT_hash_handle hh;
	} *table = NULL, *all = xcalloc(count + 1, sizeof(*all)), *found;
	int rv = 0;

	for (size_t i = 0; i < count && !rv; i++) {
		HASH_FIND(hh, table, ids[i]->value, strlen(ids[i]->value), found);
		if (found) {
			rv = err_set(err, ERR_INVALID, "Duplicate offer %s in offer list",
				     ids[i]->value);
			break;
		}
		all[i].id = ids[i]->value;
		HASH_ADD_KEYPTR(hh, table, all[i].id, strlen(all[i].id), &all[i]);
	}
	HASH_CLEAR(hh, table);
	free(all);
	return rv;
}

static int check_alike(const struct framework *f, struct offer *const *offers, size_t count,
		       struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		if (offers[i]->framework != f)
			return err_set(err, ERR_INVALID,
				       "Offer %s has invalid framework %s while framework %s is "
				       "expected",
				       offers[i]->id, offers[i]->framework->id, f->id);
	}
	for (size_t i = 1; i < count; i++) {
		/* The quotes are unbalanced in Mesos, too; clients may match the text. */
		if (strcmp(offers[i]->role, offers[0]->role))
			return err_set(
				err, ERR_INVALID,
				"Aggregated offers must be allocated to the same role. Offer "
				"%s uses role '%s but another is using role '%s",
				offers[i]->id, offers[i]->role, offers[0]->role);
	}
	for (size_t i = 1; i < count; i++) {
		if (offers[i]->agent != offers[0]->agent)
			return err_set(
				err, ERR_INVALID,
				"Aggregated offers must belong to one single agent. Offer %s "
				"uses agent %s and agent %s",
				offers[i]->id, offers[i]->agent->id, offers[0]->agent->id);
	}
	return 0;
}

int master_validate_offers(const struct master *m, const struct framework *f,
			   Mesos__OfferID *const *ids, size_t count, struct err *err)
{
	struct offer **offers;
	int rv;

	if (!count)
		return err_set(err, ERR_INVALID, "No offers specified");
	offers = xcalloc(count, sizeof(*offers));
	rv = check_duplicates(ids, count, err);
	for (size_t i = 0; i < count && !rv; i++) {
		offers[i] = master_find_offer(m, ids[i]->value);
		if (!offers[i])
			rv = err_set(err, ERR_INVALID, "Offer %s is no longer valid",
				     ids[i]->value);
	}
	if (!rv)
		rv = check_alike(f, offers, count, err);
	free(offers);
	return rv;
}

/* ---- refusing ------------------------------------------------------------------- */

void accept_refuse_task(struct master *m, struct framework *f, const Mesos__TaskInfo *task,
			Mesos__TaskState state, Mesos__TaskStatus__Reason reason,
			const char *message)
{
	struct master_status say = {
		.task_id = task->task_id->value,
		.agent_id = task->agent_id->value,
		.state = state,
		.reason = reason,
		.message = message,
	};
	Mesos__TaskStatus *status = master_make_status(m, &say);

	log_info_limited("refused task %s of framework %s: %s", say.task_id, f->id, message);
	master_count_terminal(m, f, status);
	master_tell_update(m, f, status);
}

void accept_refuse_tasks(struct master *m, struct framework *f, Mesos__TaskInfo *const *tasks,
			 size_t count, Mesos__TaskState state, Mesos__TaskStatus__Reason reason,
			 const char *message)
{
	for (size_t i = 0; i < count; i++)
		accept_refuse_task(m, f, tasks[i], state, reason, message);
}

void accept_drop(struct master *m, struct framework *f, const Mesos__Offer__Operation *operation,
		 const char *message)
{
	const char *name = operation_name(operation);

	log_warning("dropped the operation %s of framework %s: %s", name ? name : "UNKNOWN", f->id,
		    message);
	operation_life_count(m, operation->type, MESOS__OPERATION_STATE__OPERATION_ERROR, 1);
	if (operation->id)
		master_tell_operation_error(m, f, operation->id, message);
}

/* Every task is lost and every offer given back; the framework hears why. */
static void refuse_offers(struct master *m, struct framework *f,
			  const Mesos__Scheduler__Call__Accept *accept, const char *why)
{
	Mesos__TaskState state =
		f->partition_aware ? MESOS__TASK_STATE__TASK_DROPPED : MESOS__TASK_STATE__TASK_LOST;
	const char *tasks_say, *others_say;
	Mesos__TaskInfo **tasks;

	tasks_say = arena_printf(&m->out->arena, "Task launched with invalid offers: %s", why);
	others_say =
		arena_printf(&m->out->arena, "Operation attempted with invalid offers: %s", why);
	for (size_t i = 0; i < accept->n_offer_ids; i++) {
		struct offer *o = master_find_offer(m, accept->offer_ids[i]->value);

		if (o)
			master_discard_offer(m, o);
	}
	for (size_t i = 0; i < accept->n_operations; i++) {
		const Mesos__Offer__Operation *operation = accept->operations[i];
		size_t count = operation_tasks(operation, &tasks);

		if (operation_launches(operation))
			accept_refuse_tasks(m, f, tasks, count, state, REASON(INVALID_OFFERS),
					    tasks_say);
		else
			accept_drop(m, f, operation, others_say);
	}
}

/* ---- the operations in their order ----------------------------------------------------------- */

/* Who wants to hear of an operation must be able to, and its agent, too. */
static int check_feedback(const struct accepting *accepting,
			  const Mesos__Offer__Operation *operation, struct err *err)
{
	const struct agent *a = accepting->a;

	if (!operation->id)
		return 0;
	if (operation_launches(operation))
		return err_set(err, ERR_INVALID, "The `id` field cannot be set on %s operations",
			       operation_name(operation));
	if (!a->resource_provider)
		return err_set(err, ERR_INVALID,
			       "Operation requested feedback, but agent %s does not have the "
			       "required RESOURCE_PROVIDER capability",
			       a->id);
	if (!a->operation_feedback)
		return err_set(err, ERR_INVALID,
			       "Operation on agent default resources requested feedback, but agent "
			       "%s does not have the required AGENT_OPERATION_FEEDBACK and "
			       "RESOURCE_PROVIDER capabilities",
			       a->id);
	return 0;
}

static void refuse_operation(struct master *m, struct accepting *accepting,
			     const Mesos__Offer__Operation *operation, const char *why)
{
	Mesos__TaskInfo **tasks;
	size_t count = operation_tasks(operation, &tasks);

	if (operation_launches(operation))
		accept_refuse_tasks(m, accepting->f, tasks, count, MESOS__TASK_STATE__TASK_ERROR,
				    operation->type == OPERATION(LAUNCH)
					    ? REASON(TASK_INVALID)
					    : REASON(TASK_GROUP_INVALID),
				    why);
	else
		accept_drop(m, accepting->f, operation, why);
}

static int check_operation(const Mesos__Offer__Operation *operation, struct err *err)
{
	int rv = operation_check(operation, err);

	if (!rv && operation->type == OPERATION(RESERVE) && operation->reserve->n_source)
		rv = err_set(err, ERR_INVALID,
			     "Reservation updates are not yet implemented for the scheduler API.");
	if (rv && !operation_launches(operation))
		err_wrap(err, rv, "Operation attempted with invalid resources");
	return rv;
}

/* Each of them is a good deal of work, and holds up everyone else. */
#define CONVERSIONS_MAX 1000

static int check_number(struct accepting *accepting, const Mesos__Offer__Operation *operation,
			struct err *err)
{
	if (operation_launches(operation) || ++accepting->conversions <= CONVERSIONS_MAX)
		return 0;
	return err_set(err, ERR_LIMIT, "More than %d operations in one call", CONVERSIONS_MAX);
}

/* Drivers cannot hear of operations: one that asks to is dropped, and its driver aborts. */
static bool drop_driver_feedback(struct master *m, const struct framework *f,
				 const Mesos__Offer__Operation *operation)
{
	static const char why[] =
		"The 'id' field was set in an offer operation, but operation feedback is not "
		"supported for the SchedulerDriver API";

	if (!operation->id || operation_launches(operation) || f->http)
		return false;
	log_warning("dropped the operation %s of framework %s: %s", operation_name(operation),
		    f->id, why);
	if (framework_connected(f))
		driver_tell_error(m, f->pid, f->reached,
				  arena_printf(&m->out->arena,
					       "%s; please use the HTTP scheduler API for this "
					       "feature",
					       why));
	return true;
}

/* True if the operation goes on. */
static bool admit_operation(struct master *m, struct accepting *accepting,
			    const Mesos__Offer__Operation *operation)
{
	struct err err = {{0}};

	if (!operation_name(operation)) {
		log_warning("dropped an operation of framework %s: Unknown offer operation",
			    accepting->f->id);
		return false;
	}
	if (!check_number(accepting, operation, &err) && !check_operation(operation, &err)) {
		if (drop_driver_feedback(m, accepting->f, operation))
			return false;
		if (!check_feedback(accepting, operation, &err))
			return true;
	}
	refuse_operation(m, accepting, operation, err.text);
	return false;
}

static void run_operation(struct master *m, struct accepting *accepting,
			  Mesos__Offer__Operation *operation)
{
	operation_normalise(m, operation, accepting->role);
	/* A task may need what was made before it. */
	if (operation_launches(operation))
		master_end_changes(m, accepting->a);
	if (operation->type == OPERATION(LAUNCH))
		accept_launch(m, accepting, operation->launch);
	else if (operation->type == OPERATION(LAUNCH_GROUP))
		accept_launch_group(m, accepting, operation->launch_group);
	else
		accept_convert(m, accepting, operation);
}

/* What is malformed is refused before anything runs. */
static void run_operations(struct master *m, struct accepting *accepting,
			   const Mesos__Scheduler__Call__Accept *accept)
{
	Mesos__Offer__Operation **admitted =
		arena_alloc(&m->out->arena, (accept->n_operations + 1) * sizeof(*admitted));
	size_t count = 0;

	for (size_t i = 0; i < accept->n_operations; i++) {
		if (admit_operation(m, accepting, accept->operations[i]))
			admitted[count++] = accept->operations[i];
	}
	for (size_t i = 0; i < count; i++)
		run_operation(m, accepting, admitted[i]);
	master_end_changes(m, accepting->a);
}

static void count_launches(struct master *m, const Mesos__Scheduler__Call__Accept *accept)
{
	for (size_t i = 0; i < accept->n_operations; i++) {
		const Mesos__Offer__Operation *operation = accept->operations[i];

		if (!operation->has_type || operation->type != OPERATION(LAUNCH))
			continue;
		if (operation->launch && operation->launch->n_task_infos)
			m->counters.messages_launch_tasks++;
		else
			m->counters.messages_decline_offers++;
	}
}

/* The offers are no longer outstanding; their sum is what operations may use. */
static void take_offers(struct master *m, struct accepting *accepting,
			const Mesos__Scheduler__Call__Accept *accept)
{
	for (size_t i = 0; i < accept->n_offer_ids; i++) {
		struct offer *o = master_find_offer(m, accept->offer_ids[i]->value);

		accepting->a = o->agent;
		accepting->role = master_text(m, o->role);
		resources_add(&accepting->offered, &o->resources);
		accepting->f->counters.offers_accepted++;
		master_take_offer(m, o);
	}
	resources_copy(&accepting->remaining, &accepting->offered);
	accept_note_shared(accepting);
}

void accept_note_shared(struct accepting *accepting)
{
	resources_clear(&accepting->shared);
	for (uint32_t i = 0; i < accepting->remaining.count; i++) {
		const struct resource_piece *piece = &accepting->remaining.pieces[i];

		if (resource_shape_shared(piece->shape))
			resources_add_piece(&accepting->shared, piece);
	}
}

static void accept_recover(struct master *m, const struct accepting *accepting,
			   const struct resources *r, const struct allocator_filter *filter)
{
	if (!resources_empty(r))
		allocator_recover(m->allocator, m->now, accepting->f->alloc, accepting->a->alloc, r,
				  filter);
}

/* What was offered and not used is refused with the filter; what came to be in this call
 * is not. */
static void give_back(struct master *m, struct accepting *accepting,
		      const struct allocator_filter *filter)
{
	struct resources converted = RESOURCES_INIT;

	resources_copy(&converted, &accepting->remaining);
	resources_subtract(&converted, &accepting->offered);
	resources_subtract(&accepting->remaining, &converted);
	resources_add(&converted, &accepting->resized);
	accept_recover(m, accepting, &converted, NULL);
	accept_recover(m, accepting, &accepting->remaining, filter);
	resources_free(&converted);
}

void master_accept(struct master *m, struct framework *f,
		   const Mesos__Scheduler__Call__Accept *accept)
{
	struct accepting accepting = {.f = f};
	struct allocator_filter filter = master_filter(accept->filters);
	struct err err = {{0}};

	count_launches(m, accept);
	if (master_validate_offers(m, f, accept->offer_ids, accept->n_offer_ids, &err)) {
		refuse_offers(m, f, accept, err.text);
		return;
	}
	take_offers(m, &accepting, accept);
	run_operations(m, &accepting, accept);
	give_back(m, &accepting, &filter);
	resources_free(&accepting.offered);
	resources_free(&accepting.remaining);
	resources_free(&accepting.shared);
	resources_free(&accepting.resized);
}
