/* A job of `mesita run`, in a thread of its own, against a fake master. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/time/clock.h"
#include "cli/job/job.h"
#include "client_harness.h"

#define CALL(x) MESOS__SCHEDULER__CALL__TYPE__##x
#define EVENT(x) MESOS__SCHEDULER__EVENT__TYPE__##x

static struct fake master;
static struct arena arena;
static struct job_options options;
static pthread_t thread;
static uv_async_t finished;
static bool done;
static int result;
static struct err failure;

static Mesos__Scheduler__Call *call_of(struct slice body)
{
	struct err err;
	Mesos__Scheduler__Call *call = proto_unpack(&mesos__scheduler__call__descriptor, &arena,
						    body.data, body.len, &err);

	cr_assert_not_null(call, "%s", err.text);
	return call;
}

static bool is_subscribe(struct slice body)
{
	return call_of(body)->type == CALL(SUBSCRIBE);
}

/* The n-th call of a type (from 0), once it came. */
static Mesos__Scheduler__Call *find_call(Mesos__Scheduler__Call__Type type, int n)
{
	for (int i = 0; i < master.call_count; i++) {
		struct buf *body = &master.calls[i].body;
		Mesos__Scheduler__Call *call = call_of((struct slice){body->data, body->len});

		if (call->type == type && n-- == 0)
			return call;
	}
	return NULL;
}

static Mesos__Scheduler__Call *wait_call(Mesos__Scheduler__Call__Type type, int n)
{
	until(&master, find_call(type, n));
	return find_call(type, n);
}

static void add_scalar(size_t *count, Mesos__Resource ***list, const char *name, double value)
{
	Mesos__Resource *resource = PROTO_NEW(&arena, Mesos__Resource, mesos__resource__descriptor);

	resource->name = (char *)name;
	resource->type = MESOS__VALUE__TYPE__SCALAR;
	resource->scalar =
		PROTO_NEW(&arena, Mesos__Value__Scalar, mesos__value__scalar__descriptor);
	resource->scalar->value = value;
	proto_push(&arena, *count, *list, resource);
}

static Mesos__TaskInfo *make_model(void)
{
	Mesos__TaskInfo *task = PROTO_NEW(&arena, Mesos__TaskInfo, mesos__task_info__descriptor);

	task->name = (char *)"job";
	task->task_id = PROTO_NEW(&arena, Mesos__TaskID, mesos__task_id__descriptor);
	task->task_id->value = (char *)"job";
	task->agent_id = PROTO_NEW(&arena, Mesos__AgentID, mesos__agent_id__descriptor);
	task->agent_id->value = (char *)"";
	add_scalar(&task->n_resources, &task->resources, "cpus", 1);
	return task;
}

static void on_finished(uv_async_t *handle)
{
	done = true;
}

static void set_up(void)
{
	arena_init(&arena);
	fake_init(&master, is_subscribe);
	uv_async_init(&master.loop, &finished, on_finished);
	options = (struct job_options){
		.master = master.address,
		.name = "job",
		.task_id = "job",
		.role = "*",
		.user = "nobody",
		.instances = 1,
		.partition_aware = true,
		.style = JOB_JSON,
		.patience = 20 * SECOND,
		.task = make_model(),
	};
}

static void tear_down(void)
{
	uv_close((uv_handle_t *)&finished, NULL);
	fake_finish(&master);
	arena_free(&arena);
}

TestSuite(job, .init = set_up, .fini = tear_down, .timeout = 60);

static void *job_thread(void *context)
{
	result = job_run(&options, &failure);
	uv_async_send(&finished);
	return NULL;
}

static void start(void)
{
	cr_assert_eq(pthread_create(&thread, NULL, job_thread, NULL), 0);
}

static void expect_result(int expected)
{
	until(&master, done);
	pthread_join(thread, NULL);
	cr_assert_eq(result, expected, "%d, not %d: %s", result, expected, failure.text);
}

static void send_event(Mesos__Scheduler__Event__Type type, Mesos__Scheduler__Event *event)
{
	event->has_type = 1;
	event->type = type;
	fake_send(&master, event);
}

static void send_subscribed(int nth)
{
	Mesos__Scheduler__Event event = MESOS__SCHEDULER__EVENT__INIT;
	Mesos__Scheduler__Event__Subscribed body = MESOS__SCHEDULER__EVENT__SUBSCRIBED__INIT;
	Mesos__FrameworkID id = MESOS__FRAMEWORK_ID__INIT;

	until(&master, master.subscribe_count == nth && master.stream);
	id.value = (char *)"framework-1";
	body.framework_id = &id;
	event.subscribed = &body;
	send_event(EVENT(SUBSCRIBED), &event);
}

static Mesos__Offer *make_offer(const char *id, double cpus)
{
	Mesos__Offer *offer = PROTO_NEW(&arena, Mesos__Offer, mesos__offer__descriptor);

	offer->id = PROTO_NEW(&arena, Mesos__OfferID, mesos__offer_id__descriptor);
	offer->id->value = (char *)id;
	offer->framework_id =
		PROTO_NEW(&arena, Mesos__FrameworkID, mesos__framework_id__descriptor);
	offer->framework_id->value = (char *)"framework-1";
	offer->agent_id = PROTO_NEW(&arena, Mesos__AgentID, mesos__agent_id__descriptor);
	offer->agent_id->value = (char *)"agent-1";
	offer->hostname = (char *)"host";
	add_scalar(&offer->n_resources, &offer->resources, "cpus", cpus);
	return offer;
}

static void send_offers(Mesos__Offer *first, Mesos__Offer *second)
{
	Mesos__Scheduler__Event event = MESOS__SCHEDULER__EVENT__INIT;
	Mesos__Scheduler__Event__Offers body = MESOS__SCHEDULER__EVENT__OFFERS__INIT;
	Mesos__Offer *list[] = {first, second};

	body.n_offers = second ? 2 : 1;
	body.offers = list;
	event.offers = &body;
	send_event(EVENT(OFFERS), &event);
}

static void send_status(const char *id, Mesos__TaskState state, const char *message,
			Mesos__TaskStatus__Reason reason)
{
	Mesos__Scheduler__Event event = MESOS__SCHEDULER__EVENT__INIT;
	Mesos__Scheduler__Event__Update body = MESOS__SCHEDULER__EVENT__UPDATE__INIT;
	Mesos__TaskStatus status = MESOS__TASK_STATUS__INIT;
	Mesos__TaskID task_id = MESOS__TASK_ID__INIT;
	Mesos__AgentID agent_id = MESOS__AGENT_ID__INIT;

	task_id.value = (char *)id;
	agent_id.value = (char *)"agent-1";
	status.task_id = &task_id;
	status.agent_id = &agent_id;
	status.state = state;
	status.message = (char *)message;
	status.has_reason = reason != 0;
	status.reason = reason;
	status.has_uuid = 1;
	status.uuid = (ProtobufCBinaryData){16, (uint8_t *)"0123456789abcdef"};
	body.status = &status;
	event.update = &body;
	send_event(EVENT(UPDATE), &event);
}

static void run_to(const char *id, Mesos__TaskState state, const char *message)
{
	send_status(id, MESOS__TASK_STATE__TASK_RUNNING, NULL, 0);
	send_status(id, state, message, 0);
}

static Mesos__Offer__Operation__Launch *launch_of(const Mesos__Scheduler__Call *call)
{
	cr_assert_eq(call->accept->n_operations, 1);
	return call->accept->operations[0]->launch;
}

Test(job, shares_tasks_among_offers_and_ends)
{
	options.instances = 3;
	start();
	send_subscribed(1);
	send_offers(make_offer("o1", 4), make_offer("o2", 4));
	cr_expect_eq(launch_of(wait_call(CALL(ACCEPT), 0))->n_task_infos, 2);
	cr_expect_eq(launch_of(wait_call(CALL(ACCEPT), 1))->n_task_infos, 1);
	cr_expect_str_eq(launch_of(find_call(CALL(ACCEPT), 1))->task_infos[0]->task_id->value,
			 "job.2");
	wait_call(CALL(SUPPRESS), 0);
	run_to("job.1", MESOS__TASK_STATE__TASK_FINISHED, "Command exited with status 0");
	run_to("job.3", MESOS__TASK_STATE__TASK_FINISHED, "Command exited with status 0");
	run_to("job.2", MESOS__TASK_STATE__TASK_FINISHED, "Command exited with status 0");
	wait_call(CALL(TEARDOWN), 0);
	expect_result(0);
	cr_expect_not_null(find_call(CALL(ACKNOWLEDGE), 5));
	cr_expect_null(find_call(CALL(DECLINE), 0));
}

Test(job, one_failed_task_fails_the_job)
{
	options.instances = 2;
	start();
	send_subscribed(1);
	send_offers(make_offer("o1", 4), NULL);
	wait_call(CALL(ACCEPT), 0);
	run_to("job.1", MESOS__TASK_STATE__TASK_FINISHED, "Command exited with status 0");
	run_to("job.2", MESOS__TASK_STATE__TASK_FAILED, "Command exited with status 3");
	expect_result(1);
}

Test(job, as_mesos_execute_a_failed_task_is_an_end_too)
{
	options.style = JOB_EXECUTE;
	start();
	send_subscribed(1);
	send_offers(make_offer("o1", 4), NULL);
	wait_call(CALL(ACCEPT), 0);
	run_to("job", MESOS__TASK_STATE__TASK_FAILED, "Command exited with status 3");
	expect_result(0);
}

Test(job, declines_what_is_too_small)
{
	start();
	send_subscribed(1);
	send_offers(make_offer("o1", 0.9), make_offer("o2", 0.5));
	cr_expect_eq(wait_call(CALL(DECLINE), 0)->decline->n_offer_ids, 2);
	send_offers(make_offer("o3", 1), NULL);
	cr_expect_str_eq(wait_call(CALL(ACCEPT), 0)->accept->offer_ids[0]->value, "o3");
	run_to("job", MESOS__TASK_STATE__TASK_FINISHED, NULL);
	expect_result(0);
}

Test(job, ignores_offers_and_updates_that_are_not_for_it)
{
	start();
	send_subscribed(1);
	send_offers(make_offer("o1", 1), NULL);
	wait_call(CALL(ACCEPT), 0);
	send_status("job.1", MESOS__TASK_STATE__TASK_LOST, NULL, 0);
	send_status("", MESOS__TASK_STATE__TASK_LOST, NULL, 0);
	send_status("jobs", MESOS__TASK_STATE__TASK_LOST, NULL, 0);
	send_offers(make_offer("o2", 9), NULL);
	wait_call(CALL(DECLINE), 0);
	run_to("job", MESOS__TASK_STATE__TASK_FINISHED, NULL);
	expect_result(0);
	cr_expect_null(find_call(CALL(ACCEPT), 1));
}

Test(job, launches_again_when_the_offer_was_gone)
{
	start();
	send_subscribed(1);
	send_offers(make_offer("o1", 1), NULL);
	wait_call(CALL(SUPPRESS), 0);
	send_status("job", MESOS__TASK_STATE__TASK_DROPPED, "Offer o1 is no longer valid",
		    MESOS__TASK_STATUS__REASON__REASON_INVALID_OFFERS);
	wait_call(CALL(REVIVE), 0);
	send_offers(make_offer("o2", 1), NULL);
	wait_call(CALL(ACCEPT), 1);
	run_to("job", MESOS__TASK_STATE__TASK_FINISHED, NULL);
	expect_result(0);
}

Test(job, does_not_launch_again_for_ever)
{
	char id[16];

	start();
	send_subscribed(1);
	for (int i = 0; i < 10; i++) {
		snprintf(id, sizeof(id), "o%d", i);
		send_offers(make_offer(id, 1), NULL);
		wait_call(CALL(ACCEPT), i);
		send_status("job", MESOS__TASK_STATE__TASK_DROPPED, NULL,
			    MESOS__TASK_STATUS__REASON__REASON_INVALID_OFFERS);
	}
	expect_result(1);
}

Test(job, reconciles_after_a_lost_connection)
{
	Mesos__Scheduler__Call__Reconcile *reconcile;

	options.instances = 2;
	start();
	send_subscribed(1);
	send_offers(make_offer("o1", 2), NULL);
	wait_call(CALL(ACCEPT), 0);
	run_to("job.1", MESOS__TASK_STATE__TASK_FINISHED, NULL);
	wait_call(CALL(ACKNOWLEDGE), 1);
	fake_end_stream(&master);
	send_subscribed(2);
	reconcile = wait_call(CALL(RECONCILE), 0)->reconcile;
	cr_assert_eq(reconcile->n_tasks, 1);
	cr_expect_str_eq(reconcile->tasks[0]->task_id->value, "job.2");
	send_status("job.2", MESOS__TASK_STATE__TASK_UNKNOWN, NULL,
		    MESOS__TASK_STATUS__REASON__REASON_RECONCILIATION);
	expect_result(1);
}

Test(job, kills_after_the_time_it_was_given)
{
	options.kill_after = 10 * MILLISECOND;
	start();
	send_subscribed(1);
	send_offers(make_offer("o1", 1), NULL);
	wait_call(CALL(ACCEPT), 0);
	send_status("job", MESOS__TASK_STATE__TASK_RUNNING, NULL, 0);
	cr_expect_str_eq(wait_call(CALL(KILL), 0)->kill->task_id->value, "job");
	send_status("job", MESOS__TASK_STATE__TASK_KILLED, NULL, 0);
	expect_result(1);
}

Test(job, interrupted_it_tears_the_framework_down)
{
	start();
	send_subscribed(1);
	send_offers(make_offer("o1", 1), NULL);
	wait_call(CALL(ACCEPT), 0);
	kill(getpid(), SIGTERM);
	wait_call(CALL(TEARDOWN), 0);
	expect_result(130);
}

Test(job, interrupted_twice_it_does_not_wait)
{
	start();
	send_subscribed(1);
	send_offers(make_offer("o1", 1), NULL);
	wait_call(CALL(SUPPRESS), 0);
	master.call_status = 0;
	kill(getpid(), SIGINT);
	wait_call(CALL(TEARDOWN), 0);
	kill(getpid(), SIGINT);
	expect_result(130);
}

Test(job, fails_when_refused)
{
	master.subscribe_status = 403;
	start();
	expect_result(ERR_STATE);
	cr_expect_not_null(strstr(failure.text, "403"));
}

Test(job, fails_when_the_launch_is_refused)
{
	start();
	send_subscribed(1);
	until(&master, master.stream);
	master.call_status = 400;
	send_offers(make_offer("o1", 1), NULL);
	expect_result(ERR_STATE);
	cr_expect_not_null(strstr(failure.text, "400"));
}

Test(job, does_not_wait_for_a_master_for_ever)
{
	options.patience = 300 * MILLISECOND;
	fake_stop(&master);
	start();
	expect_result(ERR_STATE);
	cr_expect_not_null(strstr(failure.text, "mesita local"));
	cr_expect_not_null(strstr(failure.text, "refused"));
}

Test(job, says_that_the_address_is_bad)
{
	options.master = "zk://somewhere";
	start();
	expect_result(ERR_INVALID);
}
