/* Subscribing, failing over, disconnecting, teardown. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "master/core/frameworks/subscribe.h"
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

TestSuite(master_subscribe, .init = set_up, .fini = tear_down);

Test(master_subscribe, new_framework_hears_subscribed_then_heartbeat)
{
	uint64_t s = driver_subscribe(d, NULL, NULL);
	const char *trace = d->trace.data;

	cr_expect_eq(s, 1);
	expect(d, "event 1 SUBSCRIBED", "\"framework_id\":{\"value\":\"M-0000\"}",
	       "\"heartbeat_interval_seconds\":15.0", "\"pid\":\"master@127.0.0.1:5050\"",
	       "\"ip\":16777343", "\"capabilities\":[{\"type\":\"AGENT_UPDATE\"}]");
	expect(d, "event 1 HEARTBEAT {\"type\":\"HEARTBEAT\"}");
	cr_expect(strstr(trace, "SUBSCRIBED") < strstr(trace, "HEARTBEAT"));
}

Test(master_subscribe, heartbeats_every_fifteen_seconds)
{
	driver_subscribe(d, NULL, NULL);
	driver_forget(d);
	driver_pass(d, 14 * SECOND);
	refute(d, "HEARTBEAT");
	driver_pass(d, 46 * SECOND);
	cr_expect_eq(driver_count(d, "HEARTBEAT"), 4);
}

static const struct {
	const char *members, *error;
} refusals[] = {
	{"\"roles\":[\"a\"]", "'FrameworkInfo.roles' must not be set when the framework is not "
			      "MULTI_ROLE capable"},
	{"\"role\":\"a\",\"capabilities\":[{\"type\":\"MULTI_ROLE\"}]",
	 "'FrameworkInfo.role' must not be set when the framework is MULTI_ROLE capable"},
	{"\"roles\":[\"a\",\"b\",\"a\"],\"capabilities\":[{\"type\":\"MULTI_ROLE\"}]",
	 "'FrameworkInfo.roles' contains duplicate items: { a }"},
	{"\"roles\":[\"a\",\"b/..\"],\"capabilities\":[{\"type\":\"MULTI_ROLE\"}]",
	 "'FrameworkInfo.roles' contains invalid role: "},
	{"\"role\":\"a b\"", "'FrameworkInfo.role' is not a valid role: "},
	{"\"role\":\"\"", "'FrameworkInfo.role' is not a valid role: "},
	{"\"failover_timeout\":1e300", "The framework failover_timeout (1e+300) is invalid"},
	{"\"failover_timeout\":-1e10", "The framework failover_timeout"},
	{"\"offer_filters\":{\"*\":{\"min_allocatable_resources\":{\"quantities\":[{}]}}}",
	 "Resource quantities must contain at least one quantity"},
	{"\"offer_filters\":{\"*\":{\"min_allocatable_resources\":{\"quantities\":"
	 "[{\"quantities\":{\"cpus\":{\"value\":-1}}}]}}}",
	 "Invalid resource quantity for 'cpus': Negative values not supported"},
};

Test(master_subscribe, bad_infos_are_refused_by_an_event)
{
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		driver_forget(d);
		driver_subscribe(d, NULL, refusals[i].members);
		expect(d, "ERROR", refusals[i].error);
		expect(d, "end ");
		refute(d, "SUBSCRIBED");
	}
}

Test(master_subscribe, bad_ids_are_refused)
{
	driver_subscribe(d, "a/b", NULL);
	expect(d, "ERROR", "'a/b' contains invalid characters");
	driver_subscribe(d, "..", NULL);
	expect(d, "ERROR", "'..' is disallowed");
	driver_forget(d);
	driver_subscribe(d, "a b", NULL);
	expect(d, "SUBSCRIBED", "\"value\":\"a b\"");
}

/* Some libraries say an id that is empty for none. */
Test(master_subscribe, an_empty_id_is_none)
{
	driver_subscribe(d, "", NULL);
	expect(d, "event 1 SUBSCRIBED", "\"framework_id\":{\"value\":\"M-0000\"}");
	cr_expect_eq(d->m->counters.messages_register_framework, 1);
	cr_expect_eq(d->m->counters.messages_reregister_framework, 0);
}

#define ROLES_MOST 5000

static char *roles_of(int count)
{
	struct buf text = BUF_INIT;

	buf_puts(&text, "\"capabilities\":[{\"type\":\"MULTI_ROLE\"}],\"roles\":[\"r0\"");
	for (int i = 1; i < count; i++)
		buf_printf(&text, ",\"r%d\"", i);
	buf_puts(&text, "]");
	return text.data;
}

Test(master_subscribe, roles_are_bounded)
{
	char *most = roles_of(ROLES_MOST), *more = roles_of(ROLES_MOST + 1);

	driver_subscribe(d, NULL, more);
	expect(d, "ERROR", "'FrameworkInfo.roles' has more than 5000 roles");
	driver_forget(d);
	driver_subscribe(d, NULL, most);
	expect(d, "SUBSCRIBED");
	free(most);
	free(more);
}

/* Of SUBSCRIBE, with these members beside `framework_info`. */
static void subscribe_with(const char *members)
{
	driver_forget(d);
	driver_call(d, 0,
		    "{\"type\":\"SUBSCRIBE\",\"subscribe\":{\"framework_info\":{\"user\":\"u\","
		    "\"name\":\"n\",\"roles\":[\"a\",\"b\"],\"capabilities\":["
		    "{\"type\":\"MULTI_ROLE\"}]},%s}}",
		    members);
}

Test(master_subscribe, constraints_are_of_roles_that_it_has)
{
	static const char of[] = "\"offer_constraints\":{\"role_constraints\":{\"%s\":{\"groups\":["
				 "{\"attribute_constraints\":[{\"selector\":{\"attribute_name\":"
				 "\"x\"},\"predicate\":{\"exists\":{}}}]}]}}}";
	static const char *const roles[] = {"c", "aa", ""};
	char text[512];

	for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++) {
		snprintf(text, sizeof(text), of, roles[i]);
		subscribe_with(text);
		snprintf(
			text, sizeof(text),
			"Offer constraints specify `role_constraints` for a role '%s'not contained "
			"in the set of roles",
			roles[i]);
		expect(d, "ERROR", text);
	}
	snprintf(text, sizeof(text), of, "b");
	subscribe_with(text);
	expect(d, "SUBSCRIBED");
}

Test(master_subscribe, older_stream_hears_failed_over)
{
	driver_subscribe(d, NULL, "\"failover_timeout\":60");
	driver_agent(d, AGENT1);
	driver_forget(d);
	driver_subscribe(d, "M-0000", "\"failover_timeout\":60");
	expect(d, "event 1 ERROR", "Framework failed over");
	expect(d, "end 1");
	expect(d, "event 2 SUBSCRIBED", "M-0000");
	expect(d, "master -> " AGENT1, "UpdateFrameworkMessage", "\"pid\":\"@0.0.0.0:0\"");
	refute(d, "RESCIND");
	/* The offers were discarded; they come anew. */
	driver_pass(d, SECOND);
	expect(d, "event 2 OFFERS");
	/* The end of the old stream means nothing. */
	driver_close(d, 1);
	cr_expect(framework_connected(master_find_framework(d->m, "M-0000")));
}

Test(master_subscribe, user_and_checkpoint_stay)
{
	struct framework *f;

	driver_subscribe(d, NULL, "\"failover_timeout\":60,\"checkpoint\":true");
	driver_subscribe(d, "M-0000", "\"checkpoint\":false,\"hostname\":\"h\"");
	f = master_find_framework(d->m, "M-0000");
	cr_expect(f->info->checkpoint);
	cr_expect_str_eq(f->info->hostname, "h");
}

Test(master_subscribe, principal_is_fixed)
{
	driver_subscribe(d, NULL, "\"failover_timeout\":60,\"principal\":\"one\"");
	driver_forget(d);
	driver_subscribe(d, "M-0000", "\"principal\":\"two\"");
	expect(d, "ERROR", "Changing framework's principal is not allowed.");
	cr_expect(framework_connected(master_find_framework(d->m, "M-0000")));
}

Test(master_subscribe, disconnected_frameworks_wait_for_their_timeout)
{
	driver_agent(d, AGENT1);
	driver_subscribe(d, NULL, "\"failover_timeout\":2.5");
	driver_close(d, 1);
	cr_expect_eq(HASH_COUNT(d->m->offers), 0);
	driver_forget(d);
	driver_pass(d, 2 * SECOND);
	cr_expect(master_find_framework(d->m, "M-0000"));
	driver_pass(d, SECOND);
	cr_expect_not(master_find_framework(d->m, "M-0000"));
	cr_expect(master_find_completed(d->m, "M-0000"));
	expect(d, "master -> " AGENT1, "ShutdownFrameworkMessage", "M-0000");
	driver_forget(d);
	driver_subscribe(d, "M-0000", NULL);
	expect(d, "ERROR", "Framework has been removed");
}

Test(master_subscribe, back_in_time_stops_the_timeout)
{
	driver_subscribe(d, NULL, "\"failover_timeout\":2");
	driver_close(d, 1);
	driver_pass(d, SECOND);
	driver_subscribe(d, "M-0000", "\"failover_timeout\":2");
	driver_pass(d, 10 * SECOND);
	cr_expect(framework_connected(master_find_framework(d->m, "M-0000")));
}

Test(master_subscribe, it_keeps_the_time_of_its_first_subscription)
{
	int64_t first = d->now;
	struct framework *f;

	driver_subscribe(d, NULL, "\"failover_timeout\":60");
	f = master_find_framework(d->m, "M-0000");
	cr_expect_eq(f->registered_time, first);
	driver_close(d, 1);
	driver_pass(d, SECOND);
	driver_subscribe(d, "M-0000", "\"failover_timeout\":60");
	cr_expect_eq(f->registered_time, first);
	cr_expect_eq(f->reregistered_time, first + SECOND);
}

Test(master_subscribe, without_failover_timeout_it_is_removed_at_once)
{
	driver_subscribe(d, NULL, NULL);
	driver_close(d, 1);
	cr_expect(master_find_completed(d->m, "M-0000"));
}

Test(master_subscribe, completed_frameworks_are_evicted_oldest_first)
{
	driver_destroy(d);
	d = driver_prepare();
	d->options.max_completed_frameworks = 2;
	driver_start(d);
	for (int i = 0; i < 4; i++)
		driver_close(d, driver_subscribe(d, NULL, NULL));
	cr_expect_eq(HASH_COUNT(d->m->completed), 2);
	cr_expect_not(master_find_completed(d->m, "M-0001"));
	cr_expect(master_find_completed(d->m, "M-0002"));
}

Test(master_subscribe, teardown_ends_stream_and_tasks)
{
	struct framework *f;

	driver_agent(d, AGENT1);
	driver_subscribe(d, NULL, NULL);
	driver_launch(d, 1, "M-0000", "M-O0", "M-S0", "t", NULL);
	driver_forget(d);
	cr_expect_eq(driver_call(d, 1,
				 "{\"type\":\"TEARDOWN\",\"framework_id\":"
				 "{\"value\":\"M-0000\"}}"),
		     202);
	expect(d, "end 1");
	expect(d, "ShutdownFrameworkMessage");
	refute(d, " UPDATE {");
	f = master_find_completed(d->m, "M-0000");
	cr_assert(f);
	cr_expect_eq(f->completed_task_count, 1);
	cr_expect_eq(f->unregistered_time, d->now);
	cr_expect_eq(list_first(&f->completed_tasks, struct completed_task, link)->record.state,
		     MESOS__TASK_STATE__TASK_KILLED);
}

Test(master_subscribe, whitelist_and_root)
{
	driver_destroy(d);
	d = driver_prepare();
	d->options.roles = "a, b";
	d->options.root_submissions = false;
	driver_start(d);
	driver_subscribe(d, NULL, "\"role\":\"c\"");
	expect(d, "ERROR", "Roles { c } are not present in the master's --roles");
	driver_subscribe(d, NULL, "\"role\":\"b\",\"user\":\"root\"");
	expect(d, "ERROR",
	       "User 'root' is not allowed to run frameworks without "
	       "--root_submissions set");
	driver_subscribe(d, NULL, "\"role\":\"b\"");
	expect(d, "SUBSCRIBED");
}

Test(master_subscribe, suppressed_roles_must_be_subscribed)
{
	cr_expect_eq(driver_call(d, 0,
				 "{\"type\":\"SUBSCRIBE\",\"subscribe\":{\"framework_info\":{"
				 "\"user\":\"u\",\"name\":\"n\",\"role\":\"a\"},"
				 "\"suppressed_roles\":[\"b\"]}}"),
		     200);
	expect(d, "ERROR", "Suppressed roles { b } are not contained in the set of roles");
}

Test(master_subscribe, what_is_refused_is_named_as_a_set)
{
	driver_call(d, 0,
		    "{\"type\":\"SUBSCRIBE\",\"subscribe\":{\"framework_info\":{\"user\":\"u\","
		    "\"name\":\"n\"},\"suppressed_roles\":[\"z\",\"*\",\"y\",\"z\"]}}");
	expect(d, "ERROR", "Suppressed roles { y, z } are not contained in the set of roles");
	/* A refused one was asked for, too. */
	cr_expect_eq(d->m->counters.messages_register_framework, 1);
}

/* ---- frameworks that are over, and many agents ----------------------------------------------- */

static void many_agents(int count)
{
	driver_destroy(d);
	d = driver_prepare();
	d->options.part = 2;
	driver_start(d);
	for (int i = 1; i <= count; i++) {
		char pid[64];

		snprintf(pid, sizeof(pid), "slave(1)@127.0.0.1:50%02d", i);
		driver_agent(d, pid);
	}
}

static int told(void)
{
	return driver_count(d, " ShutdownFrameworkMessage ");
}

#define TOLD(port, framework)                                                                      \
	driver_saw(d, "slave(1)@127.0.0.1:" port " ShutdownFrameworkMessage", framework, NULL)

Test(master_subscribe, many_agents_are_told_of_the_end_in_parts)
{
	many_agents(5);
	driver_subscribe(d, NULL, NULL);
	driver_subscribe(d, NULL, NULL);
	driver_forget(d);
	driver_close(d, 1);
	cr_expect_eq(told(), 2);
	driver_close(d, 2);
	cr_expect_eq(told(), 2, "one after the other");
	driver_pass(d, MILLISECOND);
	cr_expect_eq(told(), 4);
	driver_pass(d, MILLISECOND);
	cr_expect_eq(told(), 6);
	driver_pass(d, 2 * MILLISECOND);
	cr_expect_eq(told(), 10);
	cr_expect(TOLD("5001", "M-0000") && TOLD("5005", "M-0000"));
	cr_expect(TOLD("5001", "M-0001") && TOLD("5005", "M-0001"));
	driver_pass(d, SECOND);
	cr_expect_eq(told(), 10);
}

Test(master_subscribe, agents_that_go_meanwhile_are_told_of_no_end)
{
	many_agents(5);
	driver_subscribe(d, NULL, NULL);
	driver_forget(d);
	driver_close(d, 1);
	/* The next one that would be told, and the last. */
	for (int i = 3; i <= 5; i += 2) {
		char pid[64], text[96];

		snprintf(pid, sizeof(pid), "slave(1)@127.0.0.1:50%02d", i);
		snprintf(text, sizeof(text), "{\"agent_id\":{\"value\":\"M-S%d\"}}", i - 1);
		driver_message(d, pid, &mesos__internal__unregister_slave_message__descriptor, "%s",
			       text);
	}
	driver_pass(d, 10 * MILLISECOND);
	cr_expect_eq(told(), 3);
	cr_expect(TOLD("5004", "M-0000"));
}

/* Nobody is left, and a master that ends in the middle of it. */
Test(master_subscribe, ends_that_nobody_is_told_of)
{
	many_agents(3);
	driver_subscribe(d, NULL, NULL);
	driver_subscribe(d, NULL, NULL);
	driver_close(d, 1);
	driver_forget(d);
	driver_message(d, "slave(1)@127.0.0.1:5003",
		       &mesos__internal__unregister_slave_message__descriptor,
		       "{\"agent_id\":{\"value\":\"M-S2\"}}");
	driver_pass(d, 10 * MILLISECOND);
	cr_expect_eq(told(), 0);
	driver_agent(d, "slave(1)@127.0.0.1:5004");
	driver_forget(d);
	driver_close(d, 2);
	cr_expect_eq(told(), 2, "of three");
}
