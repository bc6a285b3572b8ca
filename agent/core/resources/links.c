/* Persistent volumes in sandboxes: a symlink at the volume's container path, for as long as
 * the executor or one of its live tasks holds the volume.
 *
 * Happy path: an executor starts with the links of its first tasks; before another task is
 * delivered its links are made (LINK_VOLUMES, VOLUMES_LINKED), after one ended they go.
 * Failures: a first link that cannot be made fails the launch; a later one ends the
 * executor, LOST/GONE. While a destroyed volume's data is being removed from the same
 * place, or directories are being made, launch and delivery are held.
 *
 * As in Mesos without a file system of the container's own, paths with a '/' get no link
 * and read-only volumes can be written to. */
#include "agent/core/objects.h"

#include <string.h>

#include "agent/core/actions.h"
#include "agent/core/executors/executors.h"
#include "agent/core/resources/volumes.h"
#include "agent/core/store/checkpoint.h"
#include "agent/core/tasks/frameworks.h"

/* ---- lists ----------------------------------------------------------------- */

static int links_by_name(const void *a, const void *b)
{
	const struct agent_volume *one = a, *other = b;
	int order = strcmp(one->name, other->name);

	return order ? order : strcmp(one->path, other->path);
}

static bool contains(const struct agent_volumes *list, const struct agent_volume *volume)
{
	return list->count &&
	       bsearch(volume, list->items, list->count, sizeof(*volume), links_by_name) != NULL;
}

static void free_list(struct agent_volumes *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->items[i].path);
		free(list->items[i].name);
	}
	free(list->items);
	*list = (struct agent_volumes){0};
}

/* On the heap. */
static struct agent_volumes keep_list(const struct agent_volumes *list)
{
	struct agent_volumes copy = {xcalloc(list->count + 1, sizeof(*copy.items)), list->count};

	for (size_t i = 0; i < list->count; i++) {
		copy.items[i] = list->items[i];
		copy.items[i].path = xstrdup(list->items[i].path);
		copy.items[i].name = xstrdup(list->items[i].name);
	}
	return copy;
}

void agent_links_free(struct executor *executor)
{
	free_list(&executor->linked);
}

/* Copied into the step's arena: what an action holds may not change. */
static struct agent_volumes links_difference(struct agent *agent, const struct agent_volumes *from,
					     const struct agent_volumes *less)
{
	struct arena *arena = &agent->out->arena;
	struct agent_volumes out = {arena_alloc(arena, (from->count + 1) * sizeof(*out.items)), 0};

	for (size_t i = 0; i < from->count; i++) {
		struct agent_volume *volume = &out.items[out.count];

		if (contains(less, &from->items[i]))
			continue;
		*volume = from->items[i];
		volume->path = arena_strdup(arena, volume->path);
		volume->name = arena_strdup(arena, volume->name);
		out.count++;
	}
	return out;
}

/* ---- what an executor holds ------------------------------------------------ */

/* A shared volume that somebody else has keeps its owner. */
static bool used_by_another(struct agent *agent, const struct executor *executor, const char *path)
{
	struct executor *other, *next;

	HASH_ITER (hh_container, agent->containers, other, next) {
		if (other == executor || other->process == CONTAINER_GONE)
			continue;
		for (size_t i = 0; i < other->linked.count; i++) {
			if (strcmp(other->linked.items[i].path, path) == 0)
				return true;
		}
	}
	return false;
}

static void add_volume(struct agent *agent, const struct executor *executor,
		       const Mesos__Resource *resource, struct agent_volumes *out)
{
	const char *name = resource->disk->volume ? resource->disk->volume->container_path : NULL;
	struct agent_volume *volume = &out->items[out->count];
	struct err err = {""};
	char *path;
	bool mount;

	if (!name || strchr(name, '/')) {
		log_warning("Persistent volume '%s' is not linked into the sandbox of executor "
			    "'%s': its container path '%s' is not a plain name",
			    resource->disk->persistence->id, executor->id, name ? name : "");
		return;
	}
	if (agent_volume_path(agent, resource, &path, &mount, &err) < 0) {
		log_warning("%s", err.text);
		return;
	}
	volume->path = arena_strdup(&agent->out->arena, path);
	volume->name = arena_strdup(&agent->out->arena, name);
	volume->own = !resource->shared || !used_by_another(agent, executor, path);
	out->count++;
	free(path);
}

static size_t count_volumes(size_t count, Mesos__Resource *const *list)
{
	size_t volumes = 0;

	for (size_t i = 0; i < count; i++)
		volumes += list[i]->disk && list[i]->disk->persistence;
	return volumes;
}

static void add_volumes(struct agent *agent, const struct executor *executor, size_t count,
			Mesos__Resource *const *list, struct agent_volumes *out)
{
	size_t more = count_volumes(count, list);
	struct agent_volume *items;

	if (!more)
		return;
	items = arena_alloc(&agent->out->arena, (out->count + more) * sizeof(*items));
	if (out->count)
		memcpy(items, out->items, out->count * sizeof(*items));
	out->items = items;
	for (size_t i = 0; i < count; i++) {
		if (list[i]->disk && list[i]->disk->persistence)
			add_volume(agent, executor, list[i], out);
	}
}

static struct agent_volumes held_by(struct agent *agent, struct executor *executor)
{
	struct agent_volumes out = {0};
	size_t count = 0;
	struct task *task, *next;

	add_volumes(agent, executor, executor->info->n_resources, executor->info->resources, &out);
	for (int place = TASK_QUEUED; place <= TASK_LAUNCHED; place++) {
		list_for_each (task, next, &executor->tasks[place], link)
			add_volumes(agent, executor, task->record->n_resources,
				    task->record->resources, &out);
	}
	if (!out.count)
		return out;
	qsort(out.items, out.count, sizeof(*out.items), links_by_name);
	for (size_t i = 0; i < out.count; i++) {
		if (!count || links_by_name(&out.items[count - 1], &out.items[i]) != 0)
			out.items[count++] = out.items[i];
	}
	out.count = count;
	return out;
}

/* Old data is still in the place of one of them, or it may not be there yet. */
static bool must_wait(struct agent *agent, const struct agent_volumes *list)
{
	if (list->count && !list_empty(&agent->changes))
		return true;
	for (size_t i = 0; i < list->count; i++) {
		if (agent_removal_find(agent, list->items[i].path))
			return true;
	}
	return false;
}

/* ---- from launch to end ---------------------------------------------------- */

static void links_remember(struct executor *executor, const struct agent_volumes *list)
{
	free_list(&executor->linked);
	executor->linked = keep_list(list);
}

bool agent_links_launch(struct agent *agent, struct executor *executor, struct agent_volumes *out)
{
	*out = held_by(agent, executor);
	executor->held = must_wait(agent, out);
	if (!executor->held)
		links_remember(executor, out);
	return !executor->held;
}

void agent_links_recover(struct agent *agent, struct executor *executor)
{
	struct agent_volumes all = held_by(agent, executor);

	links_remember(executor, &all);
}

/* So that an executor of many tasks without volumes costs nothing for each of them: what is
 * delivered already is linked. */
static bool has_volumes(const struct executor *executor)
{
	struct task *task, *next;

	if (executor->linked.count)
		return true;
	list_for_each (task, next, &executor->tasks[TASK_QUEUED], link) {
		if (count_volumes(task->record->n_resources, task->record->resources))
			return true;
	}
	return false;
}

bool agent_links_ready(struct agent *agent, struct executor *executor)
{
	struct agent_volumes want, stale, fresh;
	struct agent_action *action;

	if (executor->linking || executor->process == CONTAINER_GONE ||
	    executor->process == CONTAINER_WAITING)
		return false;
	executor->held = false;
	if (!has_volumes(executor))
		return true;
	want = held_by(agent, executor);
	fresh = links_difference(agent, &want, &executor->linked);
	stale = links_difference(agent, &executor->linked, &want);
	executor->held = must_wait(agent, &fresh);
	if (executor->held || (!fresh.count && !stale.count))
		return !executor->held;
	executor->linking = true;
	executor->linking_fresh = fresh.count > 0;
	links_remember(executor, &want);
	action = agent_emit(agent, AGENT_LINK_VOLUMES);
	action->link_volumes.container = arena_strdup(&agent->out->arena, executor->container);
	action->link_volumes.sandbox = arena_strdup(&agent->out->arena, executor->sandbox);
	action->link_volumes.stale = stale;
	action->link_volumes.fresh = fresh;
	return false;
}

void agent_links_release(struct agent *agent)
{
	struct executor *executor, *next;

	HASH_ITER (hh_container, agent->containers, executor, next) {
		if (!executor->held)
			continue;
		executor->held = false;
		if (executor->process == CONTAINER_WAITING)
			agent_executor_launch(agent, executor);
		else
			agent_executor_deliver(agent, executor);
	}
}

void agent_handle_volumes_linked(struct agent *agent, const struct agent_event *event)
{
	struct executor *executor = agent_container_find(agent, event->volumes_linked.container);
	const char *failure = event->volumes_linked.failure;

	if (!executor || !executor->linking)
		return;
	executor->linking = false;
	if (failure)
		log_warning("Volumes of container %s: %s", executor->container, failure);
	if (executor->state == EXECUTOR_TERMINATED)
		return;
	if (!failure || !executor->linking_fresh) {
		agent_executor_shrunk(agent, executor);
		agent_executor_deliver(agent, executor);
		return;
	}
	agent_executor_set_pending(
		executor, agent_gone_state(executor->framework),
		MESOS__TASK_STATUS__REASON__REASON_CONTAINER_UPDATE_FAILED,
		agent_key(agent, "Failed to update resources for container: %s", failure));
	agent_executor_destroy(agent, executor);
}
