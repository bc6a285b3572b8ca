/* What a scheduler launched: each task must come to an end, in its eyes, once. */
#include "lab/parts/scheduler_books.h"
#include "lab/parts/scheduler.h"
#include "lab/parts/scheduler_offers.h"

#include <stdlib.h>
#include <string.h>

#define KILL_AFTER (2 * MINUTE)
#define SHUTDOWN_AFTER MINUTE /* of the kill */

bool scheduler_has_work(const struct scheduler_part *part)
{
	const struct scheduler_traits *o = &part->options;
	double seconds = (double)(part->world->now - part->world->begin) / SECOND;

	return !part->finishing && part->next_task < o->tasks &&
	       (o->pace <= 0 || part->next_task * o->pace <= seconds);
}

struct book *scheduler_book_add(struct scheduler_part *part, const char *agent_id)
{
	struct book *book = xcalloc(1, sizeof(*book));

	book->task_id = xprintf("s%d-t%d", part->options.number, part->next_task++);
	book->agent_id = xstrdup(agent_id);
	book->launched = part->world->now;
	book->last = STATE(STAGING);
	HASH_ADD_KEYPTR(hh, part->books, book->task_id, strlen(book->task_id), book);
	part->counts.launched++;
	return book;
}

struct book *scheduler_book_find(const struct scheduler_part *part, const char *task_id)
{
	struct book *book;

	HASH_FIND_STR(part->books, task_id, book);
	return book;
}

void scheduler_books_free(struct scheduler_part *part)
{
	struct book *book, *next;

	HASH_ITER (hh, part->books, book, next) {
		HASH_DEL(part->books, book);
		free(book->task_id);
		free(book->agent_id);
		free(book->executor_id);
		free(book);
	}
}

void scheduler_end_tasks(struct scheduler_part *part)
{
	int64_t now = part->world->now;
	struct book *book, *next;

	HASH_ITER (hh, part->books, book, next) {
		if (book->over || !(book->hangs || part->finishing) ||
		    now - book->launched <= KILL_AFTER)
			continue;
		if (!book->kill_sent)
			book->kill_sent = now;
		scheduler_send_kill(part, book->task_id);
		if (now - book->kill_sent >= SHUTDOWN_AFTER && book->executor_id)
			scheduler_send_shutdown(part, book->executor_id, book->agent_id);
	}
}

/* ---- updates ------------------------------------------------------------------------------ */

static bool is_end(Mesos__TaskState state)
{
	switch (state) {
	case STATE(FINISHED):
	case STATE(FAILED):
	case STATE(KILLED):
	case STATE(LOST):
	case STATE(ERROR):
	case STATE(DROPPED):
	case STATE(GONE):
	case STATE(GONE_BY_OPERATOR):
	case STATE(UNKNOWN):
		return true;
	default:
		return false;
	}
}

/* The master lost or forgot it; or refused a call that came twice, whose first was taken. That an
 * operator called its agent gone is forgotten, too, by a master that keeps little. */
static bool may_return(const Mesos__TaskStatus *status)
{
	return status->state == STATE(LOST) || status->state == STATE(GONE) ||
	       status->state == STATE(GONE_BY_OPERATOR) ||
	       (status->state == STATE(DROPPED) && !status->has_uuid &&
		status->reason == MESOS__TASK_STATUS__REASON__REASON_INVALID_OFFERS);
}

static void note_end(struct scheduler_part *part, struct book *book,
		     const Mesos__TaskStatus *status)
{
	bool executor = status->source == MESOS__TASK_STATUS__SOURCE__SOURCE_EXECUTOR &&
			status->reason != MESOS__TASK_STATUS__REASON__REASON_RECONCILIATION;

	/* What is said to be gone may yet end as it likes. */
	if (book->by_executor && executor && book->final != status->state && !book->muddled &&
	    !book->gone)
		world_fail(part->world, "task %s ended as %d and then as %d", book->task_id,
			   book->final, status->state);
	if (executor)
		book->final = status->state;
	if (executor && status->state == STATE(GONE_BY_OPERATOR))
		book->gone = true;
	if (!book->over) {
		part->counts.finished += status->state == STATE(FINISHED);
		part->counts.failed += status->state == STATE(FAILED);
		part->counts.killed += status->state == STATE(KILLED);
		part->counts.lost += status->state != STATE(FINISHED) &&
				     status->state != STATE(FAILED) &&
				     status->state != STATE(KILLED);
		part->counts.reconciled +=
			status->reason == MESOS__TASK_STATUS__REASON__REASON_RECONCILIATION;
	}
	book->over = true;
	book->by_agent = book->by_agent || status->has_uuid;
	book->may_return = may_return(status);
	book->by_executor = book->by_executor || executor;
	book->last = status->state;
}

/* The answer to a kill, which names no agent: unreachable tasks are unknown to it. In the end it
 * will do: an agent may never come back. */
static bool says_nothing(const struct scheduler_part *part, const struct book *book,
			 const Mesos__TaskStatus *status)
{
	return !part->finishing && status->state == STATE(UNKNOWN) && !status->agent_id &&
	       book->last == STATE(UNREACHABLE);
}

/* The second launch under an id goes ahead on another agent, if the master had forgotten the first:
 * who wants it ended must ask there. */
static void note_agent(struct book *book, const Mesos__TaskStatus *status)
{
	if (!status->agent_id || !strcmp(status->agent_id->value, book->agent_id))
		return;
	free(book->agent_id);
	book->agent_id = xstrdup(status->agent_id->value);
}

void scheduler_take_update(struct scheduler_part *part, const Mesos__TaskStatus *status)
{
	struct book *book = scheduler_book_find(part, status->task_id->value);

	if (!book) {
		if (scheduler_asked_for(part, status))
			return;
		world_fail(part->world, "%s hears of task %s, which is not its own", part->name,
			   status->task_id->value);
		return;
	}
	if (book->muddled && status->state == STATE(ERROR))
		; /* of its second launch */
	else if (says_nothing(part, book, status))
		;
	else if (is_end(status->state))
		note_end(part, book, status);
	else if (!book->by_executor) {
		/* Lost ones may come back with their agent. */
		book->over = false;
		book->last = status->state;
		note_agent(book, status);
	}
	if (status->has_uuid && scheduler_wants_acknowledged(part, status))
		scheduler_acknowledge(part, status);
}

/* ---- for the lab ----------------------------------------------------------------------------- */

bool scheduler_part_done(const struct scheduler_part *part)
{
	struct book *book, *next;

	HASH_ITER (hh, part->books, book, next) {
		if (!book->over)
			return false;
	}
	return scheduler_deeds_done(part);
}

void scheduler_part_describe(const struct scheduler_part *part, struct buf *out)
{
	struct book *book, *next;

	HASH_ITER (hh, part->books, book, next) {
		if (!book->over)
			buf_printf(out, "%s on %s, last heard of as %s, launched at %.3f\n",
				   book->task_id, book->agent_id,
				   proto_enum_name(&mesos__task_state__descriptor, book->last,
						   SPELL_V1),
				   (double)(book->launched - part->world->begin) / SECOND);
	}
	scheduler_describe_deeds(part, out);
}
