/* What those hear who watch the master: an event for each change, in order, and nothing else. */
#include <criterion/criterion.h>
#include <string.h>

#include "master/core/objects.h"
#include "tests/unit/master_v0.h"

static struct driver *d;

static void set_up(void)
{
	d = driver_create();
	master_watch(d->m, true);
}

static void tear_down(void)
{
	driver_destroy(d);
}

TestSuite(master_watch, .init = set_up, .fini = tear_down);

/* The types and users of the events since the last call, as "TASK_ADDED u t; ". */
static const char *heard(void)
{
	static char *text;
	struct buf out = BUF_INIT;

	buf_puts(&out, "");
	for (const char *at = d->trace.data; at && *at; at += strcspn(at, "\n") + 1) {
		const char *type = strstr(at, "\"type\":\"");
		size_t users = strcspn(at, "{");

		if (strncmp(at, "watch ", 6))
			continue;
		buf_printf(&out, "%.*s %.*s; ", (int)strcspn(type + 8, "\""), type + 8,
			   (int)(users - 7), at + 6);
	}
	free(text);
	text = xstrdup(out.data ? out.data : "");
	buf_free(&out);
	driver_forget(d);
	return text;
}

#define FRAMEWORK "\"user\":\"u\",\"failover_timeout\":100"
#define AS_T "!\"command\":{\"value\":\"x\",\"user\":\"t\"}"

Test(master_watch, the_life_of_a_task)
{
	driver_agent(d, AGENT1);
	expect(d,
	       "watch - - {\"type\":\"AGENT_ADDED\",\"agent_added\":{\"agent\":{\"agent_info\":{",
	       "\"active\":true,", "\"pid\":\"" AGENT1 "\",\"registered_time\":",
	       "\"total_resources\":[{\"name\":\"cpus\"");
	cr_expect_str_eq(heard(), "AGENT_ADDED - -; ");
	driver_subscribe(d, NULL, FRAMEWORK);
	expect(d, "\"active\":true,\"connected\":true,\"registered_time\":{",
	       "\"unregistered_time\":{\"nanoseconds\":0},\"recovered\":false}}}");
	cr_expect_str_eq(heard(), "FRAMEWORK_ADDED u -; ");
	driver_launch(d, 1, "M-0000", driver_offer(d), "M-S0", "t1", AS_T);
	expect(d, "watch u t {\"type\":\"TASK_ADDED\"", "\"state\":\"TASK_STAGING\"");
	driver_pass(d, 2 * SECOND);
	driver_forget(d);
	driver_launch(d, 1, "M-0000", driver_offer(d), "M-S0", "t2", NULL);
	cr_expect_str_eq(heard(), "TASK_ADDED u u; ", "a task is of its framework's user");
	driver_update(d, AGENT1, "M-S0", "M-0000", "t1", "TASK_RUNNING", 'r');
	expect(d,
	       "\"task_updated\":{\"framework_id\":{\"value\":\"M-0000\"},\"status\":{\"task_id\":"
	       "{\"value\":\"t1\"},\"state\":\"TASK_RUNNING\"",
	       "\"state\":\"TASK_RUNNING\"}}");
	cr_expect_str_eq(heard(), "TASK_UPDATED u t; ");
	driver_update(d, AGENT1, "M-S0", "M-0000", "t1", "TASK_RUNNING", 's');
	cr_expect_str_eq(heard(), "", "the state is the same");
	driver_update(d, AGENT1, "M-S0", "M-0000", "t1", "TASK_FINISHED", 'f');
	expect(d, "\"state\":\"TASK_FINISHED\"}}");
	cr_expect_str_eq(heard(), "TASK_UPDATED u t; ");
	driver_acknowledge(d, 1, "M-0000", "M-S0", "t1", 'f');
	cr_expect_str_eq(heard(), "");
}

/* The state of an event is its status', though the agent's is already another: the next event tells
 * of that. */
Test(master_watch, a_state_that_the_agent_ran_ahead_with)
{
	driver_agent(d, AGENT1);
	driver_subscribe(d, NULL, FRAMEWORK);
	driver_launch(d, 1, "M-0000", driver_offer(d), "M-S0", "t1", NULL);
	driver_forget(d);
	driver_update_latest(d, AGENT1, "M-S0", "M-0000", "t1", "TASK_RUNNING", "TASK_FINISHED",
			     'r');
	expect(d, "\"state\":\"TASK_RUNNING\"", "\"state\":\"TASK_RUNNING\"}}");
	driver_acknowledge(d, 1, "M-0000", "M-S0", "t1", 'r');
	driver_forget(d);
	driver_update(d, AGENT1, "M-S0", "M-0000", "t1", "TASK_FINISHED", 'f');
	expect(d, "watch", "\"state\":\"TASK_FINISHED\"}}");
}

Test(master_watch, results_of_checks)
{
	driver_agent(d, AGENT1);
	driver_subscribe(d, NULL, FRAMEWORK);
	driver_launch(d, 1, "M-0000", driver_offer(d), "M-S0", "t1", NULL);
	driver_update(d, AGENT1, "M-S0", "M-0000", "t1", "TASK_RUNNING", 'r');
	for (int i = 0; i < 2; i++) {
		driver_forget(d);
		driver_message(
			d, AGENT1, &mesos__internal__status_update_message__descriptor,
			"{\"update\":{\"framework_id\":{\"value\":\"M-0000\"},\"timestamp\":1,"
			"\"agent_id\":{\"value\":\"M-S0\"},\"status\":{\"task_id\":{\"value\":"
			"\"t1\"},\"state\":\"TASK_RUNNING\",\"healthy\":false,\"reason\":"
			"\"REASON_TASK_%s_STATUS_UPDATED\"},\"uuid\":\"AAECAwQFRgeICQoLDA0O%s\"},"
			"\"pid\":\"" AGENT1 "\"}",
			i ? "CHECK" : "HEALTH_CHECK", i ? "Aw==" : "Dw==");
		cr_expect_str_eq(heard(), "TASK_UPDATED u u; ");
	}
}

Test(master_watch, the_life_of_a_framework)
{
	uint64_t stream = driver_subscribe(d, NULL, FRAMEWORK);

	driver_forget(d);
	driver_close(d, stream);
	cr_expect_str_eq(heard(), "", "that it is away is no event");
	stream = driver_subscribe(d, "M-0000", FRAMEWORK);
	cr_expect_str_eq(heard(), "FRAMEWORK_UPDATED u -; ");
	driver_call(d, stream,
		    "{\"type\":\"UPDATE_FRAMEWORK\"," FID
		    ",\"update_framework\":{\"framework_info\":{"
		    "\"user\":\"u\",\"name\":\"n\",\"id\":{\"value\":\"M-0000\"}}}}");
	cr_expect_str_eq(heard(), "FRAMEWORK_UPDATED u -; ");
	driver_call(d, stream, "{\"type\":\"TEARDOWN\"," FID "}");
	expect(d, "\"framework_removed\":{\"framework_info\":{");
	cr_expect_str_eq(heard(), "FRAMEWORK_REMOVED u -; ");
}

Test(master_watch, a_framework_that_ends_with_a_task)
{
	driver_agent(d, AGENT1);
	driver_subscribe(d, NULL, FRAMEWORK);
	driver_launch(d, 1, "M-0000", driver_offer(d), "M-S0", "t1", NULL);
	driver_forget(d);
	driver_call(d, 1, "{\"type\":\"TEARDOWN\"," FID "}");
	expect(d, "\"state\":\"TASK_KILLED\"}}");
	cr_expect_str_eq(heard(), "TASK_UPDATED u u; FRAMEWORK_REMOVED u -; ");
}

Test(master_watch, agents_that_leave_and_return)
{
	driver_agent(d, AGENT1);
	driver_forget(d);
	driver_exited(d, AGENT1);
	driver_reregister(d, AGENT1, "M-S0", NULL);
	cr_expect_str_eq(heard(), "", "it was not away for long");
	driver_subscribe(d, NULL,
			 FRAMEWORK ",\"checkpoint\":true,"
				   "\"capabilities\":[{\"type\":\"PARTITION_AWARE\"}]");
	driver_launch(d, 1, "M-0000", driver_offer(d), "M-S0", "t1", NULL);
	driver_forget(d);
	d->agent_silent = true;
	driver_pass(d, 2 * MINUTE);
	expect(d, "\"state\":\"TASK_UNREACHABLE\"}}");
	expect(d, "{\"type\":\"AGENT_REMOVED\",\"agent_removed\":{\"agent_id\":{\"value\":\"M-S0\"}"
		  "}}");
	driver_forget(d);
	d->agent_silent = false;
	driver_reregister(d, AGENT1, "M-S0", NULL);
	expect(d, "{\"type\":\"AGENT_ADDED\"", "\"reregistered_time\":{");
}

Test(master_watch, what_an_agent_tells_of)
{
	driver_reregister(
		d, AGENT1, "M-S7",
		"\"frameworks\":[{\"user\":\"v\",\"name\":\"n\",\"id\":{\"value\":\"F\"}}],"
		"\"tasks\":[{\"name\":\"t\",\"task_id\":{\"value\":\"t9\"},\"framework_id\":"
		"{\"value\":\"F\"},\"agent_id\":{\"value\":\"M-S7\"},\"state\":"
		"\"TASK_RUNNING\"}]");
	expect(d, "{\"type\":\"FRAMEWORK_ADDED\"", "\"recovered\":true");
	cr_expect_str_eq(heard(), "FRAMEWORK_ADDED v -; TASK_ADDED v v; AGENT_ADDED - -; ");
	driver_subscribe(d, "F", "\"user\":\"v\"");
	cr_expect_str_eq(heard(), "FRAMEWORK_UPDATED v -; ");
}

Test(master_watch, nothing_is_said_to_nobody)
{
	master_watch(d->m, false);
	driver_agent(d, AGENT1);
	driver_subscribe(d, NULL, FRAMEWORK);
	driver_launch(d, 1, "M-0000", driver_offer(d), "M-S0", "t1", NULL);
	driver_call(d, 1, "{\"type\":\"TEARDOWN\"," FID "}");
	refute(d, "watch ");
}
