/* What containers may use, as their tasks come and go; and what becomes of those that break it. */
#include "agent_harness.h"

#include <math.h>
#include <string.h>

static struct rig rig;

static void start(void)
{
	rig_init(&rig);
	rig.options.limits_cpus = rig.options.limits_mem = true;
	rig_start(&rig);
	rig_register(&rig);
}

static void stop(void)
{
	rig_free(&rig);
}

TestSuite(agent_limits, .init = start, .fini = stop);

static void add_limit(Mesos__TaskInfo *task, const char *name, double value)
{
	Mesos__TaskInfo__LimitsEntry *limit = rig_new(&rig, Mesos__TaskInfo__LimitsEntry,
						      mesos__task_info__limits_entry__descriptor);

	if (isnan(value))
		return;
	limit->key = (char *)name;
	limit->value = rig_new(&rig, Mesos__Value__Scalar, mesos__value__scalar__descriptor);
	limit->value->value = value;
	proto_push(&rig.arena, task->n_limits, task->limits, limit);
}

/* A task of 1 cpu and 32 MB, on an executor of half a cpu; NAN: no limit. */
static void run(const char *id, double cpus, double mem)
{
	Mesos__TaskInfo *task = rig_task(&rig, id, "e");
	Mesos__Resource *memory = rig_new(&rig, Mesos__Resource, mesos__resource__descriptor);

	memory->name = (char *)"mem";
	memory->type = MESOS__VALUE__TYPE__SCALAR;
	memory->scalar = rig_new(&rig, Mesos__Value__Scalar, mesos__value__scalar__descriptor);
	memory->scalar->value = 32;
	proto_push(&rig.arena, task->n_resources, task->resources, memory);
	add_limit(task, "cpus", cpus);
	add_limit(task, "mem", mem);
	rig_run_task(&rig, task, -1);
}

static void running(void)
{
	rig_container_started(&rig, "e", 42);
	rig_subscribe(&rig, "e", 1);
	rig_take(&rig);
}

static void limited(Mesos__TaskStatus__Reason reason, const char *resource, double amount)
{
	struct agent_event event = {.type = AGENT_CONTAINER_LIMITED,
				    .container_limited = {
					    .container = rig_container(&rig, "e"),
					    .reason = reason,
					    .text = "Too much:\nof it",
					    .resource = resource,
					    .amount = amount,
				    }};

	rig_step(&rig, &event);
}

Test(agent_limits, follow_the_tasks)
{
	run("a", NAN, NAN);
	running();
	run("b", NAN, NAN);
	rig_expect(&rig, "limit e 2.5 64 nan nan\nevent 1 LAUNCH b\n");
	rig_update(&rig, "e", "a", MESOS__TASK_STATE__TASK_FINISHED, 1);
	cr_expect(strstr(rig_take(&rig), "limit e 1.5 32 nan nan\n"));
}

/* One without a limit of processors frees those of all; memory is a sum in any case. */
Test(agent_limits, add_up)
{
	run("a", 1.5, 100);
	running();
	run("b", NAN, NAN);
	rig_expect(&rig, "limit e 2.5 64 inf 132\nevent 1 LAUNCH b\n");
	rig_update(&rig, "e", "b", MESOS__TASK_STATE__TASK_FINISHED, 1);
	cr_expect(strstr(rig_take(&rig), "limit e 1.5 32 2 100\n"));
	run("c", INFINITY, INFINITY);
	cr_expect(strstr(rig_take(&rig), "limit e 2.5 64 inf inf\n"));
	rig_update(&rig, "e", "a", MESOS__TASK_STATE__TASK_FINISHED, 2);
	rig_update(&rig, "e", "c", MESOS__TASK_STATE__TASK_FINISHED, 3);
	cr_expect(strstr(rig_take(&rig), "limit e 0.5 0 inf nan\n"));
}

Test(agent_limits, nobody_is_told_without_isolators)
{
	Mesos__TaskInfo *task;

	rig_free(&rig);
	rig_init(&rig);
	rig_start(&rig);
	rig_register(&rig);
	run("a", NAN, NAN);
	running();
	run("b", NAN, NAN);
	rig_expect(&rig, "event 1 LAUNCH b\n");
	run("c", 2, NAN);
	cr_expect(strstr(rig_take(&rig), "CPU limits can only be set"));
	run("d", NAN, 2);
	cr_expect(strstr(rig_take(&rig), "Memory limits can only be set"));
	/* Whichever comes first; others have no limits. */
	task = rig_task(&rig, "f", "e");
	add_limit(task, "disk", 1);
	add_limit(task, "cpus", 2);
	rig_run_task(&rig, task, -1);
	cr_expect(strstr(rig_take(&rig), "CPU limits can only be set"));
}

Test(agent_limits, what_is_broken_ends_the_executor)
{
	static const struct {
		Mesos__TaskStatus__Reason reason;
		const char *told;
	} cases[] = {
		{MESOS__TASK_STATUS__REASON__REASON_CONTAINER_LIMITATION_MEMORY,
		 "FAILED CONTAINER_LIMITATION_MEMORY"},
		{MESOS__TASK_STATUS__REASON__REASON_CONTAINER_LIMITATION_DISK,
		 "FAILED CONTAINER_LIMITATION_DISK"},
		{MESOS__TASK_STATUS__REASON__REASON_CONTAINER_UPDATE_FAILED,
		 "LOST CONTAINER_UPDATE_FAILED"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *told;

		run("a", NAN, NAN);
		run("b", NAN, NAN);
		running();
		limited(cases[i].reason, "mem", 96);
		rig_expect(&rig, "destroy e\n");
		/* The first reason counts. */
		limited(MESOS__TASK_STATUS__REASON__REASON_CONTAINER_LIMITATION, NULL, 0);
		rig_expect(&rig, "");
		rig_container_exited(&rig, "e", 9);
		told = rig_take(&rig);
		for (const char *task = "ab"; *task; task++)
			cr_expect(
				strstr(told, arena_printf(&rig.arena, "%c %s \"Too much:\nof it\"",
							  *task, cases[i].told)),
				"%s", told);
		stop();
		start();
	}
}
