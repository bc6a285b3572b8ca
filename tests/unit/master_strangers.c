/* The table of docs/operations.md, "Messages", to the master: what counts if the agent says it
 * means nothing from anybody else, also not from another agent. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "tests/unit/master_driver.h"

static struct driver *d;

static void set_up(void)
{
	d = driver_create();
	driver_agent(d, AGENT1);
	driver_agent(d, AGENT2);
	driver_subscribe(d, NULL, "\"failover_timeout\":60");
	driver_launch(d, 1, "M-0000", driver_offer(d), "M-S1", "t", NULL);
	driver_forget(d);
}

static void tear_down(void)
{
	driver_destroy(d);
}

TestSuite(master_strangers, .init = set_up, .fini = tear_down);

#define TYPE(name) &mesos__internal__##name##_message__descriptor
#define AID "\"agent_id\":{\"value\":\"M-S1\"}"
#define FID "\"framework_id\":{\"value\":\"M-0000\"}"
#define UUID "\"AQEBAQEBQAGAAQEBAQEBAQ==\""

/* Of the agent M-S1, which is AGENT2. */
static const struct {
	const ProtobufCMessageDescriptor *type;
	const char *message;
	const char *seen; /* when it says so itself; NULL: that leaves no trace */
} said[] = {
	{TYPE(unregister_slave), "{" AID "}", "FAILURE"},
	{TYPE(update_slave),
	 "{" AID ",\"update_oversubscribed_resources\":true,\"oversubscribed_resources\":[{"
	 "\"name\":\"cpus\",\"type\":\"SCALAR\",\"scalar\":{\"value\":2},\"revocable\":{}}]}",
	 NULL},
	{TYPE(status_update),
	 "{\"pid\":\"" AGENT2 "\",\"update\":{" FID "," AID ",\"timestamp\":1.5,\"uuid\":" UUID
	 ",\"status\":{\"task_id\":{\"value\":\"t\"},\"state\":\"TASK_RUNNING\",\"uuid\":" UUID
	 "}}}",
	 "UPDATE"},
	{TYPE(exited_executor), "{" FID "," AID ",\"executor_id\":{\"value\":\"e\"},\"status\":9}",
	 NULL},
	{TYPE(executor_to_framework),
	 "{" FID "," AID ",\"executor_id\":{\"value\":\"e\"},\"data\":\"aGk=\"}", "MESSAGE"},
	{TYPE(update_operation_status),
	 "{" FID "," AID ",\"status\":{\"state\":\"OPERATION_FINISHED\",\"uuid\":{\"value\":" UUID
	 "}},\"operation_uuid\":{\"value\":" UUID "}}",
	 NULL},
	{TYPE(pong_slave), "{}", NULL},
};

static const char *whole_state(void)
{
	static char text[300];
	const struct agent *a = master_find_agent(d->m, "M-S1");
	const struct framework *f = master_find_framework(d->m, "M-0000");

	snprintf(text, sizeof(text), "%d %s %g %g %u %u %zu", a != NULL, a ? a->pid : "",
		 a ? (double)resources_quantity(&a->used, "cpus") : 0,
		 a ? (double)resources_quantity(&a->total, "cpus") : 0, HASH_COUNT(f->tasks),
		 HASH_COUNT(d->m->agents), f->completed_task_count);
	return text;
}

Test(master_strangers, change_nothing)
{
	static const char *const strangers[] = {AGENT1, "slave(1)@127.0.0.1:5999",
						"slave(2)@127.0.0.1:5002", "x@127.0.0.1:1"};
	char before[300];

	snprintf(before, sizeof(before), "%s", whole_state());
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		for (size_t j = 0; j < 4; j++) {
			driver_forget(d);
			driver_message(d, strangers[j], said[i].type, "%s", said[i].message);
			cr_expect_str_eq(whole_state(), before, "row %zu, %s", i, strangers[j]);
			refute(d, "event 1");
			refute(d, "master -> " AGENT2);
		}
	}
}

Test(master_strangers, are_not_the_agents_themselves)
{
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		if (!said[i].seen)
			continue;
		tear_down();
		set_up();
		driver_message(d, AGENT2, said[i].type, "%s", said[i].message);
		cr_expect(driver_saw(d, "event 1", said[i].seen, NULL), "row %zu: no %s in\n%s", i,
			  said[i].seen, d->trace.data ? d->trace.data : "");
	}
}
