/* Containers that see other file systems or processes than the machine's: the message of it is made
 * here, and carried out by `mesita init` (init/). */
#include <string.h>

#include "agent/containers/linux/launch_message.h"
#include "agent/containers/linux/room.h"
#include "agent/containers/posix/posix_internal.h"

#define COMMAND_EXECUTOR "executor" /* its name among our own programs */

static bool is_command_executor(const struct posix *posix, const Mesos__CommandInfo *command)
{
	return command->has_shell && !command->shell && command->value &&
	       !strcmp(command->value, posix->options.program) && command->n_arguments > 1 &&
	       !strcmp(command->arguments[1], COMMAND_EXECUTOR);
}

enum posix_room posix_room_kind(const struct posix_container *container,
				const struct agent_launch *launch)
{
	const struct posix *posix = container->owner;
	const struct room_options *options = posix->options.rooms;

	if (launch->session)
		return room_wanted(options, launch->above) ? POSIX_ROOM_PARENT : POSIX_ROOM_NONE;
	if (!room_wanted(options, launch->info))
		return POSIX_ROOM_NONE;
	return is_command_executor(posix, launch->command) ? POSIX_ROOM_TASK : POSIX_ROOM_OWN;
}

static void copy_limits(const struct spawn *spawn, struct arena *arena,
			Mesita__ContainerLaunch *launch)
{
	for (size_t i = 0; i < spawn->limit_count; i++) {
		Mesita__ContainerLaunch__Limit *limit =
			PROTO_NEW(arena, Mesita__ContainerLaunch__Limit,
				  mesita__container_launch__limit__descriptor);

		limit->has_resource = limit->has_soft = limit->has_hard = 1;
		limit->resource = spawn->limits[i].resource;
		limit->soft = spawn->limits[i].value.rlim_cur;
		limit->hard = spawn->limits[i].value.rlim_max;
		proto_push(arena, launch->n_limits, launch->limits, limit);
	}
	if (!spawn->capabilities)
		return;
	launch->has_effective = launch->has_bounding = 1;
	launch->effective = spawn->capabilities->effective;
	launch->bounding = spawn->capabilities->bounding;
}

/* What runs in it; the command executor says that of its task itself. The init has the same
 * environment, for those who enter the container later. */
static int add_command(struct posix_start *start, const struct agent_launch *launch,
		       Mesita__ContainerLaunch *out, struct err *err)
{
	char *const nothing[] = {NULL};
	size_t count;
	char **list;

	if (start->room == POSIX_ROOM_TASK)
		return 0;
	/* A session takes the rest from there. */
	room_set_environment(out, &start->arena,
			     start->room == POSIX_ROOM_PARENT ? nothing : start->spawn.environment,
			     launch->command->environment);
	count = out->n_environment;
	list = arena_alloc(&start->arena, (count + 1) * sizeof(*list));
	memcpy(list, out->environment, count * sizeof(*list));
	if (start->room == POSIX_ROOM_OWN)
		start->spawn.environment = list;
	return room_set_command(out, &start->arena, launch->command, err);
}

int posix_room_make(struct posix_container *container, const struct agent_launch *launch,
		    struct err *err)
{
	struct posix_start *start = container->start;
	Mesita__ContainerLaunch *out = PROTO_NEW(&start->arena, Mesita__ContainerLaunch,
						 mesita__container_launch__descriptor);
	int rv = room_make(container->owner->options.rooms, &start->arena, launch,
			   start->switches_user ? &start->user : NULL, NULL, out, err);

	out->has_parent = 1;
	out->parent = (int)container->parent_pid;
	copy_limits(&start->spawn, &start->arena, out);
	if (rv == 0)
		rv = add_command(start, launch, out, err);
	if (rv < 0)
		return rv;
	rv = launch_message_pack(out, err);
	start->message = rv < 0 ? 0 : rv;
	return rv < 0 ? rv : 0;
}
