/* What a task's container is launched with, and where its sandbox is found. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log/log.h"
#include "cli/executor/pod/pod.h"

Mesos__ContainerID *pod_container_id(struct arena *arena, const struct pod_task *task)
{
	Mesos__ContainerID *id =
		PROTO_NEW(arena, Mesos__ContainerID, mesos__container_id__descriptor);

	id->value = task->container;
	id->parent = PROTO_NEW(arena, Mesos__ContainerID, mesos__container_id__descriptor);
	id->parent->value = task->pod->container;
	return id;
}

static void add_variable(struct arena *arena, Mesos__Environment *environment, const char *name,
			 const char *value)
{
	Mesos__Environment__Variable *variable = PROTO_NEW(
		arena, Mesos__Environment__Variable, mesos__environment__variable__descriptor);

	variable->name = (char *)name;
	variable->value = (char *)value;
	proto_push(arena, environment->n_variables, environment->variables, variable);
}

static Mesos__CommandInfo *make_command(struct arena *arena, const struct pod_task *task)
{
	const Mesos__TaskInfo *info = task->info;
	Mesos__CommandInfo *command = proto_copy_to(arena, info->command);

	if (!command->environment)
		command->environment =
			PROTO_NEW(arena, Mesos__Environment, mesos__environment__descriptor);
	add_variable(arena, command->environment, "MESOS_CONTAINER_IP", task->pod->host);
	if (info->n_resources && info->resources[0]->allocation_info &&
	    info->resources[0]->allocation_info->role)
		add_variable(arena, command->environment, "MESOS_ALLOCATION_ROLE",
			     info->resources[0]->allocation_info->role);
	return command;
}

/* The volume is in our sandbox. */
static Mesos__Volume *share_volume(struct arena *arena, const Mesos__Volume *volume)
{
	Mesos__Volume *shared = PROTO_NEW(arena, Mesos__Volume, mesos__volume__descriptor);
	Mesos__Volume__Source *source =
		PROTO_NEW(arena, Mesos__Volume__Source, mesos__volume__source__descriptor);

	shared->mode = volume->mode;
	shared->container_path = volume->container_path;
	shared->source = source;
	source->has_type = 1;
	source->type = MESOS__VOLUME__SOURCE__TYPE__SANDBOX_PATH;
	source->sandbox_path = PROTO_NEW(arena, Mesos__Volume__Source__SandboxPath,
					 mesos__volume__source__sandbox_path__descriptor);
	source->sandbox_path->has_type = 1;
	source->sandbox_path->type = MESOS__VOLUME__SOURCE__SANDBOX_PATH__TYPE__PARENT;
	source->sandbox_path->path = volume->container_path;
	return shared;
}

static Mesos__ContainerInfo *make_container(struct arena *arena, const Mesos__TaskInfo *info)
{
	Mesos__ContainerInfo *container = proto_copy_to(arena, info->container);

	for (size_t i = 0; i < info->n_resources; i++) {
		const Mesos__Resource__DiskInfo *disk = info->resources[i]->disk;

		if (!disk || !disk->persistence || !disk->volume)
			continue;
		if (!container) {
			container = PROTO_NEW(arena, Mesos__ContainerInfo,
					      mesos__container_info__descriptor);
			container->type = MESOS__CONTAINER_INFO__TYPE__MESOS;
		}
		proto_push(arena, container->n_volumes, container->volumes,
			   share_volume(arena, disk->volume));
	}
	return container;
}

/* The two maps are alike, but of types of their own. */
static void add_limits(struct arena *arena, const Mesos__TaskInfo *info,
		       Mesos__Agent__Call__LaunchContainer *launch)
{
	for (size_t i = 0; i < info->n_limits; i++) {
		Mesos__Agent__Call__LaunchContainer__LimitsEntry *limit =
			PROTO_NEW(arena, Mesos__Agent__Call__LaunchContainer__LimitsEntry,
				  mesos__agent__call__launch_container__limits_entry__descriptor);

		limit->key = info->limits[i]->key;
		limit->value = info->limits[i]->value;
		proto_push(arena, launch->n_limits, launch->limits, limit);
	}
}

Mesos__Agent__Call__LaunchContainer *pod_launch_make(struct arena *arena,
						     const struct pod_task *task)
{
	Mesos__Agent__Call__LaunchContainer *launch =
		PROTO_NEW(arena, Mesos__Agent__Call__LaunchContainer,
			  mesos__agent__call__launch_container__descriptor);

	launch->container_id = pod_container_id(arena, task);
	if (task->info->command)
		launch->command = make_command(arena, task);
	launch->container = make_container(arena, task->info);
	launch->n_resources = task->info->n_resources;
	launch->resources = task->info->resources;
	add_limits(arena, task->info, launch);
	return launch;
}

void pod_link_sandbox(const struct pod_task *task)
{
	const char *sandbox = task->pod->sandbox;
	char *folder = xprintf("%s/tasks", sandbox);
	char *link = xprintf("%s/%s", folder, task->info->task_id->value);
	char *target = xprintf("%s/containers/%s", sandbox, task->container);

	if ((mkdir(folder, 0755) && errno != EEXIST) || symlink(target, link))
		log_warning("Cannot link '%s' to '%s': %s", link, target, strerror(errno));
	free(target);
	free(link);
	free(folder);
}
