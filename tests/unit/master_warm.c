/* Changes of tasks are stored together, soon: what that saves, and what it must not lose. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/master_driver.h"

#define DELAY (5 * MILLISECOND)
#define RUSH_DELAY (500 * MILLISECOND)

static struct driver *d;

static void set_up(void)
{
	d = driver_prepare();
	d->options.warm_delay = DELAY;
	d->options.warm_task_delay = DELAY;
	d->options.warm_cost = DELAY;
	driver_start(d);
	driver_agent(d, AGENT1);
	driver_subscribe(d, NULL,
			 "\"failover_timeout\":60,\"checkpoint\":true,"
			 "\"capabilities\":[{\"type\":\"PARTITION_AWARE\"}]");
	driver_pass(d, SECOND);
}

static void tear_down(void)
{
	driver_destroy(d);
}

TestSuite(master_warm, .init = set_up, .fini = tear_down);

/* How many keys begin so. */
static int stored(const char *prefix)
{
	int count = 0;

	for (struct stored_pair *pair = d->store; pair; pair = pair->hh.next)
		count += str_has_prefix(pair->key, prefix);
	return count;
}

static void launch(const char *task)
{
	struct offer *o;

	for (o = d->m->offers; o && strcmp(o->agent->id, "M-S0"); o = o->hh.next)
		;
	cr_assert(o);
	driver_launch(d, 1, "M-0000", o->id, "M-S0", task, NULL);
}

static void finish(const char *task)
{
	driver_update(d, AGENT1, "M-S0", "M-0000", task, "TASK_FINISHED", 'f');
	driver_acknowledge(d, 1, "M-0000", "M-S0", task, 'f');
}

Test(master_warm, few_changes_do_not_wait)
{
	d->m->options.warm_cost = DELAY / 10;
	launch("a");
	cr_expect_eq(stored("task/"), 1);
	for (int i = 0; i < 10; i++)
		driver_update(d, AGENT1, "M-S0", "M-0000", "a", "TASK_RUNNING", i);
	finish("a");
	cr_expect_eq(stored("task/"), 1, "that was many");
	driver_pass(d, DELAY);
	cr_expect_eq(stored("task/"), 0);
}

Test(master_warm, many_changes_are_one_batch)
{
	uint64_t ticket = d->tickets[LINE_WARM];

	launch("a");
	driver_update(d, AGENT1, "M-S0", "M-0000", "a", "TASK_STARTING", 1);
	driver_acknowledge(d, 1, "M-0000", "M-S0", "a", 1);
	expect(d, "StatusUpdateAcknowledgementMessage");
	driver_update(d, AGENT1, "M-S0", "M-0000", "a", "TASK_RUNNING", 2);
	cr_expect_eq(d->tickets[LINE_WARM], ticket);
	cr_expect_eq(stored("task/"), 0);
	driver_pass(d, DELAY);
	cr_expect_eq(d->tickets[LINE_WARM], ticket + 1);
	cr_expect_eq(stored("task/M-0000/a"), 1);
	driver_restart(d, "M2");
	cr_expect_eq(framework_find_task(master_find_framework(d->m, "M-0000"), "a")->record.state,
		     MESOS__TASK_STATE__TASK_RUNNING);
}

Test(master_warm, a_short_task_is_stored_once_it_is_over)
{
	launch("a");
	finish("a");
	refute(d, "StatusUpdateAcknowledgementMessage");
	d->hold_store = true;
	driver_pass(d, DELAY);
	for (size_t i = 0; i < d->out.count; i++) {
		const struct master_action *action = &d->out.items[i];

		for (size_t k = 0; action->type == MASTER_STORE && k < action->store.count; k++)
			cr_expect_neq(strncmp(action->store.ops[k].key.data, "task/", 5), 0);
	}
	cr_expect_eq(stored("completed/M-0000/"), 1);
}

Test(master_warm, the_agent_may_forget_once_the_end_is_stored)
{
	launch("a");
	finish("a");
	d->hold_store = true;
	driver_pass(d, DELAY);
	cr_expect_eq(stored("completed/M-0000/"), 1);
	refute(d, "StatusUpdateAcknowledgementMessage");
	driver_store(d);
	expect(d, "StatusUpdateAcknowledgementMessage", "\"a\"");
}

Test(master_warm, a_stored_task_that_ends_leaves_the_store)
{
	launch("a");
	driver_pass(d, DELAY);
	cr_expect_eq(stored("task/M-0000/a"), 1);
	finish("a");
	driver_pass(d, DELAY);
	cr_expect_eq(stored("task/"), 0);
	cr_expect_eq(stored("completed/M-0000/"), 1);
}

Test(master_warm, an_id_used_again_at_once_is_stored)
{
	const char *other;

	driver_agent(d, AGENT2);
	driver_pass(d, SECOND);
	other = d->m->offers->id;
	for (struct offer *o = d->m->offers; o; o = o->hh.next)
		other = strcmp(o->agent->id, "M-S1") ? other : o->id;
	launch("a");
	driver_pass(d, DELAY);
	finish("a");
	driver_launch(d, 1, "M-0000", other, "M-S1", "a", NULL);
	driver_pass(d, DELAY);
	cr_expect_eq(stored("task/M-0000/a"), 1);
}

static const struct master_action *store_action(enum store_line line)
{
	for (size_t i = 0; i < d->out.count; i++) {
		const struct master_action *action = &d->out.items[i];

		if (action->type == MASTER_STORE && action->store.line == line)
			return action;
	}
	return NULL;
}

static void unregister(const char *pid, const char *agent)
{
	driver_message(d, pid, &mesos__internal__unregister_slave_message__descriptor,
		       "{\"agent_id\":{\"value\":\"%s\"}}", agent);
}

Test(master_warm, registry_writes_wait_until_what_was_before_is_synced)
{
	const struct master_action *warm;

	launch("a");
	d->hold_store = true;
	unregister(AGENT1, "M-S0");
	warm = store_action(LINE_WARM);
	cr_assert(warm);
	cr_expect_eq(warm->store.class, STORE_SYNCED, "it is synced");
	cr_expect_eq(stored("task/M-0000/a"), 1);
	cr_expect_null(store_action(LINE_REGISTRY));
	cr_expect_eq(stored("agent/M-S0"), 1);
	cr_expect(driver_store_line(d, LINE_WARM));
	cr_assert(store_action(LINE_REGISTRY));
	cr_expect_eq(store_action(LINE_REGISTRY)->store.class, STORE_SYNCED);
	cr_expect_eq(stored("agent/M-S0"), 0);
	cr_expect(master_find_agent(d->m, "M-S0"), "that is not durable yet");
	cr_expect(driver_store_line(d, LINE_REGISTRY));
	cr_expect_null(master_find_agent(d->m, "M-S0"));
}

Test(master_warm, registry_writes_that_wait_leave_in_their_order)
{
	driver_agent(d, AGENT2);
	launch("a");
	d->hold_store = true;
	unregister(AGENT1, "M-S0");
	unregister(AGENT2, "M-S1");
	cr_expect_null(store_action(LINE_REGISTRY));
	driver_store_line(d, LINE_WARM);
	cr_expect_eq(stored("agent/"), 0);
	cr_assert_not_null(store_action(LINE_REGISTRY));
	cr_expect_eq(store_action(LINE_REGISTRY)->store.ops[0].key.len, strlen("agent/M-S0"));
	cr_expect_eq(strncmp(store_action(LINE_REGISTRY)->store.ops[0].key.data, "agent/M-S0",
			     strlen("agent/M-S0")),
		     0);
	driver_store_line(d, LINE_REGISTRY);
	cr_expect_null(master_find_agent(d->m, "M-S0"));
	cr_expect_null(master_find_agent(d->m, "M-S1"));
}

/* A killed master comes back with both, or with what was before. */
Test(master_warm, a_crash_while_a_registry_write_waits_undoes_it)
{
	launch("a");
	d->hold_store = true;
	unregister(AGENT1, "M-S0");
	d->hold_store = false;
	driver_restart(d, "M2");
	cr_assert_not_null(master_find_agent(d->m, "M-S0"));
	cr_expect(framework_find_task(master_find_framework(d->m, "M-0000"), "a"));
}

Test(master_warm, an_orderly_end_stores_what_waits)
{
	launch("a");
	cr_expect_eq(stored("task/"), 0);
	master_actions_clear(&d->out);
	master_finish(d->m, d->now, &d->out);
	cr_assert_eq(d->out.count, 1);
	cr_expect_eq(d->out.items[0].type, MASTER_STORE);
}

Test(master_warm, what_is_not_kept_holds_no_acknowledgement)
{
	driver_destroy(d);
	d = driver_prepare();
	d->options.warm_delay = d->options.warm_task_delay = d->options.warm_cost = DELAY;
	d->options.max_completed_tasks_per_framework = 0;
	driver_start(d);
	driver_agent(d, AGENT1);
	driver_subscribe(d, NULL, "\"failover_timeout\":60");
	driver_pass(d, SECOND);
	launch("a");
	finish("a");
	driver_pass(d, DELAY);
	expect(d, "StatusUpdateAcknowledgementMessage", "\"a\"");
	cr_expect_eq(stored("completed/"), 0);
}

static void rush(void)
{
	d->m->options.warm_task_delay = d->m->options.warm_cost = RUSH_DELAY;
}

/* 100 changes cost a tenth of a delay each: as they fade, so does the waiting. */
Test(master_warm, how_long_a_task_waits_is_by_what_changed_of_late)
{
	int64_t begin = d->now;

	d->m->options.warm_task_delay = RUSH_DELAY;
	d->m->options.warm_cost = MILLISECOND;
	d->m->warm_fresh = 100;
	launch("a");
	while (!stored("task/") && d->now < begin + SECOND)
		driver_pass(d, MILLISECOND);
	cr_expect_geq(d->now - begin, 65 * MILLISECOND);
	cr_expect_leq(d->now - begin, 85 * MILLISECOND);
}

Test(master_warm, in_a_rush_tasks_wait_longer)
{
	rush();
	launch("a");
	driver_pass(d, DELAY);
	cr_expect_eq(stored("task/"), 0);
	/* A pause is no end of the rush. */
	driver_pass(d, DELAY);
	cr_expect_eq(stored("task/"), 0);
	driver_pass(d, RUSH_DELAY);
	cr_expect_eq(stored("task/"), 1);
}

Test(master_warm, a_rush_is_over_when_nothing_happens_for_long)
{
	rush();
	launch("a");
	driver_pass(d, SECOND);
	cr_expect_eq(stored("task/"), 1);
	d->m->options.warm_cost = 1;
	launch("b");
	driver_pass(d, DELAY);
	cr_expect_eq(stored("task/"), 2);
}

Test(master_warm, no_rush_keeps_a_task_waiting_for_ever)
{
	int64_t begin;

	rush();
	launch("a");
	begin = d->now;
	while (!stored("task/") && d->now < begin + 2 * RUSH_DELAY) {
		d->m->warm_fresh++; /* as if there were others */
		driver_pass(d, DELAY);
	}
	cr_expect_eq(stored("task/"), 1);
	cr_expect_geq(d->now, begin + RUSH_DELAY);
	cr_expect_leq(d->now, begin + RUSH_DELAY + 2 * DELAY);
}

Test(master_warm, a_kill_waits_for_no_rush)
{
	rush();
	launch("a");
	driver_call(d, 1,
		    "{\"type\":\"KILL\",\"framework_id\":{\"value\":\"M-0000\"},"
		    "\"kill\":{\"task_id\":{\"value\":\"a\"}}}");
	driver_pass(d, DELAY);
	cr_expect_eq(stored("task/"), 1);
}
