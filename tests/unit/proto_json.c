/* The mapping between messages and JSON. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "proto/proto.h"

static struct arena arena;

static void set_up(void)
{
	arena_init(&arena);
}

static void tear_down(void)
{
	arena_free(&arena);
}

TestSuite(proto_json, .init = set_up, .fini = tear_down);

static void *decode(const ProtobufCMessageDescriptor *type, const char *text,
		    enum proto_spelling spelling, struct err *err)
{
	struct json *json;

	cr_assert_eq(json_parse(&arena, text, strlen(text), &json, err), 0, "%s: %s", text,
		     err->text);
	return json_to_proto(type, json, spelling, &arena, err);
}

#define FRAMEWORK "\"user\":\"u\",\"name\":\"n\""
#define FRAMEWORK_DEFAULTS ",\"failover_timeout\":0.0,\"checkpoint\":false"

static const struct {
	const ProtobufCMessageDescriptor *type;
	const char *in;
	const char *out; /* NULL: the same */
} taken[] = {
	{&mesos__framework_id__descriptor, "{\"value\":\"x\"}", NULL},
	/* Defaults that are not deprecated show; others, as role, do not. */
	{&mesos__framework_info__descriptor, "{" FRAMEWORK "}",
	 "{" FRAMEWORK FRAMEWORK_DEFAULTS "}"},
	{&mesos__framework_info__descriptor,
	 "{\"role\":\"r\",\"name\":\"n\",\"user\":\"u\",\"checkpoint\":true}",
	 "{" FRAMEWORK ",\"failover_timeout\":0.0,\"checkpoint\":true,\"role\":\"r\"}"},
	{&mesos__command_info__descriptor, "{}", "{\"shell\":true}"},
	{&mesos__environment__variable__descriptor, "{\"name\":\"n\",\"value\":\"v\"}",
	 "{\"name\":\"n\",\"value\":\"v\",\"type\":\"VALUE\"}"},
	{&mesos__filters__descriptor, "{}", "{\"refuse_seconds\":5.0}"},
	{&mesos__master_info__descriptor, "{\"id\":\"i\",\"ip\":16777343,\"port\":1}", NULL},
	/* Strings holding numbers and booleans; fractions are cut off. */
	{&mesos__port__descriptor, "{\"number\":\"80\"}", "{\"number\":80}"},
	{&mesos__port__descriptor, "{\"number\":80.9}", "{\"number\":80}"},
	{&mesos__port__descriptor, "{\"number\":\" 8e1 \"}", "{\"number\":80}"},
	{&mesos__framework_info__descriptor,
	 "{" FRAMEWORK ",\"failover_timeout\":\"1.5\",\"checkpoint\":\"true\"}",
	 "{" FRAMEWORK ",\"failover_timeout\":1.5,\"checkpoint\":true}"},
	{&mesos__filters__descriptor, "{\"refuse_seconds\":\"-Infinity\"}", NULL},
	{&mesos__time_info__descriptor, "{\"nanoseconds\":-9223372036854775808}", NULL},
	{&mesos__value__range__descriptor, "{\"begin\":0,\"end\":18446744073709551615}", NULL},
	{&mesos__time_info__descriptor, "{\"nanoseconds\":9223372036854775807}", NULL},
	{&mesos__time_info__descriptor, "{\"nanoseconds\":-9223372036854775808}", NULL},
	/* A single value for a list, lists in lists, null for absent. */
	{&mesos__framework_info__descriptor, "{" FRAMEWORK ",\"roles\":\"r\"}",
	 "{" FRAMEWORK FRAMEWORK_DEFAULTS ",\"roles\":[\"r\"]}"},
	{&mesos__framework_info__descriptor, "{" FRAMEWORK ",\"roles\":[\"a\",null,[\"b\",[]]]}",
	 "{" FRAMEWORK FRAMEWORK_DEFAULTS ",\"roles\":[\"a\",\"b\"]}"},
	{&mesos__framework_info__descriptor,
	 "{" FRAMEWORK ",\"id\":null,\"capabilities\":{\"type\":\"MULTI_ROLE\"}}",
	 "{" FRAMEWORK FRAMEWORK_DEFAULTS ",\"capabilities\":[{\"type\":\"MULTI_ROLE\"}]}"},
	/* Unknown names, also of enum values; of equal names the last counts. */
	{&mesos__scheduler__call__descriptor, "{\"type\":\"NEW\",\"framework_id\":null,\"x\":{}}",
	 "{}"},
	{&mesos__scheduler__call__descriptor,
	 "{\"frameworkId\":{\"value\":\"x\"},\"type\\u0000\":\"KILL\"}", "{}"},
	{&mesos__offer_id__descriptor, "{\"value\":\"a\",\"value\":\"b\"}", "{\"value\":\"b\"}"},
	{&mesos__labels__descriptor,
	 "{\"labels\":[{\"key\":\"a\"}],\"labels\":[{\"key\":\"b\",\"value\":\"\"}]}",
	 "{\"labels\":[{\"key\":\"b\",\"value\":\"\"}]}"},
	/* Bytes; base64 without its padding, with white space. */
	{&mesos__uuid__descriptor, "{\"value\":\"AAECAw==\"}", NULL},
	{&mesos__uuid__descriptor, "{\"value\":\"AAE\\nCAw\"}", "{\"value\":\"AAECAw==\"}"},
	{&mesos__uuid__descriptor, "{\"value\":\"\"}", NULL},
	/* Maps, in order of their keys. */
	{&mesos__quota__quota_config__descriptor,
	 "{\"role\":\"r\",\"limits\":{\"mem\":{\"value\":1},\"cpus\":{\"value\":2}}}",
	 "{\"role\":\"r\",\"limits\":{\"cpus\":{\"value\":2.0},\"mem\":{\"value\":1.0}}}"},
	{&mesos__quota__quota_config__descriptor,
	 "{\"role\":\"r\",\"limits\":{\"c\":{\"value\":1},\"c\":{\"value\":2}}}",
	 "{\"role\":\"r\",\"limits\":{\"c\":{\"value\":2.0}}}"},
	{&mesos__offer_filters__descriptor, "{}", NULL},
	/* Text passes through as it is. */
	{&mesos__offer_id__descriptor, "{\"value\":\"a/b\\u00e4\\n\\u0001\"}",
	 "{\"value\":\"a/b\xc3\xa4\\n\\u0001\"}"},
	{&mesos__offer_id__descriptor, "{\"value\":\"\xff\"}", NULL},
};

Test(proto_json, takes_what_mesos_takes)
{
	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++) {
		struct err err = {""};
		void *message = decode(taken[i].type, taken[i].in, SPELL_V1, &err);
		struct buf out = BUF_INIT;

		cr_assert(message, "%s: %s", taken[i].in, err.text);
		proto_to_json(message, SPELL_V1, &out);
		cr_expect_str_eq(out.data, taken[i].out ? taken[i].out : taken[i].in);
		buf_free(&out);
	}
}

static const struct {
	const ProtobufCMessageDescriptor *type;
	const char *in;
	const char *error;
} refused[] = {
	{&mesos__scheduler__call__descriptor, "[]", "Expecting a JSON object"},
	{&mesos__scheduler__call__descriptor, "\"x\"", "Expecting a JSON object"},
	{&mesos__scheduler__call__descriptor, "{\"type\":7}",
	 "Not expecting a JSON number for field 'type'"},
	{&mesos__offer_id__descriptor, "{\"value\":\"a\\u0000b\"}",
	 "Not expecting \\u0000 in the JSON string for field 'value'"},
	{&mesos__scheduler__call__descriptor, "{\"type\":{}}",
	 "Not expecting a JSON object for field 'type'"},
	{&mesos__scheduler__call__descriptor, "{\"framework_id\":\"x\"}",
	 "Not expecting a JSON string for field 'framework_id'"},
	{&mesos__scheduler__call__descriptor, "{\"framework_id\":[{\"value\":\"x\"}]}",
	 "Not expecting a JSON array for field 'framework_id'"},
	{&mesos__offer_id__descriptor, "{\"value\":1}",
	 "Not expecting a JSON number for field 'value'"},
	{&mesos__offer_id__descriptor, "{\"value\":true}",
	 "Not expecting a JSON boolean for field 'value'"},
	{&mesos__framework_info__descriptor, "{" FRAMEWORK ",\"checkpoint\":1}",
	 "Not expecting a JSON number for field 'checkpoint'"},
	{&mesos__framework_info__descriptor, "{" FRAMEWORK ",\"checkpoint\":\"1\"}",
	 "Failed to parse '1' as a JSON boolean for field 'checkpoint': "
	 "Unexpected JSON type parsed"},
	{&mesos__framework_info__descriptor, "{" FRAMEWORK ",\"failover_timeout\":\"true\"}",
	 "Failed to parse 'true' as a JSON number for field 'failover_timeout': "
	 "Unexpected JSON type parsed"},
	{&mesos__framework_info__descriptor, "{" FRAMEWORK ",\"roles\":{\"a\":1}}",
	 "Not expecting a JSON object for field 'roles'"},
	{&mesos__framework_info__descriptor, "{" FRAMEWORK ",\"roles\":[1]}",
	 "Not expecting a JSON number for field 'roles'"},
	{&mesos__framework_info__descriptor, "{" FRAMEWORK ",\"offer_filters\":\"x\"}",
	 "Not expecting a JSON string for field 'offer_filters'"},
	{&mesos__port__descriptor, "{\"number\":-1}",
	 "Number -1 is out of range for field 'number'"},
	{&mesos__value__range__descriptor, "{\"begin\":0,\"end\":18446744073709551616}",
	 "Number 18446744073709551616 is out of range for field 'end'"},
	{&mesos__value__range__descriptor, "{\"begin\":0,\"end\":36893488147419103232}",
	 "Number 36893488147419103232 is out of range for field 'end'"},
	{&mesos__value__range__descriptor, "{\"begin\":0,\"end\":-1}",
	 "Number -1 is out of range for field 'end'"},
	{&mesos__time_info__descriptor, "{\"nanoseconds\":9223372036854775808}",
	 "Number 9223372036854775808 is out of range for field 'nanoseconds'"},
	{&mesos__time_info__descriptor, "{\"nanoseconds\":-9223372036854777856}",
	 "Number -9223372036854777856 is out of range for field 'nanoseconds'"},
	{&mesos__port__descriptor, "{\"number\":4294967296}",
	 "Number 4294967296 is out of range for field 'number'"},
	{&mesos__time_info__descriptor, "{\"nanoseconds\":1e30}",
	 "Number 1e30 is out of range for field 'nanoseconds'"},
	{&mesos__uuid__descriptor, "{\"value\":\"a-b\"}",
	 "Failed to base64 decode bytes field 'value': Invalid character '-'"},
	{&mesos__image__descriptor, "{\"type\":\"OTHER\"}", "Failed to find enum for 'OTHER'"},
	{&mesos__scheduler__call__descriptor, "{\"subscribe\":{}}",
	 "Missing required fields: subscribe.framework_info"},
	{&mesos__scheduler__call__descriptor,
	 "{\"subscribe\":{\"framework_info\":{}},\"framework_id\":{\"value\":null}}",
	 "Missing required fields: framework_id.value, subscribe.framework_info.user, "
	 "subscribe.framework_info.name"},
	{&mesos__scheduler__call__descriptor,
	 "{\"accept\":{\"offer_ids\":[{\"value\":\"x\"},{}],\"operations\":[{\"launch\":{"
	 "\"task_infos\":[{\"resources\":{\"name\":\"c\",\"scalar\":{}}}]}}]}}",
	 "Missing required fields: accept.offer_ids[1].value, "
	 "accept.operations[0].launch.task_infos[0].name, "
	 "accept.operations[0].launch.task_infos[0].task_id, "
	 "accept.operations[0].launch.task_infos[0].agent_id, "
	 "accept.operations[0].launch.task_infos[0].resources[0].type, "
	 "accept.operations[0].launch.task_infos[0].resources[0].scalar.value"},
	{&mesos__quota__quota_config__descriptor, "{\"role\":\"r\",\"limits\":{\"c\":null}}",
	 "Missing required fields: limits[0].value.value"},
};

Test(proto_json, refuses_what_mesos_refuses)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		struct err err = {""};

		cr_expect_null(decode(refused[i].type, refused[i].in, SPELL_V1, &err), "%s",
			       refused[i].in);
		cr_expect_str_eq(err.text, refused[i].error);
	}
}

Test(proto_json, bounds_the_depth)
{
	struct buf text = BUF_INIT;
	struct err err = {""};

	for (int i = 0; i < PROTO_DEPTH_MAX + 1; i++)
		buf_puts(&text, "{\"value\":\"x\",\"parent\":");
	buf_puts(&text, "null");
	for (int i = 0; i < PROTO_DEPTH_MAX + 1; i++)
		buf_putc(&text, '}');
	cr_assert_null(decode(&mesos__container_id__descriptor, text.data, SPELL_V1, &err));
	cr_assert_str_eq(err.text, "Nested too deeply");
	buf_free(&text);
}

/* ---- spelling ------------------------------------------------------------------------- */

static const struct {
	const ProtobufCMessageDescriptor *type;
	const char *v1;
	const char *v0;
} spelled[] = {
	{&mesos__task_status__descriptor,
	 "{\"task_id\":{\"value\":\"t\"},\"state\":\"TASK_LOST\",\"agent_id\":{\"value\":\"a\"},"
	 "\"source\":\"SOURCE_AGENT\",\"reason\":\"REASON_AGENT_REMOVED\"}",
	 "{\"task_id\":{\"value\":\"t\"},\"state\":\"TASK_LOST\",\"slave_id\":{\"value\":\"a\"},"
	 "\"source\":\"SOURCE_SLAVE\",\"reason\":\"REASON_SLAVE_REMOVED\"}"},
	{&mesos__executor__event__subscribed__descriptor,
	 "{\"executor_info\":{\"executor_id\":{\"value\":\"e\"}},"
	 "\"framework_info\":{" FRAMEWORK FRAMEWORK_DEFAULTS "},"
	 "\"agent_info\":{\"hostname\":\"h\",\"port\":5051}}",
	 "{\"executor_info\":{\"executor_id\":{\"value\":\"e\"}},"
	 "\"framework_info\":{" FRAMEWORK FRAMEWORK_DEFAULTS "},"
	 "\"slave_info\":{\"hostname\":\"h\",\"checkpoint\":false,\"port\":5051}}"},
	{&mesos__internal__ping_slave_message__descriptor, "{\"connected\":true}", NULL},
	{&mesos__internal__lost_slave_message__descriptor, "{\"agent_id\":{\"value\":\"a\"}}",
	 "{\"slave_id\":{\"value\":\"a\"}}"},
	/* Some messages say agent in v0 as well. */
	{&mesos__master__event__agent_removed__descriptor, "{\"agent_id\":{\"value\":\"a\"}}",
	 NULL},
};

Test(proto_json, spells_v0_and_v1)
{
	for (size_t i = 0; i < sizeof(spelled) / sizeof(*spelled); i++) {
		const char *texts[] = {spelled[i].v1,
				       spelled[i].v0 ? spelled[i].v0 : spelled[i].v1};

		for (int from = 0; from < 2; from++) {
			enum proto_spelling spelling[] = {SPELL_V1, SPELL_V0};
			struct err err = {""};
			void *message = decode(spelled[i].type, texts[from], spelling[from], &err);

			cr_assert(message, "%s", err.text);
			for (int to = 0; to < 2; to++) {
				struct buf out = BUF_INIT;

				proto_to_json(message, spelling[to], &out);
				cr_expect_str_eq(out.data, texts[to]);
				buf_free(&out);
			}
		}
	}
}

Test(proto_json, a_spelling_knows_no_names_of_the_other)
{
	struct err err = {""};
	Mesos__TaskStatus *status;
	Mesos__AgentInfo *agent;

	status = decode(&mesos__task_status__descriptor,
			"{\"task_id\":{\"value\":\"t\"},\"state\":\"TASK_LOST\","
			"\"agent_id\":{\"value\":\"a\"},\"source\":\"SOURCE_AGENT\"}",
			SPELL_V0, &err);
	cr_assert(status && !status->agent_id && !status->has_source);
	cr_assert_null(
		decode(&mesos__internal__lost_slave_message__descriptor, "{}", SPELL_V0, &err));
	cr_assert_str_eq(err.text, "Missing required fields: slave_id");
	agent = decode(&mesos__agent_info__descriptor, "{\"hostname\":\"h\",\"checkpoint\":true}",
		       SPELL_V1, &err);
	cr_assert(agent && !agent->has_checkpoint);
	agent = decode(&mesos__agent_info__descriptor, "{\"hostname\":\"h\",\"checkpoint\":true}",
		       SPELL_V0, &err);
	cr_assert(agent && agent->has_checkpoint && agent->checkpoint);
}

Test(proto_json, names_enum_values)
{
	const ProtobufCEnumDescriptor *reason = &mesos__task_status__reason__descriptor;

	cr_assert_str_eq(proto_enum_name(&mesos__task_state__descriptor,
					 MESOS__TASK_STATE__TASK_RUNNING, SPELL_V0),
			 "TASK_RUNNING");
	cr_assert_str_eq(
		proto_enum_name(reason, MESOS__TASK_STATUS__REASON__REASON_AGENT_UNKNOWN, SPELL_V1),
		"REASON_AGENT_UNKNOWN");
	cr_assert_str_eq(
		proto_enum_name(reason, MESOS__TASK_STATUS__REASON__REASON_AGENT_UNKNOWN, SPELL_V0),
		"REASON_SLAVE_UNKNOWN");
	cr_assert_str_eq(proto_enum_name(reason, 4711, SPELL_V1), "");
}

Test(proto_json, writes_what_json_has_no_number_for)
{
	Mesos__Value__Scalar scalar = MESOS__VALUE__SCALAR__INIT;
	static const struct {
		double value;
		const char *text;
	} cases[] = {
		{INFINITY, "{\"value\":\"Infinity\"}"},
		{-INFINITY, "{\"value\":\"-Infinity\"}"},
		{NAN, "{\"value\":\"NaN\"}"},
		{4, "{\"value\":4.0}"},
		{0.1, "{\"value\":0.1}"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct buf out = BUF_INIT;

		scalar.value = cases[i].value;
		proto_to_json(&scalar, SPELL_V1, &out);
		cr_expect_str_eq(out.data, cases[i].text);
		buf_free(&out);
	}
}
