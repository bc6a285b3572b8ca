/* What metrics tell of all agents is what they have and use. */
#include <criterion/criterion.h>

#include "master/core/sums.h"
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

TestSuite(master_sums, .init = set_up, .fini = tear_down);

/* An agent may say that it has as much as a number can hold; sums of several are more. */
Test(master_sums, that_have_more_than_a_sum_can_hold)
{
	struct buf resources = BUF_INIT;
	const struct master_sums *sums;

	for (int i = 0; i < 1100; i++)
		buf_printf(&resources,
			   "%s{\"name\":\"cpus\",\"type\":\"SCALAR\","
			   "\"scalar\":{\"value\":9e12}}",
			   i ? "," : "[");
	buf_printf(&resources, "]");
	driver_agent_like(d, AGENT1, resources.data, NULL);
	driver_agent_like(d, AGENT2, resources.data, NULL);
	buf_free(&resources);
	driver_agent_like(d, "slave(1)@127.0.0.1:5003", RESOURCES(3, 32), NULL);
	cr_assert_eq(HASH_COUNT(d->m->agents), 3);
	sums = sums_now(d->m);
	cr_expect_eq(sums->agents.active, 3);
	cr_expect(sums->agents.total[0][0] == (__int128)INT64_MAX * 2 + 3000);
	cr_expect(sums_check(d->m, NULL));
}

/* What metrics tell, looked at before and after each change. */
Test(master_sums, sums_follow_what_is_used)
{
	const struct master_sums *sums;

	driver_agent(d, AGENT1);
	sums = sums_now(d->m);
	cr_expect_eq(sums->agents.active, 1);
	cr_expect(sums->agents.used[0][0] == 0);
	driver_subscribe(d, NULL, NULL);
	driver_launch(d, 1, "M-0000", "M-O0", "M-S0", "t", NULL);
	sums = sums_now(d->m);
	cr_expect_eq(sums->agents.active, 1);
	cr_expect(sums->agents.used[0][0] > 0);
	driver_update(d, AGENT1, "M-S0", "M-0000", "t", "TASK_FINISHED", 1);
	driver_acknowledge(d, 1, "M-0000", "M-S0", "t", 1);
	sums = sums_now(d->m);
	cr_expect_eq(sums->agents.active, 1);
	cr_expect(sums->agents.used[0][0] == 0);
	cr_expect(sums_check(d->m, NULL));
	d->agent_silent = true;
	driver_pass(d, 90 * SECOND);
	sums = sums_now(d->m);
	cr_expect_eq(sums->agents.active, 0);
	cr_expect(sums->agents.total[0][0] == 0);
}
