#include <criterion/criterion.h>
#include <string.h>

#include "base/memory/arena.h"
#include "lab/parts/driver.h"

static struct arena arena;

static void begin(void)
{
	arena_init(&arena);
}

static void end(void)
{
	arena_free(&arena);
}

TestSuite(lab_driver_messages, .init = begin, .fini = end);

static Mesos__Scheduler__Call *make_call(const char *text)
{
	struct err err = {{0}};
	struct json *json;
	void *call;

	cr_assert_eq(json_parse(&arena, text, strlen(text), &json, &err), 0, "%s", err.text);
	call = json_to_proto(&mesos__scheduler__call__descriptor, json, SPELL_V1, &arena, &err);
	cr_assert(call, "%s", err.text);
	return call;
}

static const char *print(const void *message)
{
	struct buf text = BUF_INIT;
	char *copy;

	proto_to_json(message, SPELL_V1, &text);
	copy = arena_strdup(&arena, text.data);
	buf_free(&text);
	return copy;
}

#define ID "\"framework_id\":{\"value\":\"F\"}"

static const struct {
	const char *call, *message;
} words[] = {
	{"{\"type\":\"SUBSCRIBE\",\"subscribe\":{\"framework_info\":{\"user\":\"u\",\"name\":\"n\"}"
	 "}}",
	 "RegisterFrameworkMessage"},
	{"{\"type\":\"SUBSCRIBE\"," ID ",\"subscribe\":{\"framework_info\":{\"user\":\"u\","
	 "\"name\":\"n\",\"id\":{\"value\":\"F\"}}}}",
	 "ReregisterFrameworkMessage"},
	{"{\"type\":\"TEARDOWN\"," ID "}", "UnregisterFrameworkMessage"},
	{"{\"type\":\"REVIVE\"," ID "}", "ReviveOffersMessage"},
	{"{\"type\":\"SUPPRESS\"," ID "}", "Call"},
	{"{\"type\":\"KILL\"," ID ",\"kill\":{\"task_id\":{\"value\":\"t\"}}}", "KillTaskMessage"},
	{"{\"type\":\"DECLINE\"," ID ",\"decline\":{\"offer_ids\":[{\"value\":\"o\"}],"
	 "\"filters\":{\"refuse_seconds\":7}}}",
	 "LaunchTasksMessage"},
	{"{\"type\":\"ACCEPT\"," ID
	 ",\"accept\":{\"offer_ids\":[{\"value\":\"o\"}],\"operations\":["
	 "{\"type\":\"LAUNCH\",\"launch\":{\"task_infos\":[{\"name\":\"n\",\"task_id\":{\"value\":"
	 "\"t\"},\"agent_id\":{\"value\":\"a\"}}]}}],\"filters\":{}}}",
	 "LaunchTasksMessage"},
	{"{\"type\":\"ACKNOWLEDGE\"," ID ",\"acknowledge\":{\"agent_id\":{\"value\":\"a\"},"
	 "\"task_id\":{\"value\":\"t\"},\"uuid\":\"AAECAwQFRgeICQoLDA0ODw==\"}}",
	 "StatusUpdateAcknowledgementMessage"},
	{"{\"type\":\"RECONCILE\"," ID ",\"reconcile\":{\"tasks\":[{\"task_id\":{\"value\":\"t\"},"
	 "\"agent_id\":{\"value\":\"a\"}}]}}",
	 "ReconcileTasksMessage"},
};

Test(lab_driver_messages, calls_in_words_of_old_say_the_same)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		const Mesos__Scheduler__Call *call = make_call(words[i].call);
		const ProtobufCMessage *message = driver_wrap_call(&arena, call, true, false);

		cr_expect_str_eq(message->descriptor->short_name, words[i].message);
		cr_expect(driver_says(message->descriptor));
		cr_expect_str_eq(print(driver_unwrap_call(&arena, message)), print(call));
	}
}

Test(lab_driver_messages, later_drivers_say_calls)
{
	const Mesos__Scheduler__Call *call = make_call(words[0].call);

	cr_expect_eq(driver_wrap_call(&arena, call, false, false), call);
	cr_expect(driver_is_registration(call));
	cr_expect_not(driver_is_registration(make_call(words[3].call)));
}

Test(lab_driver_messages, a_failover_is_told)
{
	const Mesos__Scheduler__Call *call = make_call(words[1].call);
	const Mesos__Internal__ReregisterFrameworkMessage *message =
		driver_wrap_call(&arena, call, true, true);

	cr_expect(message->failover);
}

Test(lab_driver_messages, what_kills_libmesos_is_known)
{
	Mesos__Internal__ResourceOffersMessage offers =
		MESOS__INTERNAL__RESOURCE_OFFERS_MESSAGE__INIT;
	Mesos__Internal__StatusUpdateMessage message = MESOS__INTERNAL__STATUS_UPDATE_MESSAGE__INIT;
	Mesos__Internal__StatusUpdate update = MESOS__INTERNAL__STATUS_UPDATE__INIT;
	Mesos__FrameworkID id = MESOS__FRAMEWORK_ID__INIT;

	cr_expect_null(driver_check_message(&offers, "F"));
	offers.n_offers = 1;
	cr_expect(driver_check_message(&offers, "F"));
	id.value = (char *)"F";
	update.framework_id = &id;
	message.update = &update;
	cr_expect_null(driver_check_message(&message, "F"));
	cr_expect(driver_check_message(&message, "G"));
	cr_expect(driver_check_message(&message, NULL));
}

Test(lab_driver_messages, updates_without_a_pid_are_not_acknowledged)
{
	Mesos__Internal__StatusUpdateMessage message = MESOS__INTERNAL__STATUS_UPDATE_MESSAGE__INIT;
	Mesos__Internal__StatusUpdate update = MESOS__INTERNAL__STATUS_UPDATE__INIT;
	Mesos__TaskStatus status = MESOS__TASK_STATUS__INIT;
	uint8_t uuid[UUID_BYTES] = {0};
	Mesos__Scheduler__Event event;

	update.status = &status;
	update.has_uuid = true;
	update.uuid = (ProtobufCBinaryData){sizeof(uuid), uuid};
	message.update = &update;
	message.pid = (char *)"@0.0.0.0:0";
	cr_assert(driver_unwrap_event(&arena, &message, &event));
	cr_expect_not(event.update->status->has_uuid);
	message.pid = (char *)"slave(1)@10.0.0.1:5051";
	cr_assert(driver_unwrap_event(&arena, &message, &event));
	cr_expect(event.update->status->has_uuid);
	cr_expect_not(status.has_uuid);
}
