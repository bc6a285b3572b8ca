/* Capabilities of containers: what is asked for, and what is allowed. */
#include <criterion/criterion.h>
#include <string.h>

#include "agent/containers/capabilities.h"
#include "base/json/json.h"

#define NONE                                                                                       \
	{                                                                                          \
		0                                                                                  \
	}
#define EFFECTIVE(set)                                                                             \
	{                                                                                          \
		.has_effective = true, .effective = set                                            \
	}
#define BOUNDING(set)                                                                              \
	{                                                                                          \
		.has_bounding = true, .bounding = set                                              \
	}
#define BOTH(e, b)                                                                                 \
	{                                                                                          \
		.has_effective = true, .effective = e, .has_bounding = true, .bounding = b         \
	}

#define CHOWN 1u
#define KILL 32u
#define RAW 8192u

Test(agent_capabilities, of_a_container)
{
	static const struct {
		const char *asked; /* members of linux_info; NULL: there is none */
		struct capabilities of_agent, given;
		const char *why; /* beginning; NULL: it is allowed */
	} cases[] = {
		{NULL, NONE, NONE, NULL},
		{"", NONE, NONE, NULL},
		{NULL, EFFECTIVE(KILL), BOTH(KILL, KILL), NULL},
		{NULL, BOUNDING(KILL), BOTH(KILL, KILL), NULL},
		{NULL, BOTH(KILL, KILL | RAW), BOTH(KILL, KILL | RAW), NULL},
		{"\"effective_capabilities\":{\"capabilities\":[\"RAWX\"]}", NONE, BOTH(0, 0),
		 NULL},
		{"\"effective_capabilities\":{\"capabilities\":[\"UNKNOWN\"]}", NONE, NONE,
		 "Unknown"},
		{"\"effective_capabilities\":{\"capabilities\":[\"NET_RAW\",\"NET_RAW\"]}", NONE,
		 BOTH(RAW, RAW), NULL},
		{"\"capability_info\":{\"capabilities\":[\"NET_RAW\"]}", NONE, BOTH(RAW, RAW),
		 NULL},
		{"\"capability_info\":{\"capabilities\":[\"NET_RAW\"]},\"effective_capabilities\":{"
		 "\"capabilities\":[\"KILL\"]}",
		 NONE, BOTH(KILL, KILL), NULL},
		{"\"bounding_capabilities\":{\"capabilities\":[\"KILL\",\"CHOWN\"]}", NONE,
		 BOTH(KILL | CHOWN, KILL | CHOWN), NULL},
		{"\"effective_capabilities\":{}", BOTH(KILL, KILL | RAW), BOTH(0, KILL | RAW),
		 NULL},
		{"\"effective_capabilities\":{},\"bounding_capabilities\":{}", BOTH(KILL, KILL),
		 BOTH(0, 0), NULL},
		{"\"effective_capabilities\":{\"capabilities\":[\"NET_RAW\"]}", BOUNDING(KILL),
		 NONE, "The effective capabilities"},
		{"\"bounding_capabilities\":{\"capabilities\":[\"NET_RAW\"]}", BOUNDING(KILL), NONE,
		 "The capabilities that"},
		{"\"bounding_capabilities\":{\"capabilities\":[\"NET_RAW\"]}", EFFECTIVE(KILL),
		 NONE, "The effective capabilities"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		Mesos__ContainerInfo info = MESOS__CONTAINER_INFO__INIT;
		struct capabilities out;
		struct err err = {""};
		struct arena arena;
		struct json *json;
		const char *text;
		int rv;

		arena_init(&arena);
		text = arena_printf(&arena, "{%s}", cases[i].asked ? cases[i].asked : "");
		cr_assert_eq(json_parse(&arena, text, strlen(text), &json, &err), 0, "%zu", i);
		info.linux_info =
			json_to_proto(&mesos__linux_info__descriptor, json, SPELL_V1, &arena, &err);
		cr_assert(info.linux_info, "%zu: %s", i, err.text);
		rv = capabilities_of(cases[i].asked ? &info : NULL, &cases[i].of_agent, &out, &err);
		if (cases[i].why) {
			cr_expect_lt(rv, 0, "%zu", i);
			cr_expect_eq(strncmp(err.text, cases[i].why, strlen(cases[i].why)), 0,
				     "%zu: %s", i, err.text);
		} else {
			cr_expect_eq(rv, 0, "%zu: %s", i, err.text);
			cr_expect_eq(out.has_effective, cases[i].given.has_effective, "%zu", i);
			cr_expect_eq(out.has_bounding, cases[i].given.has_bounding, "%zu", i);
			cr_expect_eq(out.effective, cases[i].given.effective, "%zu", i);
			cr_expect_eq(out.bounding, cases[i].given.bounding, "%zu", i);
		}
		arena_free(&arena);
	}
}

Test(agent_capabilities, of_a_flag)
{
	struct err err = {""};
	uint64_t set;

	cr_assert_eq(capabilities_parse("{\"capabilities\":[\"CHOWN\",\"CHECKPOINT_RESTORE\"]}",
					&set, &err),
		     0);
	cr_assert_eq(set, 1 | 1ULL << 40);
	cr_assert_eq(capabilities_parse("{}", &set, &err), 0);
	cr_assert_eq(set, 0);
	cr_assert_lt(capabilities_parse("NET_RAW", &set, &err), 0);
	cr_assert_lt(capabilities_parse("{\"capabilities\":[7]}", &set, &err), 0);
}
