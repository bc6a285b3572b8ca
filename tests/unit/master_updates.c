/* Status updates, acknowledgements, reconciliation. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/master_driver.h"

static struct driver *d;
static struct framework *f;

/* A framework with task "t" on M-S0. */
static void begin(const char *members)
{
	d = driver_create();
	driver_agent(d, AGENT1);
	driver_subscribe(d, NULL, members);
	f = master_find_framework(d->m, "M-0000");
	driver_launch(d, 1, "M-0000", "M-O0", "M-S0", "t", NULL);
	driver_forget(d);
}

static void set_up(void)
{
	begin("\"failover_timeout\":60");
}

static void tear_down(void)
{
	driver_destroy(d);
}

TestSuite(master_updates, .init = set_up, .fini = tear_down);

static void update(const char *state, int uuid)
{
	driver_update(d, AGENT1, "M-S0", "M-0000", "t", state, uuid);
}

static struct task *task(void)
{
	return framework_find_task(f, "t");
}

static Mesos__Task *whole(void)
{
	return task_record_unpack(&task()->record, &d->out.arena);
}

/* What the scheduler said of it is in its record, to be shown and to outlive the master. */
Test(master_updates, a_record_has_all_that_was_launched)
{
	const Mesos__Task *t;

	driver_pass(d, 2 * SECOND);
	driver_launch(d, 1, "M-0000", driver_offer(d), "M-S0", "u",
		      "!\"command\":{\"value\":\"true\",\"user\":\"somebody\"},"
		      "\"labels\":{\"labels\":[{\"key\":\"k\"}]},"
		      "\"discovery\":{\"visibility\":\"CLUSTER\",\"name\":\"d\"},"
		      "\"container\":{\"type\":\"MESOS\"},"
		      "\"health_check\":{\"type\":\"COMMAND\",\"command\":{\"value\":\"x\"}},"
		      "\"kill_policy\":{\"grace_period\":{\"nanoseconds\":5}}");
	cr_assert_not_null(framework_find_task(f, "u"));
	t = task_record_unpack(&framework_find_task(f, "u")->record, &d->out.arena);
	cr_expect_str_eq(t->name, "t");
	cr_expect_str_eq(t->framework_id->value, "M-0000");
	cr_expect_str_eq(t->agent_id->value, "M-S0");
	cr_expect_null(t->executor_id);
	cr_expect_eq(t->n_resources, 2);
	cr_expect_str_eq(t->user, "somebody");
	cr_expect_str_eq(t->labels->labels[0]->key, "k");
	cr_expect_str_eq(t->discovery->name, "d");
	cr_expect_eq(t->container->type, MESOS__CONTAINER_INFO__TYPE__MESOS);
	cr_expect_str_eq(t->health_check->command->value, "x");
	cr_expect_eq(t->kill_policy->grace_period->nanoseconds, 5);
	driver_pass(d, 2 * SECOND);
	driver_launch(d, 1, "M-0000", driver_offer(d), "M-S0", "v",
		      "!\"executor\":{\"executor_id\":{\"value\":\"e\"},\"command\":{"
		      "\"value\":\"true\",\"user\":\"other\"}}");
	cr_assert_not_null(framework_find_task(f, "v"));
	t = task_record_unpack(&framework_find_task(f, "v")->record, &d->out.arena);
	cr_expect_str_eq(t->executor_id->value, "e");
	cr_expect_str_eq(t->user, "other");
}

Test(master_updates, forwarded_with_uuid_and_recorded_without_data)
{
	update("TASK_RUNNING", 1);
	expect(d, "event 1 UPDATE", "TASK_RUNNING", "\"uuid\":\"AQEBAQEBQAGAAQEBAQEBAQ",
	       "\"data\":");
	cr_expect_eq(task()->record.state, MESOS__TASK_STATE__TASK_RUNNING);
	cr_assert_eq(task()->record.status_count, 1);
	cr_expect_not(whole()->statuses[0]->has_data);
	cr_expect_eq(task_record_sent(&task()->record).state, MESOS__TASK_STATE__TASK_RUNNING);
	update("TASK_RUNNING", 2);
	cr_expect_eq(task()->record.status_count, 1);
}

Test(master_updates, not_forwarded_to_the_disconnected)
{
	driver_close(d, 1);
	update("TASK_RUNNING", 1);
	refute(d, " UPDATE {");
	cr_expect_eq(task()->record.state, MESOS__TASK_STATE__TASK_RUNNING);
	cr_expect_not(task_record_sent(&task()->record).known);
}

Test(master_updates, strangers_change_nothing)
{
	driver_update(d, "x@127.0.0.1:1", "M-S0", "M-0000", "t", "TASK_FAILED", 1);
	driver_update(d, AGENT1, "M-S9", "M-0000", "t", "TASK_FAILED", 1);
	refute(d, " UPDATE {");
	cr_expect_eq(task()->record.state, MESOS__TASK_STATE__TASK_STAGING);
	cr_expect_eq(d->m->counters.invalid_status_updates, 2);
}

/* The id is that of a task elsewhere, which goes on. */
Test(master_updates, of_a_task_of_another_agent_is_of_none)
{
	driver_agent(d, AGENT2);
	update("TASK_RUNNING", 1);
	driver_forget(d);
	driver_update(d, AGENT2, "M-S1", "M-0000", "t", "TASK_FAILED", 2);
	expect(d, " UPDATE {", "TASK_FAILED");
	cr_expect_eq(d->m->counters.invalid_status_updates, 1);
	cr_assert(task());
	cr_expect_eq(task()->record.state, MESOS__TASK_STATE__TASK_RUNNING);
	cr_expect_eq(resources_quantity(&master_find_agent(d->m, "M-S0")->used, "cpus"), 1000);
}

Test(master_updates, unknown_tasks_are_forwarded_only)
{
	driver_update(d, AGENT1, "M-S0", "M-0000", "other", "TASK_LOST", 1);
	expect(d, "UPDATE", "\"other\"", "TASK_LOST", "\"uuid\"");
	cr_expect_not(framework_find_task(f, "other"));
}

Test(master_updates, of_a_framework_that_is_no_more_ends_it_on_the_agent)
{
	driver_call(d, 1, "{\"type\":\"TEARDOWN\",\"framework_id\":{\"value\":\"M-0000\"}}");
	driver_forget(d);
	update("TASK_KILLED", 1);
	expect(d, "master -> " AGENT1, "ShutdownFrameworkMessage", "M-0000");
	driver_forget(d);
	driver_update(d, AGENT1, "M-S0", "M-0007", "t", "TASK_KILLED", 1);
	refute(d, "ShutdownFrameworkMessage");
}

Test(master_updates, terminal_states_stick_and_free_resources_at_once)
{
	struct agent *a = master_find_agent(d->m, "M-S0");

	update("TASK_FINISHED", 1);
	cr_expect_eq(resources_quantity(&a->used, "cpus"), 0);
	cr_expect_eq(d->m->counters.tasks_finished, 1);
	update("TASK_RUNNING", 2);
	cr_expect_eq(task()->record.state, MESOS__TASK_STATE__TASK_FINISHED);
	cr_expect_eq(d->m->counters.tasks_finished, 1);
}

/* The agent says with each update what it knows already. */
Test(master_updates, ends_are_counted_when_they_are_known)
{
	const uint64_t *ended = f->counters.terminal;

	driver_update_latest(d, AGENT1, "M-S0", "M-0000", "t", "TASK_RUNNING", "TASK_FAILED", 1);
	cr_expect_eq(task()->record.state, MESOS__TASK_STATE__TASK_FAILED);
	cr_expect_eq(d->m->counters.tasks_failed, 1);
	cr_expect_eq(ended[MESOS__TASK_STATE__TASK_FAILED], 1);
	cr_expect_eq(ended[MESOS__TASK_STATE__TASK_RUNNING], 0);
	cr_expect_null(d->m->reasons);
	driver_message(d, AGENT1, &mesos__internal__status_update_message__descriptor,
		       "{\"pid\":\"" AGENT1
		       "\",\"update\":{\"framework_id\":{\"value\":\"M-0000\"},"
		       "\"agent_id\":{\"value\":\"M-S0\"},\"timestamp\":1.5,\"latest_state\":"
		       "\"TASK_FAILED\",\"uuid\":\"AgICAgICQAKAAgICAgICAg==\",\"status\":{"
		       "\"task_id\":{\"value\":\"t\"},\"state\":\"TASK_FAILED\",\"source\":"
		       "\"SOURCE_AGENT\",\"reason\":\"REASON_EXECUTOR_TERMINATED\"}}}");
	cr_expect_eq(d->m->counters.tasks_failed, 1);
	cr_expect_eq(ended[MESOS__TASK_STATE__TASK_FAILED], 1);
	cr_assert_not_null(d->m->reasons);
	cr_expect_str_eq(d->m->reasons->name,
			 "master/task_failed/source_slave/reason_executor_terminated");
	cr_expect_eq(d->m->reasons->value, 1);
	update("TASK_FAILED", 3);
	cr_expect_eq(d->m->reasons->value, 1);
}

Test(master_updates, acknowledgements_are_routed)
{
	/* Nothing was sent yet. */
	driver_acknowledge(d, 1, "M-0000", "M-S0", "t", 1);
	refute(d, "Acknowledgement");
	update("TASK_RUNNING", 1);
	driver_acknowledge(d, 1, "M-0000", "M-S0", "t", 1);
	expect(d, "master -> " AGENT1, "StatusUpdateAcknowledgementMessage",
	       "AQEBAQEBQAGAAQEBAQEBAQ");
	update("TASK_FINISHED", 2);
	/* Of what was not sent last: it may be from before a failover, and end the task on the
	 * agent alone. */
	driver_forget(d);
	driver_acknowledge(d, 1, "M-0000", "M-S0", "t", 3);
	refute(d, "StatusUpdateAcknowledgementMessage");
	cr_expect(task());
	driver_acknowledge(d, 1, "M-0000", "M-S0", "t", 2);
	cr_expect_not(task());
	cr_expect_eq(f->completed_task_count, 1);
	/* Unknown tasks: passed on, the agent may still know. */
	driver_forget(d);
	driver_acknowledge(d, 1, "M-0000", "M-S0", "t", 2);
	expect(d, "StatusUpdateAcknowledgementMessage");
	driver_forget(d);
	driver_acknowledge(d, 1, "M-0000", "M-S7", "t", 2);
	refute(d, "Acknowledgement");
	driver_exited(d, AGENT1);
	driver_acknowledge(d, 1, "M-0000", "M-S0", "t", 2);
	refute(d, "Acknowledgement");
}

Test(master_updates, statuses_kept_are_bounded)
{
	for (int i = 0; i < 300; i++)
		update(i % 2 ? "TASK_RUNNING" : "TASK_STARTING", i % 256);
	cr_assert_eq(task()->record.status_count, 100);
	cr_expect_eq(whole()->statuses[99]->state, MESOS__TASK_STATE__TASK_RUNNING);
	cr_expect_eq(whole()->statuses[0]->state, MESOS__TASK_STATE__TASK_STARTING);
}

Test(master_updates, held_acknowledgements_are_found_by_their_task)
{
	d->hold_store = true;
	update("TASK_FINISHED", 1);
	driver_acknowledge(d, 1, "M-0000", "M-S0", "t", 1);
	refute(d, "StatusUpdateAcknowledgementMessage");
	/* The id is used again: the agent hears of the first task's end before. */
	driver_pass(d, SECOND);
	driver_launch(d, 1, "M-0000", d->m->offers->id, "M-S0", "t", NULL);
	expect(d, "StatusUpdateAcknowledgementMessage");
	cr_expect_null(d->m->acks_by_task);
	d->hold_store = false;
	driver_store(d);
	cr_expect_eq(driver_count(d, "StatusUpdateAcknowledgementMessage"), 1);
}

Test(master_updates, completed_ids_are_free_again)
{
	update("TASK_FINISHED", 2);
	driver_acknowledge(d, 1, "M-0000", "M-S0", "t", 2);
	driver_pass(d, SECOND);
	driver_launch(d, 1, "M-0000", d->m->offers->id, "M-S0", "t", NULL);
	cr_expect(task());
}

Test(master_updates, completed_tasks_are_a_ring)
{
	driver_destroy(d);
	d = driver_prepare();
	d->options.max_completed_tasks_per_framework = 2;
	driver_start(d);
	driver_agent(d, AGENT1);
	driver_subscribe(d, NULL, NULL);
	for (int i = 0; i < 4; i++) {
		char id[8] = {(char)('a' + i), 0};

		driver_pass(d, SECOND);
		driver_launch(d, 1, "M-0000", d->m->offers->id, "M-S0", id, NULL);
		driver_update(d, AGENT1, "M-S0", "M-0000", id, "TASK_FINISHED", i);
		driver_acknowledge(d, 1, "M-0000", "M-S0", id, i);
	}
	f = master_find_framework(d->m, "M-0000");
	cr_expect_eq(f->completed_task_count, 2);
	cr_expect(slice_eq(
		task_record_id(
			&list_first(&f->completed_tasks, struct completed_task, link)->record),
		"c"));
}

/* ---- reconciliation ------------------------------------------------------------------- */

static void reconcile(const char *tasks)
{
	driver_forget(d);
	driver_call(d, 1,
		    "{\"type\":\"RECONCILE\",\"framework_id\":{\"value\":\"M-0000\"},"
		    "\"reconcile\":{\"tasks\":[%s]}}",
		    tasks);
}

#define ASK(task, agent)                                                                           \
	"{\"task_id\":{\"value\":\"" task "\"},\"agent_id\":{\"value\":\"" agent "\"}}"

Test(master_updates, implicit_reconciliation_tells_what_was_sent_last)
{
	uint64_t again;

	reconcile("");
	expect(d, "UPDATE", "TASK_STAGING", "REASON_RECONCILIATION", "SOURCE_MASTER",
	       "Reconciliation: Latest task state");
	refute(d, "\"uuid\"");
	update("TASK_RUNNING", 1);
	driver_close(d, 1);
	update("TASK_FINISHED", 2);
	again = driver_subscribe(d, "M-0000", "\"failover_timeout\":60");
	driver_forget(d);
	driver_call(d, again,
		    "{\"type\":\"RECONCILE\",\"framework_id\":{\"value\":\"M-0000\"},"
		    "\"reconcile\":{}}");
	expect(d, "UPDATE", "TASK_RUNNING");
	refute(d, "UPDATE", "TASK_FINISHED");
}

/* All answers but that of an agent not back yet, which is in master_recovery.c. */
static void check_table(bool aware)
{
	driver_agent(d, AGENT2);
	driver_agent(d, "slave(1)@127.0.0.1:5003");
	d->agent_silent = true;
	for (int i = 0; i < 6; i++) {
		driver_pass(d, 15 * SECOND);
		driver_message(d, AGENT1, &mesos__internal__pong_slave_message__descriptor, "{}");
		driver_message(d, "slave(1)@127.0.0.1:5003",
			       &mesos__internal__pong_slave_message__descriptor, "{}");
	}
	cr_assert(master_find_departed(d->m->unreachable, "M-S1"));
	d->agent_silent = false;
	driver_operate(d, "{\"type\":\"MARK_AGENT_GONE\",\"mark_agent_gone\":"
			  "{\"agent_id\":{\"value\":\"M-S2\"}}}");
	reconcile(ASK("t", "wrong"));
	expect(d, "UPDATE", "TASK_STAGING", "Reconciliation: Latest task state", "\"M-S0\"");
	reconcile(ASK("x", "M-S0"));
	expect(d, aware ? "TASK_GONE\"" : "TASK_LOST",
	       "Reconciliation: Task is unknown to the agent");
	reconcile(ASK("x", "M-S1"));
	expect(d, aware ? "TASK_UNREACHABLE" : "TASK_LOST", "Reconciliation: Task is unreachable",
	       "\"unreachable_time\":{\"nanoseconds\":");
	reconcile(ASK("x", "M-S2"));
	expect(d, aware ? "TASK_GONE_BY_OPERATOR" : "TASK_LOST", "Reconciliation: Task is gone");
	reconcile(ASK("x", "none"));
	expect(d, aware ? "TASK_UNKNOWN" : "TASK_LOST", "Reconciliation: Task is unknown\"");
	reconcile("{\"task_id\":{\"value\":\"x\"}}");
	expect(d, aware ? "TASK_UNKNOWN" : "TASK_LOST", "Reconciliation: Task is unknown\"");
	refute(d, "agent_id");
}

Test(master_updates, explicit_reconciliation)
{
	check_table(false);
}

Test(master_updates, explicit_reconciliation_partition_aware)
{
	driver_destroy(d);
	begin("\"capabilities\":[{\"type\":\"PARTITION_AWARE\"}]");
	check_table(true);
}

Test(master_updates, operations_are_unknown)
{
	driver_call(d, 1,
		    "{\"type\":\"RECONCILE_OPERATIONS\",\"framework_id\":{\"value\":\"M-0000\"},"
		    "\"reconcile_operations\":{\"operations\":[{\"operation_id\":{\"value\":"
		    "\"o\"}},{\"operation_id\":{\"value\":\"p\"},\"agent_id\":{\"value\":"
		    "\"M-S0\"}}]}}");
	expect(d, "OPERATION_UNKNOWN", "\"o\"", "no 'agent_id' was provided");
	expect(d, "OPERATION_UNKNOWN", "\"p\"", "Reconciliation: Operation is unknown\"");
}
