/* What must follow: in the same step, or within a minute while all that takes part lives and
 * is connected. */
#include "lab/books/books_debts.h"

#include <stdlib.h>
#include <string.h>

#include "lab/books/books_agents.h"
#include "lab/books/books_disks.h"
#include "lab/books/books_hosts.h"
#include "lab/books/books_internal.h"
#include "lab/books/books_tasks.h"
#include "lab/books/records.h"
#include "lab/parts/parts.h"

/* A slow disk takes some seconds. */
#define PATIENCE MINUTE

/* ---- in this step ------------------------------------------------------------------ */

void books_must_hear(struct books *b, struct task *t)
{
	if (!t->fw->stream || t->fw->torn)
		return;
	if (b->must_hear_count == b->must_hear_cap) {
		b->must_hear_cap = b->must_hear_cap ? 2 * b->must_hear_cap : 16;
		b->must_hear = xrealloc(b->must_hear, b->must_hear_cap * sizeof(struct task *));
	}
	b->must_hear[b->must_hear_count++] = t;
}

void books_check_heard(struct books *b)
{
	for (size_t i = 0; i < b->must_hear_count; i++) {
		const struct task *t = b->must_hear[i];

		/* Its stream may have ended in this step, too. */
		if (t->heard != b->steps && t->fw->stream && !t->fw->torn)
			world_fail(b->world,
				   "tasks: something became of %s, and its framework is not told",
				   t->key);
	}
	b->must_hear_count = 0;
}

/* ---- within a time ----------------------------------------------------------------- */

struct debt {
	struct list link; /* books.debts */
	enum debt_kind kind;
	int64_t since;
	uint64_t master, agent; /* their lives */
	struct host *host;
	struct task *task;
	const struct update *update;
	struct fw *fw;
	char *executor_id;
	bool paid;
};

static struct debt *add_debt(struct books *b, enum debt_kind kind, struct host *host)
{
	struct debt *debt = xcalloc(1, sizeof(*debt));

	debt->kind = kind;
	debt->since = b->world->now;
	debt->master = b->lives_of_master;
	debt->agent = host->life;
	debt->host = host;
	list_append(&b->debts, &debt->link);
	return debt;
}

static void debt_free(struct debt *debt)
{
	list_remove(&debt->link);
	free(debt->executor_id);
	free(debt);
}

void books_owe_acknowledgement(struct books *b, const struct view *v, const struct update *u)
{
	struct debt *debt = add_debt(b, DEBT_ACKNOWLEDGEMENT, books_host(b, v->address));

	debt->update = u;
	debt->task = u->task;
}

void books_owe_task(struct books *b, const struct view *v, struct task *t)
{
	add_debt(b, DEBT_TASK, books_host(b, v->address))->task = t;
}

void books_owe_end(struct books *b, struct host *host, struct task *t)
{
	if (host->registered)
		add_debt(b, DEBT_END, host)->task = t;
}

void books_owe_exit(struct books *b, struct host *host, struct fw *fw, const char *executor_id)
{
	struct debt *debt;

	if (!host->registered)
		return;
	debt = add_debt(b, DEBT_EXIT, host);
	debt->fw = fw;
	debt->executor_id = xstrdup(executor_id);
}

void books_exit_told(struct books *b, const struct process *from, const struct letter *letter)
{
	const Mesos__Internal__ExitedExecutorMessage *m =
		books_unpack(b, &mesos__internal__exited_executor_message__descriptor, letter);
	struct debt *debt, *next;

	list_for_each (debt, next, &b->debts, link) {
		if (debt->kind == DEBT_EXIT && !strcmp(debt->host->address, from->address) &&
		    !strcmp(debt->executor_id, m->executor_id->value) &&
		    !strcmp(debt->fw->id, m->framework_id->value))
			debt->paid = true;
	}
}

/* The master lives, and has had the agent all the time. */
static bool master_could(const struct books *b, const struct debt *debt)
{
	const struct view *v = books_view_at(b, debt->host->address);

	return b->lives_of_master == debt->master && v && v->connected && !v->leaving &&
	       v->since <= debt->since;
}

/* The agent lives, and was registered all the time. */
static bool agent_could(const struct debt *debt)
{
	const struct host *host = debt->host;

	return host->life == debt->agent && host->registered && host->registered <= debt->since &&
	       !host->leaving;
}

/* Under a new id it knows nothing of executors that outlived the shutdown of the old one. */
static bool is_its(const struct books *b, const struct debt *debt)
{
	const struct view *v = books_view_at(b, debt->host->address);

	return v && debt->task->agent_id && !strcmp(v->id, debt->task->agent_id);
}

static bool has_ended(const struct task *t)
{
	for (int state = 0; state < 32; state++) {
		if (t->said & 1u << state && books_terminal((Mesos__TaskState)state))
			return true;
	}
	return false;
}

static bool was_paused(const struct books *b, const char *address, const struct debt *debt)
{
	const struct process *p = process_at(b->world, address);

	return p && p->paused_until > debt->since;
}

static void books_debts_collect(struct books *b, struct debt *debt)
{
	const struct task *t = debt->task;

	if (was_paused(b, MASTER_ADDRESS, debt) || was_paused(b, debt->host->address, debt))
		return;
	switch (debt->kind) {
	case DEBT_ACKNOWLEDGEMENT:
		if (debt->update->forwarded < debt->since && !t->fw->torn && master_could(b, debt))
			world_fail(b->world,
				   "tasks: the end of %s was acknowledged, and its agent is not "
				   "told",
				   t->key);
		break;
	case DEBT_TASK:
		if (t->mentioned < debt->since && !t->fw->over && master_could(b, debt) &&
		    agent_could(debt) && books_stored(b, "master", AFTER_KILL, "task/%s", t->key))
			world_fail(b->world,
				   "tasks: the master remembers %s, its agent does not tell of it, "
				   "and nobody asks",
				   t->key);
		break;
	case DEBT_END:
		if (!has_ended(t) && t->launches == 1 && !t->fw->over && agent_could(debt) &&
		    is_its(b, debt))
			world_fail(b->world,
				   "hosts: the executor of %s ended, and its agent does not say so",
				   t->key);
		break;
	case DEBT_EXIT:
		if (!debt->paid && !debt->fw->over && agent_could(debt))
			world_fail(b->world,
				   "hosts: executor %s of framework %s ended, and its agent does "
				   "not say so",
				   debt->executor_id, debt->fw->id);
		break;
	}
}

void books_collect_debts(struct books *b)
{
	struct debt *debt;

	while ((debt = list_first(&b->debts, struct debt, link)) &&
	       debt->since + PATIENCE < b->world->now) {
		/* What it said before is still to be acknowledged. */
		if (debt->kind == DEBT_END && debt->task->head && debt->host->life == debt->agent) {
			debt->since = b->world->now;
			list_remove(&debt->link);
			list_append(&b->debts, &debt->link);
			continue;
		}
		books_debts_collect(b, debt);
		debt_free(debt);
	}
}

void books_free_debts(struct books *b)
{
	while (!list_empty(&b->debts))
		debt_free(list_first(&b->debts, struct debt, link));
	free(b->must_hear);
	free(b->must_kill);
}
