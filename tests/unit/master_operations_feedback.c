/* Records of operations: statuses, acknowledgements, reconciliation, lost agents, restarts. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "tests/unit/master_operations.h"

static struct driver *d;
static uint64_t stream;

#define VERSION "\"resource_version_uuid\":{\"value\":\"AAECAwQFRgeICQoLDA0ODw==\"}"
#define OTHER_VERSION "\"resource_version_uuid\":{\"value\":\"EREREREREUGREREREREREQ==\"}"
#define CPU SCALAR("cpus", 1, DYNAMIC("r"))
#define FAILOVER ROLE_R ",\"failover_timeout\":1000000"

static void set_up(void)
{
	d = driver_create();
	stream = driver_subscribe(d, NULL, FAILOVER);
	driver_agent_like(d, AGENT1, ROOMY, NULL);
}

static void tear_down(void)
{
	driver_destroy(d);
}

TestSuite(master_operations_feedback, .init = set_up, .fini = tear_down);

static void reserve(const char *operation)
{
	driver_forget(d);
	accept_offer(d, stream, "M-0000", driver_offer(d), 0, operation);
}

static struct operation *only(void)
{
	cr_assert(d->m->agents && d->m->agents->operations);
	cr_expect_eq(HASH_COUNT(d->m->agents->operations), 1);
	return d->m->agents->operations;
}

static const char *uuid_of(const struct operation *o)
{
	static char text[64];
	struct buf encoded = BUF_INIT;

	base64_encode(&encoded, o->uuid, UUID_BYTES);
	snprintf(text, sizeof(text), "%s", encoded.data);
	buf_free(&encoded);
	return text;
}

#define STATUS1 "EREREREREUGREREREREREQ=="
#define STATUS2 "IiIiIiIiQiKSIiIiIiIiIg=="

/* From the agent; `status`: its uuid, or NULL. `more`: further members of the status. */
static void update(const char *operation, const char *state, const char *status, const char *more)
{
	char *uuid = status ? xprintf(",\"uuid\":{\"value\":\"%s\"}", status) : xstrdup("");

	driver_message(d, AGENT1, &mesos__internal__update_operation_status_message__descriptor,
		       "{\"framework_id\":{\"value\":\"M-0000\"},\"agent_id\":{\"value\":\"M-S0\"},"
		       "\"operation_uuid\":{\"value\":\"%s\"},\"status\":{\"state\":\"%s\"%s%s},"
		       "\"latest_status\":{\"state\":\"%s\"%s%s}}",
		       operation, state, uuid, more, state, uuid, more);
	free(uuid);
}

static void acknowledge(const char *id, const char *status)
{
	driver_call(
		d, stream,
		"{\"type\":\"ACKNOWLEDGE_OPERATION_STATUS\",\"framework_id\":{\"value\":"
		"\"M-0000\"},\"acknowledge_operation_status\":{\"agent_id\":{\"value\":\"M-S0\"},"
		"\"uuid\":\"%s\",\"operation_id\":{\"value\":\"%s\"}}}",
		status, id);
}

static void reconcile(const char *list)
{
	driver_forget(d);
	driver_call(d, stream,
		    "{\"type\":\"RECONCILE_OPERATIONS\",\"framework_id\":{\"value\":\"M-0000\"},"
		    "\"reconcile_operations\":{\"operations\":[%s]}}",
		    list);
}

static uint64_t states(Mesos__OperationState state)
{
	return d->m->operation_states[MESOS__OFFER__OPERATION__TYPE__RESERVE][state];
}

/* ---- with an id ---------------------------------------------------------------------- */

Test(master_operations_feedback, from_order_to_acknowledgement)
{
	const char *uuid;

	reserve(RESERVE(OPERATION_ID("op"), CPU));
	uuid = uuid_of(only());
	expect(d, "ApplyOperationMessage", "\"id\":{\"value\":\"op\"}", uuid);
	cr_expect_eq(states(MESOS__OPERATION_STATE__OPERATION_PENDING), 1);
	refute(d, "UPDATE_OPERATION_STATUS");
	update(uuid, "OPERATION_FINISHED", STATUS1, "");
	expect(d, "event 1 UPDATE_OPERATION_STATUS", "\"operation_id\":{\"value\":\"op\"}",
	       "OPERATION_FINISHED", STATUS1);
	refute(d, "AcknowledgeOperationStatusMessage");
	cr_expect_eq(states(MESOS__OPERATION_STATE__OPERATION_PENDING), 0);
	cr_expect_eq(states(MESOS__OPERATION_STATE__OPERATION_FINISHED), 1);
	/* It comes again until it is acknowledged. */
	driver_forget(d);
	update(uuid, "OPERATION_FINISHED", STATUS1, "");
	expect(d, "UPDATE_OPERATION_STATUS", STATUS1);
	cr_expect_eq(only()->info->n_statuses, 1);
	acknowledge("op", STATUS2);
	acknowledge("other", STATUS1);
	refute(d, "AcknowledgeOperationStatusMessage");
	acknowledge("op", STATUS1);
	expect(d, "AcknowledgeOperationStatusMessage", STATUS1, uuid);
	cr_expect_null(d->m->agents->operations);
	cr_expect_null(d->m->frameworks->named_operations);
	cr_expect_eq(states(MESOS__OPERATION_STATE__OPERATION_FINISHED), 1);
	cr_expect_eq(d->m->counters.valid_operation_status_update_acknowledgements, 1);
	cr_expect_eq(d->m->counters.invalid_operation_status_update_acknowledgements, 2);
}

/* An end stays. */
Test(master_operations_feedback, terminal_states_are_sticky)
{
	const char *uuid;

	reserve(RESERVE(OPERATION_ID("op"), CPU));
	uuid = uuid_of(only());
	update(uuid, "OPERATION_FINISHED", STATUS1, "");
	update(uuid, "OPERATION_PENDING", STATUS2, "");
	cr_expect_eq(only()->info->latest_status->state,
		     MESOS__OPERATION_STATE__OPERATION_FINISHED);
	/* What is not an end does not end it. */
	acknowledge("op", STATUS2);
	cr_expect_not_null(d->m->agents->operations);
}

Test(master_operations_feedback, ends_without_a_uuid_are_ends)
{
	reserve(RESERVE(OPERATION_ID("op"), CPU));
	update(uuid_of(only()), "OPERATION_DROPPED", NULL, ",\"message\":\"why\"");
	expect(d, "UPDATE_OPERATION_STATUS", "\"operation_id\":{\"value\":\"op\"}",
	       "OPERATION_DROPPED", "\"message\":\"why\"");
	cr_expect_null(d->m->agents->operations);
	cr_expect_eq(states(MESOS__OPERATION_STATE__OPERATION_DROPPED), 1);
}

Test(master_operations_feedback, an_absent_framework_gets_it_later)
{
	char *uuid;

	reserve(RESERVE(OPERATION_ID("op"), CPU));
	uuid = xstrdup(uuid_of(only()));
	driver_close(d, stream);
	driver_forget(d);
	update(uuid, "OPERATION_FINISHED", STATUS1, "");
	refute(d, "UPDATE_OPERATION_STATUS");
	refute(d, "AcknowledgeOperationStatusMessage");
	stream = driver_subscribe(d, "M-0000", FAILOVER);
	update(uuid, "OPERATION_FINISHED", STATUS1, "");
	expect(d, "UPDATE_OPERATION_STATUS", STATUS1);
	free(uuid);
}

/* ---- the master's own ---------------------------------------------------------------------- */

Test(master_operations_feedback, without_id_the_master_acknowledges)
{
	reserve(RESERVE("", CPU));
	update(uuid_of(only()), "OPERATION_FINISHED", STATUS1, "");
	refute(d, "UPDATE_OPERATION_STATUS");
	expect(d, "AcknowledgeOperationStatusMessage", STATUS1);
	cr_expect_null(d->m->agents->operations);
}

/* The acknowledgement and the same status once more cross. */
Test(master_operations_feedback, without_id_nothing_is_told_when_it_is_forgotten)
{
	char *uuid;

	reserve(RESERVE("", CPU));
	uuid = xstrdup(uuid_of(only()));
	update(uuid, "OPERATION_FINISHED", STATUS1, "");
	driver_forget(d);
	update(uuid, "OPERATION_FINISHED", STATUS1, "");
	refute(d, "UPDATE_OPERATION_STATUS");
	free(uuid);
}

Test(master_operations_feedback, of_removed_frameworks_too)
{
	char *uuid;

	reserve(RESERVE(OPERATION_ID("op"), CPU));
	uuid = xstrdup(uuid_of(only()));
	driver_call(d, stream, "{\"type\":\"TEARDOWN\",\"framework_id\":{\"value\":\"M-0000\"}}");
	cr_expect_null(only()->framework);
	driver_forget(d);
	update(uuid, "OPERATION_FINISHED", STATUS1, "");
	expect(d, "AcknowledgeOperationStatusMessage", STATUS1, uuid);
	cr_expect_null(d->m->agents->operations);
	free(uuid);
}

static void report_as(const char *version, const char *operations)
{
	driver_forget(d);
	driver_message(d, AGENT1, &mesos__internal__update_slave_message__descriptor,
		       "{\"agent_id\":{\"value\":\"M-S0\"},%s,"
		       "\"update_oversubscribed_resources\":false,"
		       "\"operations\":{\"operations\":[%s]}}",
		       version, operations);
}

static void report(const char *operations)
{
	report_as(VERSION, operations);
}

/* ---- what the agent could not do --------------------------------------------------------- */

static void reregister(const char *version, const char *checkpointed)
{
	driver_forget(d);
	driver_message(d, AGENT1, &mesos__internal__reregister_slave_message__descriptor,
		       "{\"agent\":{\"hostname\":\"host\",\"checkpoint\":true,"
		       "\"id\":{\"value\":\"M-S0\"},\"resources\":%s},\"version\":\"1.12.0\","
		       "\"checkpointed_resources\":[%s],%s,"
		       "\"agent_capabilities\":[{\"type\":\"MULTI_ROLE\"},"
		       "{\"type\":\"RESERVATION_REFINEMENT\"},{\"type\":\"RESOURCE_PROVIDER\"},"
		       "{\"type\":\"AGENT_OPERATION_FEEDBACK\"}]}",
		       ROOMY, checkpointed, version);
	expect(d, "SlaveReregisteredMessage");
}

static int64_t reserved_cpus(void)
{
	const struct resources *r = &d->m->agents->total;
	int64_t sum = 0;

	for (uint32_t i = 0; i < r->count; i++) {
		if (resource_shape_dynamic(r->pieces[i].shape))
			sum += r->pieces[i].milli;
	}
	return sum;
}

Test(master_operations_feedback, what_failed_is_undone)
{
	char *offer;

	reserve(RESERVE(OPERATION_ID("op"), CPU));
	driver_pass(d, 2 * SECOND);
	offer = xstrdup(driver_offer(d));
	cr_expect_eq(reserved_cpus(), 1000);
	update(uuid_of(only()), "OPERATION_FAILED", STATUS1, "");
	expect(d, "UPDATE_OPERATION_STATUS", "OPERATION_FAILED");
	expect(d, "RESCIND", offer);
	cr_expect_eq(reserved_cpus(), 0);
	cr_expect_eq(d->m->agents->checkpointed_count, 0);
	driver_pass(d, 2 * SECOND);
	expect(d, "OFFERS", "\"value\":4.0");
	/* Once. */
	update(uuid_of(only()), "OPERATION_FAILED", STATUS1, "");
	cr_expect_eq(d->m->agents->total.count, 3);
	free(offer);
}

Test(master_operations_feedback, what_is_in_use_is_not_undone)
{
	reserve(RESERVE(OPERATION_ID("op"),
			CPU) "," LAUNCH(LAUNCH_TASK("t", CPU "," SCALAR("mem", 32, ""))));
	driver_forget(d);
	update(uuid_of(only()), "OPERATION_FAILED", STATUS1, "");
	cr_expect_eq(reserved_cpus(), 1000);
	/* It is to say what there is. */
	expect(d, "PingSlaveMessage", "\"connected\":false");
}

/* What the agent says of itself counts more. */
Test(master_operations_feedback, what_the_agent_told_since_is_not_undone)
{
	reserve(RESERVE(OPERATION_ID("op"), CPU));
	driver_exited(d, AGENT1);
	reregister(OTHER_VERSION, CPU);
	update(uuid_of(only()), "OPERATION_DROPPED", NULL, "");
	cr_expect_eq(reserved_cpus(), 1000);
}

/* Of an older version it carries out nothing any more. */
Test(master_operations_feedback, what_the_agent_does_not_tell_is_not_there)
{
	reserve(RESERVE(OPERATION_ID("op"), CPU));
	reregister(OTHER_VERSION, "");
	cr_expect_eq(reserved_cpus(), 0);
	update(uuid_of(only()), "OPERATION_DROPPED", NULL, "");
	cr_expect_eq(reserved_cpus(), 0);
	cr_expect_eq(d->m->agents->checkpointed_count, 0);
}

/* It was sent again before the order came. */
Test(master_operations_feedback, repeated_reregistrations_undo_nothing)
{
	reregister(OTHER_VERSION, "");
	reserve(RESERVE(OPERATION_ID("op"), CPU));
	reregister(OTHER_VERSION, "");
	cr_expect_eq(reserved_cpus(), 1000);
	cr_expect_eq(d->m->agents->checkpointed_count, 1);
	update(uuid_of(only()), "OPERATION_FINISHED", STATUS1, "");
	reregister(OTHER_VERSION, "");
	cr_expect_eq(reserved_cpus(), 1000);
	driver_pass(d, 2 * SECOND);
	expect(d, "OFFERS", "DYNAMIC");
}

Test(master_operations_feedback, what_failed_after_a_repeated_reregistration_is_undone)
{
	reserve(RESERVE(OPERATION_ID("op"), CPU));
	reregister(VERSION, "");
	cr_expect_eq(reserved_cpus(), 1000);
	update(uuid_of(only()), "OPERATION_DROPPED", NULL, "");
	cr_expect_eq(reserved_cpus(), 0);
}

/* What it registered with came late: it is asked to do it again. */
Test(master_operations_feedback, agents_of_another_version_are_asked_again)
{
	report_as(OTHER_VERSION, "");
	expect(d, "PingSlaveMessage", "\"connected\":false");
	/* Once, and with each ping. */
	driver_forget(d);
	report_as(OTHER_VERSION, "");
	refute(d, "PingSlaveMessage");
	driver_pass(d, 15 * SECOND);
	expect(d, "PingSlaveMessage", "\"connected\":false");
	/* It has not yet heard so when its first message is there once more. */
	reserve(RESERVE("", CPU));
	reregister(VERSION, "");
	cr_expect_eq(reserved_cpus(), 0);
	report_as(OTHER_VERSION, "");
	expect(d, "PingSlaveMessage", "\"connected\":false");
	reregister(OTHER_VERSION, CPU);
	cr_expect_eq(reserved_cpus(), 1000);
	report_as(OTHER_VERSION, "");
	refute(d, "PingSlaveMessage");
	driver_pass(d, 15 * SECOND);
	expect(d, "PingSlaveMessage", "\"connected\":true");
}

/* ---- who may speak ----------------------------------------------------------------------- */

Test(master_operations_feedback, strangers_are_not_heard)
{
	const char *uuid;

	reserve(RESERVE(OPERATION_ID("op"), CPU));
	uuid = uuid_of(only());
	driver_message(d, AGENT2, &mesos__internal__update_operation_status_message__descriptor,
		       "{\"agent_id\":{\"value\":\"M-S0\"},\"operation_uuid\":{\"value\":\"%s\"},"
		       "\"status\":{\"state\":\"OPERATION_FINISHED\"}}",
		       uuid);
	driver_message(d, AGENT1, &mesos__internal__update_operation_status_message__descriptor,
		       "{\"agent_id\":{\"value\":\"M-S0\"},\"operation_uuid\":{\"value\":\"AAAA\"},"
		       "\"status\":{\"state\":\"OPERATION_FINISHED\"}}");
	driver_message(d, AGENT1, &mesos__internal__update_operation_status_message__descriptor,
		       "{\"status\":{\"state\":\"OPERATION_FINISHED\"}}");
	refute(d, "UPDATE_OPERATION_STATUS");
	cr_expect_eq(only()->info->latest_status->state, MESOS__OPERATION_STATE__OPERATION_PENDING);
	cr_expect_eq(d->m->counters.invalid_operation_status_updates, 3);
}

/* ---- reconciliation ----------------------------------------------------------------------- */

#define ASKED(id, more) "{\"operation_id\":{\"value\":\"" id "\"}" more "}"
#define OF_AGENT(id) ",\"agent_id\":{\"value\":\"" id "\"}"

Test(master_operations_feedback, reconciliation)
{
	const char *uuid;

	reserve(RESERVE(OPERATION_ID("op"), CPU));
	uuid = uuid_of(only());
	reconcile("");
	expect(d, "UPDATE_OPERATION_STATUS", "\"value\":\"op\"", "OPERATION_PENDING");
	update(uuid, "OPERATION_FINISHED", STATUS1, "");
	reconcile(ASKED("op", ""));
	expect(d, "UPDATE_OPERATION_STATUS", "\"value\":\"op\"", "OPERATION_FINISHED");
	refute(d, "UPDATE_OPERATION_STATUS", "uuid");
	reconcile(ASKED("no", OF_AGENT("M-S0")));
	expect(d, "OPERATION_UNKNOWN", "Reconciliation: Operation is unknown");
	reconcile(ASKED("no", ""));
	expect(d, "OPERATION_UNKNOWN", "no 'agent_id' was provided");
	reconcile(ASKED("no", OF_AGENT("X")));
	expect(d, "OPERATION_UNKNOWN", "Both operation and agent are unknown");
}

/* What resource providers there were the agent knows better. */
Test(master_operations_feedback, agents_are_asked_for_providers)
{
	reconcile(ASKED("no", OF_AGENT("M-S0") ",\"resource_provider_id\":{\"value\":\"p\"}"));
	refute(d, "UPDATE_OPERATION_STATUS");
	expect(d, "ReconcileOperationsMessage", "\"operation_id\":{\"value\":\"no\"}",
	       "\"framework_id\":{\"value\":\"M-0000\"}");
	driver_message(d, AGENT1, &mesos__internal__update_operation_status_message__descriptor,
		       "{\"framework_id\":{\"value\":\"M-0000\"},\"agent_id\":{\"value\":\"M-S0\"},"
		       "\"status\":{\"operation_id\":{\"value\":\"no\"},"
		       "\"state\":\"OPERATION_UNREACHABLE\"}}");
	expect(d, "UPDATE_OPERATION_STATUS", "\"value\":\"no\"", "OPERATION_UNREACHABLE");
}

/* ---- UpdateSlaveMessage ------------------------------------------------------------------ */

#define REPORTED(framework, id, uuid, state)                                                       \
	"{" framework "\"agent_id\":{\"value\":\"M-S0\"},\"info\":" RESERVE(                       \
		id, CPU) ","                                                                       \
			 "\"latest_status\":{\"state\":\"" state "\"},\"uuid\":{\"value\":\"" uuid \
			 "\"}}"
#define OF_FRAMEWORK "\"framework_id\":{\"value\":\"M-0000\"},"

Test(master_operations_feedback, the_agent_is_asked_for_what_it_does_not_report)
{
	reserve(RESERVE(OPERATION_ID("op"), CPU));
	report("");
	expect(d, "ReconcileOperationsMessage", uuid_of(only()));
	/* It never got it. */
	update(uuid_of(only()), "OPERATION_DROPPED", NULL, "");
	expect(d, "UPDATE_OPERATION_STATUS", "\"value\":\"op\"", "OPERATION_DROPPED");
	report("");
	refute(d, "ReconcileOperationsMessage");
}

Test(master_operations_feedback, the_master_learns_what_it_does_not_know)
{
	report(REPORTED(OF_FRAMEWORK, OPERATION_ID("op"), STATUS2, "OPERATION_PENDING"));
	refute(d, "ReconcileOperationsMessage");
	reconcile("");
	expect(d, "UPDATE_OPERATION_STATUS", "\"value\":\"op\"", "OPERATION_PENDING");
	update(STATUS2, "OPERATION_FINISHED", STATUS1, "");
	expect(d, "UPDATE_OPERATION_STATUS", STATUS1, "\"value\":\"op\"");
	report(REPORTED("", "", "AAAA", "OPERATION_PENDING"));
	cr_expect_eq(HASH_COUNT(d->m->agents->operations), 1);
}

/* It was acknowledged while the report was on its way: it is not taken in again. */
Test(master_operations_feedback, reports_of_what_is_over_are_acknowledged)
{
	report("{" OF_FRAMEWORK "\"agent_id\":{\"value\":\"M-S0\"},\"info\":" RESERVE(
		"", CPU) ",\"latest_status\":{\"state\":\"OPERATION_FINISHED\","
			 "\"uuid\":{\"value\":\"" STATUS1 "\"}},"
			 "\"uuid\":{\"value\":\"" STATUS2 "\"}}");
	expect(d, "AcknowledgeOperationStatusMessage", STATUS1, STATUS2);
	cr_expect_null(d->m->agents->operations);
}

/* The same with a name: its framework may still wait for it, so the agent is asked. */
Test(master_operations_feedback, what_is_over_when_reported_is_asked_for)
{
	report(REPORTED(OF_FRAMEWORK, OPERATION_ID("op"), STATUS2, "OPERATION_FINISHED"));
	expect(d, "ReconcileOperationsMessage", STATUS2);
	cr_expect_eq(HASH_COUNT(d->m->agents->operations), 1);
	/* The agent has forgotten it: it was acknowledged. Nobody hears that. */
	update(STATUS2, "OPERATION_DROPPED", NULL, "");
	refute(d, "UPDATE_OPERATION_STATUS");
	cr_expect_null(d->m->agents->operations);
}

/* An operation of a framework that is not here waits for it, for ten minutes. */
Test(master_operations_feedback, strays)
{
	report(REPORTED("\"framework_id\":{\"value\":\"F\"},", OPERATION_ID("op"), STATUS2,
			"OPERATION_PENDING"));
	update(STATUS2, "OPERATION_FINISHED", STATUS1, "");
	refute(d, "AcknowledgeOperationStatusMessage");
	driver_subscribe(d, "F", ROLE_R);
	update(STATUS2, "OPERATION_FINISHED", STATUS1, "");
	expect(d, "UPDATE_OPERATION_STATUS", STATUS1);
	report(REPORTED("\"framework_id\":{\"value\":\"G\"},", OPERATION_ID("op"), STATUS2,
			"OPERATION_PENDING"));
}

Test(master_operations_feedback, strays_end_at_last)
{
	report(REPORTED("\"framework_id\":{\"value\":\"F\"},", OPERATION_ID("op"), STATUS2,
			"OPERATION_PENDING"));
	driver_pass(d, 10 * MINUTE);
	update(STATUS2, "OPERATION_FINISHED", STATUS1, "");
	expect(d, "AcknowledgeOperationStatusMessage", STATUS1);
	cr_expect_null(d->m->agents->operations);
}

/* ---- agents that go ------------------------------------------------------------------------ */

Test(master_operations_feedback, unreachable_agents)
{
	reserve(RESERVE(OPERATION_ID("op"), CPU));
	d->agent_silent = true;
	driver_pass(d, 2 * MINUTE);
	expect(d, "UPDATE_OPERATION_STATUS", "\"value\":\"op\"", "OPERATION_UNREACHABLE",
	       "Agent was marked unreachable", "\"agent_id\":{\"value\":\"M-S0\"}");
	reconcile(ASKED("op", OF_AGENT("M-S0")));
	expect(d, "OPERATION_UNREACHABLE", "Reconciliation: Agent is unreachable");
	cr_expect_eq(states(MESOS__OPERATION_STATE__OPERATION_UNREACHABLE), 1);
	cr_expect_eq(states(MESOS__OPERATION_STATE__OPERATION_PENDING), 0);
}

Test(master_operations_feedback, gone_agents)
{
	reserve(RESERVE(OPERATION_ID("op"), CPU));
	driver_operate(d, "{\"type\":\"MARK_AGENT_GONE\",\"mark_agent_gone\":{\"agent_id\":{"
			  "\"value\":\"M-S0\"}}}");
	expect(d, "UPDATE_OPERATION_STATUS", "\"value\":\"op\"", "OPERATION_GONE_BY_OPERATOR",
	       "Agent has been marked gone");
	reconcile(ASKED("op", OF_AGENT("M-S0")));
	expect(d, "OPERATION_GONE_BY_OPERATOR", "Reconciliation: Agent marked gone by operator");
}

/* ---- restarts ------------------------------------------------------------------------------- */

Test(master_operations_feedback, a_restarted_master)
{
	reserve(RESERVE(OPERATION_ID("op"), CPU));
	driver_restart(d, "M2");
	stream = driver_subscribe(d, "M-0000", FAILOVER);
	reconcile(ASKED("op", OF_AGENT("M-S0")));
	expect(d, "OPERATION_RECOVERING",
	       "Reconciliation: Agent is recovered but has not re-registered");
	reregister(VERSION, CPU);
	report(REPORTED(OF_FRAMEWORK, OPERATION_ID("op"), STATUS2, "OPERATION_FINISHED"));
	reconcile(ASKED("op", OF_AGENT("M-S0")));
	expect(d, "UPDATE_OPERATION_STATUS", "\"value\":\"op\"", "OPERATION_FINISHED");
	update(STATUS2, "OPERATION_FINISHED", STATUS1, "");
	acknowledge("op", STATUS1);
	expect(d, "AcknowledgeOperationStatusMessage", STATUS1, STATUS2);
}

/* ---- oversubscription -------------------------------------------------------------------- */

static void oversubscribe(const char *list)
{
	driver_forget(d);
	driver_message(
		d, AGENT1, &mesos__internal__update_slave_message__descriptor,
		"{\"agent_id\":{\"value\":\"M-S0\"}," VERSION
		",\"oversubscribed_resources\":[%s],\"update_oversubscribed_resources\":true}",
		list);
}

Test(master_operations_feedback, oversubscribed_resources_replace_the_old)
{
	char *offer;

	driver_subscribe(d, NULL,
			 "\"roles\":[\"s\"],\"capabilities\":[{\"type\":\"MULTI_ROLE\"},"
			 "{\"type\":\"REVOCABLE_RESOURCES\"}]");
	oversubscribe(SCALAR("cpus", 2, ",\"revocable\":{}"));
	driver_pass(d, 2 * SECOND);
	expect(d, "OFFERS", "\"revocable\":{}", "\"value\":2.0");
	offer = xstrdup(driver_offer(d));
	oversubscribe(SCALAR("cpus", 3, ",\"revocable\":{}"));
	expect(d, "RESCIND", offer);
	driver_pass(d, 2 * SECOND);
	expect(d, "OFFERS", "\"revocable\":{}", "\"value\":3.0");
	oversubscribe("");
	driver_pass(d, 2 * SECOND);
	refute(d, "OFFERS");
	free(offer);
}

/* The latest of them is the one that is meant, and its end leaves the other one alone. */
Test(master_operations_feedback, two_with_the_same_id)
{
	struct operation *first, *second;

	reserve(RESERVE(OPERATION_ID("same"), CPU));
	first = only();
	driver_pass(d, 6 * SECOND);
	accept_offer(d, stream, "M-0000", driver_offer(d), 0, RESERVE(OPERATION_ID("same"), CPU));
	cr_assert_eq(HASH_COUNT(d->m->agents->operations), 2);
	second = d->m->agents->operations == first ? first->hh.next : d->m->agents->operations;
	cr_expect_eq(framework_find_operation(master_find_framework(d->m, "M-0000"), "same"),
		     second);
	update(uuid_of(second), "OPERATION_FINISHED", STATUS1, "");
	acknowledge("same", STATUS1);
	cr_expect_eq(only(), first);
}
