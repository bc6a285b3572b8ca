/* Task groups: ordered, queued, delivered and killed as a whole. */
#include "agent_harness.h"

#include <string.h>

static struct rig rig;

static void start(void)
{
	rig_init(&rig);
	rig_start(&rig);
	rig_register(&rig);
}

static void stop(void)
{
	rig_free(&rig);
}

TestSuite(agent_groups, .init = start, .fini = stop);

/* An order to run tasks ("a b c") on the executor; `launch` -1: unset. */
static Mesos__Internal__RunTaskGroupMessage *order(const char *ids, const char *executor,
						   int launch)
{
	Mesos__Internal__RunTaskGroupMessage *message =
		rig_new(&rig, Mesos__Internal__RunTaskGroupMessage,
			mesos__internal__run_task_group_message__descriptor);
	char *copy = arena_strdup(&rig.arena, ids);

	message->framework = rig_new(&rig, Mesos__FrameworkInfo, mesos__framework_info__descriptor);
	message->framework->user = message->framework->name = (char *)"u";
	message->framework->has_checkpoint = 1;
	message->framework->checkpoint = rig.checkpoint;
	message->framework->id = rig_new(&rig, Mesos__FrameworkID, mesos__framework_id__descriptor);
	message->framework->id->value = (char *)RIG_FRAMEWORK;
	message->task_group =
		rig_new(&rig, Mesos__TaskGroupInfo, mesos__task_group_info__descriptor);
	for (char *id = strtok(copy, " "); id; id = strtok(NULL, " ")) {
		Mesos__TaskInfo *task = rig_task(&rig, id, executor);

		message->executor = task->executor;
		task->executor = NULL;
		proto_push(&rig.arena, message->task_group->n_tasks, message->task_group->tasks,
			   task);
	}
	if (!message->executor)
		message->executor = rig_task(&rig, "none", executor)->executor;
	message->has_launch_executor = launch >= 0;
	message->launch_executor = launch > 0;
	return message;
}

static void run(const char *ids, const char *executor, int launch)
{
	rig_message(&rig, RIG_MASTER, order(ids, executor, launch));
}

Test(agent_groups, delivered_together_and_in_order)
{
	run("a b", "e", 1);
	rig_expect(&rig, "launch e\n");
	rig_run(&rig, "alone", "e", 0);
	run("c d", "e", 0);
	rig_container_started(&rig, "e", 42);
	rig_subscribe(&rig, "e", 1);
	rig_expect(&rig, "event 1 SUBSCRIBED\nevent 1 LAUNCH_GROUP a b\n"
			 "event 1 LAUNCH alone\nevent 1 LAUNCH_GROUP c d\nreply 200\n");
	run("f", "e", 0);
	rig_expect(&rig, "event 1 LAUNCH_GROUP f\n");
}

Test(agent_groups, delivered_when_all_of_it_is_stored)
{
	rig.checkpoint = rig.manual_store = true;
	run("a b", "e", 1);
	rig_expect(&rig, "");
	rig_stored(&rig, UINT64_MAX);
	rig_expect(&rig, "launch e\n");
	rig_container_started(&rig, "e", 42);
	rig_subscribe(&rig, "e", 1);
	rig_take(&rig);
	run("c d", "e", 0);
	rig_expect(&rig, "");
	rig_stored(&rig, UINT64_MAX);
	rig_expect(&rig, "event 1 LAUNCH_GROUP c d\n");
}

Test(agent_groups, refused_as_a_whole)
{
	Mesos__Internal__RunTaskGroupMessage *message = order("a b", "e", 1);

	message->task_group->tasks[1]->agent_id->value = (char *)"another";
	rig_message(&rig, RIG_MASTER, message);
	rig_expect(&rig, "");
	rig_message(&rig, "somebody@10.0.0.9:1", order("a b", "e", 1));
	rig_expect(&rig, "");
	run("", "e", 1);
	run("a a", "e", 1);
	rig_expect(&rig, "");
	run("a b", "e", 0);
	rig_expect(&rig,
		   "send master StatusUpdateMessage a LOST EXECUTOR_TERMINATED \"No executor is "
		   "expected to launch and there is none running\"\n"
		   "send master StatusUpdateMessage b LOST EXECUTOR_TERMINATED \"No executor is "
		   "expected to launch and there is none running\"\n");
	run("c d", "e", 1);
	rig_expect(&rig, "launch e\n");
	run("x d", "e", 0);
	rig_expect(&rig, "");
	run("x y", "e", 1);
	cr_assert(strstr(rig_take(&rig), "y LOST EXECUTOR_TERMINATED \"Master wants to launch"));
}

static Mesos__Resource *reserved_disk(void)
{
	Mesos__Resource *disk = rig_new(&rig, Mesos__Resource, mesos__resource__descriptor);
	Mesos__Resource__ReservationInfo *reservation =
		rig_new(&rig, Mesos__Resource__ReservationInfo,
			mesos__resource__reservation_info__descriptor);

	disk->name = (char *)"disk";
	disk->type = MESOS__VALUE__TYPE__SCALAR;
	disk->scalar = rig_new(&rig, Mesos__Value__Scalar, mesos__value__scalar__descriptor);
	disk->scalar->value = 1;
	reservation->has_type = 1;
	reservation->type = MESOS__RESOURCE__RESERVATION_INFO__TYPE__DYNAMIC;
	reservation->role = (char *)"r";
	proto_push(&rig.arena, disk->n_reservations, disk->reservations, reservation);
	return disk;
}

Test(agent_groups, refused_for_one_of_its_tasks)
{
	Mesos__Internal__RunTaskGroupMessage *message = order("a b", "e", 1);
	Mesos__TaskInfo *last = message->task_group->tasks[1];
	Mesos__TaskInfo__LimitsEntry *limit = rig_new(&rig, Mesos__TaskInfo__LimitsEntry,
						      mesos__task_info__limits_entry__descriptor);

	proto_push(&rig.arena, last->n_resources, last->resources, reserved_disk());
	rig_message(&rig, RIG_MASTER, message);
	rig_expect(&rig,
		   "send master StatusUpdateMessage a LOST RESOURCES_UNKNOWN \"The checkpointed "
		   "resources being used by the task or task group are unknown to the agent\"\n"
		   "send master StatusUpdateMessage b LOST RESOURCES_UNKNOWN \"The checkpointed "
		   "resources being used by the task or task group are unknown to the agent\"\n"
		   "send master ExitedExecutorMessage e -1\n");
	message = order("c d", "e", 1);
	limit->key = (char *)"mem";
	limit->value = rig_new(&rig, Mesos__Value__Scalar, mesos__value__scalar__descriptor);
	proto_push(&rig.arena, message->task_group->tasks[1]->n_limits,
		   message->task_group->tasks[1]->limits, limit);
	rig_message(&rig, RIG_MASTER, message);
	cr_assert(strstr(rig_take(&rig), "c LOST GC_ERROR \"Memory limits can only be set"));
}

#define KILLED                                                                                     \
	" KILLED TASK_KILLED_DURING_LAUNCH \"A task within the task group was killed before "      \
	"delivery to the executor\"\n"

#define DRAINED                                                                                    \
	" KILLED AGENT_DRAINING \"A task within the task group was killed before delivery to the " \
	"executor\"\n"

Test(agent_groups, a_kill_before_delivery_ends_all_of_it)
{
	run("a b", "e", 1);
	rig_run(&rig, "alone", "e", 0);
	run("c", "e", 0);
	rig_take(&rig);
	rig_kill(&rig, "b");
	rig_expect(&rig, "send master StatusUpdateMessage a" KILLED
			 "send master StatusUpdateMessage b" KILLED);
	rig_container_started(&rig, "e", 42);
	rig_subscribe(&rig, "e", 1);
	rig_expect(&rig, "event 1 SUBSCRIBED\nevent 1 LAUNCH alone\n"
			 "event 1 LAUNCH_GROUP c\nreply 200\n");
	rig_kill(&rig, "c");
	rig_expect(&rig, "event 1 KILL c\n");
}

/* One kill ends several tasks of the list that is being walked. */
Test(agent_groups, draining_before_delivery_ends_each_task_once)
{
	Mesos__Internal__DrainSlaveMessage *message =
		rig_new(&rig, Mesos__Internal__DrainSlaveMessage,
			mesos__internal__drain_slave_message__descriptor);

	run("a b", "e", 1);
	rig_run(&rig, "alone", "e", 0);
	run("c d", "e", 0);
	rig_take(&rig);
	message->config = rig_new(&rig, Mesos__DrainConfig, mesos__drain_config__descriptor);
	message->config->max_grace_period =
		rig_new(&rig, Mesos__DurationInfo, mesos__duration_info__descriptor);
	rig_message(&rig, RIG_MASTER, message);
	rig_expect(&rig, "send master StatusUpdateMessage a" DRAINED
			 "send master StatusUpdateMessage b" DRAINED
			 "send master StatusUpdateMessage alone KILLED AGENT_DRAINING \"Killed "
			 "before delivery to the executor\"\n"
			 "send master StatusUpdateMessage c" DRAINED
			 "send master StatusUpdateMessage d" DRAINED);
}

Test(agent_groups, an_executor_without_a_task_left_ends)
{
	run("a b", "e", 1);
	rig_kill(&rig, "a");
	rig_container_started(&rig, "e", 42);
	rig_take(&rig);
	rig_subscribe(&rig, "e", 1);
	rig_expect(&rig, "event 1 SHUTDOWN\nreply 200\n");
}

Test(agent_groups, not_for_executors_of_v0)
{
	Mesos__Internal__RegisterExecutorMessage *message =
		rig_new(&rig, Mesos__Internal__RegisterExecutorMessage,
			mesos__internal__register_executor_message__descriptor);

	run("a b", "e", 1);
	rig_container_started(&rig, "e", 42);
	rig_take(&rig);
	message->framework_id = rig_new(&rig, Mesos__FrameworkID, mesos__framework_id__descriptor);
	message->framework_id->value = (char *)RIG_FRAMEWORK;
	message->executor_id = rig_new(&rig, Mesos__ExecutorID, mesos__executor_id__descriptor);
	message->executor_id->value = (char *)"e";
	rig_message(&rig, "executor(1)@10.0.0.2:7", message);
	cr_assert(strstr(
		rig_take(&rig),
		"send master StatusUpdateMessage a LOST TASK_GROUP_INVALID \"Task groups can "
		"only be launched on executors of the HTTP API\"\n"
		"send master StatusUpdateMessage b LOST TASK_GROUP_INVALID \"Task groups"));
}

static const struct agent_launch *launched;

static void keep_launch(struct rig *r, const struct agent_action *action)
{
	static struct agent_launch copy;

	if (action->type != AGENT_LAUNCH)
		return;
	copy = action->launch;
	copy.command = proto_copy_to(&r->arena, action->launch.command);
	launched = &copy;
}

Test(agent_groups, the_default_executor_is_the_agents_own_program)
{
	Mesos__Internal__RunTaskGroupMessage *message = order("a", "e", 1);

	rig.watch = keep_launch;
	message->executor->command = NULL;
	message->executor->has_type = 1;
	message->executor->type = MESOS__EXECUTOR_INFO__TYPE__DEFAULT;
	rig_message(&rig, RIG_MASTER, message);
	rig_expect(&rig, "launch e\n");
	cr_assert_str_eq(launched->command->value, rig.options.launcher_program);
	cr_assert_eq(launched->command->shell, 0);
	cr_assert_eq(launched->command->n_arguments, 2);
	cr_assert_str_eq(launched->command->arguments[1], "default-executor");
}
