/* How much there is to show: what decides whether a child shows it. */
#include "agent_harness.h"

static struct rig rig;

static void start(void)
{
	rig_init(&rig);
	rig_start(&rig);
	rig_register(&rig);
}

static void stop(void)
{
	rig_free(&rig);
}

TestSuite(agent_show, .init = start, .fini = stop);

/* Of all there is, and of that which lives; every limit below counts to the limit. */
static void expect_counts(size_t all, size_t live)
{
	cr_expect_eq(agent_show_count(rig.agent, true, 1000), all, "%zu, not %zu",
		     agent_show_count(rig.agent, true, 1000), all);
	cr_expect_eq(agent_show_count(rig.agent, false, 1000), live, "%zu, not %zu",
		     agent_show_count(rig.agent, false, 1000), live);
	for (size_t limit = 0; limit <= all; limit++) {
		size_t least = limit < live ? limit : live;

		cr_expect_geq(agent_show_count(rig.agent, true, limit), limit);
		cr_expect_geq(agent_show_count(rig.agent, false, limit), least);
		/* It may go on for the object that it is at, and no further. */
		cr_expect_leq(agent_show_count(rig.agent, true, limit), limit + 2);
	}
}

Test(agent_show, counts_frameworks_executors_and_tasks)
{
	expect_counts(0, 0);
	rig_run(&rig, "a", "e", 1);
	rig_run(&rig, "b", "e", 0);
	/* The framework, its executor, two tasks that are queued. */
	expect_counts(4, 4);
	rig_container_started(&rig, "e", 42);
	rig_subscribe(&rig, "e", 1);
	expect_counts(4, 4);
	rig_update(&rig, "e", "a", MESOS__TASK_STATE__TASK_FINISHED, 1);
	/* Over, and not acknowledged. */
	expect_counts(4, 4);
	rig_ack(&rig, "a", 1);
	expect_counts(4, 3);
	rig_run(&rig, "c", "other", 1);
	expect_counts(6, 5);
	rig_update(&rig, "e", "b", MESOS__TASK_STATE__TASK_FINISHED, 2);
	rig_ack(&rig, "b", 2);
	rig_container_exited(&rig, "e", 0);
	/* An executor that is over, with its two tasks; the framework lives on with the other. */
	expect_counts(6, 3);
	rig.framework = "G";
	rig_run(&rig, "d", "e", 1);
	expect_counts(9, 6);
}

Test(agent_show, counts_what_frameworks_leave)
{
	rig_run(&rig, "t", "e", 1);
	rig_container_started(&rig, "e", 42);
	rig_subscribe(&rig, "e", 1);
	rig_update(&rig, "e", "t", MESOS__TASK_STATE__TASK_FINISHED, 1);
	rig_ack(&rig, "t", 1);
	rig_container_exited(&rig, "e", 0);
	expect_counts(3, 0);
}
