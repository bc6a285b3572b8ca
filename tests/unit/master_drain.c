/* Draining, deactivating and reactivating agents. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "master/core/agents/drain.h"
#include "tests/unit/master_driver.h"

static struct driver *d;

#define FID "\"framework_id\":{\"value\":\"M-0000\"}"
#define CAPABLE                                                                                    \
	"[{\"type\":\"MULTI_ROLE\"},{\"type\":\"HIERARCHICAL_ROLE\"},"                             \
	"{\"type\":\"RESERVATION_REFINEMENT\"},{\"type\":\"RESOURCE_PROVIDER\"},"                  \
	"{\"type\":\"AGENT_DRAINING\"}]"
#define TASKS(state)                                                                               \
	"\"frameworks\":[{\"user\":\"u\",\"name\":\"n\",\"id\":{\"value\":\"M-0000\"},"            \
	"\"checkpoint\":true}],\"tasks\":[{\"name\":\"t\",\"task_id\":{\"value\":\"t\"}," FID ","  \
	"\"agent_id\":{\"value\":\"M-S0\"},\"state\":\"" state                                     \
	"\",\"resources\":" RESOURCES(1, 32) "}]"

/* A registration (no id) or reregistration of an agent that can drain. */
static void come(const char *id, const char *more)
{
	if (!id)
		driver_message(d, AGENT1, &mesos__internal__register_slave_message__descriptor,
			       "{\"agent\":{\"hostname\":\"host\",\"checkpoint\":true,"
			       "\"resources\":%s},\"version\":\"1.12.0\","
			       "\"agent_capabilities\":" CAPABLE "}",
			       RESOURCES(4, 4096));
	else
		driver_message(d, AGENT1, &mesos__internal__reregister_slave_message__descriptor,
			       "{\"agent\":{\"hostname\":\"host\",\"checkpoint\":true,"
			       "\"id\":{\"value\":\"%s\"},\"resources\":%s},"
			       "\"version\":\"1.12.0\",\"agent_capabilities\":" CAPABLE "%s%s}",
			       id, RESOURCES(4, 4096), more ? "," : "", more ? more : "");
}

static void set_up(void)
{
	d = driver_create();
}

static void tear_down(void)
{
	driver_destroy(d);
}

TestSuite(master_drain, .init = set_up, .fini = tear_down);

/* An agent with a running task "t"; the rest of it is offered as M-O1. */
static void run(void)
{
	come(NULL, NULL);
	driver_subscribe(d, NULL,
			 "\"capabilities\":[{\"type\":\"PARTITION_AWARE\"}],\"checkpoint\":true,"
			 "\"failover_timeout\":100000");
	driver_launch(d, 1, "M-0000", "M-O0", "M-S0", "t", NULL);
	driver_update(d, AGENT1, "M-S0", "M-0000", "t", "TASK_RUNNING", 1);
	driver_acknowledge(d, 1, "M-0000", "M-S0", "t", 1);
	driver_pass(d, SECOND);
	driver_forget(d);
}

static void kill_task(void)
{
	driver_update(d, AGENT1, "M-S0", "M-0000", "t", "TASK_KILLED", 2);
}

static void acknowledge(void)
{
	driver_acknowledge(d, 1, "M-0000", "M-S0", "t", 2);
}

/* 0: comes later, and is in the trace. */
static int order(const char *what, const char *id, const char *more)
{
	char lower[32];

	for (size_t i = 0; i <= strlen(what); i++)
		lower[i] = what[i] >= 'A' && what[i] <= 'Z' ? (char)(what[i] + 32) : what[i];
	return driver_operate(d, "{\"type\":\"%s\",\"%s\":{\"agent_id\":{\"value\":\"%s\"}%s}}",
			      what, lower, id, more);
}

static void silence(void)
{
	d->agent_silent = true;
	driver_pass(d, 90 * SECOND);
	d->agent_silent = false;
}

static int drain_state(void)
{
	const struct agent *a = master_find_agent(d->m, "M-S0");

	return a && a->drain_info ? (int)a->drain_info->state : -1;
}

#define DRAINING MESOS__DRAIN_STATE__DRAINING
#define DRAINED MESOS__DRAIN_STATE__DRAINED

static void update_slave(void)
{
	driver_message(d, AGENT1, &mesos__internal__update_slave_message__descriptor,
		       "{\"agent_id\":{\"value\":\"M-S0\"},"
		       "\"update_oversubscribed_resources\":false,\"operations\":{},"
		       "\"resource_version_uuid\":{\"value\":\"AAECAwQFRgeICQoLDA0ODw==\"}}");
}

/* ---- refusals ---------------------------------------------------------------------- */

Test(master_drain, unknown_agents)
{
	static const char *const calls[] = {"DRAIN_AGENT", "DEACTIVATE_AGENT"};

	for (size_t i = 0; i < 2; i++) {
		cr_expect_eq(order(calls[i], "nowhere", ""), 400);
		cr_expect_str_eq(d->out.reply.text, "Unknown agent");
	}
	cr_expect_eq(order("REACTIVATE_AGENT", "nowhere", ""), 400);
	cr_expect_str_eq(d->out.reply.text, "Agent is not deactivated");
}

Test(master_drain, agents_that_cannot)
{
	driver_agent(d, AGENT1);
	cr_expect_eq(order("DRAIN_AGENT", "M-S0", ""), 400);
	cr_expect_str_eq(d->out.reply.text, "Agent M-S0 is not capable of draining");
	driver_operate(d, "{\"type\":\"UPDATE_MAINTENANCE_SCHEDULE\","
			  "\"update_maintenance_schedule\":{\"schedule\":{\"windows\":["
			  "{\"machine_ids\":[{\"hostname\":\"HOST\",\"ip\":\"127.0.0.1\"}],"
			  "\"unavailability\":{\"start\":{\"nanoseconds\":1}}}]}}}");
	cr_expect_eq(order("DRAIN_AGENT", "M-S0", ""), 400);
	cr_expect_str_eq(d->out.reply.text, "Agent M-S0 is part of a maintenance schedule under "
					    "Machine HOST (127.0.0.1)");
	/* Deactivating is for any. */
	cr_expect_eq(order("DEACTIVATE_AGENT", "M-S0", ""), 0);
	expect(d, "answer 4 200");
}

Test(master_drain, while_it_is_marked_gone)
{
	come(NULL, NULL);
	d->hold_store = true;
	cr_expect_eq(order("MARK_AGENT_GONE", "M-S0", ""), 0);
	cr_expect_eq(order("DRAIN_AGENT", "M-S0", ""), 409);
	cr_expect_str_eq(d->out.reply.text, "Agent is currently being marked gone");
	cr_expect_eq(order("DEACTIVATE_AGENT", "M-S0", ""), 409);
	driver_store(d);
	cr_expect_eq(order("DRAIN_AGENT", "M-S0", ""), 400);
	cr_expect_str_eq(d->out.reply.text, "Unknown agent");
}

/* ---- draining ------------------------------------------------------------------------- */

Test(master_drain, drains_when_durable)
{
	run();
	d->hold_store = true;
	cr_expect_eq(order("DRAIN_AGENT", "M-S0",
			   ",\"max_grace_period\":{\"seconds\":5,"
			   "\"nanos\":7}"),
		     0);
	refute(d, "answer");
	refute(d, "DrainSlaveMessage");
	cr_expect_eq(drain_state(), -1);
	d->hold_store = false;
	driver_store(d);
	expect(d, "event 1 RESCIND", "M-O1");
	expect(d, "master -> " AGENT1,
	       "DrainSlaveMessage {\"config\":{\"max_grace_period\":{\"nanoseconds\":5000000007},"
	       "\"mark_gone\":false}}");
	expect(d, "answer 1 200");
	cr_expect_eq(drain_state(), DRAINING);
	driver_forget(d);
	driver_pass(d, 3 * SECOND);
	refute(d, "OFFERS");
	cr_expect_eq(order("REACTIVATE_AGENT", "M-S0", ""), 400);
	cr_expect_str_eq(d->out.reply.text, "Agent is still in the DRAINING state");
	/* Its end must be acknowledged. */
	kill_task();
	driver_pass(d, 3 * SECOND);
	cr_expect_eq(drain_state(), DRAINING);
	acknowledge();
	cr_expect_eq(drain_state(), DRAINED);
	driver_pass(d, 3 * SECOND);
	refute(d, "OFFERS");
	cr_expect_eq(order("REACTIVATE_AGENT", "M-S0", ""), 0);
	expect(d, "answer 3 200");
	cr_expect_eq(drain_state(), -1);
	driver_pass(d, SECOND);
	expect(d, "OFFERS", "M-S0");
}

Test(master_drain, an_idle_agent_is_drained_at_once)
{
	come(NULL, NULL);
	order("DRAIN_AGENT", "M-S0", "");
	cr_expect_eq(drain_state(), DRAINED);
	cr_expect(master_find_agent(d->m, "M-S0")->deactivated);
	/* Again, with another configuration. */
	driver_forget(d);
	order("DRAIN_AGENT", "M-S0", ",\"max_grace_period\":{\"seconds\":9223372036854775807}");
	expect(d, "DrainSlaveMessage", "\"nanoseconds\":9223372036854775807");
	cr_expect_eq(drain_state(), DRAINED);
}

Test(master_drain, tasks_of_a_removed_framework_do_not_count)
{
	run();
	order("DRAIN_AGENT", "M-S0", "");
	cr_expect_eq(drain_state(), DRAINING);
	driver_call(d, 1, "{\"type\":\"TEARDOWN\"," FID "}");
	cr_expect_eq(drain_state(), DRAINED);
}

Test(master_drain, gone_at_the_end)
{
	run();
	order("DRAIN_AGENT", "M-S0", ",\"mark_gone\":true");
	expect(d, "DrainSlaveMessage", "\"mark_gone\":true");
	driver_forget(d);
	kill_task();
	acknowledge();
	expect(d, "master -> " AGENT1, "ShutdownMessage", "Agent has been marked gone");
	expect(d, "event 1 FAILURE", "M-S0");
	cr_expect(master_find_departed(d->m->gone, "M-S0"));
	refute(d, "answer");
	driver_forget(d);
	come("M-S0", NULL);
	expect(d, "ShutdownMessage", "Agent has been marked gone");
}

Test(master_drain, launches_come_too_late)
{
	run();
	order("DRAIN_AGENT", "M-S0", "");
	driver_launch(d, 1, "M-0000", "M-O1", "M-S0", "late", NULL);
	expect(d, "event 1 UPDATE", "late", "TASK_DROPPED", "REASON_INVALID_OFFERS");
}

Test(master_drain, orders_wait_for_each_other)
{
	come(NULL, NULL);
	d->hold_store = true;
	cr_expect_eq(order("DRAIN_AGENT", "M-S0", ""), 0);
	cr_expect_eq(order("DEACTIVATE_AGENT", "M-S0", ""), 0);
	cr_expect_eq(order("REACTIVATE_AGENT", "M-S0", ""), 0);
	d->hold_store = false;
	for (int i = 0; i < 5; i++)
		driver_store(d);
	expect(d, "answer 1 200");
	expect(d, "answer 2 200");
	/* The second order came before it was drained. */
	expect(d, "answer 3 ");
	cr_expect_eq(drain_state(), DRAINED);
	cr_expect_eq(order("REACTIVATE_AGENT", "M-S0", ""), 0);
	cr_expect_eq(drain_state(), -1);
}

Test(master_drain, gone_overtakes_an_order)
{
	run();
	d->hold_store = true;
	cr_expect_eq(order("DRAIN_AGENT", "M-S0", ""), 0);
	cr_expect_eq(order("MARK_AGENT_GONE", "M-S0", ""), 0);
	d->hold_store = false;
	driver_store(d);
	expect(d, "answer 1 200");
	expect(d, "answer 2 200");
	refute(d, "DrainSlaveMessage");
	cr_expect(master_find_departed(d->m->gone, "M-S0"));
}

/* ---- coming and going --------------------------------------------------------------------- */

Test(master_drain, is_told_again_at_each_reregistration)
{
	run();
	order("DRAIN_AGENT", "M-S0", "");
	driver_forget(d);
	driver_exited(d, AGENT1);
	come("M-S0", TASKS("TASK_RUNNING"));
	expect(d, "DrainSlaveMessage");
	cr_expect_not(agent_active(master_find_agent(d->m, "M-S0")));
	driver_pass(d, 3 * SECOND);
	refute(d, "OFFERS");
	/* Operations are known with its first UpdateSlaveMessage only. */
	kill_task();
	acknowledge();
	cr_expect_eq(drain_state(), DRAINING);
	update_slave();
	cr_expect_eq(drain_state(), DRAINED);
}

Test(master_drain, survives_a_restart)
{
	run();
	order("DRAIN_AGENT", "M-S0", ",\"max_grace_period\":{\"seconds\":5}");
	driver_restart(d, "M2");
	driver_forget(d);
	cr_expect_eq(drain_state(), DRAINING);
	come("M-S0", TASKS("TASK_RUNNING"));
	expect(d, "DrainSlaveMessage", "\"nanoseconds\":5000000000");
	driver_subscribe(d, "M-0000", "\"checkpoint\":true");
	driver_pass(d, 3 * SECOND);
	refute(d, "OFFERS");
	cr_expect_eq(order("REACTIVATE_AGENT", "M-S0", ""), 400);
	update_slave();
	cr_expect_eq(drain_state(), DRAINING);
	driver_exited(d, AGENT1);
	come("M-S0", NULL);
	update_slave();
	cr_expect_eq(drain_state(), DRAINING);
	driver_call(d, d->next_stream, "{\"type\":\"TEARDOWN\"," FID "}");
	cr_expect_eq(drain_state(), DRAINED);
	driver_restart(d, "M3");
	cr_expect_eq(drain_state(), DRAINED);
}

Test(master_drain, survives_being_unreachable)
{
	run();
	order("DRAIN_AGENT", "M-S0", "");
	silence();
	cr_assert(master_find_departed(d->m->unreachable, "M-S0"));
	driver_restart(d, "M2");
	driver_forget(d);
	come("M-S0", TASKS("TASK_RUNNING"));
	expect(d, "DrainSlaveMessage");
	cr_expect_eq(drain_state(), DRAINING);
	cr_expect_not(agent_active(master_find_agent(d->m, "M-S0")));
	driver_restart(d, "M3");
	cr_expect_eq(drain_state(), DRAINING);
}

Test(master_drain, an_unreachable_agent_drains_when_it_is_back)
{
	come(NULL, NULL);
	silence();
	cr_assert(master_find_departed(d->m->unreachable, "M-S0"));
	cr_expect_eq(order("DRAIN_AGENT", "M-S0", ""), 0);
	driver_forget(d);
	come("M-S0", NULL);
	expect(d, "DrainSlaveMessage");
	update_slave();
	cr_expect_eq(drain_state(), DRAINED);
}

Test(master_drain, orders_to_agents_that_are_not_here)
{
	come(NULL, NULL);
	silence();
	cr_assert(master_find_departed(d->m->unreachable, "M-S0"));
	cr_expect_eq(order("DRAIN_AGENT", "M-S0", ""), 0);
	expect(d, "answer 1 200");
	cr_expect_eq(order("REACTIVATE_AGENT", "M-S0", ""), 400);
	driver_restart(d, "M2");
	driver_forget(d);
	come("M-S0", NULL);
	expect(d, "DrainSlaveMessage");
	update_slave();
	cr_expect_eq(drain_state(), DRAINED);
	silence();
	cr_assert(master_find_departed(d->m->unreachable, "M-S0"));
	driver_forget(d);
	cr_expect_eq(order("REACTIVATE_AGENT", "M-S0", ""), 0);
	expect(d, "409 Agent removed while processing the call");
	come("M-S0", NULL);
	cr_expect_eq(drain_state(), -1);
	cr_expect(agent_active(master_find_agent(d->m, "M-S0")));
	/* Recovered, but not back. */
	driver_restart(d, "M3");
	cr_expect_eq(order("DEACTIVATE_AGENT", "M-S0", ""), 0);
	driver_restart(d, "M4");
	come("M-S0", NULL);
	cr_expect_not(agent_active(master_find_agent(d->m, "M-S0")));
}

Test(master_drain, an_order_in_progress_keeps_nobody_from_being_lost)
{
	come(NULL, NULL);
	driver_restart(d, "M2");
	driver_pass(d, 599 * SECOND);
	d->hold_store = true;
	cr_expect_eq(order("DEACTIVATE_AGENT", "M-S0", ""), 0);
	driver_pass(d, 5 * SECOND);
	cr_expect_not(master_find_departed(d->m->unreachable, "M-S0"));
	d->hold_store = false;
	driver_store(d); /* the order */
	driver_store(d); /* and what waited for it */
	cr_assert(master_find_departed(d->m->unreachable, "M-S0"));
	cr_expect(master_find_departed(d->m->unreachable, "M-S0")->deactivated);
	/* Likewise one that lost its link. */
	come("M-S0", NULL);
	driver_exited(d, AGENT1);
	driver_pass(d, 599 * SECOND);
	d->hold_store = true;
	cr_expect_eq(order("DEACTIVATE_AGENT", "M-S0", ""), 0);
	driver_pass(d, 5 * SECOND);
	cr_expect_not(master_find_departed(d->m->unreachable, "M-S0"));
	d->hold_store = false;
	driver_store(d);
	driver_store(d);
	cr_expect(master_find_departed(d->m->unreachable, "M-S0"));
}

/* Its turn comes while the order is being written: it is marked after that, once. */
Test(master_drain, nor_from_being_lost_when_its_turn_comes)
{
	driver_destroy(d);
	d = driver_prepare();
	d->options.agent_removals_per_second = 0.01;
	driver_start(d);
	driver_agent(d, AGENT1);
	driver_agent(d, AGENT2);
	driver_restart(d, "M2");
	driver_pass(d, 650 * SECOND);
	cr_expect_eq(HASH_COUNT(d->m->unreachable), 1);
	d->hold_store = true;
	cr_expect_eq(
		order("DEACTIVATE_AGENT", master_find_agent(d->m, "M-S0") ? "M-S0" : "M-S1", ""),
		0);
	driver_pass(d, 100 * SECOND);
	cr_expect_eq(HASH_COUNT(d->m->unreachable), 1);
	d->hold_store = false;
	driver_store(d);
	driver_pass(d, 100 * SECOND);
	cr_expect_eq(HASH_COUNT(d->m->unreachable), 2);
	cr_expect_eq(d->m->counters.slave_unreachable_scheduled, 2);
	cr_expect_eq(d->m->counters.slave_unreachable_completed, 2);
}

/* An agent unregisters while an order is being written: it is removed after that. */
Test(master_drain, an_order_in_progress_keeps_nobody_from_leaving)
{
	come(NULL, NULL);
	d->hold_store = true;
	cr_expect_eq(order("DEACTIVATE_AGENT", "M-S0", ""), 0);
	driver_message(d, AGENT1, &mesos__internal__unregister_slave_message__descriptor,
		       "{\"agent_id\":{\"value\":\"M-S0\"}}");
	d->hold_store = false;
	driver_store(d);
	driver_store(d);
	cr_expect_null(master_find_agent(d->m, "M-S0"));
}

/* ---- deactivating ------------------------------------------------------------------------ */

Test(master_drain, deactivated_agents_keep_their_tasks)
{
	run();
	cr_expect_eq(order("DEACTIVATE_AGENT", "M-S0", ""), 0);
	expect(d, "event 1 RESCIND", "M-O1");
	expect(d, "answer 1 200");
	refute(d, "DrainSlaveMessage");
	refute(d, " UPDATE ");
	driver_forget(d);
	driver_exited(d, AGENT1);
	come("M-S0", TASKS("TASK_RUNNING"));
	driver_pass(d, 3 * SECOND);
	refute(d, "OFFERS");
	refute(d, "DrainSlaveMessage");
	cr_expect_eq(drain_state(), -1);
	cr_expect_eq(order("REACTIVATE_AGENT", "M-S0", ""), 0);
	driver_pass(d, SECOND);
	expect(d, "OFFERS", "M-S0");
	cr_expect_eq(order("REACTIVATE_AGENT", "M-S0", ""), 400);
}

Test(master_drain, deactivated_agents_that_come_back_to_another_master_are_not_offered)
{
	run();
	cr_expect_eq(order("DEACTIVATE_AGENT", "M-S0", ""), 0);
	driver_restart(d, "M2");
	driver_subscribe(d, "M-0000", "\"checkpoint\":true");
	come("M-S0", TASKS("TASK_RUNNING"));
	driver_forget(d);
	driver_pass(d, 3 * SECOND);
	refute(d, "OFFERS");
	cr_expect_eq(order("REACTIVATE_AGENT", "M-S0", ""), 0);
	driver_pass(d, SECOND);
	expect(d, "OFFERS", "M-S0");
}

static void expect_no_offers_while_it_is_marked_gone(const char *what)
{
	struct master_event event = {.type = MASTER_STORED};

	run();
	d->hold_store = true;
	cr_expect_eq(order(what, "M-S0", ""), 0);
	driver_store_line(d, LINE_WARM);
	event.stored.line = LINE_REGISTRY;
	event.stored.ticket = d->tickets[LINE_REGISTRY];
	cr_expect_eq(order("MARK_AGENT_GONE", "M-S0", ""), 0);
	driver_step(d, &event);
	expect(d, "event 1 RESCIND", "M-O1");
	expect(d, "answer 1 200");
	d->hold_store = false;
	driver_store(d);
	expect(d, "answer 2 200");
	cr_expect_not(master_find_agent(d->m, "M-S0"));
}

Test(master_drain, who_hears_that_an_agent_is_deactivated_sees_no_offers_of_it)
{
	expect_no_offers_while_it_is_marked_gone("DEACTIVATE_AGENT");
}

Test(master_drain, who_hears_that_an_agent_drains_sees_no_offers_of_it)
{
	expect_no_offers_while_it_is_marked_gone("DRAIN_AGENT");
}

Test(master_drain, a_disconnected_agent_is_reactivated_when_it_is_back)
{
	run();
	order("DEACTIVATE_AGENT", "M-S0", "");
	driver_exited(d, AGENT1);
	cr_expect_eq(order("REACTIVATE_AGENT", "M-S0", ""), 0);
	expect(d, "answer 2 200");
	cr_expect_not(agent_active(master_find_agent(d->m, "M-S0")));
	driver_forget(d);
	come("M-S0", TASKS("TASK_RUNNING"));
	driver_pass(d, SECOND);
	expect(d, "OFFERS", "M-S0");
}
