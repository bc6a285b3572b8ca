/* --reconfiguration_policy: with which flags an agent may start where another set was before. */
#include "agent_harness.h"

#include <string.h>

static struct rig rig;

static void start(void)
{
	rig_init(&rig);
	rig.checkpoint = true;
	rig_start(&rig);
	rig_register(&rig);
}

static void stop(void)
{
	rig_free(&rig);
}

TestSuite(agent_reconfiguration, .init = start, .fini = stop);

static bool starts_with(const char *policy, const char *resources, const char *hostname,
			bool rebooted)
{
	struct err err = {""};
	bool ok;

	rig_kill_agent(&rig);
	resources_free(&rig.total);
	cr_assert_eq(resources_parse(rig.options.shapes, resources, "*", &rig.total, &err), 0);
	rig.options.reconfiguration_policy = policy;
	rig.options.hostname = hostname;
	ok = rig_try_start(&rig, rebooted, &err) == 0;
	cr_assert(ok || strstr(err.text, "Configuration change not permitted"), "%s", err.text);
	return ok;
}

#define SAME "cpus:4;mem:4096;ports:[31000-31999]"

Test(agent_reconfiguration, policies)
{
	cr_assert(starts_with("equal", SAME, "host", false));
	cr_assert_not(starts_with("equal", "cpus:8;mem:4096;ports:[31000-31999]", "host", false));
	cr_assert_not(starts_with("equal", SAME, "other", false));
	cr_assert(starts_with("additive", "cpus:8;mem:4096;ports:[30000-31999]", "host", false));
	cr_assert_str_eq(agent_id(rig.agent), RIG_AGENT);
	cr_assert_not(
		starts_with("additive", "cpus:2;mem:4096;ports:[31000-31999]", "host", false));
	cr_assert_not(starts_with("additive", SAME, "other", false));
	cr_assert(starts_with("equal", SAME, "other", true));
	cr_assert_str_eq(agent_id(rig.agent), "");
}

/* Starts it with an attribute "a" of these ranges, of two numbers each, ended by 0. */
static bool starts_with_ranges(const char *policy, const uint64_t *numbers)
{
	Mesos__Attribute *attribute = rig_new(&rig, Mesos__Attribute, mesos__attribute__descriptor);
	Mesos__Attribute *list[1] = {attribute};
	bool ok;

	attribute->name = (char *)"a";
	attribute->type = MESOS__VALUE__TYPE__RANGES;
	attribute->ranges = rig_new(&rig, Mesos__Value__Ranges, mesos__value__ranges__descriptor);
	for (; *numbers; numbers += 2) {
		Mesos__Value__Range *range =
			rig_new(&rig, Mesos__Value__Range, mesos__value__range__descriptor);

		range->begin = numbers[0];
		range->end = numbers[1];
		proto_push(&rig.arena, attribute->ranges->n_range, attribute->ranges->range, range);
	}
	rig.options.attributes = list;
	rig.options.attribute_count = 1;
	ok = starts_with(policy, SAME, "host", false);
	rig.options.attributes = NULL;
	rig.options.attribute_count = 0;
	return ok;
}

#define RANGES(...) ((uint64_t[]){__VA_ARGS__, 0})

static Mesos__DomainInfo *domain_of(const char *zone)
{
	const char *text = arena_printf(&rig.arena,
					"{\"fault_domain\":{\"region\":{\"name\":\"r\"},"
					"\"zone\":{\"name\":\"%s\"}}}",
					zone);

	return rig_parse(&rig, &mesos__domain_info__descriptor, text);
}

static bool starts_in(const char *policy, Mesos__DomainInfo *domain)
{
	bool ok;

	rig.options.domain = domain;
	ok = starts_with(policy, SAME, "host", false);
	rig.options.domain = NULL;
	return ok;
}

/* It may be told where it was not, and is never moved. */
Test(agent_reconfiguration, domains_may_be_added_only)
{
	Mesos__DomainInfo *here = domain_of("here");

	cr_assert_not(starts_in("equal", here));
	cr_assert(starts_in("additive", here));
	rig_reregister(&rig);
	cr_assert(starts_in("equal", here));
	cr_assert(starts_in("additive", here));
	cr_assert_not(starts_in("equal", domain_of("there")));
	cr_assert_not(starts_in("additive", domain_of("there")));
	cr_assert_not(starts_in("equal", NULL));
	cr_assert_not(starts_in("additive", NULL));
}

Test(agent_reconfiguration, ports_stay)
{
	rig.options.port++;
	cr_assert_not(starts_with("equal", SAME, "host", false));
	cr_assert_not(starts_with("additive", SAME, "host", false));
	rig.options.port--;
	cr_assert(starts_with("equal", SAME, "host", false));
}

/* Starts it with attributes of these names and values, two and two. */
static bool starts_with_texts(const char *policy, const char *const *texts)
{
	Mesos__Attribute **list = NULL;
	size_t count = 0;
	bool ok;

	for (; *texts; texts += 2) {
		Mesos__Attribute *attribute =
			rig_new(&rig, Mesos__Attribute, mesos__attribute__descriptor);

		attribute->name = (char *)texts[0];
		attribute->type = MESOS__VALUE__TYPE__TEXT;
		attribute->text = rig_new(&rig, Mesos__Value__Text, mesos__value__text__descriptor);
		attribute->text->value = (char *)texts[1];
		proto_push(&rig.arena, count, list, attribute);
	}
	rig.options.attributes = list;
	rig.options.attribute_count = count;
	ok = starts_with(policy, SAME, "host", false);
	rig.options.attributes = NULL;
	rig.options.attribute_count = 0;
	return ok;
}

#define TEXTS(...) ((const char *const[]){__VA_ARGS__, NULL})

Test(agent_reconfiguration, attributes_may_be_added_only)
{
	cr_assert(starts_with_texts("additive", TEXTS("a", "1", "b", "2")));
	rig_reregister(&rig);
	cr_assert(starts_with_texts("equal", TEXTS("a", "1", "b", "2")));
	cr_assert_not(starts_with_texts("equal", TEXTS("a", "1", "b", "3")));
	cr_assert_not(starts_with_texts("equal", TEXTS("b", "2", "a", "1")));
	cr_assert_not(starts_with_texts("equal", TEXTS("a", "1")));
	cr_assert_not(starts_with_texts("additive", TEXTS("a", "1")));
	cr_assert_not(starts_with_texts("additive", TEXTS("a", "1", "c", "2")));
	cr_assert_not(starts_with_texts("additive", TEXTS("a", "1", "b", "3")));
	cr_assert(starts_with_texts("additive", TEXTS("c", "3", "b", "2", "a", "1")));
}

Test(agent_reconfiguration, ranges_of_attributes_may_grow)
{
	cr_assert_not(starts_with_ranges("equal", RANGES(10, 20)));
	cr_assert(starts_with_ranges("additive", RANGES(10, 20)));
	cr_assert_str_eq(agent_id(rig.agent), RIG_AGENT);
	rig_reregister(&rig);
	cr_assert(starts_with_ranges("equal", RANGES(10, 20)));
	cr_assert_not(starts_with_ranges("equal", RANGES(10, 21)));
	cr_assert_not(starts_with_ranges("additive", RANGES(11, 20)));
	cr_assert_not(starts_with_ranges("additive", RANGES(10, 19)));
	cr_assert(starts_with_ranges("additive", RANGES(9, 21)));
	rig_reregister(&rig);
	cr_assert(starts_with_ranges("additive", RANGES(1, 3, 5, 30)));
	rig_reregister(&rig);
	cr_assert_not(starts_with_ranges("additive", RANGES(5, 30)));
	cr_assert_not(starts_with_ranges("additive", RANGES(1, 3)));
	cr_assert(starts_with_ranges("additive", RANGES(1, 30)));
}
