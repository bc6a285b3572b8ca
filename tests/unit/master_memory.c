/* kill -9 of the master: the next offers are those that would have come without it. Each
 * scenario runs with and without a crash at its end; those who come back do so in the other
 * order. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocator/allocator_looks.h"
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

TestSuite(master_memory, .init = set_up, .fini = tear_down);

#define INFO(roles)                                                                                \
	"\"failover_timeout\":3600,\"capabilities\":[{\"type\":\"MULTI_ROLE\"}],\"roles\":[" roles \
	"]"

static uint64_t streams[2];
static const char *const ids[] = {"M-0000", "M-0001"};

static int text_order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The outstanding offers without their ids; heap. */
static char *offers(void)
{
	struct buf text = BUF_INIT;
	char *lines[64];
	size_t count = 0;

	for (struct offer *o = d->m->offers; o && count < 64; o = o->hh.next) {
		struct buf line = BUF_INIT;

		buf_printf(&line, "%s@%s ", o->framework->id, o->agent->id);
		resources_print(&o->resources, &line);
		lines[count++] = buf_take(&line);
	}
	qsort(lines, count, sizeof(*lines), text_order);
	for (size_t i = 0; i < count; i++) {
		buf_printf(&text, "%s\n", lines[i]);
		free(lines[i]);
	}
	return buf_take(&text);
}

static void decline(int framework, const char *agent, double refuse_seconds)
{
	struct offer *o, *next;

	HASH_ITER (hh, d->m->offers, o, next) {
		if (strcmp(o->framework->id, ids[framework]) ||
		    (agent && strcmp(o->agent->id, agent)))
			continue;
		cr_expect_eq(driver_call(d, streams[framework],
					 "{\"type\":\"DECLINE\",\"framework_id\":{\"value\":"
					 "\"%s\"},\"decline\":{\"offer_ids\":[{\"value\":\"%s\"}],"
					 "\"filters\":{\"refuse_seconds\":%g}}}",
					 ids[framework], o->id, refuse_seconds),
			     202);
	}
}

static void decline_all(double refuse_seconds)
{
	decline(0, NULL, refuse_seconds);
	decline(1, NULL, refuse_seconds);
}

static void subscribe(int framework, bool again, const char *info)
{
	streams[framework] = driver_subscribe(d, again ? ids[framework] : NULL, info);
}

/* The crash, or nothing; and then the next offers. The agents report `tasks`. */
static char *next_offers(bool crashes, bool agents_first, size_t agents, const char *info,
			 const char *tasks)
{
	static const char *const pids[] = {AGENT1, AGENT2};
	static const char *const names[] = {"M-S0", "M-S1"};

	cr_expect_null(d->m->offers, "what is outstanding dies with the master");
	if (!crashes) {
		driver_pass(d, SECOND);
		return offers();
	}
	driver_restart(d, "M2");
	if (!agents_first) {
		subscribe(1, true, info);
		subscribe(0, true, info);
	}
	for (size_t i = agents; i-- > 0;)
		driver_reregister(d, pids[i], names[i], i == 0 ? tasks : NULL);
	if (agents_first) {
		subscribe(1, true, info);
		cr_expect_null(d->m->offers, "the other framework may still come");
		subscribe(0, true, info);
	}
	if (!d->m->offers)
		driver_pass(d, SECOND);
	return offers();
}

/* Runs with and without the crash. `naive` is what would be offered if nothing but tasks
 * were remembered. */
static void compare(char *(*scenario)(bool crashes), const char *naive)
{
	char *without = scenario(false), *with;

	driver_destroy(d);
	d = driver_create();
	with = scenario(true);
	cr_expect_str_eq(with, without, "with: %swithout: %s", with, without);
	if (naive)
		cr_expect_str_neq(without, naive, "the scenario shows nothing");
	free(without);
	free(with);
}

#define ALL "cpus(allocated: a):4; mem(allocated: a):4096\n"

static char *a_tie(bool crashes)
{
	driver_agent(d, AGENT1);
	subscribe(0, false, INFO("\"a\""));
	decline_all(0);
	subscribe(1, false, INFO("\"a\""));
	decline_all(0);
	driver_pass(d, SECOND);
	decline_all(0);
	driver_pass(d, SECOND);
	decline_all(0);
	return next_offers(crashes, false, 1, INFO("\"a\""), NULL);
}

Test(master_memory, ties_go_to_whoever_was_given_less)
{
	compare(a_tie, NULL);
}

static char *a_tie_of_two(bool crashes)
{
	driver_agent(d, AGENT1);
	subscribe(0, false, INFO("\"a\""));
	decline_all(0);
	driver_pass(d, SECOND);
	decline_all(0);
	subscribe(1, false, INFO("\"a\""));
	decline_all(0);
	return next_offers(crashes, false, 1, INFO("\"a\""), NULL);
}

Test(master_memory, ties_do_not_go_to_the_first_name)
{
	compare(a_tie_of_two, "M-0000@M-S0 " ALL);
}

/* Roles that tie, with one below another. */
static char *tied_roles(bool crashes)
{
	driver_message(d, AGENT1, &mesos__internal__register_slave_message__descriptor,
		       "{\"agent\":{\"hostname\":\"h\",\"resources\":%s},\"version\":\"1.12.0\","
		       "\"agent_capabilities\":[{\"type\":\"MULTI_ROLE\"},{\"type\":"
		       "\"HIERARCHICAL_ROLE\"}]}",
		       RESOURCES(4, 4096));
	subscribe(0, false, INFO("\"a\",\"a/b\",\"c/d\""));
	for (int i = 0; i < 4; i++) {
		decline_all(0);
		driver_pass(d, SECOND);
	}
	decline_all(0);
	if (crashes) {
		driver_restart(d, "M2");
		subscribe(0, true, INFO("\"a\",\"a/b\",\"c/d\""));
		driver_message(d, AGENT1, &mesos__internal__reregister_slave_message__descriptor,
			       "{\"agent\":{\"id\":{\"value\":\"M-S0\"},\"hostname\":\"h\","
			       "\"resources\":%s},\"version\":\"1.12.0\","
			       "\"agent_capabilities\":[{\"type\":\"MULTI_ROLE\"},{\"type\":"
			       "\"HIERARCHICAL_ROLE\"}]}",
			       RESOURCES(4, 4096));
	} else {
		driver_pass(d, SECOND);
	}
	return offers();
}

Test(master_memory, roles_that_tie_go_on_in_turn)
{
	compare(tied_roles, "M-0000@M-S0 " ALL);
}

static char *refused(bool crashes)
{
	driver_agent(d, AGENT1);
	driver_agent(d, AGENT2);
	subscribe(0, false, INFO("\"a\""));
	decline(0, "M-S0", 3600);
	decline(0, "M-S1", 0);
	subscribe(1, false, INFO("\"a\""));
	decline_all(0);
	driver_pass(d, SECOND);
	decline(1, "M-S0", 3600);
	decline_all(0);
	return next_offers(crashes, true, 2, INFO("\"a\""), NULL);
}

Test(master_memory, filters_hold)
{
	compare(refused, "M-0000@M-S0 " ALL "M-0001@M-S1 " ALL);
	/* Both refused the first agent. */
	cr_expect_eq(HASH_COUNT(d->m->offers), 1);
}

Test(master_memory, filters_end_when_they_would_have)
{
	driver_agent(d, AGENT1);
	subscribe(0, false, INFO("\"a\""));
	decline(0, NULL, 60);
	driver_pass(d, 30 * SECOND);
	driver_restart(d, "M2");
	subscribe(0, true, INFO("\"a\""));
	driver_reregister(d, AGENT1, "M-S0", NULL);
	driver_pass(d, 29 * SECOND);
	cr_expect_null(d->m->offers);
	driver_pass(d, SECOND);
	cr_expect(d->m->offers);
	/* Nothing of it is left in the store. */
	for (struct stored_pair *pair = d->store; pair; pair = pair->hh.next)
		cr_expect(strncmp(pair->key, "filter/", 7), "%s", pair->key);
}

/* Mesos' rule: who disconnects loses its filters. */
Test(master_memory, filters_of_the_disconnected_are_dropped)
{
	driver_agent(d, AGENT1);
	subscribe(0, false, INFO("\"a\""));
	decline(0, NULL, 3600);
	driver_close(d, streams[0]);
	driver_restart(d, "M2");
	subscribe(0, true, INFO("\"a\""));
	driver_reregister(d, AGENT1, "M-S0", NULL);
	cr_expect(d->m->offers);
}

Test(master_memory, filters_of_agents_that_stay_away_go_with_them)
{
	driver_agent(d, AGENT1);
	subscribe(0, false, INFO("\"a\""));
	decline(0, NULL, 86400);
	driver_restart(d, "M2");
	cr_expect_eq(allocator_filter_count(d->m->allocator), 1);
	driver_pass(d, 11 * MINUTE);
	cr_expect_eq(allocator_filter_count(d->m->allocator), 0);
	for (struct stored_pair *pair = d->store; pair; pair = pair->hh.next)
		cr_expect(strncmp(pair->key, "filter/", 7) && strncmp(pair->key, "arrival/", 8),
			  "%s", pair->key);
}

static char *order(bool crashes)
{
	driver_agent(d, AGENT1);
	driver_agent(d, AGENT2);
	subscribe(0, false, INFO("\"a\""));
	subscribe(1, false, INFO("\"a\""));
	decline_all(0);
	driver_pass(d, SECOND);
	decline_all(0);
	return next_offers(crashes, true, 2, INFO("\"a\""), NULL);
}

Test(master_memory, agents_are_shared_out_in_their_old_order)
{
	compare(order, NULL);
}

#define RUNS                                                                                       \
	"\"frameworks\":[{\"user\":\"u\",\"name\":\"n\",\"id\":{\"value\":\"M-0000\"},"            \
	"\"checkpoint\":true,\"capabilities\":[{\"type\":\"MULTI_ROLE\"}],\"roles\":[\"a\"]}],"    \
	"\"tasks\":[{\"name\":\"t\",\"task_id\":{\"value\":\"t\"},\"framework_id\":{\"value\":"    \
	"\"M-0000\"},\"agent_id\":{\"value\":\"M-S0\"},\"state\":\"TASK_RUNNING\","                \
	"\"resources\":[{\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1},"          \
	"\"allocation_info\":{\"role\":\"a\"}},{\"name\":\"mem\",\"type\":\"SCALAR\",\"scalar\":"  \
	"{\"value\":32},\"allocation_info\":{\"role\":\"a\"}}]}]"

static char *used(bool crashes)
{
	driver_agent(d, AGENT1);
	driver_agent(d, AGENT2);
	subscribe(0, false, INFO("\"a\""));
	driver_launch(d, streams[0], "M-0000", "M-O0", "M-S0", "t", NULL);
	driver_update(d, AGENT1, "M-S0", "M-0000", "t", "TASK_RUNNING", 1);
	decline_all(0);
	subscribe(1, false, INFO("\"a\""));
	decline_all(0);
	return next_offers(crashes, true, 2, INFO("\"a\""), RUNS);
}

Test(master_memory, shares_are_those_of_before)
{
	compare(used, NULL);
}

Test(master_memory, restarts_can_follow_each_other)
{
	char *last = NULL;

	for (int crashes = 0; crashes < 4; crashes++) {
		char *text;

		driver_destroy(d);
		d = driver_create();
		free(a_tie_of_two(false));
		decline_all(0);
		for (int i = 0; i < crashes; i++)
			driver_restart(d, "M2");
		cr_expect(crashes < 2 || !d->tickets[LINE_WARM], "nothing was written again");
		text = next_offers(true, false, 1, INFO("\"a\""), NULL);
		if (last)
			cr_expect_str_eq(text, last);
		free(last);
		last = text;
	}
	free(last);
}

Test(master_memory, nobody_waits_long_for_those_who_died)
{
	driver_agent(d, AGENT1);
	subscribe(0, false, INFO("\"a\""));
	subscribe(1, false, INFO("\"a\""));
	decline_all(0);
	driver_restart(d, "M2");
	driver_reregister(d, AGENT1, "M-S0", NULL);
	subscribe(0, true, INFO("\"a\""));
	driver_pass(d, MASTER_SETTLE - 1);
	cr_expect_null(d->m->offers);
	driver_pass(d, 1);
	cr_expect(d->m->offers);
}

Test(master_memory, nobody_waits_for_those_who_had_left)
{
	driver_agent(d, AGENT1);
	subscribe(0, false, INFO("\"a\""));
	subscribe(1, false, INFO("\"a\""));
	decline_all(0);
	driver_close(d, streams[1]);
	driver_restart(d, "M2");
	subscribe(0, true, INFO("\"a\""));
	driver_reregister(d, AGENT1, "M-S0", NULL);
	cr_expect(d->m->offers);
}

#define IN(role) "\"failover_timeout\":3600,\"role\":\"" role "\""

/* By weight a may have two agents of three. */
static char *weighted(bool crashes)
{
	static const char *const pids[] = {AGENT1, AGENT2, "slave(1)@127.0.0.1:5003"};
	static const char *const names[] = {"M-S0", "M-S1", "M-S2"};

	driver_operate(d, "{\"type\":\"UPDATE_WEIGHTS\",\"update_weights\":{\"weight_infos\":["
			  "{\"role\":\"a\",\"weight\":2.5}]}}");
	subscribe(0, false, IN("b"));
	subscribe(1, false, IN("a"));
	for (int i = 0; i < 3; i++)
		driver_agent(d, pids[i]);
	decline_all(0);
	if (!crashes) {
		driver_pass(d, SECOND);
		return offers();
	}
	driver_restart(d, "M2");
	for (int i = 3; i-- > 0;)
		driver_reregister(d, pids[i], names[i], NULL);
	subscribe(1, true, IN("a"));
	subscribe(0, true, IN("b"));
	return offers();
}

Test(master_memory, weights_hold)
{
	compare(weighted, NULL);
	cr_expect(d->m->weights);
}

/* ---- the hold --------------------------------------------------------------------------- */

/* With quota and that many agents, of which so many come back. */
static void hold(int had, int back, bool quota)
{
	char pid[48], id[16];

	driver_destroy(d);
	d = driver_create();
	for (int i = 0; i < had; i++) {
		snprintf(pid, sizeof(pid), "slave(1)@127.0.0.1:%d", 5100 + i);
		driver_agent(d, pid);
	}
	if (quota)
		driver_operate(d, "{\"type\":\"UPDATE_QUOTA\",\"update_quota\":{"
				  "\"quota_configs\":[{\"role\":\"q\",\"guarantees\":{\"cpus\":{"
				  "\"value\":1}}}]}}");
	driver_restart(d, "M2");
	driver_subscribe(d, NULL, NULL);
	for (int i = 0; i < back; i++) {
		snprintf(pid, sizeof(pid), "slave(1)@127.0.0.1:%d", 5100 + i);
		snprintf(id, sizeof(id), "M-S%d", i);
		driver_reregister(d, pid, id, NULL);
	}
}

/* Spec case 79. */
Test(master_memory, case_79_with_quota_offers_wait_for_agents)
{
	hold(10, 7, true);
	driver_pass(d, MINUTE);
	cr_expect_null(d->m->offers);
	driver_reregister(d, "slave(1)@127.0.0.1:5107", "M-S7", NULL);
	cr_expect_eq(HASH_COUNT(d->m->offers), 1);
	driver_pass(d, SECOND);
	cr_expect_eq(HASH_COUNT(d->m->offers), 8);
}

Test(master_memory, case_79_or_for_ten_minutes)
{
	hold(10, 7, true);
	driver_pass(d, 10 * MINUTE - SECOND);
	cr_expect_null(d->m->offers);
	driver_pass(d, 2 * SECOND);
	cr_expect_eq(HASH_COUNT(d->m->offers), 7);
}

Test(master_memory, case_79_one_agent_is_not_waited_for)
{
	hold(1, 1, true);
	cr_expect_eq(HASH_COUNT(d->m->offers), 1);
}

Test(master_memory, case_79_without_quota_nothing_waits)
{
	hold(10, 1, false);
	cr_expect_eq(HASH_COUNT(d->m->offers), 1);
}

/* ---- what it costs ------------------------------------------------------------------ */

static size_t store_bytes(const char *prefix)
{
	size_t bytes = 0;

	for (struct stored_pair *pair = d->store; pair; pair = pair->hh.next)
		if (str_has_prefix(pair->key, prefix))
			bytes += strlen(pair->key) + pair->len;
	return bytes;
}

Test(master_memory, a_decline_costs_one_small_record)
{
	size_t before;

	driver_agent(d, AGENT1);
	subscribe(0, false, INFO("\"a\""));
	before = d->tickets[LINE_WARM];
	decline(0, NULL, 5);
	cr_expect_eq(d->tickets[LINE_WARM], before + 1);
	cr_expect_lt(store_bytes("filter/"), 160, "%zu", store_bytes("filter/"));
	/* Idle cycles write nothing; the end of the filter and the next offer are one write. */
	driver_pass(d, 4 * SECOND);
	cr_expect_eq(d->tickets[LINE_WARM], before + 1);
	driver_pass(d, SECOND);
	cr_expect(d->m->offers);
	cr_expect_eq(d->tickets[LINE_WARM], before + 2);
	cr_expect_eq(store_bytes("filter/"), 0);
	cr_expect_lt(store_bytes("given"), 64, "%zu", store_bytes("given"));
	/* Not even that much without a filter. */
	decline(0, NULL, 0);
	cr_expect_eq(d->tickets[LINE_WARM], before + 2);
}
