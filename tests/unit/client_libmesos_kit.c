#include "client_libmesos_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN(slice) (int)(slice).len, (slice).data /* for "%.*s" */

struct fake master;
struct libmesos_scheduler *driver;
atomic_int callbacks, fail_update, stop_in_update;
static atomic_int in_callbacks, overlaps;
char last_master[256];
struct buf last_status;

static void enter(void)
{
	overlaps += atomic_fetch_add(&in_callbacks, 1) != 0;
	callbacks++;
}

static int leave(int rv)
{
	in_callbacks--;
	return rv;
}

/* Before the note, which the test waits for. */
static void keep_master(struct slice info)
{
	struct slice host = wire_part_of(info, 5);
	uint64_t port = 0;

	wire_number(info, 3, &port);
	snprintf(last_master, sizeof(last_master), "%.*s:%d", SHOWN(host), (int)port);
}

static int on_registered(void *context, struct slice framework_id, struct slice master_info)
{
	enter();
	cr_assert_eq(context, &master);
	keep_master(master_info);
	note("registered:%.*s ", (int)framework_id.len - 2, framework_id.data + 2);
	return leave(0);
}

static int on_reregistered(void *context, struct slice master_info)
{
	enter();
	keep_master(master_info);
	note("reregistered ");
	return leave(0);
}

static int on_disconnected(void *context)
{
	enter();
	note("disconnected ");
	return leave(0);
}

static int on_offers(void *context, struct slice offers)
{
	struct slice offer;
	int count = 0;

	enter();
	while (wire_next(&offers, 1, &offer))
		count++;
	note("offers:%d ", count);
	return leave(0);
}

static int on_rescinded(void *context, struct slice offer_id)
{
	enter();
	note("rescinded:%.*s ", SHOWN(wire_part_of(offer_id, 1)));
	return leave(0);
}

static int on_update(void *context, struct slice status)
{
	uint64_t state = 0, reason = 0;

	enter();
	buf_clear(&last_status);
	buf_append(&last_status, status.data, status.len);
	wire_number(status, 2, &state);
	wire_number(status, 10, &reason);
	note("update:%d/%d ", (int)state, (int)reason);
	if (stop_in_update)
		libmesos_scheduler_stop(driver, false);
	return leave(fail_update ? -1 : 0);
}

static int on_message(void *context, struct slice executor_id, struct slice agent_id,
		      struct slice data)
{
	enter();
	note("message:%.*s/%.*s/%.*s ", SHOWN(wire_part_of(executor_id, 1)),
	     SHOWN(wire_part_of(agent_id, 1)), SHOWN(data));
	return leave(0);
}

static int on_agent_lost(void *context, struct slice agent_id)
{
	enter();
	note("agent_lost:%.*s ", SHOWN(wire_part_of(agent_id, 1)));
	return leave(0);
}

static int on_executor_lost(void *context, struct slice executor_id, struct slice agent_id,
			    int status)
{
	enter();
	note("executor_lost:%.*s/%.*s/%d ", SHOWN(wire_part_of(executor_id, 1)),
	     SHOWN(wire_part_of(agent_id, 1)), status);
	return leave(0);
}

static void on_error(void *context, const char *why)
{
	enter();
	note("error:%s ", why);
	leave(0);
}

static const struct libmesos_scheduler_handlers handlers = {
	.registered = on_registered,
	.reregistered = on_reregistered,
	.disconnected = on_disconnected,
	.offers = on_offers,
	.rescinded = on_rescinded,
	.update = on_update,
	.message = on_message,
	.agent_lost = on_agent_lost,
	.executor_lost = on_executor_lost,
	.error = on_error,
};

static bool is_subscribe(struct slice body)
{
	uint64_t type = 0;

	wire_number(body, 2, &type);
	return type == MESOS__SCHEDULER__CALL__TYPE__SUBSCRIBE;
}

const char *principal;

void make_with(const struct libmesos_scheduler_options *options)
{
	driver = libmesos_scheduler_new(options, &handlers, &master);
}

void make(const char *address, const char *id, bool implicit)
{
	Mesos__FrameworkInfo info = MESOS__FRAMEWORK_INFO__INIT;
	Mesos__FrameworkID framework_id = MESOS__FRAMEWORK_ID__INIT;
	struct libmesos_scheduler_options options = {.master = address,
						     .info = &info,
						     .implicit_acknowledgements = implicit,
						     .principal = principal,
						     .secret = "s"};

	framework_id.value = (char *)id;
	info.user = (char *)"";
	info.name = (char *)"name";
	info.id = id ? &framework_id : NULL;
	make_with(&options);
}

void kit_set_up(void)
{
	libmesos_init();
	fake_init(&master, is_subscribe);
	ticks_begin(&master);
}

void free_driver(void)
{
	libmesos_scheduler_free(driver);
	driver = NULL;
}

void kit_tear_down(void)
{
	/* The driver waits for answers that this thread gives. */
	if (driver)
		run_beside(&master, free_driver);
	cr_assert_eq(overlaps, 0, "callbacks at the same time");
	buf_free(&last_status);
	ticks_end();
	fake_finish(&master);
}

void say_subscribed(void)
{
	Mesos__Scheduler__Event event = MESOS__SCHEDULER__EVENT__INIT;
	Mesos__Scheduler__Event__Subscribed subscribed = MESOS__SCHEDULER__EVENT__SUBSCRIBED__INIT;
	Mesos__FrameworkID id = MESOS__FRAMEWORK_ID__INIT;

	id.value = (char *)"f1";
	subscribed.framework_id = &id;
	event.has_type = 1;
	event.type = MESOS__SCHEDULER__EVENT__TYPE__SUBSCRIBED;
	event.subscribed = &subscribed;
	fake_send(&master, &event);
}

void say_update(bool with_uuid)
{
	Mesos__Scheduler__Event event = MESOS__SCHEDULER__EVENT__INIT;
	Mesos__Scheduler__Event__Update update = MESOS__SCHEDULER__EVENT__UPDATE__INIT;
	Mesos__TaskStatus status = MESOS__TASK_STATUS__INIT;
	Mesos__TaskID task_id = MESOS__TASK_ID__INIT;
	Mesos__AgentID agent_id = MESOS__AGENT_ID__INIT;

	task_id.value = (char *)"t1";
	agent_id.value = (char *)"a1";
	status.task_id = &task_id;
	status.agent_id = &agent_id;
	status.state = MESOS__TASK_STATE__TASK_RUNNING;
	status.has_uuid = with_uuid;
	status.uuid = (ProtobufCBinaryData){16, (uint8_t *)"0123456789abcdef"};
	update.status = &status;
	event.has_type = 1;
	event.type = MESOS__SCHEDULER__EVENT__TYPE__UPDATE;
	event.update = &update;
	fake_send(&master, &event);
}

void start(void)
{
	cr_assert_eq(libmesos_scheduler_start(driver), DRIVER_RUNNING);
	until(&master, master.stream);
	say_subscribed();
	until(&master, noted("registered"));
}

enum libmesos_status revive(void)
{
	struct buf call = BUF_INIT;

	return libmesos_scheduler_call(driver, MESOS__SCHEDULER__CALL__TYPE__REVIVE, &call);
}

/* How many calls of a type came. */
int came(Mesos__Scheduler__Call__Type type)
{
	int count = 0;

	for (int i = 0; i < master.call_count; i++) {
		struct slice body = {master.calls[i].body.data, master.calls[i].body.len};
		uint64_t said = 0;

		count += wire_number(body, 2, &said) && said == type;
	}
	return count;
}

static void join_driver(void)
{
	libmesos_scheduler_join(driver);
}

void join(void)
{
	run_beside(&master, join_driver);
}
