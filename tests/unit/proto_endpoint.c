/* Resources as the endpoints show them: the short way that nearly all go says the same as the long
 * one. */
#include "tests/unit/proto_resources.h"

#include "base/random.h"
#include "proto/endpoint.h"

RESOURCES_SUITE(proto_endpoint);

#define SCALAR_OF(name, value)                                                                     \
	"\"name\":\"" name "\",\"type\":\"SCALAR\",\"scalar\":{\"value\":" value "}"
#define RESERVED(role) ",\"reservations\":[{\"type\":\"STATIC\",\"role\":\"" role "\"}]"
#define ALLOCATED(role) ",\"allocation_info\":{\"role\":\"" role "\"}"

/* The first half goes the short way. */
static const char *const pieces[] = {
	SCALAR_OF("cpus", "0.1"),
	SCALAR_OF("cpus", "2.5"),
	SCALAR_OF("mem", "32"),
	SCALAR_OF("disk", "0.001"),
	SCALAR_OF("gpus", "1"),
	SCALAR_OF("mem", "9000000000000"),
	SCALAR_OF("cpus", "1") ALLOCATED("a"),
	SCALAR_OF("mem", "1") RESERVED("r"),

	SCALAR_OF("bandwidth", "7"),
	SCALAR_OF("cpus", "1") ",\"revocable\":{}",
	SCALAR_OF("disk", "5") ",\"shared\":{},\"disk\":{\"persistence\":{\"id\":\"v\"},\"volume\":"
			       "{\"container_path\":\"p\",\"mode\":\"RW\"}}" RESERVED("r"),
	"\"name\":\"ports\",\"type\":\"RANGES\",\"ranges\":{\"range\":[{\"begin\":1,\"end\":9}]}",
	"\"name\":\"ports\",\"type\":\"RANGES\",\"ranges\":{\"range\":[{\"begin\":5,\"end\":20}]}",
	"\"name\":\"zones\",\"type\":\"SET\",\"set\":{\"item\":[\"a\",\"b\"]}",
	"\"name\":\"cpus\",\"type\":\"SCALAR\"",
	"\"name\":\"mem\",\"type\":\"SET\",\"scalar\":{\"value\":3},\"set\":{\"item\":[\"x\"]}",
};
#define PIECES (sizeof(pieces) / sizeof(*pieces))

static void expect_same(Mesos__Resource *const *list, size_t count)
{
	struct buf found = BUF_INIT, expected = BUF_INIT;
	struct resources sum = RESOURCES_INIT;
	struct json_writer w;

	jw_init(&w, &found);
	endpoint_write_resources(&w, shapes, list, count);
	resources_add_messages(shapes, &sum, list, count);
	jw_init(&w, &expected);
	resources_write_model(&sum, &w);
	cr_expect_str_eq(found.data, expected.data);
	resources_free(&sum);
	buf_free(&found);
	buf_free(&expected);
}

Test(proto_endpoint, the_short_way_says_the_same)
{
	Mesos__Resource *all[PIECES], *list[6];
	struct rng rng;

	for (size_t i = 0; i < PIECES; i++) {
		all[i] = message_of(pieces[i]);
		expect_same(&all[i], 1);
		for (size_t j = 0; j < i; j++) {
			Mesos__Resource *two[] = {all[j], all[i]};

			expect_same(two, 2);
		}
	}
	expect_same(NULL, 0);
	rng_seed(&rng, 1);
	for (int round = 0; round < 2000; round++) {
		size_t count = (size_t)(rng_next(&rng) % 7), most = round % 2 ? PIECES : PIECES / 2;

		for (size_t i = 0; i < count; i++)
			list[i] = all[(size_t)(rng_next(&rng) % most)];
		expect_same(list, count);
	}
}

/* ---- shapes of their own ------------------------------------------------------------------- */

static void *message_from(const ProtobufCMessageDescriptor *type, const char *text)
{
	struct err err = {""};
	struct json *json;
	void *message;

	cr_assert_eq(json_parse(&arena, text, strlen(text), &json, &err), 0, "%s", err.text);
	message = json_to_proto(type, json, SPELL_V1, &arena, &err);
	cr_assert(message, "%s: %s", text, err.text);
	return message;
}

static void show_task(struct json_writer *w, const char *text)
{
	endpoint_write_task(w, shapes, message_from(&mesos__task__descriptor, text));
}

static void show_executor(struct json_writer *w, const char *text)
{
	jw_begin_object(w);
	endpoint_write_executor_members(w, shapes,
					message_from(&mesos__executor_info__descriptor, text));
	jw_end_object(w);
}

static void show_domain(struct json_writer *w, const char *text)
{
	endpoint_write_domain(w, message_from(&mesos__domain_info__descriptor, text));
}

static void show_attributes(struct json_writer *w, const char *text)
{
	Mesos__AgentInfo *info = message_from(&mesos__agent_info__descriptor, text);

	endpoint_write_attributes(w, info->attributes, info->n_attributes);
}

static void show_reserved(struct json_writer *w, const char *text)
{
	struct resources r = make(text);

	jw_begin_array(w);
	endpoint_write_reserved(w, &r);
	endpoint_write_unreserved(w, &r);
	jw_end_array(w);
	resources_free(&r);
}

static void show_full(struct json_writer *w, const char *text)
{
	struct resources r = make(text);

	jw_begin_array(w);
	endpoint_write_full(w, &r, NULL);
	endpoint_write_full(w, &r, "*");
	endpoint_write_full(w, &r, "a");
	endpoint_write_reserved_full(w, &r);
	jw_end_array(w);
	resources_free(&r);
}

#define IDS                                                                                        \
	"\"task_id\":{\"value\":\"t\"},\"framework_id\":{\"value\":\"f\"},\"agent_id\":"           \
	"{\"value\":\"a\"},\"name\":\"n\""
#define IDS_SHOWN                                                                                  \
	"\"id\":\"t\",\"name\":\"n\",\"framework_id\":\"f\",\"executor_id\":\"\",\"slave_id\":"    \
	"\"a\""
#define NOTHING "{\"cpus\":0.0,\"gpus\":0.0,\"mem\":0.0,\"disk\":0.0}"
#define ONE_CPU "{\"cpus\":1.0,\"gpus\":0.0,\"mem\":0.0,\"disk\":0.0}"

/* Resources one by one, in the format of endpoints. */
#define FULL(name, role, value, more)                                                              \
	"{\"name\":\"" name "\",\"type\":\"SCALAR\",\"scalar\":{\"value\":" value                  \
	"},\"role\":\"" role "\"" more "}"
#define STATIC_OF(role) ",\"reservations\":[{\"role\":\"" role "\",\"type\":\"STATIC\"}]"
#define BARE FULL("cpus", "*", "1.0", "")
#define OF_A FULL("cpus", "a", "2.0", STATIC_OF("a"))
#define OF_B FULL("mem", "b", "3.0", STATIC_OF("b"))

static const struct {
	void (*show)(struct json_writer *w, const char *text);
	const char *text, *shown;
} shapes_shown[] = {
	{show_task, "{" IDS ",\"state\":\"TASK_STAGING\"}",
	 "{" IDS_SHOWN ",\"state\":\"TASK_STAGING\",\"resources\":" NOTHING ",\"role\":\"*\","
	 "\"statuses\":[]}"},
	{show_task,
	 "{" IDS ",\"executor_id\":{\"value\":\"e\"},\"state\":\"TASK_RUNNING\",\"user\":\"u\","
	 "\"resources\":[{" CPU ",\"allocation_info\":{\"role\":\"r\"}}],"
	 "\"labels\":{\"labels\":[{\"key\":\"k\",\"value\":\"v\"},{\"key\":\"bare\"}]},"
	 "\"discovery\":{\"visibility\":\"CLUSTER\",\"name\":\"d\"},"
	 "\"container\":{\"type\":\"MESOS\"},\"health_check\":{\"type\":\"COMMAND\"},"
	 "\"statuses\":[{\"task_id\":{\"value\":\"t\"},\"state\":\"TASK_STARTING\"},"
	 "{\"task_id\":{\"value\":\"t\"},\"state\":\"TASK_RUNNING\",\"timestamp\":2.5,"
	 "\"healthy\":false,\"labels\":{\"labels\":[]},\"container_status\":{\"container_id\":"
	 "{\"value\":\"c\"},\"executor_pid\":7,\"network_infos\":[{\"name\":\"net\"},{}],"
	 "\"cgroup_info\":{\"net_cls\":{\"classid\":3}}}},"
	 "{\"task_id\":{\"value\":\"t\"},\"state\":\"TASK_RUNNING\",\"container_status\":{}}]}",
	 "{\"id\":\"t\",\"name\":\"n\",\"framework_id\":\"f\",\"executor_id\":\"e\",\"slave_id\":"
	 "\"a\",\"state\":\"TASK_RUNNING\",\"resources\":" ONE_CPU ",\"role\":\"r\",\"statuses\":["
	 "{\"state\":\"TASK_STARTING\",\"timestamp\":0.0},"
	 "{\"state\":\"TASK_RUNNING\",\"timestamp\":2.5,\"labels\":[],\"container_status\":"
	 "{\"container_id\":{\"value\":\"c\"},\"network_infos\":[{\"name\":\"net\"},{}],"
	 "\"cgroup_info\":{\"net_cls\":{\"classid\":3}}},\"healthy\":false},"
	 "{\"state\":\"TASK_RUNNING\",\"timestamp\":0.0,\"container_status\":{}}],\"user\":\"u\","
	 "\"labels\":[{\"key\":\"k\",\"value\":\"v\"},{\"key\":\"bare\"}],"
	 "\"discovery\":{\"visibility\":\"CLUSTER\",\"name\":\"d\"},"
	 "\"container\":{\"type\":\"MESOS\"},\"health_check\":{\"delay_seconds\":15.0,"
	 "\"interval_seconds\":10.0,\"timeout_seconds\":20.0,\"consecutive_failures\":3,"
	 "\"grace_period_seconds\":10.0,\"type\":\"COMMAND\"}}"}, /* defaults are shown */
	{show_executor, "{\"executor_id\":{\"value\":\"e\"}}",
	 "{\"executor_id\":\"e\",\"name\":\"\",\"framework_id\":\"\",\"resources\":" NOTHING "}"},
	{show_executor,
	 "{\"type\":\"CUSTOM\",\"executor_id\":{\"value\":\"e\"},\"name\":\"n\","
	 "\"framework_id\":{\"value\":\"f\"},\"resources\":[{" CPU "}],"
	 "\"labels\":{\"labels\":[{\"key\":\"k\"}]},"
	 "\"command\":{\"shell\":false,\"value\":\"v\",\"arguments\":[\"a\",\"b\"],"
	 "\"environment\":{\"variables\":[{\"name\":\"N\",\"value\":\"V\"}]},"
	 "\"uris\":[{\"value\":\"u\",\"executable\":true},{\"value\":\"w\"}]}}",
	 "{\"executor_id\":\"e\",\"name\":\"n\",\"framework_id\":\"f\",\"command\":{\"shell\":"
	 "false,"
	 "\"value\":\"v\",\"argv\":[\"a\",\"b\"],\"environment\":{\"variables\":[{\"name\":\"N\","
	 "\"value\":\"V\",\"type\":\"VALUE\"}]},\"uris\":[{\"value\":\"u\",\"executable\":true},{"
	 "\"value\":\"w\","
	 "\"executable\":false}]},\"resources\":" ONE_CPU ",\"role\":\"*\",\"labels\":[{\"key\":"
	 "\"k\"}],\"type\":\"CUSTOM\"}"},
	{show_executor, "{\"executor_id\":{\"value\":\"e\"},\"command\":{}}",
	 "{\"executor_id\":\"e\",\"name\":\"\",\"framework_id\":\"\",\"command\":{\"argv\":[],"
	 "\"uris\":[]},\"resources\":" NOTHING "}"},
	{show_domain, "{}", "{}"},
	{show_domain, "{\"fault_domain\":{\"region\":{\"name\":\"r\"},\"zone\":{\"name\":\"z\"}}}",
	 "{\"fault_domain\":{\"region\":{\"name\":\"r\"},\"zone\":{\"name\":\"z\"}}}"},
	{show_attributes, "{\"hostname\":\"h\"}", "{}"},
	{show_attributes,
	 "{\"hostname\":\"h\",\"attributes\":["
	 "{\"name\":\"t\",\"type\":\"TEXT\",\"text\":{\"value\":\"x\"}},"
	 "{\"name\":\"s\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1.5}},"
	 "{\"name\":\"r\",\"type\":\"RANGES\",\"ranges\":{\"range\":[{\"begin\":1,\"end\":2},"
	 "{\"begin\":5,\"end\":18446744073709551615}]}},"
	 "{\"name\":\"z\",\"type\":\"SET\",\"set\":{\"item\":[\"a\",\"b\"]}},"
	 "{\"name\":\"none\",\"type\":\"TEXT\"}]}",
	 "{\"t\":\"x\",\"s\":1.5,\"r\":\"[1-2, 5-18446744073709551615]\",\"z\":\"{a, b}\","
	 "\"none\":\"\"}"},
	{show_reserved, "cpus:1;cpus(a):2;mem(a):3;disk(b/c):4",
	 "[{\"a\":{\"cpus\":2.0,\"gpus\":0.0,\"mem\":3.0,\"disk\":0.0},"
	 "\"b/c\":{\"cpus\":0.0,\"gpus\":0.0,\"mem\":0.0,\"disk\":4.0}}," ONE_CPU "]"},
	{show_reserved, "cpus:1", "[{}," ONE_CPU "]"},
	{show_full, "cpus:1;cpus(a):2;mem(b):3",
	 "[[" BARE "," OF_A "," OF_B "],[" BARE "],[" OF_A "],{\"a\":[" OF_A "],\"b\":[" OF_B
	 "]}]"},
};

Test(proto_endpoint, messages_are_shown_as_mesos_shows_them)
{
	for (size_t i = 0; i < sizeof(shapes_shown) / sizeof(*shapes_shown); i++) {
		struct buf out = BUF_INIT;
		struct json_writer w;

		jw_init(&w, &out);
		shapes_shown[i].show(&w, shapes_shown[i].text);
		cr_expect_str_eq(out.data, shapes_shown[i].shown, "case %zu: %s", i, out.data);
		buf_free(&out);
	}
}
