/* What the load generator's drivers make of messages, and what they say first. */
#include <criterion/criterion.h>
#include <string.h>

#include "bench/load/schedulers/driver_messages.h"

static struct arena arena;

static void set_up(void)
{
	arena_init(&arena);
}

static void tear_down(void)
{
	arena_free(&arena);
}

TestSuite(load_driver, .init = set_up, .fini = tear_down);

static enum driver_message parse(const char *text, const ProtobufCMessageDescriptor *type,
				 Mesos__Scheduler__Event *event)
{
	struct buf bytes = BUF_INIT;
	struct err err = {{0}};
	struct json *json;
	enum driver_message found;
	void *message;

	cr_assert_eq(json_parse(&arena, text, strlen(text), &json, &err), 0, "%s", err.text);
	message = json_to_proto(type, json, SPELL_V1, &arena, &err);
	cr_assert(message, "%s", err.text);
	proto_pack(message, &bytes);
	mesos__scheduler__event__init(event);
	/* The bytes must not be needed afterwards. */
	found = driver_message_parse(type->name, (struct slice){bytes.data, bytes.len}, &arena,
				     event, &err);
	if (bytes.len)
		memset(bytes.data, 0xff, bytes.len);
	buf_free(&bytes);
	return found;
}

#define PARSE(name, text, event)                                                                   \
	parse((text), &mesos__internal__##name##_message__descriptor, (event))
#define UPDATE(more)                                                                               \
	"{\"update\":{\"framework_id\":{\"value\":\"f\"},\"timestamp\":1,\"status\":{\"task_id\":" \
	"{\"value\":\"t\"},\"state\":\"TASK_RUNNING\"}" more "}"
#define AGENT ",\"agent_id\":{\"value\":\"a\"}"
#define UUID ",\"uuid\":\"AQEBAQEBQAGAAQEBAQEBAQ==\""

static const struct {
	const char *text;
	enum driver_message found;
	bool acknowledged;
} updates[] = {
	{UPDATE(AGENT UUID "},\"pid\":\"slave(1)@127.0.0.1:1\""), DRIVER_EVENT, true},
	{UPDATE(AGENT UUID "},\"pid\":\"@0.0.0.0:0\""), DRIVER_EVENT, false},
	{UPDATE(AGENT UUID "}"), DRIVER_EVENT, false},
	{UPDATE(AGENT "},\"pid\":\"slave(1)@127.0.0.1:1\""), DRIVER_EVENT, false},
	{UPDATE(UUID "},\"pid\":\"slave(1)@127.0.0.1:1\""), DRIVER_BAD, false},
};

Test(load_driver, an_update_is_acknowledged_to_somebody)
{
	for (size_t i = 0; i < sizeof(updates) / sizeof(updates[0]); i++) {
		Mesos__Scheduler__Event event;

		cr_expect_eq(PARSE(status_update, updates[i].text, &event), updates[i].found,
			     "row %zu", i);
		if (updates[i].found != DRIVER_EVENT)
			continue;
		cr_expect_eq(event.update->status->has_uuid, updates[i].acknowledged, "row %zu", i);
		if (updates[i].acknowledged) {
			cr_expect_eq(event.update->status->uuid.len, 16);
			cr_expect_str_eq(event.update->status->agent_id->value, "a");
		}
	}
}

#define OFFER                                                                                      \
	"{\"id\":{\"value\":\"o\"},\"framework_id\":{\"value\":\"f\"},\"hostname\":\"h\"" AGENT "}"

Test(load_driver, messages_become_events)
{
	Mesos__Scheduler__Event event;

	cr_assert_eq(PARSE(framework_registered,
			   "{\"framework_id\":{\"value\":\"f\"},\"master_info\":{\"id\":\"m\","
			   "\"ip\":1,\"port\":2}}",
			   &event),
		     DRIVER_EVENT);
	cr_expect_str_eq(event.subscribed->framework_id->value, "f");
	cr_assert_eq(PARSE(framework_reregistered,
			   "{\"framework_id\":{\"value\":\"g\"},\"master_info\":{\"id\":\"m\","
			   "\"ip\":1,\"port\":2}}",
			   &event),
		     DRIVER_EVENT);
	cr_expect_str_eq(event.subscribed->framework_id->value, "g");
	cr_assert_eq(PARSE(resource_offers, "{\"offers\":[" OFFER "],\"pids\":[\"p\"]}", &event),
		     DRIVER_EVENT);
	cr_assert_eq(event.offers->n_offers, 1);
	cr_expect_str_eq(event.offers->offers[0]->id->value, "o");
	cr_assert_eq(PARSE(rescind_resource_offer, "{\"offer_id\":{\"value\":\"o\"}}", &event),
		     DRIVER_EVENT);
	cr_expect_str_eq(event.rescind->offer_id->value, "o");
	cr_assert_eq(PARSE(framework_error, "{\"message\":\"why\"}", &event), DRIVER_EVENT);
	cr_expect_str_eq(event.error->message, "why");
	cr_expect_eq(PARSE(lost_slave, "{\"agent_id\":{\"value\":\"a\"}}", &event), DRIVER_IGNORED);
}

Test(load_driver, what_would_end_libmesos_is_bad)
{
	Mesos__Scheduler__Event event;
	struct err err = {{0}};

	cr_expect_eq(PARSE(resource_offers, "{\"offers\":[" OFFER "]}", &event), DRIVER_BAD);
	cr_expect_eq(PARSE(resource_offers, "{\"pids\":[\"p\"]}", &event), DRIVER_BAD);
	cr_expect_eq(driver_message_parse("mesos.internal.FrameworkErrorMessage",
					  (struct slice){"\xff", 1}, &arena, &event, &err),
		     DRIVER_BAD);
}

Test(load_driver, subscribe_has_the_numbers_of_v0)
{
	Mesos__Scheduler__Call call = MESOS__SCHEDULER__CALL__INIT, *read;
	Mesos__Scheduler__Call__Subscribe subscribe = MESOS__SCHEDULER__CALL__SUBSCRIBE__INIT;
	Mesos__FrameworkInfo info = MESOS__FRAMEWORK_INFO__INIT;
	char long_name[300], *roles[] = {"r"};
	struct buf bytes = BUF_INIT;
	struct err err = {{0}};
	bool force = true;

	memset(long_name, 'n', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	info.user = "u";
	info.name = long_name;
	subscribe.framework_info = &info;
	subscribe.n_suppressed_roles = 1;
	subscribe.suppressed_roles = roles;
	call.has_type = 1;
	call.type = MESOS__SCHEDULER__CALL__TYPE__SUBSCRIBE;
	call.subscribe = &subscribe;
	driver_message_subscribe(&call, &bytes);
	read = proto_call_from_v0(&arena, bytes.data, bytes.len, &force, &err);
	cr_assert(read, "%s", err.text);
	cr_expect_not(force);
	cr_expect_str_eq(read->subscribe->framework_info->name, long_name);
	cr_assert_eq(read->subscribe->n_suppressed_roles, 1);
	cr_expect_str_eq(read->subscribe->suppressed_roles[0], "r");
	buf_free(&bytes);
}
