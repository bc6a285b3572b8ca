/* Volumes of a simulated agent: their directories outlive it and its machine's crashes. The
 * observer hears of each; on a sick disk they cannot always be made, and go slowly. */
#include <stdlib.h>

#include "base/arena.h"
#include "lab/agent_part.h"

#define VOLUMES_FAIL 0.3
#define REMOVAL_HIGH (3 * SECOND)

/* Data that is being removed. */
struct removal {
	struct happening happening;
	struct list link;
	struct agent_part *part;
	char *path;
};

static bool is_sick(const struct agent_part *part)
{
	return part->world->slow_disks_until > part->world->now;
}

static void tell(struct agent_part *part, const char *path, enum directory_deed deed)
{
	static const char *const words[] = {"is made", "goes into a container", "is removed"};
	struct observer *o = part->world->observer;

	world_log(part->world, "%s: the volume at %s %s", part->name, path, words[deed]);
	if (o)
		o->directory(o, &part->process, path, deed);
}

const char *agent_part_make_volumes(struct agent_part *part, const struct agent_action *action)
{
	if (is_sick(part) && world_chance(part->world, VOLUMES_FAIL))
		return "no space";
	for (size_t i = 0; i < action->make_volumes.count; i++)
		tell(part, action->make_volumes.paths[i], DIRECTORY_MADE);
	return NULL;
}

void agent_part_use_volumes(struct agent_part *part, const struct agent_volumes *volumes)
{
	for (size_t i = 0; i < volumes->count; i++)
		tell(part, volumes->items[i].path, DIRECTORY_USED);
}

static void removal_free(struct removal *removal)
{
	world_cancel(removal->part->world, &removal->happening);
	list_remove(&removal->link);
	free(removal->path);
	free(removal);
}

static void on_removed(struct happening *h)
{
	struct removal *removal = container_of(h, struct removal, happening);
	struct agent_part *part = removal->part;
	struct agent_event event = {.type = AGENT_VOLUME_REMOVED,
				    .volume_removed = {.path = removal->path}};

	if (process_paused(&part->process)) {
		world_at(part->world, h, part->process.paused_until);
		return;
	}
	tell(part, removal->path, DIRECTORY_REMOVED);
	list_remove(&removal->link);
	list_init(&removal->link);
	agent_part_feed(part, &event);
	removal_free(removal);
}

bool agent_part_remove_volume(struct agent_part *part, const char *path)
{
	struct removal *removal;

	if (!is_sick(part)) {
		tell(part, path, DIRECTORY_REMOVED);
		return true;
	}
	removal = xcalloc(1, sizeof(*removal));
	removal->happening.run = on_removed;
	removal->part = part;
	removal->path = xstrdup(path);
	list_append(&part->removals, &removal->link);
	world_after(part->world, &removal->happening, world_between(part->world, 0, REMOVAL_HIGH));
	return false;
}

void agent_part_end_removals(struct agent_part *part)
{
	while (!list_empty(&part->removals))
		removal_free(list_first(&part->removals, struct removal, link));
}
