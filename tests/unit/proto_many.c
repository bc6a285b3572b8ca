/* Resources in amounts that only somebody hostile has: bounded, or in time for each part and
 * not for each pair. Quadratic work on values of this size would outlast the time of a test. */
#include <string.h>

#include "tests/unit/proto_resources.h"

RESOURCES_SUITE(proto_many);

static struct resources parse(const char *text)
{
	struct err err = {""};
	struct resources r;

	cr_assert_eq(resources_parse(shapes, text, "*", &r, &err), 0, "%s", err.text);
	return r;
}

#define SET_OF_ONE "\"name\":\"zones\",\"type\":\"SET\",\"set\":{\"item\":[\"a\"]}"

Test(proto_many, refuses_lists_that_no_machine_has)
{
	Mesos__Resource *cpus = message_of(CPU), *set = message_of(SET_OF_ONE);
	Mesos__Resource **list = xcalloc(RESOURCES_MAX + 1, sizeof(*list));
	char **items = xcalloc(RESOURCE_PARTS_MAX + 1, sizeof(*items));
	struct err err = {""};

	for (size_t i = 0; i <= RESOURCES_MAX; i++)
		list[i] = cpus;
	cr_assert_eq(resources_validate(list, RESOURCES_MAX, &err), 0);
	cr_assert_neq(resources_validate(list, RESOURCES_MAX + 1, &err), 0);
	cr_assert_str_eq(err.text, "There are 2001 resources, more than 2000");
	for (size_t i = 0; i <= RESOURCE_PARTS_MAX; i++)
		items[i] = arena_printf(&arena, "i%zu", i);
	set->set->item = items;
	set->set->n_item = RESOURCE_PARTS_MAX;
	list[0] = set;
	cr_assert_eq(resources_validate(list, 1, &err), 0);
	set->set->n_item++;
	cr_assert_neq(resources_validate(list, 1, &err), 0);
	cr_assert_str_eq(err.text, "The resources have 100001 ranges and items, more than 100000");
	free(items);
	free(list);
}

Test(proto_many, calculates_with_many_parts, .timeout = 60)
{
	struct buf text = BUF_INIT;
	struct resources all, odd;

	for (int i = 0; i < 50000; i++)
		buf_printf(&text, "%s%d-%d", i ? "," : "ports:[", 4 * i, 4 * i + 2);
	buf_puts(&text, "];zones:{");
	for (int i = 0; i < 50000; i++)
		buf_printf(&text, "%sz%d", i ? "," : "", i);
	buf_puts(&text, "}");
	all = parse(text.data);
	buf_clear(&text);
	for (int i = 1; i < 50000; i += 2)
		buf_printf(&text, "%s%d-%d", i > 1 ? "," : "ports:[", 4 * i + 1, 4 * i + 1);
	buf_puts(&text, "];zones:{");
	for (int i = 1; i < 50000; i += 2)
		buf_printf(&text, "%sz%d", i > 1 ? "," : "", i);
	buf_puts(&text, "}");
	odd = parse(text.data);
	cr_assert(resources_contain(&all, &odd));
	resources_subtract(&all, &odd);
	cr_assert_not(resources_contain(&all, &odd));
	cr_assert_eq(resources_quantity(&all, "ports"), (150000 - 25000) * 1000);
	cr_assert_eq(resources_quantity(&all, "zones"), 25000 * 1000);
	resources_add(&all, &odd);
	cr_assert(resources_contain(&all, &odd));
	cr_assert_eq(resources_quantity(&all, "ports"), 150000 * 1000);
	cr_assert_eq(resources_quantity(&all, "zones"), 50000 * 1000);
	resources_free(&all);
	resources_free(&odd);
	buf_free(&text);
}

/* A million ranges in a text: merged they may be few, or too many for any machine. */
Test(proto_many, reads_a_million_ranges, .timeout = 60)
{
	struct buf few = BUF_INIT, many = BUF_INIT;
	struct err err = {""};
	struct resources r;

	for (int i = 0; i < 1000000; i++) {
		int mixed = (int)((long long)i * 7919 % 1000000);

		buf_printf(&few, "%s%d-%d", i ? "," : "ports:[", mixed, mixed + 1);
		buf_printf(&many, "%s%d-%d", i ? "," : "ports:[", 2 * mixed, 2 * mixed);
	}
	buf_puts(&few, "]");
	buf_puts(&many, "]");
	cr_assert_eq(resources_parse(shapes, few.data, "*", &r, &err), 0, "%s", err.text);
	cr_assert_eq(r.pieces[0].count, 1);
	cr_assert_eq(r.pieces[0].ranges[0].end, 1000000);
	resources_free(&r);
	cr_assert_eq(resources_parse(shapes, many.data, "*", &r, &err), ERR_INVALID);
	cr_assert_str_eq(err.text, "The resources have 1000000 ranges and items, more than 100000");
	buf_free(&few);
	buf_free(&many);
}

/* As many as a list may have: each in time for itself, not for all others. */
Test(proto_many, calculates_with_many_volumes, .timeout = 60)
{
	struct resources all = RESOURCES_INIT, copy;

	for (int i = 0; i < RESOURCES_MAX; i++)
		resources_add_message(
			shapes, &all,
			message_of(arena_printf(&arena,
						DISK ",\"role\":\"r\",\"disk\":{\"persistence\":{"
						     "\"id\":\"v%d\"}}",
						i)));
	resources_copy(&copy, &all);
	for (int i = 0; i < 100; i++) {
		resources_subtract(&all, &copy);
		cr_assert(resources_empty(&all));
		resources_add(&all, &copy);
		cr_assert_eq(all.count, RESOURCES_MAX);
	}
	cr_assert(resources_contain(&all, &copy));
	resources_free(&all);
	resources_free(&copy);
}

/* Of every width, in no order: the same as when they come one by one. */
Test(proto_many, puts_ranges_in_order)
{
	struct resources all = RESOURCES_INIT;
	struct buf text = BUF_INIT;
	struct err err = {""};
	const int count = 3000;

	buf_puts(&text, "ports:[");
	for (int i = 0; i < count; i++) {
		uint64_t mixed = (uint64_t)i * 2017 % (uint64_t)count;
		uint64_t begin = mixed << (mixed % 3 * 20);

		buf_printf(&text, "%s%llu-%llu", i ? "," : "", (unsigned long long)begin,
			   (unsigned long long)begin + mixed % 7);
	}
	buf_puts(&text, "]");
	cr_assert_eq(resources_parse(shapes, text.data, "*", &all, &err), 0, "%s", err.text);
	for (uint32_t i = 1; i < all.pieces[0].count; i++)
		cr_assert_gt(all.pieces[0].ranges[i].begin, all.pieces[0].ranges[i - 1].end + 1);
	for (int i = 0; i < count; i++) {
		uint64_t begin = (uint64_t)i << (i % 3 * 20);
		struct resource_range range = {begin, begin + (uint64_t)i % 7};
		struct resource_piece piece = all.pieces[0];
		struct resources one = {&piece, 1, 1};

		piece.ranges = &range;
		piece.count = 1;
		cr_assert(resources_contain(&all, &one), "%d", i);
	}
	resources_free(&all);
	buf_free(&text);
}
