/* Volumes of a simulated agent: their directories outlive it and its machine's crashes. The
 * observer hears of each. On a sick disk all that is done to them goes slowly, while the agent
 * goes on, and they cannot always be made. */
#include <stdlib.h>

#include "base/memory/arena.h"
#include "lab/parts/agent_part.h"

#define VOLUMES_FAIL 0.3
#define WORK_HIGH (3 * SECOND)

/* What a sick disk is at. */
struct work {
	struct happening happening;
	struct list link;
	struct agent_part *part;
	enum agent_event_type type; /* of the answer */
	uint64_t number;
	char *name; /* path or container */
	char **paths;
	size_t count;
};

static bool is_sick(const struct agent_part *part)
{
	return part->world->slow_disks_until > part->world->now;
}

static void agent_volumes_tell(struct agent_part *part, const char *path, enum directory_deed deed)
{
	static const char *const words[] = {"is made", "goes into a container", "is removed"};
	struct observer *o = part->world->observer;

	world_log(part->world, "%s: the volume at %s %s", part->name, path, words[deed]);
	if (o)
		o->directory(o, &part->process, path, deed);
}

static void work_free(struct work *work)
{
	world_cancel(work->part->world, &work->happening);
	list_remove(&work->link);
	for (size_t i = 0; i < work->count; i++)
		free(work->paths[i]);
	free(work->paths);
	free(work->name);
	free(work);
}

static void agent_volumes_make(struct work *work, struct agent_event *event)
{
	event->volumes_made.number = work->number;
	if (world_chance(work->part->world, VOLUMES_FAIL)) {
		event->volumes_made.failure = "no space";
		return;
	}
	for (size_t i = 0; i < work->count; i++)
		agent_volumes_tell(work->part, work->paths[i], DIRECTORY_MADE);
}

static void on_done(struct happening *h)
{
	struct work *work = container_of(h, struct work, happening);
	struct agent_part *part = work->part;
	struct agent_event event = {.type = work->type};

	if (process_holds(&part->process, h))
		return;
	if (work->type == AGENT_VOLUMES_MADE) {
		agent_volumes_make(work, &event);
	} else if (work->type == AGENT_VOLUMES_LINKED) {
		event.volumes_linked.container = work->name;
	} else {
		event.volume_removed.path = work->name;
		agent_volumes_tell(part, work->name, DIRECTORY_REMOVED);
	}
	list_remove(&work->link);
	list_init(&work->link);
	agent_part_feed(part, &event);
	work_free(work);
}

static struct work *agent_volumes_begin(struct agent_part *part, enum agent_event_type type,
					const char *name)
{
	struct work *work = xcalloc(1, sizeof(*work));

	work->happening.run = on_done;
	work->part = part;
	work->type = type;
	work->name = name ? xstrdup(name) : NULL;
	list_append(&part->works, &work->link);
	world_after(part->world, &work->happening, world_between(part->world, 0, WORK_HIGH));
	return work;
}

void agent_part_make_volumes(struct agent_part *part, const struct agent_action *action)
{
	size_t count = action->make_volumes.count;
	struct agent_event made = {.type = AGENT_VOLUMES_MADE,
				   .volumes_made = {.number = action->make_volumes.number}};
	struct work *work;

	if (!is_sick(part)) {
		for (size_t i = 0; i < count; i++)
			agent_volumes_tell(part, action->make_volumes.paths[i], DIRECTORY_MADE);
		agent_part_feed(part, &made);
		return;
	}
	work = agent_volumes_begin(part, AGENT_VOLUMES_MADE, NULL);
	work->number = action->make_volumes.number;
	work->paths = xcalloc(count + 1, sizeof(*work->paths));
	for (; work->count < count; work->count++)
		work->paths[work->count] = xstrdup(action->make_volumes.paths[work->count]);
}

void agent_part_use_volumes(struct agent_part *part, const struct agent_volumes *volumes)
{
	for (size_t i = 0; i < volumes->count; i++)
		agent_volumes_tell(part, volumes->items[i].path, DIRECTORY_USED);
}

void agent_part_link_volumes(struct agent_part *part, const struct agent_action *action)
{
	const char *container = action->link_volumes.container;
	struct agent_event linked = {.type = AGENT_VOLUMES_LINKED,
				     .volumes_linked = {.container = container}};

	agent_part_use_volumes(part, &action->link_volumes.fresh);
	if (is_sick(part))
		agent_volumes_begin(part, AGENT_VOLUMES_LINKED, container);
	else
		agent_part_feed(part, &linked);
}

void agent_part_remove_volume(struct agent_part *part, const char *path)
{
	struct agent_event removed = {.type = AGENT_VOLUME_REMOVED, .volume_removed = {path}};

	if (is_sick(part)) {
		agent_volumes_begin(part, AGENT_VOLUME_REMOVED, path);
		return;
	}
	agent_volumes_tell(part, path, DIRECTORY_REMOVED);
	agent_part_feed(part, &removed);
}

void agent_part_end_works(struct agent_part *part)
{
	while (!list_empty(&part->works))
		work_free(list_first(&part->works, struct work, link));
}
