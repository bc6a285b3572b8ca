/* Operations on resources: what they change, when their status goes out, and what is left
 * of them after a crash. */
#include "agent_harness.h"

#include <string.h>

static struct rig rig;
static uint8_t version[UUID_BYTES];
static Mesos__Internal__RegisterSlaveMessage *registration; /* the last one, of either kind */
static ProtobufCBinaryData status_uuid;			    /* of the last status sent */

static void keep_uuid(const Mesos__UUID *uuid)
{
	cr_assert(uuid && uuid->value.len == UUID_BYTES);
	memcpy(version, uuid->value.data, UUID_BYTES);
}

static void watch(struct rig *r, const struct agent_action *action)
{
	const ProtobufCMessage *message;

	if (action->type != AGENT_SEND_MESSAGE)
		return;
	message = action->send_message.message;
	if (message->descriptor == &mesos__internal__register_slave_message__descriptor) {
		registration = proto_copy_to(&r->arena, message);
		keep_uuid(registration->resource_version_uuid);
	} else if (message->descriptor == &mesos__internal__reregister_slave_message__descriptor) {
		Mesos__Internal__ReregisterSlaveMessage *again = (void *)message;

		registration = rig_new(r, Mesos__Internal__RegisterSlaveMessage,
				       mesos__internal__register_slave_message__descriptor);
		again = proto_copy_to(&r->arena, again);
		registration->agent = again->agent;
		registration->n_checkpointed_resources = again->n_checkpointed_resources;
		registration->checkpointed_resources = again->checkpointed_resources;
		keep_uuid(again->resource_version_uuid);
	} else if (message->descriptor ==
		   &mesos__internal__update_operation_status_message__descriptor) {
		Mesos__Internal__UpdateOperationStatusMessage *update =
			proto_copy_to(&r->arena, message);

		status_uuid = update->status->uuid ? update->status->uuid->value
						   : (ProtobufCBinaryData){0};
	}
}

static void start_with(const char *resources)
{
	struct err err = {""};

	rig_init(&rig);
	resources_free(&rig.total);
	rig.total = RESOURCES_INIT;
	cr_assert_eq(resources_parse(rig.options.shapes, resources, "*", &rig.total, &err), 0, "%s",
		     err.text);
	rig.watch = watch;
	rig.checkpoint = true;
	rig_start(&rig);
	rig_register(&rig);
}

static void start(void)
{
	start_with("cpus:4;mem:4096;disk:1024");
}

static void stop(void)
{
	rig_free(&rig);
}

TestSuite(agent_operations, .init = start, .fini = stop);

static Mesos__UUID *uuid_of(ProtobufCBinaryData bytes)
{
	Mesos__UUID *uuid = rig_new(&rig, Mesos__UUID, mesos__uuid__descriptor);

	uuid->value = bytes;
	return uuid;
}

static void *from_json(const ProtobufCMessageDescriptor *type, const char *text)
{
	struct json *json;
	struct err err = {""};
	void *message;

	cr_assert_eq(json_parse(&rig.arena, text, strlen(text), &json, &err), 0, "%s: %s", err.text,
		     text);
	message = json_to_proto(type, json, SPELL_V1, &rig.arena, &err);
	cr_assert(message, "%s", err.text);
	return message;
}

static void apply_with(int number, const char *operation, const uint8_t *made_against)
{
	Mesos__Internal__ApplyOperationMessage *message =
		rig_new(&rig, Mesos__Internal__ApplyOperationMessage,
			mesos__internal__apply_operation_message__descriptor);

	message->framework_id = rig_new(&rig, Mesos__FrameworkID, mesos__framework_id__descriptor);
	message->framework_id->value = (char *)RIG_FRAMEWORK;
	message->operation_info = from_json(&mesos__offer__operation__descriptor, operation);
	message->operation_uuid = uuid_of(rig_uuid(&rig, number));
	message->resource_version_uuid =
		rig_new(&rig, Mesos__Internal__ResourceVersionUUID,
			mesos__internal__resource_version_uuid__descriptor);
	message->resource_version_uuid->uuid = uuid_of((ProtobufCBinaryData){
		UUID_BYTES, arena_memdup(&rig.arena, made_against, UUID_BYTES)});
	rig_message(&rig, RIG_MASTER, message);
}

static void apply(int number, const char *operation)
{
	apply_with(number, operation, version);
}

static void acknowledge(int number, ProtobufCBinaryData status)
{
	Mesos__Internal__AcknowledgeOperationStatusMessage *message =
		rig_new(&rig, Mesos__Internal__AcknowledgeOperationStatusMessage,
			mesos__internal__acknowledge_operation_status_message__descriptor);

	message->status_uuid = uuid_of(status);
	message->operation_uuid = uuid_of(rig_uuid(&rig, number));
	rig_message(&rig, RIG_MASTER, message);
}

static void reconcile(int number, const char *framework)
{
	Mesos__Internal__ReconcileOperationsMessage *message =
		rig_new(&rig, Mesos__Internal__ReconcileOperationsMessage,
			mesos__internal__reconcile_operations_message__descriptor);
	Mesos__Internal__ReconcileOperationsMessage__Operation *asked =
		rig_new(&rig, Mesos__Internal__ReconcileOperationsMessage__Operation,
			mesos__internal__reconcile_operations_message__operation__descriptor);

	asked->operation_uuid = uuid_of(rig_uuid(&rig, number));
	proto_push(&rig.arena, message->n_operations, message->operations, asked);
	if (framework) {
		message->framework_id =
			rig_new(&rig, Mesos__FrameworkID, mesos__framework_id__descriptor);
		message->framework_id->value = (char *)framework;
	}
	rig_message(&rig, RIG_MASTER, message);
}

#define RESERVED(role) "'reservations':[{'type':'DYNAMIC','role':'" role "'}]"
#define ALLOCATED(role) "'allocation_info':{'role':'" role "'}"
#define DISK(size, more) "{'name':'disk','type':'SCALAR','scalar':{'value':" #size "}," more "}"
#define RESERVE(size, role)                                                                        \
	"{'type':'RESERVE','reserve':{'resources':[" DISK(                                         \
		size, RESERVED(role) "," ALLOCATED(role)) "]}}"
#define VOLUME(size, role, id, path)                                                               \
	DISK(size, RESERVED(role) "," ALLOCATED(role) ",'disk':{'persistence':{'id':'" id          \
						      "'},'volume':{'container_path':'" path       \
						      "','mode':'RW'}}")
#define CREATE(size, role, id, path)                                                               \
	"{'type':'CREATE','create':{'volumes':[" VOLUME(size, role, id, path) "]}}"
#define DESTROY(size, role, id, path)                                                              \
	"{'type':'DESTROY','destroy':{'volumes':[" VOLUME(size, role, id, path) "]}}"

/* JSON is written with ' for " above. */
static const char *json(const char *text)
{
	char *copy = arena_strdup(&rig.arena, text);

	for (char *at = copy; (at = strchr(at, '\'')); at++)
		*at = '"';
	return copy;
}

static char *state(void)
{
	static struct buf out;
	struct json_writer w;

	buf_clear(&out);
	jw_init(&w, &out);
	jw_begin_object(&w);
	agent_write_state(rig.agent, &w);
	jw_end_object(&w);
	return arena_strdup(&rig.arena, out.data);
}

#define expect_state(part)                                                                         \
	do {                                                                                       \
		const char *state_ = state();                                                      \
		cr_assert(strstr(state_, part), "%s is not in %s", part, state_);                  \
	} while (0)

#define RESERVED_64                                                                                \
	"\"reserved_resources\":{\"r\":{\"cpus\":0.0,\"gpus\":0.0,\"mem\":0.0,\"disk\":64.0}}"

static void restart(void)
{
	rig_kill_agent(&rig);
	rig_start(&rig);
}

static void reserve_and_create(void)
{
	apply(1, json(RESERVE(64, "r")));
	acknowledge(1, status_uuid);
	apply(2, json(CREATE(64, "r", "v1", "data")));
	acknowledge(2, status_uuid);
	rig_take(&rig);
}

static const char *checkpointed(void)
{
	struct resources all = RESOURCES_INIT;
	static struct buf out;

	buf_clear(&out);
	resources_add_messages(rig.options.shapes, &all, registration->checkpointed_resources,
			       registration->n_checkpointed_resources);
	resources_print(&all, &out);
	resources_free(&all);
	return arena_strdup(&rig.arena, out.data);
}

/* ---- status ---------------------------------------------------------------- */

Test(agent_operations, are_stored_before_their_status_goes_out)
{
	rig.manual_store = rig.show_store = true;
	apply(1, json(RESERVE(64, "r")));
	cr_assert(strstr(rig_take(&rig), "REGISTRY\n  +agent/resources\n  +operation/"));
	rig_stored(&rig, UINT64_MAX);
	rig_expect(&rig, "send master UpdateOperationStatusMessage op1 FINISHED\n");
	expect_state(RESERVED_64);
	expect_state("\"mem\":4096.0,\"disk\":960.0}");
}

Test(agent_operations, repeat_their_status_until_it_is_acknowledged)
{
	apply(1, json(RESERVE(64, "r")));
	rig_take(&rig);
	for (int64_t wait = 10; wait < 600; wait *= 2) {
		rig_tick(&rig, (wait - 1) * SECOND);
		cr_assert_not(strstr(rig_take(&rig), "UpdateOperationStatus"));
		rig_tick(&rig, SECOND);
		rig_expect(&rig, "send master UpdateOperationStatusMessage op1 FINISHED\n");
		cr_assert_eq(agent_next_timeout(rig.agent) > rig.now, true);
		if (wait == 40)
			break; /* a ping would be due */
	}
	acknowledge(1, rig_uuid(&rig, 99));
	acknowledge(2, status_uuid);
	rig_tick(&rig, 30 * SECOND);
	acknowledge(1, status_uuid);
	rig_take(&rig);
	rig_tick(&rig, HOUR);
	cr_assert_not(strstr(rig_take(&rig), "UpdateOperationStatus"));
}

Test(agent_operations, known_ones_are_not_applied_again)
{
	apply(1, json(RESERVE(64, "r")));
	rig_expect(&rig, "send master UpdateOperationStatusMessage op1 FINISHED\n");
	apply(1, json(RESERVE(64, "r")));
	rig_expect(&rig, "send master UpdateOperationStatusMessage op1 FINISHED\n");
	acknowledge(1, status_uuid);
	apply(1, json(RESERVE(64, "r")));
	rig_expect(&rig, "");
	expect_state(RESERVED_64);
}

Test(agent_operations, of_an_older_version_are_dropped)
{
	uint8_t before[UUID_BYTES];

	memcpy(before, version, UUID_BYTES);
	restart();
	rig_reregister(&rig);
	rig_take(&rig);
	cr_assert(memcmp(before, version, UUID_BYTES) != 0);
	apply_with(1, json(RESERVE(64, "r")), before);
	rig_expect(&rig, "send master UpdateOperationStatusMessage op1 DROPPED \"Operation assumes "
			 "outdated resource state\"\n");
	expect_state("\"reserved_resources\":{},");
}

Test(agent_operations, that_do_not_fit_change_nothing_and_are_cleared_up)
{
	apply(1, json(RESERVE(5000, "r")));
	cr_assert(strstr(rig_take(&rig), "UpdateOperationStatusMessage op1 ERROR"));
	expect_state("\"reserved_resources\":{},");
	rig_reregister(&rig);
	apply(2, json(CREATE(64, "r", "v1", "data")));
	cr_assert(strstr(rig_take(&rig), "ERROR"));
}

Test(agent_operations, without_their_part_are_errors)
{
	static const char *const broken[] = {
		"{'type':'RESERVE'}",
		"{'type':'CREATE'}",
		"{'type':'DESTROY'}",
		"{'type':'UNRESERVE','unreserve':{'resources':[" DISK(1, "'role':'*'") "]}}",
		"{'type':'GROW_VOLUME'}",
		"{'type':'SHRINK_VOLUME'}",
		"{'type':'LAUNCH'}",
		"{'type':'LAUNCH_GROUP'}",
		"{'type':'CREATE_DISK'}",
		"{'type':'DESTROY_DISK'}",
		"{'type':'RESERVE','reserve':{'resources':[" DISK(-1, RESERVED("r")) "]}}",
	};

	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		apply((int)i + 1, json(broken[i]));
		cr_assert(strstr(rig_take(&rig), " ERROR "), "%s", broken[i]);
		rig_reregister(&rig);
		rig_take(&rig);
	}
	expect_state("\"reserved_resources\":{},");
}

Test(agent_operations, after_an_error_the_master_is_told_what_is_there)
{
	uint8_t before[UUID_BYTES];

	memcpy(before, version, UUID_BYTES);
	apply(1, json(RESERVE(5000, "r")));
	cr_assert(strstr(rig_take(&rig), "redetect\n"));
	rig_reregister(&rig);
	cr_assert(strstr(rig_take(&rig), "send master UpdateSlaveMessage op1 ERROR\n"
					 "send master UpdateOperationStatusMessage op1 ERROR"));
	cr_assert(memcmp(before, version, UUID_BYTES) != 0);
}

Test(agent_operations, are_dropped_from_strangers_and_without_uuid)
{
	Mesos__Internal__ApplyOperationMessage *message =
		rig_new(&rig, Mesos__Internal__ApplyOperationMessage,
			mesos__internal__apply_operation_message__descriptor);

	message->operation_info =
		from_json(&mesos__offer__operation__descriptor, json(RESERVE(64, "r")));
	message->operation_uuid = uuid_of((ProtobufCBinaryData){3, (uint8_t *)"abc"});
	message->resource_version_uuid =
		rig_new(&rig, Mesos__Internal__ResourceVersionUUID,
			mesos__internal__resource_version_uuid__descriptor);
	message->resource_version_uuid->uuid = uuid_of((ProtobufCBinaryData){UUID_BYTES, version});
	rig_message(&rig, RIG_MASTER, message);
	message->operation_uuid = uuid_of(rig_uuid(&rig, 1));
	rig_message(&rig, "master@10.0.0.9:5050", message);
	rig_expect(&rig, "");
}

Test(agent_operations, reconciliation)
{
	rig.manual_volumes = true;
	apply(1, json(RESERVE(64, "r")));
	rig_take(&rig);
	reconcile(1, NULL);
	rig_expect(&rig, "");
	reconcile(2, NULL);
	rig_expect(&rig, "send master UpdateOperationStatusMessage op2 DROPPED unreliable\n");
	reconcile(1, RIG_FRAMEWORK);
	rig_expect(&rig, "send master UpdateOperationStatusMessage op1 FINISHED unreliable\n");
	reconcile(2, RIG_FRAMEWORK);
	rig_expect(&rig, "send master UpdateOperationStatusMessage op2 UNKNOWN unreliable "
			 "\"Reconciliation: Operation is unknown\"\n");
}

/* ---- volumes --------------------------------------------------------------- */

Test(agent_operations, volumes_are_made_before_they_are_there)
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

Test(agent_operations, volumes_that_cannot_be_made_fail)
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

Test(agent_operations, hostile_names_make_no_directories)
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

Test(agent_operations, volume_ids_are_unique)
{
	reserve_and_create();
	apply(3, json(RESERVE(32, "r")));
	rig_take(&rig);
	apply(4, json(CREATE(32, "r", "v1", "other")));
	cr_assert(strstr(rig_take(&rig), "ERROR \"Persistence ID 'v1' is not unique\""));
}

Test(agent_operations, destroyed_volumes_lose_their_data_once_that_is_stored)
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

Test(agent_operations, removal_goes_on_after_a_crash)
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

Test(agent_operations, resizing_touches_no_directory)
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

/* ---- restarts -------------------------------------------------------------- */

Test(agent_operations, what_they_made_is_there_after_a_crash)
{
	reserve_and_create();
	restart();
	rig_reregister(&rig);
	rig_expect(&rig, "link " RIG_MASTER "\nsend master ReregisterSlaveMessage\n"
			 "send master UpdateSlaveMessage\n");
	cr_assert_str_eq(checkpointed(), "disk(reservations: [(DYNAMIC,r)])[v1:data]:64");
	cr_assert_eq(registration->agent->n_resources, 3);
	expect_state(RESERVED_64);
}

Test(agent_operations, unacknowledged_status_is_sent_after_a_crash)
{
	ProtobufCBinaryData before;

	apply(1, json(RESERVE(64, "r")));
	before = status_uuid;
	restart();
	rig_reregister(&rig);
	cr_assert(strstr(rig_take(&rig),
			 "send master UpdateSlaveMessage op1 FINISHED\n"
			 "send master UpdateOperationStatusMessage op1 FINISHED\n"));
	cr_assert_eq(memcmp(before.data, status_uuid.data, UUID_BYTES), 0);
	acknowledge(1, status_uuid);
	restart();
	rig_reregister(&rig);
	cr_assert(strstr(rig_take(&rig), "send master UpdateSlaveMessage\n"));
}

Test(agent_operations, what_was_not_stored_never_was)
{
	rig.manual_store = true;
	apply(1, json(RESERVE(64, "r")));
	restart();
	rig_reregister(&rig);
	cr_assert(strstr(rig_take(&rig), "send master UpdateSlaveMessage\n"));
	cr_assert_str_eq(checkpointed(), "{}");
}

Test(agent_operations, smaller_resources_cannot_hold_them)
{
	struct err err = {""};

	reserve_and_create();
	rig_kill_agent(&rig);
	resources_free(&rig.total);
	rig.total = RESOURCES_INIT;
	resources_parse(rig.options.shapes, "cpus:4;mem:4096;disk:32", "*", &rig.total, &err);
	cr_assert_eq(rig_try_start(&rig, false, &err), ERR_STATE);
	cr_assert_str_eq(
		err.text,
		"Checkpointed resources disk(reservations: [(DYNAMIC,r)])[v1:data]:64 are "
		"incompatible with agent resources cpus:4; mem:4096; disk:32: Incompatible "
		"agent resources: cpus:4; mem:4096; disk:32 does not contain disk:64");
}

Test(agent_operations, reservations_outlive_the_agents_id)
{
	reserve_and_create();
	rig_kill_agent(&rig);
	rig.options.start_new = true;
	rig_start(&rig);
	rig_detect(&rig, RIG_MASTER);
	rig_next(&rig);
	cr_assert(strstr(rig_take(&rig), "send master RegisterSlaveMessage\n"));
	cr_assert_str_eq(checkpointed(), "disk(reservations: [(DYNAMIC,r)])[v1:data]:64");
}

Test(agent_operations, older_masters_send_the_whole_list)
{
	Mesos__Internal__CheckpointResourcesMessage *message =
		from_json(&mesos__internal__checkpoint_resources_message__descriptor,
			  json("{'resources':[{'name':'disk','type':'SCALAR','scalar':{'value':64},"
			       "'role':'r',"
			       "'reservation':{},'disk':{'persistence':{'id':'v1'},'volume':{"
			       "'container_path':'data','mode':'RW'}}}]}"));

	rig_message(&rig, RIG_MASTER, message);
	rig_expect(&rig, "make /w/volumes/roles/r/v1\n");
	restart();
	rig_reregister(&rig);
	rig_take(&rig);
	cr_assert_str_eq(checkpointed(), "disk(reservations: [(DYNAMIC,r)])[v1:data]:64");
	rig_message(&rig, RIG_MASTER,
		    from_json(&mesos__internal__checkpoint_resources_message__descriptor, "{}"));
	rig_expect(&rig, "remove /w/volumes/roles/r/v1\n");
}

/* Which of the operations 1 to 4 the text says are in a state. */
static unsigned in_state(const char *text, const char *message, const char *state)
{
	unsigned found = 0;

	for (unsigned i = 1; i <= 4; i++) {
		const char *line = strstr(text, message);
		const char *end = line ? strchr(line, '\n') : NULL;
		char *part = arena_printf(&rig.arena, "op%u %s", i, state);

		for (; line && end;
		     line = strstr(end, message), end = line ? strchr(line, '\n') : end)
			if (memmem(line, (size_t)(end - line) + 1, part, strlen(part)))
				found |= 1u << i;
	}
	return found;
}

/* After any write: what was told finished is so, and is told again. */
Test(agent_operations, a_crash_at_any_write_takes_nothing_back)
{
	static const char *const results[] = {
		"{}",
		"disk(reservations: [(DYNAMIC,r)]):64",
		"disk(reservations: [(DYNAMIC,r)])[v1:data]:64",
		"disk(reservations: [(DYNAMIC,r)]):64",
		"{}",
	};
	unsigned seen = 0;

	for (uint64_t cut = 0; cut <= 8; cut++) {
		const char *told;
		unsigned finished, last = 0;

		stop();
		start();
		rig.manual_store = true;
		apply(1, json(RESERVE(64, "r")));
		apply(2, json(CREATE(64, "r", "v1", "data")));
		apply(3, json(DESTROY(64, "r", "v1", "data")));
		apply(4, json("{'type':'UNRESERVE','unreserve':{'resources':[" DISK(
				 64, RESERVED("r") "," ALLOCATED("r")) "]}}"));
		rig_stored(&rig, 1 + cut); /* the first is the registration's */
		rig_stored(&rig, 1 + cut);
		finished = in_state(rig_take(&rig), "UpdateOperationStatusMessage", "FINISHED");
		restart();
		rig_stored(&rig, UINT64_MAX);
		rig_reregister(&rig);
		rig_stored(&rig, UINT64_MAX);
		told = rig_take(&rig);
		cr_assert_eq(finished & ~in_state(told, "UpdateOperationStatusMessage", "FINISHED"),
			     0, "%d: %x: %s", (int)cut, finished, told);
		for (unsigned i = 1; i <= 4; i++) {
			if (in_state(told, "UpdateSlaveMessage", "") & 1u << i)
				last = i;
		}
		cr_assert_str_eq(checkpointed(), results[last], "%d: %u: %s", (int)cut, last, told);
		seen |= 1u << last;
	}
	cr_assert_eq(seen, 0x1f, "%x", seen);
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

Test(agent_operations, tasks_get_their_volumes)
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

Test(agent_operations, tasks_with_unknown_volumes_are_dropped)
{
	reserve_and_create();
	rig_run_task(&rig, task_with("t", NULL, VOLUME(64, "r", "v2", "data")), -1);
	rig_expect(&rig, "send master StatusUpdateMessage t LOST RESOURCES_UNKNOWN \"The "
			 "checkpointed resources being used by the task or task group are unknown "
			 "to the agent\"\n");
}

Test(agent_operations, later_tasks_wait_for_their_volumes)
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

Test(agent_operations, executors_whose_volumes_fail_are_ended)
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

Test(agent_operations, container_paths_with_slashes_get_no_link)
{
	reserve_and_create();
	rig_run_task(&rig, task_with("t", NULL, VOLUME(64, "r", "v1", "/etc/x")), 1);
	rig_expect(&rig, "launch t\n");
	rig_run_task(&rig, task_with("u", NULL, VOLUME(64, "r", "v1", "../../x")), 1);
	rig_expect(&rig, "launch u\n");
}

Test(agent_operations, tasks_keep_their_volumes_over_a_crash)
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
Test(agent_operations, a_volume_in_the_place_of_an_old_one_waits)
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
			 "volumes of e +" V1_LINK "\n"
			 "launch u " V1_LINK "\n"
			 "send master UpdateOperationStatusMessage op3 FINISHED\n");
}

Test(agent_operations, tasks_for_an_older_version_are_dropped)
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

TestSuite(agent_operations_disks, .init = start_disks, .fini = stop);

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

Test(agent_operations_disks, volumes_are_where_the_disk_is)
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

/* ---- draining ---------------------------------------------------------------- */

static void drain(const char *config)
{
	rig_message(&rig, RIG_MASTER,
		    from_json(&mesos__internal__drain_slave_message__descriptor,
			      json(arena_printf(&rig.arena, "{'config':%s}", config))));
}

Test(agent_operations, draining_waits_for_operations)
{
	drain("{'mark_gone':false}");
	cr_assert_not(strstr(state(), "drain_config"));
	apply(1, json(RESERVE(64, "r")));
	rig_take(&rig);
	drain("{'mark_gone':false}");
	expect_state("\"drain_config\":{\"mark_gone\":false},"
		     "\"estimated_drain_start_time_seconds\":");
	acknowledge(1, status_uuid);
	cr_assert_not(strstr(state(), "drain_config"));
}
