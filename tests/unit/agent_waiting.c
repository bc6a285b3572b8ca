/* What waits while directories of volumes are being made. */
#include "agent_orders.h"

TestSuite(agent_waiting, .init = start, .fini = stop);

#define V1 VOLUME(64, "r", "v1", "data")
#define V1_LINK "data=/w/volumes/roles/r/v1"
#define V1_PATH "/w/volumes/roles/r/v1"

static void run_with(const char *id, const char *volume)
{
	Mesos__TaskInfo *task = rig_task(&rig, id, NULL);

	proto_push(&rig.arena, task->n_resources, task->resources,
		   from_json(&mesos__resource__descriptor, json(volume)));
	rig_run_task(&rig, task, 1);
}

static void ping(void)
{
	Mesos__Internal__PingSlaveMessage *message =
		rig_new(&rig, Mesos__Internal__PingSlaveMessage,
			mesos__internal__ping_slave_message__descriptor);

	message->connected = true;
	rig_message(&rig, RIG_MASTER, message);
}

static void begin(void)
{
	apply(1, json(RESERVE(64, "r")));
	acknowledge(1, status_uuid);
	rig_take(&rig);
	rig.manual_volumes = true;
	apply(2, json(CREATE(64, "r", "v1", "data")));
	rig_expect(&rig, "make " V1_PATH "\n");
}

Test(agent_waiting, orders_come_after_the_directories_that_were_ordered_before)
{
	begin();
	run_with("t", V1);
	run_with("u", VOLUME(8, "r", "v2", "data"));
	rig_kill(&rig, "t");
	apply(3, json(DESTROY(64, "r", "v1", "data")));
	reconcile(3, NULL);
	rig_expect(&rig, "");
	rig_volumes_made(&rig, 1);
	rig_expect(&rig, "send master UpdateOperationStatusMessage op2 FINISHED\n"
			 "launch t\n"
			 "send master StatusUpdateMessage u LOST RESOURCES_UNKNOWN \"The "
			 "checkpointed resources being used by the task or task group are unknown "
			 "to the agent\"\n"
			 "send master StatusUpdateMessage t KILLED TASK_KILLED_DURING_LAUNCH "
			 "\"Killed before delivery to the executor\"\n"
			 "remove " V1_PATH "\n");
}

Test(agent_waiting, each_order_that_needs_directories_is_waited_for)
{
	apply(1, json(RESERVE(128, "r")));
	rig_take(&rig);
	rig.manual_volumes = true;
	apply(2, json(CREATE(64, "r", "v1", "data")));
	apply(3, json(CREATE(64, "r", "v2", "data")));
	run_with("t", VOLUME(64, "r", "v2", "data"));
	rig_expect(&rig, "make " V1_PATH "\n");
	rig_volumes_made(&rig, 1);
	rig_expect(&rig, "make /w/volumes/roles/r/v2\n"
			 "send master UpdateOperationStatusMessage op2 FINISHED\n");
	rig_volumes_made(&rig, 2);
	rig_expect(&rig, "send master UpdateOperationStatusMessage op3 FINISHED\n"
			 "launch t data=/w/volumes/roles/r/v2\n");
}

Test(agent_waiting, pings_and_executors_are_answered)
{
	rig_running(&rig, "t", "e", 1);
	begin();
	ping();
	rig_expect(&rig, "send master PongSlaveMessage\n");
	rig_update(&rig, "e", "t", STATE(RUNNING), 1);
	rig_expect(&rig, "reply 202\nsend master StatusUpdateMessage t RUNNING u1\n"
			 "event 1 ACKNOWLEDGED t u1\n");
	rig_ack(&rig, "t", 1);
	rig_update(&rig, "e", "t", STATE(FINISHED), 2);
	rig_expect(&rig, "reply 202\nsend master StatusUpdateMessage t FINISHED u2\n"
			 "event 1 ACKNOWLEDGED t u2\n");
}

Test(agent_waiting, registration_tells_what_is_there_then)
{
	begin();
	rig_detect(&rig, RIG_MASTER);
	rig_tick(&rig, 2 * SECOND);
	rig_expect(&rig, "");
	rig_volumes_made(&rig, 1);
	cr_assert(strstr(rig_take(&rig), "send master ReregisterSlaveMessage"));
	cr_assert(strstr(checkpointed(), "[v1:data]:64"), "%s", checkpointed());
}

Test(agent_waiting, registration_after_a_start_waits_for_directories)
{
	reserve_and_create();
	rig.manual_volumes = true;
	restart();
	rig_expect(&rig, "make " V1_PATH "\n");
	rig_detect(&rig, RIG_MASTER);
	rig_tick(&rig, 2 * SECOND);
	rig_expect(&rig, "");
	rig_volumes_made(&rig, 1);
	cr_assert(strstr(rig_take(&rig), "send master ReregisterSlaveMessage"));
}

static void answer(void)
{
	Mesos__Internal__SlaveReregisteredMessage *message =
		rig_new(&rig, Mesos__Internal__SlaveReregisteredMessage,
			mesos__internal__slave_reregistered_message__descriptor);

	message->agent_id = rig_agent_id(&rig);
	rig_message(&rig, RIG_MASTER, message);
}

Test(agent_waiting, answers_of_a_master_that_died_are_not_taken_for_those_of_the_next)
{
	begin();
	answer();
	rig_detect(&rig, RIG_MASTER);
	rig_tick(&rig, 2 * SECOND);
	rig_expect(&rig, "");
	rig_volumes_made(&rig, 1);
	cr_assert(strstr(rig_take(&rig), "send master ReregisterSlaveMessage"));
}

Test(agent_waiting, answers_on_a_link_that_broke_are_not_taken_for_the_next)
{
	struct agent_event exited = {.type = AGENT_EXITED, .exited = {RIG_MASTER}};

	begin();
	rig_detect(&rig, RIG_MASTER);
	rig_tick(&rig, 2 * SECOND);
	answer();
	rig_step(&rig, &exited);
	rig_volumes_made(&rig, 1);
	cr_assert(strstr(rig_take(&rig), "send master ReregisterSlaveMessage"));
}

/* While one directory is made, old data is removed from the place of another. */
Test(agent_waiting, a_place_that_became_free_meanwhile_gets_its_directory)
{
	apply(1, json(RESERVE(128, "r")));
	apply(2, json(CREATE(64, "r", "v1", "data")));
	rig_take(&rig);
	rig.manual_volumes = true;
	apply(3, json(DESTROY(64, "r", "v1", "data")));
	apply(4, json("{'type':'CREATE','create':{'volumes':[" V1
		      "," VOLUME(64, "r", "v2", "data") "]}}"));
	rig_expect(&rig, "remove " V1_PATH "\nmake /w/volumes/roles/r/v2\n");
	rig_volume_removed(&rig, V1_PATH);
	rig_expect(&rig, "send master UpdateOperationStatusMessage op3 FINISHED\n");
	rig_volumes_made(&rig, 2);
	rig_expect(&rig, "make " V1_PATH " /w/volumes/roles/r/v2\n");
	rig_volumes_made(&rig, 3);
	rig_expect(&rig, "send master UpdateOperationStatusMessage op4 FINISHED\n");
	run_with("t", V1);
	rig_expect(&rig, "launch t " V1_LINK "\n");
}

Test(agent_waiting, too_many_orders_are_dropped_and_the_master_is_told_what_we_have)
{
	begin();
	for (int i = 0; i < 10000; i++)
		rig_kill(&rig, "t");
	rig_expect(&rig, "");
	run_with("t", V1);
	rig_expect(&rig, "redetect\n");
	rig_volumes_made(&rig, 1);
	rig_expect(&rig, "send master UpdateOperationStatusMessage op2 FINISHED\n");
}

Test(agent_waiting, orders_of_a_master_that_is_no_longer_ours_are_dropped)
{
	begin();
	run_with("t", V1);
	rig_detect(&rig, "master@10.0.0.2:5050");
	rig_take(&rig);
	rig_volumes_made(&rig, 1);
	cr_assert_not(strstr(rig_take(&rig), "launch"));
}

Test(agent_waiting, those_left_at_the_end_are_freed)
{
	begin();
	run_with("t", V1);
}
