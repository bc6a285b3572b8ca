/* Quota and weights of roles: what operators may say, what is answered, what is stored, and
 * which offers are rescinded. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "master/core/roles/quota.h"
#include "tests/unit/master_driver.h"

static struct driver *d;

static void set_up(void)
{
	d = driver_create();
}

static void tear_down(void)
{
	driver_destroy(d);
}

TestSuite(master_quota, .init = set_up, .fini = tear_down);

#define ROLES(list) "\"capabilities\":[{\"type\":\"MULTI_ROLE\"}],\"roles\":[" list "]"
#define CONFIG(role, guarantees, limits)                                                           \
	"{\"role\":\"" role "\",\"guarantees\":{" guarantees "},\"limits\":{" limits "}}"
#define UPDATE(configs)                                                                            \
	"{\"type\":\"UPDATE_QUOTA\",\"update_quota\":{\"quota_configs\":[" configs "]}}"
#define FORCE(configs)                                                                             \
	"{\"type\":\"UPDATE_QUOTA\",\"update_quota\":{\"force\":true,\"quota_configs\":[" configs  \
	"]}}"
#define REQUEST(members) "{\"type\":\"SET_QUOTA\",\"set_quota\":{\"quota_request\":{" members "}}}"
#define SCALAR(name, value)                                                                        \
	"{\"name\":\"" name "\",\"type\":\"SCALAR\",\"scalar\":{\"value\":" value "}}"
#define REMOVE(role) "{\"type\":\"REMOVE_QUOTA\",\"remove_quota\":{\"role\":\"" role "\"}}"
#define WEIGHTS(infos)                                                                             \
	"{\"type\":\"UPDATE_WEIGHTS\",\"update_weights\":{\"weight_infos\":[" infos "]}}"
#define AMOUNT(name, value) "\"" name "\":{\"value\":" value "}"

static char text[2048]; /* of the last answer */

/* The status of the answer, however it comes. */
static int ask(const char *call)
{
	int status = driver_operate(d, "%s", call);
	char pattern[64];
	const char *line;

	snprintf(text, sizeof(text), "%s", d->out.reply.text ? d->out.reply.text : "");
	if (status)
		return status;
	snprintf(pattern, sizeof(pattern), "answer %llu ", (unsigned long long)d->next_request);
	line = d->trace.data ? strstr(d->trace.data, pattern) : NULL;
	if (!line)
		return 0;
	line += strlen(pattern);
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(line + 4, "\n"), line + 4);
	return atoi(line);
}

static const char *stored(const char *key)
{
	struct stored_pair *pair;

	HASH_FIND(hh, d->store, key, strlen(key), pair);
	return pair ? pair->key : NULL;
}

/* Quota of a role as "guarantees | limits"; "" if it has none. */
static const char *quota_of(const char *role)
{
	static char out[512];
	const struct quota *quota = master_find_quota(d->m, role);
	struct buf guarantees = BUF_INIT, limits = BUF_INIT;
	struct arena arena;

	if (!quota)
		return "";
	arena_init(&arena);
	amounts_print(quota_guarantees(quota->config, &arena), false, &guarantees);
	amounts_print(quota_limits(quota->config, &arena), true, &limits);
	snprintf(out, sizeof(out), "%s | %s", guarantees.data, limits.data);
	buf_free(&guarantees);
	buf_free(&limits);
	arena_free(&arena);
	return out;
}

/* ---- rules ---------------------------------------------------------------------------- */

/* Against one agent of 4 cpus and 4096 MB, on which role "busy" uses 2 cpus and 64 MB. */
static void make_busy(void)
{
	driver_subscribe(d, NULL, ROLES("\"busy\""));
	driver_agent(d, AGENT1);
	for (int i = 0; i < 2; i++) {
		char offer[16], task[16];

		snprintf(offer, sizeof(offer), "M-O%d", i);
		snprintf(task, sizeof(task), "t%d", i);
		driver_launch(d, 1, "M-0000", offer, "M-S0", task, "");
		driver_pass(d, 6 * SECOND);
	}
}

static const struct {
	const char *call;
	int status;
	const char *text;
} rules[] = {
	{UPDATE(""), 200, ""},
	{UPDATE(CONFIG("a", AMOUNT("cpus", "1"), "")), 200, ""},
	{UPDATE(CONFIG("*", "", AMOUNT("cpus", "1"))), 200, ""},
	{UPDATE(CONFIG("a", "", AMOUNT("cpus", "0"))), 200, ""},
	{UPDATE(CONFIG("a", "", "")), 200, ""},
	/* Nested roles. */
	{UPDATE(CONFIG("a/b", AMOUNT("cpus", "1"), "")), 400,
	 "Updating quota on nested role 'a/b' is not supported yet"},
	{FORCE(CONFIG("a/b", AMOUNT("cpus", "1"), "")), 400,
	 "Updating quota on nested role 'a/b' is not supported yet"},
	{UPDATE(CONFIG("", "", "")), 400,
	 "Invalid QuotaConfig: Invalid 'QuotaConfig.role': Role names cannot be the empty string"},
	{UPDATE(CONFIG("-a", "", "")), 400,
	 "Invalid QuotaConfig: Invalid 'QuotaConfig.role': Role component '-a' is invalid because "
	 "it starts with a dash"},
	{UPDATE(CONFIG("a", "", AMOUNT("cpus", "1") "," AMOUNT("mem", "2000000000000"))), 400,
	 "Invalid QuotaConfig: Invalid 'QuotaConfig.limits': {'mem': 2000000000000} is invalid: "
	 "values greater than 1 exabyte (1099511627776) are not supported"},
	{UPDATE(CONFIG("a", "", AMOUNT("cpus", "1") "," AMOUNT("mem", "-1"))), 400,
	 "Invalid QuotaConfig: Invalid limit configuration {'mem': -1}: Negative values not "
	 "supported"},
	{UPDATE(CONFIG("a", AMOUNT("cpus", "1") "," AMOUNT("mem", "-1"), "")), 400,
	 "Invalid QuotaConfig: Invalid guarantee configuration {'mem': -1}: Negative values not "
	 "supported"},
	{UPDATE(CONFIG("a", AMOUNT("cpus", "4"), AMOUNT("cpus", "2"))), 400,
	 "Invalid QuotaConfig: 'QuotaConfig.guarantees' { cpus: 4 } is not contained within the "
	 "'QuotaConfig.limits' { cpus: 2 }"},
	{UPDATE(CONFIG("a", AMOUNT("mem", "1") "," AMOUNT("cpus", "1.5"),
		       AMOUNT("mem", "0") "," AMOUNT("cpus", "2"))),
	 400,
	 "Invalid QuotaConfig: 'QuotaConfig.guarantees' { cpus: 1.5, mem: 1 } is not contained "
	 "within the 'QuotaConfig.limits' { cpus: 2, mem: 0 }"},
	{FORCE(CONFIG("a", AMOUNT("mem", "1099511627776"), "")), 200, ""},
	{FORCE(CONFIG("a", AMOUNT("mem", "1099511627777"), "")), 400,
	 "Invalid QuotaConfig: Invalid 'QuotaConfig.guarantees': {'mem': 1099511627777} is "
	 "invalid: values greater than 1 exabyte (1099511627776) are not supported"},
	{FORCE(CONFIG("a", "", AMOUNT("disk", "1e300"))), 400,
	 "Invalid QuotaConfig: Invalid 'QuotaConfig.limits': {'disk': 1e+300} is invalid: values "
	 "greater than 1 exabyte (1099511627776) are not supported"},
	{FORCE(CONFIG("a", AMOUNT("cpus", "1000000000000"), "")), 200, ""},
	{FORCE(CONFIG("a", AMOUNT("cpus", "1000000000001"), "")), 400,
	 "Invalid QuotaConfig: Invalid 'QuotaConfig.guarantees': {'cpus': 1000000000001} is "
	 "invalid: values greater than 1 trillion (1000000000000) are not supported"},
	{UPDATE(CONFIG("a", AMOUNT("cpus", "-1"), "")), 400,
	 "Invalid QuotaConfig: Invalid guarantee configuration {'cpus': -1}: Negative values not "
	 "supported"},
	{UPDATE(CONFIG("a", "", AMOUNT("cpus", "-1e300"))), 400,
	 "Invalid QuotaConfig: Invalid limit configuration {'cpus': -1e+300}: Negative values not "
	 "supported"},
	/* More than the cluster has. */
	{UPDATE(CONFIG("a", AMOUNT("cpus", "10"), "")), 400,
	 "Invalid QuotaConfig: total quota guarantees 'cpus:10' exceed cluster capacity 'cpus:4; "
	 "mem:4096' (use 'force' flag to bypass this check)"},
	{FORCE(CONFIG("a", AMOUNT("cpus", "10"), "")), 200, ""},
	{UPDATE(CONFIG("a", AMOUNT("cpus", "2"), "") "," CONFIG("b", AMOUNT("cpus", "3"), "")), 400,
	 "Invalid QuotaConfig: total quota guarantees 'cpus:5' exceed cluster capacity 'cpus:4; "
	 "mem:4096' (use 'force' flag to bypass this check)"},
	{UPDATE(CONFIG("a", AMOUNT("cpus", "4"), "") "," CONFIG("a", AMOUNT("cpus", "3"), "")), 200,
	 ""},
	{UPDATE(CONFIG("a", AMOUNT("zebras", "1"), "")), 400,
	 "Invalid QuotaConfig: total quota guarantees 'zebras:1' exceed cluster capacity 'cpus:4; "
	 "mem:4096' (use 'force' flag to bypass this check)"},
	/* Less than the role has. */
	{UPDATE(CONFIG("busy", "", AMOUNT("cpus", "1"))), 400,
	 "Invalid QuotaConfig: Role 'busy' is already consuming 'cpus:2; mem:64'; this is more "
	 "than the requested limits 'cpus:1' (use 'force' flag to bypass this check)"},
	{FORCE(CONFIG("busy", "", AMOUNT("cpus", "1"))), 200, ""},
	{UPDATE(CONFIG("busy", "", AMOUNT("cpus", "2"))), 200, ""},

	{REQUEST("\"role\":\"a\",\"guarantee\":[" SCALAR("cpus", "1") "]"), 200, ""},
	{REQUEST("\"role\":\"*\",\"guarantee\":[" SCALAR("cpus", "1") "]"), 200, ""},
	{REQUEST("\"role\":\"a\",\"guarantee\":[" SCALAR("cpus", "0") "]"), 200, ""},
	{REQUEST("\"role\":\"a\",\"guarantee\":[" SCALAR("cpus", "10") "]"), 409,
	 "Quota guarantees overcommit the cluster (use 'force' to bypass this check): Total quota "
	 "guarantees 'cpus:10' exceed cluster capacity 'cpus:4; mem:4096'"},
	{REQUEST("\"force\":true,\"role\":\"a\",\"guarantee\":[" SCALAR("cpus", "10") "]"), 200,
	 ""},
	{REQUEST("\"force\":true,\"role\":\"a\",\"guarantee\":[" SCALAR("cpus", "2e12") "]"), 400,
	 "Failed to validate set quota request: Invalid 'QuotaConfig.guarantees': {'cpus': "
	 "2000000000000} is invalid: values greater than 1 trillion (1000000000000) are not "
	 "supported"},
	{REQUEST("\"guarantee\":[" SCALAR("cpus", "1") "]"), 400,
	 "Failed to validate set quota request: QuotaInfo must specify a role"},
	{REQUEST("\"role\":\"a b\",\"guarantee\":[" SCALAR("cpus", "1") "]"), 400,
	 "Failed to validate set quota request: QuotaInfo with invalid role: Role component 'a b' "
	 "is invalid because it contains backspace or whitespace"},
	{REQUEST("\"role\":\"a\""), 400,
	 "Failed to validate set quota request: QuotaInfo with empty 'guarantee'"},
	{REQUEST("\"role\":\"a\",\"guarantee\":[" SCALAR("cpus", "-1") "]"), 400,
	 "Failed to validate set quota request: QuotaInfo with invalid resource: Resource "
	 "'cpus:-1' "
	 "is invalid: Invalid scalar resource: value <= 0"},
	{REQUEST("\"role\":\"a\",\"guarantee\":[{\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":{"
		 "\"value\":1},\"role\":\"r\"}]"),
	 400,
	 "Failed to validate set quota request: QuotaInfo must not contain any ReservationInfo"},
	{REQUEST("\"role\":\"a\",\"guarantee\":[{\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{"
		 "\"value\":1},\"disk\":{}}]"),
	 400, "Failed to validate set quota request: QuotaInfo must not contain DiskInfo"},
	{REQUEST("\"role\":\"a\",\"guarantee\":[{\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":{"
		 "\"value\":1},\"revocable\":{}}]"),
	 400, "Failed to validate set quota request: QuotaInfo must not contain RevocableInfo"},
	{REQUEST("\"role\":\"a\",\"guarantee\":[{\"name\":\"ports\",\"type\":\"RANGES\",\"ranges\":"
		 "{}}]"),
	 400,
	 "Failed to validate set quota request: QuotaInfo must not include non-scalar resources"},
	{REQUEST("\"role\":\"a\",\"guarantee\":[" SCALAR("cpus", "1") "," SCALAR("cpus", "1") "]"),
	 400,
	 "Failed to validate set quota request: QuotaInfo contains duplicate resource name 'cpus'"},
	{REQUEST("\"role\":\"a/b/c\",\"guarantee\":[" SCALAR("cpus", "1") "]"), 400,
	 "Failed to validate set quota request: Invalid quota configuration. Parent role 'b' with "
	 "guarantees ({}) does not contain the sum of its children's guarantees (cpus:1)"},
	{REQUEST("\"role\":\"a/b\",\"guarantee\":[" SCALAR("cpus", "0") "]"), 400,
	 "Setting quota on nested role 'a/b' is not supported yet"},
	{REMOVE("a"), 400, "Failed to remove quota: Role 'a' has no quota set"},

	{WEIGHTS(""), 200, ""},
	{WEIGHTS("{\"role\":\" a/b\\t\",\"weight\":0.5}"), 200, ""},
	{WEIGHTS("{\"role\":\"a\",\"weight\":1},{\"role\":\"b\",\"weight\":0}"), 400,
	 "Failed to validate update weights request JSON for role 'b': Invalid weight '0': Weights "
	 "must be positive"},
	{WEIGHTS("{\"role\":\"b\",\"weight\":-2.5}"), 400,
	 "Failed to validate update weights request JSON for role 'b': Invalid weight '-2.5': "
	 "Weights must be positive"},
	{WEIGHTS("{\"weight\":1}"), 400,
	 "Failed to validate update weights request JSON: Invalid role '': Role names cannot be "
	 "the "
	 "empty string"},
	{WEIGHTS("{\"role\":\"a//b\",\"weight\":1}"), 400,
	 "Failed to validate update weights request JSON: Invalid role 'a//b': Role 'a//b' cannot "
	 "contain two adjacent slashes"},
};

Test(master_quota, obeys_the_rules)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		make_busy();
		cr_expect_eq(ask(rules[i].call), rules[i].status, "%s: %s", rules[i].call, text);
		cr_expect_str_eq(text, rules[i].text, "%s: %s", rules[i].call, text);
		if (rules[i].status != 200) {
			cr_expect_null(d->m->quotas, "%s", rules[i].call);
			cr_expect_null(d->m->weights, "%s", rules[i].call);
		}
		driver_destroy(d);
		d = driver_create();
	}
}

Test(master_quota, case_75_more_than_the_cluster_has)
{
	static const char guarantee[] = "\"role\":\"b\",\"guarantee\":[" SCALAR("cpus", "10") "]";
	struct buf forced = BUF_INIT;

	driver_agent(d, AGENT1);
	cr_expect_eq(ask(UPDATE(CONFIG("a", AMOUNT("cpus", "10"), ""))), 400);
	cr_expect_eq(ask(FORCE(CONFIG("a", AMOUNT("cpus", "10"), ""))), 200);
	buf_printf(&forced, REQUEST("%s"), guarantee);
	cr_expect_eq(ask(forced.data), 409);
	buf_clear(&forced);
	buf_printf(&forced, REQUEST("\"force\":true,%s"), guarantee);
	cr_expect_eq(ask(forced.data), 200);
	cr_expect_str_eq(quota_of("a"), "cpus:10 | {}");
	cr_expect_str_eq(quota_of("b"), "cpus:10 | cpus:10");
	buf_free(&forced);
}

Test(master_quota, case_76_limits_below_what_is_used)
{
	make_busy();
	cr_expect_eq(ask(UPDATE(CONFIG("busy", "", AMOUNT("cpus", "1")))), 400);
	cr_expect_eq(ask(FORCE(CONFIG("busy", "", AMOUNT("cpus", "1")))), 200);
	cr_expect_eq(ask(UPDATE(CONFIG("a/b", "", AMOUNT("cpus", "1")))), 400);
	cr_expect_str_eq(quota_of("busy"), "{} | cpus:1");
	/* Nothing that runs is touched. */
	refute(d, "KillTaskMessage");
}

static const struct {
	double value;
	const char *text;
} numbers[] = {
	{NAN, "Invalid limit configuration {'cpus': nan}: NaN not supported"},
	{-INFINITY, "Invalid limit configuration {'cpus': -inf}: Infinite values not supported"},
	{1e-310, "Invalid limit configuration {'cpus': 0}: Subnormal values not supported"},
};

Test(master_quota, knows_numbers_that_are_none)
{
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		Mesos__Quota__QuotaConfig config = MESOS__QUOTA__QUOTA_CONFIG__INIT;
		Mesos__Quota__QuotaConfig__LimitsEntry entry =
			MESOS__QUOTA__QUOTA_CONFIG__LIMITS_ENTRY__INIT;
		Mesos__Quota__QuotaConfig__LimitsEntry *list = &entry;
		Mesos__Value__Scalar value = MESOS__VALUE__SCALAR__INIT;
		struct err err = {""};
		struct arena arena;

		arena_init(&arena);
		value.value = numbers[i].value;
		entry.key = (char *)"cpus";
		entry.value = &value;
		config.role = (char *)"a";
		config.n_limits = 1;
		config.limits = &list;
		cr_expect_eq(quota_check_config(&config, &arena, &err), ERR_INVALID);
		cr_expect_str_eq(err.text, numbers[i].text);
		arena_free(&arena);
	}
}

Test(master_quota, keeps_to_the_whitelist)
{
	driver_destroy(d);
	d = driver_prepare();
	d->options.roles = "a";
	driver_start(d);
	driver_agent(d, AGENT1);
	cr_expect_eq(ask(UPDATE(CONFIG("b", "", AMOUNT("cpus", "1")))), 400);
	cr_expect_str_eq(text, "Invalid QuotaConfig: 'b' is not on the roles whitelist");
	cr_expect_eq(ask(REQUEST("\"role\":\"b\",\"guarantee\":[" SCALAR("cpus", "1") "]")), 400);
	cr_expect_str_eq(text, "Failed to validate set quota request: Unknown role 'b'");
	cr_expect_eq(ask(WEIGHTS("{\"role\":\"b\",\"weight\":1}")), 400);
	cr_expect_str_eq(text, "Failed to validate update weights request JSON: Unknown role 'b'");
	cr_expect_eq(ask(UPDATE(CONFIG("a", "", AMOUNT("cpus", "1")))), 200);
	cr_expect_eq(ask(UPDATE(CONFIG("*", "", AMOUNT("cpus", "1")))), 200);
	cr_expect_eq(ask(WEIGHTS("{\"role\":\"a\",\"weight\":1}")), 200);
}

/* ---- effects ---------------------------------------------------------------------------- */

Test(master_quota, all_of_a_list_or_nothing)
{
	driver_agent(d, AGENT1);
	cr_expect_eq(ask(UPDATE(CONFIG("a", AMOUNT("cpus", "1"), "") "," CONFIG("b/c", "", ""))),
		     400);
	cr_expect_str_eq(quota_of("a"), "");
	cr_expect_eq(ask(UPDATE(CONFIG("a", AMOUNT("cpus", "1"), AMOUNT("mem", "0")) "," CONFIG(
			     "b", AMOUNT("cpus", "0") "," AMOUNT("mem", "64"), ""))),
		     200);
	cr_expect_str_eq(quota_of("a"), "cpus:1 | mem:0");
	cr_expect_str_eq(quota_of("b"), "mem:64 | {}");
	cr_expect(stored("quota/a") && stored("quota/b"));
	/* A list changes the roles that it names. */
	cr_expect_eq(ask(UPDATE(CONFIG("a", AMOUNT("cpus", "0"), ""))), 200);
	cr_expect_str_eq(quota_of("a"), "");
	cr_expect_str_eq(quota_of("b"), "mem:64 | {}");
	cr_expect_not(stored("quota/a"));
}

Test(master_quota, old_calls_set_both_and_once)
{
	driver_agent(d, AGENT1);
	cr_expect_eq(ask(REQUEST("\"role\":\"a\",\"guarantee\":[" SCALAR("mem", "64") "," SCALAR(
			     "cpus", "1") "]")),
		     200);
	cr_expect_str_eq(quota_of("a"), "cpus:1; mem:64 | cpus:1; mem:64");
	cr_expect_eq(ask(REQUEST("\"role\":\"a\",\"guarantee\":[" SCALAR("cpus", "1") "]")), 400);
	cr_expect_str_eq(text, "Failed to validate set quota request: Cannot set quota for role "
			       "'a' which already has quota");
	/* Only a guaranteed parent is told of its child's being nested. */
	cr_expect_eq(ask(REQUEST("\"role\":\"a/b\",\"guarantee\":[" SCALAR("cpus", "2") "]")), 400);
	cr_expect_str_eq(text, "Failed to validate set quota request: Invalid quota configuration. "
			       "Parent role 'a' with guarantees (cpus:1; mem:64) does not contain "
			       "the sum of its children's guarantees (cpus:2)");
	cr_expect_eq(ask(REQUEST("\"role\":\"a/b\",\"guarantee\":[" SCALAR("cpus", "1") "]")), 400);
	cr_expect_str_eq(text, "Setting quota on nested role 'a/b' is not supported yet");
	cr_expect_eq(ask(REMOVE("a")), 200);
	cr_expect_str_eq(quota_of("a"), "");
	cr_expect_eq(ask(REMOVE("a")), 400);
	cr_expect_eq(ask(REQUEST("\"role\":\"a\",\"guarantee\":[" SCALAR("cpus", "1") "]")), 200);
	/* An empty configuration removes it as well. */
	cr_expect_eq(ask(UPDATE(CONFIG("a", "", ""))), 200);
	cr_expect_eq(ask(REQUEST("\"role\":\"a\",\"guarantee\":[" SCALAR("cpus", "1") "]")), 200);
}

Test(master_quota, answers_once_it_is_stored)
{
	driver_agent(d, AGENT1);
	d->hold_store = true;
	cr_expect_eq(driver_operate(d, "%s", UPDATE(CONFIG("a", AMOUNT("cpus", "3"), ""))), 0);
	refute(d, "answer");
	cr_expect_str_eq(quota_of("a"), "");
	/* The next one is judged by what the first one makes. */
	cr_expect_eq(driver_operate(d, "%s", UPDATE(CONFIG("b", AMOUNT("cpus", "3"), ""))), 0);
	cr_expect_eq(driver_operate(d, "%s", REMOVE("a")), 0);
	cr_expect_eq(driver_operate(d, "%s", WEIGHTS("{\"role\":\"a\",\"weight\":2}")), 0);
	refute(d, "answer");
	driver_store(d);
	expect(d, "answer 1 200");
	expect(d, "answer 2 400 Invalid QuotaConfig: total quota guarantees 'cpus:6'");
	expect(d, "answer 4 200");
	refute(d, "answer 3");
	driver_store(d);
	expect(d, "answer 3 200");
	cr_expect_str_eq(quota_of("a"), "");
}

Test(master_quota, survives_a_restart)
{
	driver_agent(d, AGENT1);
	ask(UPDATE(CONFIG("a", AMOUNT("cpus", "1"), AMOUNT("mem", "512"))));
	ask(WEIGHTS("{\"role\":\"a/b\",\"weight\":2.5},{\"role\":\"a\",\"weight\":1}"));
	ask(WEIGHTS("{\"role\":\"a\",\"weight\":3}"));
	cr_expect(stored("weight/a/b"));
	driver_restart(d, "M2");
	cr_expect_str_eq(quota_of("a"), "cpus:1 | mem:512");
	cr_expect_eq(master_role_weight(d->m, "a/b"), 2.5);
	cr_expect_eq(master_role_weight(d->m, "a"), 3);
	cr_expect_eq(master_role_weight(d->m, "b"), 1);
	ask(REMOVE("a"));
	driver_restart(d, "M3");
	cr_expect_str_eq(quota_of("a"), "");
}

#define RESERVED(value, role)                                                                      \
	"{\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":{\"value\":" value                      \
	"},\"reservations\":[{\"type\":\"STATIC\",\"role\":\"" role "\"}]}"

/* Reservations count whether they are used or not, those of roles below too; offers do not. */
Test(master_quota, reservations_are_consumed)
{
	driver_message(
		d, AGENT1, &mesos__internal__register_slave_message__descriptor,
		"{\"agent\":{\"hostname\":\"host\",\"resources\":[%s]},\"version\":\"1.12.0\","
		"\"agent_capabilities\":[{\"type\":\"MULTI_ROLE\"},{\"type\":"
		"\"HIERARCHICAL_ROLE\"}]}",
		SCALAR("cpus", "4") "," SCALAR("mem", "1024") "," RESERVED("1.5", "q") "," RESERVED(
			"0.5", "q/r"));
	driver_subscribe(d, NULL, ROLES("\"q\""));
	expect(d, "event 1 OFFERS");
	cr_expect_eq(ask(UPDATE(CONFIG("q", "", AMOUNT("cpus", "1.9")))), 400);
	cr_expect_str_eq(text,
			 "Invalid QuotaConfig: Role 'q' is already consuming 'cpus:2'; this is "
			 "more than the requested limits 'cpus:1.9' (use 'force' flag to bypass "
			 "this check)");
	cr_expect_eq(ask(UPDATE(CONFIG("q", "", AMOUNT("cpus", "2")))), 200);
	expect(d, "event 1 RESCIND");
	driver_forget(d);
	/* The limit is used up by reservations: they alone are offered. */
	driver_pass(d, SECOND);
	expect(d, "event 1 OFFERS", "1.5", "mem");
	refute(d, "event 1 OFFERS", "\"value\":4.0");
}

Test(master_quota, limits_cut_offers)
{
	driver_agent(d, AGENT1);
	ask(UPDATE(CONFIG("q", "", AMOUNT("cpus", "1") "," AMOUNT("mem", "512"))));
	driver_subscribe(d, NULL, ROLES("\"q\""));
	expect(d, "event 1 OFFERS", "\"value\":1.0", "\"value\":512.0");
	refute(d, "event 1 OFFERS", "\"value\":4.0");
	driver_subscribe(d, NULL, ROLES("\"z\""));
	expect(d, "event 2 OFFERS", "\"value\":3.0", "\"value\":3584.0");
}

Test(master_quota, unknown_agents_have_no_capacity)
{
	driver_agent(d, AGENT1);
	driver_restart(d, "M2");
	cr_expect_eq(ask(UPDATE(CONFIG("a", AMOUNT("cpus", "1"), ""))), 400);
	cr_expect_str_eq(text,
			 "Invalid QuotaConfig: total quota guarantees 'cpus:1' exceed cluster "
			 "capacity '{}' (use 'force' flag to bypass this check)");
}

/* ---- rescinding ------------------------------------------------------------------------- */

/* One offer of all of an agent to role "a" or below it, one of another to "z". */
static void make_offers(const char *role)
{
	driver_subscribe(d, NULL, role);
	driver_agent(d, AGENT1);
	driver_subscribe(d, NULL, ROLES("\"z\""));
	driver_agent(d, AGENT2);
	expect(d, "event 1 OFFERS", "M-O0");
	expect(d, "event 2 OFFERS", "M-O1");
	driver_forget(d);
}

Test(master_quota, a_limit_takes_offers_of_the_role)
{
	make_offers(ROLES("\"a\""));
	ask(UPDATE(CONFIG("a", "", AMOUNT("cpus", "4"))));
	refute(d, "RESCIND");
	ask(UPDATE(CONFIG("a", "", AMOUNT("cpus", "1"))));
	expect(d, "event 1 RESCIND", "M-O0");
	refute(d, "event 2 RESCIND");
	refute(d, "OFFERS");
}

Test(master_quota, a_guarantee_takes_offers_of_others)
{
	make_offers(ROLES("\"a\""));
	ask(UPDATE(CONFIG("a", AMOUNT("cpus", "4"), "")));
	refute(d, "RESCIND");
	ask(UPDATE(CONFIG("a", AMOUNT("cpus", "5"), "")));
	expect(d, "event 2 RESCIND", "M-O1");
	refute(d, "event 1 RESCIND");
	refute(d, "OFFERS");
}

Test(master_quota, a_guarantee_for_nobody_takes_as_much_as_it_needs)
{
	make_offers(ROLES("\"a\""));
	ask(UPDATE(CONFIG("q", AMOUNT("cpus", "1"), "")));
	cr_expect_eq(driver_count(d, "RESCIND"), 1);
	ask(UPDATE(CONFIG("q", AMOUNT("cpus", "8"), "")));
	cr_expect_eq(driver_count(d, "RESCIND"), 2);
}

Test(master_quota, old_requests_take_whole_agents)
{
	make_offers(ROLES("\"a\""));
	driver_subscribe(d, NULL, ROLES("\"q\""));
	driver_subscribe(d, NULL, ROLES("\"q\""));
	driver_forget(d);
	/* The first agent would do, but there are two frameworks. */
	ask(REQUEST("\"role\":\"q\",\"guarantee\":[" SCALAR("cpus", "1") "]"));
	cr_expect_eq(driver_count(d, "RESCIND"), 2);
	driver_forget(d);
	ask(REMOVE("q"));
	refute(d, "RESCIND");
}

Test(master_quota, weights_are_told_in_the_order_of_roles)
{
	Mesos__WeightInfo **list;
	struct arena arena;

	arena_init(&arena);
	cr_expect_eq(master_weight_infos(d->m, &arena, &list), 0);
	ask(WEIGHTS("{\"role\":\"c\",\"weight\":3},{\"role\":\"a/b\",\"weight\":2}"));
	ask(WEIGHTS("{\"role\":\"b\",\"weight\":1.5},{\"role\":\"a\",\"weight\":4}"));
	cr_assert_eq(master_weight_infos(d->m, &arena, &list), 4);
	cr_expect_str_eq(list[0]->role, "a");
	cr_expect_str_eq(list[1]->role, "a/b");
	cr_expect_str_eq(list[2]->role, "b");
	cr_expect_str_eq(list[3]->role, "c");
	cr_expect_eq(list[2]->weight, 1.5);
	arena_free(&arena);
}

Test(master_quota, weights_of_used_roles_take_all_offers)
{
	make_offers(ROLES("\"a\",\"a/b\""));
	ask(WEIGHTS("{\"role\":\"c\",\"weight\":2}"));
	refute(d, "RESCIND");
	ask(WEIGHTS("{\"role\":\"c\",\"weight\":2},{\"role\":\"a/b\",\"weight\":2}"));
	cr_expect_eq(driver_count(d, "RESCIND"), 2);
	refute(d, "OFFERS");
	driver_forget(d);
	/* They go out again with the next batch. */
	driver_pass(d, SECOND);
	expect(d, "OFFERS");
}

/* ---- --weights -------------------------------------------------------------------------- */

Test(master_quota, weights_of_the_flag_count_if_there_are_none)
{
	driver_destroy(d);
	d = driver_prepare();
	d->options.weights = "a=2,a/b=0.5";
	driver_start(d);
	cr_expect_eq(master_role_weight(d->m, "a"), 2);
	cr_expect_eq(master_role_weight(d->m, "a/b"), 0.5);
	cr_expect(stored("weight/a") && stored("weight/a/b"));
	d->options.weights = "a=7,c=3";
	driver_restart(d, "M2");
	cr_expect_eq(master_role_weight(d->m, "a"), 2);
	cr_expect_eq(master_role_weight(d->m, "c"), 1);
}

static const struct {
	const char *weights;
	const char *text;
} flags[] = {
	{"a", "Invalid weight: 'a'. --weights should be of the form 'role=weight,role=weight'"},
	{"a=1=2",
	 "Invalid weight: 'a=1=2'. --weights should be of the form 'role=weight,role=weight'"},
	{"a=1,b=0", "Invalid weight: 'b=0'. Weights must be positive"},
	{"a=x", "Invalid weight: 'a=x'. Weights must be positive"},
	{"a=nan", "Invalid weight: 'a=nan'. Weights must be positive"},
	{"-a=1", "Invalid weight: '-a=1': Role component '-a' is invalid because it starts with a "
		 "dash"},
	{"b=1", "Invalid weight: 'b=1'. b is not a valid role"},
};

Test(master_quota, weights_of_the_flag_must_be_right)
{
	struct master_options options = d->options;

	options.roles = "a";
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		struct err err = {""};
		struct master *m;

		options.weights = flags[i].weights;
		cr_assert_neq(master_create(&options, &m, &err), 0, "%s", flags[i].weights);
		cr_expect_str_eq(err.text, flags[i].text);
	}
}
