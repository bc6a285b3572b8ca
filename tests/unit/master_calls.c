/* Validation of calls and their caller, and the calls that
 * go to agents. */
#include <criterion/criterion.h>
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

TestSuite(master_calls, .init = set_up, .fini = tear_down);

#define FID "\"framework_id\":{\"value\":\"M-0000\"}"

static const struct {
	const char *call;
	int status;
	const char *text;
} rows[] = {
	{"{}", 400, "Failed to validate scheduler::Call: Expecting 'type' to be present"},
	{"{\"type\":\"SUBSCRIBE\"}", 400, "Expecting 'subscribe' to be present"},
	{"{\"type\":\"SUBSCRIBE\",\"framework_id\":{\"value\":\"a\"},\"subscribe\":{"
	 "\"framework_info\":{\"user\":\"u\",\"name\":\"n\"}}}",
	 400, "'framework_id' differs from 'subscribe.framework_info.id'"},
	{"{\"type\":\"TEARDOWN\"}", 400, "Expecting 'framework_id' to be present"},
	{"{\"type\":\"ACCEPT\"," FID "}", 400, "Expecting 'accept' to be present"},
	{"{\"type\":\"DECLINE\"," FID "}", 400, "Expecting 'decline' to be present"},
	{"{\"type\":\"ACCEPT_INVERSE_OFFERS\"," FID "}", 400,
	 "Expecting 'accept_inverse_offers' to be present"},
	{"{\"type\":\"DECLINE_INVERSE_OFFERS\"," FID "}", 400,
	 "Expecting 'decline_inverse_offers' to be present"},
	{"{\"type\":\"KILL\"," FID "}", 400, "Expecting 'kill' to be present"},
	{"{\"type\":\"SHUTDOWN\"," FID "}", 400, "Expecting 'shutdown' to be present"},
	{"{\"type\":\"ACKNOWLEDGE\"," FID "}", 400, "Expecting 'acknowledge' to be present"},
	{"{\"type\":\"ACKNOWLEDGE_OPERATION_STATUS\"," FID "}", 400,
	 "Expecting 'acknowledge_operation_status' to be present"},
	{"{\"type\":\"RECONCILE\"," FID "}", 400, "Expecting 'reconcile' to be present"},
	{"{\"type\":\"RECONCILE_OPERATIONS\"," FID "}", 400,
	 "Expecting 'reconcile_operations' to be present"},
	{"{\"type\":\"MESSAGE\"," FID "}", 400, "Expecting 'message' to be present"},
	{"{\"type\":\"REQUEST\"," FID "}", 400, "Expecting 'request' to be present"},
	{"{\"type\":\"UPDATE_FRAMEWORK\"," FID "}", 400,
	 "Expecting 'update_framework' to be present"},
	{"{\"type\":\"ACKNOWLEDGE\"," FID ",\"acknowledge\":{\"agent_id\":{\"value\":\"a\"},"
	 "\"task_id\":{\"value\":\"t\"},\"uuid\":\"AAAA\"}}",
	 400, "Not a valid UUID"},
	{"{\"type\":\"ACKNOWLEDGE\"," FID ",\"acknowledge\":{\"agent_id\":{\"value\":\"a\"},"
	 "\"task_id\":{\"value\":\"t\"},\"uuid\":\"/////////////////////w==\"}}",
	 400, "Not a valid UUID"},
	{"{\"type\":\"UPDATE_FRAMEWORK\"," FID ",\"update_framework\":{\"framework_info\":{"
	 "\"user\":\"u\",\"name\":\"n\",\"id\":{\"value\":\"x\"}}}}",
	 400, "'framework_id' differs from 'update_framework.framework_info.id'"},
	{"{\"type\":\"REVIVE\",\"framework_id\":{\"value\":\"nobody\"}}", 400,
	 "Framework cannot be found"},
	{"{\"type\":\"REVIVE\"," FID "}", 400,
	 "All non-subscribe calls should include the 'Mesos-Stream-Id' header"},
};

Test(master_calls, each_rule_has_its_status_and_text)
{
	driver_subscribe(d, NULL, NULL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int status = driver_call(d, 0, "%s", rows[i].call);

		cr_expect_eq(status, rows[i].status, "%s: %d", rows[i].call, status);
		cr_expect(strstr(d->out.reply.text, rows[i].text), "%s: %s", rows[i].call,
			  d->out.reply.text);
	}
}

Test(master_calls, caller_is_checked)
{
	driver_subscribe(d, NULL, "\"failover_timeout\":60");
	driver_subscribe(d, NULL, NULL);
	cr_expect_eq(driver_call(d, 2, "{\"type\":\"REVIVE\"," FID "}"), 400);
	cr_expect(strstr(d->out.reply.text, "didn't match the stream ID currently associated with "
					    "framework ID M-0000"));
	cr_expect_eq(driver_call(d, 1, "{\"type\":\"UNKNOWN\"," FID "}"), 501);
	cr_expect_eq(driver_call(d, 1, "{\"type\":\"REQUEST\"," FID ",\"request\":{}}"), 202);
	cr_expect_eq(driver_call(d, 1,
				 "{\"type\":\"SUBSCRIBE\",\"subscribe\":{\"framework_info\":{"
				 "\"user\":\"u\",\"name\":\"n\"}}}"),
		     400);
	cr_expect_str_eq(d->out.reply.text,
			 "Subscribe calls should not include the 'Mesos-Stream-Id' header");
	driver_close(d, 1);
	cr_expect_eq(driver_call(d, 1, "{\"type\":\"REVIVE\"," FID "}"), 403);
	cr_expect_str_eq(d->out.reply.text, "Framework is not subscribed");
}

#define MISMATCH                                                                                   \
	"Authenticated principal 'other' does not match principal 'p' set in `FrameworkInfo`"

/* Who proved to be somebody speaks for frameworks of that name alone, and for those of no name. */
Test(master_calls, principals_are_their_frameworks)
{
	static const char subscribe[] =
		"{\"type\":\"SUBSCRIBE\",\"subscribe\":{\"framework_info\":{"
		"\"user\":\"u\",\"name\":\"n\"%s}}}";
	const char *principal = NULL;
	uint64_t stream;

	d->caller = "other";
	cr_expect_eq(driver_call(d, 0, subscribe, ",\"principal\":\"p\""), 400);
	cr_expect_str_eq(d->out.reply.text, "Failed to validate scheduler::Call: " MISMATCH);
	d->caller = NULL;
	stream = driver_subscribe(d, NULL, "\"principal\":\"p\"");
	d->caller = "other";
	cr_expect_eq(driver_call(d, stream, "{\"type\":\"REVIVE\"," FID "}"), 400);
	cr_expect_str_eq(d->out.reply.text, MISMATCH);
	d->caller = "p";
	cr_expect_eq(driver_call(d, stream, "{\"type\":\"REVIVE\"," FID "}"), 202);
	d->caller = NULL;
	cr_expect_eq(driver_call(d, stream, "{\"type\":\"REVIVE\"," FID "}"), 202);
	cr_expect_not(master_is_driver(d->m, "scheduler@1.1.1.1:1", &principal));
}

Test(master_calls, answers_that_nobody_could_read_are_not_made)
{
	driver_subscribe(d, NULL, NULL);
	d->unacceptable = true;
	cr_expect_eq(driver_call(d, 0,
				 "{\"type\":\"SUBSCRIBE\",\"subscribe\":{\"framework_info\":{"
				 "\"user\":\"u\",\"name\":\"n\"}}}"),
		     406);
	cr_expect_str_eq(d->out.reply.text, "Expecting 'Accept' to allow 'application/x-protobuf' "
					    "or 'application/json'");
	cr_expect_eq(driver_call(d, 1,
				 "{\"type\":\"RECONCILE_OPERATIONS\"," FID
				 ",\"reconcile_operations\":{}}"),
		     406);
	cr_expect_eq(driver_call(d, 1, "{\"type\":\"REVIVE\"," FID "}"), 202, "it has none");
}

Test(master_calls, nothing_is_served_before_the_identity_is_durable)
{
	const struct master_event kill = {.type = MASTER_KILL_TASK,
					  .kill_task = {.framework_id = "x", .task_id = "t"}};

	driver_destroy(d);
	d = driver_prepare();
	d->hold_store = true;
	driver_start(d);
	cr_expect_not(master_ready(d->m));
	cr_expect_eq(driver_call(d, 0, "{\"type\":\"REVIVE\"," FID "}"), 503);
	cr_expect_str_eq(d->out.reply.text, "Master has not finished recovery");
	cr_expect_eq(driver_operate(d, "{\"type\":\"TEARDOWN\",\"teardown\":{" FID "}}"), 503);
	cr_expect_str_eq(d->out.reply.text, "Master has not finished recovery");
	driver_step(d, &kill);
	cr_expect_eq(d->out.reply.status, 503);
	driver_agent(d, AGENT1);
	cr_expect_eq(HASH_COUNT(d->m->agents), 0);
	driver_store(d);
	cr_expect(master_ready(d->m));
	driver_step(d, &kill);
	cr_expect_eq(d->out.reply.status, 400);
	cr_expect_str_eq(d->out.reply.text, "No framework found with specified ID");
	cr_expect_eq(driver_operate(d, "{\"type\":\"GET_STATE\"}"), 501, "it changes nothing");
}

Test(master_calls, kill_goes_to_the_agent_that_has_the_task)
{
	driver_agent(d, AGENT1);
	driver_subscribe(d, NULL, NULL);
	driver_launch(d, 1, "M-0000", "M-O0", "M-S0", "t", NULL);
	driver_forget(d);
	driver_call(d, 1,
		    "{\"type\":\"KILL\"," FID ",\"kill\":{\"task_id\":{\"value\":\"t\"},"
		    "\"agent_id\":{\"value\":\"other\"}}}");
	refute(d, "KillTaskMessage");
	refute(d, " UPDATE {");
	driver_call(d, 1,
		    "{\"type\":\"KILL\"," FID ",\"kill\":{\"task_id\":{\"value\":\"t\"},"
		    "\"kill_policy\":{\"grace_period\":{\"nanoseconds\":5}}}}");
	expect(d, "KillTaskMessage", "\"nanoseconds\":5", "\"task_id\":{\"value\":\"t\"}");
	driver_call(d, 1, "{\"type\":\"KILL\"," FID ",\"kill\":{\"task_id\":{\"value\":\"x\"}}}");
	expect(d, "UPDATE", "TASK_LOST", "REASON_RECONCILIATION",
	       "Reconciliation: Task is unknown");
}

Test(master_calls, shutdown_and_message_reach_the_agent)
{
	driver_agent(d, AGENT1);
	driver_subscribe(d, NULL, NULL);
	driver_forget(d);
	driver_call(d, 1,
		    "{\"type\":\"SHUTDOWN\"," FID ",\"shutdown\":{\"executor_id\":"
		    "{\"value\":\"e\"},\"agent_id\":{\"value\":\"M-S0\"}}}");
	expect(d, "master -> " AGENT1, "ShutdownExecutorMessage",
	       "\"executor_id\":{\"value\":\"e\"}");
	driver_call(d, 1,
		    "{\"type\":\"MESSAGE\"," FID ",\"message\":{\"executor_id\":"
		    "{\"value\":\"e\"},\"agent_id\":{\"value\":\"M-S0\"},\"data\":\"aGk=\"}}");
	expect(d, "FrameworkToExecutorMessage", "\"data\":\"aGk=\"");
	driver_message(d, AGENT1, &mesos__internal__executor_to_framework_message__descriptor,
		       "{\"agent_id\":{\"value\":\"M-S0\"}," FID ",\"executor_id\":"
		       "{\"value\":\"e\"},\"data\":\"eW8=\"}");
	expect(d, "event 1 MESSAGE", "\"data\":\"eW8=\"", "\"executor_id\":{\"value\":\"e\"}");
	driver_forget(d);
	driver_message(d, "x@127.0.0.1:1",
		       &mesos__internal__executor_to_framework_message__descriptor,
		       "{\"agent_id\":{\"value\":\"M-S0\"}," FID ",\"executor_id\":"
		       "{\"value\":\"e\"},\"data\":\"eW8=\"}");
	refute(d, "MESSAGE");
}

Test(master_calls, update_framework_answers_synchronously)
{
	const char *start = "{\"type\":\"UPDATE_FRAMEWORK\"," FID ",\"update_framework\":{"
			    "\"framework_info\":{\"name\":\"new\",\"id\":{\"value\":\"M-0000\"},";

	driver_agent(d, AGENT1);
	driver_subscribe(d, NULL, NULL);
	driver_forget(d);
	cr_expect_eq(driver_call(d, 1, "%s\"user\":\"u\"}}}", start), 200);
	expect(d, "UpdateFrameworkMessage", "\"name\":\"new\"");
	cr_expect_eq(driver_call(d, 1, "%s\"user\":\"v\"}}}", start), 400);
	cr_expect(strstr(d->out.reply.text, "FrameworkInfo update is not valid: "));
	cr_expect_eq(driver_call(d, 1, "%s\"user\":\"u\",\"roles\":[\"a\"]}}}", start), 400);
	cr_expect(strstr(d->out.reply.text, "Supplied FrameworkInfo is not valid: "));
}

Test(master_calls, update_framework_needs_the_principal)
{
	driver_subscribe(d, NULL, "\"principal\":\"p\"");
	cr_expect_eq(driver_call(d, 1,
				 "{\"type\":\"UPDATE_FRAMEWORK\"," FID ",\"update_framework\":{"
				 "\"framework_info\":{\"name\":\"n\",\"user\":\"u\",\"id\":{"
				 "\"value\":\"M-0000\"}}}}"),
		     400);
	cr_expect_str_eq(d->out.reply.text, "FrameworkInfo update is not valid: Changing "
					    "framework's principal is not allowed.");
}

Test(master_calls, unknown_operations_are_reconciled_with_their_provider)
{
	driver_agent(d, AGENT1);
	driver_subscribe(d, NULL, NULL);
	driver_call(d, 1,
		    "{\"type\":\"RECONCILE_OPERATIONS\"," FID ",\"reconcile_operations\":{"
		    "\"operations\":[{\"operation_id\":{\"value\":\"o\"},\"agent_id\":{\"value\":"
		    "\"M-S0\"},\"resource_provider_id\":{\"value\":\"provider\"}}]}}");
	expect(d, "UPDATE_OPERATION_STATUS", "OPERATION_UNKNOWN",
	       "Reconciliation: Operation is unknown", "\"agent_id\":{\"value\":\"M-S0\"}",
	       "\"resource_provider_id\":{\"value\":\"provider\"}");
}

Test(master_calls, are_counted_once)
{
	static const struct {
		const char *call;
		size_t counter;
	} calls[] = {
#define COUNTED(counter) offsetof(struct master_counters, messages_##counter)
		{"{\"type\":\"KILL\"," FID ",\"kill\":{\"task_id\":{\"value\":\"x\"}}}",
		 COUNTED(kill_task)},
		{"{\"type\":\"RECONCILE\"," FID ",\"reconcile\":{}}", COUNTED(reconcile_tasks)},
		{"{\"type\":\"RECONCILE_OPERATIONS\"," FID ",\"reconcile_operations\":{}}",
		 COUNTED(reconcile_operations)},
		{"{\"type\":\"REVIVE\"," FID "}", COUNTED(revive_offers)},
		{"{\"type\":\"SUPPRESS\"," FID "}", COUNTED(suppress_offers)},
		{"{\"type\":\"REQUEST\"," FID ",\"request\":{}}", COUNTED(resource_request)},
		{"{\"type\":\"DECLINE\"," FID ",\"decline\":{\"offer_ids\":[{\"value\":\"o\"}]}}",
		 COUNTED(decline_offers)},
		{"{\"type\":\"MESSAGE\"," FID ",\"message\":{\"agent_id\":{\"value\":\"a\"},"
		 "\"executor_id\":{\"value\":\"e\"},\"data\":\"AA==\"}}",
		 COUNTED(framework_to_executor)},
		{"{\"type\":\"ACKNOWLEDGE\"," FID
		 ",\"acknowledge\":{\"agent_id\":{\"value\":\"a\"},"
		 "\"task_id\":{\"value\":\"t\"},\"uuid\":\"AAECAwQFRgeICQoLDA0ODw==\"}}",
		 COUNTED(status_update_acknowledgement)},
		{"{\"type\":\"TEARDOWN\"," FID "}", COUNTED(unregister_framework)},
#undef COUNTED
	};

	driver_subscribe(d, NULL, NULL);
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		const uint64_t *counter =
			(const void *)((const char *)&d->m->counters + calls[i].counter);
		uint64_t before = *counter;
		int status = driver_call(d, 1, "%s", calls[i].call);

		cr_expect_eq(status, 202, "%s: %d %s", calls[i].call, status, d->out.reply.text);
		cr_expect_eq(*counter, before + 1, "%s", calls[i].call);
	}
}

Test(master_calls, the_kill_of_an_unknown_task_counts_as_reconciliation)
{
	driver_subscribe(d, NULL, NULL);
	driver_call(d, 1, "{\"type\":\"KILL\"," FID ",\"kill\":{\"task_id\":{\"value\":\"x\"}}}");
	cr_expect_eq(d->m->counters.messages_kill_task, 1);
	cr_expect_eq(d->m->counters.messages_reconcile_tasks, 1);
}
