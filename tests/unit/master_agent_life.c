/* The tables of the life of an agent: which states may follow which, and what a change does while
 * another is being written. */
#include <criterion/criterion.h>
#include <string.h>

#include "master/core/agents/agent_life.h"
#include "master/core/store/registry.h"
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

TestSuite(master_agent_life, .init = set_up, .fini = tear_down);

/* A row for each change that is asked for, a column for each that is being written, from
 * CHANGE_NONE on: goes, waits, is dropped (-) or refused. */
static const char verdicts[AGENT_CHANGES][AGENT_CHANGES + 1] = {
	[CHANGE_REREGISTER] = "g---------", [CHANGE_ORDER] = "gwwwwwwwr-",
	[CHANGE_DRAINED] = "g---------",    [CHANGE_UNREACHABLE] = "g-ww------",
	[CHANGE_UNREGISTER] = "gwww------", [CHANGE_REPLACE] = "g---------",
	[CHANGE_EXPEL] = "gggg------",	    [CHANGE_GONE] = "ggggrrrrr-",
	[CHANGE_FORGET] = "g---------",
};

static enum agent_verdict meant(char c)
{
	return c == 'g'	  ? CHANGE_GOES
	       : c == 'w' ? CHANGE_WAITS
	       : c == 'r' ? CHANGE_REFUSED
			  : CHANGE_DROPPED;
}

Test(master_agent_life, verdicts)
{
	for (int writing = CHANGE_NONE; writing < CHANGE_FORGET; writing++) {
		struct pending p = {.change = writing, .key = "M-S0"};

		if (writing != CHANGE_NONE)
			HASH_ADD_KEYPTR(hh, d->m->pending_keys, p.key, strlen(p.key), &p);
		for (int asked = CHANGE_REREGISTER; asked < AGENT_CHANGES; asked++)
			cr_expect_eq(agent_ask(d->m, "M-S0", asked),
				     meant(verdicts[asked][writing]), "%d while %d is written",
				     asked, writing);
		cr_expect(agent_may_change(d->m, "M-S1", CHANGE_ORDER), "another agent");
		HASH_CLEAR(hh, d->m->pending_keys);
	}
}

/* From (a row) to (a column): RECOVERED CONNECTED DISCONNECTED UNREACHABLE GONE REMOVED. */
Test(master_agent_life, states)
{
	static const char moves[AGENT_STATES][AGENT_STATES + 1] = {
		"-+-+++", "--++++", "-+-+++", "-+--++", "-----+", "-+----",
	};

	for (int from = 0; from < AGENT_STATES; from++) {
		for (int to = 0; to < AGENT_STATES; to++)
			cr_expect_eq(agent_may_become(from, to), moves[from][to] == '+', "%s -> %s",
				     agent_life_name(from), agent_life_name(to));
	}
}

/* It unregisters and does not answer while an order for it is written: it leaves once. */
Test(master_agent_life, of_what_waits_the_agents_own_word_comes_first)
{
	struct agent *a;

	driver_agent(d, AGENT1);
	d->hold_store = true;
	driver_operate(d, "{\"type\":\"DEACTIVATE_AGENT\",\"deactivate_agent\":"
			  "{\"agent_id\":{\"value\":\"M-S0\"}}}");
	d->agent_silent = true;
	driver_pass(d, 90 * SECOND);
	a = master_find_agent(d->m, "M-S0");
	cr_assert(agent_awaits(a, CHANGE_UNREACHABLE));
	driver_message(d, AGENT1, &mesos__internal__unregister_slave_message__descriptor,
		       "{\"agent_id\":{\"value\":\"M-S0\"}}");
	cr_assert(agent_awaits(a, CHANGE_UNREGISTER));
	d->hold_store = false;
	driver_store(d); /* the order */
	driver_store(d); /* what waited for it */
	cr_expect_null(master_find_agent(d->m, "M-S0"));
	cr_expect_null(master_find_departed(d->m->unreachable, "M-S0"));
	cr_expect_eq(d->m->counters.slave_removals_unregistered, 1);
	cr_expect_eq(d->m->counters.slave_removals, 1);
}

/* The record of the old one is being deleted: what it says meanwhile would be forgotten. */
Test(master_agent_life, one_that_is_being_replaced_does_not_come_back_before_that_is_written)
{
	driver_agent(d, AGENT1);
	driver_exited(d, AGENT1);
	d->hold_store = true;
	driver_agent(d, AGENT1);
	driver_reregister(d, AGENT2, "M-S0", NULL);
	cr_expect_not(agent_connected(master_find_agent(d->m, "M-S0")));
	cr_expect_eq(driver_operate(d, "{\"type\":\"MARK_AGENT_GONE\",\"mark_agent_gone\":"
				       "{\"agent_id\":{\"value\":\"M-S0\"}}}"),
		     503);
	d->hold_store = false;
	driver_store(d);
	cr_expect_null(master_find_agent(d->m, "M-S0"));
	driver_reregister(d, AGENT2, "M-S0", NULL);
	cr_expect(agent_connected(master_find_agent(d->m, "M-S0")));
	driver_restart(d, "M2");
	cr_expect(master_find_agent(d->m, "M-S0"));
	cr_expect(master_find_agent(d->m, "M-S1"));
}
