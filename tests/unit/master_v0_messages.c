/* What registered v0 drivers say and hear: calls and the messages of before calls, from
 * their pid and from others, and every message to them. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/master_v0.h"

static struct driver *d;
static struct framework *f;

/* M-0000 at P1 with task "t" on M-S0, and the rest of that agent on offer as M-O1. */
static void begin(const char *members)
{
	d = driver_create();
	driver_agent(d, AGENT1);
	v0_subscribe(d, P1, NULL, false, members);
	f = master_find_framework(d->m, "M-0000");
	v0_launch(d, P1, "M-O0", "t");
	driver_update(d, AGENT1, "M-S0", "M-0000", "t", "TASK_RUNNING", 1);
	driver_pass(d, 2 * SECOND);
	cr_assert_str_eq(driver_offer(d), "M-O1");
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

TestSuite(master_v0_messages, .init = set_up, .fini = tear_down);

/* ---- what it says -------------------------------------------------------------------------- */

#define TYPE(name) &mesos__internal__##name##_message__descriptor
#define CALL &mesos__scheduler__call__descriptor
#define OFFER "\"offer_ids\":[{\"value\":\"M-O1\"}]"
#define AID "\"agent_id\":{\"value\":\"M-S0\"}"
#define TID "\"task_id\":{\"value\":\"t\"}"
#define UUID1 "\"uuid\":\"AQEBAQEBQAGAAQEBAQEBAQ==\""

static const struct {
	const ProtobufCMessageDescriptor *type;
	const char *message;
	const char *seen[4]; /* in one line of what the master sends */
} said[] = {
	{TYPE(launch_tasks),
	 "{" FID "," OFFER ",\"filters\":{},\"tasks\":[" V0_TASK("u", "M-S0") "]}",
	 {AGENT1 " RunTaskMessage", "\"u\"", "\"pid\":\"" P1 "\""}},
	{CALL,
	 "{\"type\":\"ACCEPT\"," FID ",\"accept\":{" OFFER
	 ",\"operations\":[{\"type\":\"LAUNCH\",\"launch\":{\"task_infos\":[" V0_TASK(
		 "u", "M-S0") "]}}]}}",
	 {AGENT1 " RunTaskMessage", "\"u\"", "\"pid\":\"" P1 "\""}},
	{TYPE(launch_tasks),
	 "{" FID ",\"offer_ids\":[{\"value\":\"none\"}],\"filters\":{},\"tasks\":[" V0_TASK(
		 "u", "M-S0") "]}",
	 {P1 " StatusUpdateMessage", "TASK_LOST", "REASON_INVALID_OFFERS",
	  "\"pid\":\"@0.0.0.0:0\""}},
	{TYPE(kill_task), "{" FID "," TID "}", {AGENT1 " KillTaskMessage", "\"t\""}},
	{CALL,
	 "{\"type\":\"KILL\"," FID ",\"kill\":{" TID "}}",
	 {AGENT1 " KillTaskMessage", "\"t\""}},
	{TYPE(kill_task),
	 "{" FID ",\"task_id\":{\"value\":\"none\"}}",
	 {P1 " StatusUpdateMessage", "TASK_LOST", "REASON_RECONCILIATION"}},
	{TYPE(status_update_acknowledgement),
	 "{" FID "," AID "," TID "," UUID1 "}",
	 {AGENT1 " StatusUpdateAcknowledgementMessage", "AQEBAQEBQAGAAQEBAQEBAQ"}},
	{CALL,
	 "{\"type\":\"ACKNOWLEDGE\"," FID ",\"acknowledge\":{" AID "," TID "," UUID1 "}}",
	 {AGENT1 " StatusUpdateAcknowledgementMessage", "AQEBAQEBQAGAAQEBAQEBAQ"}},
	{TYPE(framework_to_executor),
	 "{" FID "," AID ",\"executor_id\":{\"value\":\"e\"},\"data\":\"aGk=\"}",
	 {AGENT1 " FrameworkToExecutorMessage", "aGk=", "\"e\""}},
	{CALL,
	 "{\"type\":\"MESSAGE\"," FID ",\"message\":{" AID
	 ",\"executor_id\":{\"value\":\"e\"},\"data\":\"aGk=\"}}",
	 {AGENT1 " FrameworkToExecutorMessage", "aGk=", "\"e\""}},
	{TYPE(reconcile_tasks),
	 "{" FID ",\"statuses\":[{" TID ",\"state\":\"TASK_LOST\"}]}",
	 {P1 " StatusUpdateMessage", "TASK_RUNNING", "REASON_RECONCILIATION"}},
	{TYPE(reconcile_tasks),
	 "{" FID "}",
	 {P1 " StatusUpdateMessage", "TASK_RUNNING", "REASON_RECONCILIATION"}},
	{TYPE(reconcile_tasks),
	 "{" FID ",\"statuses\":[{\"task_id\":{\"value\":\"none\"}," AID
	 ",\"state\":\"TASK_LOST\"}]}",
	 {P1 " StatusUpdateMessage", "TASK_LOST", "Task is unknown to the agent"}},
	{TYPE(deactivate_framework), "{" FID "}", {P1 " RescindResourceOfferMessage", "M-O1"}},
	{TYPE(unregister_framework), "{" FID "}", {AGENT1 " ShutdownFrameworkMessage"}},
	{CALL, "{\"type\":\"TEARDOWN\"," FID "}", {AGENT1 " ShutdownFrameworkMessage"}},
	{CALL,
	 "{\"type\":\"UPDATE_FRAMEWORK\"," FID ",\"update_framework\":{\"framework_info\":{"
	 "\"user\":\"x\",\"name\":\"n\",\"id\":{\"value\":\"M-0000\"}}}}",
	 {P1 " FrameworkErrorMessage", "FrameworkInfo update is not valid"}},
	{CALL,
	 "{\"type\":\"UPDATE_FRAMEWORK\"," FID ",\"update_framework\":{\"framework_info\":{"
	 "\"user\":\"u\",\"name\":\"m\",\"id\":{\"value\":\"M-0000\"}}}}",
	 {AGENT1 " UpdateFrameworkMessage", "\"pid\":\"" P1 "\"", "\"name\":\"m\""}},
	{CALL,
	 "{\"type\":\"ACCEPT\"," FID ",\"accept\":{" OFFER
	 ",\"operations\":[{\"type\":\"RESERVE\",\"id\":{\"value\":\"x\"},\"reserve\":{"
	 "\"resources\":[{\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1},"
	 "\"reservations\":[{\"type\":\"DYNAMIC\",\"role\":\"r\"}]}]}}]}}",
	 {P1 " FrameworkErrorMessage", "feedback is not supported for the SchedulerDriver API; "
				       "please use the HTTP scheduler API"}},
};

static bool saw_row(size_t i)
{
	const char *const *seen = said[i].seen;

	return driver_saw(d, seen[0], seen[1] ? seen[1] : "", seen[2] ? seen[2] : "",
			  seen[3] ? seen[3] : "", NULL);
}

Test(master_v0_messages, each_does_what_it_says)
{
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		tear_down();
		set_up();
		driver_message(d, P1, said[i].type, "%s", said[i].message);
		cr_expect(saw_row(i), "row %zu, %s: no %s in\n%s", i, said[i].message,
			  said[i].seen[0], d->trace.data ? d->trace.data : "");
	}
}

Test(master_v0_messages, nobody_else_may_say_it)
{
	v0_subscribe(d, P2, NULL, false, NULL);
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		uint64_t dropped = d->m->counters.dropped_messages;

		driver_forget(d);
		driver_message(d, P2, said[i].type, "%s", said[i].message);
		cr_expect_eq(d->trace.len, 0, "row %zu: %s", i, d->trace.data);
		cr_expect_eq(d->m->counters.dropped_messages, dropped + 1, "row %zu", i);
	}
	cr_expect(framework_connected(f) && f->active);
}

Test(master_v0_messages, nobody_is_authenticated)
{
	driver_forget(d);
	driver_message(d, P2, TYPE(authenticate), "{\"pid\":\"scheduler@127.0.0.1:7\"}");
	expect(d, "master -> " P2 " AuthenticationErrorMessage",
	       "{\"error\":\"No authenticator loaded\"}");
	cr_expect_eq(d->m->counters.messages_authenticate, 1);
}

Test(master_v0_messages, of_no_framework_nothing_comes)
{
	driver_exited(d, P1);
	driver_pass(d, 2 * MINUTE);
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		driver_forget(d);
		driver_message(d, P1, said[i].type, "%s", said[i].message);
		cr_expect_eq(d->trace.len, 0, "row %zu: %s", i, d->trace.data);
	}
}

/* Messages of old are taken from the disconnected, too; calls are refused. */
Test(master_v0_messages, the_disconnected_are_told_so)
{
	driver_exited(d, P1);
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		if (said[i].type == TYPE(unregister_framework))
			continue;
		driver_forget(d);
		driver_message(d, P1, said[i].type, "%s", said[i].message);
		cr_expect_eq(driver_count(d, P1 " FrameworkErrorMessage {\"message\":\"Framework "
						"disconnected\"}"),
			     said[i].type == CALL, "row %zu: %s", i, d->trace.data);
		cr_expect_eq(driver_count(d, " -> " P1), said[i].type == CALL, "row %zu", i);
	}
	v0_send(d, P1, kill_task, "{" FID "," TID "}");
	expect(d, AGENT1 " KillTaskMessage");
	v0_send(d, P1, unregister_framework, "{" FID "}");
	cr_expect_null(master_find_framework(d->m, "M-0000"));
}

Test(master_v0_messages, a_partition_aware_one_hears_dropped)
{
	tear_down();
	begin("\"capabilities\":[{\"type\":\"PARTITION_AWARE\"}]");
	v0_launch(d, P1, "none", "u");
	expect(d, P1 " StatusUpdateMessage", "TASK_DROPPED", "REASON_INVALID_OFFERS",
	       "Offer none is no longer valid");
	refute(d, "\"uuid\"");
}

Test(master_v0_messages, no_tasks_decline)
{
	v0_send(d, P1, launch_tasks, "{" FID "," OFFER ",\"filters\":{\"refuse_seconds\":3600}}");
	driver_pass(d, MINUTE);
	refute(d, "ResourceOffersMessage");
	v0_send(d, P1, revive_offers, "{" FID "}");
	expect(d, P1 " ResourceOffersMessage", "\"pids\":[\"" AGENT1 "\"]");
	driver_forget(d);
	v0_call(d, P1,
		"{\"type\":\"DECLINE\"," FID ",\"decline\":{\"offer_ids\":[{\"value\":\"%s\"}],"
		"\"filters\":{\"refuse_seconds\":0}}}",
		driver_offer(d));
	v0_call(d, P1, "{\"type\":\"SUPPRESS\"," FID "}");
	driver_pass(d, MINUTE);
	refute(d, "ResourceOffersMessage");
	v0_call(d, P1, "{\"type\":\"REVIVE\"," FID ",\"revive\":{\"roles\":[\"*\"]}}");
	expect(d, P1 " ResourceOffersMessage");
}

Test(master_v0_messages, deactivated_it_hears_updates_but_no_offers)
{
	v0_send(d, P1, deactivate_framework, "{" FID "}");
	cr_expect_not(f->active);
	cr_expect(framework_connected(f));
	driver_forget(d);
	driver_pass(d, MINUTE);
	refute(d, "ResourceOffersMessage");
	driver_update(d, AGENT1, "M-S0", "M-0000", "t", "TASK_FINISHED", 2);
	expect(d, P1 " StatusUpdateMessage", "TASK_FINISHED");
	v0_subscribe(d, P1, "M-0000", false, "\"failover_timeout\":60");
	cr_expect(f->active);
	driver_pass(d, SECOND);
	expect(d, P1 " ResourceOffersMessage");
}

Test(master_v0_messages, what_drivers_cannot_say_is_dropped)
{
	static const char *const calls[] = {
		"{\"type\":\"RECONCILE_OPERATIONS\"," FID ",\"reconcile_operations\":{"
		"\"operations\":[{\"operation_id\":{\"value\":\"x\"}}]}}",
		"{\"type\":\"ACKNOWLEDGE_OPERATION_STATUS\"," FID
		",\"acknowledge_operation_status\":{" AID
		",\"operation_id\":{\"value\":\"x\"}," UUID1 "}}",
		"{\"type\":\"UNKNOWN\"," FID "}",
		"{\"type\":\"KILL\"," FID "}",
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		v0_call(d, P1, "%s", calls[i]);
	v0_send(d, P1, status_update_acknowledgement,
		"{" FID "," AID "," TID ",\"uuid\":\"AAAA\"}");
	cr_expect_eq(d->trace.len, 0, "%s", d->trace.data);
	v0_send(d, P1, resource_request, "{" FID "}");
	v0_call(d, P1, "{\"type\":\"REQUEST\"," FID ",\"request\":{}}");
	cr_expect_eq(d->m->counters.messages_resource_request, 2);
	cr_expect_eq(d->m->counters.invalid_status_update_acknowledgements, 1);
}

/* ---- what it hears ------------------------------------------------------------------------------
 */

Test(master_v0_messages, an_update_says_whom_to_acknowledge)
{
	driver_update_latest(d, AGENT1, "M-S0", "M-0000", "t", "TASK_RUNNING", "TASK_FAILED", 3);
	expect(d, P1 " StatusUpdateMessage", "\"pid\":\"" AGENT1 "\"",
	       "\"latest_state\":\"TASK_FAILED\"", "\"agent_id\":{\"value\":\"M-S0\"}");
	cr_expect_eq(driver_count(d, "StatusUpdateMessage"), 1);
	/* Both the update and its status carry it. */
	cr_expect(strstr(strstr(d->trace.data, "AwMDAwMDQAOAAwMDAwMDAw") + 1,
			 "AwMDAwMDQAOAAwMDAwMDAw"));
}

Test(master_v0_messages, the_masters_own_updates_have_no_pid_to_speak_of)
{
	v0_call(d, P1, "{\"type\":\"RECONCILE\"," FID ",\"reconcile\":{}}");
	expect(d, P1 " StatusUpdateMessage", "TASK_RUNNING", "Reconciliation: Latest task state");
	refute(d, "\"pid\"");
	refute(d, "\"uuid\"");
}

Test(master_v0_messages, the_message_of_an_executor)
{
	v0_send(d, AGENT1, executor_to_framework,
		"{" FID "," AID ",\"executor_id\":{\"value\":\"e\"},\"data\":\"aGk=\"}");
	expect(d, "master -> " P1 " ExecutorToFrameworkMessage", "aGk=", "\"e\"", "M-S0", "M-0000");
}

Test(master_v0_messages, the_end_of_an_executor)
{
	v0_send(d, P1, launch_tasks,
		"{" FID "," OFFER
		",\"filters\":{},\"tasks\":[{\"name\":\"u\",\"task_id\":{\"value\":"
		"\"u\"}," AID ",\"resources\":%s,\"executor\":{\"executor_id\":{\"value\":\"e\"},"
		"\"command\":{\"value\":\"true\"}}}]}",
		RESOURCES(1, 32));
	driver_forget(d);
	v0_send(d, AGENT1, exited_executor,
		"{" FID "," AID ",\"executor_id\":{\"value\":\"e\"},\"status\":768}");
	expect(d, P1 " ExitedExecutorMessage", "\"status\":768", "\"e\"", "M-S0", "M-0000");
}

Test(master_v0_messages, the_end_of_an_agent)
{
	v0_send(d, AGENT1, unregister_slave, "{" AID "}");
	expect(d, P1 " RescindResourceOfferMessage", "M-O1");
	expect(d, P1 " StatusUpdateMessage", "TASK_LOST", "\"pid\":\"@0.0.0.0:0\"");
	expect(d, P1 " LostSlaveMessage", "M-S0");
}

Test(master_v0_messages, two_agents_in_one_message)
{
	v0_send(d, P1, deactivate_framework, "{" FID "}");
	driver_agent(d, AGENT2);
	driver_forget(d);
	v0_subscribe(d, P1, "M-0000", true, NULL);
	driver_pass(d, SECOND);
	cr_expect_eq(driver_count(d, "ResourceOffersMessage"), 1);
	expect(d, P1 " ResourceOffersMessage", "M-S0", "M-S1", AGENT1, AGENT2);
}

Test(master_v0_messages, inverse_offers_are_told_and_taken_back)
{
	driver_operate(d,
		       "{\"type\":\"UPDATE_MAINTENANCE_SCHEDULE\",\"update_maintenance_schedule\":{"
		       "\"schedule\":{\"windows\":[{\"machine_ids\":[{\"hostname\":\"host\",\"ip\":"
		       "\"127.0.0.1\"}],\"unavailability\":{\"start\":{\"nanoseconds\":1}}}]}}}");
	driver_pass(d, 2 * SECOND);
	expect(d, P1 " InverseOffersMessage", "\"pids\":[\"" AGENT1 "\"]", "M-S0");
	v0_subscribe(d, P1, "M-0000", false, "\"failover_timeout\":60");
	expect(d, P1 " RescindInverseOfferMessage");
}
