#include "lab/ensemble/ends.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/table.h"
#include "lab/world/letter.h"
#include "lab/world/process.h"
#include "proto/proto.h"
#include "proto/states.h"

#define TYPE(name) &mesos__internal__##name##__descriptor

struct ended_task {
	UT_hash_handle hh;
	char uuid[UUID_BYTES]; /* of the status that said it */
	bool forgotten;	       /* by its agent */
	char key[];	       /* "<framework>/<task>@<agent's address>" */
};

struct ends {
	struct observer observer;
	struct world *world;
	struct ended_task *tasks; /* table by key */
	struct buf key;
};

/* Who does not know what was before may launch another one of the same name elsewhere. */
static struct ended_task *ended_find(struct ends *ends, const Mesos__FrameworkID *framework,
				     const Mesos__TaskID *task, const char *agent)
{
	struct ended_task *found;

	buf_clear(&ends->key);
	buf_printf(&ends->key, "%s/%s@%s", framework->value, task->value, agent);
	HASH_FIND_STR(ends->tasks, ends->key.data, found);
	return found;
}

static void ended_drop(struct ends *ends, struct ended_task *task)
{
	HASH_DEL(ends->tasks, task);
	free(task);
}

static bool is_of(const struct ended_task *task, ProtobufCBinaryData uuid)
{
	return uuid.len == UUID_BYTES && !memcmp(task->uuid, uuid.data, UUID_BYTES);
}

/* ---- what agents say ------------------------------------------------------------------------ */

static void agent_says(struct ends *ends, const char *agent,
		       const Mesos__Internal__StatusUpdate *update)
{
	const Mesos__TaskStatus *status = update->status;
	struct ended_task *task = ended_find(ends, update->framework_id, status->task_id, agent);

	/* What it forgot to have forgotten it says once more. */
	if (task && task->forgotten && status->has_reason && !is_of(task, update->uuid) &&
	    status->reason == MESOS__TASK_STATUS__REASON__REASON_RECONCILIATION)
		world_fail(ends->world,
			   "ends: a master asks for %s, whose end its agent was told to forget",
			   task->key);
	/* An answer is no end: asked twice, it answers twice. */
	if (!task_state_terminal(status->state) || update->uuid.len != UUID_BYTES ||
	    (status->has_reason &&
	     status->reason == MESOS__TASK_STATUS__REASON__REASON_RECONCILIATION))
		return;
	if (!task) {
		task = xcalloc(1, sizeof(*task) + ends->key.len + 1);
		memcpy(task->key, ends->key.data, ends->key.len);
		HASH_ADD_KEYPTR(hh, ends->tasks, task->key, ends->key.len, task);
	}
	memcpy(task->uuid, update->uuid.data, UUID_BYTES);
	/* If it had forgotten it, its disk has not: the master knows of it again, and may ask. */
	task->forgotten = false;
}

/* Another one of the same name; it may not get there. */
static void launched_again(struct ends *ends, const char *agent,
			   const Mesos__FrameworkID *framework, const Mesos__TaskInfo *info)
{
	struct ended_task *task = ended_find(ends, framework, info->task_id, agent);

	if (task)
		ended_drop(ends, task);
}

static void master_launches(struct ends *ends, const char *agent, const struct letter *letter)
{
	if (letter->type == TYPE(run_task_message)) {
		const Mesos__Internal__RunTaskMessage *run = letter->message;

		launched_again(ends, agent, run->framework->id, run->task);
	} else if (letter->type == TYPE(run_task_group_message)) {
		const Mesos__Internal__RunTaskGroupMessage *run = letter->message;

		for (size_t i = 0; i < run->task_group->n_tasks; i++)
			launched_again(ends, agent, run->framework->id, run->task_group->tasks[i]);
	}
}

static void ends_sent(struct observer *o, const struct process *from, const struct conn *conn,
		      const char *to, const struct letter *letter)
{
	struct ends *ends = container_of(o, struct ends, observer);

	(void)conn;
	if (letter->kind != LETTER_MESSAGE)
		return;
	if (letter->type == TYPE(status_update_message) && str_has_prefix(from->name, "agent"))
		agent_says(ends, from->address,
			   ((const Mesos__Internal__StatusUpdateMessage *)letter->message)->update);
	else if (str_has_prefix(from->name, "master"))
		master_launches(ends, to, letter);
}

/* ---- what they are told ---------------------------------------------------------------------- */

static void
agent_may_forget(struct ends *ends, const char *agent,
		 const Mesos__Internal__StatusUpdateAcknowledgementMessage *acknowledgement)
{
	struct ended_task *task =
		ended_find(ends, acknowledgement->framework_id, acknowledgement->task_id, agent);

	if (task && is_of(task, acknowledgement->uuid))
		task->forgotten = true;
}

static void ends_delivered(struct observer *o, const struct process *to, const struct conn *conn,
			   const struct letter *letter)
{
	struct ends *ends = container_of(o, struct ends, observer);
	const void *message;

	(void)conn;
	if (letter->kind != LETTER_MESSAGE || !str_has_prefix(to->name, "agent") ||
	    letter->type != TYPE(status_update_acknowledgement_message))
		return;
	message = letter_open(letter, letter->type);
	if (message)
		agent_may_forget(ends, to->address, message);
}

/* ---- what does not matter here --------------------------------------------------------------- */

static void ignore_conn(struct observer *o, const struct process *p, const struct conn *conn)
{
	(void)o, (void)p, (void)conn;
}

static void ignore_process(struct observer *o, const struct process *p)
{
	(void)o, (void)p;
}

static void ignore_write(struct observer *o, struct disk *disk, int line, struct slice key,
			 struct slice value)
{
	(void)o, (void)disk, (void)line, (void)key, (void)value;
}

static void ignore_line(struct observer *o, struct disk *disk, int line)
{
	(void)o, (void)disk, (void)line;
}

static void ignore_disk(struct observer *o, struct disk *disk)
{
	(void)o, (void)disk;
}

static void ignore_executor(struct observer *o, const struct executor_life *life, bool up)
{
	(void)o, (void)life, (void)up;
}

static void ignore_directory(struct observer *o, const struct process *agent, const char *path,
			     enum directory_deed deed)
{
	(void)o, (void)agent, (void)path, (void)deed;
}

static void ignore_call(struct observer *o, const void *call, bool overtaken)
{
	(void)o, (void)call, (void)overtaken;
}

static void ignore_step(struct observer *o)
{
	(void)o;
}

struct ends *ends_open(struct world *w)
{
	struct ends *ends = xcalloc(1, sizeof(*ends));

	ends->world = w;
	ends->observer = (struct observer){
		.sent = ends_sent,
		.delivered = ends_delivered,
		.closed = ignore_conn,
		.started = ignore_process,
		.ended = ignore_process,
		.written = ignore_write,
		.synced = ignore_line,
		.crashed = ignore_disk,
		.executor = ignore_executor,
		.directory = ignore_directory,
		.operated = ignore_call,
		.stepped = ignore_step,
	};
	w->observer = &ends->observer;
	return ends;
}

void ends_close(struct ends *ends)
{
	struct ended_task *task, *next;

	ends->world->observer = NULL;
	HASH_ITER (hh, ends->tasks, task, next)
		ended_drop(ends, task);
	buf_free(&ends->key);
	free(ends);
}
