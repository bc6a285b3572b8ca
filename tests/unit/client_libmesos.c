/* The contract of libmesos' scheduler driver, against a fake master: statuses, threads, order. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "client/libmesos/master.h"
#include "client_libmesos_kit.h"

TestSuite(libmesos, .init = kit_set_up, .fini = kit_tear_down, .timeout = 60);

Test(libmesos, tells_what_happens_in_order)
{
	make(master.address, NULL, true);
	start();
	say_update(true);
	until(&master, came(MESOS__SCHEDULER__CALL__TYPE__ACKNOWLEDGE) == 1);
	cr_assert_str_eq(trace, "registered:f1 update:1/0 ");
	fake_end_stream(&master);
	until(&master, master.stream);
	until(&master, noted("disconnected"));
	say_subscribed();
	until(&master, noted("reregistered"));
	cr_assert_str_eq(trace, "registered:f1 update:1/0 disconnected reregistered ");
	cr_assert_eq(libmesos_scheduler_stop(driver, false), DRIVER_STOPPED);
	join();
	cr_assert_eq(came(MESOS__SCHEDULER__CALL__TYPE__TEARDOWN), 1);
}

Test(libmesos, acknowledges_only_what_has_a_uuid_and_if_it_should)
{
	make(master.address, NULL, false);
	start();
	say_update(true);
	say_update(false);
	until(&master, callbacks == 3);
	revive();
	until(&master, came(MESOS__SCHEDULER__CALL__TYPE__REVIVE) == 1);
	cr_assert_eq(came(MESOS__SCHEDULER__CALL__TYPE__ACKNOWLEDGE), 0);
}

Test(libmesos, fills_in_user_and_host)
{
	struct slice subscribe, info, user = SLICE(""), host = SLICE("");

	make(master.address, NULL, true);
	start();
	cr_assert(wire_part((struct slice){master.calls[0].body.data, master.calls[0].body.len}, 3,
			    &subscribe));
	cr_assert(wire_part(subscribe, 1, &info));
	cr_assert(wire_part(info, 1, &user) && user.len > 0);
	cr_assert(wire_part(info, 7, &host) && host.len > 0);
}

Test(libmesos, registers_again_with_an_id)
{
	struct slice id;

	make(master.address, "f1", true);
	start();
	cr_assert(wire_part((struct slice){master.calls[0].body.data, master.calls[0].body.len}, 1,
			    &id));
	cr_assert_str_eq(trace, "registered:f1 ");
}

Test(libmesos, says_its_credential_with_each_call)
{
	principal = "pr";
	make(master.address, NULL, true);
	start();
	revive();
	until(&master, came(MESOS__SCHEDULER__CALL__TYPE__REVIVE) == 1);
	for (int i = 0; i < master.call_count; i++)
		cr_assert_str_eq(master.calls[i].authorization, "Basic cHI6cw==");
	principal = NULL;
}

Test(libmesos, follows_to_the_leader)
{
	char location[64];

	snprintf(location, sizeof(location), "//%s/api/v1/scheduler", master.address);
	master.subscribe_status = 307;
	master.location = location;
	make(master.address, NULL, true);
	cr_assert_eq(libmesos_scheduler_start(driver), DRIVER_RUNNING);
	until(&master, master.subscribe_count == 2);
	master.subscribe_status = 200;
	until(&master, master.stream);
	say_subscribed();
	until(&master, noted("registered"));
}

Test(libmesos, knows_four_statuses)
{
	make(master.address, NULL, true);
	cr_assert_eq(revive(), DRIVER_NOT_STARTED);
	cr_assert_eq(libmesos_scheduler_stop(driver, false), DRIVER_NOT_STARTED);
	cr_assert_eq(libmesos_scheduler_abort(driver), DRIVER_NOT_STARTED);
	cr_assert_eq(libmesos_scheduler_join(driver), DRIVER_NOT_STARTED);
	start();
	cr_assert_eq(libmesos_scheduler_start(driver), DRIVER_RUNNING);
	cr_assert_eq(libmesos_scheduler_abort(driver), DRIVER_ABORTED);
	cr_assert_eq(libmesos_scheduler_abort(driver), DRIVER_ABORTED);
	cr_assert_eq(libmesos_scheduler_start(driver), DRIVER_ABORTED);
	join();
	cr_assert_eq(revive(), DRIVER_ABORTED);
	cr_assert_eq(libmesos_scheduler_stop(driver, true), DRIVER_ABORTED);
	cr_assert_eq(libmesos_scheduler_stop(driver, true), DRIVER_STOPPED);
	cr_assert_eq(came(MESOS__SCHEDULER__CALL__TYPE__REVIVE), 0);
	cr_assert_eq(came(MESOS__SCHEDULER__CALL__TYPE__TEARDOWN), 0);
}

Test(libmesos, stop_in_a_callback)
{
	make(master.address, NULL, true);
	start();
	stop_in_update = 1;
	say_update(true);
	say_update(true);
	join();
	cr_assert_eq(libmesos_scheduler_status(driver), DRIVER_STOPPED);
	cr_assert_eq(callbacks, 2, "none after the stop");
	cr_assert_eq(came(MESOS__SCHEDULER__CALL__TYPE__ACKNOWLEDGE), 0);
	cr_assert_eq(came(MESOS__SCHEDULER__CALL__TYPE__TEARDOWN), 1);
}

Test(libmesos, a_callback_that_fails_aborts)
{
	make(master.address, NULL, true);
	start();
	fail_update = 1;
	say_update(true);
	join();
	cr_assert_eq(libmesos_scheduler_status(driver), DRIVER_ABORTED);
	cr_assert_eq(came(MESOS__SCHEDULER__CALL__TYPE__ACKNOWLEDGE), 0);
	cr_assert_not(noted("error"));
}

Test(libmesos, an_aborted_driver_is_torn_down_by_stop)
{
	make(master.address, NULL, true);
	start();
	libmesos_scheduler_abort(driver);
	join();
	until(&master, !master.stream);
	cr_assert_eq(libmesos_scheduler_stop(driver, false), DRIVER_ABORTED);
	until(&master, master.stream);
	say_subscribed();
	join();
	cr_assert_eq(came(MESOS__SCHEDULER__CALL__TYPE__TEARDOWN), 1);
	cr_assert_eq(callbacks, 1, "nobody hears of it");
}

Test(libmesos, an_error_event_aborts_and_is_told)
{
	Mesos__Scheduler__Event event = MESOS__SCHEDULER__EVENT__INIT;
	Mesos__Scheduler__Event__Error error = MESOS__SCHEDULER__EVENT__ERROR__INIT;

	make(master.address, NULL, true);
	start();
	error.message = (char *)"Framework failed over";
	event.has_type = 1;
	event.type = MESOS__SCHEDULER__EVENT__TYPE__ERROR;
	event.error = &error;
	fake_send(&master, &event);
	join();
	cr_assert_str_eq(trace, "registered:f1 error:Framework failed over ");
	cr_assert_eq(libmesos_scheduler_stop(driver, false), DRIVER_ABORTED);
	join();
	cr_assert_eq(came(MESOS__SCHEDULER__CALL__TYPE__TEARDOWN), 0, "it is another one's now");
}

Test(libmesos, a_refused_subscription_aborts_and_is_told)
{
	master.subscribe_status = 403;
	make(master.address, NULL, true);
	cr_assert_eq(libmesos_scheduler_start(driver), DRIVER_RUNNING);
	join();
	cr_assert(noted("error:the master "), "%s", trace);
	cr_assert(noted("refused the subscription (403): go away"), "%s", trace);
}

Test(libmesos, tasks_that_reach_no_master_are_lost)
{
	struct buf call = BUF_INIT, accept = BUF_INIT, operation = BUF_INIT, launch = BUF_INIT;
	Mesos__TaskInfo task = MESOS__TASK_INFO__INIT;
	Mesos__TaskID task_id = MESOS__TASK_ID__INIT;
	Mesos__AgentID agent_id = MESOS__AGENT_ID__INIT;

	make(master.address, NULL, true);
	cr_assert_eq(libmesos_scheduler_start(driver), DRIVER_RUNNING);
	task_id.value = agent_id.value = task.name = (char *)"x";
	task.task_id = &task_id;
	task.agent_id = &agent_id;
	wire_put_message(&launch, 1, &task);
	wire_put_message(&launch, 1, &task);
	wire_put_number(&operation, 1, MESOS__OFFER__OPERATION__TYPE__LAUNCH);
	wire_put_bytes(&operation, 2, (struct slice){launch.data, launch.len});
	wire_put_bytes(&accept, 2, (struct slice){operation.data, operation.len});
	wire_put_bytes(&call, 4, (struct slice){accept.data, accept.len});
	cr_assert_eq(libmesos_scheduler_call(driver, MESOS__SCHEDULER__CALL__TYPE__ACCEPT, &call),
		     DRIVER_RUNNING);
	until(&master, callbacks == 2);
	/* TASK_LOST, REASON_MASTER_DISCONNECTED. */
	cr_assert_str_eq(trace, "update:5/7 update:5/7 ");
	buf_free(&launch);
	buf_free(&operation);
	buf_free(&accept);
	cr_assert_eq(libmesos_scheduler_abort(driver), DRIVER_ABORTED);
}

Test(libmesos, strings_that_name_no_master)
{
	static const char *const cases[][2] = {
		{"", "it is empty"},
		{"host", "expected host:port"},
		{"host:", "the port must be a number"},
		{"host:65536", "the port must be a number"},
		{"zk://host", "Expecting a (chroot) path for ZooKeeper"},
		{"file:///no/such/file", "Failed to read from file at '/no/such/file'"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		trace_clear();
		make(cases[i][0], NULL, true);
		cr_assert_eq(libmesos_scheduler_start(driver), DRIVER_ABORTED);
		cr_assert(noted(cases[i][1]), "%s: %s", cases[i][0], trace);
		cr_assert(noted("error:Failed to create a master detector for '"), "%s", trace);
		cr_assert_eq(libmesos_scheduler_join(driver), DRIVER_ABORTED);
		libmesos_scheduler_free(driver);
		driver = NULL;
	}
}

/* Its connections would be open to all. */
Test(libmesos, an_environment_of_tls_that_makes_no_sense)
{
	setenv("LIBPROCESS_SSL_ENABLED", "true", 1);
	setenv("LIBPROCESS_SSL_KEY_FILE", "/no/such/key", 1);
	setenv("LIBPROCESS_SSL_CERT_FILE", "/no/such/certificate", 1);
	trace_clear();
	make("127.0.0.1:1", NULL, true);
	cr_assert_eq(libmesos_scheduler_start(driver), DRIVER_ABORTED);
	cr_assert(noted("error:"), "%s", trace);
	cr_assert(noted("/no/such/"), "%s", trace);
	cr_assert_eq(libmesos_scheduler_join(driver), DRIVER_ABORTED);
	libmesos_scheduler_free(driver);
	driver = NULL;
}

/* ---- many threads -------------------------------------------------------------- */

#define THREADS 4
#define CALLS 12 /* of each; the fake keeps 64 */

/* A MESSAGE whose data says who made it, and the how many-eth. */
static void *call_often(void *argument)
{
	int self = *(int *)argument;

	for (int i = 0; i < CALLS; i++) {
		struct buf message = BUF_INIT, call = BUF_INIT;
		char data[2] = {(char)('a' + self), (char)i};

		wire_put_bytes(&message, 3, (struct slice){data, 2});
		wire_put_bytes(&call, 10, (struct slice){message.data, message.len});
		buf_free(&message);
		libmesos_scheduler_call(driver, MESOS__SCHEDULER__CALL__TYPE__MESSAGE, &call);
	}
	return NULL;
}

Test(libmesos, calls_from_many_threads_come_in_the_order_of_each)
{
	pthread_t threads[THREADS];
	int numbers[THREADS], next[THREADS] = {0};

	make(master.address, NULL, true);
	start();
	for (int i = 0; i < THREADS; i++) {
		numbers[i] = i;
		pthread_create(&threads[i], NULL, call_often, &numbers[i]);
	}
	until(&master, came(MESOS__SCHEDULER__CALL__TYPE__MESSAGE) == THREADS * CALLS);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < master.call_count; i++) {
		struct slice body = {master.calls[i].body.data, master.calls[i].body.len}, part;

		if (!wire_part(body, 10, &part) || !wire_part(part, 3, &part))
			continue;
		cr_assert_eq(part.data[1], next[part.data[0] - 'a']++);
		cr_assert_str_eq(master.calls[i].stream_id, "stream-1");
	}
}

/* What several threads may do at any time; each returns. */
static void do_something(struct rng *rng)
{
	switch (rng_next(rng) % 8) {
	case 0:
		libmesos_scheduler_start(driver);
		break;
	case 1:
		if (rng_unit(rng) < 0.1)
			libmesos_scheduler_stop(driver, rng_next(rng) % 2);
		break;
	case 2:
		if (rng_unit(rng) < 0.1)
			libmesos_scheduler_abort(driver);
		break;
	default:
		if (rng_unit(rng) < 0.2)
			revive();
		else
			libmesos_scheduler_status(driver);
	}
}

static atomic_int acting; /* threads that do */

static void *act_at_random(void *argument)
{
	struct rng rng;

	rng_seed(&rng, (uint64_t)(uintptr_t)argument);
	for (int i = 0; i < 30; i++)
		do_something(&rng);
	acting--;
	return NULL;
}

/* What the master does meanwhile. */
static void disturb(struct rng *rng, int *updates)
{
	fake_turn(&master);
	if (!master.stream)
		return;
	switch (rng_next(rng) % 6) {
	case 0:
		say_subscribed();
		break;
	case 1:
	case 2:
		if ((*updates)++ < 10)
			say_update(rng_next(rng) % 2);
		break;
	case 3:
		fake_end_stream(&master);
		break;
	}
}

static void forget_calls(void)
{
	for (int i = 0; i < master.call_count; i++) {
		free(master.calls[i].path);
		free(master.calls[i].stream_id);
		free(master.calls[i].authorization);
		buf_free(&master.calls[i].body);
	}
	master.call_count = 0;
}

/* Whatever threads and the master do at the same time: nothing hangs, callbacks come one at a
 * time, and none comes when the driver was joined. */
Test(libmesos, any_calls_from_any_threads)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		pthread_t threads[THREADS];
		int told, updates = 0;
		struct rng rng;

		rng_seed(&rng, seed);
		forget_calls();
		make(master.address, NULL, true);
		acting = THREADS;
		stop_in_update = seed % 5 == 0;
		fail_update = seed % 7 == 0;
		for (uintptr_t i = 0; i < THREADS; i++)
			pthread_create(&threads[i], NULL, act_at_random,
				       (void *)(seed * THREADS + i));
		while (acting)
			disturb(&rng, &updates);
		for (int i = 0; i < 20; i++)
			disturb(&rng, &updates);
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		stop_in_update = fail_update = 0;
		libmesos_scheduler_start(driver);
		libmesos_scheduler_abort(driver);
		join();
		told = callbacks;
		if (driver)
			run_beside(&master, free_driver);
		cr_assert_eq(callbacks, told);
	}
}
