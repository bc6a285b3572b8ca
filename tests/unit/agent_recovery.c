/* Restarts: what comes back, what ends, and that a crash at any point loses nothing. */
#include "agent_harness.h"

#include <stdio.h>
#include <string.h>

static struct rig rig;

static void start(void)
{
	rig_init(&rig);
	rig.checkpoint = true;
	rig_start(&rig);
	rig_register(&rig);
}

static void stop(void)
{
	rig_free(&rig);
}

TestSuite(agent_recovery, .init = start, .fini = stop);

static void restart(void)
{
	rig_kill_agent(&rig);
	rig_start(&rig);
}

static void running(void)
{
	rig_running(&rig, "t", "e", 1);
	rig_update(&rig, "e", "t", STATE(RUNNING), 1);
	rig_take(&rig);
}

Test(agent_recovery, nothing_to_wait_for)
{
	restart();
	rig_expect(&rig, "");
	cr_assert_str_eq(agent_id(rig.agent), RIG_AGENT);
	rig_detect(&rig, RIG_MASTER);
	rig_next(&rig);
	rig_expect(&rig, "link " RIG_MASTER "\nsend master ReregisterSlaveMessage\n");
}

Test(agent_recovery, executor_comes_back_and_its_update_goes_again)
{
	running();
	restart();
	rig_expect(&rig, "reattach e 42\n");
	rig_detect(&rig, RIG_MASTER);
	rig_expect(&rig, "");
	rig_subscribe(&rig, "e", 5);
	rig_expect(&rig, "event 5 SUBSCRIBED\nreply 200\n");
	rig_next(&rig);
	rig_expect(&rig, "link " RIG_MASTER "\nsend master ReregisterSlaveMessage framework F "
			 "executor e task t RUNNING\n");
	rig_reregister(&rig);
	cr_assert(strstr(rig_take(&rig), "send master StatusUpdateMessage t RUNNING u1\n"));
	rig_ack(&rig, "t", 1);
	rig_expect(&rig, "");
}

/* The agent died before it heard of any update: the store only knows TASK_STAGING. */
Test(agent_recovery, command_task_that_the_agent_saw_no_update_of_goes_on)
{
	Mesos__Executor__Call *call = rig_call(&rig, "t", MESOS__EXECUTOR__CALL__TYPE__SUBSCRIBE);
	Mesos__Executor__Call__Update *update = rig_new(&rig, Mesos__Executor__Call__Update,
							mesos__executor__call__update__descriptor);

	rig_run(&rig, "t", NULL, 1);
	rig_container_started(&rig, "t", 42);
	rig_subscribe(&rig, "t", 1);
	cr_assert(strstr(rig_take(&rig), "event 1 LAUNCH t"));
	restart();
	rig_take(&rig);
	call->subscribe = rig_new(&rig, Mesos__Executor__Call__Subscribe,
				  mesos__executor__call__subscribe__descriptor);
	update->status = rig_status(&rig, "t", STATE(RUNNING), 1);
	proto_push(&rig.arena, call->subscribe->n_unacknowledged_updates,
		   call->subscribe->unacknowledged_updates, update);
	proto_push(&rig.arena, call->subscribe->n_unacknowledged_tasks,
		   call->subscribe->unacknowledged_tasks, rig_task(&rig, "t", NULL));
	rig_executor_call(&rig, call, 2);
	rig_expect(&rig, "event 2 SUBSCRIBED\nreply 200\nevent 2 ACKNOWLEDGED t u1\n");
}

Test(agent_recovery, updates_wait_for_registration_only)
{
	Mesos__Executor__Call *call = rig_call(&rig, "e", MESOS__EXECUTOR__CALL__TYPE__UPDATE);

	running();
	restart();
	rig_take(&rig);
	call->update = rig_new(&rig, Mesos__Executor__Call__Update,
			       mesos__executor__call__update__descriptor);
	call->update->status = rig_status(&rig, "t", STATE(FINISHED), 2);
	rig_executor_call(&rig, call, 0);
	rig_expect(&rig, "reply 503 Agent has not finished recovery\n");
}

Test(agent_recovery, silent_executor_is_given_two_seconds)
{
	running();
	restart();
	rig_take(&rig);
	rig_tick(&rig, 2 * SECOND);
	rig_expect(&rig, "");
	rig_tick(&rig, 500 * MILLISECOND);
	rig_expect(&rig, "destroy e\n");
	rig_reregister(&rig);
	rig_ack(&rig, "t", 1);
	rig_take(&rig);
	rig_container_exited(&rig, "e", 9);
	rig_expect(&rig, "send master ExitedExecutorMessage e 9\n"
			 "send master StatusUpdateMessage t LOST EXECUTOR_REREGISTRATION_TIMEOUT "
			 "\"Executor did not reregister within 2secs\"\n");
}

Test(agent_recovery, executor_that_died_meanwhile)
{
	running();
	rig_ack(&rig, "t", 1);
	restart();
	rig_take(&rig);
	rig_container_exited(&rig, "e", -1);
	rig_expect(&rig, "");
	rig_reregister(&rig);
	cr_assert(strstr(rig_take(&rig), "t FAILED EXECUTOR_TERMINATED \"Executor terminated\""));
}

Test(agent_recovery, reboot_ends_all)
{
	struct err err = {""};

	running();
	rig_ack(&rig, "t", 1);
	rig_kill_agent(&rig);
	cr_assert_eq(rig_try_start(&rig, true, &err), 0, "%s", err.text);
	rig_expect(&rig, "");
	rig_reregister(&rig);
	cr_assert(strstr(rig_take(&rig), "t FAILED EXECUTOR_TERMINATED \"Abnormal executor "
					 "termination: unknown container\""));
}

/* Until its containers are gone: they are destroyed, by the next agent, too. */
Test(agent_recovery, an_identity_given_up_leaves_nothing)
{
	running();
	rig_kill_agent(&rig);
	rig.options.start_new = rig.show_store = true;
	rig_start(&rig);
	rig.show_store = rig.options.start_new = false;
	const char *trace = rig_take(&rig);
	cr_expect(strstr(trace, "+collect//w/slaves/" RIG_AGENT "\n"));
	cr_expect(strstr(trace, "reattach e 42\n"), "%s", trace);
	cr_expect(strstr(trace, "destroy e\n"), "%s", trace);
	cr_expect_str_eq(agent_id(rig.agent), "");
	rig_kill_agent(&rig);
	rig_start(&rig);
	rig_expect(&rig, "reattach e 42\ndestroy e\n");
	rig_container_exited(&rig, "e", 9);
	rig_expect(&rig, "");
	for (size_t i = 0; i < rig.pair_count; i++)
		cr_expect(strstr(rig.pairs[i].key, "collect/") == rig.pairs[i].key, "%s",
			  rig.pairs[i].key);
	rig_detect(&rig, RIG_MASTER);
	rig_next(&rig);
	rig_expect(&rig, "link " RIG_MASTER "\nsend master RegisterSlaveMessage\n");
}

/* The master said that the agent is gone, and the agent was killed before its executors ended. */
Test(agent_recovery, what_a_shutdown_left_is_destroyed)
{
	Mesos__Internal__ShutdownMessage *message =
		rig_new(&rig, Mesos__Internal__ShutdownMessage,
			mesos__internal__shutdown_message__descriptor);

	running();
	rig_message(&rig, RIG_MASTER, message);
	rig_take(&rig);
	rig_kill_agent(&rig);
	rig_start(&rig);
	rig_expect(&rig, "reattach e 42\ndestroy e\n");
	cr_expect_str_eq(agent_id(rig.agent), "");
	rig_container_exited(&rig, "e", 9);
	cr_expect_eq(rig.pair_count, 0);
	rig_kill_agent(&rig);
	rig_start(&rig);
	rig_expect(&rig, "");
}

/* After a reboot there is nothing to destroy. */
Test(agent_recovery, a_reboot_ends_what_a_shutdown_left)
{
	struct err err = {""};

	running();
	rig_kill_agent(&rig);
	rig.options.start_new = true;
	cr_assert_eq(rig_try_start(&rig, true, &err), 0, "%s", err.text);
	rig_expect(&rig, "");
	for (size_t i = 0; i < rig.pair_count; i++)
		cr_expect_not(strstr(rig.pairs[i].key, "orphan/"));
}

Test(agent_recovery, v0_executor_is_called_back)
{
	Mesos__Executor__Call *ids = rig_call(&rig, "e", MESOS__EXECUTOR__CALL__TYPE__SUBSCRIBE);
	Mesos__Internal__RegisterExecutorMessage *message =
		rig_new(&rig, Mesos__Internal__RegisterExecutorMessage,
			mesos__internal__register_executor_message__descriptor);
	Mesos__Internal__ReregisterExecutorMessage *again =
		rig_new(&rig, Mesos__Internal__ReregisterExecutorMessage,
			mesos__internal__reregister_executor_message__descriptor);

	rig_run(&rig, "t", "e", 1);
	rig_container_started(&rig, "e", 42);
	message->framework_id = again->framework_id = ids->framework_id;
	message->executor_id = again->executor_id = ids->executor_id;
	rig_message(&rig, "executor(1)@h:1", message);
	restart();
	rig_take(&rig);
	rig_kill_agent(&rig);
	rig_start(&rig);
	rig_expect(&rig, "reattach e 42\nlink executor(1)@h:1\n"
			 "send executor(1)@h:1 ReconnectExecutorMessage\n");
	proto_push(&rig.arena, again->n_tasks, again->tasks, rig_task(&rig, "t", NULL));
	rig_message(&rig, "executor(1)@h:1", again);
	rig_expect(&rig, "link executor(1)@h:1\nsend executor(1)@h:1 "
			 "ExecutorReregisteredMessage\n");
}

Test(agent_recovery, without_checkpoint_nothing_comes_back)
{
	rig.checkpoint = false;
	running();
	restart();
	rig_expect(&rig, "");
	rig_detect(&rig, RIG_MASTER);
	rig_next(&rig);
	rig_expect(&rig, "link " RIG_MASTER "\nsend master ReregisterSlaveMessage\n");
}

Test(agent_recovery, cleanup_ends_all_and_leaves)
{
	running();
	rig.options.recover_cleanup = true;
	restart();
	rig_expect(&rig, "reattach e 42\n");
	rig_tick(&rig, 5 * SECOND);
	rig_expect(&rig, "destroy e\n");
	rig_container_exited(&rig, "e", 9);
	rig_expect(&rig, "exit 0 The agent was shut down\n");
}

Test(agent_recovery, collections_go_on)
{
	running();
	rig_update(&rig, "e", "t", STATE(FINISHED), 2);
	rig_ack(&rig, "t", 1);
	rig_ack(&rig, "t", 2);
	rig_container_exited(&rig, "e", 0);
	rig_kill_agent(&rig);
	rig_take(&rig);
	rig.show_store = true;
	rig_start(&rig);
	cr_assert(strstr(rig_take(&rig), "collect /frameworks/F/executors/e\n"));
}

Test(agent_recovery, damage_is_an_error)
{
	struct err err = {""};

	running();
	rig_kill_agent(&rig);
	for (size_t i = 0; i < rig.pair_count; i++) {
		if (str_has_prefix(rig.pairs[i].key, "task/"))
			rig.pairs[i].value.data[0] ^= 0x55;
	}
	cr_assert_lt(rig_try_start(&rig, false, &err), 0);
	cr_assert(str_has_prefix(err.text, "Pair 'task/F/e/t' of the store: "), "%s", err.text);
}

static void add_pair(const char *key, const char *value)
{
	size_t at = 0;

	while (at < rig.pair_count && strcmp(rig.pairs[at].key, key) < 0)
		at++;
	memmove(&rig.pairs[at + 1], &rig.pairs[at], (rig.pair_count - at) * sizeof(*rig.pairs));
	rig.pair_count++;
	rig.pairs[at] = (struct rig_pair){.key = xstrdup(key)};
	buf_append(&rig.pairs[at].value, value, strlen(value));
}

/* Starts the agent with another value of a key, or without the key (NULL). What it says. */
static const char *starts_damaged(const char *key, const char *value)
{
	static struct err err;
	bool found = false;

	stop();
	start();
	running();
	rig_kill_agent(&rig);
	for (size_t i = 0; i < rig.pair_count; i++) {
		struct rig_pair *pair = &rig.pairs[i];

		if (strcmp(pair->key, key) != 0)
			continue;
		found = true;
		buf_clear(&pair->value);
		if (value)
			buf_append(&pair->value, value, strlen(value));
		else
			memset(pair->key, 'x', strlen(pair->key));
	}
	if (!found)
		add_pair(key, value);
	err = (struct err){""};
	return rig_try_start(&rig, false, &err) < 0 ? err.text : "";
}

static void pick_errors(void *context, const char *name, double value)
{
	if (strcmp(name, "slave/recovery_errors") == 0)
		*(double *)context = value;
}

static double recovery_errors(void)
{
	double errors = -1;

	agent_each_metric(rig.agent, pick_errors, &errors);
	return errors;
}

#define UUID "00000000-0000-4000-8000-000000000001"

/* A CheckpointResourcesMessage of {name: "cpus", type: RANGES}, which has none. */
#define NO_RANGES                                                                                  \
	"\x0a\x08\x0a\x04"                                                                         \
	"cpus"                                                                                     \
	"\x10\x01"

Test(agent_recovery, what_is_damaged_is_named)
{
	static const struct {
		const char *key, *value, *says;
	} rows[] = {
		{"executor/F/e/container", "x custom", "holds no container"},
		{"executor/F/e/container", UUID, "holds no container"},
		{"executor/F/e/container", "", "holds no container"},
		{"executor/F/e/process", "x", "holds no process"},
		{"executor/F/e/process", "7", "holds no process"},
		{"executor/F/e/info", "x", "holds no mesos.ExecutorInfo"},
		{"framework/F/info", "x", "holds no mesos.FrameworkInfo"},
		{"agent/info", "x", "holds no mesos.AgentInfo"},
		{"task/F/e/t", "x", "holds no mesos.Task"},
		{"agent/drain", "x", "holds no mesos.DrainConfig"},
		{"agent/resources", "x", "holds no mesos.internal.CheckpointResourcesMessage"},
		{"agent/resources", NO_RANGES, "Invalid ranges resource"},
		{"executor/F/e/networks", "x", "holds no mesos.ContainerStatus"},
		{"framework/F", "x", "the key is not ours"},
		{"framework/F/e/x", "x", "the key is not ours"},
		{"executor/F/e", "x", "the key is not ours"},
		{"task/F/e", "x", "the key is not ours"},
		{"update/F/t", "x", "the key is not ours"},
		{"update/F/t/x", "x", "the key is not ours"},
		{"update/F/t/1", "x", "holds no mesos.internal.StatusUpdateRecord"},
		{"operation/a/b", "x", "the key is not ours"},
		{"operation/" UUID, "x", "holds no mesos.Operation"},
		{"orphan/a/b", "x", "the key is not ours"},
		{"orphan/a", "x", "it holds no container"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *says = starts_damaged(rows[i].key, rows[i].value);

		cr_expect(str_has_prefix(says, "Pair '") && strstr(says, rows[i].key) &&
				  strstr(says, rows[i].says),
			  "%s: %s", rows[i].key, says);
	}
}

/* A batch is written as a whole: without one of its records the others are of no use. */
Test(agent_recovery, what_is_not_whole_is_counted_and_dropped)
{
	static const char *const keys[] = {"executor/F/e/container", "executor/F/e/info",
					   "framework/F/info"};

	cr_expect_str_eq(starts_damaged("executor/F/e/process", NULL), "");
	cr_expect_eq(recovery_errors(), 0);
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		cr_expect_str_eq(starts_damaged(keys[i], NULL), "");
		cr_expect_geq(recovery_errors(), 1, "%s: %g", keys[i], recovery_errors());
	}
}

/* ---- a crash at any point ------------------------------------------------ */

#define UPDATES 4

struct life {
	bool sent[UPDATES + 1];	     /* by the executor */
	bool acked[UPDATES + 1];     /* by the agent, to the executor */
	bool delivered[UPDATES + 1]; /* to the scheduler */
	bool launched;		     /* the executor got the task */
	bool over;		     /* the scheduler heard of a terminal state */
	ProtobufCBinaryData pending; /* update the scheduler was sent last */
};

static void watch(struct rig *r, const struct agent_action *action)
{
	struct life *life = r->context;
	Mesos__Internal__StatusUpdateMessage *message;
	int number;

	if (action->type == AGENT_SEND_EVENT && action->send_event.event->acknowledged) {
		number = rig_uuid_number(action->send_event.event->acknowledged->uuid);
		life->acked[number] = true;
	}
	if (action->type == AGENT_SEND_EVENT && action->send_event.event->launch)
		life->launched = true;
	if (action->type != AGENT_SEND_MESSAGE ||
	    action->send_message.message->descriptor !=
		    &mesos__internal__status_update_message__descriptor)
		return;
	message = (void *)action->send_message.message;
	number = rig_uuid_number(message->update->uuid);
	life->delivered[number] = true;
	if (message->update->status->state == STATE(FINISHED) || number == 0)
		life->over = true;
	life->pending.len = message->update->uuid.len;
	life->pending.data =
		arena_memdup(&r->arena, message->update->uuid.data, message->update->uuid.len);
}

static void send_update(struct life *life, int number)
{
	static const Mesos__TaskState states[] = {0, STATE(STARTING), STATE(RUNNING),
						  STATE(RUNNING), STATE(FINISHED)};

	life->sent[number] = true;
	rig_update(&rig, "t", "t", states[number], number);
}

/* One life of a task; every store batch is written only when `write` says so. Returns
 * false at the step after which the agent is to be killed. */
static void first_life(struct life *life, uint64_t last_written, int steps)
{
	uint64_t written = last_written;

	for (int step = 0; step < steps; step++) {
		switch (step) {
		case 0:
			rig_run(&rig, "t", NULL, 1);
			break;
		case 1:
			if (rig.container_count)
				rig_container_started(&rig, "t", 42);
			break;
		case 2:
			if (rig.container_count)
				rig_subscribe(&rig, "t", 1);
			break;
		case 3:
		case 5:
		case 7:
		case 9:
			if (life->launched)
				send_update(life, (step - 1) / 2);
			break;
		case 4:
		case 6:
		case 8:
		case 10:
			if (life->pending.len)
				rig_ack_bytes(&rig, "t", life->pending);
			break;
		case 11:
			if (rig.container_count)
				rig_container_exited(&rig, "t", 0);
			break;
		}
		/* All that was asked for so far, but never beyond the chosen ticket. */
		rig_stored(&rig, written);
	}
}

static void second_life(struct life *life)
{
	Mesos__Executor__Call *call = rig_call(&rig, "t", MESOS__EXECUTOR__CALL__TYPE__SUBSCRIBE);

	rig.manual_store = false;
	rig_start(&rig);
	for (int i = 1; i <= UPDATES; i++) {
		Mesos__Executor__Call__Update *update;

		if (!life->sent[i] || life->acked[i])
			continue;
		update = rig_new(&rig, Mesos__Executor__Call__Update,
				 mesos__executor__call__update__descriptor);
		update->status =
			rig_status(&rig, "t", i == UPDATES ? STATE(FINISHED) : STATE(RUNNING), i);
		proto_push(&rig.arena, call->subscribe->n_unacknowledged_updates,
			   call->subscribe->unacknowledged_updates, update);
	}
	if (life->launched)
		proto_push(&rig.arena, call->subscribe->n_unacknowledged_tasks,
			   call->subscribe->unacknowledged_tasks, rig_task(&rig, "t", NULL));
	if (rig.container_count) {
		rig_executor_call(&rig, call, 9);
		rig_container_exited(&rig, "t", 0);
	}
	rig_reregister(&rig);
	life->pending.len = 0;
	rig_tick(&rig, 15 * SECOND);
	for (int i = 0; i < 2 * UPDATES && life->pending.len; i++) {
		ProtobufCBinaryData uuid = life->pending;

		life->pending.len = 0;
		rig_ack_bytes(&rig, "t", uuid);
	}
}

static void crash(int steps, uint64_t written)
{
	struct life life = {0};
	char at[64];

	rig.manual_store = true;
	rig.watch = watch;
	rig.context = &life;
	snprintf(at, sizeof(at), "step %d, written %d", steps, (int)written);
	first_life(&life, written, steps);
	rig_kill_agent(&rig);
	second_life(&life);
	for (int i = 1; i <= UPDATES; i++)
		cr_assert(!life.acked[i] || life.delivered[i], "%s: update %d is lost", at, i);
	cr_assert(!life.launched || life.over, "%s: the end of the task is lost", at);
	rig_take(&rig);
}

Test(agent_recovery, a_crash_at_any_point_loses_nothing)
{
	for (int steps = 1; steps <= 12; steps++) {
		for (uint64_t written = 1; written <= 16; written++) {
			rig_free(&rig);
			start();
			crash(steps, written);
		}
	}
}
