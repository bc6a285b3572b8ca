/* Update streams and the executor API around them. */
#include "agent/core/objects.h"
#include "agent_harness.h"
#include "auth/jwt.h"

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

TestSuite(agent_updates, .init = start, .fini = stop);

#define SENT "send master StatusUpdateMessage t RUNNING u1\n"

static void running(void)
{
	rig_running(&rig, "t", "e", 1);
	rig_update(&rig, "e", "t", STATE(RUNNING), 1);
	rig_take(&rig);
}

Test(agent_updates, retries_double_up_to_ten_minutes)
{
	static const int64_t waits[] = {10, 20, 40, 80, 160, 320, 600, 600};
	Mesos__Internal__PingSlaveMessage *ping =
		rig_new(&rig, Mesos__Internal__PingSlaveMessage,
			mesos__internal__ping_slave_message__descriptor);

	ping->connected = 1;
	running();
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		int64_t left = waits[i] * SECOND - 1;

		for (int64_t part; left > 0; left -= part) {
			part = left < MINUTE ? left : MINUTE;
			rig_tick(&rig, part);
			rig_message(&rig, "o@10.0.0.1:5050", ping);
			cr_assert_not(strstr(rig_take(&rig), "StatusUpdate"));
		}
		rig_tick(&rig, 1);
		rig_expect(&rig, SENT);
	}
	rig_ack(&rig, "t", 1);
	rig_update(&rig, "e", "t", STATE(KILLING), 2);
	rig_take(&rig);
	rig_tick(&rig, 10 * SECOND);
	rig_expect(&rig, "send master StatusUpdateMessage t KILLING u2\n");
}

/* How often the agent's state has the text. */
static size_t count_in_state(const char *text)
{
	struct buf json = BUF_INIT;
	struct json_writer w;
	size_t count = 0;

	jw_init(&w, &json);
	agent_write_state(&(struct agent_view){.agent = rig.agent}, &w);
	for (const char *at = json.data; (at = strstr(at, text)); at++)
		count++;
	buf_free(&json);
	return count;
}

Test(agent_updates, states_to_and_fro_are_not_remembered_for_ever)
{
	const Mesos__TaskState states[] = {STATE(STARTING), STATE(RUNNING)};

	running();
	rig_ack(&rig, "t", 1);
	for (int i = 2; i < 500; i++) {
		rig_update(&rig, "e", "t", states[i % 2], i);
		rig_ack(&rig, "t", i);
	}
	cr_expect_eq(count_in_state("{\"state\":\"TASK_STARTING\""), 50);
	rig_update(&rig, "e", "t", STATE(FINISHED), 500);
	cr_expect_eq(count_in_state("{\"state\":\"TASK_FINISHED\""), 1);
}

Test(agent_updates, only_the_heads_uuid_acknowledges)
{
	running();
	rig_update(&rig, "e", "t", STATE(FINISHED), 2);
	rig_take(&rig);
	rig_ack(&rig, "t", 2);
	rig_ack(&rig, "t", 9);
	rig_ack(&rig, "other", 1);
	rig_ack_bytes(&rig, "t", (ProtobufCBinaryData){3, (uint8_t *)"abc"});
	rig_expect(&rig, "");
	rig_ack(&rig, "t", 1);
	rig_expect(&rig, "send master StatusUpdateMessage t FINISHED u2\n");
	rig_ack(&rig, "t", 1);
	rig_expect(&rig, "");
	rig_ack(&rig, "t", 2);
	rig_ack(&rig, "t", 2);
	rig_expect(&rig, "");
}

/* Killed before an acknowledgement is written it sends that update again, and nothing may have
 * left that came after it. */
Test(agent_updates, the_next_waits_until_an_acknowledgement_is_stored)
{
	rig.checkpoint = true;
	running();
	rig_update(&rig, "e", "t", STATE(FINISHED), 2);
	rig_take(&rig);
	rig.manual_store = true;
	rig_ack(&rig, "t", 1);
	rig_expect(&rig, "");
	rig_tick(&rig, 30 * SECOND);
	cr_expect_not(strstr(rig_take(&rig), "StatusUpdate"));
	rig_stored(&rig, UINT64_MAX);
	rig_expect(&rig, "send master StatusUpdateMessage t FINISHED u2\n");
}

Test(agent_updates, a_uuid_counts_once)
{
	running();
	rig_update(&rig, "e", "t", STATE(RUNNING), 1);
	rig_expect(&rig, "event 1 ACKNOWLEDGED t u1\nreply 202\n");
	rig_ack(&rig, "t", 1);
	rig_update(&rig, "e", "t", STATE(RUNNING), 1);
	rig_expect(&rig, "event 1 ACKNOWLEDGED t u1\nreply 202\n");
	for (int i = 2; i <= 4; i++) {
		rig_update(&rig, "e", "t", i % 2 ? STATE(RUNNING) : STATE(STARTING), i);
		rig_ack(&rig, "t", i < 4 ? i : 0);
	}
	rig_take(&rig);
	/* Three that were acknowledged, and one that waits for it, and then is, too. */
	for (int acked = 0; acked < 2; acked++) {
		for (int i = 1; i <= 4; i++) {
			rig_update(&rig, "e", "t", STATE(RUNNING), i);
			cr_expect_not(strstr(rig_take(&rig), "send"), "update %d", i);
		}
		rig_ack(&rig, "t", 4);
		rig_expect(&rig, "");
	}
}

/* ---- too many --------------------------------------------------------------- */

#define TOO_MANY(task)                                                                             \
	"reply 503 Too many updates of task '" task                                                \
	"' wait for their acknowledgement by framework F\n"

static void send_many(const char *task, int from, int to)
{
	for (int i = from; i < to; i++)
		rig_update(&rig, "e", task, STATE(RUNNING), i);
	rig_take(&rig);
}

Test(agent_updates, that_nobody_acknowledges_are_refused_in_the_end)
{
	running();
	rig_run(&rig, "u", "e", 0);
	send_many("t", 2, 10000);
	rig_update(&rig, "e", "t", STATE(RUNNING), 10000);
	rig_expect(&rig, "event 1 ACKNOWLEDGED t u10000\nreply 202\n");
	rig_update(&rig, "e", "t", STATE(RUNNING), 10001);
	rig_expect(&rig, TOO_MANY("t"));
	/* One that it has; another task; the end. */
	rig_update(&rig, "e", "t", STATE(RUNNING), 77);
	rig_expect(&rig, "event 1 ACKNOWLEDGED t u77\nreply 202\n");
	rig_update(&rig, "e", "u", STATE(RUNNING), 20000);
	rig_expect(&rig, "send master StatusUpdateMessage u RUNNING u20000\n"
			 "event 1 ACKNOWLEDGED u u20000\nreply 202\n");
	rig_update(&rig, "e", "t", STATE(FINISHED), 10001);
	rig_expect(&rig, "event 1 ACKNOWLEDGED t u10001\nreply 202\n");
}

Test(agent_updates, are_taken_again_when_some_were_acknowledged)
{
	running();
	send_many("t", 2, 10001);
	rig_update(&rig, "e", "t", STATE(RUNNING), 10001);
	rig_expect(&rig, TOO_MANY("t"));
	rig_ack(&rig, "t", 1);
	rig_take(&rig);
	rig_update(&rig, "e", "t", STATE(RUNNING), 10001);
	rig_expect(&rig, "event 1 ACKNOWLEDGED t u10001\nreply 202\n");
}

Test(agent_updates, big_ones_are_fewer)
{
	Mesos__Executor__Call *call;
	char *data = xcalloc(32, 1 << 20);

	running();
	for (int i = 2; i <= 4; i++) {
		call = rig_call(&rig, "e", MESOS__EXECUTOR__CALL__TYPE__UPDATE);
		call->update = rig_new(&rig, Mesos__Executor__Call__Update,
				       mesos__executor__call__update__descriptor);
		call->update->status = rig_status(&rig, "t", STATE(RUNNING), i);
		call->update->status->has_data = 1;
		call->update->status->data = (ProtobufCBinaryData){32 << 20, (uint8_t *)data};
		rig_executor_call(&rig, call, 0);
	}
	rig_expect(&rig, "event 1 ACKNOWLEDGED t u2\nreply 202\n"
			 "event 1 ACKNOWLEDGED t u3\nreply 202\n" TOO_MANY("t"));
	free(data);
}

/* An executor may make up as many ids as it likes. */
Test(agent_updates, of_unknown_tasks_share_one_limit)
{
	running();
	for (int i = 0; i < 10000; i++) {
		rig_update(&rig, "e", arena_printf(&rig.arena, "made-up-%d", i), STATE(FINISHED),
			   i + 2);
		rig_take(&rig);
	}
	rig_update(&rig, "e", "another", STATE(FINISHED), 20000);
	rig_expect(&rig, TOO_MANY("another"));
	rig_update(&rig, "e", "t", STATE(RUNNING), 20001);
	rig_expect(&rig, "event 1 ACKNOWLEDGED t u20001\nreply 202\n");
	rig_ack(&rig, "made-up-5", 7);
	rig_update(&rig, "e", "another", STATE(FINISHED), 20000);
	rig_expect(&rig, "send master StatusUpdateMessage another FINISHED u20000\n"
			 "event 1 ACKNOWLEDGED another u20000\nreply 202\n");
}

/* ---- once --------------------------------------------------------------------- */

Test(agent_updates, a_second_terminal_update_goes_no_further)
{
	running();
	rig_update(&rig, "e", "t", STATE(FINISHED), 2);
	rig_take(&rig);
	rig_update(&rig, "e", "t", STATE(FAILED), 3);
	rig_expect(&rig, "event 1 ACKNOWLEDGED t u3\nreply 202\n");
	rig_ack(&rig, "t", 1);
	rig_ack(&rig, "t", 2);
	rig_expect(&rig, "send master StatusUpdateMessage t FINISHED u2\n");
	rig_tick(&rig, 30 * SECOND);
	rig_expect(&rig, "");
}

/* It goes no further whether the first end was acknowledged before or not. */
Test(agent_updates, nor_after_the_first_was_acknowledged)
{
	running();
	rig_update(&rig, "e", "t", STATE(FINISHED), 2);
	rig_ack(&rig, "t", 1);
	rig_ack(&rig, "t", 2);
	rig_take(&rig);
	rig_update(&rig, "e", "t", STATE(FAILED), 3);
	rig_expect(&rig, "event 1 ACKNOWLEDGED t u3\nreply 202\n");
	/* Of a task that it never had it does. */
	rig_update(&rig, "e", "made-up", STATE(FAILED), 4);
	rig_expect(&rig, "send master StatusUpdateMessage made-up FAILED u4\n"
			 "event 1 ACKNOWLEDGED made-up u4\nreply 202\n");
}

Test(agent_updates, many_acknowledged_ones_are_forgotten_in_order)
{
	rig.checkpoint = true;
	running();
	rig_ack(&rig, "t", 1);
	for (int i = 2; i <= 300; i++) {
		rig_update(&rig, "e", "t", i % 2 ? STATE(RUNNING) : STATE(STARTING), i);
		rig_ack(&rig, "t", i);
	}
	cr_assert_lt(rig.pair_count, 150);
	rig_take(&rig);
	for (int i = 300 - UPDATE_REMEMBERED + 1; i <= 300; i++) {
		rig_update(&rig, "e", "t", STATE(RUNNING), i);
		cr_expect_not(strstr(rig_take(&rig), "send"), "update %d", i);
	}
	rig_update(&rig, "e", "t", STATE(RUNNING), 300 - UPDATE_REMEMBERED);
	cr_expect(strstr(rig_take(&rig), "send"));
	rig_ack(&rig, "t", 300 - UPDATE_REMEMBERED);
	rig_take(&rig);
	rig_update(&rig, "e", "t", STATE(FINISHED), 301);
	rig_ack(&rig, "t", 301);
	for (size_t i = 0; i < rig.pair_count; i++)
		cr_assert_not(str_has_prefix(rig.pairs[i].key, "update/"), "%s", rig.pairs[i].key);
}

Test(agent_updates, heads_go_again_when_the_scheduler_or_the_master_comes_back)
{
	Mesos__Internal__UpdateFrameworkMessage *message =
		rig_new(&rig, Mesos__Internal__UpdateFrameworkMessage,
			mesos__internal__update_framework_message__descriptor);

	running();
	rig_tick(&rig, 9 * SECOND);
	message->framework_id =
		rig_call(&rig, "e", MESOS__EXECUTOR__CALL__TYPE__SUBSCRIBE)->framework_id;
	rig_message(&rig, RIG_MASTER, message);
	rig_expect(&rig, SENT);
	rig_tick(&rig, 9 * SECOND);
	rig_expect(&rig, "");
	rig_detect(&rig, RIG_MASTER);
	rig_ack(&rig, "t", 1);
	rig_reregister(&rig);
	cr_assert(strstr(rig_take(&rig), SENT));
}

Test(agent_updates, nothing_goes_out_while_disconnected)
{
	rig_running(&rig, "t", "e", 1);
	rig_detect(&rig, NULL);
	rig_take(&rig);
	rig_update(&rig, "e", "t", STATE(RUNNING), 1);
	rig_expect(&rig, "event 1 ACKNOWLEDGED t u1\nreply 202\n");
	rig_tick(&rig, HOUR);
	rig_expect(&rig, "event 1 HEARTBEAT\nevent 1 HEARTBEAT\n");
}

static Mesos__TaskStatus *last_status;

static void keep_status(struct rig *r, const struct agent_action *action)
{
	Mesos__Internal__StatusUpdateMessage *message;

	if (action->type != AGENT_SEND_MESSAGE ||
	    action->send_message.message->descriptor !=
		    &mesos__internal__status_update_message__descriptor)
		return;
	message = (void *)action->send_message.message;
	last_status = proto_copy_to(&r->arena, message->update->status);
}

/* A master that still counts it must learn of the end, though an update before it waits. */
Test(agent_updates, whose_task_is_gone_tell_the_last_state)
{
	rig_running(&rig, "t", "e", 1);
	rig_update(&rig, "e", "made-up", STATE(RUNNING), 1);
	rig_update(&rig, "e", "made-up", STATE(FAILED), 2);
	rig_take(&rig);
	rig_tick(&rig, 10 * SECOND);
	rig_expect(&rig, "send master StatusUpdateMessage made-up RUNNING u1 latest FAILED\n");
}

Test(agent_updates, statuses_are_completed)
{
	rig_running(&rig, "t", "e", 1);
	rig.watch = keep_status;
	rig_update(&rig, "e", "t", STATE(RUNNING), 1);
	cr_assert_str_eq(last_status->agent_id->value, RIG_AGENT);
	cr_assert_str_eq(last_status->executor_id->value, "e");
	cr_assert_eq(last_status->source, MESOS__TASK_STATUS__SOURCE__SOURCE_EXECUTOR);
	cr_assert_eq(rig_uuid_number(last_status->uuid), 1);
	cr_assert_float_eq(last_status->timestamp, clock_seconds(rig.now), 1e-6);
	cr_assert(last_status->has_timestamp);
	cr_assert_str_eq(last_status->container_status->container_id->value,
			 rig_container(&rig, "e"));
	cr_assert_eq(last_status->container_status->executor_pid, 42);
	cr_assert_str_eq(
		last_status->container_status->network_infos[0]->ip_addresses[0]->ip_address,
		"10.0.0.2");
}

Test(agent_updates, the_agent_knows_better_which_process_its_container_has)
{
	Mesos__Executor__Call *call;
	Mesos__TaskStatus *status;

	rig_running(&rig, "t", "e", 1);
	rig.watch = keep_status;
	status = rig_status(&rig, "t", STATE(RUNNING), 1);
	status->container_status =
		rig_new(&rig, Mesos__ContainerStatus, mesos__container_status__descriptor);
	status->container_status->has_executor_pid = 1;
	status->container_status->executor_pid = 1;
	call = rig_call(&rig, "e", MESOS__EXECUTOR__CALL__TYPE__UPDATE);
	call->update = rig_new(&rig, Mesos__Executor__Call__Update,
			       mesos__executor__call__update__descriptor);
	call->update->status = status;
	rig_executor_call(&rig, call, 0);
	cr_assert_eq(last_status->container_status->executor_pid, 42);
}

Test(agent_updates, made_here_they_have_a_uuid_and_the_agent_as_source)
{
	rig_run(&rig, "q", "e", 1);
	rig.watch = keep_status;
	rig_kill(&rig, "q");
	cr_assert_eq(last_status->source, MESOS__TASK_STATUS__SOURCE__SOURCE_AGENT);
	cr_assert(uuid_valid(last_status->uuid.data, last_status->uuid.len));
	cr_assert_str_eq(last_status->executor_id->value, "e");
	cr_assert_null(last_status->container_status);
	rig_ack_bytes(&rig, "q", last_status->uuid);
	rig_take(&rig);
	rig_tick(&rig, 30 * SECOND);
	rig_expect(&rig, "");
}

/* ---- the API's refusals (2.2) -------------------------------------------- */

#define INVALID "reply 400 Failed to validate Executor::Call: "

static Mesos__Executor__Call *update_call(void)
{
	Mesos__Executor__Call *call = rig_call(&rig, "e", MESOS__EXECUTOR__CALL__TYPE__UPDATE);

	call->update = rig_new(&rig, Mesos__Executor__Call__Update,
			       mesos__executor__call__update__descriptor);
	call->update->status = rig_status(&rig, "t", STATE(RUNNING), 1);
	return call;
}

Test(agent_updates, calls_are_validated)
{
	Mesos__Executor__Call *call = rig_call(&rig, "e", MESOS__EXECUTOR__CALL__TYPE__UPDATE);

	rig_executor_call(&rig, call, 0);
	rig_expect(&rig, INVALID "Expecting 'update' to be present\n");
	call->has_type = 0;
	rig_executor_call(&rig, call, 0);
	rig_expect(&rig, INVALID "Expecting 'type' to be present\n");
	call = rig_call(&rig, "e", MESOS__EXECUTOR__CALL__TYPE__MESSAGE);
	rig_executor_call(&rig, call, 0);
	rig_expect(&rig, INVALID "Expecting 'message' to be present\n");
	call = update_call();
	call->update->status->has_uuid = 0;
	rig_executor_call(&rig, call, 0);
	rig_expect(&rig, INVALID "Expecting 'uuid' to be present\n");
	call = update_call();
	call->update->status->uuid.len = 15;
	rig_executor_call(&rig, call, 0);
	rig_expect(&rig, INVALID "Not a valid UUID\n");
	call = update_call();
	call->update->status->has_source = 0;
	rig_executor_call(&rig, call, 0);
	rig_expect(&rig, INVALID "Received Call from executor e of framework F with invalid "
				 "source, expecting 'SOURCE_EXECUTOR'\n");
	call = update_call();
	call->update->status->state = STATE(STAGING);
	rig_executor_call(&rig, call, 0);
	rig_expect(&rig, INVALID "Received TASK_STAGING from executor e of framework F which is "
				 "not allowed\n");
}

Test(agent_updates, calls_need_a_known_and_subscribed_executor)
{
	struct agent_event event = {.type = AGENT_EXECUTOR_CALL};

	rig_executor_call(&rig, update_call(), 0);
	rig_expect(&rig, "reply 400 Framework cannot be found\n");
	rig_run(&rig, "x", "other", 1);
	rig_take(&rig);
	rig_executor_call(&rig, update_call(), 0);
	rig_expect(&rig, "reply 400 Executor cannot be found\n");
	rig_run(&rig, "t", "e", 1);
	rig_take(&rig);
	rig_executor_call(&rig, update_call(), 0);
	rig_expect(&rig, "reply 403 Executor is not subscribed\n");
	event.executor_call.call = rig_call(&rig, "e", MESOS__EXECUTOR__CALL__TYPE__SUBSCRIBE);
	event.executor_call.stream = 1;
	rig_step(&rig, &event);
	rig_expect(&rig, "reply 406 Expecting 'Accept' to allow 'application/x-protobuf' or "
			 "'application/json'\n");
	rig_executor_call(&rig, rig_call(&rig, "unused", MESOS__EXECUTOR__CALL__TYPE__HEARTBEAT),
			  0);
	rig_expect(&rig, "reply 202\n");
	rig_subscribe(&rig, "e", 1);
	rig_take(&rig);
	rig_executor_call(&rig, rig_call(&rig, "e", MESOS__EXECUTOR__CALL__TYPE__UNKNOWN), 0);
	rig_expect(&rig, "reply 501\n");
}

/* ---- messages both ways -------------------------------------------------- */

Test(agent_updates, messages_go_to_the_scheduler_directly_or_by_the_master)
{
	Mesos__Executor__Call *call = rig_call(&rig, "e", MESOS__EXECUTOR__CALL__TYPE__MESSAGE);
	Mesos__Internal__FrameworkToExecutorMessage *message =
		rig_new(&rig, Mesos__Internal__FrameworkToExecutorMessage,
			mesos__internal__framework_to_executor_message__descriptor);

	call->message = rig_new(&rig, Mesos__Executor__Call__Message,
				mesos__executor__call__message__descriptor);
	call->message->data = (ProtobufCBinaryData){2, (uint8_t *)"hi"};
	message->agent_id = rig_new(&rig, Mesos__AgentID, mesos__agent_id__descriptor);
	message->agent_id->value = (char *)RIG_AGENT;
	message->framework_id = call->framework_id;
	message->executor_id = call->executor_id;
	message->data = call->message->data;
	running();
	rig_executor_call(&rig, call, 0);
	rig_expect(&rig, "send master ExecutorToFrameworkMessage\nreply 202\n");
	rig_message(&rig, "anybody@1.2.3.4:5", message);
	rig_expect(&rig, "");
	rig_message(&rig, RIG_MASTER, message);
	rig_expect(&rig, "event 1 MESSAGE\n");
	rig_detect(&rig, NULL);
	rig_take(&rig);
	rig_executor_call(&rig, call, 0);
	rig_message(&rig, RIG_MASTER, message);
	rig_expect(&rig, "reply 202\n");
}

Test(agent_updates, drivers_reach_their_executors_and_acknowledge_directly)
{
	Mesos__Internal__FrameworkToExecutorMessage *message =
		rig_new(&rig, Mesos__Internal__FrameworkToExecutorMessage,
			mesos__internal__framework_to_executor_message__descriptor);
	Mesos__Internal__StatusUpdateAcknowledgementMessage *ack =
		rig_new(&rig, Mesos__Internal__StatusUpdateAcknowledgementMessage,
			mesos__internal__status_update_acknowledgement_message__descriptor);

	rig.framework_pid = "scheduler-1@10.0.0.9:1";
	rig_running(&rig, "t", "e", 1);
	rig_update(&rig, "e", "t", STATE(RUNNING), 1);
	rig_update(&rig, "e", "t", STATE(FINISHED), 2);
	rig_take(&rig);
	message->agent_id = rig_agent_id(&rig);
	message->framework_id = rig_call(&rig, "e", 0)->framework_id;
	message->executor_id = rig_call(&rig, "e", 0)->executor_id;
	ack->agent_id = message->agent_id;
	ack->framework_id = message->framework_id;
	ack->task_id = rig_status(&rig, "t", STATE(RUNNING), 1)->task_id;
	ack->uuid = rig_uuid(&rig, 1);
	rig_message(&rig, "scheduler-2@10.0.0.9:1", message);
	rig_message(&rig, "scheduler-2@10.0.0.9:1", ack);
	rig_expect(&rig, "");
	rig_message(&rig, rig.framework_pid, message);
	rig_expect(&rig, "event 1 MESSAGE\n");
	rig_message(&rig, rig.framework_pid, ack);
	rig_expect(&rig, "send master StatusUpdateMessage t FINISHED u2\n");
}

/* ---- v0 executors -------------------------------------------------------- */

#define EXECUTOR "executor(1)@10.0.0.2:4000"

static void register_executor(const char *executor)
{
	Mesos__Executor__Call *ids =
		rig_call(&rig, executor, MESOS__EXECUTOR__CALL__TYPE__SUBSCRIBE);
	Mesos__Internal__RegisterExecutorMessage *message =
		rig_new(&rig, Mesos__Internal__RegisterExecutorMessage,
			mesos__internal__register_executor_message__descriptor);

	message->framework_id = ids->framework_id;
	message->executor_id = ids->executor_id;
	rig_message(&rig, EXECUTOR, message);
}

Test(agent_updates, v0_executor_gets_messages_instead_of_events)
{
	Mesos__Internal__StatusUpdateMessage *update =
		rig_new(&rig, Mesos__Internal__StatusUpdateMessage,
			mesos__internal__status_update_message__descriptor);
	Mesos__Internal__ExecutorToFrameworkMessage *speak =
		rig_new(&rig, Mesos__Internal__ExecutorToFrameworkMessage,
			mesos__internal__executor_to_framework_message__descriptor);
	Mesos__Executor__Call *ids = rig_call(&rig, "e", MESOS__EXECUTOR__CALL__TYPE__SUBSCRIBE);

	register_executor("e");
	rig_expect(&rig, "send " EXECUTOR " ShutdownExecutorMessage\n");
	rig_run(&rig, "t", "e", 1);
	rig_container_started(&rig, "e", 42);
	rig_take(&rig);
	register_executor("e");
	rig_expect(&rig, "link " EXECUTOR "\nsend " EXECUTOR " ExecutorRegisteredMessage\n"
			 "send " EXECUTOR " RunTaskMessage t\n");
	register_executor("e");
	rig_expect(&rig, "send " EXECUTOR " ShutdownExecutorMessage\n");
	update->update = rig_new(&rig, Mesos__Internal__StatusUpdate,
				 mesos__internal__status_update__descriptor);
	update->update->framework_id = ids->framework_id;
	update->update->executor_id = ids->executor_id;
	update->update->agent_id = rig_new(&rig, Mesos__AgentID, mesos__agent_id__descriptor);
	update->update->agent_id->value = (char *)RIG_AGENT;
	update->update->status = rig_status(&rig, "t", STATE(RUNNING), 1);
	update->update->status->agent_id = update->update->agent_id;
	update->update->has_uuid = 1;
	update->update->uuid = rig_uuid(&rig, 1);
	rig_message(&rig, "executor(1)@10.0.0.3:4000", update);
	rig_expect(&rig, "");
	rig_message(&rig, EXECUTOR, update);
	rig_expect(&rig, SENT "send " EXECUTOR " StatusUpdateAcknowledgementMessage u1\n");
	speak->framework_id = ids->framework_id;
	speak->executor_id = ids->executor_id;
	speak->agent_id = update->update->agent_id;
	rig_message(&rig, "executor(1)@10.0.0.3:4000", speak);
	rig_expect(&rig, "");
	rig_message(&rig, EXECUTOR, speak);
	rig_expect(&rig, "send master ExecutorToFrameworkMessage\n");
	rig_kill(&rig, "t");
	rig_expect(&rig, "send " EXECUTOR " KillTaskMessage t\n");
}

/* ---- tokens --------------------------------------------------------------- */

static const char *given_token;

static void keep_token(struct rig *rig, const struct agent_action *action)
{
	static const char name[] = "MESOS_EXECUTOR_AUTHENTICATION_TOKEN=";

	if (action->type != AGENT_LAUNCH)
		return;
	given_token = NULL;
	for (char *const *pair = action->launch.environment; *pair; pair++) {
		if (str_has_prefix(*pair, name))
			given_token = arena_strdup(&rig->arena, *pair + strlen(name));
	}
}

#define NOT_ITS_OWN "reply 403 The token is not this executor's\n"

Test(agent_updates, executors_show_their_tokens)
{
	static const struct slice secret = {"open sesame", 11};
	struct json *others;
	struct err err;

	rig_free(&rig);
	rig_init(&rig);
	rig.options.executor_secret = secret;
	rig_start(&rig);
	rig_register(&rig);
	rig.watch = keep_token;
	rig_run(&rig, "t", "e", 1);
	cr_assert_not_null(given_token);
	cr_assert_eq(jwt_read(&rig.arena, secret, given_token, rig.now, &rig.claims, &err), 0);
	cr_assert_str_eq(json_get_string(rig.claims, "fid"), RIG_FRAMEWORK);
	cr_assert_str_eq(json_get_string(rig.claims, "eid"), "e");
	cr_assert_str_eq(json_get_string(rig.claims, "cid"), rig_container(&rig, "e"));
	rig_run(&rig, "u", "f", 1);
	rig_container_started(&rig, "e", 42);
	rig_container_started(&rig, "f", 43);
	rig_take(&rig);
	/* Its own token is good for itself alone. */
	rig_subscribe(&rig, "f", 2);
	rig_expect(&rig, NOT_ITS_OWN);
	rig_subscribe(&rig, "e", 1);
	rig_expect(&rig, "event 1 SUBSCRIBED\nevent 1 LAUNCH t\nreply 200\n");
	rig_update(&rig, "e", "t", STATE(RUNNING), 1);
	rig_expect(&rig, SENT "event 1 ACKNOWLEDGED t u1\nreply 202\n");
	for (int missing = 0; missing < 5; missing++) {
		static const char *const cases[] = {
			"{\"fid\":\"F\",\"eid\":\"e\",\"cid\":\"x\"}",
			"{\"fid\":\"F\",\"eid\":\"e\"}", "{\"fid\":\"F\",\"cid\":\"x\"}", "{}",
			"{\"fid\":\"F\",\"eid\":\"e\",\"cid\":[\"x\"]}"};

		cr_assert_eq(json_parse(&rig.arena, cases[missing], strlen(cases[missing]), &others,
					&err),
			     0);
		rig.claims = others;
		rig_update(&rig, "e", "t", STATE(FINISHED), 2);
		rig_expect(&rig, NOT_ITS_OWN);
	}
	rig.claims = NULL;
	rig_update(&rig, "e", "t", STATE(FINISHED), 2);
	rig_expect(&rig, NOT_ITS_OWN);
	/* Executors of messages have none. */
	register_executor("f");
	rig_expect(&rig, "send " EXECUTOR " ShutdownExecutorMessage\n");
}

Test(agent_updates, executors_are_given_no_token_unless_asked)
{
	rig.watch = keep_token;
	rig_run(&rig, "t", "e", 1);
	cr_assert_null(given_token);
}
