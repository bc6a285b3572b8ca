/* The volumes that a ContainerInfo names become mounts. */
#include <string.h>
#include <unistd.h>

#include "agent/containers/linux/room_internal.h"
#include "base/files.h"

Mesita__ContainerLaunch__Mount *room_add_mount(Mesita__ContainerLaunch *out, struct arena *arena,
					       const char *target)
{
	Mesita__ContainerLaunch__Mount *mount = PROTO_NEW(
		arena, Mesita__ContainerLaunch__Mount, mesita__container_launch__mount__descriptor);

	mount->target = arena_strdup(arena, target);
	proto_push(arena, out->n_mounts, out->mounts, mount);
	return mount;
}

static int needs(const char *isolator, struct err *err)
{
	return err_set(err, ERR_INVALID, "The volume is not supported: --isolation lacks '%s'",
		       isolator);
}

static int add_host_path(const struct room_options *options, struct arena *arena, const char *path,
			 Mesita__ContainerLaunch__Mount *mount, struct err *err)
{
	if (!options->host_paths)
		return needs("volume/host_path", err);
	if (access(path, F_OK))
		return err_set(err, ERR_INVALID, "Path '%s' in HOST_PATH volume does not exist",
			       path);
	mount->source = arena_strdup(arena, path);
	return 0;
}

static int add_sandbox_path(const struct room_options *options, struct arena *arena,
			    const struct agent_launch *launch, const char *path, bool of_parent,
			    Mesita__ContainerLaunch__Mount *mount, struct err *err)
{
	const char *inside = strstr(launch->sandbox, "/containers/");

	if (!options->sandbox_paths)
		return needs("volume/sandbox_path", err);
	if (*path == '/' || path_climbs(path))
		return err_set(err, ERR_INVALID,
			       "Path '%s' in SANDBOX_PATH volume is invalid: it leads out of the "
			       "sandbox",
			       path);
	if (of_parent && !strchr(launch->container, '.'))
		return err_set(err, ERR_INVALID,
			       "SANDBOX_PATH volume of type PARENT is only for nested containers");
	/* <parent's sandbox>/containers/<own id> */
	for (const char *next = inside; next; next = strstr(next + 1, "/containers/"))
		inside = next;
	mount->below = of_parent && inside
			       ? arena_printf(arena, "%.*s", (int)(inside - launch->sandbox),
					      launch->sandbox)
			       : arena_strdup(arena, launch->sandbox);
	mount->source = arena_strdup(arena, path);
	return 0;
}

static int add_secret(const struct room_options *options, const Mesos__Secret *secret,
		      Mesita__ContainerLaunch__Mount *mount, struct err *err)
{
	if (!options->secrets)
		return needs("volume/secret", err);
	if (!secret || secret->type != MESOS__SECRET__TYPE__VALUE || !secret->value)
		return err_set(err, ERR_INVALID,
			       "Only secrets of type VALUE can be resolved: there is no "
			       "secret resolver for others");
	mount->has_content = 1;
	mount->content = secret->value->data;
	mount->has_read_only = mount->read_only = 1;
	return 0;
}

static int add_source(const struct room_options *options, struct arena *arena,
		      const struct agent_launch *launch, const Mesos__Volume *volume,
		      Mesita__ContainerLaunch__Mount *mount, struct err *err)
{
	const Mesos__Volume__Source *source = volume->source;

	if (!source && volume->host_path && *volume->host_path == '/')
		return add_host_path(options, arena, volume->host_path, mount, err);
	if (!source && volume->host_path)
		return add_sandbox_path(options, arena, launch, volume->host_path, false, mount,
					err);
	switch (source ? (int)source->type : 0) {
	case MESOS__VOLUME__SOURCE__TYPE__HOST_PATH:
		if (source->host_path && *source->host_path->path == '/')
			return add_host_path(options, arena, source->host_path->path, mount, err);
		break;
	case MESOS__VOLUME__SOURCE__TYPE__SANDBOX_PATH:
		if (source->sandbox_path)
			return add_sandbox_path(
				options, arena, launch, source->sandbox_path->path,
				source->sandbox_path->type ==
					MESOS__VOLUME__SOURCE__SANDBOX_PATH__TYPE__PARENT,
				mount, err);
		break;
	case MESOS__VOLUME__SOURCE__TYPE__SECRET:
		return add_secret(options, source->secret, mount, err);
	default:
		break;
	}
	return err_set(err, ERR_INVALID, "A volume of this kind is not supported");
}

int room_add_volumes(const struct room_options *options, struct arena *arena,
		     const struct agent_launch *launch, Mesita__ContainerLaunch *out,
		     struct err *err)
{
	const Mesos__ContainerInfo *info = launch->info;
	int rv = 0;

	for (size_t i = 0; info && i < info->n_volumes && rv == 0; i++) {
		const Mesos__Volume *volume = info->volumes[i];
		const char *path = volume->container_path;
		Mesita__ContainerLaunch__Mount *mount;

		if (*path != '/' && (!*path || path_climbs(path)))
			return err_set(err, ERR_INVALID,
				       "Path '%s' of a volume leads out of the sandbox", path);
		mount = room_add_mount(
			out, arena,
			*path == '/' ? path : arena_printf(arena, "%s/%s", out->sandbox, path));
		mount->has_read_only = 1;
		mount->read_only = volume->mode == MESOS__VOLUME__MODE__RO;
		rv = add_source(options, arena, launch, volume, mount, err);
	}
	return rv;
}
