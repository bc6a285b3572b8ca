/* The process of a command task. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/executor/executor_command.h"

static struct arena arena;
static Mesos__TaskInfo *task;

static void set_up(void)
{
	arena_init(&arena);
	task = PROTO_NEW(&arena, Mesos__TaskInfo, mesos__task_info__descriptor);
	task->command = PROTO_NEW(&arena, Mesos__CommandInfo, mesos__command_info__descriptor);
}

static void tear_down(void)
{
	arena_free(&arena);
}

TestSuite(command, .init = set_up, .fini = tear_down, .timeout = 60);

static Mesos__Environment__Variable *add_variable(const char *name, const char *value)
{
	Mesos__Environment__Variable *variable = PROTO_NEW(
		&arena, Mesos__Environment__Variable, mesos__environment__variable__descriptor);

	if (!task->command->environment)
		task->command->environment =
			PROTO_NEW(&arena, Mesos__Environment, mesos__environment__descriptor);
	variable->name = (char *)name;
	variable->value = (char *)value;
	proto_push(&arena, task->command->environment->n_variables,
		   task->command->environment->variables, variable);
	return variable;
}

static void set_role(const char *role)
{
	Mesos__Resource *resource = PROTO_NEW(&arena, Mesos__Resource, mesos__resource__descriptor);

	resource->allocation_info = PROTO_NEW(&arena, Mesos__Resource__AllocationInfo,
					      mesos__resource__allocation_info__descriptor);
	resource->allocation_info->role = (char *)role;
	proto_push(&arena, task->n_resources, task->resources, resource);
}

static char *joined(char **list)
{
	struct buf text = BUF_INIT;

	for (; *list; list++)
		buf_printf(&text, "%s ", *list);
	return buf_take(&text);
}

static void expect_environment(char *const *own, const char *expected)
{
	char *text = joined(executor_command_environment(&arena, own, task));

	cr_expect_str_eq(text, expected);
	free(text);
}

Test(command, environment_adds_and_replaces)
{
	char *own[] = {"A=1", "AB=2", NULL};

	expect_environment(own, "A=1 AB=2 ");
	add_variable("A", "3");
	add_variable("C", NULL);
	add_variable("C", "4");
	set_role("a/b");
	expect_environment(own, "A=3 AB=2 C=4 MESOS_ALLOCATION_ROLE=a/b ");
}

Test(command, environment_has_no_secrets)
{
	char *own[] = {NULL};
	Mesos__Environment__Variable *secret = add_variable("S", "x");

	secret->has_type = 1;
	secret->type = MESOS__ENVIRONMENT__VARIABLE__TYPE__SECRET;
	expect_environment(own, "");
}

static int status_of_start(void)
{
	struct err err;
	pid_t pid = executor_command_start(task, NULL, &err);
	int status;

	cr_assert_gt(pid, 0, "%s", err.text);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return status;
}

Test(command, shell)
{
	task->command->shell = 1;
	task->command->value = "test \"$X\" = 'a b' -a $$ = $(ps -o sid= $$) && exit 7";
	add_variable("X", "a b");
	cr_expect_eq(WEXITSTATUS(status_of_start()), 7);
}

Test(command, program_is_searched_in_the_path_of_its_environment)
{
	char *arguments[] = {"argv-0", "-c", "test \"$0\" = zero && exit 5", "zero"};

	task->command->shell = 0;
	task->command->value = "sh";
	task->command->arguments = arguments;
	task->command->n_arguments = 4;
	cr_expect_eq(WEXITSTATUS(status_of_start()), 5);
}

Test(command, without_arguments_gets_its_name)
{
	struct arena arena;
	char **argv;

	task->command->shell = 0;
	task->command->value = "true";
	arena_init(&arena);
	argv = executor_command_arguments(&arena, task->command);
	cr_assert_str_eq(argv[0], "true");
	cr_expect_null(argv[1]);
	arena_free(&arena);
}

Test(command, works_in_the_directory_of_the_executor)
{
	setenv("MESOS_SANDBOX", "/set/by/the/task", 1);
	cr_assert_eq(chdir("/proc"), 0);
	task->command->shell = 1;
	task->command->value = "test -e ./self/exe";
	cr_expect_eq(status_of_start(), 0);
}

Test(command, that_cannot_be_executed)
{
	struct err err;

	task->command->shell = 0;
	task->command->value = "/nonexistent/program";
	cr_expect_lt(executor_command_start(task, NULL, &err), 0);
	cr_expect_not_null(strstr(err.text, "Failed to execute '/nonexistent/program'"));
}

static void expect_message(int status, const char *expected)
{
	char *text = executor_command_message(status);

	cr_expect_str_eq(text, expected);
	free(text);
}

Test(command, messages_are_those_of_mesos)
{
	expect_message(0, "Command exited with status 0");
	expect_message(3 << 8, "Command exited with status 3");
	expect_message(SIGKILL, "Command terminated with signal Killed");
	expect_message(SIGSEGV | 0x80,
		       "Command terminated with signal Segmentation fault (core dumped)");
}
