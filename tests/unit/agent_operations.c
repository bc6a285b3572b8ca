/* Operations on resources: what they change, when their status goes out, and what is left
 * of them after a crash. */
#include "agent_orders.h"

#include <stdlib.h>

TestSuite(agent_operations, .init = start, .fini = stop);

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

/* The next master has not kept us waiting. */
Test(agent_operations, repeat_their_status_soon_after_a_registration)
{
	apply(1, json(RESERVE(64, "r")));
	rig_tick(&rig, 10 * SECOND);
	rig_tick(&rig, 20 * SECOND);
	rig_reregister(&rig);
	cr_assert(strstr(rig_take(&rig), "UpdateOperationStatusMessage op1 FINISHED"));
	rig_tick(&rig, 10 * SECOND - 1);
	cr_assert_not(strstr(rig_take(&rig), "UpdateOperationStatus"));
	rig_tick(&rig, 1);
	cr_assert(strstr(rig_take(&rig), "UpdateOperationStatusMessage op1 FINISHED"));
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

/* A master that was killed may have ordered it: its successor hears of it as of all others that it
 * does not know, or could not acknowledge it. */
Test(agent_operations, of_a_former_master_are_reported)
{
	uint8_t before[UUID_BYTES];
	const char *sent;
	char *named;

	memcpy(before, version, UUID_BYTES);
	restart();
	rig_reregister(&rig);
	rig_take(&rig);
	named = xprintf("{\"id\":{\"value\":\"n\"},%s", json(RESERVE(64, "r")) + 1);
	apply_with(1, named, before);
	free(named);
	sent = rig_take(&rig);
	cr_expect(strstr(sent, "UpdateOperationStatusMessage op1 DROPPED"), "%s", sent);
	cr_expect(strstr(sent, "UpdateSlaveMessage"), "%s", sent);
	cr_expect(strstr(sent, "op1"), "%s", sent);
}

/* They were on their way when the agent told what it has: the master does not count on them. */
Test(agent_operations, of_an_older_registration_are_dropped)
{
	uint8_t before[UUID_BYTES];

	memcpy(before, version, UUID_BYTES);
	rig_detect(&rig, RIG_MASTER);
	rig_next(&rig);
	rig_take(&rig);
	apply_with(1, json(RESERVE(64, "r")), before);
	rig_reregister(&rig);
	cr_assert(strstr(rig_take(&rig), "UpdateSlaveMessage op1 DROPPED"));
	cr_assert(memcmp(before, version, UUID_BYTES) != 0);
	expect_state("\"reserved_resources\":{},");
}

/* The master may have heard the first time, and may have ordered something. */
Test(agent_operations, between_tries_to_register_are_carried_out)
{
	uint8_t before[UUID_BYTES];

	rig_detect(&rig, RIG_MASTER);
	rig_next(&rig);
	rig_take(&rig);
	memcpy(before, version, UUID_BYTES);
	apply(1, json(RESERVE(64, "r")));
	rig_next(&rig);
	rig_take(&rig);
	cr_assert(memcmp(before, version, UUID_BYTES) == 0);
	expect_state(RESERVED_64);
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

/* The master leaves these to the agent, and has the operation's id alone. */
Test(agent_operations, reconciliation_of_resource_providers)
{
	Mesos__Internal__ReconcileOperationsMessage *message = from_json(
		&mesos__internal__reconcile_operations_message__descriptor,
		json("{'framework_id':{'value':'" RIG_FRAMEWORK "'},"
		     "'operations':[{'operation_id':{'value':'o'}},"
		     "{'operation_id':{'value':'o'},'resource_provider_id':{'value':'p'}}]}"));

	rig_message(&rig, RIG_MASTER, message);
	rig_expect(&rig, "send master UpdateOperationStatusMessage op0 UNKNOWN unreliable\n");
}

/* By its own id, which another framework may have given, too. */
Test(agent_operations, reconciliation_by_the_schedulers_id)
{
	static const struct {
		const char *framework, *id, *answer;
	} rows[] = {
		{RIG_FRAMEWORK, "o1",
		 "send master UpdateOperationStatusMessage op1 FINISHED unreliable\n"},
		{RIG_FRAMEWORK, "o2",
		 "send master UpdateOperationStatusMessage op2 FINISHED unreliable\n"},
		{RIG_FRAMEWORK, "o3", ""},
		{"G", "o1", ""},
	};

	apply(3, json(RESERVE(64, "r")));
	for (int i = 1; i <= 2; i++)
		apply(i, json(arena_printf(&rig.arena, "{'id':{'value':'o%d'},%s", i,
					   RESERVE(64, "r") + 1)));
	rig_take(&rig);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		rig_message(
			&rig, RIG_MASTER,
			from_json(&mesos__internal__reconcile_operations_message__descriptor,
				  json(arena_printf(&rig.arena,
						    "{'framework_id':{'value':'%s'},'operations':"
						    "[{'operation_id':{'value':'%s'}}]}",
						    rows[i].framework, rows[i].id))));
		rig_expect(&rig, rows[i].answer);
	}
}

Test(agent_operations, those_that_are_not_over_are_shown)
{
	Mesos__Agent__Response__GetOperations get = MESOS__AGENT__RESPONSE__GET_OPERATIONS__INIT;

	agent_show_operations(rig.agent, &rig.arena, &get);
	cr_assert_eq(get.n_operations, 0);
	apply(1, json(RESERVE(64, "r")));
	apply(2, json(RESERVE(64, "s")));
	agent_show_operations(rig.agent, &rig.arena, &get);
	cr_assert_eq(get.n_operations, 2);
	cr_assert_eq(get.operations[0]->info->type, MESOS__OFFER__OPERATION__TYPE__RESERVE);
}

Test(agent_operations, on_resources_of_a_provider_are_refused)
{
	apply(1, json("{'type':'RESERVE','reserve':{'resources':[{'name':'disk','type':'SCALAR',"
		      "'scalar':{'value':1},'provider_id':{'value':'p'},'reservations':["
		      "{'type':'DYNAMIC','role':'r'}]}]}}"));
	cr_assert(strstr(rig_take(&rig), "op1 ERROR \"Resource providers are not supported\""));
}

/* ---- restarts -------------------------------------------------------------- */

Test(agent_operations, what_they_made_is_there_after_a_crash)
{
	reserve_and_create();
	restart();
	rig_reregister(&rig);
	rig_expect(&rig, "make /w/volumes/roles/r/v1\nlink " RIG_MASTER
			 "\nsend master ReregisterSlaveMessage\n"
			 "send master UpdateSlaveMessage\n");
	cr_assert_str_eq(checkpointed(), "disk(reservations: [(DYNAMIC,r)])[v1:data]:64");
	cr_assert_eq(registration->agent->n_resources, 3);
	expect_state(RESERVED_64);
}

/* The master did not notice the crash, and sends operations before it hears of the new life. */
Test(agent_operations, registration_does_not_tell_what_a_crash_would_undo)
{
	reserve_and_create();
	restart();
	rig_detect(&rig, RIG_MASTER);
	rig_tick(&rig, 2 * SECOND);
	cr_assert(strstr(rig_take(&rig), "send master ReregisterSlaveMessage"));
	rig.manual_store = true;
	apply(3, json(RESERVE(32, "r")));
	rig_tick(&rig, 10 * SECOND);
	rig_expect(&rig, "");
	rig_stored(&rig, UINT64_MAX);
	cr_assert(strstr(rig_take(&rig), "send master ReregisterSlaveMessage"));
	cr_assert(strstr(checkpointed(), "; disk(reservations: [(DYNAMIC,r)]):32"), "%s",
		  checkpointed());
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
