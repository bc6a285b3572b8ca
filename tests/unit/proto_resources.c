/* Resources: text, rules, formats, and the cases of the algebra that are easily got wrong.
 * The algebra at large is held against a model in proto_algebra.c. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "proto/resources.h"

static struct arena arena;
static struct resource_shapes *shapes;

static void set_up(void)
{
	arena_init(&arena);
	shapes = resource_shapes_create();
}

static void tear_down(void)
{
	arena_free(&arena);
	resource_shapes_destroy(shapes);
}

TestSuite(proto_resources, .init = set_up, .fini = tear_down);

/* From text or JSON; volumes and the like too, which --resources may not have. */
static struct resources make(const char *text)
{
	struct resources r = RESOURCES_INIT;
	Mesos__Resource **list;
	struct err err = {""};
	size_t count;

	cr_assert_eq(resources_parse_messages(&arena, text, "*", &count, &list, &err), 0, "%s: %s",
		     text, err.text);
	cr_assert_eq(resources_validate(list, count, &err), 0, "%s", err.text);
	resources_add_messages(shapes, &r, list, count);
	return r;
}

static const char *text_of(const struct resources *r)
{
	struct buf out = BUF_INIT;
	char *text;

	resources_print(r, &out);
	text = arena_strdup(&arena, out.data);
	buf_free(&out);
	return text;
}

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

#define CPU "\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1}"
#define DISK "\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1}"
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
	{"\"name\":\"x\",\"type\":\"RANGES\",\"set\":{}", "Invalid ranges resource"},
	{"\"name\":\"x\",\"type\":\"SET\"", "Invalid set resource"},
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

static Mesos__Resource *message_of(const char *fields)
{
	const char *text = arena_printf(&arena, "{%s}", fields);
	struct err err = {""};
	struct json *json;
	Mesos__Resource *resource;

	cr_assert_eq(json_parse(&arena, text, strlen(text), &json, &err), 0, "%s", err.text);
	resource = json_to_proto(&mesos__resource__descriptor, json, SPELL_V1, &arena, &err);
	cr_assert(resource, "%s: %s", text, err.text);
	return resource;
}

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

Test(proto_resources, names_the_resource_that_breaks_a_rule)
{
	Mesos__Resource *list[] = {
		message_of(CPU),
		message_of("\"name\":\"mem\",\"type\":\"SCALAR\",\"scalar\":{\"value\":-3}")};
	struct err err = {""};

	cr_assert_eq(resources_validate(list, 1, &err), 0);
	cr_assert_neq(resources_validate(list, 2, &err), 0);
	cr_assert_str_eq(err.text,
			 "Resource 'mem:-3' is invalid: Invalid scalar resource: value <= 0");
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

/* ---- algebra -------------------------------------------------------------------------- */

#define MOUNT(root, size)                                                                          \
	"{\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{\"value\":" size                       \
	"},\"disk\":{\"source\":{"                                                                 \
	"\"type\":\"MOUNT\",\"mount\":{\"root\":\"" root "\"}}}}"
#define PATH(root, size)                                                                           \
	"{\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{\"value\":" size                       \
	"},\"disk\":{\"source\":{"                                                                 \
	"\"type\":\"PATH\",\"path\":{\"root\":\"" root "\"}}}}"
#define VOLUME(id, path, more)                                                                     \
	"{\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{\"value\":9},\"role\":\"r\",\"disk\":" \
	"{"                                                                                        \
	"\"persistence\":{\"id\":\"" id "\"},\"volume\":{\"container_path\":\"" path               \
	"\",\"mode\":\"RW\"}}" more "}"
#define SHARED(id) VOLUME(id, "d", ",\"shared\":{}")
#define IDENTIFIED(id, size, more)                                                                 \
	"{\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{\"value\":" size                       \
	"},\"disk\":{\"source\":{\"type\":\"RAW\",\"id\":\"" id "\"" more "}}}"
#define BLOCK(size)                                                                                \
	"{\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{\"value\":" size                       \
	"},\"disk\":{\"source\":{\"type\":\"BLOCK\",\"id\":\"b\"}}}"
#define RAW(size)                                                                                  \
	"{\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{\"value\":" size                       \
	"},\"disk\":{\"source\":{"                                                                 \
	"\"type\":\"RAW\"}}}"

static const struct {
	const char *left;
	char operation;
	const char *right;
	const char *result; /* printed; of '>' (contains): "yes" or "no" */
} algebra[] = {
	{"ports:[20000-40000]", '+', "ports:[30000-50000,10000-20000]", "ports:[10000-50000]"},
	{"ports:[1-10,20-30,40-50]", '-', "ports:[2-9,15-45,48-50]", "ports:[1-1, 10-10, 46-47]"},
	{"ports:[1-4,9-10,20-22,26-30]", '+', "ports:[5-8,23-25]", "ports:[1-10, 20-30]"},
	{"ports:[0-18446744073709551615]", '-', "ports:[5-6]",
	 "ports:[0-4, 7-18446744073709551615]"},
	{"ports:[1-2]", '-', "ports:[1-2]", "{}"},
	{"ports:[1-9]", '>', "ports:[2-3,5-9]", "yes"},
	{"ports:[1-3,5-9]", '>', "ports:[3-5]", "no"},
	{"zones:{a,b}", '+', "zones:{b,c}", "zones:{a, b, c}"},
	{"zones:{a,b}", '-', "zones:{b,c}", "zones:{a}"},
	{"zones:{a,b}", '>', "zones:{b,a}", "yes"},
	{"zones:{a,b}", '>', "zones:{c}", "no"},
	{"cpus(role1):5;cpus(role2):3", '-', "cpus(role1):1",
	 "cpus(reservations: [(STATIC,role1)]):4; cpus(reservations: [(STATIC,role2)]):3"},
	{"cpus:1", '-', "cpus:3", "{}"},
	{"cpus:1", '-', "mem:3", "cpus:1"},
	{"cpus:1", '>', "", "yes"},
	{"cpus:1", '>', "cpus(r):1", "no"},
	{"cpus(r):1", '>', "cpus:1", "no"},
	{"cpus:0.3", '-', "cpus:0.1", "cpus:0.2"},
	{"[" MOUNT("/m", "100") "]", '+', "[" MOUNT("/m", "100") "]",
	 "disk[MOUNT:/m]:100; disk[MOUNT:/m]:100"},
	{"[" MOUNT("/m", "100") "]", '>', "[" MOUNT("/m", "50") "]", "no"},
	{"[" MOUNT("/m", "100") "]", '>', "[" MOUNT("/m", "100") "]", "yes"},
	{"[" MOUNT("/m", "100") "]", '-', "[" MOUNT("/m", "50") "]", "disk[MOUNT:/m]:100"},
	{"[" MOUNT("/m", "100") "]", '-', "[" MOUNT("/m", "100") "]", "{}"},
	{"[" PATH("/p", "10") "]", '+', "[" PATH("/p", "5") "," PATH("/q", "5") "]",
	 "disk[PATH:/p]:15; disk[PATH:/q]:5"},
	{"[" PATH("/p", "10") "]", '>', "[" PATH("/p", "5") "]", "yes"},
	{"[" RAW("10") "]", '+', "[" RAW("5") "]", "disk[RAW]:15"},
	{"[" RAW("10") "]", '>', "[" RAW("5") "]", "yes"},
	/* Disks with an identity are whole or not at all. */
	{"[" IDENTIFIED("i", "10", "") "]", '+', "[" IDENTIFIED("i", "5", "") "]",
	 "disk[RAW(,i,)]:10; disk[RAW(,i,)]:5"},
	{"[" IDENTIFIED("i", "10", "") "]", '>', "[" IDENTIFIED("i", "5", "") "]", "no"},
	{"[" IDENTIFIED("i", "10", "") "]", '>', "[" IDENTIFIED("i", "10", "") "]", "yes"},
	{"[" IDENTIFIED("i", "10", "") "]", '-', "[" IDENTIFIED("i", "10", "") "]", "{}"},
	/* All that describes a source counts. */
	{"[" IDENTIFIED("i", "10", "") "]", '>', "[" IDENTIFIED("j", "10", "") "]", "no"},
	{"[" IDENTIFIED("i", "10", "") "]", '>', "[" IDENTIFIED("i", "10", ",\"vendor\":\"v\"") "]",
	 "no"},
	{"[" IDENTIFIED("i", "10", "") "]", '>',
	 "[" IDENTIFIED("i", "10", ",\"profile\":\"p\"") "]", "no"},
	{"[" IDENTIFIED("i", "10", "") "]", '>',
	 "[" IDENTIFIED("i", "10", ",\"metadata\":{\"labels\":[{\"key\":\"k\"}]}") "]", "no"},
	{"[" IDENTIFIED("i", "10",
			",\"metadata\":{\"labels\":[{\"key\":\"k\"},{\"key\":\"l\"}]}") "]",
	 '>',
	 "[" IDENTIFIED("i", "10",
			",\"metadata\":{\"labels\":[{\"key\":\"l\"},{\"key\":\"k\"}]}") "]",
	 "yes"},
	{"[" BLOCK("10") "]", '+', "[" BLOCK("10") "]", "disk[BLOCK(,b,)]:10; disk[BLOCK(,b,)]:10"},
	{"[" BLOCK("10") "]", '>', "[" BLOCK("9") "]", "no"},
	{"[" MOUNT("/m", "100") "," MOUNT("/m", "100") "]", '-', "[" MOUNT("/m", "100") "]",
	 "disk[MOUNT:/m]:100"},
	/* Only volumes are used up by a comparison. */
	{"[" MOUNT("/m", "100") "]", '>', "[" MOUNT("/m", "100") "," MOUNT("/m", "100") "]", "yes"},
	/* Volumes: where it is mounted does not matter, and each can be had once. */
	{"[" VOLUME("v", "a", "") "]", '>', "[" VOLUME("v", "b", "") "]", "yes"},
	{"[" VOLUME("v", "a", "") "]", '>', "[" VOLUME("v", "a", "") "," VOLUME("v", "a", "") "]",
	 "no"},
	{"[" VOLUME("v", "a", "") "]", '>', "[" VOLUME("w", "a", "") "]", "no"},
	{"[" VOLUME("v", "a", "") "]", '-', "[" VOLUME("v", "b", "") "]", "{}"},
	/* Shared volumes are counted. */
	{"[" SHARED("v") "]", '+', "[" SHARED("v") "]",
	 "disk(reservations: [(STATIC,r)])[v:d]<SHARED>:9<2>"},
	{"[" SHARED("v") "," SHARED("v") "]", '-', "[" SHARED("v") "]",
	 "disk(reservations: [(STATIC,r)])[v:d]<SHARED>:9<1>"},
	{"[" SHARED("v") "]", '>', "[" SHARED("v") "," SHARED("v") "]", "no"},
	{"[" SHARED("v") "," SHARED("v") "]", '>', "[" SHARED("v") "," SHARED("v") "]", "yes"},
	{"[" SHARED("v") "]", '>', "[" VOLUME("v", "d", "") "]", "no"},
	{"[{" CPU ",\"revocable\":{}}]", '+', "cpus:1", "cpus{REV}:1; cpus:1"},
	{"[{" CPU ",\"provider_id\":{\"value\":\"p\"}}]", '>', "cpus:1", "no"},
	/* Labels of a reservation: their order does not matter. */
	{"[{" CPU ",\"role\":\"r\",\"reservation\":{\"labels\":{\"labels\":[{\"key\":\"a\"},{"
	 "\"key\":\"b\"}]}}}]",
	 '>',
	 "[{" CPU ",\"role\":\"r\",\"reservation\":{\"labels\":{\"labels\":[{\"key\":\"b\"},{"
	 "\"key\":\"a\"}]}}}]",
	 "yes"},
	{"[{" CPU ",\"role\":\"r\",\"reservation\":{\"principal\":\"\"}}]", '>',
	 "[{" CPU ",\"role\":\"r\",\"reservation\":{}}]", "no"},
};

Test(proto_resources, calculates)
{
	for (size_t i = 0; i < sizeof(algebra) / sizeof(*algebra); i++) {
		struct resources left = make(algebra[i].left), right = make(algebra[i].right);
		const char *result;

		if (algebra[i].operation == '>') {
			result = resources_contain(&left, &right) ? "yes" : "no";
		} else {
			if (algebra[i].operation == '+')
				resources_add(&left, &right);
			else
				resources_subtract(&left, &right);
			result = text_of(&left);
		}
		cr_expect_str_eq(result, algebra[i].result, "%s %c %s: %s", algebra[i].left,
				 algebra[i].operation, algebra[i].right, result);
		resources_free(&left);
		resources_free(&right);
	}
}

Test(proto_resources, stays_exact_over_many_operations)
{
	struct resources total = make("cpus:1.001"), one = make("cpus:1.001");

	for (int i = 0; i < 100000; i++)
		resources_add(&total, &one);
	cr_assert_eq(resources_quantity(&total, "cpus"), 100001LL * 1001);
	for (int i = 0; i < 100000; i++)
		resources_subtract(&total, &one);
	cr_assert(resources_equal(&total, &one));
	resources_free(&total);
	resources_free(&one);
}

Test(proto_resources, a_collection_can_meet_itself)
{
	struct resources r = make("cpus:1;ports:[1-2];zones:{a}");

	resources_add(&r, &r);
	cr_assert_str_eq(text_of(&r), "cpus:2; ports:[1-2]; zones:{a}");
	cr_assert(resources_contain(&r, &r));
	resources_allocate(shapes, &r, "x", &r);
	cr_assert_str_eq(
		text_of(&r),
		"cpus(allocated: x):2; ports(allocated: x):[1-2]; zones(allocated: x):{a}");
	resources_allocate(shapes, &r, NULL, &r);
	cr_assert_str_eq(text_of(&r), "cpus:2; ports:[1-2]; zones:{a}");
	resources_subtract(&r, &r);
	cr_assert(resources_empty(&r));
	resources_free(&r);
}

Test(proto_resources, tells_quantities)
{
	struct resources r = make("cpus(role1):2;cpus:1.5;ports:[1-10,20-20];zones:{a,b}");

	cr_assert_eq(resources_quantity(&r, "cpus"), 3500);
	cr_assert_eq(resources_quantity(&r, "ports"), 11000);
	cr_assert_eq(resources_quantity(&r, "zones"), 2000);
	cr_assert_eq(resources_quantity(&r, "mem"), 0);
	resources_free(&r);
	r = make("ports:[0-18446744073709551615]");
	cr_assert_eq(resources_quantity(&r, "ports"), INT64_MAX);
	resources_free(&r);
}

Test(proto_resources, tells_what_a_shape_is)
{
	struct resources r =
		make("[{" CPU ",\"allocation_info\":{\"role\":\"a\"},\"reservations\":["
		     "{\"type\":\"STATIC\",\"role\":\"r\"},{\"type\":\"DYNAMIC\",\"role\":\"r/"
		     "s\"}]}," SHARED("v") ",{" CPU ",\"revocable\":{}}]");
	const struct resource_shape *cpus = r.pieces[0].shape, *disk = r.pieces[1].shape;

	cr_assert_str_eq(resource_shape_name(cpus), "cpus");
	cr_assert_eq(resource_shape_type(cpus), MESOS__VALUE__TYPE__SCALAR);
	cr_assert_str_eq(resource_shape_role(cpus), "r/s");
	cr_assert_str_eq(resource_shape_allocation_role(cpus), "a");
	cr_assert_eq(resource_shape_reservations(cpus), 2);
	cr_assert(resource_shape_dynamic(cpus));
	cr_assert_not(resource_shape_dynamic(disk));
	cr_assert(resource_shape_shared(disk));
	cr_assert_str_eq(resource_shape_persistence(disk), "v");
	cr_assert_null(resource_shape_allocation_role(disk));
	cr_assert(resource_shape_revocable(r.pieces[2].shape));
	cr_assert_str_eq(resource_shape_role(r.pieces[2].shape), "*");
	cr_assert_null(resource_shape_persistence(cpus));
	resources_free(&r);
}

Test(proto_resources, shapes_are_made_once_and_collected)
{
	struct resources a = make("cpus:1"), b = make("cpus:2");
	struct resources v = make("[" VOLUME("v", "a", "") "]"),
			 w = make("[" VOLUME("v", "b", "") "]");

	cr_assert_eq(a.pieces[0].shape, b.pieces[0].shape);
	cr_assert_neq(v.pieces[0].shape, w.pieces[0].shape);
	cr_assert(resource_shape_same(v.pieces[0].shape, w.pieces[0].shape));
	cr_assert_eq(resource_shapes_unused(shapes), 0);
	resources_free(&b);
	resources_free(&w);
	cr_assert_eq(resource_shapes_unused(shapes), 1);
	resource_shapes_collect(shapes);
	cr_assert_eq(resource_shapes_unused(shapes), 0);
	cr_assert_str_eq(resource_shape_name(a.pieces[0].shape), "cpus");
	resources_free(&a);
	resources_free(&v);
	cr_assert_eq(resource_shapes_unused(shapes), 2);
}

Test(proto_resources, writes_the_model)
{
	static const struct {
		const char *text;
		const char *json;
	} cases[] = {
		{"", "{\"cpus\":0.0,\"gpus\":0.0,\"mem\":0.0,\"disk\":0.0}"},
		{"ports(r):[31005-32000];foo:2;cpus:1;cpus(r):1.5;ports:[31000-31001];zones:{a,b}",
		 "{\"cpus\":2.5,\"gpus\":0.0,\"mem\":0.0,\"disk\":0.0,"
		 "\"ports\":\"[31000-31001, 31005-32000]\",\"foo\":2.0,\"zones\":\"{a, b}\"}"},
		{"[{" CPU "},{" CPU ",\"revocable\":{}},{" CPU ",\"revocable\":{},\"role\":\"r\"}]",
		 "{\"cpus\":1.0,\"gpus\":0.0,\"mem\":0.0,\"disk\":0.0,\"cpus_revocable\":2.0}"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct resources r = make(cases[i].text);
		struct buf out = BUF_INIT;
		struct json_writer w;

		jw_init(&w, &out);
		resources_write_model(&r, &w);
		cr_expect_str_eq(out.data, cases[i].json);
		buf_free(&out);
		resources_free(&r);
	}
}
