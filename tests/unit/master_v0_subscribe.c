/* Registration of v0 drivers: who gets which answer, who speaks for a framework then, and
 * what becomes of it when the link breaks. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/master_v0.h"

static struct driver *d;

static void set_up(void)
{
	d = driver_create();
}

static void tear_down(void)
{
	driver_destroy(d);
}

TestSuite(master_v0_subscribe, .init = set_up, .fini = tear_down);

static struct framework *framework(const char *id)
{
	return master_find_framework(d->m, id);
}

Test(master_v0_subscribe, a_new_one_is_linked_and_welcomed)
{
	const char *link, *welcome;

	driver_agent(d, AGENT1);
	driver_forget(d);
	v0_subscribe(d, P1, NULL, false, NULL);
	expect(d, "master -> " P1 " FrameworkRegisteredMessage", "M-0000",
	       "\"pid\":\"master@127.0.0.1:5050\"", "QUOTA_V2");
	expect(d, "master -> " P1 " ResourceOffersMessage", "M-O0", "\"pids\":[\"" AGENT1 "\"]");
	refute(d, "UpdateFrameworkMessage");
	link = strstr(d->trace.data, "link " P1);
	welcome = strstr(d->trace.data, "FrameworkRegisteredMessage");
	cr_expect(link && link < welcome);
	cr_expect_str_eq(framework("M-0000")->pid, P1);
	driver_forget(d);
	driver_pass(d, MINUTE);
	refute(d, P1);
}

Test(master_v0_subscribe, a_retry_is_answered_again)
{
	v0_subscribe(d, P1, NULL, false, NULL);
	driver_forget(d);
	v0_subscribe(d, P1, NULL, false, NULL);
	expect(d, P1 " FrameworkRegisteredMessage", "M-0000");
	cr_expect_eq(HASH_COUNT(d->m->frameworks), 1);
	refute(d, "link");
}

/* What the master knows of M-0000 when it subscribes. */
enum before { CONNECTED, DISCONNECTED, BY_HTTP, HTTP_GONE, RECOVERED, UNKNOWN };

static void prepare(enum before before)
{
	static const char members[] = "\"failover_timeout\":60";

	driver_agent(d, AGENT1);
	if (before == UNKNOWN)
		return;
	if (before == BY_HTTP || before == HTTP_GONE)
		driver_subscribe(d, NULL, members);
	else
		v0_subscribe(d, P1, NULL, false, members);
	if (before == DISCONNECTED)
		driver_exited(d, P1);
	if (before == HTTP_GONE)
		driver_close(d, 1);
	if (before == RECOVERED) {
		driver_restart(d, "M2");
		driver_reregister(d, AGENT1, "M-S0", NULL);
	}
}

static const struct {
	enum before before;
	bool same_pid, force;
	const char *answer; /* to whom subscribes */
	const char *other;  /* to whom was there before; NULL = nothing */
	bool rescinds;
} outcomes[] = {
	{CONNECTED, true, false, "FrameworkReregisteredMessage", NULL, true},
	{CONNECTED, true, true, "FrameworkRegisteredMessage", NULL, false},
	{CONNECTED, false, false, "FrameworkErrorMessage {\"message\":\"Framework failed over\"}",
	 NULL, false},
	{CONNECTED, false, true, "FrameworkRegisteredMessage",
	 P1 " FrameworkErrorMessage {\"message\":\"Framework failed over\"}", false},
	{DISCONNECTED, true, false, "FrameworkReregisteredMessage", NULL, false},
	{DISCONNECTED, true, true, "FrameworkRegisteredMessage", NULL, false},
	{DISCONNECTED, false, false,
	 "FrameworkErrorMessage {\"message\":\"Framework failed over\"}", NULL, false},
	{DISCONNECTED, false, true, "FrameworkRegisteredMessage", NULL, false},
	{BY_HTTP, false, false, "FrameworkErrorMessage {\"message\":\"Framework failed over\"}",
	 NULL, false},
	{BY_HTTP, false, true, "FrameworkRegisteredMessage", "event 1 ERROR", false},
	{HTTP_GONE, false, true, "FrameworkRegisteredMessage", NULL, false},
	{RECOVERED, false, false, "FrameworkRegisteredMessage", NULL, false},
	{RECOVERED, true, true, "FrameworkRegisteredMessage", NULL, false},
	{UNKNOWN, false, false, "FrameworkRegisteredMessage", NULL, false},
};

static void check_outcome(size_t i)
{
	const char *pid = outcomes[i].same_pid ? P1 : P2;
	bool refused = strstr(outcomes[i].answer, "Error");
	char *answer = xprintf("master -> %s %s", pid, outcomes[i].answer);

	prepare(outcomes[i].before);
	driver_forget(d);
	v0_subscribe(d, pid, "M-0000", outcomes[i].force, "\"failover_timeout\":60");
	cr_expect(driver_saw(d, answer, NULL), "row %zu: no %s in\n%s", i, answer,
		  d->trace.data ? d->trace.data : "");
	if (outcomes[i].other)
		cr_expect(driver_saw(d, outcomes[i].other, NULL), "row %zu\n%s", i, d->trace.data);
	else
		cr_expect_eq(driver_count(d, "failed over"), refused, "row %zu\n%s", i,
			     d->trace.data);
	cr_expect_eq(driver_count(d, "RescindResourceOfferMessage"), outcomes[i].rescinds,
		     "row %zu", i);
	cr_expect_eq(driver_count(d, AGENT1 " UpdateFrameworkMessage"), !refused, "row %zu", i);
	if (!refused) {
		cr_expect_str_eq(framework("M-0000")->pid, pid);
		cr_expect_eq(framework("M-0000")->state, FRAMEWORK_CONNECTED);
		cr_expect(driver_saw(d, "link ", pid, NULL), "row %zu", i);
	}
	driver_pass(d, 2 * MINUTE);
	cr_expect_eq(framework("M-0000") != NULL, !refused || outcomes[i].before != DISCONNECTED,
		     "row %zu", i);
	free(answer);
}

Test(master_v0_subscribe, each_case_has_its_outcome)
{
	for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++) {
		driver_destroy(d);
		d = driver_create();
		check_outcome(i);
	}
}

#define INFO(more) "{\"user\":\"u\",\"name\":\"n\"" more "}"
#define WITH_ID ",\"id\":{\"value\":\"M-0000\"}"

static const struct {
	const ProtobufCMessageDescriptor *type;
	const char *message;
	const char *error; /* NULL: nothing is said */
} refusals[] = {
	{&mesos__internal__register_framework_message__descriptor,
	 "{\"framework\":" INFO(WITH_ID) "}", "Registering with 'id' already set"},
	{&mesos__internal__reregister_framework_message__descriptor,
	 "{\"framework\":" INFO("") ",\"failover\":false}", "Re-registering without an 'id'"},
	{&mesos__internal__register_framework_message__descriptor,
	 "{\"framework\":" INFO(",\"role\":\"a b\"") "}",
	 "'FrameworkInfo.role' is not a valid role"},
	{&mesos__internal__register_framework_message__descriptor,
	 "{\"framework\":" INFO(",\"failover_timeout\":1e300") "}",
	 "The framework failover_timeout (1e+300) is invalid"},
	{&mesos__scheduler__call__descriptor,
	 "{\"type\":\"SUBSCRIBE\",\"subscribe\":{\"framework_info\":" INFO(
		 "") ",\"suppressed_roles\":[\"x\"]}}",
	 "Suppressed roles { x } are not contained in the set of roles"},
	{&mesos__scheduler__call__descriptor,
	 "{\"type\":\"SUBSCRIBE\",\"subscribe\":{\"framework_info\":" INFO(WITH_ID) "}}", NULL},
	{&mesos__scheduler__call__descriptor, "{\"type\":\"SUBSCRIBE\"}", NULL},
	{&mesos__scheduler__call__descriptor, "{}", NULL},
	{&mesos__scheduler__call__descriptor, "{\"type\":\"REVIVE\"}", NULL},
};

Test(master_v0_subscribe, refusals_name_the_reason)
{
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		driver_forget(d);
		driver_message(d, P1, refusals[i].type, "%s", refusals[i].message);
		if (refusals[i].error)
			expect(d, P1 " FrameworkErrorMessage", refusals[i].error);
		else
			refute(d, P1);
		refute(d, "link");
		cr_expect_eq(HASH_COUNT(d->m->frameworks), 0, "row %zu", i);
	}
}

Test(master_v0_subscribe, the_principal_stays)
{
	v0_subscribe(d, P1, NULL, false, "\"principal\":\"a\",\"failover_timeout\":60");
	v0_subscribe(d, P2, "M-0000", true, "\"principal\":\"b\"");
	expect(d, P2 " FrameworkErrorMessage", "Changing framework's principal is not allowed.");
	cr_expect_str_eq(framework("M-0000")->pid, P1);
}

Test(master_v0_subscribe, what_cannot_be_reached_is_not_registered)
{
	static const char *const pids[] = {
		"@0.0.0.0:0",
		"s@0.0.0.0:5",
		"s@127.0.0.1:0",
		"@127.0.0.1:5",
		"s@host:5",
		"nonsense",
		"",
	};

	for (size_t i = 0; i < sizeof(pids) / sizeof(pids[0]); i++) {
		v0_subscribe(d, pids[i], NULL, false, NULL);
		v0_send(d, pids[i], register_framework, "{\"framework\":" INFO("") "}");
	}
	cr_expect_eq(HASH_COUNT(d->m->frameworks), 0);
	refute(d, "FrameworkRegisteredMessage");
}

Test(master_v0_subscribe, a_pid_speaks_for_one_framework)
{
	v0_subscribe(d, P1, NULL, false, NULL);
	driver_forget(d);
	v0_subscribe(d, P1, "other", true, NULL);
	refute(d, P1);
	cr_expect_null(framework("other"));
	cr_expect(framework_connected(framework("M-0000")));
}

Test(master_v0_subscribe, a_pid_used_again_is_a_new_framework)
{
	v0_subscribe(d, P1, NULL, false, "\"failover_timeout\":60");
	driver_exited(d, P1);
	driver_forget(d);
	v0_subscribe(d, P1, NULL, false, NULL);
	expect(d, P1 " FrameworkRegisteredMessage", "M-0001");
	cr_expect_eq(framework("M-0000")->state, FRAMEWORK_DISCONNECTED);
	driver_pass(d, 2 * MINUTE);
	cr_expect_null(framework("M-0000"));
	cr_expect(framework_connected(framework("M-0001")));
}

Test(master_v0_subscribe, messages_of_old_do_the_same)
{
	v0_send(d, P1, register_framework, "{\"framework\":" INFO(",\"failover_timeout\":60") "}");
	expect(d, P1 " FrameworkRegisteredMessage", "M-0000");
	driver_forget(d);
	v0_send(d, P2, reregister_framework,
		"{\"failover\":false,\"framework\":" INFO(WITH_ID) "}");
	expect(d, P2 " FrameworkErrorMessage", "Framework failed over");
	v0_send(d, P1, reregister_framework,
		"{\"failover\":false,\"framework\":" INFO(WITH_ID) "}");
	expect(d, P1 " FrameworkReregisteredMessage", "M-0000");
	driver_forget(d);
	v0_send(d, P2, reregister_framework, "{\"failover\":true,\"framework\":" INFO(WITH_ID) "}");
	expect(d, P1 " FrameworkErrorMessage", "Framework failed over");
	expect(d, P2 " FrameworkRegisteredMessage", "M-0000");
	expect(d, "unlink " P1);
}

/* ---- the end of the link -------------------------------------------------------------------- */

Test(master_v0_subscribe, a_broken_link_disconnects)
{
	driver_agent(d, AGENT1);
	v0_subscribe(d, P1, NULL, false, "\"failover_timeout\":60");
	driver_forget(d);
	driver_exited(d, P1);
	expect(d, P1 " FrameworkErrorMessage {\"message\":\"Framework disconnected\"}");
	cr_expect_eq(HASH_COUNT(d->m->offers), 0);
	driver_pass(d, 10 * SECOND);
	cr_expect_eq(framework("M-0000")->state, FRAMEWORK_DISCONNECTED);
	driver_forget(d);
	v0_call(d, P1, "{\"type\":\"REVIVE\"," FID "}");
	expect(d, P1 " FrameworkErrorMessage {\"message\":\"Framework disconnected\"}");
	driver_pass(d, 2 * MINUTE);
	cr_expect_null(framework("M-0000"));
	v0_subscribe(d, P1, "M-0000", false, NULL);
	expect(d, P1 " FrameworkErrorMessage", "Framework has been removed");
}

Test(master_v0_subscribe, without_failover_timeout_it_is_the_end)
{
	v0_subscribe(d, P1, NULL, false, NULL);
	driver_exited(d, P1);
	cr_expect_null(framework("M-0000"));
	driver_exited(d, P1);
	driver_exited(d, "nobody@127.0.0.1:1");
}

Test(master_v0_subscribe, the_link_of_before_says_nothing)
{
	v0_subscribe(d, P1, NULL, false, NULL);
	v0_subscribe(d, P2, "M-0000", true, NULL);
	expect(d, "unlink " P1);
	driver_exited(d, P1);
	cr_expect(framework_connected(framework("M-0000")));
}

/* Whoever says to be at an agent's pid takes nothing from the agent. */
Test(master_v0_subscribe, the_link_of_an_agent_stays_the_agents)
{
	struct agent *a;

	driver_agent(d, AGENT1);
	a = d->m->agents;
	v0_subscribe(d, AGENT1, NULL, false, NULL);
	driver_forget(d);
	v0_call(d, AGENT1, "{\"type\":\"TEARDOWN\"," FID "}");
	cr_expect_null(framework("M-0000"));
	refute(d, "unlink");
	v0_subscribe(d, AGENT1, NULL, false, NULL);
	cr_assert(agent_connected(a));
	driver_exited(d, AGENT1);
	cr_expect_not(agent_connected(a));
	cr_expect_null(framework("M-0001"));
}

/* And the other way round. */
Test(master_v0_subscribe, the_link_of_a_driver_stays_the_drivers)
{
	v0_subscribe(d, AGENT1, NULL, false, NULL);
	driver_agent(d, AGENT1);
	driver_forget(d);
	v0_send(d, AGENT1, unregister_slave, "{\"agent_id\":{\"value\":\"M-S0\"}}");
	cr_expect_null(d->m->agents);
	refute(d, "unlink");
}

/* ---- the ways it is spoken to -----------------------------------------------------------------
 */

Test(master_v0_subscribe, to_http_and_back)
{
	driver_agent(d, AGENT1);
	v0_subscribe(d, P1, NULL, false, "\"failover_timeout\":60");
	driver_subscribe(d, "M-0000", "\"failover_timeout\":60");
	expect(d, P1 " FrameworkErrorMessage", "Framework failed over");
	expect(d, "unlink " P1);
	expect(d, "event 1 SUBSCRIBED", "M-0000");
	expect(d, "UpdateFrameworkMessage", "\"pid\":\"@0.0.0.0:0\"");
	cr_expect_null(framework("M-0000")->pid);
	driver_forget(d);
	v0_call(d, P1, "{\"type\":\"TEARDOWN\"," FID "}");
	cr_expect(framework_connected(framework("M-0000")));
	driver_exited(d, P1);
	cr_expect(framework_connected(framework("M-0000")));
	v0_subscribe(d, P2, "M-0000", true, "\"failover_timeout\":60");
	expect(d, "event 1 ERROR", "Framework failed over");
	expect(d, "end 1");
	expect(d, "UpdateFrameworkMessage", "\"pid\":\"" P2 "\"");
	driver_forget(d);
	cr_expect_eq(driver_call(d, 1, "{\"type\":\"REVIVE\"," FID "}"), 403);
	cr_expect_str_eq(d->out.reply.text, "Framework is not connected via HTTP");
	driver_close(d, 1);
	driver_pass(d, MINUTE);
	refute(d, "HEARTBEAT");
	cr_expect(framework_connected(framework("M-0000")));
}

Test(master_v0_subscribe, it_hears_us_from_where_it_reached_us)
{
	driver_agent(d, AGENT1);
	driver_forget(d);
	d->local = "192.168.7.1:5050";
	v0_subscribe(d, P1, NULL, false, "\"failover_timeout\":60");
	expect(d, "master@192.168.7.1:5050 -> " P1 " FrameworkRegisteredMessage");
	expect(d, "master@192.168.7.1:5050 -> " P1 " ResourceOffersMessage");
	v0_send(d, P2, register_framework, "{\"framework\":" INFO(WITH_ID) "}");
	expect(d, "master@192.168.7.1:5050 -> " P2 " FrameworkErrorMessage");
	d->local = NULL;
	driver_forget(d);
	v0_subscribe(d, P1, "M-0000", false, "\"failover_timeout\":60");
	expect(d, "master -> " P1 " FrameworkReregisteredMessage");
}

Test(master_v0_subscribe, after_a_restart_its_tasks_are_known)
{
	driver_agent(d, AGENT1);
	v0_subscribe(d, P1, NULL, false, "\"failover_timeout\":60");
	v0_launch(d, P1, "M-O0", "t");
	expect(d, AGENT1 " RunTaskMessage", "\"pid\":\"" P1 "\"");
	driver_restart(d, "M2");
	driver_forget(d);
	v0_call(d, P1, "{\"type\":\"REVIVE\"," FID "}");
	refute(d, P1);
	v0_subscribe(d, P1, "M-0000", false, "\"failover_timeout\":60");
	expect(d, P1 " FrameworkRegisteredMessage", "M-0000", "\"id\":\"M2\"");
	cr_expect(framework_find_task(framework("M-0000"), "t"));
}
