/* Resources: the cases of the algebra that are easily got wrong, and what shapes tell. The
 * algebra at large is held against a model in proto_algebra.c. */
#include "tests/unit/proto_resources.h"

RESOURCES_SUITE(proto_calculation);

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

Test(proto_calculation, calculates)
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

Test(proto_calculation, stays_exact_over_many_operations)
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

Test(proto_calculation, a_collection_can_meet_itself)
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

Test(proto_calculation, tells_quantities)
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

Test(proto_calculation, tells_what_a_shape_is)
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

Test(proto_calculation, shapes_are_made_once_and_collected)
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

Test(proto_calculation, writes_the_model)
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
