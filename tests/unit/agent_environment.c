/* The environment and the command of executors. */
#include "agent_harness.h"

#include <stdio.h>
#include <string.h>

static struct rig rig;
static struct buf environment;
static char user[32];
static char name[128];

static void watch(struct rig *r, const struct agent_action *action)
{
	if (action->type != AGENT_LAUNCH)
		return;
	buf_clear(&environment);
	for (char *const *at = action->launch.environment; *at; at++)
		buf_printf(&environment, "\n%s\n", *at);
	snprintf(user, sizeof(user), "%s", action->launch.user ? action->launch.user : "(none)");
	snprintf(name, sizeof(name), "%s %d %s", action->launch.command->value,
		 action->launch.command->shell,
		 action->launch.command->n_arguments ? action->launch.command->arguments[1] : "");
}

static void start(void)
{
	rig_init(&rig);
	rig.watch = watch;
}

static void stop(void)
{
	rig_free(&rig);
	buf_free(&environment);
}

TestSuite(agent_environment, .init = start, .fini = stop);

static bool has(const char *pair)
{
	char line[512];

	snprintf(line, sizeof(line), "\n%s\n", pair);
	return strstr(environment.data, line) != NULL;
}

static bool has_name(const char *text)
{
	char line[128];

	snprintf(line, sizeof(line), "\n%s=", text);
	return strstr(environment.data, line) != NULL;
}

static void launch(Mesos__TaskInfo *task)
{
	rig_start(&rig);
	rig_register(&rig);
	rig_run_task(&rig, task, 1);
}

Test(agent_environment, what_is_always_there)
{
	launch(rig_task(&rig, "t", "e"));
	cr_assert(has("LIBPROCESS_PORT=0"));
	cr_assert(has("MESOS_FRAMEWORK_ID=F"));
	cr_assert(has("MESOS_EXECUTOR_ID=e"));
	cr_assert(has("MESOS_SLAVE_ID=M-S0"));
	cr_assert(has("MESOS_SLAVE_PID=slave(1)@10.0.0.2:5051"));
	cr_assert(has("MESOS_AGENT_ENDPOINT=10.0.0.2:5051"));
	cr_assert(has("MESOS_CHECKPOINT=0"));
	cr_assert(has("MESOS_HTTP_COMMAND_EXECUTOR=0"));
	cr_assert(has("MESOS_EXECUTOR_SHUTDOWN_GRACE_PERIOD=5secs"));
	cr_assert(has("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"));
	cr_assert(has_name("MESOS_DIRECTORY"));
	cr_assert(has_name("MESOS_SANDBOX"));
	cr_assert_not(has_name("MESOS_RECOVERY_TIMEOUT"));
	cr_assert_not(has_name("HOME"));
	cr_assert_not(has_name("LIBPROCESS_IP"));
	cr_assert_not(has_name("MESOS_NATIVE_LIBRARY"));
}

Test(agent_environment, what_checkpointing_and_flags_add)
{
	static const char *const pairs[] = {"A=flag", "PATH=/x", "LIBPROCESS_PORT=9", NULL};
	Mesos__TaskInfo *task = rig_task(&rig, "t", "e");

	rig.checkpoint = true;
	rig.options.executor_environment = pairs;
	rig.options.libprocess_ip = "10.0.0.2";
	rig.options.native_library = "/lib/libmesos.so";
	task->executor->shutdown_grace_period =
		rig_new(&rig, Mesos__DurationInfo, mesos__duration_info__descriptor);
	task->executor->shutdown_grace_period->nanoseconds = 90 * SECOND;
	launch(task);
	cr_assert(has("MESOS_RECOVERY_TIMEOUT=15mins"));
	cr_assert(has("MESOS_SUBSCRIPTION_BACKOFF_MAX=2secs"));
	cr_assert(has("MESOS_CHECKPOINT=1"));
	cr_assert(has("MESOS_EXECUTOR_SHUTDOWN_GRACE_PERIOD=90secs"));
	cr_assert(has("LIBPROCESS_IP=10.0.0.2"));
	cr_assert(has("MESOS_NATIVE_JAVA_LIBRARY=/lib/libmesos.so"));
	cr_assert(has("A=flag"));
	cr_assert(has("PATH=/x"));
	cr_assert(has("LIBPROCESS_PORT=0"));
	cr_assert_not(has("LIBPROCESS_PORT=9"));
}

static void add_variable(Mesos__TaskInfo *task, const char *variable, const char *value)
{
	Mesos__Environment__Variable *added = rig_new(&rig, Mesos__Environment__Variable,
						      mesos__environment__variable__descriptor);

	if (!task->command->environment)
		task->command->environment =
			rig_new(&rig, Mesos__Environment, mesos__environment__descriptor);
	added->name = (char *)variable;
	added->value = (char *)value;
	proto_push(&rig.arena, task->command->environment->n_variables,
		   task->command->environment->variables, added);
}

Test(agent_environment, the_commands_own_wins)
{
	Mesos__TaskInfo *task = rig_task(&rig, "t", NULL);

	add_variable(task, "A", "1");
	add_variable(task, "MESOS_CHECKPOINT", "maybe");
	add_variable(task, "B=C", "2");
	launch(task);
	cr_assert(has("A=1"));
	cr_assert(has("MESOS_CHECKPOINT=maybe"));
	cr_assert_not(has_name("B"));
	cr_assert_str_eq(name, "/bin/mesita 0 executor");
}

Test(agent_environment, no_user_without_the_flag)
{
	launch(rig_task(&rig, "a", NULL));
	cr_assert_str_eq(user, "(none)");
}

Test(agent_environment, user_of_the_framework_or_the_command)
{
	Mesos__TaskInfo *task = rig_task(&rig, "b", NULL);

	rig.options.switch_user = true;
	launch(rig_task(&rig, "a", NULL));
	cr_assert_str_eq(user, "nobody");
	task->command->user = (char *)"daemon";
	rig_run_task(&rig, task, 1);
	cr_assert_str_eq(user, "daemon");
}

static void executor_name(const char *value, bool shell, const char *argument, const char *want)
{
	static int count;
	Mesos__TaskInfo *task;
	struct buf json = BUF_INIT;
	struct json_writer w;
	char id[16];

	snprintf(id, sizeof(id), "t%d", count++);
	task = rig_task(&rig, arena_strdup(&rig.arena, id), NULL);
	task->command->value = (char *)value;
	task->command->has_shell = 1;
	task->command->shell = shell;
	if (argument)
		proto_push(&rig.arena, task->command->n_arguments, task->command->arguments,
			   (char *)argument);
	rig_run_task(&rig, task, 1);
	jw_init(&w, &json);
	jw_begin_object(&w);
	agent_write_state(&(struct agent_view){.agent = rig.agent}, &w);
	jw_end_object(&w);
	cr_assert(strstr(json.data, want), "%s is not in %s", want, json.data);
	buf_free(&json);
}

Test(agent_environment, names_of_command_executors)
{
	rig_start(&rig);
	rig_register(&rig);
	executor_name("sleep 0.5", true, NULL, "(Command: sh -c 'sleep 0.5')\"");
	executor_name("echo hello; sleep 1000", true, NULL, "(Command: sh -c 'echo hello; ...')\"");
	executor_name("/bin/a", false, "x", "(Command: [/bin/a, x])\"");
	executor_name("/bin/echo", false, "many words", "(Command: [/bin/echo, m...])\"");
	executor_name(NULL, true, NULL, "(Command: NO COMMAND)\"");
	executor_name(NULL, false, NULL, "(Command: NO EXECUTABLE)\"");
}
