/* What comes in is counted, once, whoever sends it. */
#include <criterion/criterion.h>
#include <stddef.h>
#include <string.h>

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
