/* A scheduler driver whose master is found by ZooKeeper, which is in memory. */
#include <stdlib.h>
#include <string.h>

#include "client/scheduler.h"
#include "client_harness.h"
#include "proto/wire/wire_write.h"
#include "tests/unit/net_zookeeper.h"

static struct fake master;
static struct scheduler_driver *driver;
static int subscribed, disconnected, unreachable;
static char failure[256], last_why[256];

static void on_event(void *context, const Mesos__Scheduler__Event *event)
{
	subscribed += event->type == MESOS__SCHEDULER__EVENT__TYPE__SUBSCRIBED;
}

static void on_disconnected(void *context, const char *why)
{
	disconnected++;
	snprintf(last_why, sizeof(last_why), "%s", why);
}

static void on_failed(void *context, const char *why)
{
	snprintf(failure, sizeof(failure), "%s", why);
}

static void on_unreachable(void *context, const char *why)
{
	unreachable++;
	snprintf(last_why, sizeof(last_why), "%s", why);
}

static const struct scheduler_handlers handlers = {
	.event = on_event,
	.disconnected = on_disconnected,
	.failed = on_failed,
	.unreachable = on_unreachable,
};

static bool is_subscribe(struct slice body)
{
	uint64_t type = 0;

	return wire_number(body, 2, &type) && type == MESOS__SCHEDULER__CALL__TYPE__SUBSCRIBE;
}

static void start(void)
{
	Mesos__FrameworkInfo info = MESOS__FRAMEWORK_INFO__INIT;
	struct scheduler_options options = {.master = "zk://h:1/m", .info = &info};
	struct err err;

	info.user = (char *)"user";
	info.name = (char *)"name";
	cr_assert_eq(
		scheduler_driver_create(&master.loop, &options, &handlers, &master, &driver, &err),
		0, "%s", err.text);
}

static void set_up(void)
{
	fake_zookeeper_reset();
	fake_zookeeper_put("/m", "");
	fake_init(&master, is_subscribe);
	start();
	until(&master, fake_zookeeper_is_open());
	fake_zookeeper_connect();
	until(&master, unreachable);
	unreachable = 0;
}

static void tear_down(void)
{
	scheduler_driver_close(driver);
	fake_finish(&master);
	fake_zookeeper_reset();
}

TestSuite(scheduler_detection, .init = set_up, .fini = tear_down, .timeout = 60);

/* The fake master, as it stands in the group. */
static void put(const char *node, const char *host)
{
	char *text = xprintf("master@%s:%d", host, master.port);

	fake_zookeeper_put(node, text);
	free(text);
}

static void send_subscribed(void)
{
	Mesos__Scheduler__Event event = MESOS__SCHEDULER__EVENT__INIT;
	Mesos__Scheduler__Event__Subscribed body = MESOS__SCHEDULER__EVENT__SUBSCRIBED__INIT;
	Mesos__FrameworkID id = MESOS__FRAMEWORK_ID__INIT;

	id.value = (char *)"f1";
	body.framework_id = &id;
	event.has_type = 1;
	event.type = MESOS__SCHEDULER__EVENT__TYPE__SUBSCRIBED;
	event.subscribed = &body;
	fake_send(&master, &event);
}

static void subscribe(void)
{
	int before = subscribed;

	until(&master, master.stream);
	send_subscribed();
	until(&master, subscribed > before);
}

static void turn_often(void)
{
	for (int i = 0; i < 50; i++)
		uv_run(&master.loop, UV_RUN_NOWAIT);
}

Test(scheduler_detection, it_waits_for_a_leader)
{
	cr_assert_str_eq(last_why, "no master leads");
	cr_assert_eq(master.call_count, 0);
	put("/m/0000000005", "127.0.0.1");
	subscribe();
	cr_assert_eq(master.call_count, 1);
}

Test(scheduler_detection, a_leader_that_zookeeper_loses_is_kept)
{
	put("/m/0000000005", "127.0.0.1");
	subscribe();
	fake_zookeeper_remove("/m/0000000005");
	turn_often();
	cr_assert_not_null(master.stream);
	cr_assert_eq(disconnected, 0);
	cr_assert_eq(unreachable, 0);
	/* Nor does it matter that the same comes back. */
	put("/m/0000000006", "127.0.0.1");
	turn_often();
	cr_assert_eq(disconnected, 0);
	cr_assert_eq(master.subscribe_count, 1);
}

Test(scheduler_detection, another_leader_is_gone_to)
{
	put("/m/0000000005", "127.0.0.1");
	subscribe();
	put("/m/0000000004", "127.0.0.2"); /* where nobody listens */
	until(&master, disconnected);
	cr_assert_str_eq(last_why, "another master leads");
	until(&master, master.streams_closed == 1);
	until(&master, unreachable);
	put("/m/0000000003", "127.0.0.1");
	subscribe();
	cr_assert_eq(master.subscribe_count, 2);
	cr_assert_str_eq(scheduler_driver_id(driver), "f1");
}

/* Refused at the old place, it hears of the new one and goes there at once. */
Test(scheduler_detection, a_leader_that_cannot_be_reached_is_left_for_the_next)
{
	fake_zookeeper_put("/m/0000000005", "master@127.0.0.1:1");
	until(&master, unreachable);
	put("/m/0000000004", "127.0.0.1");
	subscribe();
	cr_assert_eq(master.subscribe_count, 1);
}

Test(scheduler_detection, a_leader_of_no_sense_is_a_failure)
{
	fake_zookeeper_put("/m/what_0000000001", "x");
	until(&master, *failure);
	cr_assert(strstr(failure, "its label is not known"), "%s", failure);
	put("/m/0000000000", "127.0.0.1");
	turn_often();
	cr_assert_eq(master.call_count, 0, "it ended");
}
