/* What simulated agents say of themselves to a new master, and how they read its orders. */
#include <criterion/criterion.h>

#include "base/time/clock.h"
#include "bench/load/fleet/agent_messages.h"

static struct plan plan = {.agent_cpus = 4, .agent_mem = 1024, .task_cpus = 0.5, .task_mem = 64};
static struct rng rng;
static struct arena arena;
static struct buf body;

static void setup(void)
{
	rng_seed(&rng, 1);
	arena_init(&arena);
	body = BUF_INIT;
}

static void teardown(void)
{
	arena_free(&arena);
	buf_free(&body);
}

TestSuite(load_messages, .init = setup, .fini = teardown);

static Mesos__FrameworkInfo *make_framework(const char *id, const char *role)
{
	Mesos__FrameworkInfo *info =
		PROTO_NEW(&arena, Mesos__FrameworkInfo, mesos__framework_info__descriptor);

	info->user = "root";
	info->name = "load";
	info->id = PROTO_NEW(&arena, Mesos__FrameworkID, mesos__framework_id__descriptor);
	info->id->value = (char *)id;
	info->role = (char *)role;
	return info;
}

static Mesos__Internal__ReregisterSlaveMessage *reread(void)
{
	Mesos__Internal__ReregisterSlaveMessage *m =
		proto_unpack(&mesos__internal__reregister_slave_message__descriptor, &arena,
			     body.data, body.len, NULL);

	cr_assert_not_null(m);
	return m;
}

Test(load_messages, an_agent_comes_back_with_all_it_runs)
{
	Mesos__FrameworkInfo *first = make_framework("f-1", NULL);
	Mesos__FrameworkInfo *second = make_framework("f-2", "batch");
	uint8_t uuid[UUID_BYTES] = {9};
	struct agent_task tasks[3] = {
		{"t-1", first, MESOS__TASK_STATE__TASK_RUNNING, uuid, SECOND},
		{"t-2", second, MESOS__TASK_STATE__TASK_RUNNING, uuid, SECOND},
		{"t-3", first, MESOS__TASK_STATE__TASK_FINISHED, uuid, SECOND},
	};
	struct agent_self self = {
		.number = 6, .id = "a-6", .port = 5051, .tasks = tasks, .count = 3};
	Mesos__Internal__ReregisterSlaveMessage *m;

	agent_message_reregister(&plan, &self, &rng, &body);
	m = reread();
	cr_assert_str_eq(m->agent->id->value, "a-6");
	cr_assert_str_eq(m->agent->hostname, "load-agent-7");
	cr_assert_eq(m->agent->port, 5051);
	cr_assert_not_null(m->version);
	cr_assert_not_null(m->resource_version_uuid);
	cr_assert_gt(m->n_agent_capabilities, 0);
	/* Executors of command tasks stay with the agent. */
	cr_assert_eq(m->n_executor_infos, 0);
	cr_assert_eq(m->n_frameworks, 2);
	cr_assert_eq(m->n_tasks, 3);
	cr_assert_str_eq(m->tasks[1]->framework_id->value, "f-2");
	cr_assert_str_eq(m->tasks[1]->agent_id->value, "a-6");
	cr_assert_eq(m->tasks[1]->n_resources, 2);
	cr_assert_eq(m->tasks[1]->resources[0]->scalar->value, 0.5);
	cr_assert_str_eq(m->tasks[1]->resources[0]->allocation_info->role, "batch");
	cr_assert_str_eq(m->tasks[0]->resources[1]->allocation_info->role, "*");
	cr_assert_eq(m->tasks[2]->state, MESOS__TASK_STATE__TASK_FINISHED);
	cr_assert_eq(m->tasks[2]->n_statuses, 1);
	cr_assert_eq(m->tasks[2]->status_update_uuid.data[0], 9);
}

/* A new master compares: who comes back says the same of itself as at first. */
Test(load_messages, an_agent_stays_the_same)
{
	struct agent_self self = {.number = 3, .id = "a-3", .port = 5051};
	Mesos__Internal__RegisterSlaveMessage *before;
	Mesos__Internal__ReregisterSlaveMessage *after;

	agent_message_register(&plan, 3, 5051, &rng, &body);
	before = proto_unpack(&mesos__internal__register_slave_message__descriptor, &arena,
			      body.data, body.len, NULL);
	buf_clear(&body);
	agent_message_reregister(&plan, &self, &rng, &body);
	after = reread();
	before->agent->id = after->agent->id;
	cr_assert(proto_equal(before->agent, after->agent));
}

Test(load_messages, orders)
{
	Mesos__Internal__KillTaskMessage kill = MESOS__INTERNAL__KILL_TASK_MESSAGE__INIT;
	Mesos__Internal__SlaveReregisteredMessage back =
		MESOS__INTERNAL__SLAVE_REREGISTERED_MESSAGE__INIT;
	Mesos__FrameworkID framework = MESOS__FRAMEWORK_ID__INIT;
	Mesos__AgentID agent = MESOS__AGENT_ID__INIT;
	Mesos__TaskID task = MESOS__TASK_ID__INIT;
	struct agent_order order;

	framework.value = "f-1";
	task.value = "t-1";
	agent.value = "a-1";
	kill.framework_id = &framework;
	kill.task_id = &task;
	proto_pack(&kill, &body);
	cr_assert(agent_message_parse("KillTaskMessage", (struct slice){body.data, body.len},
				      &arena, &order));
	cr_assert_eq(order.kind, ORDER_KILL);
	cr_assert_str_eq(order.id, "t-1");
	buf_clear(&body);
	back.agent_id = &agent;
	proto_pack(&back, &body);
	cr_assert(agent_message_parse("SlaveReregisteredMessage",
				      (struct slice){body.data, body.len}, &arena, &order));
	cr_assert_eq(order.kind, ORDER_REREGISTERED);
	cr_assert_eq(order.asked_for, 0);
	cr_assert(
		!agent_message_parse("KillTaskMessage", (struct slice){"\xff", 1}, &arena, &order));
	cr_assert(agent_message_parse("UpdateFrameworkMessage", (struct slice){"\xff", 1}, &arena,
				      &order));
	cr_assert_eq(order.kind, ORDER_OTHER);
}
