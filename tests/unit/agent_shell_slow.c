/* The pool for slow work: lanes keep their order, others overtake, and an end cancels. */
#include "agent_shell.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "agent/containers/slow.h"

static uv_loop_t loop;
static struct slow_pool *pool;
static struct buf done; /* a letter each, 'X' before those that were canceled */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static bool gate_open;
static int at_gate;

struct letter {
	struct slow_job slow;
	char letter;
	bool waits;
};

static void letter_work(struct slow_job *slow)
{
	struct letter *l = container_of(slow, struct letter, slow);

	pthread_mutex_lock(&lock);
	at_gate += l->waits;
	while (l->waits && !gate_open)
		pthread_cond_wait(&wake, &lock);
	pthread_mutex_unlock(&lock);
}

static void letter_done(struct slow_job *slow, bool canceled)
{
	struct letter *l = container_of(slow, struct letter, slow);

	buf_printf(&done, "%s%c", canceled ? "X" : "", l->letter);
	free(l);
}

static void add(struct slow_lane *lane, char letter, bool waits)
{
	struct letter *l = xcalloc(1, sizeof(*l));

	l->slow.work = letter_work;
	l->slow.done = letter_done;
	l->letter = letter;
	l->waits = waits;
	slow_add(pool, lane, &l->slow);
}

static void open_gate(void)
{
	pthread_mutex_lock(&lock);
	gate_open = true;
	pthread_cond_broadcast(&wake);
	pthread_mutex_unlock(&lock);
}

static bool one_at_gate(void)
{
	pthread_mutex_lock(&lock);
	int count = at_gate;
	pthread_mutex_unlock(&lock);
	return count == 1;
}

static bool one_is_done(void)
{
	return done.len >= 1;
}

static bool two_are_done(void)
{
	return done.len >= 2;
}

static void set_up(void)
{
	uv_loop_init(&loop);
	pool = slow_pool_create(&loop);
	done = BUF_INIT;
}

static void tear_down(void)
{
	buf_free(&done);
}

TestSuite(agent_shell_slow, .init = set_up, .fini = tear_down, .timeout = 60);

static void finish(const char *expected)
{
	slow_pool_close(pool);
	uv_run(&loop, UV_RUN_DEFAULT);
	cr_expect_eq(uv_loop_close(&loop), 0);
	buf_putc(&done, '\0');
	cr_expect_str_eq(done.data, expected);
}

static bool all_are_done(void)
{
	return done.len == 26;
}

Test(agent_shell_slow, a_lane_keeps_its_order)
{
	struct slow_lane lane;

	slow_lane_init(&lane);
	for (char letter = 'a'; letter <= 'z'; letter++)
		add(&lane, letter, false);
	cr_expect_eq(done.len, 0, "never inside of slow_add()");
	run_until(&loop, all_are_done);
	cr_expect_not(lane.busy);
	finish("abcdefghijklmnopqrstuvwxyz");
}

Test(agent_shell_slow, a_lane_holds_up_nobody_else)
{
	char expected[SLOW_THREADS + 2] = "z";
	struct slow_lane lane;

	slow_lane_init(&lane);
	for (char letter = 'a'; letter < 'a' + SLOW_THREADS; letter++) {
		add(&lane, letter, true);
		expected[1 + letter - 'a'] = letter;
	}
	add(NULL, 'z', false);
	run_until(&loop, one_is_done);
	open_gate();
	while (lane.busy)
		uv_run(&loop, UV_RUN_ONCE);
	finish(expected);
}

/* Two come at once while one thread waits for work: the second must not wait for the first. Some
 * threads of the rounds are not yet waiting then. */
Test(agent_shell_slow, an_idle_thread_takes_only_one_of_two)
{
	for (int round = 0; round < 50; round++) {
		add(NULL, 'a', false);
		run_until(&loop, one_is_done);
		for (int i = 0; i < 100; i++)
			sched_yield();
		add(NULL, 'b', true);
		add(NULL, 'c', false);
		run_until(&loop, two_are_done);
		open_gate();
		slow_pool_close(pool);
		uv_run(&loop, UV_RUN_DEFAULT);
		buf_putc(&done, '\0');
		cr_assert_str_eq(done.data, "acb");
		gate_open = false;
		buf_clear(&done);
		pool = slow_pool_create(&loop);
	}
	finish("");
}

Test(agent_shell_slow, what_waits_in_a_lane_can_be_canceled)
{
	struct slow_lane lane;

	slow_lane_init(&lane);
	add(&lane, 'a', true);
	add(&lane, 'b', false);
	run_until(&loop, one_at_gate);
	slow_lane_cancel(&lane);
	cr_expect_eq(done.len, 2);
	add(&lane, 'c', false);
	open_gate();
	while (lane.busy)
		uv_run(&loop, UV_RUN_ONCE);
	finish("Xbac");
}

Test(agent_shell_slow, an_end_waits_for_what_was_begun)
{
	struct slow_lane lane;

	slow_lane_init(&lane);
	add(&lane, 'a', true);
	add(&lane, 'b', false);
	run_until(&loop, one_at_gate);
	open_gate();
	finish("aXb");
}

Test(agent_shell_slow, an_end_without_work)
{
	finish("");
}

/* ---- much at once -----------------------------------------------------------------------------
 */

#define MANY 60
#define BUSY_NS 500000 /* of the loop, for each */

static int turns, taken_up;
static atomic_int worked;

static void turn_cb(uv_prepare_t *prepare)
{
	turns++;
}

static void busy_done(struct slow_job *slow, bool canceled)
{
	uint64_t begin = uv_hrtime();

	while (uv_hrtime() - begin < BUSY_NS)
		;
	taken_up++;
	free(container_of(slow, struct letter, slow));
}

static void busy_work(struct slow_job *slow)
{
	worked++;
}

/* Other things are done in between: the loop is never held for all of them. */
Test(agent_shell_slow, the_loop_turns_between_many_that_are_done_at_once)
{
	uv_prepare_t prepare;

	uv_prepare_init(&loop, &prepare);
	for (int i = 0; i < MANY; i++) {
		struct letter *l = xcalloc(1, sizeof(*l));

		l->slow.work = busy_work;
		l->slow.done = busy_done;
		slow_add(pool, NULL, &l->slow);
	}
	while (worked < MANY)
		sched_yield();
	uv_prepare_start(&prepare, turn_cb);
	while (taken_up < MANY)
		uv_run(&loop, UV_RUN_ONCE);
	/* Two milliseconds take four of them, and one that was begun in time. */
	cr_expect_geq(turns, MANY / 5);
	uv_close((uv_handle_t *)&prepare, NULL);
	finish("");
}
