/* Tasks from launch to acknowledgement: the pipeline, kills, exits. */
#include "agent/core/objects.h"
#include "agent/core/tasks/frameworks.h"
#include "agent/core/tasks/tasks.h"
#include "agent_harness.h"

#include <string.h>

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

TestSuite(agent_tasks, .init = start, .fini = stop);

/* ---- the way of a task --------------------------------------------------- */

Test(agent_tasks, command_task_runs_and_is_acknowledged)
{
	rig_run(&rig, "t", NULL, 1);
	rig_expect(&rig, "launch t\n");
	rig_container_started(&rig, "t", 42);
	rig_expect(&rig, "");
	rig_subscribe(&rig, "t", 7);
	rig_expect(&rig, "event 7 SUBSCRIBED\nevent 7 LAUNCH t\nreply 200\n");
	rig_update(&rig, "t", "t", STATE(STARTING), 1);
	rig_expect(&rig, "send master StatusUpdateMessage t STARTING u1\n"
			 "event 7 ACKNOWLEDGED t u1\nreply 202\n");
	rig_update(&rig, "t", "t", STATE(RUNNING), 2);
	rig_expect(&rig, "event 7 ACKNOWLEDGED t u2\nreply 202\n");
	rig_ack(&rig, "t", 1);
	rig_expect(&rig, "send master StatusUpdateMessage t RUNNING u2\n");
	rig_update(&rig, "t", "t", STATE(FINISHED), 3);
	rig_expect(&rig, "event 7 ACKNOWLEDGED t u3\nreply 202\n");
	rig_ack(&rig, "t", 2);
	rig_expect(&rig, "send master StatusUpdateMessage t FINISHED u3\n");
	rig_ack(&rig, "t", 3);
	rig_container_exited(&rig, "t", 0);
	rig_expect(&rig, "end 7\n");
	rig_run(&rig, "t", NULL, 1);
	rig_expect(&rig, "launch t\n");
}

/* Of a thousand tasks that run, no order to run them is kept. */
Test(agent_tasks, what_is_launched_is_kept_as_its_record)
{
	struct framework *framework;

	rig_run(&rig, "t", "e", 1);
	framework = agent_framework_find(rig.agent, RIG_FRAMEWORK);
	cr_assert_not_null(agent_task_find(framework, "t")->info);
	rig_container_started(&rig, "e", 42);
	rig_subscribe(&rig, "e", 1);
	cr_assert_eq(agent_task_find(framework, "t")->place, TASK_LAUNCHED);
	cr_assert_null(agent_task_find(framework, "t")->info);
}

Test(agent_tasks, latest_state_runs_ahead_of_the_update)
{
	rig_running(&rig, "t", NULL, 1);
	rig_update(&rig, "t", "t", STATE(RUNNING), 1);
	rig_update(&rig, "t", "t", STATE(FINISHED), 2);
	rig_take(&rig);
	rig_tick(&rig, 10 * SECOND);
	rig_expect(&rig, "send master StatusUpdateMessage t RUNNING u1 latest FINISHED\n");
}

Test(agent_tasks, nothing_is_seen_before_it_is_written)
{
	rig.checkpoint = true;
	rig.manual_store = true;
	rig_run(&rig, "t", NULL, 1);
	rig_expect(&rig, "");
	rig_stored(&rig, 2);
	rig_expect(&rig, "launch t\n");
	rig_container_started(&rig, "t", 42);
	rig_subscribe(&rig, "t", 7);
	rig_expect(&rig, "event 7 SUBSCRIBED\nevent 7 LAUNCH t\nreply 200\n");
	rig_update(&rig, "t", "t", STATE(RUNNING), 1);
	rig_expect(&rig, "reply 202\n");
	rig_stored(&rig, 5);
	rig_expect(&rig, "send master StatusUpdateMessage t RUNNING u1\n"
			 "event 7 ACKNOWLEDGED t u1\n");
	rig_run(&rig, "second", "e", 1);
	rig_expect(&rig, "");
	rig_kill(&rig, "second");
	rig_expect(&rig, "");
	rig_stored(&rig, 7);
	rig_expect(&rig, "launch e\nsend master StatusUpdateMessage second KILLED "
			 "TASK_KILLED_DURING_LAUNCH \"Killed before delivery to the executor\"\n");
}

Test(agent_tasks, store_keys_of_a_checkpointed_task)
{
	rig.checkpoint = true;
	rig.show_store = true;
	rig_run(&rig, "t", NULL, 1);
	rig_expect(&rig, "store 2\n"
			 "  +framework/F/info\n"
			 "  -framework/F/pid\n"
			 "  -collect//w/slaves/M-S0/frameworks/F\n"
			 "  +executor/F/t/info\n"
			 "  +executor/F/t/container\n"
			 "  -collect//w/slaves/M-S0/frameworks/F/executors/t\n"
			 "  +task/F/t/t\n"
			 "launch t\n");
	rig_container_started(&rig, "t", 42);
	rig_expect(&rig, "store 3\n  +executor/F/t/process\n");
	rig_subscribe(&rig, "t", 1);
	rig_expect(&rig, "event 1 SUBSCRIBED\nevent 1 LAUNCH t\n"
			 "store 4\n  +executor/F/t/channel\nreply 200\n");
	rig_update(&rig, "t", "t", STATE(FINISHED), 1);
	rig_expect(&rig, "store 5\n  +task/F/t/t\n  +update/F/t/0000000000000000\nreply 202\n"
			 "send master StatusUpdateMessage t FINISHED u1\n"
			 "event 1 ACKNOWLEDGED t u1\n");
	rig_ack(&rig, "t", 1);
	rig_expect(&rig, "store 6\n  -update/F/t/0000000000000000\n  -task/F/t/t\n");
	rig_container_exited(&rig, "t", 0);
	cr_assert(strstr(rig_take(&rig), "  -framework/F/info\n"));
	for (size_t i = 0; i < rig.pair_count; i++)
		cr_assert(str_has_prefix(rig.pairs[i].key, "agent/") ||
				  str_has_prefix(rig.pairs[i].key, "collect/"),
			  "%s", rig.pairs[i].key);
}

Test(agent_tasks, custom_executor_is_reused_in_order)
{
	rig_run(&rig, "a", "e", 1);
	rig_run(&rig, "b", "e", 0);
	rig_expect(&rig, "launch e\n");
	rig_subscribe(&rig, "e", 1);
	rig_expect(&rig, "event 1 SUBSCRIBED\nevent 1 LAUNCH a\nevent 1 LAUNCH b\nreply 200\n");
	rig_run(&rig, "c", "e", 0);
	rig_expect(&rig, "event 1 LAUNCH c\n");
}

/* It subscribes before a task that came meanwhile is written. */
Test(agent_tasks, tasks_that_are_written_late_are_delivered)
{
	rig.checkpoint = true;
	rig_register(&rig);
	rig_run(&rig, "a", "e", 1);
	rig_container_started(&rig, "e", 42);
	rig.manual_store = true;
	rig_run(&rig, "b", "e", 0);
	rig_take(&rig);
	rig_subscribe(&rig, "e", 1);
	rig_expect(&rig, "event 1 SUBSCRIBED\nevent 1 LAUNCH a\nreply 200\n");
	rig_stored(&rig, UINT64_MAX);
	rig_expect(&rig, "event 1 LAUNCH b\n");
}

Test(agent_tasks, tasks_wait_while_the_executor_is_away)
{
	struct agent_event closed = {.type = AGENT_STREAM_CLOSED, .stream_closed = {1}};

	rig_running(&rig, "a", "e", 1);
	rig_update(&rig, "e", "a", STATE(RUNNING), 1);
	rig_take(&rig);
	rig_step(&rig, &closed);
	rig_run(&rig, "b", "e", 0);
	rig_expect(&rig, "");
	rig_subscribe(&rig, "e", 2);
	rig_expect(&rig, "event 2 SUBSCRIBED\nevent 2 LAUNCH b\nreply 200\n");
	rig_subscribe(&rig, "e", 3);
	rig_expect(&rig, "end 2\n"
			 "send master StatusUpdateMessage b LOST AGENT_RESTARTED "
			 "\"Task launched during agent restart\"\n"
			 "event 3 SUBSCRIBED\nreply 200\n");
}

/* A kill that crosses the end of its task makes it end once. */
Test(agent_tasks, kills_of_what_is_over_are_ignored)
{
	rig_running(&rig, "a", "e", 1);
	rig_run(&rig, "b", "e", 0);
	rig_update(&rig, "e", "a", STATE(KILLED), 1);
	rig_take(&rig);
	rig_ack(&rig, "a", 1);
	rig_take(&rig);
	rig_kill(&rig, "a");
	rig_expect(&rig, "");
	rig_update(&rig, "e", "b", STATE(FINISHED), 2);
	rig_ack(&rig, "b", 2);
	rig_run(&rig, "c", "other", 1);
	rig_container_exited(&rig, "e", 0);
	rig_take(&rig);
	rig_kill(&rig, "a");
	rig_expect(&rig, "");
	rig_kill(&rig, "never");
	cr_expect(strstr(rig_take(&rig), "StatusUpdateMessage never LOST"));
}

/* Whoever kills may do so once and wait; so does the agent itself while it drains. */
Test(agent_tasks, kills_wait_while_the_executor_is_away)
{
	struct agent_event closed = {.type = AGENT_STREAM_CLOSED, .stream_closed = {1}};
	Mesos__Executor__Call *call;

	rig_running(&rig, "a", "e", 1);
	rig_update(&rig, "e", "a", STATE(RUNNING), 1);
	rig_step(&rig, &closed);
	rig_take(&rig);
	rig_kill(&rig, "a");
	rig_kill(&rig, "a");
	rig_expect(&rig, "");
	rig_subscribe(&rig, "e", 2);
	rig_expect(&rig, "event 2 SUBSCRIBED\nevent 2 KILL a\nreply 200\n");
	call = rig_call(&rig, "e", MESOS__EXECUTOR__CALL__TYPE__SUBSCRIBE);
	call->subscribe = rig_new(&rig, Mesos__Executor__Call__Subscribe,
				  mesos__executor__call__subscribe__descriptor);
	rig_executor_call(&rig, call, 3);
	rig_expect(&rig, "end 2\nevent 3 SUBSCRIBED\nreply 200\n");
}

static int64_t last_grace;

static void watch_kill(struct rig *r, const struct agent_action *action)
{
	const Mesos__Executor__Event *event =
		action->type == AGENT_SEND_EVENT ? action->send_event.event : NULL;

	if (event && event->kill && event->kill->kill_policy)
		last_grace = event->kill->kill_policy->grace_period->nanoseconds;
}

static void kill_within(const char *id, int seconds)
{
	rig_message(&rig, RIG_MASTER,
		    rig_parse(&rig, &mesos__internal__kill_task_message__descriptor,
			      arena_printf(&rig.arena,
					   "{\"framework_id\":{\"value\":\"F\"},\"task_id\":{"
					   "\"value\":\"%s\"},\"kill_policy\":{\"grace_period\":{"
					   "\"nanoseconds\":%d000000000}}}",
					   id, seconds)));
}

/* The last one that was said counts; one that nobody hears any more goes with its task. */
Test(agent_tasks, kills_wait_with_their_policy)
{
	struct agent_event closed = {.type = AGENT_STREAM_CLOSED, .stream_closed = {1}};

	rig.watch = watch_kill;
	rig_running(&rig, "a", "e", 1);
	rig_update(&rig, "e", "a", STATE(RUNNING), 1);
	kill_within("a", 3);
	cr_expect_eq(last_grace, 3 * SECOND);
	rig_step(&rig, &closed);
	kill_within("a", 5);
	kill_within("a", 7);
	cr_expect_eq(last_grace, 3 * SECOND);
	rig_subscribe(&rig, "e", 2);
	cr_expect_eq(last_grace, 7 * SECOND);
	closed.stream_closed.stream = 2;
	rig_step(&rig, &closed);
	kill_within("a", 9);
	cr_expect_eq(last_grace, 7 * SECOND);
}

/* ---- the pipeline (6.2) -------------------------------------------------- */

#define LOST "send master StatusUpdateMessage x LOST "

Test(agent_tasks, ignores_what_is_not_for_it)
{
	Mesos__TaskInfo *task = rig_task(&rig, "x", NULL);

	task->agent_id->value = (char *)"other";
	rig_run_task(&rig, task, 1);
	rig_expect(&rig, "");
	rig_run(&rig, "a/b", NULL, 1);
	rig_expect(&rig, "");
	rig_run(&rig, "..", NULL, 1);
	rig_expect(&rig, "");
}

Test(agent_tasks, refuses_limits)
{
	Mesos__TaskInfo *task = rig_task(&rig, "x", NULL);
	Mesos__TaskInfo__LimitsEntry *limit = rig_new(&rig, Mesos__TaskInfo__LimitsEntry,
						      mesos__task_info__limits_entry__descriptor);

	limit->key = (char *)"cpus";
	proto_push(&rig.arena, task->n_limits, task->limits, limit);
	rig_run_task(&rig, task, 1);
	rig_expect(&rig, LOST "GC_ERROR \"CPU limits can only be set on tasks launched in Mesos "
			      "containers when the agent has loaded the 'cgroups/cpu' "
			      "isolator\"\n");
}

Test(agent_tasks, refuses_volumes_nobody_made)
{
	Mesos__TaskInfo *task = rig_task(&rig, "x", "e");
	Mesos__Resource *resource = task->resources[0];
	Mesos__Resource__ReservationInfo *reservation =
		rig_new(&rig, Mesos__Resource__ReservationInfo,
			mesos__resource__reservation_info__descriptor);

	reservation->has_type = 1;
	reservation->type = MESOS__RESOURCE__RESERVATION_INFO__TYPE__DYNAMIC;
	reservation->role = (char *)"r";
	proto_push(&rig.arena, resource->n_reservations, resource->reservations, reservation);
	rig_run_task(&rig, task, 1);
	rig_expect(&rig, LOST "RESOURCES_UNKNOWN \"The checkpointed resources being used by the "
			      "task or task group are unknown to the agent\"\n"
			      "send master ExitedExecutorMessage e -1\n");
}

Test(agent_tasks, refuses_a_second_executor_of_a_command_task)
{
	rig_running(&rig, "x", NULL, 1);
	rig_update(&rig, "x", "x", STATE(FINISHED), 1);
	rig_ack(&rig, "x", 1);
	rig_take(&rig);
	rig_run(&rig, "x", NULL, 1);
	rig_expect(&rig, LOST "TASK_INVALID \"Cannot reuse an already existing executor for a "
			      "command task\"\n");
}

Test(agent_tasks, launch_executor_must_fit)
{
	rig.aware = true;
	rig_run(&rig, "x", "e", 0);
	rig_expect(&rig, "send master StatusUpdateMessage x DROPPED EXECUTOR_TERMINATED \"No "
			 "executor is expected to launch and there is none running\"\n");
	rig.aware = false;
	rig_running(&rig, "a", "f", 1);
	rig_run(&rig, "y", "f", 1);
	rig_expect(&rig, "send master StatusUpdateMessage y DROPPED EXECUTOR_TERMINATED \"Master "
			 "wants to launch executor, but one already exists\"\n"
			 "event 1 SHUTDOWN\n");
	rig_run(&rig, "z", "f", 0);
	rig_expect(&rig, "send master StatusUpdateMessage z DROPPED EXECUTOR_TERMINATED "
			 "\"Executor terminating\"\n");
}

Test(agent_tasks, no_sandbox_drops_the_task)
{
	rig_run(&rig, "x", "e", 1);
	rig_take(&rig);
	rig_container_failed(&rig, "e", AGENT_STAGE_SANDBOX, "no sandbox: no such user");
	rig_expect(&rig, LOST "EXECUTOR_TERMINATED \"no sandbox: no such user\"\n"
			      "send master ExitedExecutorMessage e -1\n");
}

static void shut_executor_down(const char *executor)
{
	Mesos__Internal__ShutdownExecutorMessage *message =
		rig_new(&rig, Mesos__Internal__ShutdownExecutorMessage,
			mesos__internal__shutdown_executor_message__descriptor);

	message->framework_id = rig_new(&rig, Mesos__FrameworkID, mesos__framework_id__descriptor);
	message->framework_id->value = (char *)RIG_FRAMEWORK;
	message->executor_id = rig_new(&rig, Mesos__ExecutorID, mesos__executor_id__descriptor);
	message->executor_id->value = (char *)executor;
	rig_message(&rig, RIG_MASTER, message);
}

Test(agent_tasks, an_executor_that_was_not_asked_for_yet_is_shut_down)
{
	rig.checkpoint = rig.manual_store = true;
	rig_run(&rig, "x", "e", 1);
	rig_expect(&rig, "");
	shut_executor_down("e");
	rig_stored(&rig, UINT64_MAX);
	rig_expect(&rig, "send master ExitedExecutorMessage e -1\n"
			 "send master StatusUpdateMessage x FAILED EXECUTOR_TERMINATED "
			 "\"Executor terminated\"\n");
}

/* It hears of all that the agent has when it is back. */
Test(agent_tasks, no_executor_is_shut_down_by_a_master_that_is_lost)
{
	rig_running(&rig, "a", "e", 1);
	rig_take(&rig);
	rig_detect(&rig, NULL);
	rig_take(&rig);
	shut_executor_down("e");
	rig_expect(&rig, "");
	rig_reregister(&rig);
	rig_take(&rig);
	shut_executor_down("e");
	rig_expect(&rig, "event 1 SHUTDOWN\n");
}

/* ---- kills (6.4) --------------------------------------------------------- */

Test(agent_tasks, kill_by_situation)
{
	rig_kill(&rig, "x");
	rig_expect(&rig, "");
	rig_running(&rig, "a", "e", 1);
	rig_kill(&rig, "x");
	rig_expect(&rig, LOST "EXECUTOR_TERMINATED \"Cannot find executor\"\n");
	rig_kill(&rig, "a");
	rig_expect(&rig, "event 1 KILL a\n");
	rig_run(&rig, "q", NULL, 1);
	rig_take(&rig);
	rig_kill(&rig, "q");
	rig_expect(&rig, "send master StatusUpdateMessage q KILLED TASK_KILLED_DURING_LAUNCH "
			 "\"Killed before delivery to the executor\"\n");
	rig_subscribe(&rig, "q", 2);
	rig_expect(&rig, "event 2 SHUTDOWN\nreply 200\n");
	rig_kill(&rig, "q");
	rig_expect(&rig, "");
}

Test(agent_tasks, shutdown_has_a_grace_period)
{
	Mesos__Internal__ShutdownExecutorMessage *message =
		rig_new(&rig, Mesos__Internal__ShutdownExecutorMessage,
			mesos__internal__shutdown_executor_message__descriptor);
	Mesos__Executor__Call *ids = rig_call(&rig, "e", MESOS__EXECUTOR__CALL__TYPE__SUBSCRIBE);

	rig_running(&rig, "a", "e", 1);
	message->framework_id = ids->framework_id;
	message->executor_id = ids->executor_id;
	rig_message(&rig, RIG_MASTER, message);
	rig_expect(&rig, "event 1 SHUTDOWN\n");
	rig_tick(&rig, 4 * SECOND);
	rig_expect(&rig, "");
	rig_tick(&rig, SECOND);
	rig_expect(&rig, "destroy e\n");
	rig_container_exited(&rig, "e", 9);
	rig_expect(&rig, "end 1\n"
			 "send master StatusUpdateMessage a FAILED EXECUTOR_TERMINATED "
			 "\"Executor terminated\"\n"
			 "send master ExitedExecutorMessage e 9\n");
}

Test(agent_tasks, framework_shutdown_is_silent)
{
	Mesos__Internal__ShutdownFrameworkMessage *message =
		rig_new(&rig, Mesos__Internal__ShutdownFrameworkMessage,
			mesos__internal__shutdown_framework_message__descriptor);

	rig_running(&rig, "a", "e", 1);
	rig_update(&rig, "e", "a", STATE(RUNNING), 1);
	rig_take(&rig);
	message->framework_id =
		rig_call(&rig, "e", MESOS__EXECUTOR__CALL__TYPE__SUBSCRIBE)->framework_id;
	rig_message(&rig, RIG_MASTER, message);
	rig_expect(&rig, "event 1 SHUTDOWN\n");
	rig_update(&rig, "e", "a", STATE(KILLED), 2);
	rig_expect(&rig, "event 1 ACKNOWLEDGED a u2\nreply 202\n");
	/* It comes back, and is told again. */
	rig_subscribe(&rig, "e", 2);
	rig_expect(&rig, "event 2 SHUTDOWN\nend 2\nreply 200\n");
	rig_container_exited(&rig, "e", 0);
	rig_expect(&rig, "end 1\nsend master ExitedExecutorMessage e 0\n");
	rig_tick(&rig, 50 * SECOND);
	rig_expect(&rig, "");
}

/* The master that ordered it may have ended before it wrote that down: the one of now knows the
 * framework, and hears how its tasks end. */
Test(agent_tasks, framework_shutdown_is_not_silent_for_the_next_master)
{
	Mesos__Internal__ShutdownFrameworkMessage *message =
		rig_new(&rig, Mesos__Internal__ShutdownFrameworkMessage,
			mesos__internal__shutdown_framework_message__descriptor);

	rig_running(&rig, "a", "e", 1);
	message->framework_id =
		rig_call(&rig, "e", MESOS__EXECUTOR__CALL__TYPE__SUBSCRIBE)->framework_id;
	rig_message(&rig, RIG_MASTER, message);
	rig_reregister(&rig);
	rig_take(&rig);
	rig_container_exited(&rig, "e", 0);
	cr_expect(strstr(rig_take(&rig), "send master StatusUpdateMessage a "));
	/* One that ordered it itself, and knows, orders it again. */
	rig_running(&rig, "b", "f", 2);
	rig_reregister(&rig);
	rig_message(&rig, RIG_MASTER, message);
	rig_take(&rig);
	rig_container_exited(&rig, "f", 0);
	rig_expect(&rig, "end 2\nsend master ExitedExecutorMessage f 0\n");
}

/* Longer than the agent's, and shorter. */
Test(agent_tasks, an_executor_may_have_a_grace_period_of_its_own)
{
	static const int64_t own[] = {20 * SECOND, SECOND, 0};
	static const char *const ids[] = {"long", "short", "none"};

	for (int i = 0; i < 3; i++) {
		Mesos__Internal__ShutdownExecutorMessage *message =
			rig_new(&rig, Mesos__Internal__ShutdownExecutorMessage,
				mesos__internal__shutdown_executor_message__descriptor);
		Mesos__TaskInfo *task = rig_task(&rig, ids[i], ids[i]);
		char *destroy = arena_printf(&rig.arena, "destroy %s\n", ids[i]);

		task->executor->shutdown_grace_period =
			rig_new(&rig, Mesos__DurationInfo, mesos__duration_info__descriptor);
		task->executor->shutdown_grace_period->nanoseconds = own[i];
		rig_run_task(&rig, task, 1);
		rig_container_started(&rig, ids[i], 42);
		rig_subscribe(&rig, ids[i], (uint64_t)i + 1);
		message->framework_id =
			rig_call(&rig, ids[i], MESOS__EXECUTOR__CALL__TYPE__SUBSCRIBE)
				->framework_id;
		message->executor_id =
			rig_call(&rig, ids[i], MESOS__EXECUTOR__CALL__TYPE__SUBSCRIBE)->executor_id;
		rig_message(&rig, RIG_MASTER, message);
		rig_take(&rig);
		if (own[i] > 0) {
			rig_tick(&rig, own[i] - 1);
			cr_expect_not(strstr(rig_take(&rig), "destroy"), "%s", ids[i]);
		}
		rig_tick(&rig, 1);
		cr_expect(strstr(rig_take(&rig), destroy), "%s", ids[i]);
		rig_container_exited(&rig, ids[i], 9);
	}
}

/* Else an agent that is killed before the other executor ends would send them for ever. */
Test(agent_tasks, framework_shutdown_forgets_updates_of_executors_that_ended_before)
{
	Mesos__Internal__ShutdownFrameworkMessage *message =
		rig_new(&rig, Mesos__Internal__ShutdownFrameworkMessage,
			mesos__internal__shutdown_framework_message__descriptor);
	size_t updates = 0;

	rig.checkpoint = true;
	rig_running(&rig, "a", "e", 1);
	rig_update(&rig, "e", "a", STATE(RUNNING), 1);
	rig_update(&rig, "e", "a", STATE(FINISHED), 2);
	rig_running(&rig, "b", "other", 2);
	rig_container_exited(&rig, "e", 0);
	for (size_t i = 0; i < rig.pair_count; i++)
		updates += str_has_prefix(rig.pairs[i].key, "update/F/a/");
	cr_assert_eq(updates, 2);
	message->framework_id =
		rig_call(&rig, "e", MESOS__EXECUTOR__CALL__TYPE__SUBSCRIBE)->framework_id;
	rig_message(&rig, RIG_MASTER, message);
	for (size_t i = 0; i < rig.pair_count; i++)
		cr_assert_not(str_has_prefix(rig.pairs[i].key, "update/F/a/"), "%s",
			      rig.pairs[i].key);
}

/* ---- exits (6.5) --------------------------------------------------------- */

Test(agent_tasks, each_live_task_of_a_dead_executor_fails)
{
	rig_running(&rig, "a", "e", 1);
	rig_run(&rig, "b", "e", 0);
	rig_update(&rig, "e", "a", STATE(FINISHED), 1);
	rig_take(&rig);
	rig_container_exited(&rig, "e", 1280);
	rig_expect(&rig, "end 1\n"
			 "send master StatusUpdateMessage b FAILED EXECUTOR_TERMINATED "
			 "\"Executor terminated\"\n"
			 "send master ExitedExecutorMessage e 1280\n");
}

Test(agent_tasks, executor_that_never_comes)
{
	rig_run(&rig, "a", "e", 1);
	rig_take(&rig);
	rig_tick(&rig, MINUTE);
	rig_expect(&rig, "destroy e\n");
	rig_container_exited(&rig, "e", 9);
	rig_expect(&rig, "send master StatusUpdateMessage a FAILED EXECUTOR_REGISTRATION_TIMEOUT "
			 "\"Executor did not register within 1mins\"\n"
			 "send master ExitedExecutorMessage e 9\n");
}

Test(agent_tasks, launch_that_fails)
{
	rig_run(&rig, "t", NULL, 1);
	rig_take(&rig);
	rig_container_failed(&rig, "t", AGENT_STAGE_LAUNCH, "Failed to fetch all URIs");
	rig_expect(&rig, "send master StatusUpdateMessage t FAILED CONTAINER_LAUNCH_FAILED "
			 "\"Failed to launch container: Failed to fetch all URIs\"\n");
}

Test(agent_tasks, container_of_a_type_that_nobody_has)
{
	rig_run(&rig, "x", "e", 1);
	rig_take(&rig);
	rig_container_failed(&rig, "e", AGENT_STAGE_TYPE, "unknown container");
	rig_expect(&rig, "send master StatusUpdateMessage x FAILED EXECUTOR_TERMINATED "
			 "\"Abnormal executor termination: unknown container\"\n"
			 "send master ExitedExecutorMessage e -1\n");
}

Test(agent_tasks, unknown_container_is_destroyed)
{
	struct agent_event event = {.type = AGENT_CONTAINER_STARTED,
				    .container_started = {"nobody", 1, 1}};

	rig_step(&rig, &event);
	rig_expect(&rig, "destroy nobody\n");
}

/* ---- resources ----------------------------------------------------------- */

struct gauge {
	const char *name;
	double value;
};

static void pick(void *context, const char *name, double value)
{
	struct gauge *gauge = context;

	if (strcmp(name, gauge->name) == 0)
		gauge->value = value;
}

static double metric(const char *name)
{
	struct gauge gauge = {name, -1};

	agent_each_metric(rig.agent, pick, &gauge);
	return gauge.value;
}

Test(agent_tasks, resources_are_used_until_the_terminal_update)
{
	rig_running(&rig, "a", "e", 1);
	cr_assert_float_eq(metric("slave/cpus_used"), 1.5, 1e-9);
	cr_assert_float_eq(metric("slave/cpus_total"), 4, 1e-9);
	cr_assert_float_eq(metric("slave/tasks_staging"), 1, 1e-9);
	rig_update(&rig, "e", "a", STATE(FINISHED), 1);
	cr_assert_float_eq(metric("slave/cpus_used"), 0.5, 1e-9);
	cr_assert_float_eq(metric("slave/tasks_finished"), 1, 1e-9);
	rig_ack(&rig, "a", 1);
	rig_container_exited(&rig, "e", 0);
	cr_assert_float_eq(metric("slave/cpus_used"), 0, 1e-9);
	cr_assert_float_eq(metric("slave/frameworks_active"), 0, 1e-9);
}

Test(agent_tasks, state_has_the_shape_of_mesos)
{
	static const char *const parts[] = {
		"\"id\":\"M-S0\",\"pid\":\"slave(1)@10.0.0.2:5051\",\"hostname\":\"host\"",
		"\"reserved_resources\":{}",
		"\"resource_providers\":[],\"attributes\":{}",
		"\"frameworks\":[{\"id\":\"F\",\"name\":\"test\",\"user\":\"nobody\","
		"\"failover_timeout\":0.0,\"checkpoint\":false,\"hostname\":\"\",\"role\":\"*\","
		"\"executors\":[{\"id\":\"t\",\"name\":\"Command Executor (Task: t) (Command: sh "
		"-c 'true')\",\"source\":\"t\",\"container\":\"",
		"\"directory\":\"/w/slaves/M-S0/frameworks/F/executors/t/runs/",
		"\"tasks\":[{\"id\":\"t\",\"name\":\"t\",\"framework_id\":\"F\","
		"\"executor_id\":\"\",\"slave_id\":\"M-S0\",\"state\":\"TASK_RUNNING\"",
		"\"statuses\":[{\"state\":\"TASK_RUNNING\",\"timestamp\":",
		"\"container_status\":{\"container_id\":{\"value\":\"",
		"\"network_infos\":[{\"ip_addresses\":[{\"protocol\":\"IPv4\","
		"\"ip_address\":\"10.0.0.2\"}]}]",
		"\"queued_tasks\":[],\"completed_tasks\":[]}],\"completed_executors\":[]}]",
		"\"completed_frameworks\":[]}",
	};
	struct buf json = BUF_INIT;
	struct json_writer w;
	const char *at;

	rig_running(&rig, "t", NULL, 1);
	rig_update(&rig, "t", "t", STATE(RUNNING), 1);
	jw_init(&w, &json);
	jw_begin_object(&w);
	agent_write_state(&(struct agent_view){.agent = rig.agent}, &w);
	jw_end_object(&w);
	at = json.data;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		at = strstr(at, parts[i]);
		cr_assert(at, "%s is not in %s", parts[i], json.data);
	}
	buf_free(&json);
}
