/* Draining: every task ends, no new one comes in, and the order outlives the agent. */
#include "agent_harness.h"

#include <string.h>

static struct rig rig;
static int64_t grace; /* of the last KILL; -1 = none given */

static void watch(struct rig *r, const struct agent_action *action)
{
	const Mesos__KillPolicy *policy;

	if (action->type != AGENT_SEND_EVENT || !action->send_event.event->kill)
		return;
	policy = action->send_event.event->kill->kill_policy;
	grace = policy ? policy->grace_period->nanoseconds : -1;
}

static void start(void)
{
	rig_init(&rig);
	rig.checkpoint = rig.aware = true;
	rig.watch = watch;
	rig_start(&rig);
	rig_register(&rig);
}

static void stop(void)
{
	rig_free(&rig);
}

TestSuite(agent_drain, .init = start, .fini = stop);

/* `seconds` < 0: no longest grace period. */
static void drain_from(const char *from, int seconds, bool mark_gone)
{
	Mesos__Internal__DrainSlaveMessage *message =
		rig_new(&rig, Mesos__Internal__DrainSlaveMessage,
			mesos__internal__drain_slave_message__descriptor);

	message->config = rig_new(&rig, Mesos__DrainConfig, mesos__drain_config__descriptor);
	message->config->has_mark_gone = 1;
	message->config->mark_gone = mark_gone;
	if (seconds >= 0) {
		message->config->max_grace_period =
			rig_new(&rig, Mesos__DurationInfo, mesos__duration_info__descriptor);
		message->config->max_grace_period->nanoseconds = seconds * SECOND;
	}
	rig_message(&rig, from, message);
}

static void drain(int seconds, bool mark_gone)
{
	drain_from(RIG_MASTER, seconds, mark_gone);
}

static Mesos__TaskInfo *patient_task(const char *id, int seconds)
{
	Mesos__TaskInfo *task = rig_task(&rig, id, NULL);

	task->kill_policy = rig_new(&rig, Mesos__KillPolicy, mesos__kill_policy__descriptor);
	task->kill_policy->grace_period =
		rig_new(&rig, Mesos__DurationInfo, mesos__duration_info__descriptor);
	task->kill_policy->grace_period->nanoseconds = seconds * SECOND;
	return task;
}

static bool is_draining(void)
{
	struct buf out = BUF_INIT;
	struct json_writer w;
	bool found;

	jw_init(&w, &out);
	jw_begin_object(&w);
	agent_write_state(&(struct agent_view){.agent = rig.agent}, &w);
	jw_end_object(&w);
	found = strstr(out.data, "drain_config") != NULL;
	buf_free(&out);
	return found;
}

Test(agent_drain, of_an_empty_agent_is_over_at_once)
{
	drain(-1, false);
	rig_expect(&rig, "");
	cr_assert_not(is_draining());
}

Test(agent_drain, ends_tasks_and_says_why)
{
	rig_running(&rig, "t", NULL, 1);
	drain(-1, false);
	rig_expect(&rig, "event 1 KILL t\n");
	cr_assert_eq(grace, -1);
	cr_assert(is_draining());
	rig_update(&rig, "t", "t", STATE(KILLING), 1);
	cr_assert(strstr(rig_take(&rig), "StatusUpdateMessage t KILLING u1 AGENT_DRAINING\n"));
	rig_ack(&rig, "t", 1);
	rig_update(&rig, "t", "t", STATE(KILLED), 2);
	cr_assert(strstr(rig_take(&rig), "StatusUpdateMessage t KILLED u2 AGENT_DRAINING\n"));
	rig_container_exited(&rig, "t", 0);
	cr_assert(is_draining());
	rig_ack(&rig, "t", 2);
	cr_assert_not(is_draining());
}

Test(agent_drain, other_ends_stay_what_they_are)
{
	rig_running(&rig, "t", NULL, 1);
	drain(-1, true);
	rig_take(&rig);
	rig_update(&rig, "t", "t", STATE(FINISHED), 1);
	cr_assert(strstr(rig_take(&rig), "StatusUpdateMessage t FINISHED u1\n"));
}

Test(agent_drain, of_agents_that_go_for_good)
{
	rig_running(&rig, "t", NULL, 1);
	drain(-1, true);
	rig_take(&rig);
	rig_update(&rig, "t", "t", STATE(KILLED), 1);
	cr_assert(strstr(rig_take(&rig),
			 "StatusUpdateMessage t GONE_BY_OPERATOR u1 AGENT_DRAINING\n"));
}

Test(agent_drain, frameworks_that_do_not_know_gone_hear_of_kills)
{
	rig.aware = false;
	rig_running(&rig, "t", NULL, 1);
	drain(-1, true);
	rig_take(&rig);
	rig_update(&rig, "t", "t", STATE(KILLED), 1);
	cr_assert(strstr(rig_take(&rig), "StatusUpdateMessage t KILLED u1 AGENT_DRAINING\n"));
}

Test(agent_drain, shortens_grace_periods_only)
{
	static const struct {
		int own, max;
		int64_t sent;
	} cases[] = {{60, 5, 5 * SECOND}, {5, 60, -1}, {5, 5, -1}, {60, -1, -1}, {60, 0, 0}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *id = arena_printf(&rig.arena, "t%zu", i);

		rig_run_task(&rig, patient_task(id, cases[i].own), -1);
		rig_container_started(&rig, id, 42);
		rig_subscribe(&rig, id, i + 1);
		grace = -2;
		drain(cases[i].max, false);
		cr_assert_eq(grace, cases[i].sent, "%zu: %lld", i, (long long)grace);
		rig_update(&rig, id, id, STATE(KILLED), (int)i + 1);
		rig_container_exited(&rig, id, 0);
		rig_ack(&rig, id, (int)i + 1);
		cr_assert_not(is_draining(), "%zu", i);
	}
}

Test(agent_drain, lets_no_new_task_in)
{
	rig_running(&rig, "t", NULL, 1);
	drain(-1, false);
	rig_take(&rig);
	rig_run(&rig, "u", "e", 1);
	rig_expect(&rig, "send master ExitedExecutorMessage e -1\n"
			 "send master StatusUpdateMessage u DROPPED AGENT_DRAINING \"Task was "
			 "received while agent was already draining\"\n");
}

Test(agent_drain, kills_what_was_not_delivered)
{
	rig_run(&rig, "t", "e", -1);
	rig_run(&rig, "u", "e", -1);
	rig_take(&rig);
	drain(-1, false);
	rig_expect(&rig, "send master StatusUpdateMessage t KILLED AGENT_DRAINING \"Killed before "
			 "delivery to the executor\"\n"
			 "send master StatusUpdateMessage u KILLED AGENT_DRAINING \"Killed before "
			 "delivery to the executor\"\n");
}

Test(agent_drain, goes_on_after_a_crash)
{
	rig_running(&rig, "t", "e", 1);
	rig_update(&rig, "e", "t", STATE(RUNNING), 1);
	rig_ack(&rig, "t", 1);
	drain(-1, false);
	rig_take(&rig);
	rig_kill_agent(&rig);
	rig_start(&rig);
	cr_assert(is_draining());
	rig_subscribe(&rig, "e", 2);
	cr_assert(strstr(rig_take(&rig), "event 2 KILL t\n"));
	rig_reregister(&rig);
	rig_take(&rig);
	rig_update(&rig, "e", "t", STATE(KILLED), 2);
	rig_container_exited(&rig, "e", 0);
	rig_ack(&rig, "t", 2);
	cr_assert_not(is_draining());
	rig_kill_agent(&rig);
	rig_start(&rig);
	cr_assert_not(is_draining());
}

Test(agent_drain, of_strangers_is_nothing)
{
	rig_running(&rig, "t", NULL, 1);
	drain_from("master@10.0.0.9:5050", -1, false);
	rig_expect(&rig, "");
	cr_assert_not(is_draining());
}
