/* Offer constraints and the expressions in them. */
#include <criterion/criterion.h>
#include <string.h>

#include "allocator/constraints.h"
#include "allocator/constraints/pattern.h"
#include "base/json/json.h"
#include "base/memory/arena.h"

static const struct pattern_limits limits = {4096, 100};

/* ---- patterns ------------------------------------------------------------------- */

static const struct {
	const char *pattern, *text;
	bool matches;
} matches[] = {
	{"", "", true},
	{"(?P<name>a)b", "ab", true},
	{"\\Qa.c\\E", "a.c", true},
	{"", "a", false},
	{"abc", "abc", true},
	{"abc", "abcd", false},
	{"b", "abc", false},
	{"a.c", "axc", true},
	{"a.c", "a\nc", false},
	{"(?s)a.c", "a\nc", true},
	{"a.c",
	 "a\xc3\xa4"
	 "c",
	 true},
	{"a.c",
	 "a\xff"
	 "c",
	 false},
	{"a..c",
	 "a\xc3\xa4"
	 "c",
	 false},
	{"[\xc3\xa4-\xc3\xbc]", "\xc3\xb6", true},
	{"a*", "", true},
	{"a*", "aaaa", true},
	{"a+", "", false},
	{"a+b?", "aab", true},
	{"a{2,3}", "a", false},
	{"a{2,3}", "aaa", true},
	{"a{2,3}", "aaaa", false},
	{"a{2}", "aa", true},
	{"a{2,}", "aaaaa", true},
	{"a{0}b", "b", true},
	{"a{,2}", "a{,2}", true},
	{"(ab|cd)*", "abcdab", true},
	{"(ab|cd)*", "abc", false},
	{"a|b|cd", "cd", true},
	{"a||b", "", true},
	{"(?:rack)-[0-9]+", "rack-17", true},
	{"rack-\\d{1,2}", "rack-123", false},
	{"[^a-c]", "d", true},
	{"[^a-c]", "b", false},
	{"[]a]", "]", true},
	{"[a-]", "-", true},
	{"[\\d.]+", "1.2", true},
	{"[[:alpha:]_]+", "a_Z", true},
	{"[[:^digit:]]", "1", false},
	{"\\w+\\s\\W", "ab \t", true},
	{"\\D\\S", "a1", true},
	{"\\.\\*\\x41\\x{e4}", ".*A\xc3\xa4", true},
	{"^abc$", "abc", true},
	{"a^b", "ab", false},
	{"\\Aab\\z", "ab", true},
	{"a\\b.b", "a b", true},
	{"a\\bb", "ab", false},
	{"a\\Bb", "ab", true},
	{"(?i)Rack[a-c]", "rACKB", true},
	{"(?i:a)b", "Ab", true},
	{"(?i:a)b", "AB", false},
	{"(a*)*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac", false},
	{"()*", "", true},
	{"(a?){10}a{10}", "aaaaaaaaaa", true},
	{"x{", "x{", true},
};

Test(allocator_constraints, patterns_match_whole_texts)
{
	for (size_t i = 0; i < sizeof(matches) / sizeof(*matches); i++) {
		struct pattern *p = NULL;
		struct err err = {{0}};

		cr_assert_eq(pattern_create(matches[i].pattern, &limits, &p, &err), 0, "%s: %s",
			     matches[i].pattern, err.text);
		cr_expect_eq(pattern_matches(p, matches[i].text), matches[i].matches, "'%s' '%s'",
			     matches[i].pattern, matches[i].text);
		pattern_destroy(p);
	}
}

static const char *const wrong[] = {
	"(",
	")",
	"a)",
	"(a",
	"[",
	"[a",
	"[]",
	"[b-a]",
	"*",
	"a**",
	"+a",
	"\\",
	"a{1001}",
	"a{3,2}",
	"[[:nothing:]]",
	"\\pL",
	"\\q",
	"\\x4",
	"(?=a)",
	"a{200}",
	"(a{20}){20}",
	"((((a{1000}){1000}){1000}){1000}){1000}",
	"((((){1000}){1000}){1000}){1000}",
};

Test(allocator_constraints, patterns_that_are_none_are_errors)
{
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct pattern *p = NULL;
		struct err err = {{0}};

		cr_expect_lt(pattern_create(wrong[i], &limits, &p, &err), 0, "%s", wrong[i]);
		cr_expect_neq(err.text[0], 0);
	}
}

Test(allocator_constraints, deep_patterns_are_errors)
{
	char text[20001];
	struct pattern *p = NULL;
	struct err err = {{0}};

	memset(text, '(', 20000);
	text[20000] = '\0';
	cr_expect_lt(pattern_create(text, &limits, &p, &err), 0);
	for (int i = 0; i < 20000; i++)
		text[i] = '|';
	cr_expect_lt(pattern_create(text, &limits, &p, &err), 0);
}

/* ---- constraints ---------------------------------------------------------------- */

static struct arena arena;

static void *message(const ProtobufCMessageDescriptor *type, const char *text)
{
	struct json *json = NULL;
	struct err err = {{0}};
	void *made;

	cr_assert_eq(json_parse(&arena, text, strlen(text), &json, &err), 0, "%s", err.text);
	made = json_to_proto(type, json, SPELL_V1, &arena, &err);
	cr_assert(made, "%s: %s", text, err.text);
	return made;
}

#define ATTRIBUTE(name) "\"selector\":{\"attribute_name\":\"" name "\"}"
#define PSEUDO(type) "\"selector\":{\"pseudoattribute_type\":\"" type "\"}"
#define EXISTS "\"predicate\":{\"exists\":{}}"
#define NOT_EXISTS "\"predicate\":{\"not_exists\":{}}"
#define TEXT(kind, value) "\"predicate\":{\"text_" kind "\":{\"value\":\"" value "\"}}"
#define REGEX(kind, value) "\"predicate\":{\"text_" kind "\":{\"regex\":\"" value "\"}}"

#define AGENT                                                                                      \
	"{\"hostname\":\"h1\",\"attributes\":["                                                    \
	"{\"name\":\"rack\",\"type\":\"TEXT\",\"text\":{\"value\":\"x\"}},"                        \
	"{\"name\":\"rack\",\"type\":\"TEXT\",\"text\":{\"value\":\"second\"}},"                   \
	"{\"name\":\"size\",\"type\":\"SCALAR\",\"scalar\":{\"value\":3}}],"                       \
	"\"domain\":{\"fault_domain\":{\"region\":{\"name\":\"r\"},\"zone\":{\"name\":\"z\"}}}}"

static const struct {
	const char *constraint;
	bool excluded;
} cases[] = {
	{ATTRIBUTE("rack") "," EXISTS, false},
	{ATTRIBUTE("none") "," EXISTS, true},
	{ATTRIBUTE("rack") "," NOT_EXISTS, true},
	{ATTRIBUTE("none") "," NOT_EXISTS, false},
	{ATTRIBUTE("size") "," NOT_EXISTS, true},
	{ATTRIBUTE("rack") "," TEXT("equals", "x"), false},
	{ATTRIBUTE("rack") "," TEXT("equals", "second"), true},
	{ATTRIBUTE("none") "," TEXT("equals", "x"), true},
	{ATTRIBUTE("size") "," TEXT("equals", "x"), false},
	{ATTRIBUTE("rack") "," TEXT("not_equals", "x"), true},
	{ATTRIBUTE("rack") "," TEXT("not_equals", "y"), false},
	{ATTRIBUTE("none") "," TEXT("not_equals", "x"), false},
	{ATTRIBUTE("size") "," TEXT("not_equals", "x"), false},
	{ATTRIBUTE("rack") "," REGEX("matches", "[x-z]"), false},
	{ATTRIBUTE("rack") "," REGEX("matches", "[a-c]"), true},
	{ATTRIBUTE("none") "," REGEX("matches", ".*"), true},
	{ATTRIBUTE("size") "," REGEX("matches", "a"), false},
	{ATTRIBUTE("rack") "," REGEX("not_matches", "[x-z]"), true},
	{ATTRIBUTE("none") "," REGEX("not_matches", ".*"), false},
	{ATTRIBUTE("size") "," REGEX("not_matches", ".*"), false},
	{PSEUDO("HOSTNAME") "," TEXT("equals", "h1"), false},
	{PSEUDO("HOSTNAME") "," TEXT("equals", "h2"), true},
	{PSEUDO("REGION") "," TEXT("equals", "r"), false},
	{PSEUDO("ZONE") "," TEXT("not_equals", "z"), true},
};

static struct constraints *make(const char *groups, struct err *err)
{
	char *text = xprintf("{\"role_constraints\":{\"a\":{\"groups\":[%s]}}}", groups);
	struct constraints *c = NULL;

	*err = (struct err){{0}};
	constraints_create(message(&mesos__scheduler__offer_constraints__descriptor, text), &c,
			   err);
	free(text);
	return c;
}

Test(allocator_constraints, case_57_each_predicate)
{
	Mesos__AgentInfo *agent = message(&mesos__agent_info__descriptor, AGENT);

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *group = xprintf("{\"attribute_constraints\":[{%s}]}", cases[i].constraint);
		struct err err;
		struct constraints *c = make(group, &err);

		cr_assert(c, "%s", err.text);
		cr_expect_eq(constraints_exclude(c, "a", agent), cases[i].excluded, "%s",
			     cases[i].constraint);
		cr_expect_not(constraints_exclude(c, "b", agent));
		constraints_destroy(c);
		free(group);
	}
	cr_expect_not(constraints_exclude(NULL, "a", agent));
	arena_free(&arena);
}

#define GROUP(list) "{\"attribute_constraints\":[" list "]}"
#define YES "{" ATTRIBUTE("rack") "," EXISTS "}"
#define NO "{" ATTRIBUTE("none") "," EXISTS "}"

Test(allocator_constraints, groups_are_alternatives_of_all_their_constraints)
{
	Mesos__AgentInfo *agent = message(&mesos__agent_info__descriptor, AGENT);
	const struct {
		const char *groups;
		bool excluded;
	} rows[] = {
		{GROUP(YES "," NO), true},
		{GROUP(YES "," YES), false},
		{GROUP(YES "," NO) "," GROUP(YES), false},
		{GROUP(NO) "," GROUP(NO), true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct err err;
		struct constraints *c = make(rows[i].groups, &err);

		cr_expect_eq(constraints_exclude(c, "a", agent), rows[i].excluded, "%zu", i);
		constraints_destroy(c);
	}
	arena_free(&arena);
}

Test(allocator_constraints, errors_are_those_of_mesos)
{
	static const struct {
		const char *groups, *text;
	} rows[] = {
		{"", "'OfferConstraints::role_constraints' has an empty 'RoleConstraints::groups' "
		     "for role a"},
		{"{}", "'OfferConstraints::RoleConstraints::groups' for role acontains an empty "
		       "RoleConstraints::Group"},
		{GROUP("{\"selector\":{}," EXISTS "}"),
		 "A role a has an invalid 'AttributeConstraint': Exactly one of "
		 "'AttributeConstraint::Selector::name' or "
		 "'AttributeConstraint::Selector::pseudoattribute_type' must be set"},
		{GROUP("{" PSEUDO("UNKNOWN") "," EXISTS "}"),
		 "A role a has an invalid 'AttributeConstraint': Unknown pseudoattribute type"},
		{GROUP("{" ATTRIBUTE("x") ",\"predicate\":{}}"),
		 "A role a has an invalid 'AttributeConstraint': Unknown predicate type"},
		{GROUP("{" ATTRIBUTE("x") "," REGEX("matches", "(") "}"),
		 "A role a has an invalid 'AttributeConstraint': Failed to construct regex from "
		 "pattern '(': missing ): ("},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct err err;

		cr_expect_null(make(rows[i].groups, &err));
		cr_expect_str_eq(err.text, rows[i].text);
	}
	arena_free(&arena);
}
