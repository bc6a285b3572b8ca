/* Status updates on their way to the scheduler, and acknowledgements back.
 *
 * The agent repeats an update until it is acknowledged, so one that cannot be
 * forwarded now is not lost. What the master knows of the task follows the agent's
 * latest state; what reconciliation tells follows the update sent last.
 *
 * With the acknowledgement of a terminal update the agent forgets the task. It is held
 * until the completed task is in our store: a master killed before that finds the task on
 * the agent, one killed later in the store, and neither takes it for lost.
 */
#include "master/core/tasks/updates.h"

#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "master/core/emit.h"
#include "master/core/frameworks/events.h"
#include "master/core/frameworks/framework_shutdown.h"
#include "master/core/frameworks/frameworks.h"
#include "master/core/objects.h"
#include "master/core/tasks/tasks.h"

/* The state that the record shows: the newest the agent knows. */
static Mesos__TaskState latest_state(const Mesos__Internal__StatusUpdate *update)
{
	return update->has_latest_state ? update->latest_state : update->status->state;
}

/* As sent to the scheduler: complete, with the uuid to acknowledge. */
static Mesos__TaskStatus *forwarded_status(struct master *m,
					   const Mesos__Internal__StatusUpdate *update)
{
	Mesos__TaskStatus *status = STEP_NEW(m, Mesos__TaskStatus, mesos__task_status__descriptor);

	/* The update lives as long as the step. */
	*status = *update->status;
	status->has_uuid = true;
	status->uuid = update->uuid;
	if (!status->has_timestamp) {
		status->has_timestamp = true;
		status->timestamp = update->timestamp;
	}
	if (!status->agent_id && update->agent_id)
		status->agent_id = update->agent_id;
	if (!status->executor_id && update->executor_id)
		status->executor_id = update->executor_id;
	return status;
}

static void remember_forwarded(struct task *t, const Mesos__Internal__StatusUpdate *update)
{
	struct slice uuid = {(const char *)update->uuid.data, update->uuid.len};

	task_record_set_sent(&t->record, update->status->state, uuid);
}

/* The agent that may speak so, or NULL. */
static struct agent *speaking_agent(struct master *m, const char *from,
				    const Mesos__Internal__StatusUpdate *update)
{
	const char *id = update->agent_id ? update->agent_id->value : "";
	struct agent *a = master_find_agent(m, id);

	if (a && agent_registered(a) && a->pid && !strcmp(a->pid, from))
		return a;
	log_warning("ignored a status update for task %s of framework %s from %s: it is not agent "
		    "'%s'",
		    update->status->task_id->value, update->framework_id->value, from, id);
	return NULL;
}

void master_status_update(struct master *m, const char *from,
			  const Mesos__Internal__StatusUpdateMessage *message)
{
	const Mesos__Internal__StatusUpdate *update = message->update;
	struct agent *a = speaking_agent(m, from, update);
	const char *task_id = update->status->task_id->value;
	Mesos__TaskStatus *status;
	struct framework *f;
	struct task *t;
	bool forwarded;

	m->counters.messages_status_update++;
	if (!a || !update->has_uuid || update->uuid.len != UUID_BYTES) {
		m->counters.invalid_status_updates++;
		return;
	}
	f = master_find_framework(m, update->framework_id->value);
	t = f ? framework_find_task(f, task_id) : NULL;
	if (t && t->agent != a)
		t = NULL;
	forwarded = f && framework_connected(f);
	status = forwarded_status(m, update);
	if (forwarded)
		master_tell_forwarded(m, f, status, latest_state(update));
	if (!t || !forwarded)
		m->counters.invalid_status_updates++;
	else
		m->counters.valid_status_updates++;
	if (!t) {
		log_warning("status update for task %s of framework %s, which is not known",
			    task_id, update->framework_id->value);
		/* An agent that missed the framework's end would repeat this for ever. */
		if (!f && master_find_completed(m, update->framework_id->value))
			framework_shutdown_tell(m, a, update->framework_id->value);
		return;
	}
	if (forwarded)
		remember_forwarded(t, update);
	master_apply_status(m, t, status, latest_state(update), true);
}

/* ---- acknowledgements ------------------------------------------------------------------ */

struct held_ack {
	struct list link;
	UT_hash_handle hh; /* master.acks_by_task, by key */
	uint64_t ticket;   /* 0: of the store action that is to come */
	char *agent_id, *framework_id, *task_id, *key;
	size_t len;
	uint8_t uuid[]; /* and then the texts */
};

static void forward_acknowledgement(struct master *m, const char *agent_id,
				    const char *framework_id, const char *task_id,
				    const uint8_t *uuid, size_t len)
{
	const struct agent *a = master_find_agent(m, agent_id);
	Mesos__Internal__StatusUpdateAcknowledgementMessage *message;

	/* Not there any more: the update comes again, and with it another one of these. */
	if (!a || !agent_registered(a) || !agent_connected(a))
		return;
	message = STEP_NEW(m, Mesos__Internal__StatusUpdateAcknowledgementMessage,
			   mesos__internal__status_update_acknowledgement_message__descriptor);
	message->agent_id = master_agent_id(m, agent_id);
	message->framework_id = master_framework_id(m, framework_id);
	message->task_id = master_task_id(m, task_id);
	message->uuid.data = arena_memdup(&m->out->arena, uuid, len);
	message->uuid.len = len;
	master_send_agent(m, a, message);
}

static void free_ack(struct master *m, struct held_ack *ack)
{
	HASH_DEL(m->acks_by_task, ack);
	list_remove(&ack->link);
	free(ack);
}

static void let_go(struct master *m, struct held_ack *ack)
{
	forward_acknowledgement(m, ack->agent_id, ack->framework_id, ack->task_id, ack->uuid,
				ack->len);
	free_ack(m, ack);
}

/* Framework id '/' task id, into memory for both and two bytes. */
static char *ack_key(char *key, const char *framework_id, const char *task_id)
{
	size_t first = strlen(framework_id);

	memcpy(key, framework_id, first);
	key[first] = '/';
	strcpy(key + first + 1, task_id);
	return key;
}

static void hold_ack(struct master *m, const struct framework *f,
		     const Mesos__Scheduler__Call__Acknowledge *call)
{
	const char *agent_id = call->agent_id->value, *task_id = call->task_id->value;
	size_t agent_len = strlen(agent_id) + 1, framework_len = strlen(f->id) + 1;
	size_t key_len = framework_len + strlen(task_id), len = call->uuid.len;
	struct held_ack *ack =
		xmalloc(sizeof(*ack) + len + agent_len + framework_len + key_len + 1);
	char *texts = (char *)ack->uuid + len;

	memset(ack, 0, sizeof(*ack));
	ack->len = len;
	memcpy(ack->uuid, call->uuid.data, len);
	ack->agent_id = memcpy(texts, agent_id, agent_len);
	ack->framework_id = memcpy(texts + agent_len, f->id, framework_len);
	ack->key = ack_key(texts + agent_len + framework_len, f->id, task_id);
	ack->task_id = ack->key + framework_len;
	list_append(&m->held_acks, &ack->link);
	HASH_ADD_KEYPTR(hh, m->acks_by_task, ack->key, key_len, ack);
}

static struct held_ack *find_ack(struct master *m, const char *framework_id, const char *task_id)
{
	size_t len = strlen(framework_id) + 1 + strlen(task_id);
	struct held_ack *ack = NULL;
	char *key;

	if (!m->acks_by_task)
		return NULL;
	key = ack_key(arena_alloc(&m->out->arena, len + 1), framework_id, task_id);
	HASH_FIND(hh, m->acks_by_task, key, len, ack);
	return ack;
}

void master_time_acknowledgements(struct master *m, uint64_t ticket)
{
	struct list *at;

	for (at = m->held_acks.prev; at != &m->held_acks; at = at->prev) {
		struct held_ack *ack = list_entry(at, struct held_ack, link);

		if (ack->ticket)
			break;
		ack->ticket = ticket;
	}
}

bool master_untimed_acknowledgements(const struct master *m)
{
	return !list_empty(&m->held_acks) &&
	       !list_entry(m->held_acks.prev, struct held_ack, link)->ticket;
}

void master_send_acknowledgements(struct master *m, uint64_t stored)
{
	struct held_ack *ack;

	while ((ack = list_first(&m->held_acks, struct held_ack, link)) && ack->ticket &&
	       ack->ticket <= stored)
		let_go(m, ack);
}

void master_hurry_acknowledgement(struct master *m, const char *framework_id, const char *task_id)
{
	struct held_ack *ack = find_ack(m, framework_id, task_id);

	if (ack)
		let_go(m, ack);
}

void master_free_acknowledgements(struct master *m)
{
	struct held_ack *ack, *next;

	list_for_each (ack, next, &m->held_acks, link)
		free_ack(m, ack);
}

/* Whether this acknowledges the update that was sent last. */
static bool is_of_last(const struct task_sent *sent, const ProtobufCBinaryData *uuid)
{
	return sent->uuid.data && sent->uuid.len == uuid->len &&
	       !memcmp(sent->uuid.data, uuid->data, uuid->len);
}

void master_acknowledge(struct master *m, struct framework *f,
			const Mesos__Scheduler__Call__Acknowledge *call)
{
	struct agent *a = master_find_agent(m, call->agent_id->value);
	struct task *t = framework_find_task(f, call->task_id->value);
	struct task_sent sent = {0};

	m->counters.messages_status_update_acknowledgement++;
	if (!a || !agent_registered(a) || !agent_connected(a)) {
		log_warning(
			"dropped an acknowledgement for task %s of framework %s: agent %s is not "
			"connected",
			call->task_id->value, f->id, call->agent_id->value);
		m->counters.invalid_status_update_acknowledgements++;
		return;
	}
	if (t && t->agent != a)
		t = NULL;
	if (t)
		sent = task_record_sent(&t->record);
	if (t && !sent.known) {
		log_warning("dropped an acknowledgement for task %s of framework %s: no update was "
			    "sent",
			    t->id, f->id);
		m->counters.invalid_status_update_acknowledgements++;
		return;
	}
	m->counters.valid_status_update_acknowledgements++;
	if (!t && find_ack(m, f->id, call->task_id->value))
		return;
	/* One from before a failover might end the task on the agent, and not here. The update
	 * comes again, and with it another one. */
	if (t && !is_of_last(&sent, &call->uuid))
		return;
	if (t && task_state_terminal(sent.state)) {
		hold_ack(m, f, call);
		master_complete_task(m, t, true);
		return;
	}
	forward_acknowledgement(m, a->id, f->id, call->task_id->value, call->uuid.data,
				call->uuid.len);
}
