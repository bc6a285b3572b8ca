/* Volumes of containers inside of others, as far as links can make them. */
#include "agent/core/nested/nested.h"

#include <string.h>

#include "base/files.h"

/* Neither out of the place that it starts from, nor that place itself. */
static bool stays_below(const char *path)
{
	bool any = false;

	if (*path == '/' || path_climbs(path))
		return false;
	for (size_t len; *path; path += len + (path[len] == '/')) {
		len = strcspn(path, "/");
		any = any || (len && !(len == 1 && *path == '.'));
	}
	return any;
}

/* The path in the parent's sandbox that the volume is, if a link can be; else NULL. */
static const char *path_of_parent(const Mesos__Volume *volume)
{
	const Mesos__Volume__Source *source = volume->source;

	if (!source || source->type != MESOS__VOLUME__SOURCE__TYPE__SANDBOX_PATH ||
	    !source->sandbox_path ||
	    source->sandbox_path->type != MESOS__VOLUME__SOURCE__SANDBOX_PATH__TYPE__PARENT ||
	    !stays_below(source->sandbox_path->path) || !stays_below(volume->container_path))
		return NULL;
	return source->sandbox_path->path;
}

void agent_nested_share(struct arena *arena, struct agent_launch *launch, const char *above)
{
	Mesos__ContainerInfo *info = launch->info;
	size_t kept = 0;

	/* What an image is the root of sees no links out of it. */
	if (!info || !info->n_volumes || (info->mesos && info->mesos->image))
		return;
	launch->volumes.items = arena_alloc(arena, info->n_volumes * sizeof(struct agent_volume));
	for (size_t i = 0; i < info->n_volumes; i++) {
		const char *path = path_of_parent(info->volumes[i]);

		if (!path) {
			info->volumes[kept++] = info->volumes[i];
			continue;
		}
		launch->volumes.items[launch->volumes.count++] = (struct agent_volume){
			.path = arena_printf(arena, "%s/%s", above, path),
			.name = info->volumes[i]->container_path,
		};
	}
	info->n_volumes = kept;
}
