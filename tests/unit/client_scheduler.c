/* The scheduler driver against a fake master. */
#include <stdlib.h>
#include <string.h>

#include "base/time/clock.h"
#include "client/scheduler.h"
#include "client_harness.h"

static struct fake master;
static struct scheduler_driver *driver;
static struct arena arena;
static int subscribed, offers, disconnected, unreachable, torn_down, refused_status;
static char *failure, *refusal;
static bool close_in_callback;

static void maybe_close(void)
{
	if (!close_in_callback)
		return;
	scheduler_driver_close(driver);
	driver = NULL;
}

static void on_event(void *context, const Mesos__Scheduler__Event *event)
{
	cr_assert_eq(context, &master);
	subscribed += event->type == MESOS__SCHEDULER__EVENT__TYPE__SUBSCRIBED;
	offers += event->type == MESOS__SCHEDULER__EVENT__TYPE__OFFERS;
	cr_assert_neq(event->type, MESOS__SCHEDULER__EVENT__TYPE__HEARTBEAT);
	maybe_close();
}

static void on_disconnected(void *context, const char *why)
{
	cr_assert_not_null(why);
	disconnected++;
	maybe_close();
}

static void on_failed(void *context, const char *why)
{
	cr_assert_null(failure, "failed twice");
	failure = arena_strdup(&arena, why);
	maybe_close();
}

static void on_refused(void *context, Mesos__Scheduler__Call__Type type, int status,
		       const char *why)
{
	refused_status = status;
	refusal = arena_strdup(&arena, why);
	maybe_close();
}

static void on_unreachable(void *context, const char *why)
{
	cr_assert_not_null(why);
	unreachable++;
	maybe_close();
}

static void on_torn_down(void *context)
{
	cr_assert_eq(context, &master);
	torn_down++;
	maybe_close();
}

static const struct scheduler_handlers handlers = {
	.event = on_event,
	.disconnected = on_disconnected,
	.failed = on_failed,
	.refused = on_refused,
	.unreachable = on_unreachable,
};

static Mesos__Scheduler__Call *call_of(struct slice body)
{
	struct err err;
	Mesos__Scheduler__Call *call = proto_unpack(&mesos__scheduler__call__descriptor, &arena,
						    body.data, body.len, &err);

	cr_assert_not_null(call, "%s", err.text);
	return call;
}

static Mesos__Scheduler__Call *call_at(int index)
{
	cr_assert_lt(index, master.call_count);
	return call_of((struct slice){master.calls[index].body.data, master.calls[index].body.len});
}

static bool is_subscribe(struct slice body)
{
	return call_of(body)->type == MESOS__SCHEDULER__CALL__TYPE__SUBSCRIBE;
}

static void start(const char *address)
{
	Mesos__FrameworkInfo info = MESOS__FRAMEWORK_INFO__INIT;
	struct err err;

	info.user = (char *)"user";
	info.name = (char *)"name";
	struct scheduler_options options = {.master = address, .info = &info};
	cr_assert_eq(
		scheduler_driver_create(&master.loop, &options, &handlers, &master, &driver, &err),
		0, "%s", err.text);
}

static void set_up(void)
{
	arena_init(&arena);
	fake_init(&master, is_subscribe);
}

static void tear_down(void)
{
	if (driver)
		scheduler_driver_close(driver);
	fake_finish(&master);
	arena_free(&arena);
}

TestSuite(scheduler, .init = set_up, .fini = tear_down, .timeout = 60);

static void send_subscribed(double heartbeat)
{
	Mesos__Scheduler__Event event = MESOS__SCHEDULER__EVENT__INIT;
	Mesos__Scheduler__Event__Subscribed body = MESOS__SCHEDULER__EVENT__SUBSCRIBED__INIT;
	Mesos__FrameworkID id = MESOS__FRAMEWORK_ID__INIT;

	id.value = (char *)"framework-1";
	body.framework_id = &id;
	body.has_heartbeat_interval_seconds = 1;
	body.heartbeat_interval_seconds = heartbeat;
	event.has_type = 1;
	event.type = MESOS__SCHEDULER__EVENT__TYPE__SUBSCRIBED;
	event.subscribed = &body;
	fake_send(&master, &event);
}

static void send_bare(Mesos__Scheduler__Event__Type type)
{
	Mesos__Scheduler__Event event = MESOS__SCHEDULER__EVENT__INIT;

	event.has_type = 1;
	event.type = type;
	fake_send(&master, &event);
}

static void get_subscribed(void)
{
	int before = subscribed;

	until(&master, master.subscribe_count > before && master.stream);
	send_subscribed(15);
	until(&master, subscribed > before);
}

static void revive(void)
{
	Mesos__Scheduler__Call call = MESOS__SCHEDULER__CALL__INIT;

	call.type = MESOS__SCHEDULER__CALL__TYPE__REVIVE;
	scheduler_driver_call(driver, &call);
}

Test(scheduler, subscribes_and_calls)
{
	Mesos__Scheduler__Call *call;

	start(master.address);
	cr_assert_str_eq(scheduler_driver_id(driver), "");
	revive(); /* dropped: not subscribed */
	get_subscribed();
	cr_assert_str_eq(scheduler_driver_id(driver), "framework-1");
	cr_assert_str_eq(master.calls[0].path, "/api/v1/scheduler");
	call = call_at(0);
	cr_assert_str_eq(call->subscribe->framework_info->name, "name");
	cr_assert_null(call->framework_id);
	revive();
	until(&master, master.call_count == 2);
	call = call_at(1);
	cr_assert_eq(call->type, MESOS__SCHEDULER__CALL__TYPE__REVIVE);
	cr_assert_str_eq(call->framework_id->value, "framework-1");
	cr_assert_str_eq(master.calls[1].stream_id, "stream-1");
	send_bare(MESOS__SCHEDULER__EVENT__TYPE__HEARTBEAT);
	send_bare(MESOS__SCHEDULER__EVENT__TYPE__OFFERS);
	until(&master, offers == 1);
	cr_assert_null(failure);
}

Test(scheduler, drops_an_event_that_does_not_parse)
{
	start(master.address);
	get_subscribed();
	http_stream_record(master.stream, "\xff\xff", 2);
	send_bare(MESOS__SCHEDULER__EVENT__TYPE__OFFERS);
	until(&master, offers == 1);
}

Test(scheduler, acknowledges_only_what_wants_it)
{
	Mesos__TaskStatus status = MESOS__TASK_STATUS__INIT;
	Mesos__TaskID task_id = MESOS__TASK_ID__INIT;
	Mesos__AgentID agent_id = MESOS__AGENT_ID__INIT;

	start(master.address);
	get_subscribed();
	task_id.value = (char *)"t";
	agent_id.value = (char *)"a";
	status.task_id = &task_id;
	status.state = MESOS__TASK_STATE__TASK_LOST;
	scheduler_driver_acknowledge(driver, &status);
	status.agent_id = &agent_id;
	scheduler_driver_acknowledge(driver, &status);
	status.has_uuid = 1;
	status.uuid = (ProtobufCBinaryData){16, (uint8_t *)"0123456789abcdef"};
	scheduler_driver_acknowledge(driver, &status);
	until(&master, master.call_count == 2);
	cr_assert_eq(call_at(1)->type, MESOS__SCHEDULER__CALL__TYPE__ACKNOWLEDGE);
	cr_assert_str_eq(call_at(1)->acknowledge->task_id->value, "t");
	cr_assert_eq(call_at(1)->acknowledge->uuid.len, 16);
}

static void follow(int status)
{
	start(master.address);
	master.subscribe_status = status;
	master.location = "//127.0.0.1:1/api/v1/scheduler";
	until(&master, unreachable == 2); /* redirected, then refused by port 1 */
	/* The one that was given is asked again. */
	master.subscribe_status = 200;
	get_subscribed();
	cr_assert_eq(master.subscribe_count, 2);
}

Test(scheduler, follows_a_redirect)
{
	follow(307);
}

Test(scheduler, follows_a_redirect_of_old)
{
	follow(302);
}

Test(scheduler, follows_a_permanent_redirect)
{
	follow(308);
}

Test(scheduler, tries_again_after_503)
{
	start(master.address);
	master.subscribe_status = 503;
	until(&master, unreachable == 1);
	cr_assert_eq(disconnected, 0);
	master.subscribe_status = 200;
	get_subscribed();
	cr_assert_null(failure);
}

Test(scheduler, tries_again_when_nobody_listens)
{
	fake_stop(&master);
	start(master.address);
	until(&master, unreachable == 2);
	fake_start(&master);
	get_subscribed();
}

Test(scheduler, fails_when_refused)
{
	start(master.address);
	master.subscribe_status = 403;
	until(&master, failure);
	cr_assert_not_null(strstr(failure, "403"));
	cr_assert_not_null(strstr(failure, "go away"));
	cr_assert_eq(unreachable, 0);
	scheduler_driver_teardown(driver, on_torn_down);
	until(&master, torn_down == 1);
	cr_assert_eq(master.call_count, 1);
}

Test(scheduler, fails_by_an_error_event)
{
	Mesos__Scheduler__Event event = MESOS__SCHEDULER__EVENT__INIT;
	Mesos__Scheduler__Event__Error body = MESOS__SCHEDULER__EVENT__ERROR__INIT;

	start(master.address);
	get_subscribed();
	body.message = (char *)"Framework failed over";
	event.has_type = 1;
	event.type = MESOS__SCHEDULER__EVENT__TYPE__ERROR;
	event.error = &body;
	fake_send(&master, &event);
	fake_end_stream(&master);
	until(&master, failure);
	cr_assert_str_eq(failure, "Framework failed over");
	scheduler_driver_teardown(driver, on_torn_down);
	until(&master, torn_down == 1);
	cr_assert_eq(disconnected, 0);
	cr_assert_eq(master.subscribe_count, 1);
}

Test(scheduler, subscribes_again_with_its_id)
{
	start(master.address);
	get_subscribed();
	fake_end_stream(&master);
	until(&master, disconnected == 1);
	revive(); /* dropped */
	get_subscribed();
	cr_assert_eq(disconnected, 1);
	cr_assert_eq(unreachable, 0);
	cr_assert_str_eq(call_at(1)->framework_id->value, "framework-1");
	cr_assert_str_eq(call_at(1)->subscribe->framework_info->id->value, "framework-1");
}

/* A subscription that worked makes up for the tries before it. */
Test(scheduler, is_as_quick_after_the_second_loss_as_after_the_first)
{
	uint64_t begin, waits[3];

	start(master.address);
	get_subscribed();
	for (int i = 0; i < 3; i++) {
		begin = uv_hrtime();
		fake_end_stream(&master);
		until(&master, disconnected == i + 1);
		get_subscribed();
		waits[i] = uv_hrtime() - begin;
		cr_expect_geq(waits[i], 90 * (uint64_t)MILLISECOND);
	}
	/* The third pause would be four times the first. */
	cr_expect_lt(waits[2], 3 * waits[0] + 100 * (uint64_t)MILLISECOND);
}

Test(scheduler, survives_a_restart_of_the_master)
{
	start(master.address);
	get_subscribed();
	fake_stop(&master);
	until(&master, unreachable >= 1);
	fake_start(&master);
	get_subscribed();
	cr_assert_eq(disconnected, 1);
	cr_assert_str_eq(call_at(1)->framework_id->value, "framework-1");
}

Test(scheduler, takes_silence_for_a_lost_connection)
{
	start(master.address);
	until(&master, master.stream);
	send_subscribed(0.02);
	until(&master, disconnected == 1);
	get_subscribed();
}

Test(scheduler, subscribes_again_when_a_call_has_no_answer)
{
	start(master.address);
	get_subscribed();
	master.call_status = 0;
	revive();
	revive();
	until(&master, master.call_count == 2);
	fake_stop(&master); /* breaks the calls, too */
	until(&master, disconnected == 1);
	fake_start(&master);
	get_subscribed();
}

Test(scheduler, tells_of_a_refused_call)
{
	start(master.address);
	get_subscribed();
	master.call_status = 400;
	revive();
	until(&master, refused_status == 400);
	cr_assert_str_eq(refusal, "answer");
	cr_assert_eq(disconnected, 0);
}

Test(scheduler, tears_down)
{
	start(master.address);
	get_subscribed();
	scheduler_driver_teardown(driver, on_torn_down);
	scheduler_driver_teardown(driver, on_torn_down);
	cr_assert_eq(torn_down, 0);
	until(&master, torn_down == 1);
	cr_assert_eq(call_at(1)->type, MESOS__SCHEDULER__CALL__TYPE__TEARDOWN);
	until(&master, master.streams_closed == 1);
	cr_assert_eq(master.call_count, 2);
}

Test(scheduler, tears_down_when_the_stream_ends_first)
{
	start(master.address);
	get_subscribed();
	master.call_status = 0;
	scheduler_driver_teardown(driver, on_torn_down);
	until(&master, master.call_count == 2);
	fake_end_stream(&master);
	until(&master, torn_down == 1);
	cr_assert_eq(disconnected, 0);
}

Test(scheduler, tears_down_without_a_master)
{
	fake_stop(&master);
	start(master.address);
	scheduler_driver_teardown(driver, on_torn_down);
	cr_assert_eq(torn_down, 0, "not inside the call");
	until(&master, torn_down == 1);
}

Test(scheduler, may_be_closed_at_subscribed)
{
	close_in_callback = true;
	start(master.address);
	until(&master, master.stream);
	send_subscribed(15);
	send_bare(MESOS__SCHEDULER__EVENT__TYPE__OFFERS);
	until(&master, master.streams_closed == 1);
	cr_assert_eq(offers, 0);
}

Test(scheduler, may_be_closed_when_refused)
{
	close_in_callback = true;
	master.subscribe_status = 403;
	start(master.address);
	until(&master, failure);
}

Test(scheduler, may_be_closed_when_disconnected)
{
	start(master.address);
	get_subscribed();
	close_in_callback = true;
	fake_end_stream(&master);
	until(&master, disconnected == 1);
}

Test(scheduler, may_be_closed_when_unreachable)
{
	close_in_callback = true;
	fake_stop(&master);
	start(master.address);
	until(&master, unreachable == 1);
}

Test(scheduler, may_be_closed_when_a_call_is_refused)
{
	start(master.address);
	get_subscribed();
	close_in_callback = true;
	master.call_status = 500;
	revive();
	revive();
	until(&master, refused_status == 500);
}

Test(scheduler, may_be_closed_when_torn_down)
{
	start(master.address);
	get_subscribed();
	close_in_callback = true;
	scheduler_driver_teardown(driver, on_torn_down);
	until(&master, torn_down == 1);
}

Test(scheduler, says_that_an_address_is_bad)
{
	Mesos__FrameworkInfo info = MESOS__FRAMEWORK_INFO__INIT;
	struct err err;

	struct scheduler_options options = {.master = "zk://host/", .info = &info};
	cr_assert_eq(
		scheduler_driver_create(&master.loop, &options, &handlers, NULL, &driver, &err),
		ERR_INVALID);
	cr_assert_null(driver);
}
