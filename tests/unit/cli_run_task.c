/* The task that `mesita run` makes of its flags. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "cli/job/run_task.h"

static struct arena arena;
static struct run_flags flags;
static struct err err;

static void set_up(void)
{
	arena_init(&arena);
	flags = (struct run_flags){.name = "run", .shell = true, .cpus = 0.1, .mem = 32};
}

static void tear_down(void)
{
	arena_free(&arena);
}

TestSuite(run_task, .init = set_up, .fini = tear_down);

static Mesos__TaskInfo *make(void)
{
	return run_task_make(&arena, &flags, NULL, 0, &err);
}

static void expect_refused(const char *because)
{
	cr_expect_null(make());
	cr_expect_not_null(strstr(err.text, because), "%s", err.text);
}

Test(run_task, shell_command)
{
	struct buf missing = BUF_INIT;

	flags.command = "echo hello";
	Mesos__TaskInfo *task = make();

	cr_assert_not_null(task, "%s", err.text);
	cr_expect_str_eq(task->name, "run");
	cr_expect_str_eq(task->task_id->value, "run");
	cr_expect(task->command->shell);
	cr_expect_str_eq(task->command->value, "echo hello");
	cr_expect_eq(task->command->n_arguments, 0);
	cr_expect_null(task->command->environment);
	cr_assert_eq(task->n_resources, 2);
	cr_expect_str_eq(task->resources[0]->name, "cpus");
	cr_expect_float_eq(task->resources[1]->scalar->value, 32, 1e-9);
	cr_expect(proto_check_required(task, &missing), "%s", missing.data);
}

Test(run_task, program_with_arguments)
{
	const char *arguments[] = {"echo", "a b", "c"};
	Mesos__TaskInfo *task = run_task_make(&arena, &flags, arguments, 3, &err);

	cr_assert_not_null(task, "%s", err.text);
	cr_expect(!task->command->shell);
	cr_expect_str_eq(task->command->value, "echo");
	cr_assert_eq(task->command->n_arguments, 3);
	cr_expect_str_eq(task->command->arguments[0], "echo");
	cr_expect_str_eq(task->command->arguments[1], "a b");
}

Test(run_task, command_without_shell)
{
	const char *arguments[] = {"x"};

	flags.command = "/bin/echo";
	flags.shell = false;
	Mesos__TaskInfo *task = run_task_make(&arena, &flags, arguments, 1, &err);

	cr_assert_not_null(task, "%s", err.text);
	cr_assert_eq(task->command->n_arguments, 2);
	cr_expect_str_eq(task->command->arguments[0], "/bin/echo");
	cr_expect_str_eq(task->command->arguments[1], "x");
}

Test(run_task, needs_a_command)
{
	const char *arguments[] = {"hello"};

	expect_refused("--command");
	flags.command = "echo";
	cr_expect_null(run_task_make(&arena, &flags, arguments, 1, &err));
	cr_expect_not_null(strstr(err.text, "quotes"));
}

Test(run_task, environment_of_pairs)
{
	flags.command = "true";
	flags.env = "A=1,B=x=y,C=";
	Mesos__Environment *environment = make()->command->environment;

	cr_assert_eq(environment->n_variables, 3);
	cr_expect_str_eq(environment->variables[0]->name, "A");
	cr_expect_str_eq(environment->variables[1]->value, "x=y");
	cr_expect_str_eq(environment->variables[2]->value, "");
}

Test(run_task, environment_of_json)
{
	flags.command = "true";
	flags.env = "{\"A\":\"1,2\",\"N\":3}";
	Mesos__Environment *environment = make()->command->environment;

	cr_assert_eq(environment->n_variables, 2);
	cr_expect_str_eq(environment->variables[0]->value, "1,2");
	cr_expect_str_eq(environment->variables[1]->value, "3");
}

Test(run_task, bad_environments)
{
	static const char *const bad[] = {"A",	     "=1",	   "A=1,B",	   "{",
					  "{\"A\":", "{\"A\":[]}", "{\"\":\"x\"}", "{\"A\":true}"};

	flags.command = "true";
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		flags.env = bad[i];
		expect_refused("--env");
	}
}

Test(run_task, uris)
{
	flags.command = "true";
	flags.uris = "file:///a,http://h/b?c=d,,/e";
	Mesos__CommandInfo *command = make()->command;

	cr_assert_eq(command->n_uris, 3);
	cr_expect_str_eq(command->uris[0]->value, "file:///a");
	cr_expect_str_eq(command->uris[1]->value, "http://h/b?c=d");
	cr_expect_str_eq(command->uris[2]->value, "/e");
}

Test(run_task, resources)
{
	flags.command = "true";
	flags.resources = "cpus:2;mem:128;ports:[1-2]";
	cr_expect_eq(make()->n_resources, 3);
	flags.resources = "cpus";
	cr_expect_null(make());
	cr_expect_str_not_empty(err.text);
}

Test(run_task, whole_task)
{
	flags.task = "{\"command\":{\"value\":\"true\"}}";
	Mesos__TaskInfo *task = make();

	cr_assert_not_null(task, "%s", err.text);
	cr_expect_str_eq(task->name, "run");
	cr_expect_str_eq(task->task_id->value, "run");
	flags.task = "{\"name\":\"n\",\"task_id\":{\"value\":\"t\"},\"agent_id\":{\"value\":\"\"}}";
	task = make();
	cr_assert_not_null(task, "%s", err.text);
	cr_expect_str_eq(task->name, "n");
	cr_expect_str_eq(task->task_id->value, "t");
}

Test(run_task, bad_tasks)
{
	static const char *const bad[] = {
		"", "{", "[]", "1", "{\"task_id\":7}", "{\"command\":\"true\"}"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		flags.task = bad[i];
		expect_refused("--task");
	}
}
