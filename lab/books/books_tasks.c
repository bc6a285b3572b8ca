/* Tasks and what is said of them: by executors, by agents, by the master to schedulers, and
 * back. */
#include "lab/books/books_tasks.h"

#include <stdlib.h>
#include <string.h>

#include "lab/books/books_agents.h"
#include "lab/books/books_debts.h"
#include "lab/books/books_disks.h"
#include "lab/books/books_hosts.h"
#include "lab/books/books_internal.h"
#include "lab/books/books_registry.h"
#include "lab/books/books_streams.h"
#include "lab/books/records.h"
#include "lab/parts/parts.h"

#define STATE(name) MESOS__TASK_STATE__TASK_##name

bool books_terminal(Mesos__TaskState state)
{
	switch (state) {
	case STATE(STAGING):
	case STATE(STARTING):
	case STATE(RUNNING):
	case STATE(KILLING):
	case STATE(UNREACHABLE):
		return false;
	default:
		return true;
	}
}

const char *books_state_name(Mesos__TaskState state)
{
	return proto_enum_name(&mesos__task_state__descriptor, state, SPELL_V1);
}

/* ---- records -------------------------------------------------------------------- */

struct task *books_task(struct books *b, const char *framework_id, const char *task_id, bool make)
{
	struct buf key = BUF_INIT;
	struct task *t;

	buf_puts(&key, framework_id);
	buf_putc(&key, '/');
	buf_puts(&key, task_id);
	HASH_FIND(hh, b->tasks, key.data, key.len, t);
	if (!t && make) {
		t = xcalloc(1, sizeof(*t));
		t->key = buf_take(&key);
		t->fw = books_fw(b, framework_id);
		list_init(&t->waiting);
		HASH_ADD_KEYPTR(hh, b->tasks, t->key, strlen(t->key), t);
	}
	buf_free(&key);
	return t;
}

/* Peace makes it be forgotten. */
void books_note_slowness(struct books *b)
{
	if (b->world->slow_disks_until > b->slow_until)
		b->slow_until = b->world->slow_disks_until;
}

/* A master that forgets what was acknowledged asks an agent that knows nothing any more. */
static uint64_t crashes_that_matter(const struct books *b, const struct task *t)
{
	return t->host->crashes + b->crashes_of_master;
}

void books_task_launched(struct books *b, struct fw *fw, const Mesos__TaskInfo *info, size_t group)
{
	struct task *t = books_task(b, fw->id, info->task_id->value, true);

	free(t->agent_id);
	t->agent_id = xstrdup(info->agent_id->value);
	t->launches++;
	t->group = group;
	t->said = 1u << STATE(STAGING);
	t->starts = 0;
	t->ended = false;
	t->acknowledged = 0;
	t->crashes = b->crashes;
	t->host = books_host(b, books_view(b, t->agent_id)->address);
	t->host_crashes = crashes_that_matter(b, t);
	t->gone = false;
	t->parked = 0;
	t->mentioned = 0;
	t->launched = b->world->now;
	books_note_slowness(b);
	t->launched_in = b->lives_of_master + 1;
}

void books_task_ordered(struct books *b, const struct letter *letter)
{
	const Mesos__Internal__RunTaskMessage *m =
		books_unpack(b, &mesos__internal__run_task_message__descriptor, letter);

	books_task(b, m->framework->id->value, m->task->task_id->value, true)->orders++;
}

void books_group_ordered(struct books *b, const struct letter *letter)
{
	const Mesos__Internal__RunTaskGroupMessage *m =
		books_unpack(b, &mesos__internal__run_task_group_message__descriptor, letter);

	for (size_t i = 0; i < m->task_group->n_tasks; i++)
		books_task(b, m->framework->id->value, m->task_group->tasks[i]->task_id->value,
			   true)
			->orders++;
}

struct update *books_find_update(const struct books *b, const ProtobufCBinaryData *uuid)
{
	struct update *u = NULL;

	if (uuid->len == sizeof(u->uuid))
		HASH_FIND(hh, b->updates, uuid->data, sizeof(u->uuid), u);
	return u;
}

static void add_update(struct books *b, const ProtobufCBinaryData *uuid, struct task *t,
		       Mesos__TaskState state)
{
	struct update *u = xcalloc(1, sizeof(*u));

	memcpy(u->uuid, uuid->data, sizeof(u->uuid));
	u->task = t;
	u->state = state;
	HASH_ADD(hh, b->updates, uuid, sizeof(u->uuid), u);
}

/* ---- what executors and agents say ------------------------------------------------------- */

static void executor_update(struct books *b, const struct process *from, const char *framework_id,
			    const Mesos__TaskStatus *status)
{
	struct task *t = books_task(b, framework_id, status->task_id->value, true);

	if (!books_find_update(b, &status->uuid) && status->has_uuid &&
	    status->uuid.len == UUID_BYTES)
		add_update(b, &status->uuid, t, status->state);
	t->killing = t->killing || status->state == STATE(KILLING);
	books_executor_said(b, from, t, status->state);
}

void books_executor_call(struct books *b, const struct process *from, const struct letter *letter)
{
	const Mesos__Executor__Call *call =
		books_unpack(b, &mesos__executor__call__descriptor, letter);

	if (!call)
		return;
	if (call->type == MESOS__EXECUTOR__CALL__TYPE__UPDATE && call->update)
		executor_update(b, from, call->framework_id->value, call->update->status);
	for (size_t i = 0; call->subscribe && i < call->subscribe->n_unacknowledged_updates; i++)
		executor_update(b, from, call->framework_id->value,
				call->subscribe->unacknowledged_updates[i]->status);
}

static void repeated(struct books *b, const Mesos__TaskStatus *status)
{
	struct update *u = books_find_update(b, &status->uuid);

	if (u)
		books_stream_repeated(u);
}

/* The agent may tell anew what reaches it again, and not what is still on its way. */
void books_executor_call_delivered(struct books *b, const struct letter *letter)
{
	const Mesos__Executor__Call *call =
		books_unpack(b, &mesos__executor__call__descriptor, letter);

	if (!call)
		return;
	if (call->type == MESOS__EXECUTOR__CALL__TYPE__UPDATE && call->update)
		repeated(b, call->update->status);
	for (size_t i = 0; call->subscribe && i < call->subscribe->n_unacknowledged_updates; i++)
		repeated(b, call->subscribe->unacknowledged_updates[i]->status);
}

/* An agent that is drained to be gone says so of what is killed for that. */
static bool is_gone_instead(struct books *b, const struct process *from, const struct update *u,
			    Mesos__TaskState said)
{
	return books_host(b, from->address)->drained_gone && said == STATE(GONE_BY_OPERATOR) &&
	       (u->state == STATE(KILLING) || u->state == STATE(KILLED));
}

static void check_forwarded(struct books *b, const struct process *from,
			    const Mesos__Internal__StatusUpdate *update, struct update *u)
{
	const Mesos__TaskStatus *status = update->status;
	const struct task *t = u->task;
	struct task *named =
		books_task(b, update->framework_id->value, status->task_id->value, false);

	if (is_gone_instead(b, from, u, status->state))
		u->state = status->state;
	if (t != named || u->state != status->state)
		world_fail(b->world,
			   "routes: %s says that task %s of framework %s is %s, in an "
			   "update that says %s of %s",
			   from->name, status->task_id->value, update->framework_id->value,
			   books_state_name(status->state), books_state_name(u->state), t->key);
	if (t->fw->checkpoint && !books_update_stored(b, from->name, u->uuid))
		world_fail(b->world,
			   "durable: %s tells that task %s is %s, and would forget it "
			   "when it is killed",
			   from->name, t->key, books_state_name(u->state));
}

void books_agent_update_sent(struct books *b, const struct process *from,
			     const struct letter *letter)
{
	const Mesos__Internal__StatusUpdateMessage *m =
		books_unpack(b, &mesos__internal__status_update_message__descriptor, letter);
	const Mesos__Internal__StatusUpdate *update = m->update;
	const Mesos__TaskStatus *status = update->status;
	bool by_executor = status->source == MESOS__TASK_STATUS__SOURCE__SOURCE_EXECUTOR;
	struct update *u = books_find_update(b, &update->uuid);
	struct task *t = books_task(b, update->framework_id->value, status->task_id->value, true);

	t->said |= 1u << status->state;
	if (update->has_latest_state)
		t->said |= 1u << update->latest_state;
	if (!u && by_executor) {
		world_fail(b->world,
			   "routes: %s says that an executor told task %s is %s, which "
			   "none did",
			   from->name, t->key, books_state_name(status->state));
		return;
	}
	if (!u) {
		add_update(b, &update->uuid, t, status->state);
		u = books_find_update(b, &update->uuid);
	}
	check_forwarded(b, from, update, u);
	books_stream_sent(b, from, u);
}

/* Soon after its launch, unless disks are slow. */
static void check_remembered(struct books *b, const struct task *t)
{
	const struct process *master = b->master;
	const struct view *v = t->agent_id ? books_view(b, t->agent_id) : NULL;

	books_note_slowness(b);
	/* Of an agent that was lost and is back it is written anew. */
	if (!v || b->world->now - v->since <= STORE_HIGH)
		return;
	if (t->launched_in == b->lives_of_master + 1 && t->launches == 1 && !t->acknowledged &&
	    b->world->now - t->launched > STORE_HIGH && master->paused_until < t->launched &&
	    b->slow_until + SLOW_HIGH < t->launched &&
	    !books_stored(b, "master", AFTER_KILL, "task/%s", t->key))
		world_fail(b->world,
			   "durable: task %s was launched, and a master killed now would not know "
			   "it",
			   t->key);
}

void books_agent_update_delivered(struct books *b, const char *from, const struct letter *letter)
{
	const Mesos__Internal__StatusUpdateMessage *m =
		books_unpack(b, &mesos__internal__status_update_message__descriptor, letter);
	const Mesos__Internal__StatusUpdate *update = m->update;
	Mesos__TaskState state =
		update->has_latest_state ? update->latest_state : update->status->state;
	struct claim *c =
		books_claim(b, NULL, update->framework_id->value, update->status->task_id->value);

	if (c && !strcmp(c->view->address, from)) {
		struct task *t = books_claimed(b, c);

		check_remembered(b, t);
		books_must_hear(b, t);
		if (books_terminal(state))
			books_release(b, c);
	}
}

/* ---- what schedulers hear ------------------------------------------------------------------ */

/* An agent that is asked twice about what it does not know says so twice. */
static bool is_ignorance(const struct task *t, const struct update *u)
{
	return t->end == u->state && (u->state == STATE(LOST) || u->state == STATE(DROPPED));
}

/* Launched twice, it may be another agent that tells of the one before; the master, which has the
 * later one, passes that on and does not remember it. */
static bool is_of_the_one_before(struct books *b, const struct task *t,
				 const Mesos__TaskStatus *status)
{
	const struct claim *c = books_claim(b, NULL, t->fw->id, status->task_id->value);

	return c && status->agent_id && strcmp(status->agent_id->value, c->view->id);
}

static void check_uuid(struct books *b, struct task *t, const Mesos__TaskStatus *status)
{
	struct update *u = books_find_update(b, &status->uuid);

	if (!u || u->task != t || u->state != status->state) {
		world_fail(b->world,
			   "routes: framework %s hears that %s is %s, in an update that "
			   "says %s of %s",
			   t->fw->id, t->key, books_state_name(status->state),
			   u ? books_state_name(u->state) : "nothing", u ? u->task->key : "nobody");
		return;
	}
	if (!is_of_the_one_before(b, t, status)) {
		t->told = u;
		t->told_in = b->lives_of_master + 1;
	}
	if (!books_terminal(u->state))
		return;
	/* An agent that refused it takes the same order when it comes again. */
	if (t->ended && memcmp(t->end_uuid, u->uuid, sizeof(u->uuid)) &&
	    t->host_crashes == crashes_that_matter(b, t) && t->fw->checkpoint && t->launches == 1 &&
	    t->orders == 1 && !t->gone && !is_ignorance(t, u) && !t->fw->over)
		world_fail(b->world, "tasks: %s ended as %s, and now as %s", t->key,
			   books_state_name(t->end), books_state_name(u->state));
	t->ended = true;
	t->gone = t->gone || u->state == STATE(GONE_BY_OPERATOR);
	t->end = u->state;
	memcpy(t->end_uuid, u->uuid, sizeof(u->uuid));
}

/* Of another task that was to have the same id. */
static bool is_refusal(const Mesos__TaskStatus *status)
{
	return status->reason == MESOS__TASK_STATUS__REASON__REASON_INVALID_OFFERS ||
	       status->reason == MESOS__TASK_STATUS__REASON__REASON_TASK_INVALID ||
	       status->reason == MESOS__TASK_STATUS__REASON__REASON_TASK_GROUP_INVALID;
}

/* What the master says by itself of a task that it launched or took in must be what the
 * agent said; unless it lost the agent in this step. */
static void check_known(struct books *b, const struct task *t, const Mesos__TaskStatus *status)
{
	const struct claim *c = books_claim(b, NULL, t->fw->id, status->task_id->value);

	if (!c || c->view->leaving || !c->view->connected || t->said & 1u << status->state ||
	    is_refusal(status))
		return;
	world_fail(b->world, "tasks: the master says that %s is %s, and agent %s never did", t->key,
		   books_state_name(status->state), c->view->id);
}

/* Tasks of unreachable agents are remembered: what becomes of these is told, too. */
static void check_parked(struct books *b, struct task *t, const Mesos__TaskStatus *status)
{
	bool lost = status->has_reason &&
		    status->reason == MESOS__TASK_STATUS__REASON__REASON_AGENT_REMOVED;

	if (lost && status->agent_id)
		books_said_lost(b, status->agent_id->value);
	if (lost && status->state == STATE(UNREACHABLE))
		t->parked = b->lives_of_master + 1;
	else if (status->state != STATE(UNREACHABLE))
		t->parked = 0;
}

/* Nobody can know, while its agent is still to reregister; until its reregistration is durable, one
 * that was unreachable still is. */
static void check_awaited(struct books *b, const struct task *t, const Mesos__TaskStatus *status)
{
	bool asked = status->has_reason &&
		     status->reason == MESOS__TASK_STATUS__REASON__REASON_RECONCILIATION;

	if (!asked || status->has_uuid || !t->agent_id || status->unreachable_time ||
	    (status->agent_id && strcmp(status->agent_id->value, t->agent_id)) ||
	    (status->state != STATE(UNKNOWN) && status->state != STATE(LOST)) ||
	    !books_known(b, t->agent_id)->admitted || books_view(b, t->agent_id) ||
	    books_stored(b, "master", AFTER_KILL, "task/%s", t->key))
		return;
	world_fail(b->world, "tasks: %s is said to be %s, while its agent is still to reregister",
		   t->key, books_state_name(status->state));
}

void books_agent_gone(struct books *b, const char *agent_id)
{
	struct task *t, *next;

	HASH_ITER (hh, b->tasks, t, next) {
		if (t->parked == b->lives_of_master + 1 && !strcmp(t->agent_id, agent_id))
			books_must_hear(b, t);
	}
}

void books_update_event(struct books *b, struct fw *fw, const Mesos__TaskStatus *status)
{
	struct task *t = fw ? books_task(b, fw->id, status->task_id->value, false) : NULL;

	if (!t)
		world_fail(b->world,
			   "routes: framework %s hears that task %s is %s, which it "
			   "never named",
			   fw ? fw->id : "(none)", status->task_id->value,
			   books_state_name(status->state));
	else if (status->has_uuid && status->uuid.len)
		check_uuid(b, t, status);
	else
		check_known(b, t, status);
	if (!t)
		return;
	t->heard = b->steps;
	check_parked(b, t, status);
	check_awaited(b, t, status);
}

/* Its agent knows what it sent last; a machine that crashed may have forgotten it, and the master
 * takes its word. */
void books_note_sent_last(struct books *b, struct task *t, const Mesos__Task *task)
{
	struct update *u = task->has_status_update_uuid
				   ? books_find_update(b, &task->status_update_uuid)
				   : NULL;

	t->told = u && u->task == t ? u : NULL;
	t->told_in = b->lives_of_master + 1;
}

/* ---- acknowledgements ---------------------------------------------------------------------- */

/* The master, if it has the agent, need not know the task any more. One of an update that it
 * did not send does not count. */
void books_acknowledged(struct books *b, struct fw *fw,
			const Mesos__Scheduler__Call__Acknowledge *call)
{
	struct update *u = books_find_update(b, &call->uuid);
	struct claim *c = books_claim(b, NULL, fw->id, call->task_id->value);

	if (!u || !c || !books_terminal(u->state) || u->task->fw != fw || !c->view->connected ||
	    strcmp(c->view->id, call->agent_id->value) || u->task->told != u ||
	    u->task->told_in != b->lives_of_master + 1)
		return;
	u->task->acknowledged = b->lives_of_master + 1;
	books_owe_acknowledgement(b, c->view, u);
	books_drop_claim(b, c);
}

void books_forwarded_acknowledgement(struct books *b, const struct letter *letter)
{
	const Mesos__Internal__StatusUpdateAcknowledgementMessage *m = books_unpack(
		b, &mesos__internal__status_update_acknowledgement_message__descriptor, letter);
	struct update *u = books_find_update(b, &m->uuid);
	struct task *t = books_task(b, m->framework_id->value, m->task_id->value, false);
	const struct claim *c;

	/* One that nobody waits for; schedulers may send such. */
	if (!u || u->task != t)
		return;
	u->forwarded = b->world->now;
	/* A task of the same id makes haste. */
	if (!books_terminal(u->state) || b->call.accepts || t->launches != 1)
		return;
	c = books_claim(b, NULL, t->fw->id, m->task_id->value);
	if ((c && !strcmp(c->view->id, m->agent_id->value)) ||
	    (t->acknowledged == b->lives_of_master + 1 &&
	     !books_stored(b, "master", AFTER_KILL, "completed/%s", t->key)))
		world_fail(b->world,
			   "durable: agent %s is told to forget task %s, and a master "
			   "killed now would take it for lost",
			   m->agent_id->value, t->key);
}

/* The executor forgets it. */
void books_executor_acknowledged(struct books *b, const struct process *from,
				 const Mesos__Executor__Event__Acknowledged *event)
{
	struct update *u = books_find_update(b, &event->uuid);

	if (!u) {
		world_fail(b->world,
			   "routes: %s acknowledges an update of task %s that nobody sent",
			   from->name, event->task_id->value);
		return;
	}
	/* What is gone ends no second time. */
	if (books_host(b, from->address)->drained_gone && u->task->killing)
		return;
	if (u->task->fw->checkpoint && !u->task->fw->over && !books_is_leaving(b, from) &&
	    !books_update_stored(b, from->name, u->uuid))
		world_fail(b->world,
			   "durable: %s acknowledges that task %s is %s, and would forget "
			   "it when it is killed",
			   from->name, u->task->key, books_state_name(u->state));
}

void books_free_tasks(struct books *b)
{
	struct update *u, *next_update;
	struct task *t, *next;

	HASH_ITER (hh, b->updates, u, next_update) {
		HASH_DEL(b->updates, u);
		free(u);
	}
	HASH_ITER (hh, b->tasks, t, next) {
		HASH_DEL(b->tasks, t);
		free(t->agent_id);
		free(t->key);
		free(t);
	}
}
