/* See books.h. Records are in blocks, so that they stay where they are. */
#include "bench/load/measure/books.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "bench/load/plan.h"

#define BLOCK 65536
#define BLOCKS (PLAN_TASKS_MAX / BLOCK + 1)

void books_open(struct books *books, uint64_t tag)
{
	memset(books, 0, sizeof(*books));
	snprintf(books->prefix, sizeof(books->prefix), "load-%08x-", (unsigned)tag);
	books->blocks = xcalloc(BLOCKS, sizeof(*books->blocks));
}

void books_close(struct books *books)
{
	for (size_t i = 0; i < BLOCKS; i++)
		free(books->blocks[i]);
	free(books->blocks);
}

void books_violate(struct books *books, const char *format, ...)
{
	va_list args;

	if (books->violations++ >= BOOKS_VIOLATIONS_SHOWN)
		return;
	va_start(args, format);
	fputs("bench_load: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}

static struct record *get(const struct books *books, uint32_t number)
{
	return &books->blocks[number / BLOCK][number % BLOCK];
}

uint32_t books_launch(struct books *books, size_t scheduler, enum fate fate, int64_t ready,
		      int64_t now)
{
	uint32_t number = books->launched++;
	struct record *record;

	if (!books->blocks[number / BLOCK])
		books->blocks[number / BLOCK] = xcalloc(BLOCK, sizeof(struct record));
	record = get(books, number);
	record->scheduler = (uint16_t)scheduler;
	record->fate = fate;
	record->ready = ready;
	record->accepted = now;
	if (number == 0)
		books->first_accept = now;
	return number;
}

void books_task_id(const struct books *books, uint32_t number, char out[TASK_ID_MAX])
{
	snprintf(out, TASK_ID_MAX, "%s%u", books->prefix, number);
}

struct record *books_find(const struct books *books, const char *task_id, uint32_t *number)
{
	unsigned long value;
	char *end;

	if (!str_has_prefix(task_id, books->prefix))
		return NULL;
	task_id += strlen(books->prefix);
	value = strtoul(task_id, &end, 10);
	if (end == task_id || *end || value >= books->launched)
		return NULL;
	*number = (uint32_t)value;
	return get(books, *number);
}

bool books_arrive(struct books *books, uint32_t number, int64_t now)
{
	struct record *record = get(books, number);

	if (record->arrived) {
		books_violate(books, "task %u reached an agent twice", number);
		return false;
	}
	record->arrived = true;
	books->arrived++;
	histogram_add(&books->ready_to_launch, now - record->ready);
	return true;
}

static bool is_terminal(Mesos__TaskState state)
{
	switch (state) {
	case MESOS__TASK_STATE__TASK_STAGING:
	case MESOS__TASK_STATE__TASK_STARTING:
	case MESOS__TASK_STATE__TASK_RUNNING:
	case MESOS__TASK_STATE__TASK_KILLING:
	case MESOS__TASK_STATE__TASK_UNREACHABLE:
	case MESOS__TASK_STATE__TASK_UNKNOWN:
		return false;
	default:
		return true;
	}
}

/* The master's own word (no uuid) ends a task that never ran. */
static void hear_end(struct books *books, uint32_t number, struct record *record,
		     const Mesos__TaskStatus *status, int64_t now)
{
	bool doomed = record->fate == FATE_KILL;
	uint32_t end = 0;

	if (status->has_uuid && status->uuid.len == UUID_BYTES)
		memcpy(&end, status->uuid.data, sizeof(end));
	if (record->life >= LIFE_ENDED) {
		if (record->end == end && end != 0)
			books->repeated++;
		else
			books_violate(books, "task %u ended twice", number);
		return;
	}
	if (doomed && record->life == LIFE_RUNNING)
		histogram_add(&books->kill_to_ended, now - record->asked);
	record->life = LIFE_ENDED;
	record->end = end;
	books->ended++;
	books->killed += doomed;
	if (status->state ==
	    (doomed ? MESOS__TASK_STATE__TASK_KILLED : MESOS__TASK_STATE__TASK_FINISHED))
		return;
	if (books->dropped++ < BOOKS_VIOLATIONS_SHOWN)
		fprintf(stderr, "bench_load: task %u: %s, %s\n", number,
			proto_enum_name(&mesos__task_state__descriptor, (int)status->state,
					SPELL_V1),
			status->message ? status->message : "");
	if (record->arrived)
		books_violate(books, "task %u was ended without its agent", number);
	record->life = LIFE_DONE;
}

static struct record *find_own(struct books *books, size_t scheduler,
			       const Mesos__TaskStatus *status, uint32_t *number)
{
	struct record *record = books_find(books, status->task_id->value, number);

	if (record && record->scheduler == scheduler)
		return record;
	books_violate(books, "scheduler %zu heard of %s, which is not its task", scheduler,
		      status->task_id->value);
	return NULL;
}

static const char *state_name(const Mesos__TaskStatus *status)
{
	return proto_enum_name(&mesos__task_state__descriptor, (int)status->state, SPELL_V1);
}

bool books_hear(struct books *books, size_t scheduler, const Mesos__TaskStatus *status, int64_t now,
		enum fate *fate)
{
	uint32_t number;
	struct record *record = find_own(books, scheduler, status, &number);

	if (!record)
		return false;
	if (status->has_uuid && record->life < LIFE_ENDED)
		histogram_add(&books->update_to_scheduler, now - record->sent);
	if (is_terminal(status->state)) {
		hear_end(books, number, record, status, now);
	} else if (record->life != LIFE_ACCEPTED) {
		books->repeated++;
	} else if (status->state == MESOS__TASK_STATE__TASK_RUNNING) {
		record->life = LIFE_RUNNING;
		books->running++;
		books->last_running = now;
		histogram_add(&books->accept_to_running, now - record->accepted);
		record->asked = now;
		books->reconciled += record->fate == FATE_RECONCILE;
		*fate = record->fate;
		return true;
	}
	return false;
}

/* Events are in order: who has not heard of an end is not told one by an answer. */
void books_answer(struct books *books, size_t scheduler, const Mesos__TaskStatus *status,
		  int64_t now)
{
	uint32_t number;
	struct record *record = find_own(books, scheduler, status, &number);

	if (!record)
		return;
	if (record->fate != FATE_RECONCILE || record->answered) {
		books_violate(books, "an answer about task %u that nobody asked for", number);
		return;
	}
	if (is_terminal(status->state) != (record->life >= LIFE_ENDED))
		books_violate(books, "the master says that task %u is %s, it is %s", number,
			      state_name(status), record->life >= LIFE_ENDED ? "over" : "not");
	record->answered = true;
	books->answered++;
	histogram_add(&books->reconcile_to_answer, now - record->asked);
}

void books_confirm(struct books *books, size_t scheduler, const Mesos__TaskStatus *status)
{
	uint32_t number;
	struct record *record = find_own(books, scheduler, status, &number);

	if (!record)
		return;
	if (record->confirmed || status->state != MESOS__TASK_STATE__TASK_RUNNING) {
		books_violate(books, "the new master says that task %u is %s%s", number,
			      state_name(status), record->confirmed ? ", again" : "");
		return;
	}
	record->confirmed = true;
	books->confirmed++;
}

void books_finish(struct books *books, uint32_t number, int64_t now)
{
	struct record *record = get(books, number);

	if (record->life != LIFE_ENDED) {
		books_violate(books, "the end of task %u was acknowledged, its scheduler %s",
			      number,
			      record->life < LIFE_ENDED ? "never heard it" : "did it twice");
		return;
	}
	record->life = LIFE_DONE;
	books->done++;
	books->last_done = now;
	histogram_add(&books->accept_to_done, now - record->accepted);
}

void books_show_missing(const struct books *books)
{
	uint32_t counts[LIFE_DONE + 1] = {0}, shown = 0;

	for (uint32_t i = 0; i < books->launched; i++) {
		const struct record *record = get(books, i);

		counts[record->life]++;
		if (record->life != LIFE_DONE && shown++ < BOOKS_VIOLATIONS_SHOWN)
			fprintf(stderr, "bench_load: task %u of scheduler %u: %s\n", i,
				record->scheduler,
				record->life == LIFE_ENDED     ? "its agent waits for the last "
								 "acknowledgement"
				: record->life == LIFE_RUNNING ? "no end was heard"
				: record->arrived	       ? "TASK_RUNNING was never heard"
							       : "never reached its agent");
	}
	fprintf(stderr,
		"bench_load: %u launched, %u never heard of, %u running, %u ended but not "
		"acknowledged\n",
		books->launched, counts[LIFE_ACCEPTED], counts[LIFE_RUNNING], counts[LIFE_ENDED]);
}
