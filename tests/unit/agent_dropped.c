/* Messages that a correct master or executor never sends, or that come at the wrong time: they are
 * dropped, and nothing else happens. */
#include "agent_harness.h"

#include <string.h>

static struct rig rig;

static void set_up(void)
{
	rig_init(&rig);
	rig_start(&rig);
}

static void tear_down(void)
{
	rig_free(&rig);
}

TestSuite(agent_dropped, .init = set_up, .fini = tear_down);

#define STRANGER "master@10.0.0.9:5050"
#define SENT "send master StatusUpdateMessage t RUNNING u1\n"

/* ---- registration ------------------------------------------------------------------------- */

static void registered(const char *from, const char *id)
{
	Mesos__Internal__SlaveRegisteredMessage *message =
		rig_new(&rig, Mesos__Internal__SlaveRegisteredMessage,
			mesos__internal__slave_registered_message__descriptor);

	message->agent_id = rig_new(&rig, Mesos__AgentID, mesos__agent_id__descriptor);
	message->agent_id->value = (char *)id;
	rig_message(&rig, from, message);
}

static void reregistered(const char *from, const char *id)
{
	Mesos__Internal__SlaveReregisteredMessage *message =
		rig_new(&rig, Mesos__Internal__SlaveReregisteredMessage,
			mesos__internal__slave_reregistered_message__descriptor);

	message->agent_id = rig_new(&rig, Mesos__AgentID, mesos__agent_id__descriptor);
	message->agent_id->value = (char *)id;
	rig_message(&rig, from, message);
}

Test(agent_dropped, registrations_that_nobody_asked_for)
{
	registered(RIG_MASTER, RIG_AGENT);
	rig_expect(&rig, "");
	rig_detect(&rig, RIG_MASTER);
	rig_next(&rig);
	rig_take(&rig);
	registered(STRANGER, RIG_AGENT);
	registered(RIG_MASTER, "a/b");
	registered(RIG_MASTER, "");
	registered(RIG_MASTER, "..");
	reregistered(RIG_MASTER, RIG_AGENT);
	rig_expect(&rig, "");
	cr_expect_str_eq(agent_id(rig.agent), "");
	registered(RIG_MASTER, RIG_AGENT);
	cr_expect_str_eq(agent_id(rig.agent), RIG_AGENT);
	rig_take(&rig);
	reregistered(STRANGER, RIG_AGENT);
	rig_expect(&rig, "");
}

Test(agent_dropped, an_id_that_is_not_its_own_ends_it)
{
	rig_register(&rig);
	registered(RIG_MASTER, "other");
	rig_expect(&rig, "exit 1 Registered but got wrong id: other (expected: " RIG_AGENT ")\n");
	reregistered(RIG_MASTER, "other");
	rig_expect(&rig, "exit 1 Registered but got wrong id: other (expected: " RIG_AGENT ")\n");
}

/* ---- the end --------------------------------------------------------------------------------- */

static void shut_down(const char *from)
{
	Mesos__Internal__ShutdownMessage *message =
		rig_new(&rig, Mesos__Internal__ShutdownMessage,
			mesos__internal__shutdown_message__descriptor);

	rig_message(&rig, from, message);
}

Test(agent_dropped, orders_to_one_that_ends)
{
	rig_register(&rig);
	rig_running(&rig, "t", "e", 1);
	shut_down(STRANGER);
	rig_expect(&rig, "");
	shut_down(RIG_MASTER);
	rig_expect(&rig, "event 1 SHUTDOWN\n");
	shut_down(RIG_MASTER);
	rig_kill(&rig, "t");
	rig_run(&rig, "u", "e", 0);
	rig_run(&rig, "v", NULL, 1);
	rig_detect(&rig, STRANGER);
	registered(RIG_MASTER, RIG_AGENT);
	rig_expect(&rig, "");
}

/* ---- tasks ------------------------------------------------------------------------------------
 */

Test(agent_dropped, tasks_that_cannot_be_meant)
{
	Mesos__TaskInfo *task;

	rig_register(&rig);
	task = rig_task(&rig, "t", "e");
	task->agent_id = rig_new(&rig, Mesos__AgentID, mesos__agent_id__descriptor);
	task->agent_id->value = (char *)"other";
	rig_run_task(&rig, task, 1);
	rig_run_task(&rig, rig_task(&rig, "a/b", "e"), 1);
	rig_run_task(&rig, rig_task(&rig, "t", "a/b"), 1);
	rig_run_task(&rig, rig_task(&rig, "", NULL), 1);
	task = rig_task(&rig, "t", NULL);
	task->command = NULL;
	rig_run_task(&rig, task, 1);
	task = rig_task(&rig, "t", "e");
	task->resources[0]->name = (char *)"";
	rig_run_task(&rig, task, 1);
	rig.framework = "F/G";
	rig_run(&rig, "t", "e", 1);
	rig_expect(&rig, "");
	rig.framework = NULL;
	rig_run(&rig, "t", "e", 1);
	cr_expect(strstr(rig_take(&rig), "launch e"));
}

Test(agent_dropped, kills_of_what_is_not_here)
{
	rig_register(&rig);
	rig_kill(&rig, "t");
	rig_expect(&rig, "");
	rig_running(&rig, "t", "e", 1);
	rig.framework = "G";
	rig_kill(&rig, "t");
	rig_expect(&rig, "");
	rig.framework = NULL;
	rig_kill(&rig, "t");
	rig_expect(&rig, "event 1 KILL t\n");
}

/* ---- executors that speak libprocess ------------------------------------------------------- */

#define EXECUTOR "executor(1)@10.0.0.2:4000"

static void speak(void *message)
{
	rig_message(&rig, EXECUTOR, message);
}

static Mesos__Executor__Call *ids(void)
{
	return rig_call(&rig, "e", MESOS__EXECUTOR__CALL__TYPE__SUBSCRIBE);
}

static void register_executor(void)
{
	Mesos__Internal__RegisterExecutorMessage *message =
		rig_new(&rig, Mesos__Internal__RegisterExecutorMessage,
			mesos__internal__register_executor_message__descriptor);

	message->framework_id = ids()->framework_id;
	message->executor_id = ids()->executor_id;
	speak(message);
}

static void old_executor(void)
{
	rig_register(&rig);
	rig_run(&rig, "t", "e", 1);
	rig_container_started(&rig, "e", 42);
	register_executor();
	rig_take(&rig);
}

static Mesos__Internal__StatusUpdateMessage *update_of(const char *task, Mesos__TaskState state)
{
	Mesos__Internal__StatusUpdateMessage *message =
		rig_new(&rig, Mesos__Internal__StatusUpdateMessage,
			mesos__internal__status_update_message__descriptor);
	Mesos__Internal__StatusUpdate *update = rig_new(&rig, Mesos__Internal__StatusUpdate,
							mesos__internal__status_update__descriptor);

	update->framework_id = ids()->framework_id;
	update->executor_id = ids()->executor_id;
	update->agent_id = rig_agent_id(&rig);
	update->status = rig_status(&rig, task, state, 1);
	update->status->agent_id = update->agent_id;
	update->has_uuid = 1;
	update->uuid = rig_uuid(&rig, 1);
	message->update = update;
	return message;
}

static double invalid_updates;

static void pick_invalid(void *context, const char *name, double value)
{
	if (strcmp(name, "slave/invalid_status_updates") == 0)
		invalid_updates = value;
}

Test(agent_dropped, updates_that_say_too_little)
{
	Mesos__AgentID other = MESOS__AGENT_ID__INIT;
	Mesos__Internal__StatusUpdateMessage *message;

	old_executor();
	other.value = (char *)"other";
	message = update_of("t", STATE(RUNNING));
	message->update->uuid.len = 15;
	speak(message);
	message = update_of("t", STATE(RUNNING));
	message->update->has_uuid = 0;
	speak(message);
	message = update_of("t", STATE(RUNNING));
	message->update->agent_id = &other;
	speak(message);
	message = update_of("t", STATE(RUNNING));
	message->update->agent_id = NULL;
	speak(message);
	message = update_of("t", STATE(RUNNING));
	message->update->status->agent_id = &other;
	speak(message);
	message = update_of("t", STATE(RUNNING));
	message->update->status->agent_id = NULL;
	speak(message);
	speak(update_of("a/b", STATE(RUNNING)));
	rig_expect(&rig, "");
	agent_each_metric(rig.agent, pick_invalid, NULL);
	cr_expect_eq(invalid_updates, 7);
	speak(update_of("t", STATE(RUNNING)));
	rig_expect(&rig, SENT "send " EXECUTOR " StatusUpdateAcknowledgementMessage u1\n");
}

Test(agent_dropped, an_executor_that_says_staging_is_shut_down)
{
	old_executor();
	speak(update_of("t", STATE(STAGING)));
	rig_expect(&rig, "send " EXECUTOR " ShutdownExecutorMessage\n");
}

Test(agent_dropped, messages_reach_an_old_executor)
{
	Mesos__Internal__FrameworkToExecutorMessage *message =
		rig_new(&rig, Mesos__Internal__FrameworkToExecutorMessage,
			mesos__internal__framework_to_executor_message__descriptor);

	old_executor();
	message->agent_id = rig_agent_id(&rig);
	message->framework_id = ids()->framework_id;
	message->executor_id = ids()->executor_id;
	message->data = (ProtobufCBinaryData){5, (uint8_t *)"hello"};
	rig_message(&rig, RIG_MASTER, message);
	rig_expect(&rig, "send " EXECUTOR " FrameworkToExecutorMessage\n");
}

static int64_t told_grace;

static void watch_kill(struct rig *r, const struct agent_action *action)
{
	const Mesos__Internal__KillTaskMessage *kill =
		action->type == AGENT_SEND_MESSAGE ? (const void *)action->send_message.message
						   : NULL;

	if (kill && kill->base.descriptor == &mesos__internal__kill_task_message__descriptor &&
	    kill->kill_policy)
		told_grace = kill->kill_policy->grace_period->nanoseconds;
}

Test(agent_dropped, an_old_executor_is_told_how_to_kill)
{
	old_executor();
	rig.watch = watch_kill;
	rig_message(&rig, RIG_MASTER,
		    rig_parse(&rig, &mesos__internal__kill_task_message__descriptor,
			      "{\"framework_id\":{\"value\":\"F\"},\"task_id\":{\"value\":\"t\"},"
			      "\"kill_policy\":{\"grace_period\":{\"nanoseconds\":3}}}"));
	rig_expect(&rig, "send " EXECUTOR " KillTaskMessage t\n");
	cr_expect_eq(told_grace, 3);
}

/* Its only task was killed before it came: it is told to go. */
Test(agent_dropped, an_old_executor_without_work_is_shut_down)
{
	rig_register(&rig);
	rig_run(&rig, "t", "e", 1);
	rig_container_started(&rig, "e", 42);
	rig_kill(&rig, "t");
	rig_take(&rig);
	register_executor();
	cr_expect(strstr(rig_take(&rig), "send " EXECUTOR " ShutdownExecutorMessage\n"));
}

/* ---- what no route has ------------------------------------------------------------------------
 */

Test(agent_dropped, messages_of_other_kinds)
{
	rig_register(&rig);
	rig_message(&rig, RIG_MASTER,
		    rig_new(&rig, Mesos__Internal__RegisterSlaveMessage,
			    mesos__internal__register_slave_message__descriptor));
	rig_expect(&rig, "");
}
