/* Containers that see other file systems or processes than the machine's: the message of it is made
 * here, and carried out by `mesita init` (init/). */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "agent/containers/image/image_store.h"
#include "agent/containers/linux/launch_message.h"
#include "agent/containers/linux/room.h"
#include "agent/containers/network/network.h"
#include "agent/containers/posix/posix_internal.h"
#include "agent/containers/posix/posix_parts.h"
#include "base/memory/arena.h"

enum posix_room posix_room_kind(const struct posix_container *container,
				const struct agent_launch *launch)
{
	const struct posix *posix = container->owner;
	const struct room_options *options = posix->options.rooms;

	bool networked = room_is_networked(options, launch->container);

	if (launch->session)
		return networked || room_wanted(options, launch->above) ? POSIX_ROOM_PARENT
									: POSIX_ROOM_NONE;
	if (!networked && !room_wanted(options, launch->info))
		return POSIX_ROOM_NONE;
	return posix_is_command_executor(posix, launch->command) ? POSIX_ROOM_TASK : POSIX_ROOM_OWN;
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
	if (spawn->filter) {
		launch->has_filter = 1;
		launch->filter.data = (uint8_t *)spawn->filter->filter;
		launch->filter.len = spawn->filter->len * sizeof(struct sock_filter);
	}
	if (!spawn->capabilities)
		return;
	launch->has_effective = launch->has_bounding = 1;
	launch->effective = spawn->capabilities->effective;
	launch->bounding = spawn->capabilities->bounding;
}

/* What speaks libprocess does not know its own address there. */
static void listen_everywhere(struct spawn *spawn, struct arena *arena)
{
	size_t count = 0;
	char **list;

	while (spawn->environment[count])
		count++;
	list = arena_memdup(arena, spawn->environment, (count + 1) * sizeof(*list));
	for (size_t i = 0; i < count; i++)
		if (!strncmp(list[i], "LIBPROCESS_IP=", 14))
			list[i] = arena_strdup(arena, "LIBPROCESS_IP=0.0.0.0");
	spawn->environment = list;
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
	if (out->network && !launch->session)
		listen_everywhere(&start->spawn, &start->arena);
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
			   start->switches_user ? &start->user : NULL, out, err);

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

/* ---- images ---------------------------------------------------------------------- */

static void image_ready(void *context, const char *failure)
{
	struct posix_container *container = context;

	container->image = NULL;
	if (failure)
		containers_failed(container->owner->containers, container->id, AGENT_STAGE_LAUNCH,
				  failure);
	else if (posix_network_needed(container))
		posix_network_await(container);
	else
		posix_prepare_on(container);
}

void posix_room_await_image(struct posix_container *container)
{
	const Mesos__Image *image = room_image(container->start->launch.info);
	const Mesos__Secret *config = image->docker->config;
	struct slice access = {"", 0};

	if (config && config->value)
		access = (struct slice){(char *)config->value->data.data, config->value->data.len};
	container->housed = true;
	container->image = image_store_want(container->owner->options.images, image->docker->name,
					    !image->has_cached || image->cached, access,
					    image_ready, container);
}

bool posix_room_give_up(struct posix_container *container)
{
	if (!container->image)
		return false;
	image_want_cancel(container->image);
	container->image = NULL;
	return true;
}

/* ---- the end ------------------------------------------------------------------------ */

static void remove_room(struct posix_job *job)
{
	room_remove(job->container->owner->options.rooms, job->container->id);
}

void posix_room_drop(struct posix_container *container)
{
	if (container->housed)
		posix_begin_job(container, remove_room, NULL, xcalloc(1, sizeof(struct posix_job)));
}

struct room_sweep {
	struct slow_job slow;
	struct posix *posix; /* NULL: it was closed */
	const struct room_options *options;
	struct arena arena;
	char **ids;
	size_t count;
	bool removing;
};

static void sweep_add(struct room_sweep *sweep, const char *id)
{
	sweep->ids = xrealloc(sweep->ids, (sweep->count + 1) * sizeof(*sweep->ids));
	sweep->ids[sweep->count++] = arena_strdup(&sweep->arena, id);
}

static void sweep_work(struct slow_job *slow)
{
	struct room_sweep *sweep = container_of(slow, struct room_sweep, slow);
	DIR *dir = sweep->removing ? NULL : opendir(sweep->options->provisioner);
	struct dirent *entry;

	for (size_t i = 0; sweep->removing && i < sweep->count; i++)
		room_remove(sweep->options, sweep->ids[i]);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			sweep_add(sweep, entry->d_name);
	if (dir)
		closedir(dir);
}

static size_t keep_unknown(struct room_sweep *sweep)
{
	size_t unknown = 0;

	for (size_t i = 0; i < sweep->count; i++)
		if (!posix_find(sweep->posix, sweep->ids[i]))
			sweep->ids[unknown++] = sweep->ids[i];
	return unknown;
}

/* First they are found; of those that are no container's, a second job removes all. */
static void sweep_done(struct slow_job *slow, bool canceled)
{
	struct room_sweep *sweep = container_of(slow, struct room_sweep, slow);

	if (sweep->posix && !canceled && !sweep->removing &&
	    (sweep->count = keep_unknown(sweep)) > 0) {
		sweep->removing = true;
		slow_add(sweep->posix->options.pool, NULL, &sweep->slow);
		return;
	}
	if (sweep->posix)
		sweep->posix->sweep = NULL;
	arena_free(&sweep->arena);
	free(sweep->ids);
	free(sweep);
}

static bool is_known(void *context, const char *id)
{
	return posix_find(context, id) != NULL;
}

void posix_sweep(struct posix *posix)
{
	struct room_sweep *sweep;

	if (posix->options.networks)
		networks_sweep(posix->options.networks, is_known, posix);
	if (!posix->options.rooms || posix->sweep)
		return;
	sweep = posix->sweep = xcalloc(1, sizeof(*sweep));
	sweep->posix = posix;
	sweep->options = posix->options.rooms;
	arena_init(&sweep->arena);
	sweep->slow.work = sweep_work;
	sweep->slow.done = sweep_done;
	slow_add(posix->options.pool, NULL, &sweep->slow);
}

void posix_sweep_close(struct posix *posix)
{
	if (posix->sweep)
		posix->sweep->posix = NULL;
}
