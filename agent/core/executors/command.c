/* The executor that the agent makes up for a task that brings none; what the default one runs. */
#include "agent/core/objects.h"

#include <string.h>

#include "agent/core/actions.h"
#include "agent/core/executors/executors.h"

#define SHOWN_MAX 15 /* longer commands are cut to SHOWN_CUT characters */
#define SHOWN_CUT 12

static char *shorten(struct arena *arena, const char *text)
{
	if (strlen(text) <= SHOWN_MAX)
		return arena_strdup(arena, text);
	return arena_printf(arena, "%.*s...", SHOWN_CUT, text);
}

static char *argv_text(struct arena *arena, const Mesos__CommandInfo *command)
{
	struct buf buf = BUF_INIT;
	char *text;

	buf_printf(&buf, "%s, ", command->value);
	for (size_t i = 0; i < command->n_arguments; i++)
		buf_printf(&buf, "%s%s", i ? ", " : "", command->arguments[i]);
	text = shorten(arena, buf.data);
	buf_free(&buf);
	return text;
}

static char *executor_name(struct arena *arena, const Mesos__TaskInfo *task)
{
	const Mesos__CommandInfo *command = task->command;
	bool shell = !command->has_shell || command->shell;
	const char *shown;

	if (!command->value)
		shown = shell ? "NO COMMAND" : "NO EXECUTABLE";
	else if (shell)
		shown = arena_printf(arena, "sh -c '%s'", shorten(arena, command->value));
	else
		shown = arena_printf(arena, "[%s]", argv_text(arena, command));
	return arena_printf(arena, "Command Executor (Task: %s) (Command: %s)",
			    task->task_id->value, shown);
}

/* `mesita WORD`. */
static Mesos__CommandInfo *own_command(struct agent *agent, const char *word)
{
	struct arena *arena = &agent->out->arena;
	Mesos__CommandInfo *command =
		agent_new(agent, Mesos__CommandInfo, mesos__command_info__descriptor);

	command->value = arena_strdup(arena, agent->options.launcher_program);
	command->has_shell = 1;
	command->shell = 0;
	proto_push(arena, command->n_arguments, command->arguments, arena_strdup(arena, "mesita"));
	proto_push(arena, command->n_arguments, command->arguments, arena_strdup(arena, word));
	return command;
}

Mesos__CommandInfo *agent_default_command(struct agent *agent)
{
	return own_command(agent, "default-executor");
}

static void add_docker_flags(struct agent *agent, Mesos__CommandInfo *command)
{
	const struct agent_options *options = &agent->options;
	struct arena *arena = &agent->out->arena;

	proto_push(arena, command->n_arguments, command->arguments,
		   arena_printf(arena, "--docker=%s", options->docker));
	proto_push(arena, command->n_arguments, command->arguments,
		   arena_printf(arena, "--docker_socket=%s", options->docker_socket));
	proto_push(arena, command->n_arguments, command->arguments,
		   arena_printf(arena, "--mapped_directory=%s", options->sandbox_directory));
}

bool agent_runs_docker(const struct agent *agent, const Mesos__ContainerInfo *info)
{
	return agent->options.docker && info && info->type == MESOS__CONTAINER_INFO__TYPE__DOCKER;
}

static Mesos__CommandInfo *launch_command(struct agent *agent, const Mesos__CommandInfo *of_task,
					  const Mesos__ContainerInfo *container)
{
	Mesos__CommandInfo *command = own_command(agent, "executor");

	if (agent_runs_docker(agent, container))
		add_docker_flags(agent, command);

	command->n_uris = of_task->n_uris;
	command->uris = of_task->uris;
	command->environment = of_task->environment;
	command->user = of_task->user;
	return command;
}

static Mesos__Resource *command_scalar(struct agent *agent, const char *name, double amount,
				       const Mesos__TaskInfo *task)
{
	Mesos__Resource *resource = agent_new(agent, Mesos__Resource, mesos__resource__descriptor);

	resource->name = arena_strdup(&agent->out->arena, name);
	resource->type = MESOS__VALUE__TYPE__SCALAR;
	resource->scalar = agent_new(agent, Mesos__Value__Scalar, mesos__value__scalar__descriptor);
	resource->scalar->value = amount;
	if (task->n_resources)
		resource->allocation_info = task->resources[0]->allocation_info;
	return resource;
}

static void set_grace_period(struct agent *agent, Mesos__ExecutorInfo *info,
			     const Mesos__TaskInfo *task)
{
	int64_t grace;

	if (!task->kill_policy || !task->kill_policy->grace_period)
		return;
	grace = task->kill_policy->grace_period->nanoseconds;
	if (grace < 0)
		grace = 0;
	if (grace > INT64_MAX - COMMAND_EXECUTOR_EXTRA_GRACE)
		grace = INT64_MAX - COMMAND_EXECUTOR_EXTRA_GRACE;
	info->shutdown_grace_period =
		agent_new(agent, Mesos__DurationInfo, mesos__duration_info__descriptor);
	info->shutdown_grace_period->nanoseconds = grace + COMMAND_EXECUTOR_EXTRA_GRACE;
}

Mesos__ExecutorInfo *agent_command_executor(struct agent *agent, const char *framework_id,
					    const Mesos__TaskInfo *task)
{
	struct arena *arena = &agent->out->arena;
	Mesos__ExecutorInfo *info =
		agent_new(agent, Mesos__ExecutorInfo, mesos__executor_info__descriptor);

	info->executor_id = agent_executor_id(agent, task->task_id->value);
	info->framework_id = agent_framework_id(agent, framework_id);
	info->container = task->container;
	info->name = executor_name(arena, task);
	info->source = arena_strdup(arena, task->task_id->value);
	info->command = launch_command(agent, task->command, task->container);
	info->labels = task->labels;
	info->discovery = task->discovery;
	set_grace_period(agent, info, task);
	proto_push(arena, info->n_resources, info->resources,
		   command_scalar(agent, "cpus", COMMAND_EXECUTOR_CPUS, task));
	proto_push(arena, info->n_resources, info->resources,
		   command_scalar(agent, "mem", COMMAND_EXECUTOR_MEM, task));
	return info;
}
