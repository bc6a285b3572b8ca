/* What libmesos' scheduler driver passes on: each event to its callback, each call to the master;
 * and strings and programs that say where that is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory/arena.h"
#include "client_libmesos_kit.h"
#include "client_program.h"

#define CALL(name) MESOS__SCHEDULER__CALL__TYPE__##name
#define EVENT(name) MESOS__SCHEDULER__EVENT__TYPE__##name

TestSuite(libmesos_told, .init = kit_set_up, .fini = kit_tear_down, .timeout = 60);

static void send_as(Mesos__Scheduler__Event *event, Mesos__Scheduler__Event__Type type)
{
	event->has_type = 1;
	event->type = type;
	fake_send(&master, event);
}

/* ---- events ------------------------------------------------------------------------------- */

static Mesos__AgentID agent_id = MESOS__AGENT_ID__INIT;
static Mesos__ExecutorID executor_id = MESOS__EXECUTOR_ID__INIT;
static Mesos__FrameworkID framework_id = MESOS__FRAMEWORK_ID__INIT;

static void name_all(void)
{
	agent_id.value = (char *)"a1";
	executor_id.value = (char *)"e1";
	framework_id.value = (char *)"f1";
}

static void say_offers(void)
{
	Mesos__Scheduler__Event event = MESOS__SCHEDULER__EVENT__INIT;
	Mesos__Scheduler__Event__Offers offers = MESOS__SCHEDULER__EVENT__OFFERS__INIT;
	Mesos__Offer offer = MESOS__OFFER__INIT, *list[] = {&offer, &offer, &offer};
	Mesos__OfferID id = MESOS__OFFER_ID__INIT;

	id.value = offer.hostname = (char *)"o1";
	offer.id = &id;
	offer.framework_id = &framework_id;
	offer.agent_id = &agent_id;
	offers.offers = list;
	offers.n_offers = 3;
	event.offers = &offers;
	send_as(&event, EVENT(OFFERS));
}

static void say_rescind(void)
{
	Mesos__Scheduler__Event event = MESOS__SCHEDULER__EVENT__INIT;
	Mesos__Scheduler__Event__Rescind rescind = MESOS__SCHEDULER__EVENT__RESCIND__INIT;
	Mesos__OfferID id = MESOS__OFFER_ID__INIT;

	id.value = (char *)"o7";
	rescind.offer_id = &id;
	event.rescind = &rescind;
	send_as(&event, EVENT(RESCIND));
}

static void say_message(const char *data)
{
	Mesos__Scheduler__Event event = MESOS__SCHEDULER__EVENT__INIT;
	Mesos__Scheduler__Event__Message message = MESOS__SCHEDULER__EVENT__MESSAGE__INIT;

	message.agent_id = &agent_id;
	message.executor_id = &executor_id;
	message.data = (ProtobufCBinaryData){strlen(data), (uint8_t *)data};
	event.message = &message;
	send_as(&event, EVENT(MESSAGE));
}

static void say_failure(bool of_executor, int status)
{
	Mesos__Scheduler__Event event = MESOS__SCHEDULER__EVENT__INIT;
	Mesos__Scheduler__Event__Failure failure = MESOS__SCHEDULER__EVENT__FAILURE__INIT;

	failure.agent_id = &agent_id;
	failure.executor_id = of_executor ? &executor_id : NULL;
	failure.has_status = of_executor;
	failure.status = status;
	event.failure = &failure;
	send_as(&event, EVENT(FAILURE));
}

Test(libmesos_told, each_event_has_its_callback)
{
	Mesos__Scheduler__Event other = MESOS__SCHEDULER__EVENT__INIT;

	name_all();
	make(master.address, NULL, true);
	start();
	trace_clear();
	say_offers();
	say_rescind();
	send_as(&other, EVENT(HEARTBEAT));
	say_message("hello");
	say_failure(false, 0);
	send_as(&other, EVENT(INVERSE_OFFERS));
	say_failure(true, 9);
	until(&master, noted("executor_lost"));
	cr_assert_str_eq(trace, "offers:3 rescinded:o7 message:e1/a1/hello agent_lost:a1 "
				"executor_lost:e1/a1/9 ");
}

/* ---- acknowledgements --------------------------------------------------------------------- */

static struct slice status_of(struct buf *out, bool with_uuid, bool with_agent)
{
	Mesos__TaskStatus status = MESOS__TASK_STATUS__INIT;
	Mesos__TaskID task_id = MESOS__TASK_ID__INIT;

	task_id.value = (char *)"t1";
	status.task_id = &task_id;
	status.agent_id = with_agent ? &agent_id : NULL;
	status.state = MESOS__TASK_STATE__TASK_RUNNING;
	status.has_uuid = with_uuid;
	status.uuid = (ProtobufCBinaryData){16, (uint8_t *)"0123456789abcdef"};
	buf_free(out);
	proto_pack(&status, out);
	return (struct slice){out->data, out->len};
}

Test(libmesos_told, what_is_acknowledged_names_task_agent_and_update)
{
	struct buf bytes = BUF_INIT;
	struct arena arena;
	struct err err;
	const Mesos__Scheduler__Call *call;

	name_all();
	make(master.address, NULL, false);
	start();
	cr_assert_not(libmesos_scheduler_acknowledges(driver));
	cr_assert_eq(libmesos_scheduler_acknowledge(driver, status_of(&bytes, false, true)),
		     DRIVER_RUNNING);
	cr_assert_eq(libmesos_scheduler_acknowledge(driver, status_of(&bytes, true, false)),
		     DRIVER_RUNNING);
	cr_assert_eq(libmesos_scheduler_acknowledge(driver, status_of(&bytes, true, true)),
		     DRIVER_RUNNING);
	until(&master, came(CALL(ACKNOWLEDGE)));
	cr_assert_eq(master.call_count, 2, "SUBSCRIBE and one ACKNOWLEDGE");
	arena_init(&arena);
	call = proto_unpack(&mesos__scheduler__call__descriptor, &arena, master.calls[1].body.data,
			    master.calls[1].body.len, &err);
	cr_assert_str_eq(call->acknowledge->task_id->value, "t1");
	cr_assert_str_eq(call->acknowledge->agent_id->value, "a1");
	cr_assert_eq(call->acknowledge->uuid.len, 16);
	cr_assert_str_eq(call->framework_id->value, "f1");
	arena_free(&arena);
	buf_free(&bytes);
}

Test(libmesos_told, whether_it_acknowledges_by_itself)
{
	make(master.address, NULL, true);
	cr_assert(libmesos_scheduler_acknowledges(driver));
}

/* ---- a framework that changes --------------------------------------------------------------- */

static const Mesos__Scheduler__Call *unpack_call(struct arena *arena, int index)
{
	const struct buf *body = &master.calls[index].body;
	struct err err;

	return proto_unpack(&mesos__scheduler__call__descriptor, arena, body->data, body->len,
			    &err);
}

Test(libmesos_told, a_changed_framework_is_told_now_and_when_it_subscribes_again)
{
	Mesos__Scheduler__Call__UpdateFramework update =
		MESOS__SCHEDULER__CALL__UPDATE_FRAMEWORK__INIT;
	Mesos__FrameworkInfo info = MESOS__FRAMEWORK_INFO__INIT;
	char *suppressed[] = {(char *)"r2"};
	const Mesos__Scheduler__Call *call;
	struct arena arena;

	make(master.address, NULL, true);
	start();
	info.user = (char *)"";
	info.name = (char *)"renamed";
	update.framework_info = &info;
	update.suppressed_roles = suppressed;
	update.n_suppressed_roles = 1;
	cr_assert_eq(libmesos_scheduler_update_framework(driver, &update), DRIVER_RUNNING);
	until(&master, came(CALL(UPDATE_FRAMEWORK)));
	arena_init(&arena);
	call = unpack_call(&arena, 1);
	cr_assert_str_eq(call->framework_id->value, "f1");
	cr_assert_str_eq(call->update_framework->framework_info->id->value, "f1");
	cr_assert_str_eq(call->update_framework->framework_info->name, "renamed");
	cr_assert_neq(*call->update_framework->framework_info->user, 0);
	cr_assert_neq(*call->update_framework->framework_info->hostname, 0);
	cr_assert_str_eq(call->update_framework->suppressed_roles[0], "r2");
	fake_end_stream(&master);
	until(&master, master.subscribe_count == 2);
	call = unpack_call(&arena, 2);
	cr_assert_str_eq(call->subscribe->framework_info->name, "renamed");
	cr_assert_eq(call->subscribe->n_suppressed_roles, 1);
	cr_assert_str_eq(call->subscribe->suppressed_roles[0], "r2");
	arena_free(&arena);
	libmesos_scheduler_abort(driver);
	cr_assert_eq(libmesos_scheduler_update_framework(driver, &update), DRIVER_ABORTED);
}

Test(libmesos_told, roles_that_are_suppressed_from_the_start)
{
	Mesos__FrameworkInfo info = MESOS__FRAMEWORK_INFO__INIT;
	char *suppressed[] = {(char *)"r1", (char *)"r2"};
	struct libmesos_scheduler_options options = {.master = master.address,
						     .info = &info,
						     .suppressed_roles = suppressed,
						     .suppressed_role_count = 2};
	const Mesos__Scheduler__Call *call;
	struct arena arena;

	info.user = (char *)"u";
	info.hostname = (char *)"h";
	info.name = (char *)"n";
	make_with(&options);
	start();
	arena_init(&arena);
	call = unpack_call(&arena, 0);
	cr_assert_eq(call->subscribe->n_suppressed_roles, 2);
	cr_assert_str_eq(call->subscribe->suppressed_roles[1], "r2");
	cr_assert_str_eq(call->subscribe->framework_info->user, "u");
	cr_assert_str_eq(call->subscribe->framework_info->hostname, "h");
	arena_free(&arena);
}

/* ---- tasks that reach no master ---------------------------------------------------------------
 */

static void accept_task(Mesos__Offer__Operation__Type type, Mesos__ExecutorInfo *executor)
{
	struct buf call = BUF_INIT, accept = BUF_INIT;
	Mesos__TaskInfo task = MESOS__TASK_INFO__INIT, *tasks[] = {&task};
	Mesos__TaskID task_id = MESOS__TASK_ID__INIT;
	Mesos__Offer__Operation operation = MESOS__OFFER__OPERATION__INIT;
	Mesos__Offer__Operation__Launch launch = MESOS__OFFER__OPERATION__LAUNCH__INIT;

	task_id.value = task.name = (char *)"t1";
	task.task_id = &task_id;
	task.agent_id = &agent_id;
	task.executor = executor;
	launch.task_infos = tasks;
	launch.n_task_infos = 1;
	operation.has_type = 1;
	operation.type = type;
	operation.launch = type == MESOS__OFFER__OPERATION__TYPE__LAUNCH ? &launch : NULL;
	wire_put_message(&accept, 2, &operation);
	wire_put_bytes(&call, 4, (struct slice){accept.data, accept.len});
	libmesos_scheduler_call(driver, CALL(ACCEPT), &call);
	buf_free(&accept);
}

/* TASK_DROPPED for those that know of it; and only launches have tasks. */
Test(libmesos_told, a_partition_aware_framework_hears_that_its_task_was_dropped)
{
	Mesos__FrameworkInfo info = MESOS__FRAMEWORK_INFO__INIT;
	Mesos__FrameworkInfo__Capability other = MESOS__FRAMEWORK_INFO__CAPABILITY__INIT;
	Mesos__FrameworkInfo__Capability aware = MESOS__FRAMEWORK_INFO__CAPABILITY__INIT;
	Mesos__FrameworkInfo__Capability *list[] = {&other, &aware};
	struct libmesos_scheduler_options options = {.master = master.address, .info = &info};

	name_all();
	other.has_type = aware.has_type = 1;
	other.type = MESOS__FRAMEWORK_INFO__CAPABILITY__TYPE__MULTI_ROLE;
	aware.type = MESOS__FRAMEWORK_INFO__CAPABILITY__TYPE__PARTITION_AWARE;
	info.user = info.name = (char *)"n";
	info.capabilities = list;
	info.n_capabilities = 2;
	make_with(&options);
	cr_assert_eq(libmesos_scheduler_start(driver), DRIVER_RUNNING);
	accept_task(MESOS__OFFER__OPERATION__TYPE__RESERVE, NULL);
	accept_task(MESOS__OFFER__OPERATION__TYPE__LAUNCH, NULL);
	until(&master, noted("update"));
	/* TASK_DROPPED, REASON_MASTER_DISCONNECTED. */
	cr_assert_str_eq(trace, "update:9/7 ");
	libmesos_scheduler_abort(driver);
}

Test(libmesos_told, what_is_said_of_a_task_that_reached_no_master)
{
	Mesos__ExecutorInfo executor = MESOS__EXECUTOR_INFO__INIT;
	const Mesos__TaskStatus *status;
	struct arena arena;
	struct err err;

	name_all();
	executor.executor_id = &executor_id;
	make(master.address, NULL, true);
	cr_assert_eq(libmesos_scheduler_start(driver), DRIVER_RUNNING);
	accept_task(MESOS__OFFER__OPERATION__TYPE__LAUNCH, NULL);
	accept_task(MESOS__OFFER__OPERATION__TYPE__LAUNCH, &executor);
	until(&master, callbacks == 2);
	arena_init(&arena);
	status = proto_unpack(&mesos__task_status__descriptor, &arena, last_status.data,
			      last_status.len, &err);
	cr_assert_str_eq(status->task_id->value, "t1");
	cr_assert_str_eq(status->agent_id->value, "a1");
	cr_assert_str_eq(status->executor_id->value, "e1");
	cr_assert_str_eq(status->message, "Master disconnected");
	cr_assert_eq(status->source, MESOS__TASK_STATUS__SOURCE__SOURCE_MASTER);
	cr_assert_gt(status->timestamp, 1e9);
	cr_assert_not(status->has_uuid);
	arena_free(&arena);
	libmesos_scheduler_abort(driver);
}

Test(libmesos_told, a_call_that_is_refused_changes_nothing)
{
	make(master.address, NULL, true);
	start();
	master.call_status = 400;
	revive();
	until(&master, came(CALL(REVIVE)));
	say_update(false);
	until(&master, noted("update"));
	cr_assert_str_eq(trace, "registered:f1 update:1/0 ");
}

/* ---- where the master is --------------------------------------------------------------------- */

Test(libmesos_told, a_master_that_does_not_say_who_it_is)
{
	make(master.address, NULL, true);
	start();
	cr_assert_str_eq(last_master, master.address);
}

Test(libmesos_told, a_master_that_says_who_it_is)
{
	Mesos__Scheduler__Event event = MESOS__SCHEDULER__EVENT__INIT;
	Mesos__Scheduler__Event__Subscribed subscribed = MESOS__SCHEDULER__EVENT__SUBSCRIBED__INIT;
	Mesos__MasterInfo info = MESOS__MASTER_INFO__INIT;

	name_all();
	info.id = (char *)"m";
	info.hostname = (char *)"elsewhere";

	info.port = 77;
	subscribed.framework_id = &framework_id;
	subscribed.master_info = &info;
	event.subscribed = &subscribed;
	make(master.address, NULL, true);
	libmesos_scheduler_start(driver);
	for (int i = 1; i <= 2; i++) {
		until(&master, master.stream);
		send_as(&event, EVENT(SUBSCRIBED));
		until(&master, noted(i == 1 ? "registered:f1 " : "reregistered "));
		cr_assert_str_eq(last_master, "elsewhere:77");
		fake_end_stream(&master);
	}
	until(&master, noted("reregistered disconnected"));
}

Test(libmesos_told, a_file_may_name_the_master)
{
	char path[] = "/tmp/mesita-test-XXXXXX", *name;
	int fd = mkstemp(path);

	cr_assert(dprintf(fd, "%s \r\n\t\n", master.address) > 0);
	close(fd);
	name = xprintf("file://%s", path);
	make(name, NULL, true);
	start();
	unlink(path);
	free(name);
}

/* The cluster ends with the driver, which waits for that. */
Test(libmesos_told, local_starts_a_cluster_and_ends_it)
{
	program_make(&master, PROGRAM_LOCAL);
	make("local", NULL, true);
	start();
	cr_assert_not(program_made("ended"));
	cr_assert_eq(libmesos_scheduler_stop(driver, false), DRIVER_STOPPED);
	join();
	cr_assert_eq(came(CALL(TEARDOWN)), 1);
	cr_assert(program_made("ended"));
	cr_assert_eq(libmesos_scheduler_stop(driver, false), DRIVER_STOPPED);
	program_remove();
}

Test(libmesos_told, local_that_does_not_start)
{
	program_make(&master, "exit 1");
	make("local", NULL, true);
	cr_assert_eq(libmesos_scheduler_start(driver), DRIVER_RUNNING);
	join();
	cr_assert(noted("error:`mesita local` did not start"), "%s", trace);
	cr_assert_eq(libmesos_scheduler_status(driver), DRIVER_ABORTED);
	program_remove();
}

/* ---- the end --------------------------------------------------------------------------------- */

/* It subscribes again to say TEARDOWN; a master that refuses must not keep it. */
Test(libmesos_told, an_aborted_driver_gives_up_where_nobody_takes_its_teardown)
{
	make(master.address, NULL, true);
	start();
	libmesos_scheduler_abort(driver);
	join();
	until(&master, !master.stream);
	master.subscribe_status = 403;
	cr_assert_eq(libmesos_scheduler_stop(driver, false), DRIVER_ABORTED);
	join();
	cr_assert_eq(master.subscribe_count, 2);
	cr_assert_eq(came(CALL(TEARDOWN)), 0);
	cr_assert_eq(callbacks, 1);
}

Test(libmesos_told, with_failover_nothing_is_torn_down)
{
	make(master.address, NULL, true);
	start();
	cr_assert_eq(libmesos_scheduler_stop(driver, true), DRIVER_STOPPED);
	join();
	until(&master, !master.stream);
	cr_assert_eq(came(CALL(TEARDOWN)), 0);
	cr_assert_eq(libmesos_scheduler_stop(driver, false), DRIVER_STOPPED);
	cr_assert_eq(master.subscribe_count, 1);
}
