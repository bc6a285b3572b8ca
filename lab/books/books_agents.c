/* Agents in the eyes of the present master: what it was told they have, and what it gave
 * away of it. Only what the master was sent, and what it sent, counts. */
#include "lab/books/books_agents.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lab/books/books_debts.h"
#include "lab/books/books_disks.h"
#include "lab/books/books_hosts.h"
#include "lab/books/books_internal.h"
#include "lab/books/books_kills.h"
#include "lab/books/books_offers.h"
#include "lab/books/books_operations.h"
#include "lab/books/books_registry.h"
#include "lab/books/books_roles.h"
#include "lab/books/books_tally.h"
#include "lab/books/books_tasks.h"
#include "lab/books/records.h"

/* ---- views ---------------------------------------------------------------------- */

struct view *books_view(const struct books *b, const char *agent_id)
{
	struct view *v;

	HASH_FIND_STR(b->views, agent_id, v);
	return v;
}

struct view *books_view_at(const struct books *b, const char *address)
{
	struct view *v, *next;

	HASH_ITER (hh, b->views, v, next) {
		if (!strcmp(v->address, address))
			return v;
	}
	return NULL;
}

void books_touch(struct books *b, struct view *v)
{
	if (list_empty(&v->touched))
		list_append(&b->touched, &v->touched);
}

void books_set_total(struct books *b, struct view *v, const struct tally *total)
{
	struct known_agent *k = books_known(b, v->id);

	tally_take_all(&b->cluster, &v->total);
	tally_clear(&v->total);
	tally_put_all(&v->total, total);
	tally_put_all(&b->cluster, &v->total);
	tally_clear(&k->total);
	tally_put_all(&k->total, total);
	books_touch(b, v);
}

static struct view *view_create(struct books *b, const char *id, const char *address)
{
	struct view *v = xcalloc(1, sizeof(*v));

	v->id = xstrdup(id);
	v->address = xstrdup(address);
	list_init(&v->claims);
	list_init(&v->offers);
	list_init(&v->touched);
	HASH_ADD_KEYPTR(hh, b->views, v->id, strlen(v->id), v);
	return v;
}

static void view_free(struct books *b, struct view *v)
{
	while (!list_empty(&v->claims))
		books_drop_claim(b, list_first(&v->claims, struct claim, by_view));
	while (!list_empty(&v->offers))
		books_end_offer(b, list_first(&v->offers, struct offered, by_view));
	books_operations_confirmed(b, v);
	tally_take_all(&b->cluster, &v->total);
	list_remove(&v->touched);
	HASH_DEL(b->views, v);
	tally_free(&v->total);
	tally_free(&v->used);
	tally_free(&v->offered);
	free(v->id);
	free(v->address);
	free(v);
}

/* ---- what is used ------------------------------------------------------------------- */

/* A task's id is its framework's alone; executors of one id may be on several agents. */
static void claim_key(const struct view *of, const char *framework_id, const char *id,
		      struct buf *key)
{
	if (of)
		buf_puts(key, of->id);
	buf_putc(key, '/');
	buf_puts(key, framework_id);
	buf_putc(key, '/');
	buf_puts(key, id);
}

struct claim *books_claim(const struct books *b, const struct view *of, const char *framework_id,
			  const char *id)
{
	struct buf key = BUF_INIT;
	struct claim *c;

	claim_key(of, framework_id, id, &key);
	HASH_FIND(hh, b->claims, key.data, key.len, c);
	buf_free(&key);
	return c;
}

struct claim *books_add_claim(struct books *b, bool executor, struct view *v, struct fw *fw,
			      const char *id, Mesos__Resource *const *list, size_t count)
{
	struct claim *c = xcalloc(1, sizeof(*c));
	struct buf key = BUF_INIT;

	claim_key(executor ? v : NULL, fw->id, id, &key);
	c->key = buf_take(&key);
	c->view = v;
	c->fw = fw;
	c->holds = true;
	c->executor = executor;
	tally_put_messages(b, &c->amounts, list, count, AS_IS);
	tally_put_all(&v->used, &c->amounts);
	c->seat = books_seat_of(b, fw, list, count);
	books_take(c->seat, &c->amounts);
	list_append(&v->claims, &c->by_view);
	list_append(&fw->claims, &c->by_fw);
	HASH_ADD_KEYPTR(hh, b->claims, c->key, strlen(c->key), c);
	return c;
}

struct task *books_claimed(struct books *b, const struct claim *c)
{
	return books_task(b, c->fw->id, strrchr(c->key, '/') + 1, true);
}

void books_release(struct books *b, struct claim *c)
{
	if (!c->holds)
		return;
	c->holds = false;
	/* What is offered in this step was offered before. */
	c->view->giving = NULL;
	tally_take_all(&c->view->used, &c->amounts);
	books_give_back(c->seat, &c->amounts);
	books_note_released(b, c->seat, &c->amounts);
}

void books_drop_claim(struct books *b, struct claim *c)
{
	books_release(b, c);
	list_remove(&c->by_view);
	list_remove(&c->by_fw);
	HASH_DEL(b->claims, c);
	tally_free(&c->amounts);
	free(c->key);
	free(c);
}

void books_executor_exited(struct books *b, const char *from, const struct letter *letter)
{
	const Mesos__Internal__ExitedExecutorMessage *m =
		books_unpack(b, &mesos__internal__exited_executor_message__descriptor, letter);
	struct view *v = books_view(b, m->agent_id->value);
	struct claim *c =
		v ? books_claim(b, v, m->framework_id->value, m->executor_id->value) : NULL;

	if (c && !strcmp(v->address, from))
		books_drop_claim(b, c);
}

/* ---- registration ---------------------------------------------------------------------- */

static struct pending *find_pending(const struct books *b, const char *address)
{
	struct pending *p;

	HASH_FIND_STR(b->pendings, address, p);
	return p;
}

static void pending_free(struct books *b, struct pending *p)
{
	HASH_DEL(b->pendings, p);
	arena_free(&p->arena);
	free(p->address);
	free(p);
}

void books_want_registration(struct books *b, const char *from, const struct letter *letter)
{
	struct pending *p = find_pending(b, from);
	struct err err;

	if (!p) {
		p = xcalloc(1, sizeof(*p));
		p->address = xstrdup(from);
		HASH_ADD_KEYPTR(hh, b->pendings, p->address, strlen(p->address), p);
	}
	arena_free(&p->arena);
	p->first = NULL;
	p->again = NULL;
	p->asked++;
	if (letter->type == &mesos__internal__register_slave_message__descriptor)
		p->first = proto_unpack(&mesos__internal__register_slave_message__descriptor,
					&p->arena, letter->bytes.data, letter->bytes.len, &err);
	else
		p->again = proto_unpack(&mesos__internal__reregister_slave_message__descriptor,
					&p->arena, letter->bytes.data, letter->bytes.len, &err);
	if (p->first)
		books_note_capacity(b, from, p->first->agent);
	if (p->again)
		books_note_capacity(b, from, p->again->agent);
}

/* Only those that are gone, or on a machine that is down. The letter does not say who it is:
 * whoever is at the address, or asked from there, if the books know. */
void books_agent_sent_away(struct books *b, const char *address)
{
	const struct pending *p = find_pending(b, address);
	const struct view *v = books_view_at(b, address);

	books_agent_leaves(b, address);
	if ((!v && !(p && p->again)) ||
	    (p && p->again && books_wanted_away(b, p->again->agent->id->value)) ||
	    (v && books_wanted_away(b, v->id)))
		return;
	world_fail(b->world, "durable: the agent at %s is told to shut down, and nobody wanted it",
		   address);
}

/* What it detected, with its reservations and volumes made of that. */
static void learn_total(struct books *b, struct view *v, const Mesos__AgentInfo *info,
			Mesos__Resource *const *checkpointed, size_t count)
{
	struct tally total = {0}, less = {0};
	uint32_t which;

	tally_put_messages(b, &total, info->resources, info->n_resources, AS_IS);
	for (size_t i = 0; i < count; i++) {
		tally_clear(&less);
		tally_put_message(b, &less, checkpointed[i], AS_DETECTED);
		if (!tally_within(b, &less, &total, &which))
			continue;
		tally_take_all(&total, &less);
		tally_put_message(b, &total, checkpointed[i], AS_IS);
	}
	books_set_total(b, v, &total);
	books_operations_confirmed(b, v);
	tally_free(&total);
	tally_free(&less);
}

static bool has_version(const struct view *v, const Mesos__UUID *uuid)
{
	return uuid->value.len == sizeof(v->version) &&
	       !memcmp(uuid->value.data, v->version, sizeof(v->version));
}

static void learn_version(struct view *v, const Mesos__UUID *uuid)
{
	if (uuid->value.len == sizeof(v->version))
		memcpy(v->version, uuid->value.data, sizeof(v->version));
	v->outdated = false;
}

void books_agent_updated(struct books *b, const char *from, const struct letter *letter)
{
	const Mesos__Internal__UpdateSlaveMessage *m =
		books_unpack(b, &mesos__internal__update_slave_message__descriptor, letter);
	struct view *v = books_view(b, m->agent_id->value);

	if (v && !strcmp(v->address, from) && !has_version(v, m->resource_version_uuid))
		v->outdated = true;
}

/* Another one at the same address is no more. */
static void drop_others(struct books *b, const char *id, const char *address)
{
	struct view *v, *next;

	HASH_ITER (hh, b->views, v, next) {
		if (strcmp(v->id, id) && !strcmp(v->address, address)) {
			if (!list_empty(&v->offers))
				world_fail(b->world,
					   "offers: agent %s has offers, and another one (%s) "
					   "is admitted in its place",
					   v->id, id);
			view_free(b, v);
		}
	}
}

void books_registered(struct books *b, const char *agent_id, const char *address)
{
	struct pending *p = find_pending(b, address);
	struct view *v = books_view(b, agent_id);

	if (!books_stored(b, "master", AFTER_CRASH, "agent/%s", agent_id))
		world_fail(b->world,
			   "durable: agent %s is told that it is registered, and a crash "
			   "would make the master forget it",
			   agent_id);
	if (v)
		return;
	if (!p || !p->first) {
		world_fail(b->world, "routes: agent %s at %s is registered and did not ask",
			   agent_id, address);
		return;
	}
	books_said_admitted(b, agent_id);
	drop_others(b, agent_id, address);
	v = view_create(b, agent_id, address);
	v->connected = true;
	v->since = b->world->now;
	learn_total(b, v, p->first->agent, p->first->checkpointed_resources,
		    p->first->n_checkpointed_resources);
	learn_version(v, p->first->resource_version_uuid);
}

/* How long somebody says or hears nothing. */
static int64_t silent_until(const struct process *p)
{
	int64_t until = p->deaf_until > p->mute_until ? p->deaf_until : p->mute_until;

	return p->paused_until > until ? p->paused_until : until;
}

/* Who answers is waited for: an agent that is stopped, deaf or mute says nothing meanwhile, one
 * whose master is does not reach it, and a master that was stopped before the doubt ended hears it
 * late. */
bool books_unsure(const struct books *b, struct view *v)
{
	const struct process *both[2];

	if (b->master && b->master->paused_since < v->unsure_until &&
	    b->master->paused_until + MINUTE > v->unsure_until)
		v->unsure_until = b->master->paused_until + MINUTE;
	if (b->world->now >= v->unsure_until)
		return false;
	both[0] = process_at(b->world, v->address);
	both[1] = b->master;
	if (!both[0] || v->unsure_until == INT64_MAX)
		return true;
	for (int i = 0; i < 2 && both[i]; i++) {
		int64_t until = silent_until(both[i]) + MINUTE;

		if (until > b->world->now + MINUTE && until > v->unsure_until)
			v->unsure_until = until;
	}
	return true;
}

/* For so long from now at least; a longer doubt stays. */
static void be_unsure(const struct books *b, struct view *v, int64_t span)
{
	if (v->unsure_until < b->world->now + span)
		v->unsure_until = b->world->now + span;
}

/* A bad scheduler launched it twice, and the master remembers it on another agent; the first of
 * them, too, if it crashed and the record of the second launch was lost. */
static bool is_elsewhere(const struct books *b, const struct view *v, const struct task *t)
{
	return t->launches > 1 && t->agent_id &&
	       (strcmp(t->agent_id, v->id) || t->crashes != b->crashes) &&
	       books_stored(b, "master", AFTER_KILL, "task/%s", t->key);
}

static void take_tasks(struct books *b, struct view *v, bool known,
		       const Mesos__Internal__ReregisterSlaveMessage *message)
{
	for (size_t i = 0; i < message->n_tasks; i++) {
		const Mesos__Task *task = message->tasks[i];
		const char *framework_id = task->framework_id->value;
		struct fw *fw = books_fw(b, framework_id);
		struct task *t = books_task(b, framework_id, task->task_id->value, true);
		struct claim *c = books_claim(b, NULL, framework_id, task->task_id->value);

		t->named_in = b->steps;
		t->mentioned = b->world->now;
		t->said |= 1u << task->state;
		/* A master that has the task goes by what it sent itself. */
		if (!known || !c)
			books_note_sent_last(b, t, task);
		if (task->has_status_update_state)
			t->said |= 1u << task->status_update_state;
		/* What is over is not taken in by a master that had the agent. */
		if (c || fw->torn || is_elsewhere(b, v, t) ||
		    (known && (t->acknowledged || books_terminal(task->state)))) {
			/* Launched twice, it is counted as long as it runs, though the other one
			 * has ended; else it may be, until its update comes. */
			if (!c && t->launches > 1 && !books_terminal(task->state))
				be_unsure(b, v, HOUR);
			else if (!c && books_stored(b, "master", AFTER_KILL, "task/%s", t->key))
				be_unsure(b, v, t->launches > 1 ? HOUR : MINUTE);
			continue;
		}
		free(t->agent_id);
		t->agent_id = xstrdup(v->id);
		c = books_add_claim(b, false, v, fw, task->task_id->value, task->resources,
				    task->n_resources);
		if (books_terminal(task->state))
			books_release(b, c);
		else if (!known)
			books_kill_inherited(b, c);
	}
}

static void take_executors(struct books *b, struct view *v,
			   const Mesos__Internal__ReregisterSlaveMessage *message)
{
	struct claim *c, *next;

	list_for_each (c, next, &v->claims, by_view)
		c->seen = false;
	for (size_t i = 0; i < message->n_executor_infos; i++) {
		const Mesos__ExecutorInfo *info = message->executor_infos[i];
		struct fw *fw = books_fw(b, info->framework_id->value);

		if (fw->torn)
			continue;
		c = books_claim(b, v, fw->id, info->executor_id->value);
		if (!c)
			c = books_add_claim(b, true, v, fw, info->executor_id->value,
					    info->resources, info->n_resources);
		c->seen = true;
	}
	list_for_each (c, next, &v->claims, by_view) {
		if (c->executor && !c->seen)
			books_drop_claim(b, c);
	}
}

/* Those that it must have, and did not name in what it sent just now. */
static void ask_for_tasks(struct books *b, struct view *v)
{
	struct task *t, *next;

	HASH_ITER (hh, b->tasks, t, next) {
		/* Launched twice, it may be remembered on the first agent, since a crash of the
		 * master lost the record of the second launch; or the other way round. */
		if (t->launches > 1 && books_stored(b, "master", AFTER_KILL, "task/%s", t->key))
			be_unsure(b, v, MINUTE);
		if (!t->agent_id || strcmp(t->agent_id, v->id))
			continue;
		t->parked = 0;
		if (t->named_in == b->steps ||
		    !books_stored(b, "master", AFTER_KILL, "task/%s", t->key))
			continue;
		be_unsure(b, v, MINUTE);
		if (t->launches == 1 && t->fw->checkpoint)
			books_owe_task(b, v, t);
	}
}

void books_reregistered(struct books *b, const char *agent_id, const char *address)
{
	struct pending *p = find_pending(b, address);
	const Mesos__Internal__ReregisterSlaveMessage *message = p ? p->again : NULL;
	struct view *v = books_view(b, agent_id);
	bool known = v != NULL;

	if (!books_stored(b, "master", AFTER_CRASH, "agent/%s", agent_id))
		world_fail(b->world,
			   "durable: agent %s is told that it is registered again, and a "
			   "crash would make the master forget it",
			   agent_id);
	if (!message || strcmp(message->agent->id->value, agent_id)) {
		world_fail(b->world, "routes: agent %s at %s is registered again and did not ask",
			   agent_id, address);
		return;
	}
	drop_others(b, agent_id, address);
	for (size_t i = 0; i < message->n_frameworks; i++)
		books_learn_fw(b, books_fw(b, message->frameworks[i]->id->value),
			       message->frameworks[i]);
	books_said_back(b, agent_id);
	if (!v)
		v = view_create(b, agent_id, address);
	if (!v->connected)
		v->since = b->world->now;
	if (v->unsure_until == INT64_MAX)
		v->unsure_until = b->world->now + MINUTE;
	v->connected = true;
	v->leaving = false;
	/* Said before of this version, and then changed by what was ordered for it. */
	if (!known || v->outdated || !has_version(v, message->resource_version_uuid))
		learn_total(b, v, message->agent, message->checkpointed_resources,
			    message->n_checkpointed_resources);
	learn_version(v, message->resource_version_uuid);
	take_executors(b, v, message);
	take_tasks(b, v, known, message);
	ask_for_tasks(b, v);
	books_kills_repeated(b, v, message);
	if (p->asked > 1)
		be_unsure(b, v, MINUTE);
	p->asked = 0;
}

/* ---- ends ------------------------------------------------------------------------------- */

/* The master takes it for disconnected: what does not survive that is lost. */
void books_agent_link_closed(struct books *b, const char *address)
{
	struct claim *c, *next_claim;
	struct view *v, *next;

	HASH_ITER (hh, b->views, v, next) {
		if (strcmp(v->address, address) || !v->connected)
			continue;
		v->connected = false;
		books_known(b, v->id)->seen = b->world->now;
		/* Whoever could say is away. */
		if (b->world->now < v->unsure_until)
			v->unsure_until = INT64_MAX;
		books_touch(b, v);
		list_for_each (c, next_claim, &v->claims, by_view) {
			if (c->fw->checkpoint)
				continue;
			if (!c->executor)
				books_must_hear(b, books_claimed(b, c));
			books_drop_claim(b, c);
		}
	}
}

/* The master takes it for lost as soon as that is stored. */
void books_agent_record_deleted(struct books *b, const char *agent_id)
{
	struct view *v = books_view(b, agent_id);
	struct claim *c, *next;

	if (!v)
		return;
	v->leaving = true;
	books_touch(b, v);
	if (books_master_paused(b))
		return;
	list_for_each (c, next, &v->claims, by_view) {
		if (!c->executor)
			books_must_hear(b, books_claimed(b, c));
	}
}

static void check_sums(struct books *b, const struct view *v)
{
	for (uint32_t i = 0; i < v->offered.count; i++) {
		uint32_t kind = v->offered.items[i].kind;
		int64_t offered = v->offered.items[i].milli;
		int64_t used = tally_of(&v->used, kind), total = tally_of(&v->total, kind);

		if (offered + used > total && !(b->kinds[kind]->shared && total > 0))
			world_fail(b->world,
				   "sums: of '%s' agent %s has %g, %g are used and %g are offered",
				   kind_key(b, kind), v->id, (double)total / 1000,
				   (double)used / 1000, (double)offered / 1000);
	}
}

/* Who is offered anything of an agent is offered all that he may have of it: what he is not
 * is lost. */
static void check_whole(struct books *b, struct view *v)
{
	if (!v->giving || !v->connected || v->leaving || books_unsure(b, v) ||
	    books_is_bounded(b, v->giving))
		return;
	for (uint32_t i = 0; i < v->total.count; i++) {
		const struct kind *kind = b->kinds[v->total.items[i].kind];
		int64_t rest = v->total.items[i].milli - tally_of(&v->used, kind->number) -
			       tally_of(&v->offered, kind->number);
		int64_t most = books_limit_left(b, v->giving, kind->number);

		if (rest > 0 && most > 0 && kind->number == kind->name)
			world_fail(b->world,
				   "sums: of '%s' %g are free on agent %s, and not offered with "
				   "the rest",
				   kind->key, (double)rest / 1000, v->id);
	}
}

void books_check_views(struct books *b)
{
	struct view *v, *next;

	if (books_master_paused(b)) {
		list_for_each (v, next, &b->touched, touched)
			v->giving = NULL;
		return;
	}
	while ((v = list_first(&b->touched, struct view, touched))) {
		list_remove(&v->touched);
		check_sums(b, v);
		check_whole(b, v);
		v->giving = NULL;
		if ((v->leaving || !v->connected) && !list_empty(&v->offers))
			world_fail(b->world, "offers: %s of agent %s is not rescinded, which is %s",
				   list_first(&v->offers, struct offered, by_view)->id, v->id,
				   v->leaving ? "removed" : "disconnected");
		if (v->leaving)
			view_free(b, v);
	}
}

/* Refusals live on; for their full length if the clock was set back, even those that were over
 * when a crash made it be forgotten. */
void books_master_began(struct books *b)
{
	struct fw *fw, *next;

	books_registry_began(b);
	HASH_ITER (hh, b->fws, fw, next) {
		int64_t until = b->world->now + fw->refusal;

		if (fw->refusal && until > fw->filters_until)
			fw->filters_until = until;
	}
}

void books_master_ended(struct books *b)
{
	struct pending *p, *next_pending;
	struct view *v, *next;
	struct fw *fw, *next_fw;
	struct seat *seat;

	HASH_ITER (hh, b->views, v, next)
		view_free(b, v);
	HASH_ITER (hh, b->pendings, p, next_pending)
		pending_free(b, p);
	/* What it was giving when it died. */
	while ((seat = list_first(&b->granted, struct seat, grant_link))) {
		list_remove(&seat->grant_link);
		tally_clear(&seat->granted);
	}
	HASH_ITER (hh, b->fws, fw, next_fw) {
		fw->torn = fw->suppressed = fw->inactive = false;
		books_set_stream(b, fw, 0);
		free(fw->pid);
		fw->pid = NULL;
	}
	b->call.call = NULL;
	b->lives_of_master++;
}
