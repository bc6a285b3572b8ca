/* Operations on resources by frameworks, and what they make of offers, agents and tasks. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/master_operations.h"

static struct driver *d;
static uint64_t stream;

static void set_up(void)
{
	d = driver_create();
}

static void tear_down(void)
{
	driver_destroy(d);
}

TestSuite(master_operations, .init = set_up, .fini = tear_down);

#define OLD_AGENT "MULTI_ROLE RESERVATION_REFINEMENT"

static void begin(const char *framework, const char *capabilities)
{
	stream = driver_subscribe(d, NULL, framework);
	driver_agent_like(d, AGENT1, ROOMY, capabilities);
}

static void operations(const char *list)
{
	driver_forget(d);
	accept_offer(d, stream, "M-0000", driver_offer(d), 0, list);
}

/* In the grammar of --resources, or as a JSON list of messages. */
static void parse(const char *text, struct resources *out)
{
	struct err err = {{0}};
	struct arena arena;
	struct json *json;

	*out = RESOURCES_INIT;
	if (text[0] != '[') {
		cr_assert_eq(resources_parse(d->m->shapes, text, "*", out, &err), 0, "%s",
			     err.text);
		return;
	}
	arena_init(&arena);
	cr_assert_eq(json_parse(&arena, text, strlen(text), &json, &err), 0, "%s", err.text);
	for (size_t i = 0; i < json->count; i++)
		resources_add_message(d->m->shapes, out,
				      json_to_proto(&mesos__resource__descriptor, &json->items[i],
						    SPELL_V1, &arena, &err));
	arena_free(&arena);
}

static void expect_same(const struct resources *r, const char *text)
{
	struct resources wanted, plain;
	struct buf has = BUF_INIT;

	parse(text, &wanted);
	resources_allocate(d->m->shapes, r, NULL, &plain);
	resources_print(&plain, &has);
	cr_expect(resources_equal(&plain, &wanted), "not %s: %s", text, has.data);
	buf_free(&has);
	resources_free(&wanted);
	resources_free(&plain);
}

static void expect_total(const char *text)
{
	expect_same(&d->m->agents->total, text);
}

/* All that is offered of the agent. */
static void expect_offered(const char *text)
{
	expect_same(&d->m->agents->offered, text);
}

#define ALL_PLAIN "cpus:4;mem:4096;disk:1000"
#define JSON(list) "[" list "]"
#define REST SCALAR("cpus", 4, "") "," SCALAR("mem", 4096, "")

/* ---- the five ------------------------------------------------------------------------ */

Test(master_operations, reserve_create_destroy_unreserve)
{
	begin(ROLE_R, NULL);
	operations(RESERVE("", SCALAR("disk", 64, DYNAMIC("r"))));
	expect(d, "master -> slave(1)@127.0.0.1:5001 ApplyOperationMessage",
	       "\"framework_id\":{\"value\":\"M-0000\"}", "\"type\":\"RESERVE\"",
	       "\"allocation_info\":{\"role\":\"r\"}",
	       "\"resource_version_uuid\":{\"uuid\":{\"value\":\"AAECAwQFRgeICQoLDA0ODw==\"}}");
	expect_total(JSON(REST "," SCALAR("disk", 936, "") "," SCALAR("disk", 64, DYNAMIC("r"))));
	cr_expect_eq(d->m->agents->checkpointed_count, 1);
	driver_pass(d, 2 * SECOND);
	expect(d, "OFFERS", "\"reservations\":[{\"role\":\"r\",\"type\":\"DYNAMIC\"}]");

	operations(CREATE("", SCALAR("disk", 64, DYNAMIC("r") VOLUME("v"))));
	expect(d, "ApplyOperationMessage", "\"type\":\"CREATE\"");
	expect_total(JSON(
		REST "," SCALAR("disk", 936, "") "," SCALAR("disk", 64, DYNAMIC("r") VOLUME("v"))));
	driver_pass(d, 2 * SECOND);
	expect(d, "OFFERS", "\"persistence\":{\"id\":\"v\"}");

	operations(DESTROY("", SCALAR("disk", 64, DYNAMIC("r") VOLUME("v"))));
	expect_total(JSON(REST "," SCALAR("disk", 936, "") "," SCALAR("disk", 64, DYNAMIC("r"))));
	driver_pass(d, 2 * SECOND);
	operations(UNRESERVE("", SCALAR("disk", 64, DYNAMIC("r"))));
	expect_total(ALL_PLAIN);
	cr_expect_eq(d->m->agents->checkpointed_count, 0);
	driver_pass(d, 2 * SECOND);
	expect_offered(ALL_PLAIN);
}

Test(master_operations, grow_and_shrink)
{
	begin(ROLE_R, NULL);
	operations(RESERVE("", SCALAR("disk", 100, DYNAMIC("r"))) "," CREATE(
		"", SCALAR("disk", 64, DYNAMIC("r") VOLUME("v"))));
	driver_pass(d, 2 * SECOND);
	operations(GROW("", SCALAR("disk", 64, DYNAMIC("r") VOLUME("v")),
			SCALAR("disk", 36, DYNAMIC("r"))));
	expect(d, "ApplyOperationMessage", "GROW_VOLUME");
	expect_total(JSON(REST "," SCALAR("disk", 900, "") "," SCALAR("disk", 100,
								      DYNAMIC("r") VOLUME("v"))));
	driver_pass(d, 2 * SECOND);
	expect_offered(JSON(REST "," SCALAR("disk", 900, "") "," SCALAR("disk", 100,
									DYNAMIC("r") VOLUME("v"))));
	operations(SHRINK("", SCALAR("disk", 100, DYNAMIC("r") VOLUME("v")), 90));
	driver_pass(d, 2 * SECOND);
	expect_offered(JSON(REST "," SCALAR("disk", 900, "") "," SCALAR(
		"disk", 90, DYNAMIC("r")) "," SCALAR("disk", 10, DYNAMIC("r") VOLUME("v"))));
}

/* What became of a resize is for nobody in the same ACCEPT. */
Test(master_operations, resized_volumes_cannot_be_used_at_once)
{
	begin(ROLE_R, NULL);
	operations(RESERVE("", SCALAR("disk", 100, DYNAMIC("r"))) "," CREATE(
		"", SCALAR("disk", 64, DYNAMIC("r") VOLUME("v"))));
	driver_pass(d, 2 * SECOND);
	operations(GROW(
		"", SCALAR("disk", 64, DYNAMIC("r") VOLUME("v")),
		SCALAR("disk", 36,
		       DYNAMIC("r"))) "," LAUNCH(LAUNCH_TASK("t1",
							     SCALAR("cpus", 1, "") "," SCALAR(
								     "mem", 32,
								     "") "," SCALAR("disk", 100,
										    DYNAMIC("r") VOLUME(
											    "v")))));
	expect(d, "UPDATE", "TASK_ERROR", "is more than available");
	refute(d, "RunTaskMessage");
}

/* ---- in one ACCEPT ---------------------------------------------------------------------- */

Test(master_operations, reserve_create_and_launch_in_one_accept)
{
	begin(ROLE_R, NULL);
	operations(RESERVE("", SCALAR("disk", 64, DYNAMIC("r"))) "," CREATE(
		"",
		SCALAR("disk", 64,
		       DYNAMIC("r") VOLUME(
			       "v"))) "," LAUNCH(LAUNCH_TASK("t1",
							     SCALAR("cpus", 1, "") "," SCALAR(
								     "mem", 32,
								     "") "," SCALAR("disk", 64,
										    DYNAMIC("r") VOLUME(
											    "v")))));
	expect(d, "RunTaskMessage", "\"persistence\":{\"id\":\"v\"}");
	refute(d, "UPDATE ");
	driver_pass(d, 2 * SECOND);
	expect_offered("cpus:3;mem:4064;disk:936");
	/* In use: not destroyed. */
	operations(DESTROY(OPERATION_ID("op"), SCALAR("disk", 64, DYNAMIC("r") VOLUME("v"))));
	expect(d, "UPDATE_OPERATION_STATUS", "Persistent volumes in use; on agent M-S0");
	driver_update(d, AGENT1, "M-S0", "M-0000", "t1", "TASK_FINISHED", 1);
	driver_pass(d, 2 * SECOND);
	expect(d, "OFFERS", "\"persistence\":{\"id\":\"v\"}");
}

Test(master_operations, tasks_on_reserved_resources)
{
	begin(ROLE_R, NULL);
	operations(RESERVE("", SCALAR("cpus", 2, DYNAMIC("r"))));
	driver_pass(d, 2 * SECOND);
	/* Unreserved cpus are not there in such a number. */
	operations(LAUNCH(LAUNCH_TASK("t1", SCALAR("cpus", 3, "") "," SCALAR("mem", 32, ""))));
	expect(d, "UPDATE", "TASK_ERROR", "is more than available");
	driver_pass(d, 2 * SECOND);
	operations(LAUNCH(
		LAUNCH_TASK("t1", SCALAR("cpus", 2, "") "," SCALAR(
					  "cpus", 2, DYNAMIC("r")) "," SCALAR("mem", 32, ""))));
	expect(d, "RunTaskMessage", "\"task_id\":{\"value\":\"t1\"}");
}

/* Case: half an offer is reserved, the rest refused for a day. Both halves come together,
 * since their union was not refused. */
Test(master_operations, converted_resources_are_not_refused)
{
	begin(ROLE_R, NULL);
	driver_forget(d);
	accept_offer(
		d, stream, "M-0000", driver_offer(d), 86400,
		RESERVE("", SCALAR("cpus", 2, DYNAMIC("r")) "," SCALAR("mem", 2048, DYNAMIC("r"))));
	driver_pass(d, 2 * SECOND);
	expect_offered(JSON(SCALAR("cpus", 2, "") "," SCALAR("mem", 2048, "") "," SCALAR(
		"disk", 1000, "") "," SCALAR("cpus", 2, DYNAMIC("r")) "," SCALAR("mem", 2048,
										 DYNAMIC("r"))));
}

/* Had the reserved half been used, the other alone is refused. */
Test(master_operations, the_rest_stays_refused)
{
	begin(ROLE_R, NULL);
	driver_forget(d);
	accept_offer(
		d, stream, "M-0000", driver_offer(d), 86400,
		RESERVE("", SCALAR("cpus", 2, DYNAMIC("r")) "," SCALAR("mem", 2048, DYNAMIC("r"))) "," LAUNCH(
			LAUNCH_TASK("t1", SCALAR("cpus", 2, DYNAMIC("r")) "," SCALAR(
						  "mem", 2048, DYNAMIC("r")))));
	driver_pass(d, 10 * SECOND);
	refute(d, "OFFERS");
}

/* ---- agents without resource providers ------------------------------------------------ */

Test(master_operations, old_agents_are_told_what_to_checkpoint)
{
	begin(ROLE_R, OLD_AGENT);
	operations(RESERVE("", SCALAR("disk", 64, DYNAMIC("r"))) "," CREATE(
		"", SCALAR("disk", 64, DYNAMIC("r") VOLUME("v"))));
	expect(d, "CheckpointResourcesMessage", "\"persistence\":{\"id\":\"v\"}", "\"value\":64.0");
	refute(d, "ApplyOperationMessage");
	cr_expect_null(d->m->agents->operations);
	driver_pass(d, 2 * SECOND);
	operations(DESTROY("", SCALAR("disk", 64, DYNAMIC("r") VOLUME("v"))));
	expect(d, "CheckpointResourcesMessage", "\"resources\":[{\"name\":\"disk\"");
	refute(d, "CheckpointResourcesMessage", "persistence");
}

Test(master_operations, agents_without_refinement_get_the_old_format)
{
	begin(ROLE_R, "MULTI_ROLE");
	operations(RESERVE("", SCALAR("disk", 64, DYNAMIC_BY("r", "p"))));
	expect(d, "CheckpointResourcesMessage", "\"role\":\"r\"",
	       "\"reservation\":{\"principal\":\"p\"}");
	refute(d, "CheckpointResourcesMessage", "\"reservations\"");
}

/* What they are to keep is the master's word when they come back. */
/* What operations of one call make of it is told at once, but before a task that may use it. */
Test(master_operations, old_agents_are_told_what_to_checkpoint_once)
{
	const char *made, *task, *unmade;

	begin(ROLE_R, OLD_AGENT);
	driver_forget(d);
	operations(RESERVE("", SCALAR("disk", 64, DYNAMIC("r"))) "," CREATE("", SCALAR("disk", 64, DYNAMIC("r") VOLUME("v"))) "," LAUNCH(
		LAUNCH_TASK(
			"t",
			SCALAR("cpus", 1, "") "," SCALAR(
				"mem", 32,
				""))) "," DESTROY("",
						  SCALAR("disk", 64,
							 DYNAMIC("r") VOLUME(
								 "v"))) "," UNRESERVE("",
										      SCALAR("disk",
											     64,
											     DYNAMIC("r"))));
	cr_expect_eq(driver_count(d, "CheckpointResourcesMessage"), 2);
	made = strstr(d->trace.data, "\"persistence\":{\"id\":\"v\"}");
	task = strstr(d->trace.data, "RunTaskMessage");
	cr_assert(made && task && made < task);
	unmade = strstr(task, "CheckpointResourcesMessage {}");
	cr_expect(unmade, "%s", task);
	cr_expect_eq(d->m->agents->checkpointed_count, 0);
}

Test(master_operations, old_agents_hear_it_again_when_they_reregister)
{
	begin(ROLE_R, OLD_AGENT);
	operations(RESERVE("", SCALAR("disk", 64, DYNAMIC("r"))));
	driver_exited(d, AGENT1);
	driver_forget(d);
	driver_message(d, AGENT1, &mesos__internal__reregister_slave_message__descriptor,
		       "{\"agent\":{\"hostname\":\"host\",\"checkpoint\":true,"
		       "\"id\":{\"value\":\"M-S0\"},\"resources\":%s},\"version\":\"1.12.0\","
		       "\"agent_capabilities\":[{\"type\":\"MULTI_ROLE\"},"
		       "{\"type\":\"RESERVATION_REFINEMENT\"}]}",
		       ROOMY);
	expect(d, "CheckpointResourcesMessage", "\"role\":\"r\"", "\"value\":64.0");
	expect_total(JSON(REST "," SCALAR("disk", 936, "") "," SCALAR("disk", 64, DYNAMIC("r"))));
}

/* ---- formats ------------------------------------------------------------------------------ */

Test(master_operations, frameworks_without_refinement_speak_the_old_format)
{
	begin("\"role\":\"r\"", NULL);
	operations("{\"type\":\"RESERVE\",\"reserve\":{\"resources\":[{\"name\":\"disk\",\"type\":"
		   "\"SCALAR\",\"scalar\":{\"value\":64},\"role\":\"r\",\"reservation\":{}}]}}");
	expect(d, "ApplyOperationMessage",
	       "\"reservations\":[{\"role\":\"r\",\"type\":\"DYNAMIC\"}]");
	driver_pass(d, 2 * SECOND);
	expect(d, "OFFERS", "\"role\":\"r\",\"reservation\":{}");
	refute(d, "OFFERS", "\"reservations\"");
	refute(d, "OFFERS", "allocation_info");
}

/* Static and dynamic reservations of one role differ by `reservation` alone. */
Test(master_operations, static_and_dynamic_in_the_old_format)
{
	stream = driver_subscribe(d, NULL,
				  "\"roles\":[\"r\"],\"capabilities\":[{\"type\":\"MULTI_ROLE\"}]");
	driver_agent_like(d, AGENT1,
			  "[" SCALAR("cpus", 3, "") "," SCALAR("mem", 1024, "") "," SCALAR(
				  "cpus", 1, ",\"role\":\"r\"") "]",
			  NULL);
	operations("{\"type\":\"RESERVE\",\"reserve\":{\"resources\":[{\"name\":\"cpus\",\"type\":"
		   "\"SCALAR\",\"scalar\":{\"value\":1},\"role\":\"r\",\"reservation\":{}}]}}");
	driver_forget(d);
	driver_pass(d, 2 * SECOND);
	expect(d, "OFFERS", "\"scalar\":{\"value\":1.0},\"role\":\"r\",\"allocation_info\"",
	       "\"scalar\":{\"value\":1.0},\"role\":\"r\",\"reservation\":{}",
	       "\"scalar\":{\"value\":2.0},\"role\":\"*\"");
	expect_total(JSON(SCALAR("cpus", 2, "") "," SCALAR("mem", 1024, "") "," SCALAR(
		"cpus", 1, STATIC("r")) "," SCALAR("cpus", 1, DYNAMIC("r"))));
}

/* ---- shared volumes ----------------------------------------------------------------------- */

#define VOLUME_SHARED SCALAR("disk", 64, DYNAMIC("r") VOLUME("v") SHARED)
#define SHARING(task)                                                                              \
	LAUNCH_TASK(task, SCALAR("cpus", 1, "") "," SCALAR("mem", 32, "") "," VOLUME_SHARED)

static void begin_sharing(void)
{
	begin(ROLE_R_SHARING, NULL);
	operations(RESERVE("", SCALAR("disk", 64, DYNAMIC("r"))) "," CREATE("", VOLUME_SHARED));
	driver_pass(d, 2 * SECOND);
	expect(d, "OFFERS", "\"shared\":{}");
}

Test(master_operations, several_tasks_share_a_volume)
{
	begin_sharing();
	operations(LAUNCH(SHARING("t1") "," SHARING("t2") "," SHARING("t3")));
	cr_expect_eq(driver_count(d, "RunTaskMessage"), 3);
	refute(d, "TASK_ERROR");
	driver_pass(d, 2 * SECOND);
	/* It is there still. */
	expect(d, "OFFERS", "\"shared\":{}");
	operations(DESTROY(OPERATION_ID("op"), VOLUME_SHARED));
	expect(d, "UPDATE_OPERATION_STATUS", "Persistent volumes in use");
	driver_update(d, AGENT1, "M-S0", "M-0000", "t1", "TASK_FINISHED", 1);
	driver_update(d, AGENT1, "M-S0", "M-0000", "t2", "TASK_FINISHED", 2);
	driver_update(d, AGENT1, "M-S0", "M-0000", "t3", "TASK_FINISHED", 3);
	driver_pass(d, 2 * SECOND);
}

/* Case: others hear of the volume if they can share. */
Test(master_operations, shared_volumes_are_for_those_that_share)
{
	uint64_t other;

	begin_sharing();
	operations(LAUNCH(SHARING("t1")));
	driver_call(d, stream, "{\"type\":\"SUPPRESS\",\"framework_id\":{\"value\":\"M-0000\"}}");
	driver_forget(d);
	other = driver_subscribe(d, NULL, ROLE_R);
	driver_pass(d, 2 * SECOND);
	expect(d, "OFFERS", "M-0001", "\"name\":\"cpus\"");
	refute(d, "OFFERS", "M-0001", "\"shared\"");
	driver_close(d, other);
	driver_forget(d);
	driver_subscribe(d, NULL, ROLE_R_SHARING);
	driver_pass(d, 2 * SECOND);
	expect(d, "OFFERS", "M-0002", "\"shared\"");
	/* Once in a cycle; the task of the other has it all the time. */
	expect_offered(JSON(SCALAR("cpus", 3, "") "," SCALAR("mem", 4064, "") "," SCALAR(
		"disk", 936, "") "," VOLUME_SHARED));
}

/* A volume that goes away is taken out of the offers of others. */
Test(master_operations, destroying_rescinds_offers_with_the_volume)
{
	char *theirs;

	begin_sharing();
	driver_forget(d);
	accept_offer(d, stream, "M-0000", driver_offer(d), 1000,
		     LAUNCH(LAUNCH_TASK("t1", SCALAR("cpus", 3, "") "," SCALAR("mem", 3000, ""))));
	driver_subscribe(d, NULL, ROLE_R_SHARING);
	driver_pass(d, 2 * SECOND);
	theirs = xstrdup(driver_offer(d));
	expect(d, "OFFERS", theirs, "M-0001", "\"shared\"");
	driver_update(d, AGENT1, "M-S0", "M-0000", "t1", "TASK_FINISHED", 1);
	driver_pass(d, 2 * SECOND);
	expect(d, "OFFERS", driver_offer(d), "M-0000", "\"shared\"");
	operations(DESTROY("", VOLUME_SHARED));
	expect(d, "RESCIND", theirs);
	expect(d, "ApplyOperationMessage", "DESTROY");
	driver_pass(d, 10 * SECOND);
	expect_offered(JSON(REST "," SCALAR("disk", 936, "") "," SCALAR("disk", 64, DYNAMIC("r"))));
	free(theirs);
}

/* ---- restarts ------------------------------------------------------------------------------- */

/* The agent is the authority on what it has. */
Test(master_operations, a_restarted_master_finds_the_reservations)
{
	begin(ROLE_R, NULL);
	operations(RESERVE("", SCALAR("disk", 64, DYNAMIC("r"))));
	driver_restart(d, "M2");
	expect_total(JSON(REST "," SCALAR("disk", 936, "") "," SCALAR("disk", 64, DYNAMIC("r"))));
	driver_message(d, AGENT1, &mesos__internal__reregister_slave_message__descriptor,
		       "{\"agent\":{\"hostname\":\"host\",\"checkpoint\":true,"
		       "\"id\":{\"value\":\"M-S0\"},\"resources\":%s},\"version\":\"1.12.0\","
		       "\"checkpointed_resources\":[" SCALAR(
			       "disk", 32,
			       DYNAMIC("r")) "],"
					     "\"resource_version_uuid\":{\"value\":"
					     "\"AAECAwQFRgeICQoLDA0ODw==\"},"
					     "\"agent_capabilities\":[{\"type\":\"MULTI_ROLE\"},"
					     "{\"type\":\"RESERVATION_REFINEMENT\"},{\"type\":"
					     "\"RESOURCE_PROVIDER\"}]}",
		       ROOMY);
	expect_total(JSON(REST "," SCALAR("disk", 968, "") "," SCALAR("disk", 32, DYNAMIC("r"))));
}

/* ---- too much ------------------------------------------------------------------------------- */

/* Reservations that nothing makes one: `count` of them, from the number `from` on. */
static char *many_reservations(int from, int count)
{
	struct buf list = BUF_INIT;

	for (int i = 0; i < count; i++)
		buf_printf(
			&list,
			"%s{\"id\":{\"value\":\"op%d\"},\"type\":\"RESERVE\",\"reserve\":{"
			"\"resources\":[{\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{"
			"\"value\":0.001},\"reservations\":[{\"type\":\"DYNAMIC\",\"role\":\"r\","
			"\"labels\":{\"labels\":[{\"key\":\"k%d\"}]}}]}]}}",
			i ? "," : "", i, from + i);
	return buf_take(&list);
}

Test(master_operations, many_reservations_are_refused)
{
	char *list = many_reservations(0, 1100);

	begin(ROLE_R, NULL);
	operations(list);
	expect(d, "UPDATE_OPERATION_STATUS", "\"op1000\"", "More than 1000 operations in one call");
	cr_expect_eq(driver_count(d, "UPDATE_OPERATION_STATUS"), 100);
	cr_expect_eq(d->m->agents->checkpointed_count, 1000);
	free(list);
	driver_pass(d, 2 * SECOND);
	list = many_reservations(2000, 2);
	operations(list);
	cr_expect_eq(driver_count(d, "reservations and volumes already"), 2);
	cr_expect_eq(d->m->agents->checkpointed_count, 1000);
	free(list);
}
