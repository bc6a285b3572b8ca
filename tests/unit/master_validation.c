/* Launch validation: one row a rule. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/master_driver.h"

static struct driver *d;

static void set_up(void)
{
	d = driver_create();
	driver_agent(d, AGENT1);
	driver_subscribe(d, NULL, NULL);
}

static void tear_down(void)
{
	driver_destroy(d);
}

TestSuite(master_validation, .init = set_up, .fini = tear_down);

#define OFFER(id) "{\"value\":\"" id "\"}"
#define CPUS(n) "{\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":{\"value\":" #n "}}"
#define MEM(n) "{\"name\":\"mem\",\"type\":\"SCALAR\",\"scalar\":{\"value\":" #n "}}"
#define PORTS(a, b)                                                                                \
	"{\"name\":\"ports\",\"type\":\"RANGES\",\"ranges\":{\"range\":[{\"begin\":" #a            \
	",\"end\":" #b "}]}}"
#define DISK(n) "{\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{\"value\":" #n "}}"
#define EXECUTOR "\"executor\":{\"executor_id\":{\"value\":\"e\"}"
#define TRUE_COMMAND "\"command\":{\"value\":\"true\"}"

/* A newly made offer's id. */
static const char *offer(void)
{
	driver_pass(d, SECOND);
	cr_assert(d->m->offers, "no offer");
	return d->m->offers->id;
}

/* ACCEPT of the one offer with these operations. */
static void accept_offer(const char *operations)
{
	int status = driver_call(d, 1,
				 "{\"type\":\"ACCEPT\",\"framework_id\":{\"value\":\"M-0000\"},"
				 "\"accept\":{\"offer_ids\":[{\"value\":\"%s\"}],\"filters\":"
				 "{\"refuse_seconds\":0},\"operations\":[%s]}}",
				 offer(), operations);

	cr_assert_eq(status, 202, "%s", d->out.reply.text);
}

static void launch(const char *members)
{
	char *operation =
		xprintf("{\"type\":\"LAUNCH\",\"launch\":{\"task_infos\":[{\"name\":\"t\","
			"%s}]}}",
			members);

	accept_offer(operation);
	free(operation);
}

#define IDS "\"task_id\":{\"value\":\"t\"},\"agent_id\":{\"value\":\"M-S0\"}"
#define GOOD IDS ",\"resources\":[" CPUS(1) "]"
#define TASK GOOD "," TRUE_COMMAND

static const struct {
	const char *members, *message;
} rules[] = {
	{"\"task_id\":{\"value\":\"\"},\"agent_id\":{\"value\":\"M-S0\"}", "ID must not be empty"},
	{"\"task_id\":{\"value\":\"..\"},\"agent_id\":{\"value\":\"M-S0\"}", "'..' is disallowed"},
	{"\"task_id\":{\"value\":\"a\\/b\"},\"agent_id\":{\"value\":\"M-S0\"}",
	 "'a/b' contains invalid characters"},
	{"\"task_id\":{\"value\":\"t\"},\"agent_id\":{\"value\":\"x\"}",
	 "Task uses invalid agent x while agent M-S0 is expected"},
	{TASK ",\"kill_policy\":{\"grace_period\":{\"nanoseconds\":-1}}",
	 "Task's 'kill_policy.grace_period' must be non-negative"},
	{TASK ",\"max_completion_time\":{\"nanoseconds\":-1}",
	 "Task's `max_completion_time` must be non-negative"},
	{TASK ",\"check\":{}", "Task uses invalid check: CheckInfo must specify 'type'"},
	{TASK ",\"check\":{\"type\":\"COMMAND\",\"command\":{\"command\":{}}}",
	 "Task uses invalid check: Command check must contain 'shell command'"},
	{TASK ",\"check\":{\"type\":\"HTTP\",\"http\":{\"port\":1,\"path\":\"x\"}}",
	 "Task uses invalid check: The path 'x' of HTTP check must start with '/'"},
	{TASK ",\"check\":{\"type\":\"TCP\"}",
	 "Task uses invalid check: Expecting 'tcp' to be set for TCP check"},
	{TASK ",\"check\":{\"type\":\"TCP\",\"tcp\":{\"port\":1},\"delay_seconds\":-1}",
	 "Task uses invalid check: Expecting 'delay_seconds' to be non-negative"},
	{TASK ",\"health_check\":{}",
	 "Task uses invalid health check: HealthCheck must specify 'type'"},
	{TASK ",\"health_check\":{\"http\":{\"port\":1,\"scheme\":\"ftp\"}}",
	 "Task uses invalid health check: Unsupported HTTP health check scheme: 'ftp'"},
	{TASK
	 ",\"health_check\":{\"type\":\"TCP\",\"tcp\":{\"port\":1},\"grace_period_seconds\":-1}",
	 "Task uses invalid health check: Expecting 'grace_period_seconds' to be non-negative"},
	{IDS "," TRUE_COMMAND, "Task uses no resources"},
	{IDS ",\"resources\":[{\"name\":\"gpus\",\"type\":\"SCALAR\",\"scalar\":{\"value\":0.5}}]",
	 "Task uses invalid resources: Invalid 'gpus' resource: The 'gpus' resource must be an "
	 "unsigned integer"},
	{IDS ",\"resources\":[{\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1},"
	     "\"disk\":{}}]",
	 "Task uses invalid resources: Invalid DiskInfo: DiskInfo is set but empty"},
	{IDS ",\"resources\":[{\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1},"
	     "\"allocation_info\":{\"role\":\"a\"}}," MEM(1) "]," TRUE_COMMAND,
	 "Invalid task resources: The resources have multiple allocation roles ('*' and 'a') but "
	 "only one allocation role is allowed"},
	{IDS ",\"resources\":[" CPUS(1) ",{\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":"
					"{\"value\":1},\"revocable\":{}}]," TRUE_COMMAND,
	 "Task mixes revocable and non-revocable resources: Cannot use both revocable and "
	 "non-revocable 'cpus' at the same time"},
	{GOOD ",\"command\":{\"value\":\"x\",\"environment\":{\"variables\":[{\"name\":\"A\"}]}}",
	 "Task's `CommandInfo` is invalid: Environment variable 'A' of type 'VALUE' must have a "
	 "value set"},
	{GOOD ",\"command\":{\"value\":\"x\",\"environment\":{\"variables\":[{\"name\":\"A\","
	      "\"value\":\"v\",\"secret\":{\"type\":\"VALUE\",\"value\":{\"data\":\"AA==\"}}}]}}",
	 "Task's `CommandInfo` is invalid: Environment variable 'A' of type 'VALUE' must not have "
	 "a "
	 "secret set"},
	{TASK ",\"container\":{\"type\":\"MESOS\",\"volumes\":[{\"mode\":\"RW\","
	      "\"container_path\":\"x\"}]}",
	 "Task's `ContainerInfo` is invalid: Invalid volume: Only one of them should be set: "
	 "'host_path', 'image' and 'source'"},
	{TASK ",\"container\":{\"type\":\"DOCKER\"}",
	 "Task's `ContainerInfo` is invalid: DockerInfo 'docker' is not set for DOCKER typed "
	 "ContainerInfo"},
	{TASK ",\"limits\":{\"disk\":{\"value\":1}}",
	 "Only cpus and mem may be included in a task's resource limits"},
	{TASK ",\"limits\":{\"cpus\":{\"value\":0.5}}",
	 "The cpu limit must be greater than or equal to the cpu request"},
	{TASK ",\"limits\":{\"mem\":{\"value\":1}}",
	 "When a memory limit is specified, a memory request must also be specified"},
	{IDS ",\"resources\":[" CPUS(0) "," MEM(32) "]," TRUE_COMMAND
						    ",\"limits\":{\"cpus\":{\"value\":1}}",
	 "When a CPU limit is specified, a CPU request must also be specified"},
	{IDS ",\"resources\":[" CPUS(1) "," MEM(
		 32) "]," TRUE_COMMAND
		     ",\"limits\":{\"cpus\":{\"value\":1},\"mem\":{\"value\":31.9}}",
	 "The memory limit must be greater than or equal to the memory request"},
	{IDS ",\"resources\":[{\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1},"
	     "\"reservations\":[{\"type\":\"DYNAMIC\",\"role\":\"r\"}],\"revocable\":{}}]"
	     "," TRUE_COMMAND,
	 "Task uses invalid resources: Invalid ReservationInfo: Dynamically reserved resource "
	 "cpus(allocated: *)(reservations: [(DYNAMIC,r)]){REV}:1 cannot be created from revocable "
	 "resources"},
	{GOOD "," EXECUTOR "," TRUE_COMMAND ",\"resources\":[{\"name\":\"disk\",\"type\":"
	      "\"SCALAR\",\"scalar\":{\"value\":1},\"role\":\"r\",\"disk\":{\"persistence\":"
	      "{\"id\":\"i\"},\"volume\":{\"mode\":\"RW\",\"container_path\":\"p\"}},"
	      "\"shared\":{}}]}",
	 "Executor resources disk(allocated: *)(reservations: [(STATIC,r)])[i:p]<SHARED>:1<1> "
	 "should not contain any shared resources"},
	{IDS ",\"resources\":[" PORTS(1, 5) "]," EXECUTOR "," TRUE_COMMAND
					    ",\"resources\":[" PORTS(3, 7) "]}",
	 "There are overlapping resources in the task resources [{"},
	{GOOD,
	 "Task should have at least one (but not both) of CommandInfo or ExecutorInfo present"},
	{TASK "," EXECUTOR "}",
	 "Task should have at least one (but not both) of CommandInfo or ExecutorInfo present"},
	{GOOD "," EXECUTOR ",\"type\":\"CUSTOM\"}",
	 "'ExecutorInfo.command' must be set for 'CUSTOM' executor"},
	{GOOD "," EXECUTOR ",\"type\":\"DEFAULT\"," TRUE_COMMAND "}",
	 "'ExecutorInfo.command' must not be set for 'DEFAULT' executor"},
	{GOOD "," EXECUTOR ",\"type\":\"DEFAULT\"}", "'ExecutorInfo.type' must be 'CUSTOM'"},
	{GOOD "," EXECUTOR "}", "'ExecutorInfo.command' must be set"},
	{GOOD ",\"executor\":{\"executor_id\":{\"value\":\"\"}," TRUE_COMMAND "}",
	 "ID must not be empty"},
	{GOOD "," EXECUTOR "," TRUE_COMMAND ",\"framework_id\":{\"value\":\"x\"}}",
	 "ExecutorInfo has an invalid FrameworkID (Actual: x vs Expected: M-0000)"},
	{GOOD "," EXECUTOR "," TRUE_COMMAND ",\"shutdown_grace_period\":{\"nanoseconds\":-1}}",
	 "ExecutorInfo's 'shutdown_grace_period' must be non-negative"},
	{GOOD "," EXECUTOR "," TRUE_COMMAND ",\"container\":{\"type\":\"MESOS\",\"linux_info\":"
	      "{\"share_cgroups\":true}}}",
	 "The 'share_cgroups' field cannot be set to 'true' on executor containers"},
	{IDS ",\"resources\":[" CPUS(4.5) "]," TRUE_COMMAND,
	 "Total resources cpus(allocated: *):4.5 required by task and its executor is more than "
	 "available cpus(allocated: *):4; mem(allocated: *):4096"},
	{IDS ",\"resources\":[" CPUS(3) "]," EXECUTOR "," TRUE_COMMAND
					",\"resources\":[" CPUS(2) "]}",
	 "required by task and its executor is more than available"},
	{TASK ",\"check\":{\"type\":\"UNKNOWN\"}",
	 "Task uses invalid check: 'UNKNOWN' is not a valid check type"},
	{TASK ",\"check\":{\"type\":\"COMMAND\"}",
	 "Task uses invalid check: Expecting 'command' to be set for COMMAND check"},
	{TASK ",\"check\":{\"type\":\"HTTP\"}",
	 "Task uses invalid check: Expecting 'http' to be set for HTTP check"},
	{TASK ",\"check\":{\"type\":\"COMMAND\",\"command\":{\"command\":{\"value\":\"x\","
	      "\"environment\":{\"variables\":[{\"name\":\"A\"}]}}}}",
	 "Task uses invalid check: Check's `CommandInfo` is invalid: Environment variable 'A'"},
	{TASK ",\"check\":{\"type\":\"TCP\",\"tcp\":{\"port\":1},\"interval_seconds\":-1}",
	 "Expecting 'interval_seconds' to be non-negative"},
	{TASK ",\"check\":{\"type\":\"TCP\",\"tcp\":{\"port\":1},\"timeout_seconds\":-1}",
	 "Expecting 'timeout_seconds' to be non-negative"},
	{TASK ",\"health_check\":{\"type\":\"UNKNOWN\"}",
	 "Task uses invalid health check: 'UNKNOWN' is not a valid health check type"},
	{TASK ",\"health_check\":{\"type\":\"COMMAND\"}",
	 "Task uses invalid health check: Expecting 'command' to be set for COMMAND health check"},
	{TASK ",\"health_check\":{\"type\":\"HTTP\"}",
	 "Task uses invalid health check: Expecting 'http' to be set for HTTP health check"},
	{TASK ",\"health_check\":{\"type\":\"TCP\"}",
	 "Task uses invalid health check: Expecting 'tcp' to be set for TCP health check"},
	{TASK ",\"health_check\":{\"type\":\"COMMAND\",\"command\":{\"value\":\"x\","
	      "\"environment\":{\"variables\":[{\"name\":\"A\"}]}}}",
	 "Task uses invalid health check: Health check's `CommandInfo` is invalid: Environment"},
	{TASK ",\"health_check\":{\"type\":\"HTTP\",\"http\":{\"port\":1,\"path\":\"x\"}}",
	 "The path 'x' of HTTP health check must start with '/'"},
	{TASK ",\"health_check\":{\"type\":\"TCP\",\"tcp\":{\"port\":1},\"delay_seconds\":-1}",
	 "Expecting 'delay_seconds' to be non-negative"},
	{TASK ",\"health_check\":{\"type\":\"TCP\",\"tcp\":{\"port\":1},\"interval_seconds\":-1}",
	 "Expecting 'interval_seconds' to be non-negative"},
	{TASK ",\"health_check\":{\"type\":\"TCP\",\"tcp\":{\"port\":1},\"timeout_seconds\":-1}",
	 "Expecting 'timeout_seconds' to be non-negative"},
	{GOOD "," EXECUTOR
	      ",\"command\":{\"value\":\"x\",\"environment\":{\"variables\":[{\"name\":"
	      "\"A\"}]}}}",
	 "Executor's `CommandInfo` is invalid: Environment variable 'A'"},
	{GOOD "," EXECUTOR "," TRUE_COMMAND ",\"container\":{\"type\":\"MESOS\",\"volumes\":[{"
	      "\"mode\":\"RW\",\"container_path\":\"x\",\"source\":{\"type\":\"SANDBOX_PATH\"}}]}}",
	 "Executor's `ContainerInfo` is invalid: "},
	{GOOD "," EXECUTOR "," TRUE_COMMAND
	      ",\"resources\":[{\"name\":\"gpus\",\"type\":\"SCALAR\","
	      "\"scalar\":{\"value\":0.5}}]}",
	 "Executor uses invalid resources: Invalid 'gpus' resource"},
	{GOOD "," EXECUTOR "," TRUE_COMMAND ",\"resources\":[" MEM(
		 1) ",{\"name\":\"cpus\",\"type\":"
		    "\"SCALAR\",\"scalar\":{\"value\":1},\"allocation_info\":{\"role\":\"a\"}}]}",
	 "Invalid executor resources: The resources have multiple allocation roles"},
	{GOOD "," EXECUTOR "," TRUE_COMMAND
	      ",\"resources\":[" CPUS(1) ",{\"name\":\"cpus\",\"type\":"
					 "\"SCALAR\",\"scalar\":{\"value\":1},\"revocable\":{}}]}",
	 "Executor mixes revocable and non-revocable resources"},
	{GOOD "," EXECUTOR "," TRUE_COMMAND
	      ",\"resources\":[{\"name\":\"cpus\",\"type\":\"SCALAR\","
	      "\"scalar\":{\"value\":1},\"revocable\":{}}]}",
	 "Task and its executor mix revocable and non-revocable resources"},
	{TASK ",\"container\":{\"type\":\"MESOS\",\"linux_info\":{\"share_cgroups\":false}}",
	 "Only tasks in a task group may have 'share_cgroups' set to 'false'"},
};

Test(master_validation, each_rule_refuses_the_task_alone)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		char *json = xprintf("%s", rules[i].message);

		driver_forget(d);
		launch(rules[i].members);
		cr_expect(driver_saw(d, "UPDATE", "TASK_ERROR", "REASON_TASK_INVALID",
				     "SOURCE_MASTER", json, NULL),
			  "%s: %s", rules[i].members, d->trace.data);
		refute(d, "RunTaskMessage");
		refute(d, "\"uuid\"");
		free(json);
	}
	cr_expect_eq(HASH_COUNT(master_find_framework(d->m, "M-0000")->tasks), 0);
}

Test(master_validation, a_malformed_resource_fails_the_whole_launch)
{
	accept_offer(
		"{\"type\":\"LAUNCH\",\"launch\":{\"task_infos\":["
		"{\"name\":\"a\",\"task_id\":{\"value\":\"a\"},\"agent_id\":{\"value\":\"M-S0\"},"
		"\"resources\":[" CPUS(1) "]," TRUE_COMMAND "},"
					  "{\"name\":\"b\",\"task_id\":{\"value\":\"b\"},\"agent_"
					  "id\":{\"value\":\"M-S0\"},"
					  "\"resources\":[" CPUS(-1) "]," TRUE_COMMAND "}]}}");
	cr_expect_eq(driver_count(d, "TASK_ERROR"), 2);
	refute(d, "RunTaskMessage");
}

Test(master_validation, a_bad_task_leaves_its_siblings_alone)
{
	accept_offer(
		"{\"type\":\"LAUNCH\",\"launch\":{\"task_infos\":["
		"{\"name\":\"a\",\"task_id\":{\"value\":\"a\"},\"agent_id\":{\"value\":\"M-S0\"},"
		"\"resources\":[" CPUS(3) "]," TRUE_COMMAND "},"
					  "{\"name\":\"b\",\"task_id\":{\"value\":\"b\"},\"agent_"
					  "id\":{\"value\":\"M-S0\"},"
					  "\"resources\":[" CPUS(
						  3) "]," TRUE_COMMAND "},"
						     "{\"name\":\"a\",\"task_id\":{\"value\":\"a\"}"
						     ",\"agent_id\":{\"value\":\"M-S0\"},"
						     "\"resources\":[" CPUS(1) "]," TRUE_COMMAND
									       "}]}}");
	expect(d, "RunTaskMessage", "\"value\":\"a\"", "\"pid\":\"@0.0.0.0:0\"",
	       "\"launch_executor\":true", "\"allocation_info\":{\"role\":\"*\"}");
	expect(d, "TASK_ERROR", "\"value\":\"b\"", "more than available");
	expect(d, "TASK_ERROR", "Task has duplicate ID: a");
	cr_expect_eq(driver_count(d, "RunTaskMessage"), 1);
}

Test(master_validation, executors_are_counted_once_and_must_stay_the_same)
{
	const char *one = GOOD "," EXECUTOR "," TRUE_COMMAND ",\"resources\":[" CPUS(1) "]}";
	struct agent *a = master_find_agent(d->m, "M-S0");

	launch(one);
	expect(d, "RunTaskMessage", "\"launch_executor\":true",
	       "\"framework_id\":{\"value\":\"M-0000\"}");
	cr_expect_eq(resources_quantity(&a->used, "cpus"), 2000);
	driver_forget(d);
	driver_pass(d, SECOND);
	expect(d, "OFFERS", "\"executor_ids\":[{\"value\":\"e\"}]");
	launch("\"task_id\":{\"value\":\"t2\"},\"agent_id\":{\"value\":\"M-S0\"},\"resources\":"
	       "[" CPUS(2) "]," EXECUTOR "," TRUE_COMMAND ",\"resources\":[" CPUS(1) "]}");
	expect(d, "RunTaskMessage", "\"t2\"", "\"launch_executor\":false");
	cr_expect_eq(resources_quantity(&a->used, "cpus"), 4000);
	driver_message(d, AGENT1, &mesos__internal__exited_executor_message__descriptor,
		       "{\"agent_id\":{\"value\":\"M-S0\"},\"framework_id\":{\"value\":\"M-0000\"},"
		       "\"executor_id\":{\"value\":\"e\"},\"status\":768}");
	expect(d, "FAILURE", "\"status\":768", "\"executor_id\":{\"value\":\"e\"}");
	cr_expect_eq(resources_quantity(&a->used, "cpus"), 3000);
}

Test(master_validation, another_info_under_a_known_executor_id)
{
	launch(GOOD "," EXECUTOR "," TRUE_COMMAND "}");
	launch("\"task_id\":{\"value\":\"t2\"},\"agent_id\":{\"value\":\"M-S0\"},\"resources\":"
	       "[" CPUS(1) "]," EXECUTOR ",\"name\":\"another\"," TRUE_COMMAND "}");
	expect(d, "TASK_ERROR",
	       "ExecutorInfo is not compatible with existing ExecutorInfo with same ExecutorID.");
}

/* ---- operations ------------------------------------------------------------------- */

Test(master_validation, ids_are_not_for_launches)
{
	accept_offer("{\"type\":\"LAUNCH\",\"id\":{\"value\":\"o\"},\"launch\":{\"task_infos\":[{"
		     "\"name\":\"t\"," TASK "}]}}");
	expect(d, "TASK_ERROR", "The `id` field cannot be set on LAUNCH operations");
}

Test(master_validation, a_launch_without_its_field)
{
	accept_offer("{\"type\":\"LAUNCH\"},{\"type\":\"RESERVE\",\"id\":{\"value\":\"o\"}}");
	refute(d, "TASK_ERROR");
	expect(d, "UPDATE_OPERATION_STATUS", "OPERATION_ERROR",
	       "\"operation_id\":{\"value\":\"o\"}",
	       "A RESERVE offer operation must have the Offer.Operation.reserve field set.");
}

Test(master_validation, bad_conversions_are_dropped)
{
	accept_offer(
		"{\"type\":\"RESERVE\",\"id\":{\"value\":\"o\"},\"reserve\":{\"resources\":[" CPUS(
			1) "]}},{\"type\":\"DESTROY\",\"destroy\":{\"volumes\":[]}}");
	cr_expect_eq(driver_count(d, "UPDATE_OPERATION_STATUS"), 1);
	expect(d, "OPERATION_ERROR", "\"value\":\"o\"", "requested feedback");
	driver_forget(d);
	driver_pass(d, SECOND);
	expect(d, "OFFERS", "\"value\":4.0");
}

/* ---- commands and containers ------------------------------------------------------- */

#define VARIABLE(fields)                                                                           \
	GOOD ",\"command\":{\"value\":\"x\",\"environment\":{\"variables\":[{\"name\":"            \
	     "\"A\"," fields "}]}}"
#define SECRET(fields) VARIABLE("\"type\":\"SECRET\",\"secret\":{" fields "}")
#define SECRET_VALUE "\"value\":{\"data\":\"YWI=\"}"
#define SECRET_REFERENCE "\"reference\":{\"name\":\"n\"}"
#define VOLUME(fields)                                                                             \
	TASK ",\"container\":{\"type\":\"MESOS\",\"volumes\":[{\"mode\":\"RW\",\"container_"       \
	     "path\":"                                                                             \
	     "\"x\"," fields "}]}"
#define SOURCE(fields) VOLUME("\"source\":{" fields "}")
#define PARAMETER(key)                                                                             \
	TASK ",\"container\":{\"type\":\"DOCKER\",\"docker\":{\"image\":\"i\",\"parameters\":["    \
	     "{\"key\":\"" key "\",\"value\":\"v\"}]}}"

#define NO_SECONDS(more) "\"delay_seconds\":0,\"interval_seconds\":0,\"timeout_seconds\":0" more

/* What is refused, with a part of the message; without one it passes. */
static const struct {
	const char *members, *message;
} parts[] = {
	{VARIABLE("\"type\":\"SECRET\""), "of type 'SECRET' must have a secret set"},
	{VARIABLE("\"type\":\"SECRET\",\"value\":\"v\",\"secret\":{}"),
	 "of type 'SECRET' must not have a value set"},
	{VARIABLE("\"type\":\"UNKNOWN\""), "of type 'UNKNOWN' is not allowed"},
	{SECRET("\"type\":\"REFERENCE\""), "must have the 'reference' field set"},
	{SECRET("\"type\":\"REFERENCE\"," SECRET_REFERENCE "," SECRET_VALUE),
	 "must not have the 'value' field set"},
	{SECRET("\"type\":\"VALUE\""), "must have the 'value' field set"},
	{SECRET("\"type\":\"VALUE\"," SECRET_REFERENCE "," SECRET_VALUE),
	 "must not have the 'reference' field set"},
	{SECRET("\"type\":\"VALUE\",\"value\":{\"data\":\"YQBi\"}"), "containing null bytes"},
	{SECRET("\"type\":\"VALUE\"," SECRET_VALUE), NULL},
	{SECRET("\"type\":\"REFERENCE\"," SECRET_REFERENCE), NULL},
	{SECRET(SECRET_VALUE), NULL},
	{VARIABLE("\"value\":\"\""), NULL},
	{VARIABLE("\"type\":\"VALUE\",\"value\":\"v\""), NULL},
	{VOLUME("\"host_path\":\"h\",\"source\":{}"), "Only one of them should be set"},
	{VOLUME("\"host_path\":\"h\""), NULL},
	{VOLUME("\"image\":{\"type\":\"DOCKER\",\"docker\":{\"name\":\"n\"}}"), NULL},
	{SOURCE(""), "'source.type' is unknown"},
	{SOURCE("\"type\":\"UNKNOWN\""), "'source.type' is unknown"},
	{SOURCE("\"type\":\"DOCKER_VOLUME\""), "'source.docker_volume' is not set"},
	{SOURCE("\"type\":\"DOCKER_VOLUME\",\"docker_volume\":{\"name\":\"n\"}"), NULL},
	{SOURCE("\"type\":\"HOST_PATH\""), "'source.host_path' is not set"},
	{SOURCE("\"type\":\"HOST_PATH\",\"host_path\":{\"path\":\"p\"}"), NULL},
	{SOURCE("\"type\":\"SANDBOX_PATH\""), "'source.sandbox_path' is not set"},
	{SOURCE("\"type\":\"SANDBOX_PATH\",\"sandbox_path\":{\"path\":\"p\"}"), NULL},
	{SOURCE("\"type\":\"SECRET\""), "'source.secret' is not set"},
	{SOURCE("\"type\":\"SECRET\",\"secret\":{" SECRET_VALUE "}"), NULL},
	{SOURCE("\"type\":\"CSI_VOLUME\""), "'source.csi_volume' is not set"},
	{SOURCE("\"type\":\"CSI_VOLUME\",\"csi_volume\":{\"plugin_name\":\"p\"}"),
	 "'source.csi_volume.static_provisioning' is not set"},
	{PARAMETER("name"), "Parameter in DockerInfo must not be 'name'"},
	{PARAMETER("names"), NULL},
	{TASK ",\"limits\":{\"cpus\":{\"value\":1}}", NULL},
	{TASK ",\"limits\":{\"cpus\":{\"value\":0.999}}",
	 "The cpu limit must be greater than or equal to the cpu request"},
	{IDS ",\"resources\":[" CPUS(1) "," MEM(32) "]," TRUE_COMMAND
						    ",\"limits\":{\"mem\":{\"value\":32}}",
	 NULL},
	{TASK ",\"kill_policy\":{\"grace_period\":{\"nanoseconds\":0}}", NULL},
	{TASK ",\"kill_policy\":{}", NULL},
	{TASK ",\"max_completion_time\":{\"nanoseconds\":0}", NULL},
	{TASK ",\"check\":{\"type\":\"TCP\",\"tcp\":{\"port\":0}," NO_SECONDS("") "}", NULL},
	{TASK ",\"check\":{\"type\":\"HTTP\",\"http\":{\"port\":1}}", NULL},
	{TASK ",\"check\":{\"type\":\"HTTP\",\"http\":{\"port\":1,\"path\":\"/\"}}", NULL},
	{TASK ",\"health_check\":{\"type\":\"TCP\",\"tcp\":{\"port\":1},\"consecutive_failures\":"
	      "0," NO_SECONDS(",\"grace_period_seconds\":0") "}",
	 NULL},
	{TASK ",\"health_check\":{\"type\":\"HTTP\",\"http\":{\"port\":1,\"scheme\":\"http\"}}",
	 NULL},
	{TASK ",\"health_check\":{\"type\":\"HTTP\",\"http\":{\"port\":1,\"scheme\":\"https\"}}",
	 NULL},
	{IDS ",\"resources\":[" CPUS(1) "," MEM(1) "]," TRUE_COMMAND, NULL},
	{IDS ",\"resources\":[" CPUS(0.01) "]," TRUE_COMMAND, NULL},
	{GOOD ",\"command\":{\"value\":\"\"}", NULL},
};

Test(master_validation, commands_and_containers)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		driver_forget(d);
		launch(parts[i].members);
		if (parts[i].message) {
			expect(d, "TASK_ERROR", "REASON_TASK_INVALID", parts[i].message);
			refute(d, "RunTask");
		} else {
			expect(d, "RunTaskMessage");
			refute(d, "TASK_ERROR");
		}
		tear_down();
		set_up();
	}
}

/* ---- groups ------------------------------------------------------------------------- */

#define GROUP(executor, tasks)                                                                     \
	"{\"type\":\"LAUNCH_GROUP\",\"launch_group\":{\"executor\":{\"executor_id\":"              \
	"{\"value\":\"g\"}," executor "},\"task_group\":{\"tasks\":[" tasks "]}}}"
#define GROUP_ID "\"framework_id\":{\"value\":\"M-0000\"}"
#define GROUP_EXECUTOR                                                                             \
	GROUP_ID ",\"type\":\"DEFAULT\",\"resources\":[" CPUS(0.1) "," MEM(32) "," DISK(1) "]"
#define GROUP_TASK "{\"name\":\"t\"," TASK "}"

static const struct {
	const char *operation, *message;
} groups[] = {
	{GROUP("\"type\":\"DEFAULT\"", GROUP_TASK), "'ExecutorInfo.framework_id' must be set"},
	{GROUP(GROUP_ID, GROUP_TASK), "'ExecutorInfo.type' must be set"},
	{GROUP(GROUP_ID ",\"type\":\"DEFAULT\"", GROUP_TASK),
	 "Executor 'g' uses less CPUs (None) than the minimum required (0.01)"},
	{GROUP(GROUP_ID ",\"type\":\"DEFAULT\",\"resources\":[" CPUS(0.1) "," MEM(16) "]",
	       GROUP_TASK),
	 "Executor 'g' uses less memory (16MB) than the minimum required (32MB)"},
	{GROUP(GROUP_ID ",\"type\":\"DEFAULT\",\"resources\":[" CPUS(0.1) "," MEM(32) "]",
	       GROUP_TASK),
	 "Executor 'g' uses no disk"},
	{GROUP(GROUP_ID ",\"type\":\"DEFAULT\"", GROUP_TASK "," GROUP_TASK),
	 "Task 't' is invalid: Task has duplicate ID: t"},
	{GROUP(GROUP_ID ",\"type\":\"DEFAULT\"",
	       "{\"name\":\"t\"," GOOD ",\"executor\":{\"executor_id\":{\"value\":\"x\"}}}"),
	 "The `ExecutorInfo` of task 't' is different from executor 'g'"},
	{GROUP(GROUP_ID ",\"type\":\"DEFAULT\"",
	       "{\"name\":\"t\"," TASK ",\"limits\":{\"cpus\":{\"value\":1}}}"),
	 "Task 't' is invalid: Resource limits may only be set"},
	{GROUP(GROUP_EXECUTOR,
	       "{\"name\":\"t\"," IDS ",\"resources\":[" PORTS(
		       1, 2) "]," TRUE_COMMAND
			     "},{\"name\":\"u\",\"task_id\":{\"value\":\"u\"},\"agent_id\":{"
			     "\"value\":\"M-S0\"},\"resources\":[" PORTS(2, 3) "]," TRUE_COMMAND
									       "}"),
	 "There are overlapping resources in the task group's task resources [ "
	 "ports(allocated: *):[1-2], ports(allocated: *):[2-3] ] and/or executor resources [{"},
	{GROUP(GROUP_EXECUTOR,
	       "{\"name\":\"t\"," IDS ",\"resources\":[" CPUS(9) "]," TRUE_COMMAND "}"),
	 "required by task group and its executor are more than available"},
	{GROUP(GROUP_ID ",\"type\":\"UNKNOWN\"", GROUP_TASK), "Unknown executor type"},
	{GROUP(GROUP_ID ",\"type\":\"DEFAULT\",\"container\":{\"type\":\"DOCKER\",\"docker\":{"
			"\"image\":\"i\"}}",
	       GROUP_TASK),
	 "'ExecutorInfo.container.type' must be 'MESOS' for 'DEFAULT' executor"},
	{GROUP(GROUP_ID
	       ",\"type\":\"DEFAULT\",\"container\":{\"type\":\"MESOS\",\"mesos\":{\"image\":{"
	       "\"type\":\"DOCKER\",\"docker\":{\"name\":\"i\"}}}}",
	       GROUP_TASK),
	 "'ExecutorInfo.container.mesos.image' must not be set for 'DEFAULT' executor"},
	{GROUP(GROUP_ID ",\"type\":\"CUSTOM\"," TRUE_COMMAND ",\"container\":{\"type\":\"DOCKER\","
			"\"docker\":{\"image\":\"i\"}}",
	       GROUP_TASK),
	 "Docker ContainerInfo is not supported on the executor"},
	{GROUP(GROUP_ID ",\"type\":\"DEFAULT\"",
	       "{\"name\":\"t\"," TASK ",\"health_check\":{\"type\":"
	       "\"TCP\",\"tcp\":{\"port\":1}},\"container\":{"
	       "\"type\":\"MESOS\",\"network_infos\":[{}]}}"),
	 "HTTP and TCP health checks are not supported for nested containers not joining"},
	{GROUP(GROUP_ID ",\"type\":\"DEFAULT\"",
	       "{\"name\":\"t\"," TASK ",\"health_check\":{\"type\":"
	       "\"HTTP\",\"http\":{\"port\":1}},\"container\":{"
	       "\"type\":\"MESOS\",\"network_infos\":[{}]}}"),
	 "HTTP and TCP health checks are not supported for nested containers not joining"},
	{GROUP(GROUP_EXECUTOR
	       ",\"container\":{\"type\":\"MESOS\",\"linux_info\":{\"share_cgroups\":"
	       "true}}",
	       GROUP_TASK),
	 "The 'share_cgroups' field cannot be set to 'true' on executor containers"},
	{GROUP(GROUP_EXECUTOR,
	       "{\"name\":\"t\"," TASK ",\"container\":{\"type\":\"MESOS\",\"linux_info\":{"
	       "\"share_cgroups\":false}}},{\"name\":\"u\",\"task_id\":{\"value\":\"u\"},\"agent_"
	       "id\":{"
	       "\"value\":\"M-S0\"},\"resources\":[" CPUS(1) "]," TRUE_COMMAND "}"),
	 "If set, the value of 'share_cgroups' must be the same for all tasks"},
	{GROUP(GROUP_EXECUTOR,
	       "{\"name\":\"t\"," IDS ",\"resources\":[{\"name\":\"cpus\",\"type\":"
	       "\"SCALAR\",\"scalar\":{\"value\":1},\"revocable\":{}}]," TRUE_COMMAND "}"),
	 "Task group and executor mix revocable and non-revocable resources"},
	{GROUP(GROUP_EXECUTOR,
	       "{\"name\":\"t\"," TASK ",\"container\":{\"type\":\"DOCKER\",\"docker\":{\"image\":"
	       "\"i\"}}}"),
	 "Task 't' is invalid: Docker ContainerInfo is not supported on the task"},
};

#define AGENT_WITH_DISK "[" CPUS(8) "," MEM(4096) "," DISK(10) "]"

Test(master_validation, groups_are_refused_as_a_whole)
{
	driver_destroy(d);
	d = driver_create();
	driver_agent_like(d, AGENT1, AGENT_WITH_DISK, NULL);
	driver_subscribe(d, NULL, NULL);
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		driver_forget(d);
		accept_offer(groups[i].operation);
		cr_expect(driver_saw(d, "TASK_ERROR", "REASON_TASK_GROUP_INVALID",
				     groups[i].message, NULL),
			  "%s: %s", groups[i].operation, d->trace.data);
		refute(d, "RunTask");
	}
}

#define SECOND_TASK                                                                                \
	"{\"name\":\"u\",\"task_id\":{\"value\":\"u\"},\"agent_id\":{\"value\":\"M-S0\"},"         \
	"\"resources\":[" CPUS(1) "]," TRUE_COMMAND "}"

Test(master_validation, a_good_group_is_one_order)
{
	driver_destroy(d);
	d = driver_create();
	driver_agent_like(d, AGENT1, AGENT_WITH_DISK, NULL);
	driver_subscribe(d, NULL, NULL);
	accept_offer(GROUP(GROUP_EXECUTOR, GROUP_TASK "," SECOND_TASK));
	expect(d, "RunTaskGroupMessage", "\"launch_executor\":true", "\"value\":\"u\"",
	       "\"resource_version_uuids\"");
	refute(d, "RunTaskMessage");
	refute(d, "TASK_ERROR");
	driver_forget(d);
	driver_pass(d, SECOND);
	/* What the executor and its tasks leave of 8. */
	expect(d, "OFFERS", "\"value\":5.9", "\"executor_ids\":[{\"value\":\"g\"}]");
}

/* It knows roles of resources, and no reservations. */
Test(master_validation, agents_of_old_are_told_in_the_old_format)
{
	driver_destroy(d);
	d = driver_create();
	driver_agent_like(d, AGENT1, AGENT_WITH_DISK, "MULTI_ROLE");
	driver_subscribe(d, NULL, NULL);
	launch(GOOD "," EXECUTOR "," TRUE_COMMAND ",\"resources\":[" MEM(32) "]}");
	expect(d, "RunTaskMessage",
	       "\"resources\":[{\"name\":\"cpus\",\"type\":\"SCALAR\","
	       "\"scalar\":{\"value\":1.0},\"role\":\"*\"",
	       "\"resources\":[{\"name\":\"mem\",\"type\":\"SCALAR\",\"scalar\":{"
	       "\"value\":32.0},\"role\":\"*\"");
	driver_forget(d);
	accept_offer(GROUP(GROUP_EXECUTOR, SECOND_TASK));
	expect(d, "RunTaskGroupMessage", "\"scalar\":{\"value\":0.1},\"role\":\"*\"",
	       "\"scalar\":{\"value\":1.0},\"role\":\"*\"");
}

Test(master_validation, an_empty_group_is_nothing)
{
	accept_offer(GROUP(GROUP_EXECUTOR, ""));
	refute(d, "RunTask");
	driver_forget(d);
	driver_pass(d, SECOND);
	expect(d, "OFFERS", "\"value\":4.0");
}

/* ---- invalid offers ------------------------------------------------------------------ */

static void accept_ids(const char *ids)
{
	driver_forget(d);
	driver_call(d, 1,
		    "{\"type\":\"ACCEPT\",\"framework_id\":{\"value\":\"M-0000\"},\"accept\":{"
		    "\"offer_ids\":[%s],\"operations\":[{\"type\":\"LAUNCH\",\"launch\":{"
		    "\"task_infos\":[{\"name\":\"t\"," TASK "}]}},{\"type\":\"RESERVE\",\"id\":"
		    "{\"value\":\"o\"},\"reserve\":{}}]}}",
		    ids);
}

Test(master_validation, invalid_offers_lose_the_tasks)
{
	accept_ids("");
	expect(d, "TASK_LOST", "REASON_INVALID_OFFERS", "SOURCE_MASTER", "\"M-S0\"",
	       "Task launched with invalid offers: No offers specified");
	accept_ids(OFFER("M-O9"));
	expect(d, "TASK_LOST", "Task launched with invalid offers: Offer M-O9 is no longer valid");
	expect(d, "OPERATION_ERROR",
	       "Operation attempted with invalid offers: Offer M-O9 is no longer valid");
	accept_ids(OFFER("M-O0") "," OFFER("M-O0"));
	expect(d, "TASK_LOST", "Duplicate offer M-O0 in offer list");
	/* The named ones that exist are given back. */
	cr_expect_not(master_find_offer(d->m, "M-O0"));
	driver_pass(d, SECOND);
	expect(d, "OFFERS", "M-O1");
}

Test(master_validation, offers_must_be_alike)
{
	driver_agent(d, AGENT2);
	cr_assert_eq(HASH_COUNT(d->m->offers), 2);
	accept_ids(OFFER("M-O0") "," OFFER("M-O1"));
	expect(d, "TASK_LOST",
	       "Aggregated offers must belong to one single agent. Offer M-O1 uses agent M-S1 and "
	       "agent M-S0");
	cr_expect_eq(HASH_COUNT(d->m->offers), 0);
}

Test(master_validation, offers_of_different_roles)
{
	struct offer *o;

	driver_close(d, 1);
	driver_subscribe(d, "F",
			 "\"roles\":[\"q\",\"r\"],\"capabilities\":[{\"type\":\"MULTI_ROLE\"},"
			 "{\"type\":\"PARTITION_AWARE\"}]");
	driver_launch(d, 2, "F", offer(), "M-S0", "t", NULL);
	/* The rest goes to the other role, and what the task held to its own again. */
	driver_pass(d, SECOND);
	driver_update(d, AGENT1, "M-S0", "F", "t", "TASK_FINISHED", 1);
	driver_pass(d, SECOND);
	cr_assert_eq(HASH_COUNT(d->m->offers), 2);
	o = d->m->offers;
	cr_assert(strcmp(o->role, ((struct offer *)o->hh.next)->role));
	driver_forget(d);
	driver_call(
		d, 2,
		"{\"type\":\"ACCEPT\",\"framework_id\":{\"value\":\"F\"},\"accept\":{"
		"\"offer_ids\":[{\"value\":\"%s\"},{\"value\":\"%s\"}],\"operations\":[{\"type\":"
		"\"LAUNCH\",\"launch\":{\"task_infos\":[{\"name\":\"t\"," TASK "}]}}]}}",
		o->id, ((struct offer *)o->hh.next)->id);
	expect(d, "TASK_DROPPED", "REASON_INVALID_OFFERS",
	       "Aggregated offers must be allocated to the same role. Offer ");
}

Test(master_validation, foreign_offers)
{
	driver_subscribe(d, NULL, NULL);
	driver_forget(d);
	driver_call(d, 2,
		    "{\"type\":\"ACCEPT\",\"framework_id\":{\"value\":\"M-0001\"},\"accept\":{"
		    "\"offer_ids\":[{\"value\":\"M-O0\"}],\"operations\":[{\"type\":\"LAUNCH\","
		    "\"launch\":{\"task_infos\":[{\"name\":\"t\"," TASK "}]}}]}}");
	expect(d, "event 2 UPDATE", "TASK_LOST",
	       "Offer M-O0 has invalid framework M-0000 while framework M-0001 is expected");
	cr_expect_not(master_find_offer(d->m, "M-O0"));
	refute(d, "RESCIND");
}

Test(master_validation, refused_tasks_have_no_executor)
{
	launch(IDS "," EXECUTOR ",\"type\":\"CUSTOM\"},\"resources\":[" CPUS(1) "," MEM(32) "]");
	expect(d, "TASK_ERROR", "'ExecutorInfo.command' must be set for 'CUSTOM' executor");
	refute(d, "TASK_ERROR", "executor_id");
	accept_ids(OFFER("none"));
	refute(d, "TASK_LOST", "executor_id");
}

Test(master_validation, what_is_malformed_is_refused_before_anything_runs)
{
	const char *first, *second;

	driver_forget(d);
	accept_offer(
		"{\"type\":\"LAUNCH\",\"launch\":{\"task_infos\":[{\"name\":\"t\","
		"\"task_id\":{\"value\":\"a/b\"},\"agent_id\":{\"value\":\"M-S0\"}," TRUE_COMMAND
		",\"resources\":[" CPUS(
			1) "]}]}},"
			   "{\"type\":\"LAUNCH\",\"launch\":{\"task_infos\":[{\"name\":\"t\"," IDS
			   "," TRUE_COMMAND
			   ",\"resources\":[" CPUS(-1) "]}]}},"
						       "{\"type\":\"LAUNCH\",\"launch\":{}}");
	first = strstr(d->trace.data, "Resource 'cpus:-1' is invalid");
	second = strstr(d->trace.data, "'a/b' contains invalid characters");
	cr_assert(first && second);
	cr_expect_lt(first, second);
	cr_expect_eq(d->m->counters.messages_launch_tasks, 2);
	cr_expect_eq(d->m->counters.messages_decline_offers, 1);
	cr_expect_eq(master_find_framework(d->m, "M-0000")
			     ->counters.operations[MESOS__OFFER__OPERATION__TYPE__LAUNCH],
		     0);
}
