/* What comes in is counted, once, whoever sends it; and a view of roles with many frameworks. */
#include <criterion/criterion.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "master/core/roles/roles_view.h"
#include "tests/unit/master_driver.h"

static struct driver *d;

static void set_up(void)
{
	d = driver_create();
}

static void tear_down(void)
{
	driver_destroy(d);
}

TestSuite(master_messages, .init = set_up, .fini = tear_down);

#define IDS                                                                                        \
	"\"agent_id\":{\"value\":\"x\"},\"framework_id\":{\"value\":\"f\"},"                       \
	"\"executor_id\":{\"value\":\"e\"}"
#define COUNTER(name) offsetof(struct master_counters, messages_##name), #name
#define MESSAGE(name) &mesos__internal__##name##__descriptor

Test(master_messages, are_counted_once)
{
	static const struct {
		const ProtobufCMessageDescriptor *type;
		const char *json;
		size_t counter;
		const char *name;
	} messages[] = {
		{MESSAGE(register_slave_message), "{\"agent\":{\"hostname\":\"h\"}}",
		 COUNTER(register_slave)},
		{MESSAGE(reregister_slave_message),
		 "{\"agent\":{\"hostname\":\"h\",\"id\":{\"value\":\"x\"}}}",
		 COUNTER(reregister_slave)},
		{MESSAGE(unregister_slave_message), "{\"agent_id\":{\"value\":\"x\"}}",
		 COUNTER(unregister_slave)},
		{MESSAGE(update_slave_message), "{\"agent_id\":{\"value\":\"x\"}}",
		 COUNTER(update_slave)},
		{MESSAGE(exited_executor_message), "{" IDS ",\"status\":0}",
		 COUNTER(exited_executor)},
		{MESSAGE(executor_to_framework_message), "{" IDS ",\"data\":\"AA==\"}",
		 COUNTER(executor_to_framework)},
		{MESSAGE(status_update_message),
		 "{\"update\":{\"framework_id\":{\"value\":\"f\"},\"timestamp\":1,\"status\":"
		 "{\"task_id\":{\"value\":\"t\"},\"state\":\"TASK_RUNNING\"}}}",
		 COUNTER(status_update)},
		{MESSAGE(update_operation_status_message),
		 "{\"status\":{\"state\":\"OPERATION_FINISHED\"},\"operation_uuid\":"
		 "{\"value\":\"AAECAwQFRgeICQoLDA0ODw==\"}}",
		 COUNTER(operation_status_update)},
		{MESSAGE(register_framework_message),
		 "{\"framework\":{\"user\":\"u\",\"name\":\"n\"}}", COUNTER(register_framework)},
		{MESSAGE(reregister_framework_message),
		 "{\"framework\":{\"user\":\"u\",\"name\":\"n\",\"id\":{\"value\":\"f\"}},"
		 "\"failover\":false}",
		 COUNTER(reregister_framework)},
	};

	for (size_t i = 0; i < sizeof(messages) / sizeof(*messages); i++) {
		char *counters = (char *)&d->m->counters;
		uint64_t before = *(uint64_t *)(counters + messages[i].counter);

		driver_message(d, "somebody@127.0.0.1:9", messages[i].type, "%s", messages[i].json);
		cr_expect_eq(*(uint64_t *)(counters + messages[i].counter), before + 1, "%s",
			     messages[i].name);
	}
}

/* A role is known by whatever is of it, and by nothing else. */
Test(master_messages, roles_that_are_known)
{
	struct roles_view view;
	struct arena arena;

	arena_init(&arena);
	driver_agent(d, AGENT1);
	roles_view_make(&view, d->m, &arena);
	cr_expect_null(view.roles, "'*' is nobody's");
	roles_view_free(&view);
	driver_subscribe(d, NULL, "\"roles\":[\"a\"],\"capabilities\":[{\"type\":\"MULTI_ROLE\"}]");
	driver_launch(d, 1, "M-0000", driver_offer(d), "M-S0", "t", NULL);
	driver_call(
		d, 1,
		"{\"type\":\"UPDATE_FRAMEWORK\",\"framework_id\":{\"value\":\"M-0000\"},"
		"\"update_framework\":{\"framework_info\":{\"user\":\"u\",\"name\":\"n\",\"id\":"
		"{\"value\":\"M-0000\"},\"roles\":[\"b\"],\"capabilities\":[{\"type\":"
		"\"MULTI_ROLE\"}]}}}");
	roles_view_make(&view, d->m, &arena);
	cr_expect(roles_view_find(&view, "a"), "its task is of the role that it left");
	cr_expect(roles_view_find(&view, "b"));
	cr_expect_eq(HASH_COUNT(view.roles), 2);
	roles_view_free(&view);
	arena_free(&arena);
}

Test(master_messages, a_role_may_have_many_frameworks)
{
	char id[16];
	struct roles_view view;
	struct role_view *role;
	struct arena arena;

	for (int i = 0; i < 19; i++)
		driver_subscribe(d, NULL, "\"role\":\"many\"");
	arena_init(&arena);
	roles_view_make(&view, d->m, &arena);
	role = roles_view_find(&view, "many");
	cr_assert(role);
	cr_assert_eq(role->framework_count, 19);
	for (int i = 0; i < 19; i++) {
		snprintf(id, sizeof(id), "M-%04d", i);
		cr_expect_str_eq(role->frameworks[i], id);
	}
	roles_view_free(&view);
	arena_free(&arena);
}
