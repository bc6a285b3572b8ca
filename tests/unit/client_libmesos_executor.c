/* The contract of libmesos' executor driver, against a fake agent. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/libmesos/executor.h"
#include "client_trace.h"
#include "proto/wire/wire_write.h"

static struct fake agent;
static struct libmesos_executor *driver;
static atomic_int fail_launch, stop_in_message;

/* The text in field 1 of a packed id. */
static struct slice id_in(struct slice id)
{
	return wire_part_of(id, 1);
}

static int on_registered(void *context, struct slice executor, struct slice framework,
			 struct slice info)
{
	struct slice name = wire_part_of(framework, 2), host = wire_part_of(info, 1);

	return note("registered:%.*s/%.*s ", (int)name.len, name.data, (int)host.len, host.data);
}

static int on_reregistered(void *context, struct slice info)
{
	struct slice host = wire_part_of(info, 1);

	return note("reregistered:%.*s ", (int)host.len, host.data);
}

static int on_disconnected(void *context)
{
	return note("disconnected ");
}

static int on_launch(void *context, struct slice task)
{
	struct slice id = id_in(wire_part_of(task, 2));

	note("launch:%.*s ", (int)id.len, id.data);
	return fail_launch ? -1 : 0;
}

static int on_kill(void *context, struct slice task_id)
{
	struct slice id = id_in(task_id);

	return note("kill:%.*s ", (int)id.len, id.data);
}

static int on_message(void *context, struct slice data)
{
	note("message:%.*s ", (int)data.len, data.data);
	if (stop_in_message) {
		libmesos_executor_send(driver, SLICE("last words"));
		libmesos_executor_stop(driver);
	}
	return 0;
}

static int on_shutdown(void *context)
{
	return note("shutdown ");
}

static void on_error(void *context, const char *why)
{
	note("error:%s ", why);
}

static const struct libmesos_executor_handlers handlers = {
	.registered = on_registered,
	.reregistered = on_reregistered,
	.disconnected = on_disconnected,
	.launch = on_launch,
	.kill = on_kill,
	.message = on_message,
	.shutdown = on_shutdown,
	.error = on_error,
};

static uint64_t type_of(struct slice body)
{
	uint64_t type = 0;

	wire_number(body, 3, &type);
	return type;
}

static bool is_subscribe(struct slice body)
{
	return type_of(body) == MESOS__EXECUTOR__CALL__TYPE__SUBSCRIBE;
}

static void set_up(void)
{
	libmesos_init();
	fake_init(&agent, is_subscribe);
	ticks_begin(&agent);
	setenv("MESOS_AGENT_ENDPOINT", agent.address, 1);
	setenv("MESOS_FRAMEWORK_ID", "f", 1);
	setenv("MESOS_EXECUTOR_ID", "e", 1);
	setenv("MESOS_CHECKPOINT", "1", 1);
	setenv("MESOS_RECOVERY_TIMEOUT", "15secs", 1);
	setenv("MESOS_SUBSCRIPTION_BACKOFF_MAX", "20ms", 1);
	setenv("MESOS_LOCAL", "1", 1); /* the process group is the test's */
	driver = libmesos_executor_new(&handlers, &agent);
}

static void free_driver(void)
{
	libmesos_executor_free(driver);
}

static void join_driver(void)
{
	libmesos_executor_join(driver);
}

static void tear_down(void)
{
	run_beside(&agent, free_driver);
	ticks_end();
	fake_finish(&agent);
}

TestSuite(libmesos_executor, .init = set_up, .fini = tear_down, .timeout = 60);

static void send_event(Mesos__Executor__Event__Type type,
		       void (*fill)(Mesos__Executor__Event *event, struct arena *arena))
{
	Mesos__Executor__Event *event;
	struct arena arena;

	arena_init(&arena);
	event = PROTO_NEW(&arena, Mesos__Executor__Event, mesos__executor__event__descriptor);
	event->has_type = 1;
	event->type = type;
	if (fill)
		fill(event, &arena);
	fake_send(&agent, event);
	arena_free(&arena);
}

static void fill_subscribed(Mesos__Executor__Event *event, struct arena *arena)
{
	Mesos__Executor__Event__Subscribed *body =
		PROTO_NEW(arena, Mesos__Executor__Event__Subscribed,
			  mesos__executor__event__subscribed__descriptor);

	body->executor_info =
		PROTO_NEW(arena, Mesos__ExecutorInfo, mesos__executor_info__descriptor);
	body->executor_info->executor_id =
		PROTO_NEW(arena, Mesos__ExecutorID, mesos__executor_id__descriptor);
	body->executor_info->executor_id->value = (char *)"e";
	body->framework_info =
		PROTO_NEW(arena, Mesos__FrameworkInfo, mesos__framework_info__descriptor);
	body->framework_info->user = body->framework_info->name = (char *)"n";
	body->agent_info = PROTO_NEW(arena, Mesos__AgentInfo, mesos__agent_info__descriptor);
	body->agent_info->hostname = (char *)"h";
	event->subscribed = body;
}

static Mesos__TaskInfo *make_task(const char *id, struct arena *arena)
{
	Mesos__TaskInfo *task = PROTO_NEW(arena, Mesos__TaskInfo, mesos__task_info__descriptor);

	task->name = (char *)"t";
	task->task_id = PROTO_NEW(arena, Mesos__TaskID, mesos__task_id__descriptor);
	task->task_id->value = (char *)id;
	task->agent_id = PROTO_NEW(arena, Mesos__AgentID, mesos__agent_id__descriptor);
	task->agent_id->value = (char *)"a";
	return task;
}

static void fill_launch(Mesos__Executor__Event *event, struct arena *arena)
{
	event->launch = PROTO_NEW(arena, Mesos__Executor__Event__Launch,
				  mesos__executor__event__launch__descriptor);
	event->launch->task = make_task("t1", arena);
}

static void fill_group(Mesos__Executor__Event *event, struct arena *arena)
{
	Mesos__TaskGroupInfo *group =
		PROTO_NEW(arena, Mesos__TaskGroupInfo, mesos__task_group_info__descriptor);

	proto_push(arena, group->n_tasks, group->tasks, make_task("g1", arena));
	proto_push(arena, group->n_tasks, group->tasks, make_task("g2", arena));
	event->launch_group = PROTO_NEW(arena, Mesos__Executor__Event__LaunchGroup,
					mesos__executor__event__launch_group__descriptor);
	event->launch_group->task_group = group;
}

static void fill_kill(Mesos__Executor__Event *event, struct arena *arena)
{
	event->kill = PROTO_NEW(arena, Mesos__Executor__Event__Kill,
				mesos__executor__event__kill__descriptor);
	event->kill->task_id = make_task("t1", arena)->task_id;
}

static void fill_message(Mesos__Executor__Event *event, struct arena *arena)
{
	event->message = PROTO_NEW(arena, Mesos__Executor__Event__Message,
				   mesos__executor__event__message__descriptor);
	event->message->data = (ProtobufCBinaryData){2, (uint8_t *)"hi"};
}

static void fill_error(Mesos__Executor__Event *event, struct arena *arena)
{
	event->error = PROTO_NEW(arena, Mesos__Executor__Event__Error,
				 mesos__executor__event__error__descriptor);
	event->error->message = (char *)"no use";
}

static void start(void)
{
	cr_assert_eq(libmesos_executor_start(driver), DRIVER_RUNNING);
	until(&agent, agent.stream);
	send_event(MESOS__EXECUTOR__EVENT__TYPE__SUBSCRIBED, fill_subscribed);
	until(&agent, noted("registered:n/h "));
}

static enum libmesos_status update(Mesos__TaskState state)
{
	Mesos__TaskStatus status = MESOS__TASK_STATUS__INIT;
	Mesos__TaskID task_id = MESOS__TASK_ID__INIT;
	struct buf bytes = BUF_INIT;
	enum libmesos_status result;

	task_id.value = (char *)"t1";
	status.task_id = &task_id;
	status.state = state;
	proto_pack(&status, &bytes);
	result = libmesos_executor_update(driver, (struct slice){bytes.data, bytes.len});
	buf_free(&bytes);
	return result;
}

static int came(Mesos__Executor__Call__Type type)
{
	int count = 0;

	for (int i = 0; i < agent.call_count; i++)
		count += type_of((struct slice){agent.calls[i].body.data,
						agent.calls[i].body.len}) == type;
	return count;
}

Test(libmesos_executor, hears_each_event)
{
	start();
	send_event(MESOS__EXECUTOR__EVENT__TYPE__LAUNCH, fill_launch);
	send_event(MESOS__EXECUTOR__EVENT__TYPE__LAUNCH_GROUP, fill_group);
	send_event(MESOS__EXECUTOR__EVENT__TYPE__KILL, fill_kill);
	send_event(MESOS__EXECUTOR__EVENT__TYPE__MESSAGE, fill_message);
	send_event(MESOS__EXECUTOR__EVENT__TYPE__HEARTBEAT, NULL);
	send_event(MESOS__EXECUTOR__EVENT__TYPE__SHUTDOWN, NULL);
	until(&agent, noted("shutdown"));
	cr_assert_str_eq(trace, "registered:n/h launch:t1 launch:g1 launch:g2 kill:t1 message:hi "
				"shutdown ");
	cr_assert_eq(libmesos_executor_stop(driver), DRIVER_STOPPED);
	run_beside(&agent, join_driver);
}

Test(libmesos_executor, knows_four_statuses)
{
	cr_assert_eq(update(MESOS__TASK_STATE__TASK_RUNNING), DRIVER_NOT_STARTED);
	cr_assert_eq(libmesos_executor_stop(driver), DRIVER_NOT_STARTED);
	cr_assert_eq(libmesos_executor_abort(driver), DRIVER_NOT_STARTED);
	cr_assert_eq(libmesos_executor_join(driver), DRIVER_NOT_STARTED);
	start();
	cr_assert_eq(libmesos_executor_start(driver), DRIVER_RUNNING);
	cr_assert_eq(update(MESOS__TASK_STATE__TASK_RUNNING), DRIVER_RUNNING);
	until(&agent, came(MESOS__EXECUTOR__CALL__TYPE__UPDATE) == 1);
	cr_assert_eq(libmesos_executor_abort(driver), DRIVER_ABORTED);
	run_beside(&agent, join_driver);
	cr_assert_eq(update(MESOS__TASK_STATE__TASK_FINISHED), DRIVER_ABORTED);
	cr_assert_eq(libmesos_executor_stop(driver), DRIVER_ABORTED);
	cr_assert_eq(libmesos_executor_stop(driver), DRIVER_STOPPED);
	cr_assert_eq(came(MESOS__EXECUTOR__CALL__TYPE__UPDATE), 1);
}

Test(libmesos_executor, comes_back_with_what_is_unacknowledged)
{
	struct slice subscribe, update_said;

	start();
	update(MESOS__TASK_STATE__TASK_RUNNING);
	until(&agent, came(MESOS__EXECUTOR__CALL__TYPE__UPDATE) == 1);
	fake_end_stream(&agent);
	until(&agent, agent.subscribe_count == 2 && agent.stream);
	until(&agent, noted("disconnected"));
	for (int i = 0; i < agent.call_count; i++) {
		struct slice body = {agent.calls[i].body.data, agent.calls[i].body.len};

		if (is_subscribe(body))
			subscribe = wire_part_of(body, 4);
	}
	cr_assert(wire_part(subscribe, 2, &update_said), "the update is told again");
	send_event(MESOS__EXECUTOR__EVENT__TYPE__SUBSCRIBED, fill_subscribed);
	until(&agent, noted("reregistered:h"));
	cr_assert_str_eq(trace, "registered:n/h disconnected reregistered:h ");
}

Test(libmesos_executor, may_not_stage)
{
	start();
	cr_assert_eq(update(MESOS__TASK_STATE__TASK_STAGING), DRIVER_ABORTED);
	run_beside(&agent, join_driver);
	cr_assert(noted("error:Attempted to send TASK_STAGING status update "));
	cr_assert_eq(came(MESOS__EXECUTOR__CALL__TYPE__UPDATE), 0);
}

Test(libmesos_executor, an_error_aborts_and_is_told)
{
	start();
	send_event(MESOS__EXECUTOR__EVENT__TYPE__ERROR, fill_error);
	run_beside(&agent, join_driver);
	cr_assert_str_eq(trace, "registered:n/h error:no use ");
	cr_assert_eq(libmesos_executor_start(driver), DRIVER_ABORTED);
}

Test(libmesos_executor, a_callback_that_fails_aborts)
{
	start();
	fail_launch = 1;
	send_event(MESOS__EXECUTOR__EVENT__TYPE__LAUNCH, fill_launch);
	send_event(MESOS__EXECUTOR__EVENT__TYPE__KILL, fill_kill);
	run_beside(&agent, join_driver);
	cr_assert_str_eq(trace, "registered:n/h launch:t1 ");
	cr_assert_eq(libmesos_executor_abort(driver), DRIVER_ABORTED);
}

Test(libmesos_executor, last_words_go_out)
{
	start();
	agent.call_status = 0; /* the agent is slow to answer */
	stop_in_message = 1;
	send_event(MESOS__EXECUTOR__EVENT__TYPE__MESSAGE, fill_message);
	until(&agent, came(MESOS__EXECUTOR__CALL__TYPE__MESSAGE) == 1);
	cr_assert(agent.stream, "it waits for the answer");
	http_reply_text(agent.calls[agent.call_count - 1].held, 202, NULL);
	agent.calls[agent.call_count - 1].held = NULL;
	run_beside(&agent, join_driver);
	until(&agent, !agent.stream);
}

Test(libmesos_executor, needs_its_environment)
{
	unsetenv("MESOS_EXECUTOR_ID");
	cr_assert_eq(libmesos_executor_start(driver), DRIVER_ABORTED);
	cr_assert(noted("error:expecting 'MESOS_EXECUTOR_ID' to be set"), "%s", trace);
	cr_assert_eq(libmesos_executor_join(driver), DRIVER_ABORTED);
}

/* ---- who does not go --------------------------------------------------------------------- */

static void register_with(const char *grace)
{
	/* The process group is to be killed: one of its own. */
	setpgid(0, 0);
	unsetenv("MESOS_LOCAL");
	setenv("MESOS_EXECUTOR_SHUTDOWN_GRACE_PERIOD", grace, 1);
	cr_assert_eq(libmesos_executor_start(driver), DRIVER_RUNNING);
	until(&agent, agent.stream);
	send_event(MESOS__EXECUTOR__EVENT__TYPE__SUBSCRIBED, fill_subscribed);
	until(&agent, noted("registered"));
}

/* No grace is one, too. */
Test(libmesos_executor, one_without_grace_is_killed_at_once, .signal = SIGKILL)
{
	register_with("0ns");
	send_event(MESOS__EXECUTOR__EVENT__TYPE__SHUTDOWN, NULL);
	fake_wait_ms(&agent, 4000); /* of the five seconds that others have */
}

Test(libmesos_executor, one_that_does_not_shut_down_is_killed, .signal = SIGKILL)
{
	register_with("50ms");
	send_event(MESOS__EXECUTOR__EVENT__TYPE__SHUTDOWN, NULL);
	until(&agent, false);
}

Test(libmesos_executor, a_grace_period_of_no_sense_is_the_usual_one)
{
	register_with("-1secs");
	send_event(MESOS__EXECUTOR__EVENT__TYPE__SHUTDOWN, NULL);
	until(&agent, noted("shutdown"));
	fake_wait_ms(&agent, 300); /* of five seconds */
}
