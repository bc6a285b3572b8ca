/* What the allocator is told of agents and frameworks, and the
 * metadata of resources that clients invent. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

TestSuite(master_allocation, .init = set_up, .fini = tear_down);

#define FID "\"framework_id\":{\"value\":\"M-0000\"}"
#define ROLES(list) "\"capabilities\":[{\"type\":\"MULTI_ROLE\"}],\"roles\":[" list "]"

/* (Re)registers an agent with these members of AgentInfo and of the message. */
static void agent(const ProtobufCMessageDescriptor *type, const char *info, const char *message)
{
	driver_message(d, AGENT1, type,
		       "{\"agent\":{\"hostname\":\"host\",\"checkpoint\":true,\"resources\":%s%s},"
		       "\"version\":\"1.12.0\"%s}",
		       RESOURCES(4, 4096), info, message);
}

#define REGISTER &mesos__internal__register_slave_message__descriptor
#define REREGISTER &mesos__internal__reregister_slave_message__descriptor
#define ABLE(list) ",\"agent_capabilities\":[" list "]"
#define MULTI "{\"type\":\"MULTI_ROLE\"}"
#define HIERARCHY "{\"type\":\"HIERARCHICAL_ROLE\"}"
#define SELF ",\"id\":{\"value\":\"M-S0\"}"

Test(master_allocation, agents_are_offered_to_those_they_can_serve)
{
	driver_subscribe(d, NULL, ROLES("\"a\""));
	agent(REGISTER, "", "");
	driver_pass(d, 2 * SECOND);
	refute(d, "OFFERS");
	agent(REREGISTER, SELF, ABLE(MULTI));
	expect(d, "event 1 OFFERS");
}

Test(master_allocation, hierarchical_roles_need_the_capability)
{
	driver_subscribe(d, NULL, ROLES("\"a/b\""));
	agent(REGISTER, "", ABLE(MULTI));
	driver_pass(d, 2 * SECOND);
	refute(d, "OFFERS");
	agent(REREGISTER, SELF, ABLE(MULTI "," HIERARCHY));
	expect(d, "event 1 OFFERS");
}

Test(master_allocation, old_agents_serve_old_frameworks)
{
	driver_subscribe(d, NULL, "\"role\":\"a\"");
	agent(REGISTER, "", "");
	expect(d, "event 1 OFFERS");
}

#define DOMAIN(region, zone)                                                                       \
	",\"domain\":{\"fault_domain\":{\"region\":{\"name\":\"" region "\"},\"zone\":{\"name\":"  \
	"\"" zone "\"}}}"

static void start_in_region(const char *region)
{
	Mesos__DomainInfo domain = MESOS__DOMAIN_INFO__INIT;
	Mesos__DomainInfo__FaultDomain fault = MESOS__DOMAIN_INFO__FAULT_DOMAIN__INIT;
	Mesos__DomainInfo__FaultDomain__RegionInfo here =
		MESOS__DOMAIN_INFO__FAULT_DOMAIN__REGION_INFO__INIT;
	Mesos__DomainInfo__FaultDomain__ZoneInfo zone =
		MESOS__DOMAIN_INFO__FAULT_DOMAIN__ZONE_INFO__INIT;

	driver_destroy(d);
	d = driver_prepare();
	here.name = (char *)region;
	zone.name = "z";
	fault.region = &here;
	fault.zone = &zone;
	domain.fault_domain = &fault;
	d->options.domain = &domain;
	driver_start(d);
	d->options.domain = NULL;
}

Test(master_allocation, agents_of_other_regions_are_for_region_aware_frameworks)
{
	start_in_region("here");
	driver_subscribe(d, NULL, NULL);
	agent(REGISTER, DOMAIN("there", "z"), "");
	driver_pass(d, 2 * SECOND);
	refute(d, "OFFERS");
	driver_subscribe(d, NULL, "\"capabilities\":[{\"type\":\"REGION_AWARE\"}]");
	expect(d, "event 2 OFFERS", "\"name\":\"there\"");
}

Test(master_allocation, an_agent_that_moved_to_the_region_is_offered)
{
	start_in_region("here");
	driver_subscribe(d, NULL, NULL);
	agent(REGISTER, DOMAIN("there", "z"), "");
	agent(REREGISTER, SELF DOMAIN("here", "z"), "");
	expect(d, "event 1 OFFERS");
}

Test(master_allocation, other_attributes_void_what_was_refused)
{
	driver_subscribe(d, NULL, NULL);
	agent(REGISTER, "", "");
	driver_call(d, 1,
		    "{\"type\":\"DECLINE\"," FID ",\"decline\":{\"offer_ids\":[{\"value\":"
		    "\"M-O0\"}],\"filters\":{\"refuse_seconds\":3600}}}");
	driver_forget(d);
	agent(REREGISTER, SELF, "");
	driver_pass(d, 2 * SECOND);
	refute(d, "OFFERS");
	agent(REREGISTER,
	      SELF ",\"attributes\":[{\"name\":\"rack\",\"type\":\"TEXT\",\"text\":{\"value\":"
		   "\"r\"}}]",
	      "");
	expect(d, "OFFERS", "rack");
}

Test(master_allocation, frameworks_say_how_little_is_enough)
{
	driver_subscribe(d, NULL,
			 "\"offer_filters\":{\"*\":{\"min_allocatable_resources\":{\"quantities\":["
			 "{\"quantities\":{\"cpus\":{\"value\":5}}}]}}}");
	driver_agent(d, AGENT1);
	driver_pass(d, 2 * SECOND);
	refute(d, "OFFERS");
	driver_call(d, 1,
		    "{\"type\":\"UPDATE_FRAMEWORK\"," FID ",\"update_framework\":{"
		    "\"framework_info\":{\"user\":\"u\",\"name\":\"n\",\"id\":{\"value\":"
		    "\"M-0000\"}}}}");
	cr_expect_str_eq(d->out.reply.text, "");
	driver_pass(d, 2 * SECOND);
	expect(d, "OFFERS");
}

/* ---- restarts ---------------------------------------------------------------- */

Test(master_allocation, what_is_back_after_a_restart_is_offered_at_once)
{
	driver_agent(d, AGENT1);
	driver_agent(d, AGENT2);
	driver_subscribe(d, NULL, "\"failover_timeout\":60");
	driver_restart(d, "M2");
	driver_subscribe(d, "M-0000", "\"failover_timeout\":60");
	driver_forget(d);
	/* Without quotas nothing is held back until the others are there, too. */
	driver_reregister(d, AGENT1, "M-S0", NULL);
	expect(d, "OFFERS", "M-S0");
}

static void lose_after_restart(double limit)
{
	driver_destroy(d);
	d = driver_prepare();
	d->options.recovery_removal_limit = limit;
	driver_start(d);
	driver_agent(d, AGENT1);
	driver_agent(d, AGENT2);
	driver_restart(d, "M2");
	driver_reregister(d, AGENT1, "M-S0", NULL);
	driver_forget(d);
	driver_pass(d, 11 * MINUTE);
}

Test(master_allocation, a_restart_may_lose_so_many_agents)
{
	lose_after_restart(50);
	refute(d, "exit");
	cr_expect(master_find_departed(d->m->unreachable, "M-S1"));
}

Test(master_allocation, a_restart_that_loses_more_ends_the_master)
{
	lose_after_restart(49);
	expect(d, "exit Post-recovery agent removal limit exceeded! After 10mins there were 1 "
		  "(50%) agents");
	cr_expect_not(master_find_departed(d->m->unreachable, "M-S1"));
}

/* ---- inventions --------------------------------------------------------------- */

#define INVENTIONS 100000

static void subscribe_to(int number)
{
	driver_call(d, 1,
		    "{\"type\":\"UPDATE_FRAMEWORK\"," FID ",\"update_framework\":{"
		    "\"framework_info\":{\"user\":\"u\",\"name\":\"n\",\"id\":{\"value\":"
		    "\"M-0000\"}," ROLES("\"r\",\"x/%d\"") "}}}",
		    number);
	cr_assert_str_eq(d->out.reply.text, "");
}

static void launch_reserved(int number)
{
	driver_call(
		d, 1,
		"{\"type\":\"ACCEPT\"," FID ",\"accept\":{\"offer_ids\":[{\"value\":\"%s\"}],"
		"\"filters\":{\"refuse_seconds\":0},\"operations\":[{\"type\":\"LAUNCH\","
		"\"launch\":{\"task_infos\":[{\"name\":\"t\",\"task_id\":{\"value\":\"t\"},"
		"\"agent_id\":{\"value\":\"M-S0\"},\"command\":{\"value\":\"true\"},"
		"\"resources\":[{\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":{\"value\":1},"
		"\"reservations\":[{\"type\":\"STATIC\",\"role\":\"role-%d\"}]}]}]}}]}}",
		d->m->offers->id, number);
	cr_assert_eq(d->out.reply.status, 202);
}

Test(master_allocation, inventions_are_forgotten)
{
	driver_agent(d, AGENT1);
	driver_subscribe(d, NULL, ROLES("\"r\""));
	for (int i = 0; i < INVENTIONS; i++) {
		subscribe_to(i);
		driver_pass(d, SECOND);
		cr_assert(d->m->offers);
		launch_reserved(i);
		driver_forget(d);
		cr_assert_leq(resource_shapes_unused(d->m->shapes), 1100);
	}
}

/* ---- offer constraints ----------------------------------------------------------- */

#define RACK(value)                                                                                \
	",\"attributes\":[{\"name\":\"rack\",\"type\":\"TEXT\",\"text\":{\"value\":\"" value "\"}" \
	"}]"
#define WANTED(value)                                                                              \
	"\"offer_constraints\":{\"role_constraints\":{\"*\":{\"groups\":[{"                        \
	"\"attribute_constraints\":[{\"selector\":{\"attribute_name\":\"rack\"},\"predicate\":{"   \
	"\"text_equals\":{\"value\":\"" value "\"}}}]}]}}}"

Test(master_allocation, constraints_keep_agents_away)
{
	driver_call(d, 0,
		    "{\"type\":\"SUBSCRIBE\",\"subscribe\":{\"framework_info\":{\"user\":\"u\","
		    "\"name\":\"n\"}," WANTED("a") "}}");
	agent(REGISTER, RACK("b"), "");
	driver_pass(d, 2 * SECOND);
	refute(d, "OFFERS");
	/* The agent may become another. */
	agent(REREGISTER, SELF RACK("a"), "");
	expect(d, "OFFERS");
}

Test(master_allocation, constraints_are_replaced_by_updates)
{
	const char *start = "{\"type\":\"UPDATE_FRAMEWORK\"," FID ",\"update_framework\":{"
			    "\"framework_info\":{\"user\":\"u\",\"name\":\"n\",\"id\":{\"value\":"
			    "\"M-0000\"}}";

	agent(REGISTER, RACK("b"), "");
	driver_subscribe(d, NULL, NULL);
	cr_expect_eq(driver_call(d, 1, "%s,%s}}", start, WANTED("a")), 200);
	refute(d, "RESCIND");
	driver_call(d, 1,
		    "{\"type\":\"DECLINE\"," FID ",\"decline\":{\"offer_ids\":[{\"value\":"
		    "\"M-O0\"}],\"filters\":{\"refuse_seconds\":0}}}");
	driver_forget(d);
	driver_pass(d, 2 * SECOND);
	refute(d, "OFFERS");
	cr_expect_eq(driver_call(d, 1,
				 "%s,\"offer_constraints\":{\"role_constraints\":{\"*\":{}}}}}",
				 start),
		     400);
	cr_expect_str_eq(d->out.reply.text,
			 "'UpdateFramework' call is not valid: Offer constraints are not valid: "
			 "'OfferConstraints::role_constraints' has an empty "
			 "'RoleConstraints::groups' for role *");
	cr_expect_eq(driver_call(d, 1, "%s}}", start), 200);
	driver_pass(d, SECOND);
	expect(d, "OFFERS");
}

static void note_cycle(void *context, bool begins)
{
	buf_putc(context, begins ? '(' : ')');
}

Test(master_allocation, each_cycle_is_told_when_it_begins_and_ends)
{
	struct buf noted = BUF_INIT;

	driver_destroy(d);
	d = driver_prepare();
	d->options.on_cycle = note_cycle;
	d->options.context = &noted;
	driver_start(d);
	driver_agent(d, AGENT1);
	driver_subscribe(d, NULL, NULL);
	driver_pass(d, SECOND);
	buf_putc(&noted, '\0');
	cr_expect_geq(strlen(noted.data), 2);
	for (const char *at = noted.data; *at; at += 2)
		cr_expect(at[0] == '(' && at[1] == ')', "%s", noted.data);
	buf_free(&noted);
}

/* ---- in parts -------------------------------------------------------------------- */

/* A step of the core does not take longer because there are many agents; what else happens comes
 * between the parts. */
Test(master_allocation, many_agents_are_offered_in_parts)
{
	driver_destroy(d);
	d = driver_prepare();
	d->options.part = 2;
	driver_start(d);
	for (int i = 1; i <= 5; i++) {
		char pid[64];

		snprintf(pid, sizeof(pid), "slave(1)@127.0.0.1:50%02d", i);
		driver_agent(d, pid);
	}
	driver_subscribe(d, NULL, NULL);
	expect(d, "event 1 OFFERS", "M-O0", "M-O1");
	refute(d, "M-O2");
	driver_forget(d);
	cr_expect_eq(driver_call(d, 1,
				 "{\"type\":\"DECLINE\"," FID
				 ",\"decline\":{\"offer_ids\":[{\"value\":\"M-O0\"}],"
				 "\"filters\":{\"refuse_seconds\":0}}}"),
		     202);
	refute(d, "M-O2");
	driver_pass(d, MILLISECOND);
	expect(d, "event 1 OFFERS", "M-O2", "M-O3");
	refute(d, "M-O4");
	driver_pass(d, MILLISECOND);
	expect(d, "event 1 OFFERS", "M-O4");
	/* What was declined meanwhile is for the next allocation. */
	driver_forget(d);
	driver_pass(d, 2 * SECOND);
	expect(d, "event 1 OFFERS", "M-O5");
	cr_expect_eq(driver_count(d, "OFFERS"), 1);
}
