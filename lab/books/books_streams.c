/* The updates that agents wait with: of each task the first that is not acknowledged goes out
 * when the agent is registered, and does not come again once it is. Whether an agent takes
 * itself for registered is known from what it was told, asked for and saw break. */
#include "lab/books/books_streams.h"

#include <stdlib.h>
#include <string.h>

#include "lab/books/books_hosts.h"
#include "lab/books/books_internal.h"
#include "lab/books/books_tasks.h"
#include "lab/books/records.h"

/* While directories of volumes are made, what the master says waits. */
#define DIRECTORIES_HIGH (10 * SECOND)

static void forget_head(struct task *t)
{
	t->head = NULL;
	t->due = false;
	list_remove(&t->waiting);
}

void books_stream_sent(struct books *b, const struct process *from, struct update *u)
{
	struct host *host = books_host(b, from->address);
	struct task *t = u->task;

	if (u->acknowledged_in == host->life && u->asked == host->asked)
		world_fail(b->world, "tasks: %s tells again that %s is %s, which was acknowledged",
			   from->name, t->key, books_state_name(u->state));
	forget_head(t);
	u->sent_in = host->life;
	t->head = u;
	t->mentioned = b->world->now;
	list_append(&host->waiting, &t->waiting);
}

/* One that comes while the agent registers is dropped there; before that it may be. */
void books_stream_acknowledged(struct books *b, const struct process *to,
			       const struct letter *letter)
{
	const Mesos__Internal__StatusUpdateAcknowledgementMessage *m = books_unpack(
		b, &mesos__internal__status_update_acknowledgement_message__descriptor, letter);
	struct update *u = books_find_update(b, &m->uuid);
	struct host *host = books_host(b, to->address);

	/* Bad schedulers acknowledge what others are told. */
	if (!u || u->task != books_task(b, m->framework_id->value, m->task_id->value, false))
		return;
	if (u->sent_in != host->life || u->task->head != u || host->asks)
		return;
	forget_head(u->task);
	if (!host->registered)
		return;
	u->acknowledged_in = host->life;
	u->asked = host->asked;
	if (books_terminal(u->state))
		u->task->over_in = host->life;
}

/* With its end the agent forgets a task, and tells anew what its executor repeats. */
void books_stream_repeated(struct update *u)
{
	if (u->task->over_in == u->acknowledged_in)
		u->acknowledged_in = 0;
}

/* ---- registration ------------------------------------------------------------------ */

void books_agent_asks(struct books *b, const struct process *from)
{
	struct host *host = books_host(b, from->address);

	host->asked++;
	host->asks = true;
	host->registered = 0;
}

/* It looks for a master. */
void books_agent_loses_master(struct books *b, const struct process *p)
{
	struct host *host = books_host(b, p->address);

	host->asks = false;
	host->registered = 0;
}

/* It is told to change what it has. */
void books_agent_operates(struct books *b, const struct process *to)
{
	books_host(b, to->address)->operated = b->world->now;
}

void books_agent_hears_registered(struct books *b, const struct process *to)
{
	struct host *host = books_host(b, to->address);
	struct task *t, *next;

	if (!host->asks)
		return;
	host->asks = false;
	host->registered = b->world->now;
	if (host->leaving || b->world->now - host->operated < DIRECTORIES_HIGH)
		return;
	list_for_each (t, next, &host->waiting, waiting)
		t->due = !t->fw->over;
	b->resumed = host;
}

void books_check_resumed(struct books *b)
{
	struct host *host = b->resumed;
	struct task *t, *next;

	b->resumed = NULL;
	list_for_each (t, next, &host->waiting, waiting) {
		if (!t->due)
			continue;
		t->due = false;
		world_fail(b->world,
			   "tasks: the agent at %s is registered, and does not tell that %s is "
			   "%s, which is not acknowledged",
			   host->address, t->key, books_state_name(t->head->state));
	}
}

/* The next life finds what is stored. */
void books_streams_ended(struct books *b, struct host *host)
{
	while (!list_empty(&host->waiting))
		forget_head(list_first(&host->waiting, struct task, waiting));
	host->asks = false;
	host->registered = 0;
	if (b->resumed == host)
		b->resumed = NULL;
}
