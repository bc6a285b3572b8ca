/* Offers: their shape, declining, expiry, rescinding. */
#include <criterion/criterion.h>
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

TestSuite(master_offers, .init = set_up, .fini = tear_down);

#define FID "\"framework_id\":{\"value\":\"M-0000\"}"

Test(master_offers, fields)
{
	driver_subscribe(d, NULL, "\"capabilities\":[{\"type\":\"MULTI_ROLE\"}],\"roles\":[\"r\"]");
	driver_agent(d, AGENT1);
	expect(d, "event 1 OFFERS", "\"id\":{\"value\":\"M-O0\"}", "\"hostname\":\"host\"",
	       "\"agent_id\":{\"value\":\"M-S0\"}", "\"framework_id\":{\"value\":\"M-0000\"}",
	       "\"scheme\":\"http\"", "\"ip\":\"127.0.0.1\"", "\"port\":5001",
	       "\"path\":\"/slave(1)\"", "\"allocation_info\":{\"role\":\"r\"}", "\"role\":\"*\"");
}

Test(master_offers, allocation_info_is_for_multi_role_frameworks)
{
	driver_subscribe(d, NULL, NULL);
	driver_agent(d, AGENT1);
	expect(d, "OFFERS");
	refute(d, "allocation_info");
}

#define RESERVED                                                                                   \
	"[{\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":{\"value\":4},\"role\":\"r\"},"        \
	"{\"name\":\"mem\",\"type\":\"SCALAR\",\"scalar\":{\"value\":512},\"role\":\"r\"}]"

/* A static reservation as it was before reservations were lists, and as it is since. */
Test(master_offers, resource_format_by_capability)
{
	driver_subscribe(d, NULL, "\"role\":\"r\"");
	driver_agent_like(d, AGENT1, RESERVED, NULL);
	expect(d, "OFFERS", "\"value\":4.0},\"role\":\"r\"");
	refute(d, "\"reservations\"");
	driver_close(d, 1);
	driver_forget(d);
	driver_subscribe(d, NULL,
			 "\"role\":\"r\",\"capabilities\":[{\"type\":\"RESERVATION_REFINEMENT\"}]");
	driver_pass(d, 2 * SECOND);
	expect(d, "event 2 OFFERS", "\"reservations\":[{\"role\":\"r\",\"type\":\"STATIC\"}]");
	refute(d, "event 2 OFFERS", "},\"role\":\"r\"");
}

Test(master_offers, one_event_for_all_agents_of_a_cycle)
{
	driver_agent(d, AGENT1);
	driver_agent(d, AGENT2);
	driver_subscribe(d, NULL, NULL);
	expect(d, "OFFERS", "M-O0", "M-O1");
	cr_expect_eq(driver_count(d, "OFFERS"), 1);
}

Test(master_offers, declined_offers_come_back_after_the_filter)
{
	driver_agent(d, AGENT1);
	driver_subscribe(d, NULL, NULL);
	driver_forget(d);
	driver_call(d, 1,
		    "{\"type\":\"DECLINE\"," FID ",\"decline\":{\"offer_ids\":[{\"value\":"
		    "\"M-O0\"},{\"value\":\"none\"}]}}");
	driver_pass(d, 4 * SECOND);
	refute(d, "OFFERS");
	driver_pass(d, 3 * SECOND);
	expect(d, "OFFERS", "M-O1");
	driver_forget(d);
	driver_call(d, 1,
		    "{\"type\":\"DECLINE\"," FID ",\"decline\":{\"offer_ids\":[{\"value\":"
		    "\"M-O1\"}],\"filters\":{\"refuse_seconds\":3600}}}");
	driver_pass(d, 10 * SECOND);
	refute(d, "OFFERS");
	driver_call(d, 1, "{\"type\":\"REVIVE\"," FID "}");
	expect(d, "OFFERS", "M-O2");
}

Test(master_offers, suppressed_frameworks_get_none)
{
	driver_subscribe(d, NULL, NULL);
	driver_call(d, 1, "{\"type\":\"SUPPRESS\"," FID "}");
	driver_agent(d, AGENT1);
	driver_pass(d, 2 * SECOND);
	refute(d, "OFFERS");
	cr_expect_eq(master_find_framework(d->m, "M-0000")->suppressed_count, 1);
	driver_call(d, 1, "{\"type\":\"REVIVE\"," FID ",\"revive\":{\"roles\":[\"x\"]}}");
	refute(d, "OFFERS");
	driver_call(d, 1, "{\"type\":\"REVIVE\"," FID ",\"revive\":{\"roles\":[\"*\"]}}");
	expect(d, "OFFERS");
}

Test(master_offers, offer_timeout_rescinds)
{
	driver_destroy(d);
	d = driver_prepare();
	d->options.offer_timeout = 3 * SECOND;
	driver_start(d);
	driver_agent(d, AGENT1);
	driver_subscribe(d, NULL, NULL);
	driver_forget(d);
	driver_pass(d, 3 * SECOND);
	expect(d, "RESCIND", "\"offer_id\":{\"value\":\"M-O0\"}");
	driver_pass(d, SECOND);
	expect(d, "OFFERS", "M-O1");
}

Test(master_offers, a_lost_link_rescinds_and_a_decline_by_another_discards)
{
	driver_agent(d, AGENT1);
	driver_subscribe(d, NULL, NULL);
	driver_subscribe(d, NULL, NULL);
	driver_forget(d);
	driver_call(d, 2,
		    "{\"type\":\"DECLINE\",\"framework_id\":{\"value\":\"M-0001\"},\"decline\":{"
		    "\"offer_ids\":[{\"value\":\"M-O0\"}],\"filters\":{\"refuse_seconds\":0}}}");
	cr_expect_not(master_find_offer(d->m, "M-O0"));
	refute(d, "RESCIND");
	driver_pass(d, SECOND);
	cr_assert_eq(HASH_COUNT(d->m->offers), 1);
	driver_exited(d, AGENT1);
	expect(d, "RESCIND");
	cr_expect_eq(HASH_COUNT(d->m->offers), 0);
}

Test(master_offers, accept_without_operations_declines)
{
	driver_agent(d, AGENT1);
	driver_subscribe(d, NULL, NULL);
	driver_forget(d);
	driver_call(d, 1,
		    "{\"type\":\"ACCEPT\"," FID ",\"accept\":{\"offer_ids\":[{\"value\":"
		    "\"M-O0\"}],\"filters\":{\"refuse_seconds\":2}}}");
	driver_pass(d, SECOND);
	refute(d, "OFFERS");
	driver_pass(d, 3 * SECOND);
	expect(d, "OFFERS");
}

Test(master_offers, least_amounts_of_a_framework)
{
	driver_agent(d, AGENT1);
	driver_subscribe(d, NULL,
			 "\"offer_filters\":{\"*\":{\"min_allocatable_resources\":{"
			 "\"quantities\":[{\"quantities\":{\"cpus\":{\"value\":100}}}]}}}");
	driver_pass(d, 2 * SECOND);
	refute(d, "event 1 OFFERS");
	driver_subscribe(d, NULL,
			 "\"offer_filters\":{\"*\":{\"min_allocatable_resources\":{"
			 "\"quantities\":[{\"quantities\":{\"cpus\":{\"value\":1}}}]}}}");
	expect(d, "event 2 OFFERS");
}

Test(master_offers, oversubscribed_resources_change_what_is_offered)
{
	driver_agent(d, AGENT1);
	driver_subscribe(d, NULL, "\"capabilities\":[{\"type\":\"REVOCABLE_RESOURCES\"}]");
	driver_forget(d);
	driver_message(
		d, AGENT1, &mesos__internal__update_slave_message__descriptor,
		"{\"agent_id\":{\"value\":\"M-S0\"},\"update_oversubscribed_resources\":true,"
		"\"oversubscribed_resources\":[{\"name\":\"cpus\",\"type\":\"SCALAR\","
		"\"scalar\":{\"value\":2},\"revocable\":{}}]}");
	driver_pass(d, SECOND);
	expect(d, "OFFERS", "\"revocable\"", "\"value\":2.0");
	/* What is no such resource changes nothing. */
	for (int i = 0; i < 2; i++) {
		driver_forget(d);
		driver_message(
			d, AGENT1, &mesos__internal__update_slave_message__descriptor,
			"{\"agent_id\":{\"value\":\"M-S0\"},\"update_oversubscribed_resources\":"
			"true,"
			"\"oversubscribed_resources\":[{\"name\":\"cpus\",\"type\":\"SCALAR\","
			"\"scalar\":{\"value\":%d}%s}]}",
			i ? -1 : 3, i ? ",\"revocable\":{}" : "");
		driver_pass(d, 3 * SECOND);
		cr_expect_eq(d->trace.len, 0, "%s", d->trace.data);
	}
	driver_message(
		d, AGENT1, &mesos__internal__update_slave_message__descriptor,
		"{\"agent_id\":{\"value\":\"M-S0\"},\"update_oversubscribed_resources\":true}");
	expect(d, "RESCIND", "M-O1");
	refute(d, "RESCIND", "M-O0");
}
