/* What a call is about, for the log. */
#include <criterion/criterion.h>

#include "net/daemon/audit.h"
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

TestSuite(audit, .init = set_up, .fini = tear_down);

static const char *object_of(const char *json)
{
	ProtobufCMessage *call;
	struct err err = {""};
	struct json *parsed;

	cr_assert_eq(json_parse(&arena, json, strlen(json), &parsed, &err), 0, "%s", err.text);
	call = json_to_proto(&mesos__master__call__descriptor, parsed, SPELL_V1, &arena, &err);
	cr_assert_not_null(call, "%s", err.text);
	return audit_object(&arena, call);
}

Test(audit, names_what_a_call_is_about)
{
	cr_assert_str_eq(object_of("{\"type\":\"GET_HEALTH\"}"), "");
	cr_assert_str_eq(object_of("{\"type\":\"TEARDOWN\",\"teardown\":{\"framework_id\":"
				   "{\"value\":\"F\"}}}"),
			 "framework_id=F");
	cr_assert_str_eq(
		object_of("{\"type\":\"UPDATE_WEIGHTS\",\"update_weights\":"
			  "{\"weight_infos\":[{\"role\":\"a\",\"weight\":2},"
			  "{\"role\":\"ab\",\"weight\":3},{\"role\":\"a\",\"weight\":3}]}}"),
		"role=a,role=ab");
	cr_assert_str_eq(
		object_of("{\"type\":\"RESERVE_RESOURCES\",\"reserve_resources\":{\"agent_id\":"
			  "{\"value\":\"S\"},\"resources\":[{\"name\":\"cpus\",\"type\":\"SCALAR\","
			  "\"scalar\":{\"value\":1},\"reservations\":[{\"type\":\"DYNAMIC\","
			  "\"role\":\"r\",\"principal\":\"p\"}]}]}}"),
		"agent_id=S,principal=p,role=r");
	cr_assert_str_eq(object_of("{\"type\":\"START_MAINTENANCE\",\"start_maintenance\":"
				   "{\"machines\":[{\"hostname\":\"h\",\"ip\":\"10.0.0.1\"}]}}"),
			 "hostname=h,ip=10.0.0.1");
}

Test(audit, is_bounded)
{
	struct buf call = BUF_INIT;
	const char *object;

	buf_puts(&call, "{\"type\":\"UPDATE_WEIGHTS\",\"update_weights\":{\"weight_infos\":[");
	for (int i = 0; i < 1000; i++)
		buf_printf(&call, "%s{\"role\":\"role-%d\",\"weight\":2}", i ? "," : "", i);
	buf_puts(&call, "]}}");
	object = object_of(call.data);
	cr_assert_eq(strlen(object), AUDIT_OBJECT_MAX + 3);
	cr_assert(str_has_suffix(object, "..."));
	buf_free(&call);
}

/* What is longer than the whole is cut before it is looked for. */
Test(audit, long_values_are_cut)
{
	size_t lengths[] = {AUDIT_OBJECT_MAX - 6, AUDIT_OBJECT_MAX - 5, AUDIT_OBJECT_MAX, 4000000};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		struct buf call = BUF_INIT;
		char *role = xcalloc(1, lengths[i] + 1);
		const char *object;

		memset(role, 'r', lengths[i]);
		buf_printf(&call,
			   "{\"type\":\"UPDATE_WEIGHTS\",\"update_weights\":{\"weight_infos\":["
			   "{\"role\":\"%s\",\"weight\":2},{\"role\":\"%s\",\"weight\":3}]}}",
			   role, role);
		object = object_of(call.data);
		cr_expect(str_has_prefix(object, "role=rrr"));
		cr_expect_eq(strlen(object), AUDIT_OBJECT_MAX - 1);
		cr_expect_null(strchr(object, ','));
		free(role);
		buf_free(&call);
	}
}

/* Names that begin another's, in any order; what is nested too deeply is left out. */
Test(audit, each_pair_once)
{
	cr_assert_str_eq(
		object_of("{\"type\":\"UPDATE_WEIGHTS\",\"update_weights\":{\"weight_infos\":["
			  "{\"role\":\"ab\",\"weight\":2},{\"role\":\"a\",\"weight\":3},"
			  "{\"role\":\"xrole=a\",\"weight\":3},{\"role\":\"ab\",\"weight\":3},"
			  "{\"role\":\"a\",\"weight\":3}]}}"),
		"role=ab,role=a,role=xrole=a");
}
