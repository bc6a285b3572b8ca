/* Orders to kill: an agent is told of each call of a scheduler once, in the same step, and once
 * more when it comes back with a task that was to be killed meanwhile; also by another master
 * than the one that was called. Nobody is killed whom nobody wanted to be. */
#include "lab/books/books_kills.h"

#include "lab/books/books_agents.h"
#include "lab/books/books_disks.h"
#include "lab/books/books_internal.h"
#include "lab/books/books_registry.h"
#include "lab/books/books_tasks.h"
#include "lab/books/records.h"
#include "lab/parts/parts.h"

static void must_kill(struct books *b, struct task *t)
{
	if (b->must_kill_count == b->must_kill_cap) {
		b->must_kill_cap = b->must_kill_cap ? 2 * b->must_kill_cap : 16;
		b->must_kill = xrealloc(b->must_kill, b->must_kill_cap * sizeof(struct task *));
	}
	b->must_kill[b->must_kill_count++] = t;
}

void books_kill_called(struct books *b, const struct fw *fw, const char *task_id)
{
	struct task *t = books_task(b, fw->id, task_id, true);
	struct claim *c = books_claim(b, NULL, fw->id, task_id);

	t->kill_called = true;
	if (!c)
		return;
	if (!c->killed)
		c->killed = b->world->now;
	books_note_slowness(b);
	if (c->holds && c->view->connected && !c->view->leaving)
		must_kill(b, t);
}

void books_kill_ordered(struct books *b, const char *to, const struct letter *letter)
{
	const Mesos__Internal__KillTaskMessage *m =
		books_unpack(b, &mesos__internal__kill_task_message__descriptor, letter);
	struct task *t = books_task(b, m->framework_id->value, m->task_id->value, true);

	if (!t->kill_called)
		world_fail(b->world,
			   "tasks: the agent at %s is told to kill %s, and nobody asked for that",
			   to, t->key);
	else if (t->killed_in == b->steps)
		world_fail(b->world, "tasks: the agent at %s is told twice to kill %s", to, t->key);
	t->killed_in = b->steps;
}

void books_check_killed(struct books *b)
{
	for (size_t i = 0; i < b->must_kill_count; i++) {
		const struct task *t = b->must_kill[i];

		if (t->killed_in != b->steps && !t->fw->torn)
			world_fail(b->world, "tasks: %s is to be killed, and its agent is not told",
				   t->key);
	}
	b->must_kill_count = 0;
}

bool books_is_to_be_killed(const struct books *b, const char *key)
{
	const struct task *t;

	HASH_FIND_STR(b->tasks, key, t);
	return t && t->kill_called;
}

/* ---- what masters remember --------------------------------------------------------- */

void books_kill_inherited(struct books *b, struct claim *c)
{
	if (books_stored(b, "master", AFTER_KILL, "kill/%s", books_claimed(b, c)->key))
		c->killed = b->world->now;
}

/* It was there before, or the master of before had stored it. */
void books_kills_repeated(struct books *b, const struct view *v,
			  const Mesos__Internal__ReregisterSlaveMessage *message)
{
	for (size_t i = 0; i < message->n_tasks; i++) {
		const Mesos__Task *task = message->tasks[i];
		const struct claim *c =
			books_claim(b, NULL, task->framework_id->value, task->task_id->value);

		if (c && c->view == v && c->holds && c->killed && !books_terminal(task->state))
			must_kill(b, books_claimed(b, c));
	}
}

/* Soon, unless disks are slow: nobody would tell the next master. */
void books_audit_kills(struct books *b)
{
	const struct process *master = b->master;
	struct claim *c, *next;

	books_note_slowness(b);
	HASH_ITER (hh, b->claims, c, next) {
		const struct task *t;

		if (!c->killed || !c->holds || b->world->now - c->killed <= STORE_HIGH ||
		    !c->view->connected || b->world->now - c->view->since <= STORE_HIGH ||
		    master->paused_until >= c->killed || b->slow_until + SLOW_HIGH >= c->killed)
			continue;
		t = books_claimed(b, c);
		if (t->launches == 1 && !books_stored(b, "master", AFTER_KILL, "kill/%s", t->key))
			world_fail(b->world,
				   "durable: %s is to be killed, and a master killed now would "
				   "not know it",
				   t->key);
	}
}
