/* Resources: text, rules and formats. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/proto_resources.h"

RESOURCES_SUITE(proto_resources);

/* ---- text ----------------------------------------------------------------------------- */

static const struct {
	const char *text;
	const char *role;
	const char *printed; /* NULL: an error, whose text is `error` */
	const char *error;
} parsed[] = {
	{"", "*", "{}", NULL},
	{" ; ;", "*", "{}", NULL},
	{"cpus:4;mem:1024", "*", "cpus:4; mem:1024", NULL},
	{" cpus : 1 . 5 ; mem:1e3", "*", "cpus:1.5; mem:1000", NULL},
	{"cpus:1;cpus:2", "*", "cpus:3", NULL},
	{"cpus:1.5011", "*", "cpus:1.501", NULL},
	{"cpus:1.5015", "*", "cpus:1.502", NULL},
	{"cpus:0.0005", "*", "cpus:0.001", NULL},
	{"gpus:0;cpus:-0", "*", "{}", NULL},
	{"ports:[20-30, 5-6, 31-40]", "*", "ports:[5-6, 20-40]", NULL},
	{"ports:[10-20,15-30]", "*", "ports:[10-30]", NULL},
	{"ports:[0-18446744073709551615]", "*", "ports:[0-18446744073709551615]", NULL},
	{"ports:[]", "*", "{}", NULL},
	{"zones:{a, b,c}", "*", "zones:{a, b, c}", NULL},
	{"cpus(r):1", "*", "cpus(reservations: [(STATIC,r)]):1", NULL},
	{"cpus( a/b ):1;mem(*):2", "x", "cpus(reservations: [(STATIC,a/b)]):1; mem:2", NULL},
	{"cpus:2.5;ports(role2):[0-100]", "role1",
	 "cpus(reservations: [(STATIC,role1)]):2.5; "
	 "ports(reservations: [(STATIC,role2)]):[0-100]",
	 NULL},
	{"[{\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1}}]", "r",
	 "cpus(reservations: [(STATIC,r)]):1", NULL},
	{"[{\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{\"value\":10},\"role\":\"*\","
	 "\"disk\":{\"source\":{\"type\":\"MOUNT\",\"mount\":{\"root\":\"/m\"}}}}]",
	 "r", "disk[MOUNT:/m]:10", NULL},
	{"[]", "*", "{}", NULL},

	{"cpus(role1)", "*", NULL, "Bad value for resources, missing or extra ':' in cpus(role1)"},
	{"cpus:1:2", "*", NULL, "Bad value for resources, missing or extra ':' in cpus:1:2"},
	{"cpus(role1:1", "*", NULL,
	 "Bad value for resources, mismatched parentheses in cpus(role1:1"},
	{"foo(role1):1;foo(role2):[0-1]", "*", NULL,
	 "Resources with the same name ('foo') but different types are not allowed"},
	{"cpus:-1", "*", NULL, "Bad type for resource cpus value -1 type TEXT"},
	{"cpus:x", "*", NULL, "Bad type for resource cpus value x type TEXT"},
	{"cpus:inf", "*", NULL, "Bad type for resource cpus value inf type TEXT"},
	{"cpus:0x10", "*", NULL, "Bad type for resource cpus value 0x10 type TEXT"},
	{"cpus:1e999", "*", NULL, "Bad type for resource cpus value 1e999 type TEXT"},
	{"cpus:1e-310", "*", NULL,
	 "Failed to parse resource cpus value 1e-310 error Subnormal values not supported"},
	{"cpus:0.0004", "*", NULL, "Invalid scalar resource: value <= 0"},
	{"cpus:1e13", "*", NULL, "Invalid scalar resource: value > 9000000000000"},
	{"ports:[1-2", "*", NULL,
	 "Failed to parse resource ports value [1-2 error Mismatched brackets"},
	{"ports:[1-2,3]", "*", NULL,
	 "Failed to parse resource ports value [1-2,3] error Expecting one or more \"ranges\""},
	{"ports:[a-b]", "*", NULL,
	 "Failed to parse resource ports value [a-b] error Expecting non-negative integers in 'a'"},
	{"ports:[1-18446744073709551616]", "*", NULL,
	 "Failed to parse resource ports value [1-18446744073709551616] error Expecting "
	 "non-negative integers in '1'"},
	{"ports:[5-1]", "*", NULL, "Invalid ranges resource: begin > end"},
	{"ports:x[1-2]", "*", NULL,
	 "Failed to parse resource ports value x[1-2] error Unexpected '[' found"},
	{"zones:x{a}", "*", NULL,
	 "Failed to parse resource zones value x{a} error Unexpected '{' found"},
	{"zones:{a,a}", "*", NULL, "Invalid set resource: duplicated elements"},
	{"cpus: ", "*", NULL,
	 "Failed to parse resource cpus value   error Expecting non-empty string"},
	{"(r):1", "*", NULL, "Empty resource name"},
	{"cpus(a/../b):1", "*", NULL, "Role 'a/../b' cannot include '..' as a component"},
	{"cpus():1", "*", NULL, "Role names cannot be the empty string"},
	{"[{\"name\":\"cpus\"}]", "*", NULL,
	 "Some JSON resources were not formatted properly: Missing required fields: type"},
	{"[{\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1},\"revocable\":{}}]", "*",
	 NULL,
	 "Revocable resources cannot be specified at the command line; do not include a "
	 "'revocable' key in the resources JSON"},
	{"[{\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1},\"role\":\"r\","
	 "\"reservation\":{}}]",
	 "*", NULL,
	 "Dynamic reservations cannot be specified at the command line; do not include a "
	 "reservation with DYNAMIC type in the resources JSON"},
	{"[{\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1},\"role\":\"r\","
	 "\"disk\":{\"persistence\":{\"id\":\"v\"}}}]",
	 "*", NULL, "Persistent volumes cannot be specified at the command line"},
};

Test(proto_resources, parses_the_command_line)
{
	for (size_t i = 0; i < sizeof(parsed) / sizeof(*parsed); i++) {
		struct err err = {""};
		struct resources r;
		int rv = resources_parse(shapes, parsed[i].text, parsed[i].role, &r, &err);

		cr_expect_eq(!rv, !!parsed[i].printed, "%s: %s", parsed[i].text, err.text);
		if (!rv)
			cr_expect_str_eq(text_of(&r), parsed[i].printed);
		else
			cr_expect_str_eq(err.text, parsed[i].error);
		resources_free(&r);
	}
}

Test(proto_resources, names_of_no_value_are_told)
{
	Mesos__Resource **list;
	struct err err;
	size_t count;

	cr_assert_eq(resources_parse_messages(&arena, "gpus:0;ports:[]", "*", &count, &list, &err),
		     0);
	cr_assert_eq(count, 2);
	cr_assert_str_eq(list[0]->name, "gpus");
	cr_assert_str_eq(list[1]->name, "ports");
}

static const struct {
	const char *json;
	const char *printed;
} printed[] = {
	{"{\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":{\"value\":8},"
	 "\"allocation_info\":{\"role\":\"r\"},\"reservations\":[{\"type\":\"STATIC\",\"role\":"
	 "\"a\"},"
	 "{\"type\":\"DYNAMIC\",\"role\":\"a/b\",\"principal\":\"p\",\"labels\":{\"labels\":["
	 "{\"key\":\"k\",\"value\":\"v\"},{\"key\":\"l\"}]}}]}",
	 "cpus(allocated: r)(reservations: [(STATIC,a),(DYNAMIC,a/b,p,{k: v, l})]):8"},
	{"{\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1024},\"shared\":{},"
	 "\"role\":\"r\","
	 "\"disk\":{\"source\":{\"type\":\"PATH\",\"path\":{\"root\":\"/p\"}},"
	 "\"persistence\":{\"id\":\"v\"},\"volume\":{\"container_path\":\"data\",\"mode\":\"RW\"}}"
	 "}",
	 "disk(reservations: [(STATIC,r)])[PATH:/p,v:data]<SHARED>:1024<1>"},
	{"{\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1},"
	 "\"disk\":{\"source\":{\"type\":\"RAW\",\"id\":\"i\",\"vendor\":\"w\"},"
	 "\"volume\":{\"container_path\":\"c\",\"host_path\":\"h\",\"mode\":\"RO\"}}}",
	 "disk[RAW(w,i,):h:c:ro]:1"},
	{"{\"name\":\"mem\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1},\"revocable\":{}}",
	 "mem{REV}:1"},
};

Test(proto_resources, prints_as_mesos)
{
	for (size_t i = 0; i < sizeof(printed) / sizeof(*printed); i++) {
		struct resources r = make(arena_printf(&arena, "[%s]", printed[i].json));

		cr_expect_str_eq(text_of(&r), printed[i].printed);
		resources_free(&r);
	}
}

/* ---- rules ---------------------------------------------------------------------------- */

#define PORTS "\"name\":\"ports\",\"type\":\"RANGES\",\"ranges\":{\"range\":"

static const struct {
	const char *json;
	const char *error; /* NULL: valid */
} rules[] = {
	{CPU, NULL},
	{CPU ",\"role\":\"*\"", NULL},
	{CPU ",\"role\":\"r\",\"reservation\":{\"principal\":\"p\"}", NULL},
	{CPU ",\"reservations\":[{\"type\":\"STATIC\",\"role\":\"r\"}],\"role\":\"r\"", NULL},
	{CPU ",\"reservations\":[{\"type\":\"DYNAMIC\",\"role\":\"r\"}],\"role\":\"r\","
	     "\"reservation\":{}",
	 NULL},
	{PORTS "[{\"begin\":1,\"end\":2},{\"begin\":3,\"end\":4}]}", NULL},
	{"\"name\":\"\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1}", "Empty resource name"},
	{"\"name\":\"x\",\"type\":\"TEXT\"", "Unsupported resource type"},
	{"\"name\":\"x\",\"type\":\"SCALAR\"", "Invalid scalar resource"},
	{CPU ",\"set\":{}", "Invalid scalar resource"},
	{CPU ",\"ranges\":{}", "Invalid scalar resource"},
	{"\"name\":\"x\",\"type\":\"RANGES\"", "Invalid ranges resource"},
	{"\"name\":\"x\",\"type\":\"RANGES\",\"set\":{}", "Invalid ranges resource"},
	{PORTS "[]},\"set\":{}", "Invalid ranges resource"},
	{PORTS "[]},\"scalar\":{\"value\":1}", "Invalid ranges resource"},
	{"\"name\":\"x\",\"type\":\"SET\"", "Invalid set resource"},
	{"\"name\":\"x\",\"type\":\"SET\",\"set\":{},\"scalar\":{\"value\":1}",
	 "Invalid set resource"},
	{"\"name\":\"x\",\"type\":\"SET\",\"set\":{},\"ranges\":{}", "Invalid set resource"},
	{"\"name\":\"x\",\"type\":\"SCALAR\",\"scalar\":{\"value\":-1}",
	 "Invalid scalar resource: value <= 0"},
	{"\"name\":\"x\",\"type\":\"SCALAR\",\"scalar\":{\"value\":\"-Infinity\"}",
	 "Invalid scalar resource: value <= 0"},
	{"\"name\":\"x\",\"type\":\"SCALAR\",\"scalar\":{\"value\":0}", NULL},
	{"\"name\":\"x\",\"type\":\"SCALAR\",\"scalar\":{\"value\":-0.0}", NULL},
	{"\"name\":\"x\",\"type\":\"SCALAR\",\"scalar\":{\"value\":0.0005}", NULL},
	{"\"name\":\"x\",\"type\":\"SCALAR\",\"scalar\":{\"value\":0.0004}",
	 "Invalid scalar resource: value <= 0"},
	{"\"name\":\"x\",\"type\":\"SCALAR\",\"scalar\":{\"value\":9e12}", NULL},
	{"\"name\":\"x\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1.7e308}",
	 "Invalid scalar resource: value > 9000000000000"},
	{"\"name\":\"x\",\"type\":\"SCALAR\",\"scalar\":{\"value\":\"Infinity\"}",
	 "Invalid scalar resource: value > 9000000000000"},
	{PORTS "[{\"begin\":2,\"end\":1}]}", "Invalid ranges resource: begin > end"},
	{PORTS "[{\"begin\":5,\"end\":9},{\"begin\":1,\"end\":5}]}",
	 "Invalid ranges resource: overlapping ranges"},
	{"\"name\":\"x\",\"type\":\"SET\",\"set\":{\"item\":[\"b\",\"a\",\"b\"]}",
	 "Invalid set resource: duplicated elements"},
	{CPU ",\"disk\":{}", "DiskInfo should not be set for cpus resource"},
	{DISK ",\"disk\":{\"source\":{\"type\":\"BLOCK\",\"mount\":{}}}",
	 "Mount should not be set for BLOCK disk source"},
	{DISK ",\"disk\":{\"source\":{\"type\":\"RAW\",\"path\":{}}}",
	 "Path should not be set for RAW disk source"},
	{DISK ",\"disk\":{\"source\":{\"type\":\"UNKNOWN\"}}",
	 "Unsupported 'DiskInfo.Source.Type' in 'UNKNOWN'"},
	{CPU ",\"role\":\"/r\"", "Role '/r' cannot start with a slash"},
	{CPU ",\"reservation\":{}",
	 "Invalid reservation: role \"*\" cannot be dynamically reserved"},
	{CPU ",\"role\":\"r\",\"reservation\":{\"type\":\"DYNAMIC\"}",
	 "'Resource.ReservationInfo.type' must not be set for the 'Resource.reservation' field"},
	{CPU ",\"role\":\"r\",\"reservation\":{\"role\":\"r\"}",
	 "'Resource.ReservationInfo.role' must not be set for the 'Resource.reservation' field"},
	{CPU ",\"reservations\":[{\"role\":\"r\"}]",
	 "Invalid reservation: 'Resource.ReservationInfo.type' field must be set."},
	{CPU ",\"reservations\":[{\"type\":\"STATIC\"}]",
	 "Invalid reservation: 'Resource.ReservationInfo.role' field must be set."},
	{CPU ",\"reservations\":[{\"type\":\"STATIC\",\"role\":\"*\"}]",
	 "Invalid reservation: role \"*\" cannot be reserved"},
	{CPU ",\"reservations\":[{\"type\":\"UNKNOWN\",\"role\":\"r\"}]",
	 "Unsupported 'Resource.ReservationInfo.Type'"},
	{CPU ",\"reservations\":[{\"type\":\"STATIC\",\"role\":\"r\"},{\"type\":\"STATIC\","
	     "\"role\":\"r/s\"}]",
	 "Invalid refined reservation: A refined reservation cannot be STATIC"},
	{CPU ",\"reservations\":[{\"type\":\"STATIC\",\"role\":\"r\"},{\"type\":\"DYNAMIC\","
	     "\"role\":\"rs\"}]",
	 "Invalid refined reservation: role 'rs' is not a refinement of 'r'"},
	{CPU ",\"reservations\":[{\"type\":\"STATIC\",\"role\":\"r\"}],\"role\":\"s\"",
	 "Invalid resource format: 'Resource.role' field with 's' does not match the role 'r' in "
	 "'Resource.reservations'"},
	{CPU ",\"reservations\":[{\"type\":\"STATIC\",\"role\":\"r\"}],\"reservation\":{}",
	 "Invalid resource format: 'Resource.reservation' must not be set if the single "
	 "reservation in 'Resource.reservations' is STATIC"},
	{CPU ",\"reservations\":[{\"type\":\"DYNAMIC\",\"role\":\"r\"}],\"role\":\"r\"",
	 "Invalid resource format: 'Resource.role' and 'Resource.reservation' must either be both "
	 "set or both not set if the single reservation in 'Resource.reservations' is DYNAMIC"},
	{CPU ",\"reservations\":[{\"type\":\"DYNAMIC\",\"role\":\"r\",\"principal\":\"p\"}],"
	     "\"role\":\"r\",\"reservation\":{\"principal\":\"q\"}",
	 "Invalid resource format: 'Resource.reservation.principal' field with 'q' does not match "
	 "the principal 'p' in 'Resource.reservations'"},
	{CPU ",\"reservations\":[{\"type\":\"DYNAMIC\",\"role\":\"r\"}],"
	     "\"role\":\"r\",\"reservation\":{\"labels\":{\"labels\":[{\"key\":\"k\"}]}}",
	 "Invalid resource format: 'Resource.reservation.labels' field with '{k}' does not match "
	 "the labels '{}' in 'Resource.reservations'"},
	{CPU ",\"role\":\"r\",\"reservations\":[{\"type\":\"STATIC\",\"role\":\"r\"},{\"type\":"
	     "\"DYNAMIC\",\"role\":\"r/s\"}]",
	 "Invalid resource format: 'Resource.role' must not be set if there is more than one "
	 "reservation in 'Resource.reservations'"},
	{CPU ",\"reservation\":{},\"reservations\":[{\"type\":\"STATIC\",\"role\":\"r\"},{\"type\":"
	     "\"DYNAMIC\",\"role\":\"r/s\"}]",
	 "Invalid resource format: 'Resource.reservation' must not be set if there is more than "
	 "one reservation in 'Resource.reservations'"},
	{CPU ",\"shared\":{}", "Resource cpus cannot be shared"},
	{DISK ",\"shared\":{}", "Only persistent volumes can be shared"},
};

Test(proto_resources, obeys_the_rules)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		struct err err = {""};
		int rv = resource_validate(message_of(rules[i].json), &err);

		cr_expect_eq(!rv, !rules[i].error, "%s: %s", rules[i].json, err.text);
		if (rv)
			cr_expect_str_eq(err.text, rules[i].error);
	}
}

Test(proto_resources, what_is_no_number_is_no_amount)
{
	Mesos__Resource *resource = message_of(CPU);
	struct err err = {""};

	resource->scalar->value = NAN;
	cr_assert_eq(resource_validate(resource, &err), ERR_INVALID);
	cr_assert_str_eq(err.text, "Invalid scalar resource: value <= 0");
}

static const struct {
	const char *json, *error;
} named[] = {
	{"\"name\":\"mem\",\"type\":\"SCALAR\",\"scalar\":{\"value\":-3}",
	 "Resource 'mem:-3' is invalid: Invalid scalar resource: value <= 0"},
	{"\"name\":\"mem\",\"type\":\"SCALAR\"",
	 "Resource 'mem:0' is invalid: Invalid scalar resource"},
	{"\"name\":\"mem\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1e300}",
	 "Resource 'mem:1e+300' is invalid: Invalid scalar resource: value > 9000000000000"},
	{PORTS "[{\"begin\":1,\"end\":2},{\"begin\":2,\"end\":18446744073709551615}]}",
	 "Resource 'ports:[1-2, 2-18446744073709551615]' is invalid: Invalid ranges resource: "
	 "overlapping ranges"},
	{"\"name\":\"ports\",\"type\":\"RANGES\"",
	 "Resource 'ports:[]' is invalid: Invalid ranges resource"},
	{"\"name\":\"zones\",\"type\":\"SET\",\"set\":{\"item\":[\"a\",\"b\",\"a\"]}",
	 "Resource 'zones:{a, b, a}' is invalid: Invalid set resource: duplicated elements"},
	{"\"name\":\"zones\",\"type\":\"SET\"",
	 "Resource 'zones:{}' is invalid: Invalid set resource"},
};

Test(proto_resources, names_the_resource_that_breaks_a_rule)
{
	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++) {
		Mesos__Resource *list[] = {message_of(CPU), message_of(named[i].json)};
		struct err err = {""};

		cr_expect_eq(resources_validate(list, 1, &err), 0);
		cr_expect_neq(resources_validate(list, 2, &err), 0);
		cr_expect_str_eq(err.text, named[i].error);
	}
}

#define ROLE_OF_15 "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/"
#define DEEP_ROLE ROLE_OF_15 ROLE_OF_15 ROLE_OF_15 ROLE_OF_15 "a/a/a/a"

static const struct {
	const char *role;
	const char *error;
} roles[] = {
	{"*", NULL},
	{"a", NULL},
	{"a/b-c/...", NULL},
	{"a\\b", NULL},
	{DEEP_ROLE, NULL},
	{DEEP_ROLE "/b", "Role '" DEEP_ROLE "/b' cannot have more than 64 components"},
	{"", "Role names cannot be the empty string"},
	{"/", "Role '/' cannot start with a slash"},
	{"a/", "Role 'a/' cannot end with a slash"},
	{"a//b", "Role 'a//b' cannot contain two adjacent slashes"},
	{".", "Role '.' cannot include '.' as a component"},
	{"a/..", "Role 'a/..' cannot include '..' as a component"},
	{"a/*/b", "Role 'a/*/b' cannot include '*' as a component"},
	{"a/-b/c", "Role component '-b' is invalid because it starts with a dash"},
	{"a/b c", "Role component 'b c' is invalid because it contains backspace or whitespace"},
	{"a\x7f", "Role component 'a\x7f' is invalid because it contains backspace or whitespace"},
};

Test(proto_resources, knows_valid_roles)
{
	for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++) {
		struct err err = {""};

		cr_expect_eq(role_valid(roles[i].role, &err), !roles[i].error, "%s", roles[i].role);
		cr_expect_str_eq(err.text, roles[i].error ? roles[i].error : "");
	}
	cr_expect(role_is_strict_subrole("a/b", "a"));
	cr_expect_not(role_is_strict_subrole("ab", "a"));
	cr_expect_not(role_is_strict_subrole("a", "a"));
}

/* ---- formats -------------------------------------------------------------------------- */

#define STACK(entries) CPU ",\"reservations\":[" entries "]"

static const struct {
	const char *old;
	const char *new;
	const char *endpoint;
} formats[] = {
	{CPU ",\"role\":\"*\"", CPU, CPU ",\"role\":\"*\""},
	{CPU ",\"role\":\"r\"", STACK("{\"role\":\"r\",\"type\":\"STATIC\"}"),
	 STACK("{\"role\":\"r\",\"type\":\"STATIC\"}") ",\"role\":\"r\""},
	{CPU ",\"role\":\"r\",\"reservation\":{\"principal\":\"p\"}",
	 STACK("{\"role\":\"r\",\"type\":\"DYNAMIC\",\"principal\":\"p\"}"),
	 STACK("{\"role\":\"r\",\"type\":\"DYNAMIC\",\"principal\":\"p\"}") ",\"role\":\"r\","
									    "\"reservation\":{"
									    "\"principal\":\"p\"}"},
	{NULL,
	 STACK("{\"role\":\"r\",\"type\":\"STATIC\"},{\"role\":\"r/s\",\"type\":\"DYNAMIC\"}"),
	 STACK("{\"role\":\"r\",\"type\":\"STATIC\"},{\"role\":\"r/s\",\"type\":\"DYNAMIC\"}")},
};

Test(proto_resources, converts_between_formats)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		Mesos__Resource *new = message_of(formats[i].new), *other;

		other = message_of(formats[i].endpoint);
		resource_upgrade(&arena, other);
		cr_expect(proto_equal(other, new), "case %zu", i);
		other = proto_copy_to(&arena, new);
		resource_endpoint_format(&arena, other);
		cr_expect(proto_equal(other, message_of(formats[i].endpoint)), "case %zu", i);
		other = proto_copy_to(&arena, new);
		cr_expect_eq(resource_downgrade(&arena, other), !!formats[i].old);
		if (!formats[i].old)
			continue;
		cr_expect(proto_equal(other, message_of(formats[i].old)), "case %zu", i);
		resource_upgrade(&arena, other);
		cr_expect(proto_equal(other, new), "case %zu", i);
	}
}

Test(proto_resources, messages_come_out_as_they_went_in)
{
	static const char *const texts[] = {
		"cpus:0.1",
		"mem:4096",
		"ports:[1-2, 5-5]",
		"zones:{a, b}",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct resources r = make(texts[i]), again = RESOURCES_INIT;
		Mesos__Resource **list;
		size_t count;

		resources_to_messages(&arena, &r, &count, &list);
		cr_assert_eq(count, 1);
		cr_expect_eq(resource_validate(list[0], NULL), 0);
		resources_add_messages(shapes, &again, list, count);
		cr_expect(resources_equal(&r, &again));
		cr_expect_str_eq(text_of(&again), texts[i]);
		resources_free(&r);
		resources_free(&again);
	}
}

Test(proto_resources, what_is_trimmed_is_the_same_and_grows_again)
{
	struct resources r = make("cpus:1;mem:2;disk:3"), more = make("ports:[1-9]"),
			 same = RESOURCES_INIT, none = RESOURCES_INIT;

	resources_copy(&same, &r);
	resources_trim(&r);
	cr_expect_eq(r.cap, r.count);
	cr_expect(resources_equal(&r, &same));
	resources_add(&r, &more);
	resources_add(&same, &more);
	cr_expect(resources_equal(&r, &same));
	resources_subtract(&r, &same);
	resources_trim(&r);
	resources_trim(&none);
	cr_expect(resources_empty(&r) && resources_empty(&none));
	resources_add(&r, &more);
	cr_expect(resources_equal(&r, &more));
	resources_free(&r);
	resources_free(&same);
	resources_free(&more);
}
