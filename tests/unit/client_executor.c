/* The executor driver against a fake agent. */
#include <stdlib.h>
#include <string.h>

#include "client/executor.h"
#include "client_harness.h"

static struct fake agent;
static struct executor_driver *driver;
static struct rng rng;
static struct arena arena;
static int events[16]; /* by type */
static char *failure;
static bool close_in_callback;

#define EVENT(x) MESOS__EXECUTOR__EVENT__TYPE__##x
#define CALL(x) MESOS__EXECUTOR__CALL__TYPE__##x

static void maybe_close(void)
{
	if (!close_in_callback || !driver)
		return;
	executor_driver_close(driver);
	driver = NULL;
}

static void on_event(void *context, const Mesos__Executor__Event *event)
{
	cr_assert_eq(context, &agent);
	events[event->type]++;
	maybe_close();
}

static void on_failed(void *context, const char *why)
{
	cr_assert_null(failure, "failed twice");
	failure = arena_strdup(&arena, why);
	maybe_close();
}

static const struct executor_handlers handlers = {.event = on_event, .failed = on_failed};

static Mesos__Executor__Call *call_of(struct slice body)
{
	struct err err;
	Mesos__Executor__Call *call =
		proto_unpack(&mesos__executor__call__descriptor, &arena, body.data, body.len, &err);

	cr_assert_not_null(call, "%s", err.text);
	return call;
}

static Mesos__Executor__Call *call_at(int index)
{
	cr_assert_lt(index, agent.call_count);
	return call_of((struct slice){agent.calls[index].body.data, agent.calls[index].body.len});
}

static bool is_subscribe(struct slice body)
{
	return call_of(body)->type == CALL(SUBSCRIBE);
}

static void set_up(void)
{
	arena_init(&arena);
	rng_seed(&rng, 1);
	fake_init(&agent, is_subscribe);
	setenv("MESOS_AGENT_ENDPOINT", agent.address, 1);
	setenv("MESOS_FRAMEWORK_ID", "f", 1);
	setenv("MESOS_EXECUTOR_ID", "e", 1);
	setenv("MESOS_CHECKPOINT", "1", 1);
	setenv("MESOS_RECOVERY_TIMEOUT", "15secs", 1);
	setenv("MESOS_SUBSCRIPTION_BACKOFF_MAX", "20ms", 1);
}

static void tear_down(void)
{
	if (driver)
		executor_driver_close(driver);
	fake_finish(&agent);
	arena_free(&arena);
}

TestSuite(executor, .init = set_up, .fini = tear_down, .timeout = 60);

static void start(void)
{
	struct err err;

	cr_assert_eq(executor_driver_create(&agent.loop, &rng, &handlers, &agent, &driver, &err), 0,
		     "%s", err.text);
}

static void send_subscribed(void)
{
	Mesos__Executor__Event event = MESOS__EXECUTOR__EVENT__INIT;
	Mesos__Executor__Event__Subscribed body = MESOS__EXECUTOR__EVENT__SUBSCRIBED__INIT;

	body.executor_info =
		PROTO_NEW(&arena, Mesos__ExecutorInfo, mesos__executor_info__descriptor);
	body.executor_info->executor_id =
		PROTO_NEW(&arena, Mesos__ExecutorID, mesos__executor_id__descriptor);
	body.executor_info->executor_id->value = (char *)"e";
	body.framework_info =
		PROTO_NEW(&arena, Mesos__FrameworkInfo, mesos__framework_info__descriptor);
	body.framework_info->user = body.framework_info->name = (char *)"n";
	body.agent_info = PROTO_NEW(&arena, Mesos__AgentInfo, mesos__agent_info__descriptor);
	body.agent_info->hostname = (char *)"h";
	event.has_type = 1;
	event.type = EVENT(SUBSCRIBED);
	event.subscribed = &body;
	fake_send(&agent, &event);
}

static void get_subscribed(void)
{
	int before = events[EVENT(SUBSCRIBED)];

	until(&agent, agent.subscribe_count > before && agent.stream);
	send_subscribed();
	until(&agent, events[EVENT(SUBSCRIBED)] > before);
}

static void send_bare(Mesos__Executor__Event__Type type)
{
	Mesos__Executor__Event event = MESOS__EXECUTOR__EVENT__INIT;

	event.has_type = 1;
	event.type = type;
	fake_send(&agent, &event);
}

static void launch(const char *id)
{
	Mesos__Executor__Event event = MESOS__EXECUTOR__EVENT__INIT;
	Mesos__Executor__Event__Launch body = MESOS__EXECUTOR__EVENT__LAUNCH__INIT;
	Mesos__TaskInfo task = MESOS__TASK_INFO__INIT;
	Mesos__TaskID task_id = MESOS__TASK_ID__INIT;
	Mesos__AgentID agent_id = MESOS__AGENT_ID__INIT;
	int before = events[EVENT(LAUNCH)];

	task_id.value = (char *)id;
	agent_id.value = (char *)"a";
	task.name = (char *)"n";
	task.task_id = &task_id;
	task.agent_id = &agent_id;
	body.task = &task;
	event.has_type = 1;
	event.type = EVENT(LAUNCH);
	event.launch = &body;
	fake_send(&agent, &event);
	until(&agent, events[EVENT(LAUNCH)] > before);
}

static void update(const char *id, Mesos__TaskState state)
{
	Mesos__TaskStatus status = MESOS__TASK_STATUS__INIT;
	Mesos__TaskID task_id = MESOS__TASK_ID__INIT;

	task_id.value = (char *)id;
	status.task_id = &task_id;
	status.state = state;
	executor_driver_update(driver, &status);
}

static void acknowledge(const Mesos__TaskStatus *status)
{
	Mesos__Executor__Event event = MESOS__EXECUTOR__EVENT__INIT;
	Mesos__Executor__Event__Acknowledged body = MESOS__EXECUTOR__EVENT__ACKNOWLEDGED__INIT;
	int before = events[EVENT(ACKNOWLEDGED)];

	body.task_id = status->task_id;
	body.uuid = status->uuid;
	event.has_type = 1;
	event.type = EVENT(ACKNOWLEDGED);
	event.acknowledged = &body;
	fake_send(&agent, &event);
	until(&agent, events[EVENT(ACKNOWLEDGED)] > before);
}

Test(executor, says_its_token_with_each_call)
{
	setenv("MESOS_EXECUTOR_AUTHENTICATION_TOKEN", "a.b.c", 1);
	start();
	until(&agent, agent.stream);
	send_subscribed();
	until(&agent, executor_driver_connected(driver));
	executor_driver_message(driver, "x", 1);
	until(&agent, agent.call_count == 2);
	for (int i = 0; i < agent.call_count; i++)
		cr_assert_str_eq(agent.calls[i].authorization, "Bearer a.b.c");
	unsetenv("MESOS_EXECUTOR_AUTHENTICATION_TOKEN");
}

Test(executor, finds_its_agent_by_the_pid_of_old)
{
	char *pid = xprintf("slave(1)@%s", agent.address);

	unsetenv("MESOS_AGENT_ENDPOINT");
	setenv("MESOS_SLAVE_PID", pid, 1);
	start();
	until(&agent, agent.stream);
	cr_assert_str_eq(agent.calls[0].authorization, "");
	unsetenv("MESOS_SLAVE_PID");
	free(pid);
}

Test(executor, subscribes)
{
	Mesos__Executor__Call *call;

	start();
	cr_assert(!executor_driver_connected(driver));
	get_subscribed();
	cr_assert(executor_driver_connected(driver));
	cr_assert_str_eq(agent.calls[0].path, "/slave(1)/api/v1/executor");
	call = call_at(0);
	cr_assert_str_eq(call->framework_id->value, "f");
	cr_assert_str_eq(call->executor_id->value, "e");
	cr_assert_eq(call->subscribe->n_unacknowledged_updates, 0);
	cr_assert_eq(call->subscribe->n_unacknowledged_tasks, 0);
	send_bare(EVENT(HEARTBEAT));
	send_bare(EVENT(ERROR));
	until(&agent, events[EVENT(ERROR)] == 1);
	cr_assert_eq(events[EVENT(HEARTBEAT)], 0);
}

Test(executor, names_what_is_missing_in_the_environment)
{
	static const char *const names[] = {"MESOS_AGENT_ENDPOINT", "MESOS_FRAMEWORK_ID",
					    "MESOS_EXECUTOR_ID"};
	struct err err;

	for (int i = 2; i >= 0; i--) {
		unsetenv(names[i]);
		cr_assert_eq(
			executor_driver_create(&agent.loop, &rng, &handlers, &agent, &driver, &err),
			ERR_INVALID);
		cr_assert_not_null(strstr(err.text, names[i]));
	}
}

Test(executor, updates_are_complete_and_forgotten_when_acknowledged)
{
	Mesos__Executor__Call *call;

	start();
	get_subscribed();
	launch("t");
	update("t", MESOS__TASK_STATE__TASK_STARTING);
	update("t", MESOS__TASK_STATE__TASK_RUNNING);
	cr_assert_eq(executor_driver_unacknowledged(driver), 2);
	until(&agent, agent.call_count == 3);
	call = call_at(1);
	cr_assert_eq(call->type, CALL(UPDATE));
	cr_assert_eq(call->update->status->state, MESOS__TASK_STATE__TASK_STARTING);
	cr_assert_eq(call->update->status->source, MESOS__TASK_STATUS__SOURCE__SOURCE_EXECUTOR);
	cr_assert_str_eq(call->update->status->executor_id->value, "e");
	cr_assert(uuid_valid(call->update->status->uuid.data, call->update->status->uuid.len));
	cr_assert_gt(call->update->status->timestamp, 1.0e9);
	acknowledge(call->update->status);
	acknowledge(call->update->status); /* a second time changes nothing */
	cr_assert_eq(executor_driver_unacknowledged(driver), 1);
	call = call_at(2);
	cr_assert_eq(call->update->status->state, MESOS__TASK_STATE__TASK_RUNNING);
	acknowledge(call->update->status);
	cr_assert_eq(executor_driver_unacknowledged(driver), 0);
}

Test(executor, sends_messages)
{
	start();
	executor_driver_message(driver, "early", 5); /* dropped: not subscribed */
	get_subscribed();
	executor_driver_message(driver, "a\0b", 3);
	until(&agent, agent.call_count == 2);
	cr_assert_eq(call_at(1)->type, CALL(MESSAGE));
	cr_assert_eq(call_at(1)->message->data.len, 3);
}

Test(executor, subscribes_again_with_what_is_unacknowledged)
{
	Mesos__Executor__Call__Subscribe *again;

	start();
	get_subscribed();
	launch("old");
	launch("new");
	update("old", MESOS__TASK_STATE__TASK_RUNNING);
	until(&agent, agent.call_count == 2);
	acknowledge(call_at(1)->update->status);
	update("old", MESOS__TASK_STATE__TASK_FINISHED);
	until(&agent, agent.call_count == 3);
	fake_end_stream(&agent);
	get_subscribed();
	cr_assert_eq(agent.call_count, 4, "what the subscription holds is not sent again");
	again = call_at(3)->subscribe;
	cr_assert_eq(again->n_unacknowledged_tasks, 1);
	cr_assert_str_eq(again->unacknowledged_tasks[0]->task_id->value, "new");
	cr_assert_eq(again->n_unacknowledged_updates, 1);
	cr_assert(proto_equal(again->unacknowledged_updates[0], call_at(2)->update));
	cr_assert_eq(events[EVENT(SHUTDOWN)], 0);
}

Test(executor, sends_what_happened_between_subscribing_and_subscribed)
{
	start();
	until(&agent, agent.stream);
	update("t", MESOS__TASK_STATE__TASK_RUNNING);
	get_subscribed();
	until(&agent, agent.call_count == 2);
	cr_assert_eq(call_at(1)->type, CALL(UPDATE));
	cr_assert_eq(call_at(0)->subscribe->n_unacknowledged_updates, 0);
}

Test(executor, repeats_an_update_that_was_not_taken)
{
	start();
	get_subscribed();
	agent.call_status = 503;
	update("t", MESOS__TASK_STATE__TASK_RUNNING);
	until(&agent, agent.call_count == 2);
	agent.call_status = 500;
	until(&agent, agent.call_count == 3);
	agent.call_status = 202;
	until(&agent, agent.call_count == 4);
	cr_assert(proto_equal(call_at(1), call_at(2)));
	cr_assert(proto_equal(call_at(1), call_at(3)));
}

/* Whatever is wrong with it would be so again. */
Test(executor, does_not_repeat_an_update_that_was_refused)
{
	start();
	get_subscribed();
	agent.call_status = 400;
	update("t", MESOS__TASK_STATE__TASK_STARTING);
	update("t", MESOS__TASK_STATE__TASK_RUNNING);
	until(&agent, agent.call_count == 3);
	cr_assert_eq(call_at(2)->update->status->state, MESOS__TASK_STATE__TASK_RUNNING);
}

/* An agent drops what it is told of a task after its end. */
Test(executor, no_update_overtakes_one_that_was_not_taken)
{
	start();
	get_subscribed();
	agent.call_status = 503;
	update("t", MESOS__TASK_STATE__TASK_STARTING);
	until(&agent, agent.call_count == 2);
	agent.call_status = 202;
	update("t", MESOS__TASK_STATE__TASK_RUNNING);
	update("t", MESOS__TASK_STATE__TASK_FINISHED);
	until(&agent, agent.call_count == 5);
	cr_assert(proto_equal(call_at(1), call_at(2)));
	cr_assert_eq(call_at(3)->update->status->state, MESOS__TASK_STATE__TASK_RUNNING);
	cr_assert_eq(call_at(4)->update->status->state, MESOS__TASK_STATE__TASK_FINISHED);
}

Test(executor, waits_for_an_agent_that_is_not_ready)
{
	agent.subscribe_status = 503;
	start();
	until(&agent, agent.subscribe_count == 1);
	agent.subscribe_status = 200;
	get_subscribed();
	cr_assert_null(failure);
}

Test(executor, fails_when_refused)
{
	agent.subscribe_status = 400;
	start();
	until(&agent, failure);
	cr_assert_not_null(strstr(failure, "go away"));
}

Test(executor, comes_back_when_the_agent_does)
{
	start();
	get_subscribed();
	update("t", MESOS__TASK_STATE__TASK_RUNNING);
	until(&agent, agent.call_count == 2);
	fake_stop(&agent);
	until(&agent, !executor_driver_connected(driver));
	update("t", MESOS__TASK_STATE__TASK_FINISHED);
	fake_start(&agent);
	get_subscribed();
	cr_assert_eq(call_at(2)->subscribe->n_unacknowledged_updates, 2);
	cr_assert_eq(events[EVENT(SHUTDOWN)], 0);
}

Test(executor, shuts_down_after_the_recovery_timeout)
{
	setenv("MESOS_RECOVERY_TIMEOUT", "200ms", 1);
	start();
	get_subscribed();
	fake_stop(&agent);
	until(&agent, !executor_driver_connected(driver));
	cr_assert_eq(events[EVENT(SHUTDOWN)], 0);
	until(&agent, events[EVENT(SHUTDOWN)] == 1);
}

Test(executor, shuts_down_at_once_without_checkpointing)
{
	setenv("MESOS_CHECKPOINT", "0", 1);
	start();
	get_subscribed();
	fake_end_stream(&agent);
	until(&agent, events[EVENT(SHUTDOWN)] == 1);
	cr_assert_eq(agent.subscribe_count, 1);
}

Test(executor, is_told_of_a_shutdown_once)
{
	start();
	get_subscribed();
	send_bare(EVENT(SHUTDOWN));
	send_bare(EVENT(SHUTDOWN));
	until(&agent, events[EVENT(SHUTDOWN)] == 1);
	/* The last updates can still be sent. */
	update("t", MESOS__TASK_STATE__TASK_KILLED);
	until(&agent, agent.call_count == 2);
	fake_end_stream(&agent);
	until(&agent, !executor_driver_connected(driver));
	cr_assert_eq(events[EVENT(SHUTDOWN)], 1);
}

Test(executor, survives_events_without_content)
{
	start();
	get_subscribed();
	send_bare(EVENT(LAUNCH));
	send_bare(EVENT(LAUNCH_GROUP));
	send_bare(EVENT(ACKNOWLEDGED));
	http_stream_record(agent.stream, "\xff", 1);
	send_bare(EVENT(ERROR));
	until(&agent, events[EVENT(ERROR)] == 1);
	cr_assert_eq(events[EVENT(LAUNCH)] + events[EVENT(LAUNCH_GROUP)] +
			     events[EVENT(ACKNOWLEDGED)],
		     0);
}

Test(executor, may_be_closed_at_subscribed)
{
	close_in_callback = true;
	start();
	until(&agent, agent.stream);
	send_subscribed();
	send_bare(EVENT(ERROR));
	until(&agent, agent.streams_closed == 1);
	cr_assert_eq(events[EVENT(ERROR)], 0);
}

Test(executor, may_be_closed_when_refused)
{
	close_in_callback = true;
	agent.subscribe_status = 400;
	start();
	until(&agent, failure);
}

Test(executor, may_be_closed_at_shutdown)
{
	setenv("MESOS_CHECKPOINT", "0", 1);
	start();
	get_subscribed();
	update("t", MESOS__TASK_STATE__TASK_RUNNING);
	close_in_callback = true;
	fake_end_stream(&agent);
	until(&agent, events[EVENT(SHUTDOWN)] == 1);
}
