/* What the operator API shows of frameworks, tasks, executors and agents: messages and members as
 * a Mesos master has them. */
#include <criterion/criterion.h>
#include <string.h>

#include "master/core/frameworks/frameworks.h"
#include "master/http/api/api_objects.h"
#include "tests/unit/master_driver.h"

static struct driver *d;
static struct arena arena;
static struct buf text;

static void set_up(void)
{
	d = driver_create();
	arena_init(&arena);
	text = BUF_INIT;
}

static void tear_down(void)
{
	buf_free(&text);
	arena_free(&arena);
	driver_destroy(d);
}

TestSuite(master_reads, .init = set_up, .fini = tear_down);

#define FID "M-0000"
#define MULTI "\"roles\":[\"r\"],\"capabilities\":[{\"type\":\"MULTI_ROLE\"}]"

static const char *as_json(const void *message)
{
	cr_assert(proto_check_required(message, &text), "missing: %s", text.data);
	buf_clear(&text);
	proto_to_json(message, SPELL_V1_ALL, &text);
	return text.data;
}

#define has(json, part) cr_expect(strstr(json, part), "no %s\nin %s", part, json)
#define hasnt(json, part) cr_expect(!strstr(json, part), "%s\nin %s", part, json)

static const char *frameworks(void)
{
	return as_json(api_collect_frameworks(&(struct view){.m = d->m}, &arena));
}

static const char *tasks(void)
{
	struct buf packed = BUF_INIT;
	Mesos__Master__Response__GetTasks *get;

	api_pack_tasks(&(struct view){.m = d->m}, &packed);
	cr_expect_eq(packed.len, api_packed_tasks_size(&(struct view){.m = d->m}));
	get = proto_unpack(&mesos__master__response__get_tasks__descriptor, &arena, packed.data,
			   packed.len, NULL);
	buf_free(&packed);
	cr_assert(get);
	return as_json(get);
}

Test(master_reads, a_framework_that_waits_for_offers)
{
	const char *json;

	driver_subscribe(d, NULL, MULTI);
	json = frameworks();
	has(json, "{\"frameworks\":[{\"framework_info\":{");
	has(json, "\"roles\":[\"r\"]");
	has(json, "\"active\":true,\"connected\":true");
	has(json, "\"recovered\":false");
	/* Both times are those of the registration, as in Mesos. */
	has(json, "\"registered_time\":{\"nanoseconds\":");
	has(json, "\"reregistered_time\":{\"nanoseconds\":");
	hasnt(json, "unregistered_time");
	has(json, "\"offer_constraints\":{}");
	hasnt(json, "offers\":[");
	hasnt(json, "completed_frameworks");
}

Test(master_reads, offers_are_shown_as_they_are)
{
	const char *json;

	driver_subscribe(d, NULL, "\"role\":\"old\"");
	driver_agent(d, AGENT1);
	driver_pass(d, 2 * SECOND);
	cr_assert(*driver_offer(d));
	json = frameworks();
	has(json, "\"offers\":[{\"id\":{\"value\":\"");
	has(json, "\"framework_id\":{\"value\":\"" FID "\"}");
	has(json, "\"agent_id\":{\"value\":\"M-S0\"}");
	has(json, "\"url\":{\"scheme\":\"http\",\"address\":{");
	has(json, "\"ip\":\"127.0.0.1\",\"port\":5001}");
	/* The framework hears of no allocation, operators do. */
	has(json, "\"allocation_info\":{\"role\":\"old\"}");
	has(json, "\"offered_resources\":[{\"name\":\"cpus\",\"type\":\"SCALAR\","
		  "\"scalar\":{\"value\":4.0},\"role\":\"*\"");
}

#define WITH_PORTS                                                                                 \
	"[{\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1}},"                       \
	"{\"name\":\"mem\",\"type\":\"SCALAR\",\"scalar\":{\"value\":512}},"                       \
	"{\"name\":\"ports\",\"type\":\"RANGES\",\"ranges\":{\"range\":[{\"begin\":31000,"         \
	"\"end\":31999}]}}]"

/* Ranges of two agents are the same numbers: what is left of one is shown. */
Test(master_reads, ranges_of_several_agents)
{
	uint64_t stream = driver_subscribe(d, NULL, MULTI);
	struct resources used, offered;
	struct err why;

	driver_agent_like(d, AGENT1, WITH_PORTS, NULL);
	driver_agent_like(d, AGENT2, WITH_PORTS, NULL);
	driver_pass(d, 2 * SECOND);
	cr_assert_eq(HASH_COUNT(d->m->offers), 2);
	driver_call(d, stream,
		    "{\"type\":\"DECLINE\",\"framework_id\":{\"value\":\"" FID "\"},\"decline\":{"
		    "\"offer_ids\":[{\"value\":\"%s\"}]}}",
		    driver_offer(d));
	cr_assert_eq(HASH_COUNT(d->m->offers), 1);
	framework_held(d->m->frameworks, &used, &offered);
	cr_expect_eq(resources_quantity(&offered, "ports"), 1000 * 1000);
	cr_expect(master_check(d->m, &why), "%s", why.text);
	has(frameworks(), "31000");
	resources_free(&used);
	resources_free(&offered);
}

Test(master_reads, constraints_are_shown_as_they_were_given)
{
	uint64_t stream = driver_subscribe(d, NULL, MULTI);
	int status = driver_call(
		d, stream,
		"{\"type\":\"UPDATE_FRAMEWORK\",\"framework_id\":{\"value\":\"" FID "\"},"
		"\"update_framework\":{\"framework_info\":{\"user\":\"u\",\"name\":\"n\","
		"\"id\":{\"value\":\"" FID "\"}," MULTI "},\"offer_constraints\":{"
		"\"role_constraints\":{\"r\":{\"groups\":[{\"attribute_constraints\":[{"
		"\"selector\":{\"attribute_name\":\"rack\"},\"predicate\":{\"exists\":{}}}]}]}}}}"
		"}");

	cr_assert_eq(status, 200, "%s", d->out.reply.text);
	has(frameworks(), "\"offer_constraints\":{\"role_constraints\":{\"r\":{\"groups\":[{"
			  "\"attribute_constraints\":[{\"selector\":{\"attribute_name\":\"rack\"},"
			  "\"predicate\":{\"exists\":{}}}]}]}}}");
}

static uint64_t run_task(const char *task, const char *more)
{
	uint64_t stream = driver_subscribe(d, NULL, MULTI);

	driver_agent(d, AGENT1);
	driver_pass(d, 2 * SECOND);
	driver_launch(d, stream, FID, driver_offer(d), "M-S0", task, more);
	return stream;
}

Test(master_reads, tasks_by_what_became_of_them)
{
	uint64_t stream = run_task("t1", "");
	const char *json;

	driver_update(d, AGENT1, "M-S0", FID, "t1", "TASK_RUNNING", 1);
	json = tasks();
	has(json, "{\"tasks\":[{\"name\":\"t\",\"task_id\":{\"value\":\"t1\"},"
		  "\"framework_id\":{\"value\":\"" FID "\"},");
	has(json, "\"state\":\"TASK_RUNNING\"");
	has(json, "\"allocation_info\":{\"role\":\"r\"}");
	has(json, "\"statuses\":[{\"task_id\":{\"value\":\"t1\"},\"state\":\"TASK_RUNNING\"");
	has(json, "\"status_update_state\":\"TASK_RUNNING\"");
	has(json, "\"status_update_uuid\":\"AQEBAQEBQAGAAQEBAQEBAQ==\"");
	hasnt(json, "completed_tasks");
	driver_update(d, AGENT1, "M-S0", FID, "t1", "TASK_FINISHED", 2);
	driver_acknowledge(d, stream, FID, "M-S0", "t1", 1);
	driver_acknowledge(d, stream, FID, "M-S0", "t1", 2);
	json = tasks();
	has(json, "{\"completed_tasks\":[{\"name\":\"t\"");
}

/* Mesos leaves them out in protobuf alone, by mistake. */
Test(master_reads, tasks_of_completed_frameworks)
{
	run_task("t1", "");
	driver_update(d, AGENT1, "M-S0", FID, "t1", "TASK_RUNNING", 1);
	cr_assert_eq(driver_operate(d, "{\"type\":\"TEARDOWN\",\"teardown\":{\"framework_id\":"
				       "{\"value\":\"" FID "\"}}}"),
		     200);
	has(tasks(), "{\"completed_tasks\":[{\"name\":\"t\"");
	has(frameworks(), "{\"completed_frameworks\":[{\"framework_info\":{");
	has(frameworks(), "\"unregistered_time\":{\"nanoseconds\":");
}

Test(master_reads, executors_with_their_agents)
{
	const char *json;

	run_task("t1", ",\"command\":null,\"executor\":{\"executor_id\":{\"value\":\"e\"},"
		       "\"type\":\"CUSTOM\",\"command\":{\"value\":\"x\"}}");
	json = as_json(api_collect_executors(&(struct view){.m = d->m}, &arena));
	has(json, "{\"executors\":[{\"executor_info\":{");
	has(json, "\"executor_id\":{\"value\":\"e\"}");
	has(json, "\"framework_id\":{\"value\":\"" FID "\"}");
	has(json, "\"agent_id\":{\"value\":\"M-S0\"}");
}

Test(master_reads, agents_and_those_not_back_yet)
{
	const char *json;

	driver_agent(d, AGENT1);
	json = as_json(api_collect_agents(&(struct view){.m = d->m}, &arena));
	has(json, "{\"agents\":[{\"agent_info\":{");
	has(json, "\"active\":true");
	has(json, "\"pid\":\"" AGENT1 "\"");
	has(json, "\"total_resources\":[{\"name\":\"cpus\"");
	hasnt(json, "recovered_agents");
	driver_restart(d, "M2");
	json = as_json(api_collect_agents(&(struct view){.m = d->m}, &arena));
	has(json, "{\"recovered_agents\":[{");
}
