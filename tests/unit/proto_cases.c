/* Cases 1 to 17 of the index (tests/cases): the algebra of resources, a case a test.
 * 14 and 16 are the allocator's. */
#include <string.h>

#include "tests/unit/proto_resources.h"

RESOURCES_SUITE(proto_cases);

static void expect_text(struct resources *r, const char *expected, int line)
{
	struct buf out = BUF_INIT;

	resources_print(r, &out);
	cr_expect_str_eq(out.data, expected, "line %d: '%s' is not '%s'", line, out.data, expected);
	buf_free(&out);
	resources_free(r);
}

/* `left` and `right` added or subtracted are `expected`; or for '>' whether the left
 * contains the right, "yes" or "no". */
static void expect_op(const char *left, char op, const char *right, const char *expected, int line)
{
	struct resources r = make(left), other = make(right);

	if (op == '>') {
		cr_expect_str_eq(resources_contain(&r, &other) ? "yes" : "no", expected, "line %d",
				 line);
		resources_free(&r);
	} else {
		(op == '+' ? resources_add : resources_subtract)(&r, &other);
		expect_text(&r, expected, line);
	}
	resources_free(&other);
}
#define EXPECT(left, op, right, expected) expect_op(left, op, right, expected, __LINE__)

static void expect_error(const char *text)
{
	struct resources r = RESOURCES_INIT;
	struct err err = {""};

	cr_expect_neq(resources_parse(shapes, text, "*", &r, &err), 0, "%s is no error", text);
	cr_expect_neq(err.text[0], '\0');
	cr_expect(resources_empty(&r), "an error leaves nothing");
}

Test(proto_cases, case_1_precision_of_what_is_read)
{
	struct resources lost = make("cpus:1.5011"), rounded = make("cpus:1.5015");

	cr_expect_eq(resources_quantity(&lost, "cpus"), 1501);
	cr_expect_eq(resources_quantity(&rounded, "cpus"), 1502);
	resources_free(&lost);
	resources_free(&rounded);
}

Test(proto_cases, case_2_very_small_and_absent)
{
	struct resources absent = make("gpus:0");

	expect_error("cpus:0.00001");
	cr_expect(resources_empty(&absent));
	resources_free(&absent);
}

Test(proto_cases, case_3_precision_over_many_operations)
{
	struct resources total = make("cpus:1.001"), one = make("cpus:1.001");

	for (int i = 0; i < 100000; i++)
		resources_add(&total, &one);
	for (int i = 0; i < 100000; i++)
		resources_subtract(&total, &one);
	cr_expect(resources_equal(&total, &one));
	resources_free(&one);
	expect_text(&total, "cpus:1.001", __LINE__);
}

Test(proto_cases, case_4_ranges_addition)
{
	EXPECT("ports:[20000-40000]", '+', "ports:[30000-50000,10000-20000]",
	       "ports:[10000-50000]");
}

Test(proto_cases, case_5_ranges_subtraction)
{
	EXPECT("ports:[1-10,20-30,40-50]", '-', "ports:[2-9,15-45,48-50]",
	       "ports:[1-1, 10-10, 46-47]");
}

Test(proto_cases, case_6_ranges_that_join)
{
	EXPECT("ports:[1-4,9-10,20-22,26-30]", '+', "ports:[5-8,23-25]", "ports:[1-10, 20-30]");
}

Test(proto_cases, case_7_parse_errors)
{
	expect_error("cpus(role1)");
	expect_error("cpus(role1:1");
	expect_error("foo(role1):1;foo(role2):[0-1]");
}

Test(proto_cases, case_8_parsing_with_roles)
{
	struct resources got = RESOURCES_INIT, want = RESOURCES_INIT;
	struct err err = {""};

	cr_assert_eq(resources_parse(shapes, "cpus:2.5;ports(role2):[0-100]", "role1", &got, &err),
		     0, "%s", err.text);
	cr_assert_eq(
		resources_parse(shapes, "cpus(role1):2.5;ports(role2):[0-100]", "*", &want, &err),
		0, "%s", err.text);
	cr_expect(resources_equal(&got, &want));
	resources_free(&got);
	resources_free(&want);
}

Test(proto_cases, case_9_scalar_subtraction_by_role)
{
	struct resources r = make("cpus(role1):5;cpus(role2):3"), less = make("cpus(role1):1");

	resources_subtract(&r, &less);
	cr_expect_eq(resources_quantity(&r, "cpus"), 7000);
	resources_free(&less);
	expect_text(&r,
		    "cpus(reservations: [(STATIC,role1)]):4; cpus(reservations: "
		    "[(STATIC,role2)]):3",
		    __LINE__);
}

Test(proto_cases, case_10_nothing_negative)
{
	EXPECT("cpus:1", '-', "cpus:3", "{}");
}

#define DISK_OF(size, more)                                                                        \
	"{\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{\"value\":" size "}" more "}"
#define MOUNT(size)                                                                                \
	"[" DISK_OF(size,                                                                          \
		    ",\"disk\":{\"source\":{\"type\":\"MOUNT\",\"mount\":{\"root\":\"/m\"}}}") "]"
#define PATH(root, size)                                                                           \
	"[" DISK_OF(size, ",\"disk\":{\"source\":{\"type\":\"PATH\",\"path\":{\"root\":\"" root    \
			  "\"}}}") "]"

Test(proto_cases, case_11_mounts_are_whole)
{
	EXPECT(MOUNT("100"), '+', MOUNT("100"), "disk[MOUNT:/m]:100; disk[MOUNT:/m]:100");
	EXPECT(MOUNT("100"), '>', MOUNT("50"), "no");
}

Test(proto_cases, case_12_paths_add_up)
{
	EXPECT(PATH("/p", "10"), '+', PATH("/p", "5"), "disk[PATH:/p]:15");
	EXPECT(PATH("/p", "15"), '+', PATH("/q", "5"), "disk[PATH:/p]:15; disk[PATH:/q]:5");
}

#define SHARED                                                                                     \
	DISK_OF("9", ",\"role\":\"r\",\"shared\":{},\"disk\":{\"persistence\":{\"id\":\"v\"},"     \
		     "\"volume\":{\"container_path\":\"d\",\"mode\":\"RW\"}}")

Test(proto_cases, case_13_shared_volumes_are_counted)
{
	EXPECT("[" SHARED "," SHARED "]", '-', "[" SHARED "]",
	       "disk(reservations: [(STATIC,r)])[v:d]<SHARED>:9<1>");
	EXPECT("[" SHARED "]", '>', "[" SHARED "," SHARED "]", "no");
}

Test(proto_cases, case_15_quantities_cross_roles)
{
	struct resources r = make("cpus(role1):2;cpus:1");

	cr_expect_eq(resources_quantity(&r, "cpus"), 3000);
	resources_free(&r);
}

static Mesos__Resource *single_message(const char *text)
{
	struct err err = {""};
	Mesos__Resource **list;
	size_t count;

	cr_assert_eq(resources_parse_messages(&arena, text, "*", &count, &list, &err), 0, "%s: %s",
		     text, err.text);
	cr_assert_eq(count, 1);
	return list[0];
}

#define CPU_WITH(more) "[{\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1}" more "}]"

Test(proto_cases, case_17_formats)
{
	Mesos__Resource *old =
		single_message(CPU_WITH(",\"role\":\"r\",\"reservation\":{\"principal\":\"p\"}"));
	Mesos__Resource *refined = single_message(
		CPU_WITH(",\"reservations\":[{\"type\":\"STATIC\",\"role\":\"a\"},"
			 "{\"type\":\"DYNAMIC\",\"role\":\"a/b\",\"principal\":\"p\"}]"));

	/* Texts come out upgraded: back first. */
	cr_assert(resource_downgrade(&arena, old));
	cr_expect_str_eq(old->role, "r");
	cr_expect_str_eq(old->reservation->principal, "p");
	cr_expect_eq(old->n_reservations, 0);
	resource_upgrade(&arena, old);
	cr_assert_eq(old->n_reservations, 1);
	cr_expect_eq(old->reservations[0]->type, MESOS__RESOURCE__RESERVATION_INFO__TYPE__DYNAMIC);
	cr_expect_str_eq(old->reservations[0]->role, "r");
	cr_expect_str_eq(old->reservations[0]->principal, "p");
	cr_expect_str_eq(old->role, "*");
	cr_expect_null(old->reservation);
	cr_expect_not(resource_downgrade(&arena, refined));
}
