/* Offers, and the calls that answer them. An offer is made by an OFFERS event and ends with a
 * RESCIND, an ACCEPT or DECLINE that the master took, a new subscription or the end of the
 * stream, of the framework, or of the master. */
#include "lab/books/books_offers.h"

#include <stdlib.h>
#include <string.h>

#include "lab/books/books_agents.h"
#include "lab/books/books_debts.h"
#include "lab/books/books_hosts.h"
#include "lab/books/books_internal.h"
#include "lab/books/books_kills.h"
#include "lab/books/books_registry.h"
#include "lab/books/books_roles.h"
#include "lab/books/books_tally.h"
#include "lab/books/books_tasks.h"
#include "lab/books/records.h"

#define CALL(name) MESOS__SCHEDULER__CALL__TYPE__##name
#define REFUSE_DEFAULT 5.0 /* seconds */

/* ---- offers --------------------------------------------------------------------- */

static struct offered *find_offer(const struct books *b, const char *id)
{
	struct offered *o;

	HASH_FIND_STR(b->offers, id, o);
	return o;
}

void books_end_offer(struct books *b, struct offered *o)
{
	tally_take_all(&o->view->offered, &o->amounts);
	books_give_back(o->seat, &o->amounts);
	list_remove(&o->by_view);
	list_remove(&o->by_fw);
	HASH_DEL(b->offers, o);
	tally_free(&o->amounts);
	free(o->id);
	free(o);
}

void books_end_offers_of(struct books *b, struct fw *fw)
{
	while (!list_empty(&fw->offers))
		books_end_offer(b, list_first(&fw->offers, struct offered, by_fw));
}

static const char *offer_role(const struct fw *fw, const Mesos__Offer *offer)
{
	struct seat *seat, *next;

	if (offer->allocation_info && offer->allocation_info->role)
		return offer->allocation_info->role;
	list_for_each (seat, next, &fw->seats, by_fw) {
		if (fw->plain && seat->subscribed)
			return seat->role->name;
	}
	return "*";
}

/* What a framework of one role does not know. */
static bool tells_of_roles(const Mesos__Offer *offer)
{
	if (offer->allocation_info)
		return true;
	for (size_t i = 0; i < offer->n_resources; i++) {
		if (offer->resources[i]->allocation_info || offer->resources[i]->n_reservations)
			return true;
	}
	return false;
}

static bool check_offer(struct books *b, struct fw *fw, const Mesos__Offer *offer)
{
	const char *id = offer->id->value, *agent_id = offer->agent_id->value;
	const struct view *v = books_view(b, agent_id);
	const char *role = offer_role(fw, offer);

	if (strcmp(offer->framework_id->value, fw->id))
		world_fail(b->world, "routes: framework %s is sent %s, which is framework %s's",
			   fw->id, id, offer->framework_id->value);
	else if (find_offer(b, id))
		world_fail(b->world, "offers: %s is made twice", id);
	else if (!v || (v->leaving && !books_master_paused(b)))
		world_fail(b->world, "offers: %s is of agent %s, which is not registered", id,
			   agent_id);
	else if (!v->connected)
		world_fail(b->world, "offers: %s is of agent %s, which is disconnected", id,
			   agent_id);
	else if (fw->torn)
		world_fail(b->world, "offers: %s is made to framework %s, which is torn down", id,
			   fw->id);
	else if (fw->inactive)
		world_fail(b->world,
			   "offers: %s is made to framework %s, whose driver wants no more", id,
			   fw->id);
	else if (fw->plain && tells_of_roles(offer))
		world_fail(b->world,
			   "routes: %s tells framework %s, which is of one role, of allocation", id,
			   fw->id);
	else if (!books_seat(b, fw, role)->subscribed)
		world_fail(b->world,
			   "routes: %s to framework %s is allocated to role %s, which it is not in",
			   id, fw->id, role);
	return v && !b->world->failure;
}

static void add_offer(struct books *b, struct fw *fw, const Mesos__Offer *offer)
{
	struct offered *o;

	if (!check_offer(b, fw, offer))
		return;
	o = xcalloc(1, sizeof(*o));
	o->id = xstrdup(offer->id->value);
	o->fw = fw;
	o->view = books_view(b, offer->agent_id->value);
	tally_put_messages(b, &o->amounts, offer->resources, offer->n_resources, AS_IS);
	tally_put_all(&o->view->offered, &o->amounts);
	o->seat = books_seat(b, fw, offer_role(fw, offer));
	books_grant(b, o->seat, &o->amounts);
	o->view->giving = o->seat;
	o->view->idle = 0;
	list_append(&o->view->offers, &o->by_view);
	list_append(&fw->offers, &o->by_fw);
	HASH_ADD_KEYPTR(hh, b->offers, o->id, strlen(o->id), o);
	books_touch(b, o->view);
}

void books_offers_made(struct books *b, struct fw *fw,
		       const Mesos__Scheduler__Event__Offers *offers)
{
	if (!fw) {
		world_fail(b->world, "routes: offers on a stream that nobody subscribed");
		return;
	}
	for (size_t i = 0; i < offers->n_offers; i++)
		add_offer(b, fw, offers->offers[i]);
}

void books_rescinded(struct books *b, struct fw *fw, const char *offer_id)
{
	struct offered *o = find_offer(b, offer_id);

	if (!o || o->fw != fw)
		world_fail(b->world, "offers: %s is rescinded to framework %s, which has it not",
			   offer_id, fw ? fw->id : "(none)");
	else
		books_end_offer(b, o);
}

/* ---- calls -------------------------------------------------------------------------- */

/* Its tasks are its own from now on, launched or not. */
static void name_tasks(struct books *b, const struct fw *fw,
		       const Mesos__Scheduler__Call__Accept *accept)
{
	for (size_t i = 0; i < accept->n_operations; i++) {
		const Mesos__Offer__Operation *o = accept->operations[i];

		for (size_t k = 0; o->launch && k < o->launch->n_task_infos; k++)
			books_task(b, fw->id, o->launch->task_infos[k]->task_id->value, true);
		for (size_t k = 0; o->launch_group && k < o->launch_group->task_group->n_tasks; k++)
			books_task(b, fw->id, o->launch_group->task_group->tasks[k]->task_id->value,
				   true);
	}
}

static void note_filter(struct books *b, struct fw *fw, const Mesos__Filters *filters)
{
	double seconds =
		filters && filters->has_refuse_seconds ? filters->refuse_seconds : REFUSE_DEFAULT;
	int64_t refusal = (int64_t)((seconds < 1e8 ? seconds : 1e8) * SECOND);
	int64_t until = b->world->now + refusal;

	/* A long one that is over may come back with a crash, after shorter ones: see
	 * books_master_began(). */
	if (refusal > fw->refusal)
		fw->refusal = refusal;
	if (until > fw->filters_until)
		fw->filters_until = until;
}

static void answer_offers(struct books *b, struct current_call *call, Mesos__OfferID *const *ids,
			  size_t count, const Mesos__Filters *filters)
{
	call->accepts = count > 0;
	call->view = NULL;
	tally_clear(&call->pool);
	for (size_t i = 0; i < count; i++) {
		struct offered *o = find_offer(b, ids[i]->value);

		if (!o || o->fw != call->fw || (call->view && o->view != call->view)) {
			call->accepts = false;
		} else {
			call->view = o->view;
			tally_put_all(&call->pool, &o->amounts);
		}
		/* Even another's ends, refused: Mesos discards every offer that is named. */
		if (!o)
			continue;
		note_filter(b, o->fw, filters);
		books_end_offer(b, o);
	}
}

void books_tear_down(struct books *b, struct fw *fw)
{
	fw->torn = fw->over = true;
	books_end_offers_of(b, fw);
	books_fw_torn(b, fw);
	while (!list_empty(&fw->claims))
		books_drop_claim(b, list_first(&fw->claims, struct claim, by_fw));
}

static void name_reconciled(struct books *b, const struct fw *fw,
			    const Mesos__Scheduler__Call__Reconcile *reconcile)
{
	struct claim *c, *next;

	/* What the master has it must tell of. */
	list_for_each (c, next, &fw->claims, by_fw) {
		if (!c->executor && !reconcile->n_tasks)
			books_must_hear(b, books_claimed(b, c));
	}
	for (size_t i = 0; i < reconcile->n_tasks; i++) {
		const char *id = reconcile->tasks[i]->task_id->value;
		struct task *t = books_task(b, fw->id, id, true);

		if (books_claim(b, NULL, fw->id, id))
			books_must_hear(b, t);
	}
}

void books_call_delivered(struct books *b, const struct letter *letter)
{
	struct current_call *call = &b->call;
	struct err err;

	arena_reset(&call->arena);
	call->call = proto_unpack(&mesos__scheduler__call__descriptor, &call->arena,
				  letter->bytes.data, letter->bytes.len, &err);
	call->accepts = false;
	call->fw = NULL;
	if (call->call && call->call->framework_id)
		call->fw = books_fw(b, call->call->framework_id->value);
}

void books_call_answered(struct books *b, int status)
{
	if (b->call.call && b->call.fw && status < 300)
		books_call_taken(b);
}

void books_call_taken(struct books *b)
{
	struct current_call *call = &b->call;
	const Mesos__Scheduler__Call *c = call->call;

	switch (c->type) {
	case CALL(ACCEPT):
		name_tasks(b, call->fw, c->accept);
		answer_offers(b, call, c->accept->offer_ids, c->accept->n_offer_ids,
			      c->accept->filters);
		break;
	case CALL(DECLINE):
		answer_offers(b, call, c->decline->offer_ids, c->decline->n_offer_ids,
			      c->decline->filters);
		call->accepts = false;
		break;
	case CALL(TEARDOWN):
		books_tear_down(b, call->fw);
		break;
	case CALL(SUPPRESS):
		call->fw->suppressed = true;
		break;
	case CALL(REVIVE):
		call->fw->suppressed = false;
		call->fw->filters_until = 0;
		break;
	case CALL(RECONCILE):
		name_reconciled(b, call->fw, c->reconcile);
		break;
	case CALL(KILL):
		books_kill_called(b, call->fw, c->kill->task_id->value);
		break;
	case CALL(ACKNOWLEDGE):
		books_acknowledged(b, call->fw, c->acknowledge);
		break;
	default:
		break;
	}
}

/* ---- launches --------------------------------------------------------------------------- */

static bool books_offers_take(struct books *b, const char *what, const char *id,
			      Mesos__Resource *const *list, size_t count)
{
	struct tally want = {0};
	uint32_t which;
	bool there;

	tally_put_messages(b, &want, list, count, AS_IS);
	there = tally_within(b, &want, &b->call.pool, &which);
	if (!there)
		world_fail(b->world,
			   "sums: %s %s of framework %s is launched with %g of '%s', %g are left "
			   "of what was accepted",
			   what, id, b->call.fw->id, (double)tally_of(&want, which) / 1000,
			   kind_key(b, which), (double)tally_of(&b->call.pool, which) / 1000);
	tally_take_all(&b->call.pool, &want);
	tally_free(&want);
	return there;
}

static void launch_executor(struct books *b, const Mesos__ExecutorInfo *info, bool launched)
{
	const char *id = info->executor_id->value;
	struct current_call *call = &b->call;
	bool known = books_claim(b, call->view, call->fw->id, id) != NULL;

	if (known == launched) {
		world_fail(b->world,
			   known ? "sums: executor %s of framework %s is launched again on %s"
				 : "sums: executor %s of framework %s is not known on %s, and not "
				   "launched",
			   id, call->fw->id, call->view->id);
		return;
	}
	if (!launched || !books_offers_take(b, "executor", id, info->resources, info->n_resources))
		return;
	books_add_claim(b, true, call->view, call->fw, id, info->resources, info->n_resources);
}

/* False: it is on an agent of which no offer was accepted. */
static bool run_is_expected(struct books *b, const Mesos__FrameworkInfo *framework,
			    const Mesos__TaskInfo *task)
{
	const struct current_call *call = &b->call;

	if (call->accepts && !strcmp(framework->id->value, call->fw->id) &&
	    !strcmp(task->agent_id->value, call->view->id))
		return true;
	world_fail(b->world,
		   "offers: task %s of framework %s is launched on agent %s, and no offer "
		   "of it was accepted",
		   task->task_id->value, framework->id->value, task->agent_id->value);
	return false;
}

static void run_task(struct books *b, const Mesos__TaskInfo *task, size_t group)
{
	const char *id = task->task_id->value;
	struct current_call *call = &b->call;

	if (!books_offers_take(b, "task", id, task->resources, task->n_resources))
		return;
	if (books_claim(b, NULL, call->fw->id, id)) {
		world_fail(b->world,
			   "tasks: task %s of framework %s is launched again, and the "
			   "end of the one before is not acknowledged",
			   id, call->fw->id);
		return;
	}
	books_add_claim(b, false, call->view, call->fw, id, task->resources, task->n_resources);
	books_task_launched(b, call->fw, task, group);
	books_touch(b, call->view);
}

void books_run_task(struct books *b, const struct letter *letter)
{
	const Mesos__Internal__RunTaskMessage *m =
		books_unpack(b, &mesos__internal__run_task_message__descriptor, letter);

	if (!run_is_expected(b, m->framework, m->task))
		return;
	books_learn_fw(b, b->call.fw, m->framework);
	if (m->task->executor)
		launch_executor(b, m->task->executor, m->launch_executor);
	if (!b->world->failure)
		run_task(b, m->task, 0);
}

void books_run_group(struct books *b, const struct letter *letter)
{
	const Mesos__Internal__RunTaskGroupMessage *m =
		books_unpack(b, &mesos__internal__run_task_group_message__descriptor, letter);

	for (size_t i = 0; i < m->task_group->n_tasks; i++) {
		if (!run_is_expected(b, m->framework, m->task_group->tasks[i]))
			return;
	}
	books_learn_fw(b, b->call.fw, m->framework);
	launch_executor(b, m->executor, m->launch_executor);
	for (size_t i = 0; i < m->task_group->n_tasks && !b->world->failure; i++)
		run_task(b, m->task_group->tasks[i], m->task_group->n_tasks);
}
