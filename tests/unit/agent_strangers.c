/* The table of docs/operations.md, "Messages", to the agent: orders count from its master alone. */
#include "agent_harness.h"

#include <string.h>

static struct rig rig;

static void start(void)
{
	rig_init(&rig);
	rig.framework_pid = "scheduler-1@10.0.0.9:1";
	rig_start(&rig);
	rig_register(&rig);
	rig_running(&rig, "t", "e", 1);
	rig_update(&rig, "e", "t", MESOS__TASK_STATE__TASK_RUNNING, 1);
	rig_take(&rig);
}

static void stop(void)
{
	rig_free(&rig);
}

TestSuite(agent_strangers, .init = start, .fini = stop);

#define TYPE(name) &mesos__internal__##name##_message__descriptor
#define AID "\"agent_id\":{\"value\":\"" RIG_AGENT "\"}"
#define FID "\"framework_id\":{\"value\":\"" RIG_FRAMEWORK "\"}"
#define EID "\"executor_id\":{\"value\":\"e\"}"
#define TID "\"task_id\":{\"value\":\"t\"}"
#define UUID "{\"value\":\"AQEBAQEBQAGAAQEBAQEBAQ==\"}"
#define RESOURCE                                                                                   \
	"{\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1},\"reservations\":[{"      \
	"\"type\":\"DYNAMIC\",\"role\":\"r\",\"principal\":\"p\"}]}"
#define TASK(id)                                                                                   \
	"{\"name\":\"n\",\"task_id\":{\"value\":\"" id "\"}," AID ",\"resources\":[],"             \
	"\"command\":{\"value\":\"true\"}}"
#define FRAMEWORK "{\"user\":\"u\",\"name\":\"n\",\"id\":{\"value\":\"" RIG_FRAMEWORK "\"}}"

static const struct {
	const ProtobufCMessageDescriptor *type;
	const char *message;
	const char *seen; /* when the master says it; NULL: that leaves no trace */
} said[] = {
	{TYPE(run_task),
	 "{" FID ",\"framework\":" FRAMEWORK ",\"task\":" TASK("u") ",\"pid\":\"\"}", "launch"},
	{TYPE(run_task_group),
	 "{\"framework\":" FRAMEWORK ",\"executor\":{" EID
	 "},\"task_group\":{\"tasks\":[" TASK("u") "]}}",
	 NULL},
	{TYPE(kill_task), "{" FID "," TID "}", "KILL"},
	{TYPE(shutdown_framework), "{" FID "}", "SHUTDOWN"},
	{TYPE(shutdown_executor), "{" FID "," EID "}", "SHUTDOWN"},
	{TYPE(update_framework), "{" FID ",\"pid\":\"x@1.1.1.1:1\"}", NULL},
	{TYPE(status_update_acknowledgement),
	 "{" AID "," FID "," TID ",\"uuid\":\"AQEBAQEBQAGAAQEBAQEBAQ==\"}", NULL},
	{TYPE(framework_to_executor), "{" AID "," FID "," EID ",\"data\":\"aGk=\"}", "MESSAGE"},
	{TYPE(slave_registered), "{\"agent_id\":{\"value\":\"other\"}}", "exit"},
	{TYPE(slave_reregistered), "{\"agent_id\":{\"value\":\"other\"}}", "exit"},
	{TYPE(checkpoint_resources), "{\"resources\":[" RESOURCE "]}", NULL},
	{TYPE(apply_operation),
	 "{" FID ",\"operation_info\":{\"type\":\"RESERVE\",\"reserve\":{\"resources\":[" RESOURCE
	 "]}},\"operation_uuid\":" UUID ",\"resource_version_uuid\":{\"uuid\":" UUID "}}",
	 NULL},
	{TYPE(acknowledge_operation_status),
	 "{\"operation_uuid\":" UUID ",\"status_uuid\":" UUID "}", NULL},
	{TYPE(reconcile_operations), "{\"operations\":[{\"operation_uuid\":" UUID "}]}",
	 "UpdateOperationStatus"},
	{TYPE(drain_slave), "{\"config\":{}}", NULL},
	{TYPE(shutdown), "{\"message\":\"x\"}", "SHUTDOWN"},
};

static void *message_of(size_t row)
{
	struct err err = {""};
	struct json *json;
	void *message;

	cr_assert_eq(
		json_parse(&rig.arena, said[row].message, strlen(said[row].message), &json, &err),
		0, "row %zu: %s", row, err.text);
	message = json_to_proto(said[row].type, json, SPELL_V1, &rig.arena, &err);
	cr_assert_not_null(message, "row %zu: %s", row, err.text);
	return message;
}

static char *state_of(void)
{
	struct buf text = BUF_INIT;
	struct json_writer w;

	jw_init(&w, &text);
	jw_begin_object(&w);
	agent_write_state(&(struct agent_view){.agent = rig.agent}, &w);
	jw_end_object(&w);
	return buf_take(&text);
}

Test(agent_strangers, change_nothing)
{
	static const char *const strangers[] = {"master@10.9.9.9:5050", "other@10.0.0.1:5050",
						"scheduler-2@10.0.0.9:1", "executor(1)@10.0.0.2:1",
						"@0.0.0.0:0"};
	char *before = state_of(), *after;

	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		for (size_t j = 0; j < sizeof(strangers) / sizeof(strangers[0]); j++) {
			rig_message(&rig, strangers[j], message_of(i));
			cr_expect_str_eq(rig_take(&rig), "", "row %zu, %s", i, strangers[j]);
			after = state_of();
			cr_expect_str_eq(after, before, "row %zu, %s", i, strangers[j]);
			free(after);
		}
	}
	free(before);
}

Test(agent_strangers, are_not_the_master)
{
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		const char *trace;

		stop();
		start();
		rig_message(&rig, RIG_MASTER, message_of(i));
		trace = rig_take(&rig);
		cr_expect(!said[i].seen || strstr(trace, said[i].seen), "row %zu: no %s in\n%s", i,
			  said[i].seen, trace);
	}
}
