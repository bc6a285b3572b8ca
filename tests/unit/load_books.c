/* The books of the load generator: each task ends once, as its fate has it, and what the
 * master says when it is asked agrees with what it said before. */
#include <criterion/criterion.h>

#include "bench/load/measure/books.h"

#define AGENT "agent-1"

static struct books books;
static uint8_t uuid[UUID_BYTES] = {1, 2, 3, 4, 5};

static void open_books(void)
{
	books_open(&books, 7);
}

static void close_books(void)
{
	books_close(&books);
}

TestSuite(books, .init = open_books, .fini = close_books);

/* What a scheduler hears of a task; `told` with an update's uuid. */
static bool hear(uint32_t number, Mesos__TaskState state, bool told, enum fate *fate)
{
	Mesos__TaskStatus status = MESOS__TASK_STATUS__INIT;
	Mesos__TaskID id = MESOS__TASK_ID__INIT;
	char text[TASK_ID_MAX];

	books_task_id(&books, number, text);
	id.value = text;
	status.task_id = &id;
	status.state = state;
	status.has_uuid = told;
	uuid[0] = (uint8_t)state;
	status.uuid = (ProtobufCBinaryData){UUID_BYTES, uuid};
	return books_hear(&books, 0, &status, 30, fate);
}

static void answer(uint32_t number, Mesos__TaskState state, bool confirm)
{
	Mesos__TaskStatus status = MESOS__TASK_STATUS__INIT;
	Mesos__TaskID id = MESOS__TASK_ID__INIT;
	char text[TASK_ID_MAX];

	books_task_id(&books, number, text);
	id.value = text;
	status.task_id = &id;
	status.state = state;
	if (confirm)
		books_confirm(&books, 0, &status);
	else
		books_answer(&books, 0, &status, 50);
}

/* A task that runs. */
static uint32_t begin(enum fate wanted)
{
	enum fate fate = FATE_END;
	uint32_t number = books_launch(&books, 0, wanted, 0, 10);

	cr_assert(books_arrive(&books, number, 20));
	cr_assert(hear(number, MESOS__TASK_STATE__TASK_RUNNING, true, &fate));
	cr_assert_eq(fate, wanted);
	return number;
}

Test(books, a_life_as_it_should_be)
{
	uint32_t number = begin(FATE_END);
	enum fate fate;

	cr_assert(!hear(number, MESOS__TASK_STATE__TASK_RUNNING, true, &fate));
	cr_assert_eq(books.repeated, 1);
	hear(number, MESOS__TASK_STATE__TASK_FINISHED, true, &fate);
	books_finish(&books, number, 60);
	cr_assert_eq(books.running, 1);
	cr_assert_eq(books.done, 1);
	cr_assert_eq(books.killed, 0);
	cr_assert_eq(books.violations, 0);
}

Test(books, who_is_to_be_killed_ends_so)
{
	uint32_t number = begin(FATE_KILL);
	enum fate fate;

	hear(number, MESOS__TASK_STATE__TASK_KILLED, true, &fate);
	books_finish(&books, number, 60);
	cr_assert_eq(books.killed, 1);
	cr_assert_eq(books.done, 1);
	cr_assert_eq(books.kill_to_ended.count, 1);
	cr_assert_eq(books.violations, 0);
}

Test(books, another_end_than_its_fate)
{
	enum fate fate;

	hear(begin(FATE_KILL), MESOS__TASK_STATE__TASK_FINISHED, true, &fate);
	cr_assert_eq(books.violations, 1);
	hear(begin(FATE_END), MESOS__TASK_STATE__TASK_KILLED, true, &fate);
	cr_assert_eq(books.violations, 2);
	cr_assert_eq(books.dropped, 2);
}

Test(books, a_task_that_never_arrived_may_be_dropped)
{
	uint32_t number = books_launch(&books, 0, FATE_END, 0, 10);
	enum fate fate;

	hear(number, MESOS__TASK_STATE__TASK_LOST, false, &fate);
	cr_assert_eq(books.dropped, 1);
	cr_assert_eq(books.violations, 0);
}

Test(books, answers_agree)
{
	uint32_t running = begin(FATE_RECONCILE), over = begin(FATE_RECONCILE);
	enum fate fate;

	cr_assert_eq(books.reconciled, 2);
	answer(running, MESOS__TASK_STATE__TASK_RUNNING, false);
	hear(over, MESOS__TASK_STATE__TASK_FINISHED, true, &fate);
	/* Unknown already. */
	answer(over, MESOS__TASK_STATE__TASK_LOST, false);
	cr_assert_eq(books.answered, 2);
	cr_assert_eq(books.reconcile_to_answer.count, 2);
	cr_assert_eq(books.violations, 0);
}

Test(books, answers_that_cannot_be)
{
	uint32_t running = begin(FATE_RECONCILE), over = begin(FATE_RECONCILE);
	enum fate fate;

	answer(running, MESOS__TASK_STATE__TASK_LOST, false);
	cr_assert_eq(books.violations, 1);
	hear(over, MESOS__TASK_STATE__TASK_FINISHED, true, &fate);
	answer(over, MESOS__TASK_STATE__TASK_RUNNING, false);
	cr_assert_eq(books.violations, 2);
	/* Twice, and of one that nobody asked for. */
	answer(over, MESOS__TASK_STATE__TASK_FINISHED, false);
	answer(begin(FATE_END), MESOS__TASK_STATE__TASK_RUNNING, false);
	cr_assert_eq(books.violations, 4);
}

Test(books, a_new_master_knows_each_once)
{
	uint32_t number = begin(FATE_END);

	answer(number, MESOS__TASK_STATE__TASK_RUNNING, true);
	cr_assert_eq(books.confirmed, 1);
	cr_assert_eq(books.violations, 0);
	answer(number, MESOS__TASK_STATE__TASK_RUNNING, true);
	cr_assert_eq(books.confirmed, 1);
	cr_assert_eq(books.violations, 1);
	answer(begin(FATE_END), MESOS__TASK_STATE__TASK_LOST, true);
	cr_assert_eq(books.violations, 2);
}

Test(books, foreign_tasks)
{
	Mesos__TaskStatus status = MESOS__TASK_STATUS__INIT;
	Mesos__TaskID id = MESOS__TASK_ID__INIT;
	uint32_t number = begin(FATE_END);
	char text[TASK_ID_MAX];
	enum fate fate;

	status.task_id = &id;
	id.value = "somebody-elses";
	books_hear(&books, 0, &status, 1, &fate);
	cr_assert_eq(books.violations, 1);
	books_task_id(&books, number, text);
	id.value = text;
	books_answer(&books, 1, &status, 1);
	cr_assert_eq(books.violations, 2);
}
