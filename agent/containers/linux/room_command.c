/* What is run in a room, and with which environment: the image has a say. */
#include <string.h>

#include "agent/containers/linux/room_internal.h"

static void add_arguments(Mesita__ContainerLaunch *launch, struct arena *arena, char *const *list,
			  size_t count)
{
	for (size_t i = 0; i < count; i++)
		proto_push(arena, launch->n_arguments, launch->arguments,
			   arena_strdup(arena, list[i]));
}

/* The image says what is run; the command may say with what. */
static int run_image(Mesita__ContainerLaunch *launch, struct arena *arena,
		     const Mesos__CommandInfo *command, struct err *err)
{
	bool given = command->n_arguments > 0;

	if (launch->n_entrypoint)
		add_arguments(launch, arena, launch->entrypoint, launch->n_entrypoint);
	else if (launch->n_default_arguments && given)
		add_arguments(launch, arena, launch->default_arguments, 1);
	if (given)
		add_arguments(launch, arena, command->arguments, command->n_arguments);
	else
		add_arguments(launch, arena, launch->default_arguments,
			      launch->n_default_arguments);
	if (!launch->n_entrypoint && !launch->n_default_arguments)
		return err_set(err, ERR_INVALID,
			       "No executable is found: neither the command nor the image names "
			       "one");
	launch->program = arena_strdup(arena, launch->arguments[0]);
	return 0;
}

int room_set_command(Mesita__ContainerLaunch *launch, struct arena *arena,
		     const Mesos__CommandInfo *command, struct err *err)
{
	bool shell = !command->has_shell || command->shell;

	launch->n_arguments = 0;
	launch->arguments = NULL;
	if (!command->value)
		return shell ? err_set(err, ERR_INVALID, "The command has no value")
			     : run_image(launch, arena, command, err);
	if (shell) {
		char *const line[] = {"sh", "-c", command->value};

		launch->program = arena_strdup(arena, "/bin/sh");
		add_arguments(launch, arena, line, 3);
		return 0;
	}
	launch->program = arena_strdup(arena, command->value);
	if (command->n_arguments)
		add_arguments(launch, arena, command->arguments, command->n_arguments);
	else
		add_arguments(launch, arena, &command->value, 1);
	return 0;
}

/* Replaces a variable of that name, or adds it. The list has room. */
static void put_variable(char **list, size_t *count, char *pair)
{
	size_t name = strcspn(pair, "=") + 1;

	for (size_t i = 0; i < *count; i++) {
		if (strncmp(list[i], pair, name))
			continue;
		list[i] = pair;
		return;
	}
	list[(*count)++] = pair;
}

void room_set_environment(Mesita__ContainerLaunch *launch, struct arena *arena, char *const *given,
			  const Mesos__Environment *said)
{
	size_t count = 0, more = said ? said->n_variables : 0;
	char **list;

	while (given[count])
		count++;
	list = arena_alloc(arena, (count + launch->n_environment + more + 1) * sizeof(*list));
	for (size_t i = 0; i < count; i++)
		list[i] = arena_strdup(arena, given[i]);
	for (size_t i = 0; i < launch->n_environment; i++)
		put_variable(list, &count, launch->environment[i]);
	for (size_t i = 0; i < more; i++) {
		const Mesos__Environment__Variable *v = said->variables[i];

		if (v->type != MESOS__ENVIRONMENT__VARIABLE__TYPE__SECRET && v->value && v->name[0])
			put_variable(list, &count, arena_printf(arena, "%s=%s", v->name, v->value));
	}
	launch->environment = list;
	launch->n_environment = count;
}
