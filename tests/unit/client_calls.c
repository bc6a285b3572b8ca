/* The contract of libmesos' v1 library, against a fake master: connected, received, disconnected,
 * and which calls reach the master. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory/arena.h"
#include "client/libmesos/calls.h"
#include "client/libmesos/status.h"
#include "client_program.h"
#include "client_trace.h"
#include "proto/wire/wire_write.h"

#define CALL(name) MESOS__SCHEDULER__CALL__TYPE__##name
#define EVENT(name) MESOS__SCHEDULER__EVENT__TYPE__##name

static struct fake master;
static struct libmesos_calls *calls;
static atomic_llong disconnected_at; /* uv_hrtime() */
static atomic_int subscribed_count;

static int on_connected(void *context)
{
	cr_assert_eq(context, &master);
	return note("connected ");
}

static int on_disconnected(void *context)
{
	disconnected_at = (long long)uv_hrtime();
	return note("disconnected ");
}

static int on_received(void *context, struct slice event)
{
	uint64_t type = 0;
	struct slice error;

	wire_number(event, 1, &type);
	if (type == EVENT(ERROR)) {
		error = wire_part_of(wire_part_of(event, 8), 1);
		return note("error:%.*s; ", (int)error.len, error.data);
	}
	note("event:%d ", (int)type);
	subscribed_count += type == EVENT(SUBSCRIBED);
	return 0;
}

static void on_thread_begins(void *context)
{
	note("begins ");
}

static void on_thread_ends(void *context)
{
	note("ends ");
}

static const struct libmesos_calls_handlers handlers = {
	.connected = on_connected,
	.disconnected = on_disconnected,
	.received = on_received,
	.thread_begins = on_thread_begins,
	.thread_ends = on_thread_ends,
};

static uint64_t type_of(struct slice body)
{
	uint64_t type = 0;

	wire_number(body, 2, &type);
	return type;
}

static bool is_subscribe(struct slice body)
{
	return type_of(body) == CALL(SUBSCRIBE);
}

static void set_up(void)
{
	libmesos_init();
	fake_init(&master, is_subscribe);
	ticks_begin(&master);
}

static void free_calls(void)
{
	libmesos_calls_free(calls);
	calls = NULL;
}

static void tear_down(void)
{
	if (calls)
		run_beside(&master, free_calls);
	ticks_end();
	fake_finish(&master);
}

TestSuite(libmesos_calls, .init = set_up, .fini = tear_down, .timeout = 60);

static void start_at(const char *address)
{
	calls = libmesos_calls_new(address, NULL, NULL, &handlers, &master);
	libmesos_calls_start(calls);
}

static void say(uint64_t type)
{
	struct buf call = BUF_INIT;

	wire_put_number(&call, 2, type);
	libmesos_calls_send(calls, (struct slice){call.data, call.len});
	buf_free(&call);
}

static void send_event(Mesos__Scheduler__Event__Type type)
{
	Mesos__Scheduler__Event event = MESOS__SCHEDULER__EVENT__INIT;

	event.has_type = 1;
	event.type = type;
	fake_send(&master, &event);
}

static void send_subscribed(double heartbeat_seconds)
{
	Mesos__Scheduler__Event event = MESOS__SCHEDULER__EVENT__INIT;
	Mesos__Scheduler__Event__Subscribed subscribed = MESOS__SCHEDULER__EVENT__SUBSCRIBED__INIT;
	Mesos__FrameworkID id = MESOS__FRAMEWORK_ID__INIT;

	id.value = (char *)"f1";
	subscribed.framework_id = &id;
	subscribed.has_heartbeat_interval_seconds = heartbeat_seconds > 0;
	subscribed.heartbeat_interval_seconds = heartbeat_seconds;
	event.has_type = 1;
	event.type = EVENT(SUBSCRIBED);
	event.subscribed = &subscribed;
	fake_send(&master, &event);
}

static void start_connected(void)
{
	start_at(master.address);
	until(&master, noted("connected"));
}

static void subscribe(double heartbeat_seconds)
{
	int before = subscribed_count;

	say(CALL(SUBSCRIBE));
	until(&master, master.stream);
	send_subscribed(heartbeat_seconds);
	until(&master, subscribed_count > before);
}

/* How many calls of a type came. */
static int came(uint64_t type)
{
	int count = 0;

	for (int i = 0; i < master.call_count; i++) {
		struct slice body = {master.calls[i].body.data, master.calls[i].body.len};

		count += type_of(body) == type;
	}
	return count;
}

/* ---- a session ----------------------------------------------------------------------- */

Test(libmesos_calls, events_come_in_order_and_calls_say_their_stream)
{
	start_connected();
	cr_assert_eq(master.probe_count, 1);
	subscribe(0);
	send_event(EVENT(HEARTBEAT));
	send_event(EVENT(OFFERS));
	until(&master, noted("event:2"));
	say(CALL(REVIVE));
	say(CALL(SUPPRESS));
	until(&master, master.call_count == 3);
	cr_assert_str_eq(trace, "begins connected event:1 event:8 event:2 ");
	cr_assert_eq(came(CALL(REVIVE)), 1);
	cr_assert_eq(came(CALL(SUPPRESS)), 1);
	for (int i = 0; i < master.call_count; i++) {
		cr_assert_str_eq(master.calls[i].path, "/api/v1/scheduler");
		cr_assert_str_eq(master.calls[i].authorization, "");
		cr_assert_str_eq(master.calls[i].stream_id, i ? "stream-1" : "");
	}
	run_beside(&master, free_calls);
	cr_assert(noted("event:2 ends "), "%s", trace);
}

Test(libmesos_calls, what_the_program_says_too_early_is_dropped)
{
	master.probe_status = 404; /* any answer is one */
	start_connected();
	say(CALL(REVIVE));
	subscribe(0);
	say(CALL(SUBSCRIBE));
	say(CALL(REVIVE));
	until(&master, came(CALL(REVIVE)));
	cr_assert_eq(master.call_count, 2, "an early REVIVE and a second SUBSCRIBE");
}

Test(libmesos_calls, a_subscription_before_a_master_answers_is_dropped)
{
	master.probe_status = 0;
	start_at(master.address);
	until(&master, master.probe_count == 1);
	say(CALL(SUBSCRIBE));
	/* It goes away without an answer, and is asked again. */
	fake_stop(&master);
	master.probe_status = 200;
	fake_start(&master);
	until(&master, noted("connected"));
	subscribe(0);
	cr_assert_eq(came(CALL(SUBSCRIBE)), 1);
	cr_assert_not(noted("disconnected"), "%s", trace);
}

Test(libmesos_calls, a_credential_comes_with_each_call)
{
	calls = libmesos_calls_new(master.address, "pr", "s", &handlers, &master);
	libmesos_calls_start(calls);
	until(&master, noted("connected"));
	subscribe(0);
	say(CALL(REVIVE));
	until(&master, master.call_count == 2);
	for (int i = 0; i < master.call_count; i++)
		cr_assert_str_eq(master.calls[i].authorization, "Basic cHI6cw==");
}

/* ---- a master that is lost --------------------------------------------------------------- */

Test(libmesos_calls, the_end_of_the_stream_is_told_and_a_master_looked_for)
{
	start_connected();
	subscribe(0);
	fake_end_stream(&master);
	until(&master, noted("disconnected connected"));
	cr_assert_str_eq(trace, "begins connected event:1 disconnected connected ");
	say(CALL(REVIVE));
	subscribe(0);
	say(CALL(REVIVE));
	until(&master, came(CALL(REVIVE)));
	cr_assert_eq(came(CALL(REVIVE)), 1, "the first one had no stream");
}

Test(libmesos_calls, a_master_that_dies_with_a_call_unanswered)
{
	start_connected();
	subscribe(0);
	master.call_status = 0;
	say(CALL(REVIVE));
	until(&master, came(CALL(REVIVE)));
	fake_stop(&master);
	until(&master, noted("disconnected"));
	fake_start(&master);
	until(&master, noted("disconnected connected"));
	cr_assert_not(noted("error"), "%s", trace);
}

Test(libmesos_calls, reconnect_drops_what_there_is)
{
	start_connected();
	subscribe(0);
	libmesos_calls_reconnect(calls);
	until(&master, noted("disconnected connected"));
	until(&master, master.streams_closed == 1);
	libmesos_calls_reconnect(calls);
	until(&master, noted("disconnected connected disconnected connected"));
	cr_assert_eq(master.probe_count, 3);
}

Test(libmesos_calls, reconnecting_without_a_master_changes_nothing)
{
	master.probe_status = 0;
	start_at(master.address);
	until(&master, master.probe_count == 1);
	libmesos_calls_reconnect(calls);
	fake_stop(&master);
	master.probe_status = 200;
	fake_start(&master);
	until(&master, noted("connected"));
	cr_assert_str_eq(trace, "begins connected ");
}

Test(libmesos_calls, a_master_that_falls_silent_is_given_up)
{
	uint64_t begun = uv_hrtime();

	start_connected();
	subscribe(0.02);
	until(&master, noted("disconnected connected"));
	/* Long before what any answer may take. */
	cr_assert_lt(uv_hrtime() - begun, 10 * 1000000000ULL);
}

/* Five heartbeats of 60 ms after the last event, whatever it was. A test that is held up may miss
 * the moment before the silence; then it tries again. */
Test(libmesos_calls, each_event_begins_the_silence_anew)
{
	uint64_t sent_at;

	start_connected();
	for (;;) {
		trace_clear();
		subscribe(0.06);
		fake_wait_ms(&master, 150);
		if (!noted("disconnected") && master.stream)
			break;
		until(&master, noted("disconnected connected"));
	}
	sent_at = uv_hrtime();
	send_event(EVENT(HEARTBEAT));
	until(&master, noted("disconnected"));
	if (noted("event:8"))
		cr_assert_geq((uint64_t)disconnected_at, sent_at + 290 * 1000000ULL);
}

/* ---- what a master refuses ------------------------------------------------------------------ */

Test(libmesos_calls, refused_calls_are_errors_in_libmesos_words)
{
	start_connected();
	master.subscribe_status = 403;
	say(CALL(SUBSCRIBE));
	until(&master, noted("error"));
	cr_assert(noted("error:Received unexpected '403 Forbidden' (go away) for SUBSCRIBE; "),
		  "%s", trace);
	master.subscribe_status = 200;
	subscribe(0);
	master.call_status = 400;
	say(CALL(REVIVE));
	until(&master, noted("for REVIVE"));
	cr_assert(noted("error:Received unexpected '400 Bad Request' (answer"), "%s", trace);
	cr_assert_not(noted("disconnected"), "%s", trace);
}

Test(libmesos_calls, no_leader_yet_is_no_error)
{
	start_connected();
	master.subscribe_status = 503;
	say(CALL(SUBSCRIBE));
	until(&master, master.subscribe_count == 1);
	/* The next one is dropped until that answer came. */
	while (master.subscribe_count == 1 && !master.expired) {
		say(CALL(SUBSCRIBE));
		fake_turn(&master);
	}
	cr_assert_str_eq(trace, "begins connected ");
}

static void redirect_to(const char *location)
{
	master.subscribe_status = 307;
	master.location = location;
}

Test(libmesos_calls, follows_to_the_leader)
{
	struct fake *leader = &master;
	char location[64];

	snprintf(location, sizeof(location), "//localhost:%d/api/v1/scheduler", leader->port);
	start_connected();
	redirect_to(location);
	say(CALL(SUBSCRIBE));
	until(&master, master.subscribe_count == 3);
	master.subscribe_status = 200;
	until(&master, master.stream);
	send_subscribed(0);
	until(&master, noted("event:1"));
	cr_assert_str_eq(trace, "begins connected event:1 ");
	say(CALL(REVIVE));
	until(&master, came(CALL(REVIVE)));
}

/* Five redirects are followed one after the other, not six; after that it looks anew. */
Test(libmesos_calls, masters_that_name_each_other_are_left)
{
	char location[64];

	snprintf(location, sizeof(location), "//%s/", master.address);
	start_connected();
	redirect_to(location);
	say(CALL(SUBSCRIBE));
	until(&master, noted("disconnected connected"));
	cr_assert_eq(master.subscribe_count, 6);
	say(CALL(SUBSCRIBE));
	until(&master, noted("disconnected connected disconnected connected"));
	cr_assert_eq(master.subscribe_count, 12);
}

Test(libmesos_calls, a_redirect_to_nowhere_is_none)
{
	start_connected();
	redirect_to("");
	say(CALL(SUBSCRIBE));
	until(&master, master.subscribe_count == 1);
	while (master.subscribe_count == 1 && !master.expired) {
		say(CALL(SUBSCRIBE));
		fake_turn(&master);
	}
	cr_assert_str_eq(trace, "begins connected ");
}

/* ---- master strings ------------------------------------------------------------------------- */

Test(libmesos_calls, strings_that_name_no_master_are_errors)
{
	start_at("host");
	until(&master, noted("error"));
	cr_assert(
		noted("error:Failed to create a master detector for 'host': 'host' is no address: "
		      "expected host:port; "),
		"%s", trace);
}

static void start_from_file(const char *text)
{
	char path[] = "/tmp/mesita-test-XXXXXX";
	int fd = mkstemp(path);
	char *name = xprintf("file://%s", path);

	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	start_at(name);
	unlink(path);
	free(name);
}

Test(libmesos_calls, a_file_may_name_the_master)
{
	char text[64];

	snprintf(text, sizeof(text), "%s \r\n\t\n", master.address);
	start_from_file(text);
	until(&master, noted("connected"));
}

Test(libmesos_calls, a_file_may_not_name_another)
{
	start_from_file("file:///etc/hostname");
	until(&master, noted("error"));
	cr_assert(noted("a file names no other file"), "%s", trace);
}

Test(libmesos_calls, an_empty_file_names_nobody)
{
	start_from_file("\n");
	until(&master, noted("error"));
	cr_assert(noted("it is empty"), "%s", trace);
}

/* ---- a cluster of its own ------------------------------------------------------------------- */

Test(libmesos_calls, local_starts_a_cluster_and_ends_it)
{
	program_make(&master, PROGRAM_LOCAL);
	start_at("local");
	until(&master, noted("connected"));
	subscribe(0);
	cr_assert_not(program_made("ended"));
	run_beside(&master, free_calls);
	cr_assert(program_made("ended"), "free() waits for the cluster's end");
	program_remove();
}

Test(libmesos_calls, local_that_says_nothing_of_a_master)
{
	program_make(&master, "echo '{\"masters\": 1}'; exec tail -f /dev/null");
	start_at("localquiet");
	until(&master, noted("error"));
	cr_assert(noted("error:`mesita local` did not say where its master is; "), "%s", trace);
	run_beside(&master, free_calls);
	program_remove();
}

Test(libmesos_calls, local_that_speaks_no_json)
{
	program_make(&master, "echo hello; exec tail -f /dev/null");
	start_at("local");
	until(&master, noted("error"));
	cr_assert(noted("error:`mesita local` did not say where its master is; "), "%s", trace);
	run_beside(&master, free_calls);
	program_remove();
}

Test(libmesos_calls, local_that_does_not_start)
{
	program_make(&master, "exit 1");
	start_at("local");
	until(&master, noted("error"));
	cr_assert(noted("error:`mesita local` did not start; is mesita in the PATH, or in "
			"$MESITA?; "),
		  "%s", trace);
	run_beside(&master, free_calls);
	program_remove();
}

Test(libmesos_calls, local_is_found_in_the_path)
{
	char *path;

	program_make(&master, "touch $DIRECTORY/started; exit 1");
	path = xprintf("%s:%s", program_directory(), getenv("PATH"));
	setenv("PATH", path, 1);
	free(path);
	setenv("MESITA", "", 1);
	start_at("local");
	until(&master, noted("error"));
	cr_assert(program_made("started"));
	run_beside(&master, free_calls);
	program_remove();
}
