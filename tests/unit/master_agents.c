/* The life of agents as the master sees it. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/master_driver.h"

static struct driver *d;

static void set_up(void)
{
	d = driver_create();
}

static void tear_down(void)
{
	driver_destroy(d);
}

TestSuite(master_agents, .init = set_up, .fini = tear_down);

#define FID "\"framework_id\":{\"value\":\"M-0000\"}"
#define AWARE "\"capabilities\":[{\"type\":\"PARTITION_AWARE\"}],\"checkpoint\":true"
#define REPORT(state)                                                                              \
	"\"frameworks\":[{\"user\":\"u\",\"name\":\"n\",\"id\":{\"value\":\"M-0000\"}," AWARE      \
	"}],"                                                                                      \
	"\"tasks\":[{\"name\":\"t\",\"task_id\":{\"value\":\"t\"}," FID ","                        \
	"\"agent_id\":{\"value\":\"M-S0\"},\"state\":\"" state                                     \
	"\",\"resources\":" RESOURCES(1, 32) "}]"

/* An agent with task "t" of a framework with these members, running. */
static void run(const char *members)
{
	driver_agent(d, AGENT1);
	driver_subscribe(d, NULL, members);
	driver_launch(d, 1, "M-0000", "M-O0", "M-S0", "t", NULL);
	driver_update(d, AGENT1, "M-S0", "M-0000", "t", "TASK_RUNNING", 1);
	driver_acknowledge(d, 1, "M-0000", "M-S0", "t", 1);
	driver_forget(d);
}

static void silence(void)
{
	d->agent_silent = true;
	driver_pass(d, 90 * SECOND);
	d->agent_silent = false;
}

static int mark_gone(const char *id)
{
	return driver_operate(d,
			      "{\"type\":\"MARK_AGENT_GONE\",\"mark_agent_gone\":"
			      "{\"agent_id\":{\"value\":\"%s\"}}}",
			      id);
}

/* ---- registration ------------------------------------------------------------------ */

Test(master_agents, admitted_when_durable)
{
	d->hold_store = true;
	driver_agent(d, AGENT1);
	driver_agent(d, AGENT1);
	refute(d, "SlaveRegistered");
	d->hold_store = false;
	driver_store(d);
	expect(d, "link " AGENT1);
	expect(d, "slave-observer(1) -> " AGENT1, "PingSlaveMessage", "\"connected\":true");
	expect(d, "master -> " AGENT1, "SlaveRegisteredMessage", "M-S0",
	       "\"total_ping_timeout_seconds\":75.0");
	cr_expect_eq(HASH_COUNT(d->m->agents), 1);
	cr_expect_eq(driver_count(d, "SlaveRegistered"), 1);
	driver_forget(d);
	driver_agent(d, AGENT1);
	expect(d, "SlaveRegisteredMessage", "M-S0");
}

static const char *const bad_agents[] = {
	"{\"agent\":{\"hostname\":\"h\"}}",
	"{\"agent\":{\"hostname\":\"h\"},\"version\":\"0.28.0\"}",
	"{\"agent\":{\"hostname\":\"h\"},\"version\":\"x\"}",
	"{\"agent\":{\"hostname\":\"h\",\"id\":{\"value\":\"a\"}},\"version\":\"1.12.0\"}",
	"{\"agent\":{\"hostname\":\"h\",\"resources\":[{\"name\":\"cpus\",\"type\":\"SCALAR\","
	"\"scalar\":{\"value\":-1}}]},\"version\":\"1.12.0\"}",
	"{\"agent\":{\"hostname\":\"h\",\"domain\":{}},\"version\":\"1.12.0\"}",
	"{\"agent\":{\"hostname\":\"h\"},\"version\":\"1.12.0\",\"checkpointed_resources\":["
	"{\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1}}]}",
};

Test(master_agents, bad_registrations_are_ignored)
{
	for (size_t i = 0; i < sizeof(bad_agents) / sizeof(bad_agents[0]); i++)
		driver_message(d, AGENT1, &mesos__internal__register_slave_message__descriptor,
			       "%s", bad_agents[i]);
	driver_agent(d, "@0.0.0.0:0");
	cr_expect_eq(HASH_COUNT(d->m->agents), 0);
	cr_expect_eq(d->trace.len, 0, "%s", d->trace.data);
}

Test(master_agents, a_new_agent_at_the_address_of_a_lost_one)
{
	run("\"checkpoint\":true");
	driver_exited(d, AGENT1);
	driver_agent(d, AGENT1);
	expect(d, "UPDATE", "TASK_LOST", "REASON_AGENT_REMOVED",
	       "Agent host removed: a new agent registered at the same address");
	expect(d, "FAILURE", "M-S0");
	expect(d, "SlaveRegisteredMessage", "M-S1");
	cr_expect_eq(HASH_COUNT(d->m->agents), 1);
	cr_expect_eq(d->m->counters.slave_removals_registered, 1);
}

/* What is refused for its address leaves no trace in the registry. */
Test(master_agents, an_address_that_is_taken)
{
	driver_agent(d, AGENT1);
	d->agent_silent = true;
	driver_pass(d, 90 * SECOND);
	d->agent_silent = false;
	cr_assert(master_find_departed(d->m->unreachable, "M-S0"));
	driver_agent(d, AGENT1);
	driver_reregister(d, AGENT1, "M-S0", NULL);
	cr_expect(master_find_departed(d->m->unreachable, "M-S0"));
	driver_restart(d, "M2");
	cr_expect(master_find_departed(d->m->unreachable, "M-S0"));
	cr_expect_null(master_find_agent(d->m, "M-S0"));
}

Test(master_agents, an_address_that_two_want)
{
	d->hold_store = true;
	driver_reregister(d, AGENT1, "M-S7", NULL);
	driver_reregister(d, AGENT1, "M-S8", NULL);
	driver_agent(d, AGENT1);
	d->hold_store = false;
	driver_store(d);
	cr_expect_eq(HASH_COUNT(d->m->agents), 1);
	cr_expect(master_find_agent(d->m, "M-S7"));
	driver_restart(d, "M2");
	cr_expect_eq(HASH_COUNT(d->m->agents), 1);
	cr_expect(master_find_agent(d->m, "M-S7"));
}

/* ---- links --------------------------------------------------------------------------- */

Test(master_agents, a_broken_link_loses_tasks_without_checkpoint)
{
	run(NULL);
	driver_pass(d, SECOND);
	driver_exited(d, AGENT1);
	expect(d, "UPDATE", "TASK_LOST", "REASON_AGENT_DISCONNECTED", "Agent host disconnected");
	expect(d, "RESCIND");
	cr_expect_not(agent_active(master_find_agent(d->m, "M-S0")));
	cr_expect_eq(master_find_framework(d->m, "M-0000")->completed_task_count, 1);
}

Test(master_agents, a_broken_link_keeps_checkpointed_tasks)
{
	run(AWARE);
	driver_exited(d, AGENT1);
	refute(d, " UPDATE {");
	driver_pass(d, 16 * SECOND);
	expect(d, "PingSlaveMessage", "\"connected\":false");
	driver_reregister(d, AGENT1, "M-S0", REPORT("TASK_RUNNING"));
	expect(d, "SlaveReregisteredMessage", "M-S0");
	expect(d, "UpdateFrameworkMessage", "M-0000");
	refute(d, " UPDATE {");
	cr_expect(agent_active(master_find_agent(d->m, "M-S0")));
	cr_expect(framework_find_task(master_find_framework(d->m, "M-0000"), "t"));
}

Test(master_agents, not_back_in_time_after_a_broken_link)
{
	run(AWARE);
	driver_exited(d, AGENT1);
	driver_pass(d, 11 * MINUTE);
	expect(d, "UPDATE", "TASK_UNREACHABLE",
	       "agent did not reregister within 10mins after disconnecting");
}

Test(master_agents, tasks_the_agent_lost_are_asked_back)
{
	run(AWARE);
	driver_exited(d, AGENT1);
	driver_reregister(d, AGENT1, "M-S0", NULL);
	expect(d, "SlaveReregisteredMessage", "\"reconciliations\":[{\"framework_id\":", "\"t\"",
	       "TASK_RUNNING");
	cr_expect(framework_find_task(master_find_framework(d->m, "M-0000"), "t"));
}

/* The report was long on its way, or comes twice. */
Test(master_agents, an_old_report_starts_no_task_anew)
{
	run(AWARE);
	driver_update(d, AGENT1, "M-S0", "M-0000", "t", "TASK_FINISHED", 2);
	driver_acknowledge(d, 1, "M-0000", "M-S0", "t", 2);
	driver_reregister(d, AGENT1, "M-S0", REPORT("TASK_RUNNING"));
	expect(d, "SlaveReregisteredMessage", "M-S0");
	cr_expect_null(framework_find_task(master_find_framework(d->m, "M-0000"), "t"));
	cr_expect_eq(master_find_framework(d->m, "M-0000")->completed_task_count, 1);
	cr_expect(resources_empty(&master_find_agent(d->m, "M-S0")->used));
}

/* The link broke, but not the agent: what was lost by the master's word alone goes on. */
Test(master_agents, tasks_lost_with_a_link_come_back_with_it)
{
	run(NULL);
	driver_exited(d, AGENT1);
	expect(d, "UPDATE", "TASK_LOST", "REASON_AGENT_DISCONNECTED");
	driver_reregister(d, AGENT1, "M-S0", REPORT("TASK_RUNNING"));
	cr_expect(framework_find_task(master_find_framework(d->m, "M-0000"), "t"));
	cr_expect_eq(master_find_framework(d->m, "M-0000")->completed_task_count, 0);
}

Test(master_agents, kills_are_repeated)
{
	run(AWARE);
	driver_exited(d, AGENT1);
	driver_call(d, 1, "{\"type\":\"KILL\"," FID ",\"kill\":{\"task_id\":{\"value\":\"t\"}}}");
	refute(d, "KillTask");
	driver_reregister(d, AGENT1, "M-S0", REPORT("TASK_RUNNING"));
	expect(d, "KillTaskMessage", "\"t\"");
}

Test(master_agents, another_host_may_not_take_the_id)
{
	run(AWARE);
	driver_reregister(d, "slave(1)@127.0.0.9:5001", "M-S0", NULL);
	expect(d, "slave(1)@127.0.0.9:5001 ShutdownMessage",
	       "Agent attempted to reregister with different IP / hostname");
	driver_forget(d);
	driver_reregister(d, "slave(1)@127.0.0.1:6001", "M-S0", REPORT("TASK_RUNNING"));
	expect(d, "unlink " AGENT1);
	expect(d, "link slave(1)@127.0.0.1:6001");
}

static const char *const contradictions[] = {
	/* a framework twice, a task of no framework, of another agent, a bad id, a running
	 * task without its executor, an executor of no framework */
	"\"frameworks\":[{\"user\":\"u\",\"name\":\"n\",\"id\":{\"value\":\"F\"}},"
	"{\"user\":\"u\",\"name\":\"n\",\"id\":{\"value\":\"F\"}}]",
	"\"tasks\":[{\"name\":\"t\",\"task_id\":{\"value\":\"t\"},\"framework_id\":{\"value\":"
	"\"F\"},"
	"\"agent_id\":{\"value\":\"X\"},\"state\":\"TASK_RUNNING\"}]",
	"\"frameworks\":[{\"user\":\"u\",\"name\":\"n\",\"id\":{\"value\":\"F\"}}],"
	"\"tasks\":[{\"name\":\"t\",\"task_id\":{\"value\":\"t\"},\"framework_id\":{\"value\":"
	"\"F\"},"
	"\"agent_id\":{\"value\":\"Y\"},\"state\":\"TASK_RUNNING\"}]",
	"\"frameworks\":[{\"user\":\"u\",\"name\":\"n\",\"id\":{\"value\":\"F\"}}],"
	"\"tasks\":[{\"name\":\"t\",\"task_id\":{\"value\":\"a/"
	"b\"},\"framework_id\":{\"value\":\"F\"},"
	"\"agent_id\":{\"value\":\"X\"},\"state\":\"TASK_RUNNING\"}]",
	"\"frameworks\":[{\"user\":\"u\",\"name\":\"n\",\"id\":{\"value\":\"F\"}}],"
	"\"tasks\":[{\"name\":\"t\",\"task_id\":{\"value\":\"t\"},\"framework_id\":{\"value\":"
	"\"F\"},"
	"\"executor_id\":{\"value\":\"e\"},\"agent_id\":{\"value\":\"X\"},\"state\":\"TASK_"
	"RUNNING\"}]",
	"\"executor_infos\":[{\"executor_id\":{\"value\":\"e\"},\"framework_id\":{\"value\":\"F\"}}"
	"]",
};

Test(master_agents, payloads_that_contradict_themselves_are_ignored)
{
	for (size_t i = 0; i < sizeof(contradictions) / sizeof(contradictions[0]); i++)
		driver_reregister(d, AGENT1, "X", contradictions[i]);
	cr_expect_eq(HASH_COUNT(d->m->agents), 0);
	cr_expect_eq(d->trace.len, 0, "%s", d->trace.data);
}

/* ---- health --------------------------------------------------------------------------- */

Test(master_agents, silence_of_five_pings_is_unreachable)
{
	run(AWARE);
	d->agent_silent = true;
	driver_pass(d, 74 * SECOND);
	refute(d, " UPDATE {");
	driver_pass(d, 16 * SECOND);
	expect(d, "UPDATE", "TASK_UNREACHABLE", "REASON_AGENT_REMOVED", "health check timed out",
	       "\"unreachable_time\":{\"nanoseconds\":");
	expect(d, "RESCIND");
	expect(d, "FAILURE {\"type\":\"FAILURE\",\"failure\":{\"agent_id\":{\"value\":\"M-S0\"}}}");
	expect(d, "unlink " AGENT1);
	cr_expect_not(master_find_agent(d->m, "M-S0"));
	cr_expect(framework_find_unreachable(master_find_framework(d->m, "M-0000"), "t"));
	cr_expect_eq(d->m->sums.task_states[MESOS__TASK_STATE__TASK_UNREACHABLE], 1);
}

Test(master_agents, a_pong_resets_the_count)
{
	run(AWARE);
	d->agent_silent = true;
	for (int i = 0; i < 3; i++) {
		driver_pass(d, 60 * SECOND);
		driver_message(d, AGENT1, &mesos__internal__pong_slave_message__descriptor, "{}");
	}
	cr_expect(master_find_agent(d->m, "M-S0"));
}

Test(master_agents, nothing_is_visible_before_it_is_durable)
{
	run(AWARE);
	d->hold_store = true;
	silence();
	refute(d, " UPDATE {");
	/* Registry change in progress: it may not come back yet. */
	driver_reregister(d, AGENT1, "M-S0", REPORT("TASK_RUNNING"));
	refute(d, "SlaveReregistered");
	d->hold_store = false;
	driver_store(d);
	expect(d, "UPDATE", "TASK_UNREACHABLE");
}

Test(master_agents, removals_are_rate_limited_and_cancelled_by_a_pong)
{
	driver_destroy(d);
	d = driver_prepare();
	d->options.agent_removals_per_second = 1 / 600.0;
	driver_start(d);
	driver_agent(d, AGENT1);
	driver_agent(d, AGENT2);
	silence();
	cr_expect_eq(HASH_COUNT(d->m->agents), 1);
	cr_assert(master_find_agent(d->m, "M-S1"));
	driver_message(d, AGENT2, &mesos__internal__pong_slave_message__descriptor, "{}");
	driver_pass(d, 20 * MINUTE);
	cr_expect(master_find_agent(d->m, "M-S1"));
	cr_expect_eq(d->m->counters.slave_unreachable_canceled, 1);
}

Test(master_agents, unreachable_agents_come_back_with_their_tasks)
{
	struct framework *f;

	run(AWARE);
	silence();
	driver_forget(d);
	driver_reregister(d, AGENT1, "M-S0", REPORT("TASK_RUNNING"));
	expect(d, "UPDATE", "TASK_RUNNING", "REASON_AGENT_REREGISTERED",
	       "Unreachable agent re-reregistered");
	refute(d, "\"uuid\"");
	expect(d, "SlaveReregisteredMessage");
	f = master_find_framework(d->m, "M-0000");
	cr_expect(framework_find_task(f, "t"));
	cr_expect_eq(f->unreachable_count, 0);
	cr_expect_not(d->m->unreachable);
}

Test(master_agents, unreachable_tasks_that_did_not_survive_are_forgotten)
{
	run(AWARE);
	silence();
	driver_reregister(d, AGENT1, "M-S0", NULL);
	cr_expect_eq(master_find_framework(d->m, "M-0000")->unreachable_count, 0);
}

/* One that came back is none of them; the oldest go. */
Test(master_agents, unreachable_tasks_have_so_much_room)
{
	struct framework *f;

	d->m->options.max_unreachable_tasks_per_framework = 1;
	run(AWARE);
	f = master_find_framework(d->m, "M-0000");
	silence();
	driver_reregister(d, AGENT1, "M-S0", REPORT("TASK_RUNNING"));
	driver_pass(d, 2 * SECOND);
	driver_launch(d, 1, "M-0000", d->m->offers->id, "M-S0", "u", NULL);
	driver_update(d, AGENT1, "M-S0", "M-0000", "u", "TASK_RUNNING", 2);
	driver_acknowledge(d, 1, "M-0000", "M-S0", "u", 2);
	cr_expect_eq(f->unreachable_count, 0);
	silence();
	cr_expect_eq(f->unreachable_count, 1);
	cr_expect_eq(HASH_COUNT(f->unreachable), 1);
	cr_expect_not(framework_find_task(f, "t"));
	cr_expect_not(framework_find_task(f, "u"));
	driver_pass(d, 15 * DAY);
	cr_expect_eq(f->unreachable_count, 0);
}

Test(master_agents, unreachable_tasks_keep_their_id)
{
	run(AWARE);
	silence();
	driver_agent(d, AGENT2);
	driver_launch(d, 1, "M-0000", d->m->offers->id, "M-S1", "t", NULL);
	expect(d, "TASK_ERROR", "Task reuses the ID of an unreachable task: t");
}

Test(master_agents, unknown_agents_are_let_in)
{
	driver_reregister(
		d, AGENT1, "old-S3",
		"\"frameworks\":[{\"user\":\"u\",\"name\":\"n\",\"id\":{\"value\":\"F\"}}],"
		"\"tasks\":[{\"name\":\"t\",\"task_id\":{\"value\":\"t\"},\"framework_id\":"
		"{\"value\":\"F\"},\"agent_id\":{\"value\":\"old-S3\"},\"state\":"
		"\"TASK_RUNNING\",\"resources\":" RESOURCES(1, 32) "}]");
	expect(d, "SlaveReregisteredMessage", "old-S3");
	cr_assert(master_find_framework(d->m, "F"));
	cr_expect_eq(master_find_framework(d->m, "F")->state, FRAMEWORK_RECOVERED);
	driver_subscribe(d, "F", NULL);
	driver_pass(d, SECOND);
	expect(d, "OFFERS", "\"value\":3.0");
}

#define PAST(framework, id)                                                                        \
	"{\"name\":\"n\",\"task_id\":{\"value\":\"" id                                             \
	"\"},\"framework_id\":{\"value\":\"" framework                                             \
	"\"},\"agent_id\":{\"value\":\"M-S0\"},\"state\":\"TASK_FINISHED\","                       \
	"\"resources\":" RESOURCES(1, 32) "}"

/* Ids of the framework's tasks that are over, in their order. */
static const char *past_of(const char *framework)
{
	const struct framework *f = master_find_framework(d->m, framework);
	static char text[256];
	size_t len = 0;

	text[0] = '\0';
	for (const struct list *at = f->completed_tasks.next; at != &f->completed_tasks;
	     at = at->next) {
		struct slice id =
			task_record_id(&list_entry(at, struct completed_task, link)->record);

		len += (size_t)snprintf(text + len, sizeof(text) - len, "%.*s ", (int)id.len,
					id.data);
	}
	return text;
}

Test(master_agents, what_agents_remember_fills_what_was_forgotten)
{
	driver_subscribe(d, NULL, AWARE);
	driver_subscribe(d, NULL, AWARE);
	/* Of a framework without an id, of one that nobody knows, and of two that are here. */
	driver_reregister(
		d, AGENT1, "old-S3",
		"\"completed_frameworks\":["
		"{\"framework_info\":{\"user\":\"u\",\"name\":\"n\"},\"tasks\":[" PAST(
			"M-0000",
			"none") "]},"
				"{\"framework_info\":{\"user\":\"u\",\"name\":\"n\",\"id\":{"
				"\"value\":\"X\"}},"
				"\"tasks\":[" PAST(
					"X",
					"x") "]},"
					     "{\"framework_info\":{\"user\":\"u\",\"name\":\"n\","
					     "\"id\":{\"value\":\"M-0000\"}},"
					     "\"tasks\":[" PAST("M-0000", "a") "," PAST(
						     "M-0000",
						     "b") "," PAST("M-0000",
								   "c") "]},"
									"{\"framework_info\":{"
									"\"user\":\"u\",\"name\":"
									"\"n\",\"id\":{\"value\":"
									"\"M-0001\"}},"
									"\"tasks\":[" PAST(
										"M-0001",
										"d") "]}]");
	cr_expect_str_eq(past_of("M-0000"), "a b c ");
	cr_expect_str_eq(past_of("M-0001"), "d ");
	cr_expect_eq(master_find_framework(d->m, "M-0000")->completed_task_count, 3);
	cr_expect_null(master_find_framework(d->m, "X"));
	/* Where something is remembered, it is the master's. */
	driver_reregister(
		d, AGENT2, "old-S4",
		"\"completed_frameworks\":[{\"framework_info\":{\"user\":\"u\",\"name\":\"n\","
		"\"id\":{\"value\":\"M-0000\"}},\"tasks\":[" PAST("M-0000", "e") "]}]");
	cr_expect_str_eq(past_of("M-0000"), "a b c ");
}

#define LIVE(agent)                                                                                \
	"\"frameworks\":[{\"user\":\"u\",\"name\":\"n\",\"id\":{\"value\":\"M-0000\"}," AWARE      \
	"}],\"tasks\":[{\"name\":\"t\",\"task_id\":{\"value\":\"t\"}," FID                         \
	",\"agent_id\":{\"value\":\"" agent                                                        \
	"\"},\"state\":\"TASK_RUNNING\",\"resources\":" RESOURCES(1, 32) "}]"

/* A report from before the end does not bring a task back; one of another agent, where a launch
 * of before a crash came to life, is of a task that holds what it holds. */
Test(master_agents, a_report_is_overtaken_by_the_same_agent_alone)
{
	run(AWARE);
	driver_agent(d, AGENT2);
	driver_update(d, AGENT1, "M-S0", "M-0000", "t", "TASK_FINISHED", 2);
	driver_acknowledge(d, 1, "M-0000", "M-S0", "t", 2);
	driver_reregister(d, AGENT1, "M-S0", LIVE("M-S0"));
	cr_expect_null(framework_find_task(master_find_framework(d->m, "M-0000"), "t"));
	cr_expect_eq(resources_quantity(&master_find_agent(d->m, "M-S0")->used, "cpus"), 0);
	driver_forget(d);
	driver_reregister(d, AGENT2, "M-S1", LIVE("M-S1"));
	/* All of it was on offer. */
	expect(d, "RESCIND");
	cr_expect(framework_find_task(master_find_framework(d->m, "M-0000"), "t"));
	cr_expect_eq(resources_quantity(&master_find_agent(d->m, "M-S1")->used, "cpus"), 1000);
}

Test(master_agents, completed_frameworks_are_shut_down_there)
{
	run(AWARE);
	driver_exited(d, AGENT1);
	driver_call(d, 1, "{\"type\":\"TEARDOWN\"," FID "}");
	driver_forget(d);
	driver_reregister(d, AGENT1, "M-S0", REPORT("TASK_RUNNING"));
	expect(d, "ShutdownFrameworkMessage", "M-0000");
	refute(d, "UpdateFramework");
	cr_expect_eq(resources_quantity(&master_find_agent(d->m, "M-S0")->used, "cpus"), 0);
}

/* ---- leaving ------------------------------------------------------------------------------ */

Test(master_agents, unregistration_loses_the_tasks)
{
	run(AWARE);
	driver_message(d, "x@127.0.0.1:1", &mesos__internal__unregister_slave_message__descriptor,
		       "{\"agent_id\":{\"value\":\"M-S0\"}}");
	cr_expect(master_find_agent(d->m, "M-S0"));
	driver_message(d, AGENT1, &mesos__internal__unregister_slave_message__descriptor,
		       "{\"agent_id\":{\"value\":\"M-S0\"}}");
	expect(d, "UPDATE", "TASK_LOST", "REASON_AGENT_REMOVED",
	       "Agent host removed: the agent unregistered");
	expect(d, "FAILURE");
	cr_expect_not(master_find_agent(d->m, "M-S0"));
	cr_expect_eq(master_find_framework(d->m, "M-0000")->completed_task_count, 1);
	driver_forget(d);
	driver_update(d, AGENT1, "M-S0", "M-0000", "t", "TASK_FAILED", 3);
	refute(d, " UPDATE {");
}

Test(master_agents, gone_for_good)
{
	run(AWARE);
	cr_expect_eq(mark_gone("M-S9"), 404);
	cr_expect_eq(mark_gone("M-S0"), 0);
	expect(d, "ShutdownMessage", "Agent has been marked gone");
	expect(d, "UPDATE", "TASK_GONE_BY_OPERATOR", "REASON_AGENT_REMOVED_BY_OPERATOR",
	       "Agent has been marked gone");
	expect(d, "FAILURE");
	expect(d, "answer 2 200");
	cr_expect_eq(mark_gone("M-S0"), 200);
	driver_forget(d);
	driver_reregister(d, AGENT1, "M-S0", NULL);
	expect(d, "ShutdownMessage", "Agent has been marked gone");
	refute(d, "SlaveReregistered");
}

Test(master_agents, gone_while_unreachable)
{
	run(AWARE);
	silence();
	driver_forget(d);
	mark_gone("M-S0");
	expect(d, "UPDATE", "TASK_GONE_BY_OPERATOR");
	cr_expect_eq(master_find_framework(d->m, "M-0000")->unreachable_count, 0);
	cr_expect_eq(master_find_framework(d->m, "M-0000")->completed_task_count, 1);
}

Test(master_agents, gone_with_plain_frameworks)
{
	run("\"checkpoint\":true");
	mark_gone("M-S0");
	expect(d, "UPDATE", "TASK_LOST", "REASON_AGENT_REMOVED\"");
	cr_expect_eq(master_find_framework(d->m, "M-0000")->unreachable_count, 1);
}

Test(master_agents, an_operator_tears_down_and_kills)
{
	struct master_event event = {.type = MASTER_KILL_TASK,
				     .kill_task = {.framework_id = "M-0000", .task_id = "t"}};
	const char *teardown = "{\"type\":\"TEARDOWN\",\"teardown\":"
			       "{\"framework_id\":{\"value\":\"M-0000\"}}}";

	run(AWARE);
	driver_step(d, &event);
	expect(d, "KillTaskMessage", "\"t\"");
	event.kill_task.task_id = "x";
	driver_step(d, &event);
	cr_expect_eq(d->out.reply.status, 404);
	cr_expect_eq(driver_operate(d, "%s", teardown), 200);
	expect(d, "end 1");
	cr_expect_eq(driver_operate(d, "%s", teardown), 400);
}

Test(master_agents, unreachable_agents_of_long_ago_are_forgotten)
{
	struct stored_pair *pair;

	run(AWARE);
	silence();
	cr_assert(d->m->unreachable);
	driver_pass(d, 13 * DAY);
	cr_assert(d->m->unreachable);
	driver_pass(d, 2 * DAY);
	cr_expect_not(d->m->unreachable);
	cr_expect_eq(master_find_framework(d->m, "M-0000")->unreachable_count, 0);
	HASH_FIND(hh, d->store, "unreachable/M-S0", strlen("unreachable/M-S0"), pair);
	cr_expect_not(pair);
}

Test(master_agents, time_outs_may_be_as_long_as_they_like)
{
	driver_destroy(d);
	d = driver_prepare();
	d->options.agent_reregister_timeout = INT64_MAX;
	d->options.offer_timeout = INT64_MAX;
	driver_start(d);
	driver_agent(d, AGENT1);
	driver_subscribe(d, NULL, NULL);
	cr_assert(d->m->offers);
	driver_exited(d, AGENT1);
	driver_pass(d, MINUTE);
	cr_expect(master_find_agent(d->m, "M-S0"));
	cr_expect_not(master_find_departed(d->m->unreachable, "M-S0"));
}

/* The product is more than 64 bits of nanoseconds; agents hear it in seconds. */
Test(master_agents, ping_timeouts_may_be_as_many_and_long_as_they_like)
{
	driver_destroy(d);
	d = driver_prepare();
	d->options.agent_ping_timeout = 15 * MINUTE;
	d->options.max_agent_ping_timeouts = INT32_MAX;
	driver_start(d);
	driver_agent(d, AGENT1);
	expect(d, "SlaveRegisteredMessage", "\"total_ping_timeout_seconds\":1932735282300.0");
}

/* A laptop that slept, or a clock that was corrected: pings, offers and filters last as long as
 * ever, and times are those of now. */
Test(master_agents, a_clock_that_is_set_moves_no_timer)
{
	static const int64_t jumps[] = {8 * HOUR, -3 * HOUR, 400 * DAY, -400 * DAY};
	struct agent *a;

	driver_agent(d, AGENT1);
	driver_subscribe(d, NULL, "\"failover_timeout\":60");
	for (size_t i = 0; i < sizeof(jumps) / sizeof(*jumps); i++) {
		int64_t wait = master_next_timeout(d->m) - d->now;

		d->now += jumps[i];
		master_clock_moved(d->m, jumps[i]);
		cr_expect_eq(master_next_timeout(d->m) - d->now, wait);
		driver_pass(d, 20 * SECOND);
	}
	cr_expect(master_find_agent(d->m, "M-S0"));
	driver_close(d, 1);
	d->now += DAY;
	master_clock_moved(d->m, DAY);
	driver_pass(d, 59 * SECOND);
	cr_expect(master_find_framework(d->m, "M-0000"));
	driver_pass(d, 2 * SECOND);
	cr_expect_null(master_find_framework(d->m, "M-0000"));
	driver_agent(d, AGENT2);
	a = master_find_agent(d->m, "M-S1");
	cr_assert(a);
	cr_expect_eq(a->registered_time, d->now);
}

/* The next removal that --agent_removal_rate_limit lets through waits as long as ever, too. */
Test(master_agents, nor_the_next_removal)
{
	static const int64_t jumps[] = {8 * HOUR, -3 * HOUR, INT64_MAX / 2};
	int64_t now = d->now;

	d->m->next_removal = now + MINUTE;
	for (size_t i = 0; i < 2; i++) {
		now += jumps[i];
		master_clock_moved(d->m, jumps[i]);
		cr_expect_eq(d->m->next_removal, now + MINUTE);
	}
	d->m->next_removal = 0;
	master_clock_moved(d->m, HOUR);
	cr_expect_eq(d->m->next_removal, 0, "none was yet");
	d->m->next_removal = TIME_NEVER;
	master_clock_moved(d->m, jumps[2]);
	cr_expect_eq(d->m->next_removal, TIME_NEVER);
}
