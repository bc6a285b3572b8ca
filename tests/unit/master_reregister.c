/* Agents that come back: a message that contradicts itself is ignored as a whole, whatever it says.
 */
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

TestSuite(master_reregister, .init = set_up, .fini = tear_down);

#define ID "X-S0"
#define FRAMEWORK(id) "{\"user\":\"u\",\"name\":\"n\",\"id\":{\"value\":\"" id "\"}}"
#define EXECUTOR(framework, id)                                                                    \
	"{\"executor_id\":{\"value\":\"" id "\"},\"framework_id\":{\"value\":\"" framework         \
	"\"},\"command\":{\"value\":\"true\"}}"
#define TASK_AT(framework, id, agent, more)                                                        \
	"{\"name\":\"t\",\"task_id\":{\"value\":\"" id                                             \
	"\"},\"framework_id\":{\"value\":\"" framework "\"},\"agent_id\":{\"value\":\"" agent      \
	"\"},\"state\":\"TASK_RUNNING\"" more "}"
#define TASK(framework, id, more) TASK_AT(framework, id, ID, more)
#define BY_E ",\"executor_id\":{\"value\":\"e\"}"
#define BAD "[{\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":{\"value\":-1}}]"

static const char *const contradictions[] = {
	"\"frameworks\":[" FRAMEWORK("f") "," FRAMEWORK("f") "]",
	"\"frameworks\":[{\"user\":\"u\",\"name\":\"n\"}]",
	"\"frameworks\":[" FRAMEWORK("a/b") "]",
	"\"frameworks\":[{\"user\":\"u\",\"name\":\"n\",\"id\":{\"value\":\"f\"},\"role\":\"/\"}]",
	"\"executor_infos\":[" EXECUTOR("f", "e") "]",
	"\"executor_infos\":[{\"executor_id\":{\"value\":\"e\"},\"command\":{}}]",
	"\"frameworks\":[" FRAMEWORK("f") "],\"executor_infos\":[" EXECUTOR("g", "e") "]",
	"\"frameworks\":[" FRAMEWORK("f") "],\"executor_infos\":[" EXECUTOR("f", "e") "," EXECUTOR(
		"f", "e") "]",
	"\"frameworks\":[" FRAMEWORK("f") "],\"executor_infos\":[" EXECUTOR("f", "a/b") "]",
	"\"frameworks\":[" FRAMEWORK(
		"f") "],\"executor_infos\":[{\"executor_id\":{\"value\":\"e\"},"
		     "\"framework_id\":{\"value\":\"f\"},\"command\":{\"value\":\"x\"},"
		     "\"resources\":" BAD "}]",
	"\"tasks\":[" TASK("f", "t", "") "]",
	"\"frameworks\":[" FRAMEWORK("f") "],\"tasks\":[" TASK("g", "t", "") "]",
	"\"frameworks\":[" FRAMEWORK("f") "],\"tasks\":[" TASK("f", "a/b", "") "]",
	"\"frameworks\":[" FRAMEWORK("f") "],\"tasks\":[" TASK("f", "", "") "]",
	"\"frameworks\":[" FRAMEWORK("f") "],\"tasks\":[" TASK_AT("f", "t", "other", "") "]",
	"\"frameworks\":[" FRAMEWORK("f") "],\"tasks\":[" TASK("f", "t", BY_E) "]",
	"\"frameworks\":[" FRAMEWORK("f") "," FRAMEWORK("g") "],\"executor_infos\":[" EXECUTOR(
		"g", "e") "],\"tasks\":[" TASK("f", "t", BY_E) "]",
	"\"frameworks\":[" FRAMEWORK("f") "],\"tasks\":[" TASK("f", "t", ",\"resources\":" BAD) "]",
	"\"frameworks\":[" FRAMEWORK("f") "],\"tasks\":[" TASK("f", "t", "") "," TASK("g", "u",
										      "") "]",
	"\"checkpointed_resources\":" BAD,
};

static void expect_ignored(const char *what)
{
	cr_expect_not(driver_saw(d, "SlaveReregisteredMessage", NULL), "%s", what);
	cr_expect_not(driver_saw(d, "ShutdownMessage", NULL), "%s", what);
	cr_expect_null(d->m->agents, "%s", what);
}

Test(master_reregister, contradictions_are_ignored_as_a_whole)
{
	for (size_t i = 0; i < sizeof(contradictions) / sizeof(*contradictions); i++) {
		driver_forget(d);
		driver_reregister(d, AGENT1, ID, contradictions[i]);
		expect_ignored(contradictions[i]);
	}
}

Test(master_reregister, what_fits_together_is_taken)
{
	driver_reregister(
		d, AGENT1, ID,
		"\"frameworks\":[" FRAMEWORK("f") "," FRAMEWORK(
			"g") "],"
			     "\"executor_infos\":[" EXECUTOR("f", "e") "," EXECUTOR(
				     "g", "e") "],"
					       "\"tasks\":[" TASK("f", "t", BY_E) "," TASK(
						       "g", "t", BY_E) "," TASK("g", "u", "") "]");
	cr_expect(driver_saw(d, "SlaveReregisteredMessage", NULL));
	cr_assert_not_null(d->m->agents);
	cr_expect_not_null(framework_find_task(master_find_framework(d->m, "f"), "t"));
	cr_expect_not_null(framework_find_task(master_find_framework(d->m, "g"), "t"));
	cr_expect_not_null(framework_find_task(master_find_framework(d->m, "g"), "u"));
}

/* A task that is over may have outlived its executor. */
Test(master_reregister, an_executor_that_is_gone_may_have_had_tasks)
{
	driver_reregister(
		d, AGENT1, ID,
		"\"frameworks\":[" FRAMEWORK(
			"f") "],\"tasks\":[{\"name\":\"t\","
			     "\"task_id\":{\"value\":\"t\"},\"framework_id\":{\"value\":\"f\"},"
			     "\"agent_id\":{\"value\":\"" ID "\"},\"state\":\"TASK_FINISHED\"" BY_E
			     "}]");
	cr_expect(driver_saw(d, "SlaveReregisteredMessage", NULL));
}

#define AGENT(members)                                                                             \
	"{\"agent\":{\"hostname\":\"host\",\"checkpoint\":true" members                            \
	"},\"version\":\"1.12.0\",\"agent_capabilities\":[{\"type\":\"MULTI_ROLE\"}]}"

static void reregister(const char *pid, const char *text)
{
	driver_forget(d);
	driver_message(d, pid, &mesos__internal__reregister_slave_message__descriptor, "%s", text);
}

Test(master_reregister, who_says_too_little_of_itself_is_ignored)
{
	static const char good[] = AGENT(",\"id\":{\"value\":\"" ID "\"}");
	static const char *const texts[] = {
		AGENT(""),
		AGENT(",\"id\":{\"value\":\"\"}"),
		AGENT(",\"id\":{\"value\":\"a/b\"}"),
		AGENT(",\"id\":{\"value\":\"" ID "\"},\"resources\":" BAD),
		AGENT(",\"id\":{\"value\":\"" ID "\"},\"domain\":{\"fault_domain\":{\"region\":"
		      "{\"name\":\"r\"},\"zone\":{\"name\":\"z\"}}}"),
		"{\"agent\":{\"hostname\":\"host\",\"id\":{\"value\":\"" ID "\"}}}",
		"{\"agent\":{\"hostname\":\"host\",\"id\":{\"value\":\"" ID
		"\"}},\"version\":\"0.28.2\"}",
		"{\"agent\":{\"hostname\":\"host\",\"id\":{\"value\":\"" ID
		"\"}},\"version\":\"1x\"}",
		"{\"agent\":{\"hostname\":\"host\",\"id\":{\"value\":\"" ID
		"\"}},\"version\":\"\"}",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		reregister(AGENT1, texts[i]);
		expect_ignored(texts[i]);
	}
	reregister("@0.0.0.0:0", good);
	expect_ignored("no address");
	reregister(AGENT1, good);
	cr_expect(driver_saw(d, "SlaveReregisteredMessage", NULL));
}
