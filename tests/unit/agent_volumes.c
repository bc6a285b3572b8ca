/* Persistent volumes: their directories, their removal, and their links in sandboxes. */
#include "agent/core/resources/volumes.h"
#include "agent_orders.h"

TestSuite(agent_volumes, .init = start, .fini = stop);

/* ---- volumes --------------------------------------------------------------- */

Test(agent_volumes, volumes_are_made_before_they_are_there)
{
	apply(1, json(RESERVE(64, "a/b")));
	rig_take(&rig);
	rig.manual_volumes = true;
	apply(2, json(CREATE(64, "a/b", "v1", "data")));
	rig_expect(&rig, "make /w/volumes/roles/a b/v1\n");
	rig_volumes_made(&rig, 7);
	rig_expect(&rig, "");
	rig_volumes_made(&rig, 1);
	rig_expect(&rig, "send master UpdateOperationStatusMessage op2 FINISHED\n");
	rig_volumes_made(&rig, 1);
	rig_expect(&rig, "");
}

Test(agent_volumes, volumes_are_made_again_at_the_start)
{
	reserve_and_create();
	restart();
	rig_expect(&rig, "make /w/volumes/roles/r/v1\n");
}

Test(agent_volumes, volumes_that_cannot_be_made_fail)
{
	apply(1, json(RESERVE(64, "r")));
	rig_take(&rig);
	rig.volume_failure = "No space left on device";
	apply(2, json(CREATE(64, "r", "v1", "data")));
	rig_expect(&rig, "make /w/volumes/roles/r/v1\nredetect\n"
			 "send master UpdateOperationStatusMessage op2 FAILED \"No space left on "
			 "device\"\n");
	expect_state("\"disk\":64.0");
	cr_assert_not(strstr(state(), "persistence"));
}

Test(agent_volumes, hostile_names_make_no_directories)
{
	static const char *const ids[] = {"..", ".", "", "a/b", "../../etc", "a\\\\b"};

	apply(1, json(RESERVE(64, "r")));
	rig_take(&rig);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		char *text = arena_printf(&rig.arena, CREATE(64, "r", "%s", "data"), ids[i]);

		apply((int)i + 2, json(text));
		cr_assert(strstr(rig_take(&rig), " ERROR "), "%s", ids[i]);
		rig_reregister(&rig);
		rig_take(&rig);
	}
}

Test(agent_volumes, volume_ids_are_unique)
{
	reserve_and_create();
	apply(3, json(RESERVE(32, "r")));
	rig_take(&rig);
	apply(4, json(CREATE(32, "r", "v1", "other")));
	cr_assert(strstr(rig_take(&rig), "ERROR \"Persistence ID 'v1' is not unique\""));
}

Test(agent_volumes, destroyed_volumes_lose_their_data_once_that_is_stored)
{
	reserve_and_create();
	rig.manual_store = rig.manual_volumes = true;
	apply(3, json(DESTROY(64, "r", "v1", "data")));
	rig_expect(&rig, "");
	rig_stored(&rig, UINT64_MAX);
	rig_expect(&rig, "remove /w/volumes/roles/r/v1\n");
	rig_volume_removed(&rig, "/w/volumes/roles/r/v1");
	rig_expect(&rig, "");
	rig_stored(&rig, UINT64_MAX);
	rig_expect(&rig, "send master UpdateOperationStatusMessage op3 FINISHED\n");
}

Test(agent_volumes, removal_goes_on_after_a_crash)
{
	reserve_and_create();
	rig.manual_volumes = true;
	apply(3, json(DESTROY(64, "r", "v1", "data")));
	rig_expect(&rig, "remove /w/volumes/roles/r/v1\n");
	restart();
	rig_expect(&rig, "remove /w/volumes/roles/r/v1\n");
	rig_reregister(&rig);
	cr_assert(strstr(rig_take(&rig), "send master UpdateSlaveMessage op3 PENDING\n"));
	rig_volume_removed(&rig, "/w/volumes/roles/r/v1");
	rig_expect(&rig, "send master UpdateOperationStatusMessage op3 FINISHED\n");
	acknowledge(3, status_uuid);
	restart();
	rig_expect(&rig, "");
}

Test(agent_volumes, resizing_touches_no_directory)
{
	reserve_and_create();
	apply(3, json("{'type':'SHRINK_VOLUME','shrink_volume':{'subtract':{'value':24},'volume'"
		      ":" VOLUME(64, "r", "v1", "data") "}}"));
	rig_expect(&rig, "send master UpdateOperationStatusMessage op3 FINISHED\n");
	apply(4, json("{'type':'GROW_VOLUME','grow_volume':{'addition':" DISK(
			 8, RESERVED("r") "," ALLOCATED("r")) ",'volume':" VOLUME(40, "r", "v1",
										  "data") "}}"));
	rig_expect(&rig, "send master UpdateOperationStatusMessage op4 FINISHED\n");
	restart();
	rig_reregister(&rig);
	cr_assert(strstr(checkpointed(), "disk(reservations: [(DYNAMIC,r)])[v1:data]:48"), "%s",
		  checkpointed());
}

/* ---- volumes in sandboxes ---------------------------------------------------- */

static Mesos__TaskInfo *task_with(const char *id, const char *executor, const char *volume)
{
	Mesos__TaskInfo *task = rig_task(&rig, id, executor);

	proto_push(&rig.arena, task->n_resources, task->resources,
		   from_json(&mesos__resource__descriptor, json(volume)));
	return task;
}

#define V1 VOLUME(64, "r", "v1", "data")
#define V1_LINK "data=/w/volumes/roles/r/v1"

Test(agent_volumes, tasks_get_their_volumes)
{
	reserve_and_create();
	rig_run_task(&rig, task_with("t", NULL, V1), 1);
	rig_expect(&rig, "launch t " V1_LINK "\n");
	rig_container_started(&rig, "t", 42);
	rig_subscribe(&rig, "t", 1);
	cr_assert(strstr(rig_take(&rig), "event 1 LAUNCH t\n"));
	rig_update(&rig, "t", "t", STATE(FINISHED), 1);
	cr_assert(strstr(rig_take(&rig), "volumes of t -" V1_LINK "\n"));
}

#define SHARED_DISK                                                                                \
	DISK(64,                                                                                   \
	     RESERVED("r") "," ALLOCATED("r") ",'shared':{},'disk':{'persistence':{'id':'v1'},"    \
					      "'volume':{'container_path':'data','mode':'RW'}}")

/* Who comes first owns it; once nobody has it the next one does. */
Test(agent_volumes, a_shared_one_keeps_its_owner)
{
	apply(1, json(RESERVE(64, "r")));
	apply(2, json("{'type':'CREATE','create':{'volumes':[" SHARED_DISK "]}}"));
	rig_take(&rig);
	rig_run_task(&rig, task_with("t", NULL, SHARED_DISK), 1);
	rig_expect(&rig, "launch t " V1_LINK "\n");
	rig_run_task(&rig, task_with("u", NULL, SHARED_DISK), 1);
	rig_expect(&rig, "launch u " V1_LINK " (not owned)\n");
	rig_container_exited(&rig, "t", 0);
	rig_container_exited(&rig, "u", 0);
	rig_take(&rig);
	rig_run_task(&rig, task_with("v", NULL, SHARED_DISK), 1);
	rig_expect(&rig, "launch v " V1_LINK "\n");
}

/* Not even those that nobody would know after a crash. */
Test(agent_volumes, tasks_start_when_their_volumes_are_stored)
{
	rig.checkpoint = false;
	apply(1, json(RESERVE(64, "r")));
	rig_running(&rig, "s", "e", 1);
	rig.manual_store = true;
	apply(2, json(CREATE(64, "r", "v1", "data")));
	rig_run_task(&rig, task_with("t", NULL, V1), 1);
	rig_run_task(&rig, task_with("u", "e", V1), 0);
	rig_expect(&rig, "make /w/volumes/roles/r/v1\n");
	rig_stored(&rig, UINT64_MAX);
	rig_expect(&rig, "send master UpdateOperationStatusMessage op2 FINISHED\n"
			 "launch t " V1_LINK "\n"
			 "volumes of e +" V1_LINK "\n"
			 "event 1 LAUNCH u\n");
}

Test(agent_volumes, tasks_with_unknown_volumes_are_dropped)
{
	reserve_and_create();
	rig_run_task(&rig, task_with("t", NULL, VOLUME(64, "r", "v2", "data")), -1);
	rig_expect(&rig, "send master StatusUpdateMessage t LOST RESOURCES_UNKNOWN \"The "
			 "checkpointed resources being used by the task or task group are unknown "
			 "to the agent\"\n");
}

Test(agent_volumes, later_tasks_wait_for_their_volumes)
{
	reserve_and_create();
	rig_running(&rig, "t", "e", 1);
	rig.manual_volumes = true;
	rig_run_task(&rig, task_with("u", "e", V1), 0);
	rig_expect(&rig, "volumes of e +" V1_LINK "\n");
	rig_run(&rig, "w", "e", 0);
	rig_expect(&rig, "");
	rig_volumes_linked(&rig, "e");
	rig_expect(&rig, "event 1 LAUNCH u\nevent 1 LAUNCH w\n");
	rig_update(&rig, "e", "u", STATE(FINISHED), 1);
	cr_assert(strstr(rig_take(&rig), "volumes of e -" V1_LINK "\n"));
}

Test(agent_volumes, executors_whose_volumes_fail_are_ended)
{
	reserve_and_create();
	rig_running(&rig, "t", "e", 1);
	rig.volume_failure = "no";
	rig_run_task(&rig, task_with("u", "e", V1), 0);
	rig_expect(&rig, "volumes of e +" V1_LINK "\ndestroy e\n");
	rig_container_exited(&rig, "e", 9);
	cr_assert(strstr(rig_take(&rig), "send master StatusUpdateMessage u LOST "
					 "CONTAINER_UPDATE_FAILED \"Failed to update resources for "
					 "container: no\"\n"));
}

Test(agent_volumes, container_paths_with_slashes_get_no_link)
{
	reserve_and_create();
	rig_run_task(&rig, task_with("t", NULL, VOLUME(64, "r", "v1", "/etc/x")), 1);
	rig_expect(&rig, "launch t\n");
	rig_run_task(&rig, task_with("u", NULL, VOLUME(64, "r", "v1", "../../x")), 1);
	rig_expect(&rig, "launch u\n");
}

Test(agent_volumes, tasks_keep_their_volumes_over_a_crash)
{
	reserve_and_create();
	rig_run_task(&rig, task_with("t", "e", V1), 1);
	rig_container_started(&rig, "e", 42);
	rig_subscribe(&rig, "e", 1);
	rig_update(&rig, "e", "t", STATE(RUNNING), 1);
	restart();
	rig_take(&rig);
	rig_subscribe(&rig, "e", 2);
	rig_expect(&rig, "event 2 SUBSCRIBED\nreply 200\n");
	rig_update(&rig, "e", "t", STATE(FINISHED), 2);
	cr_assert(strstr(rig_take(&rig), "volumes of e -" V1_LINK "\n"));
}

/* Destroyed, made again and used at once: nobody sees the old data. */
Test(agent_volumes, a_volume_in_the_place_of_an_old_one_waits)
{
	reserve_and_create();
	rig_running(&rig, "t", "e", 1);
	rig.manual_volumes = true;
	apply(3, json(DESTROY(64, "r", "v1", "data")));
	apply(4, json(CREATE(64, "r", "v1", "data")));
	rig_expect(&rig, "remove /w/volumes/roles/r/v1\n"
			 "send master UpdateOperationStatusMessage op4 FINISHED\n");
	rig_run_task(&rig, task_with("u", NULL, V1), 1);
	rig_run_task(&rig, task_with("w", "e", V1), 0);
	rig_expect(&rig, "");
	rig_volume_removed(&rig, "/w/volumes/roles/r/v1");
	rig_expect(&rig, "make /w/volumes/roles/r/v1\n"
			 "send master UpdateOperationStatusMessage op3 FINISHED\n");
	rig_volumes_made(&rig, 2);
	rig_expect(&rig, "volumes of e +" V1_LINK "\n"
			 "launch u " V1_LINK "\n");
}

Test(agent_volumes, tasks_for_an_older_version_are_dropped)
{
	Mesos__Internal__RunTaskMessage *message =
		rig_new(&rig, Mesos__Internal__RunTaskMessage,
			mesos__internal__run_task_message__descriptor);
	Mesos__Internal__ResourceVersionUUID *of =
		rig_new(&rig, Mesos__Internal__ResourceVersionUUID,
			mesos__internal__resource_version_uuid__descriptor);

	of->uuid = uuid_of(rig_uuid(&rig, 5));
	proto_push(&rig.arena, message->n_resource_version_uuids, message->resource_version_uuids,
		   of);
	message->framework = from_json(&mesos__framework_info__descriptor,
				       "{\"user\":\"u\",\"name\":\"n\",\"id\":{\"value\":\"F\"}}");
	message->task = rig_task(&rig, "t", NULL);
	rig_message(&rig, RIG_MASTER, message);
	rig_expect(&rig, "send master StatusUpdateMessage t LOST INVALID_OFFERS \"Task assumes "
			 "outdated resource state\"\n");
	of->uuid = uuid_of((ProtobufCBinaryData){UUID_BYTES, version});
	message->task = rig_task(&rig, "u", NULL);
	rig_message(&rig, RIG_MASTER, message);
	rig_expect(&rig, "launch u\n");
}

/* ---- disks of their own ------------------------------------------------------ */

static void start_disks(void)
{
	start_with("[{\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":{\"value\":4}},"
		   "{\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{\"value\":100},\"disk\":{"
		   "\"source\":{\"type\":\"PATH\",\"path\":{\"root\":\"/p\"}}}},"
		   "{\"name\":\"disk\",\"type\":\"SCALAR\",\"scalar\":{\"value\":200},\"disk\":{"
		   "\"source\":{\"type\":\"MOUNT\",\"mount\":{\"root\":\"m\"}}}}]");
}

TestSuite(agent_volumes_disks, .init = start_disks, .fini = stop);

#define PATH_SOURCE "'source':{'type':'PATH','path':{'root':'/p'}}"
#define MOUNT_SOURCE "'source':{'type':'MOUNT','mount':{'root':'m'}}"
#define ON(size, source, persistence) DISK(size, RESERVED("r") ",'disk':{" source persistence "}")
#define PERSISTENT ",'persistence':{'id':'v1'},'volume':{'container_path':'data','mode':'RW'}"

static void order(int number, const char *type, const char *field, const char *list,
		  const char *resource)
{
	apply(number, json(arena_printf(&rig.arena, "{'type':'%s','%s':{'%s':[%s]}}", type, field,
					list, resource)));
}

Test(agent_volumes_disks, volumes_are_where_the_disk_is)
{
	order(1, "RESERVE", "reserve", "resources", ON(50, PATH_SOURCE, ""));
	order(2, "CREATE", "create", "volumes", ON(50, PATH_SOURCE, PERSISTENT));
	cr_assert(strstr(rig_take(&rig), "make /p/volumes/roles/r/v1\n"));
	order(3, "RESERVE", "reserve", "resources", ON(200, MOUNT_SOURCE, ""));
	order(4, "CREATE", "create", "volumes", ON(200, MOUNT_SOURCE, PERSISTENT));
	cr_assert(strstr(rig_take(&rig), "make /w/m\n"));
	order(5, "DESTROY", "destroy", "volumes", ON(200, MOUNT_SOURCE, PERSISTENT));
	cr_assert(strstr(rig_take(&rig), "remove /w/m mount\n"));
	order(6, "DESTROY", "destroy", "volumes", ON(50, PATH_SOURCE, PERSISTENT));
	cr_assert(strstr(rig_take(&rig), "remove /p/volumes/roles/r/v1\n"));
}

#define NOT_OURS "Disks of resource providers are not supported"
#define NO_SOURCE "Unsupported 'DiskInfo.Source' of a volume"
#define SOURCE(members) DISK(1, RESERVED("r") ",'disk':{'source':{" members "}" PERSISTENT "}")
#define PLAIN(role, id) DISK(1, RESERVED(role) ",'disk':{'persistence':{'id':'" id "'}}")

static const struct {
	const char *resource, *path, *error;
	bool mount;
} paths[] = {
	{PLAIN("r", "v"), "/w/volumes/roles/r/v", NULL, false},
	{PLAIN("a/b/c", "v"), "/w/volumes/roles/a b c/v", NULL, false},
	{DISK(1, "'reservations':[{'type':'DYNAMIC','role':'r'},{'type':'DYNAMIC','role':'r/s'}],"
		 "'disk':{'persistence':{'id':'v'}}"),
	 "/w/volumes/roles/r s/v", NULL, false},
	{SOURCE("'type':'PATH','path':{'root':'/p'}"), "/p/volumes/roles/r/v1", NULL, false},
	{SOURCE("'type':'PATH','path':{'root':'p'}"), "/w/p/volumes/roles/r/v1", NULL, false},
	{SOURCE("'type':'MOUNT','mount':{'root':'/m'}"), "/m", NULL, true},
	{SOURCE("'type':'MOUNT','mount':{'root':'m'}"), "/w/m", NULL, true},
	{SOURCE("'type':'MOUNT'"), NULL, NO_SOURCE, false},
	{SOURCE("'type':'MOUNT','path':{'root':'/p'}"), NULL, NO_SOURCE, false},
	{SOURCE("'type':'MOUNT','mount':{'root':''}"), NULL, NO_SOURCE, false},
	{SOURCE("'type':'PATH'"), NULL, NO_SOURCE, false},
	{SOURCE("'type':'PATH','path':{}"), NULL, NO_SOURCE, false},
	{SOURCE("'type':'BLOCK'"), NULL, NO_SOURCE, false},
	{SOURCE("'type':'RAW','path':{'root':'/p'}"), NULL, NO_SOURCE, false},
	{SOURCE("'type':'PATH','path':{'root':'/p'},'id':'i'"), NULL, NOT_OURS, false},
	{SOURCE("'type':'PATH','path':{'root':'/p'},'profile':'i'"), NULL, NOT_OURS, false},
	{SOURCE("'type':'PATH','path':{'root':'/p'},'vendor':'i'"), NULL, NOT_OURS, false},
	{DISK(1, RESERVED("r") ",'provider_id':{'value':'x'},'disk':{'persistence':{'id':'v'}}"),
	 NULL, NOT_OURS, false},
	{DISK(1, "'disk':{'persistence':{'id':'v'}}"), NULL, "A persistent volume is not reserved",
	 false},
	{PLAIN("*", "v"), NULL, "A persistent volume is not reserved", false},
	{PLAIN("../x", "v"), NULL, "Invalid role '../x': ", false},
	{PLAIN("r", ".."), NULL, "'..' cannot be the id of a persistent volume", false},
};

Test(agent_volumes, each_has_its_place)
{
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		Mesos__Resource *resource =
			from_json(&mesos__resource__descriptor, json(paths[i].resource));
		struct err err = {""};
		char *path = NULL;
		bool mount = false;
		int rv = agent_volume_path(rig.agent, resource, &path, &mount, &err);

		cr_expect_eq(!rv, paths[i].path != NULL, "%s: %s", paths[i].resource, err.text);
		if (!rv)
			cr_expect_eq(mount, paths[i].mount, "%s", paths[i].resource);
		if (!rv)
			cr_expect_str_eq(path, paths[i].path);
		else
			cr_expect(str_has_prefix(err.text, paths[i].error), "%s: %s",
				  paths[i].resource, err.text);
		free(rv ? NULL : path);
	}
}

Test(agent_volumes, removals_that_nobody_asked_for_change_nothing)
{
	reserve_and_create();
	rig_volume_removed(&rig, "/w/volumes/roles/r/v1");
	rig_volume_removed(&rig, "/w/volumes/roles/r/other");
	rig_expect(&rig, "");
	expect_state(RESERVED_64);
}
