/* Directories of persistent volumes: where they are, and their removal.
 *
 *	no source	<work_dir>/volumes/roles/<role>/<id>
 *	PATH		<root>/volumes/roles/<role>/<id>
 *	MOUNT		<root>, the whole of it
 *
 * with ' ' for '/' in roles (which hold no blanks); a relative root is below work_dir.
 *
 * A removal is in the store from the step on that took the volume away until its data is
 * gone, whatever dies meanwhile. A new volume in the same place is there for the master at
 * once; tasks that need it are held until the old data is gone. */
#include "agent/core/resources/volumes.h"

#include <stdio.h>
#include <string.h>

#include "agent/core/actions.h"
#include "agent/core/objects.h"
#include "agent/core/resources/operations.h"
#include "agent/core/store/checkpoint.h"
#include "agent/core/tasks/tasks.h"

/* ---- paths ----------------------------------------------------------------- */

static int root_of(const struct agent *agent, const Mesos__Resource__DiskInfo__Source *source,
		   char **root, bool *mount, struct err *err)
{
	const char *given = NULL;

	*mount = source && source->type == MESOS__RESOURCE__DISK_INFO__SOURCE__TYPE__MOUNT;
	if (!source) {
		*root = xstrdup(agent->options.work_dir);
		return 0;
	}
	if (source->id || source->profile || source->vendor)
		return err_set(err, ERR_INVALID, "Disks of resource providers are not supported");
	if (*mount && source->mount)
		given = source->mount->root;
	else if (source->type == MESOS__RESOURCE__DISK_INFO__SOURCE__TYPE__PATH && source->path)
		given = source->path->root;
	if (!given || !*given)
		return err_set(err, ERR_INVALID, "Unsupported 'DiskInfo.Source' of a volume");
	*root = *given == '/' ? xstrdup(given) : xprintf("%s/%s", agent->options.work_dir, given);
	return 0;
}

static int check_names(const char *role, const char *id, struct err *err)
{
	struct err why = {""};

	if (strcmp(role, "*") == 0)
		return err_set(err, ERR_INVALID, "A persistent volume is not reserved");
	if (!role_valid(role, &why))
		return err_set(err, ERR_INVALID, "Invalid role '%s': %s", role, why.text);
	if (!agent_id_usable(id))
		return err_set(err, ERR_INVALID, "'%s' cannot be the id of a persistent volume",
			       id);
	return 0;
}

int agent_volume_path(const struct agent *agent, const Mesos__Resource *volume, char **path,
		      bool *mount, struct err *err)
{
	size_t count = volume->n_reservations;
	const char *role = count ? volume->reservations[count - 1]->role : NULL;
	char *root = NULL, *flat;
	int rv = check_names(role ? role : "*", volume->disk->persistence->id, err);

	if (rv == 0 && volume->provider_id)
		rv = err_set(err, ERR_INVALID, "Disks of resource providers are not supported");
	if (rv == 0)
		rv = root_of(agent, volume->disk->source, &root, mount, err);
	if (rv < 0)
		return rv;
	if (*mount) {
		*path = root;
		return 0;
	}
	flat = xstrdup(role);
	for (char *at = flat; (at = strchr(at, '/'));)
		*at = ' ';
	*path = xprintf("%s/volumes/roles/%s/%s", root, flat, volume->disk->persistence->id);
	free(flat);
	free(root);
	return 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct volume *)a)->path, ((const struct volume *)b)->path);
}

static int add_volume(struct agent *agent, const struct resource_piece *piece, struct volumes *out,
		      struct err *err)
{
	struct arena *arena = &agent->out->arena;
	Mesos__Resource *resource = resource_piece_to_message(arena, piece);
	struct volume *volume = &out->items[out->count];
	char *path;
	int rv = agent_volume_path(agent, resource, &path, &volume->mount, err);

	if (rv < 0)
		return rv;
	volume->path = arena_strdup(arena, path);
	volume->id = resource->disk->persistence->id;
	out->count++;
	free(path);
	return 0;
}

int agent_volumes_of(struct agent *agent, const struct resources *resources, struct volumes *out,
		     struct err *err)
{
	int rv = 0;

	out->count = 0;
	out->items = arena_alloc(&agent->out->arena, (resources->count + 1) * sizeof(*out->items));
	for (uint32_t i = 0; i < resources->count && rv == 0; i++) {
		if (resource_shape_persistence(resources->pieces[i].shape))
			rv = add_volume(agent, &resources->pieces[i], out, err);
	}
	if (rv < 0)
		return rv;
	qsort(out->items, out->count, sizeof(*out->items), by_path);
	for (size_t i = 1; i < out->count; i++) {
		if (strcmp(out->items[i - 1].path, out->items[i].path) == 0)
			return err_set(err, ERR_INVALID, "Persistence ID '%s' is not unique",
				       out->items[i].id);
	}
	return 0;
}

/* ---- making ---------------------------------------------------------------- */

struct change *agent_make_volumes(struct agent *agent, const struct volumes *list)
{
	struct agent_action *action = agent_emit(agent, AGENT_MAKE_VOLUMES);
	struct arena *arena = &agent->out->arena;
	struct change *change = xcalloc(1, sizeof(*change));

	change->number = ++agent->last_change;
	change->count = list->count;
	list_append(&agent->changes, &change->link);
	action->make_volumes.number = change->number;
	action->make_volumes.paths = arena_alloc(arena, (list->count + 1) * sizeof(char *));
	for (size_t i = 0; i < list->count; i++)
		action->make_volumes.paths[i] = arena_strdup(arena, list->items[i].path);
	action->make_volumes.count = list->count;
	return change;
}

/* ---- removing -------------------------------------------------------------- */

struct removal *agent_removal_find(struct agent *agent, const char *path)
{
	struct removal *removal;

	HASH_FIND_STR(agent->removals, path, removal);
	return removal;
}

static struct removal *removal_add(struct agent *agent, const char *path, bool mount)
{
	struct removal *removal = xcalloc(1, sizeof(*removal) + strlen(path) + 1);

	strcpy(removal->path, path);
	removal->mount = mount;
	HASH_ADD_STR(agent->removals, path, removal);
	return removal;
}

static void removal_free(struct agent *agent, struct removal *removal)
{
	HASH_DELETE(hh, agent->removals, removal);
	free(removal);
}

void agent_free_removals(struct agent *agent)
{
	struct removal *removal, *next;

	HASH_ITER (hh, agent->removals, removal, next)
		removal_free(agent, removal);
}

void agent_remove_volume(struct agent *agent, const struct volume *volume,
			 struct operation *operation)
{
	struct removal *removal = agent_removal_find(agent, volume->path);

	log_info("Deleting persistent volume '%s' at '%s'", volume->id, volume->path);
	/* Made and destroyed again while older data is still there: one removal does. */
	if (removal)
		return;
	removal = removal_add(agent, volume->path, volume->mount);
	if (operation) {
		removal->ordered = true;
		memcpy(removal->uuid, operation->uuid, UUID_BYTES);
		operation->removals++;
	}
	agent_store_removal(removal, agent);
}

void agent_removal_start(struct agent *agent, const char *path)
{
	struct removal *removal = agent_removal_find(agent, path);
	struct agent_action *action;

	if (!removal || removal->asked)
		return;
	removal->asked = true;
	action = agent_emit(agent, AGENT_REMOVE_VOLUME);
	action->remove_volume.path = arena_strdup(&agent->out->arena, path);
	action->remove_volume.mount = removal->mount;
}

/* The place is free for a volume that was made meanwhile. */
static void make_again(struct agent *agent, const char *path)
{
	struct volumes all = {0};

	agent_volumes_of(agent, &agent->total, &all, NULL);
	for (size_t i = 0; i < all.count; i++) {
		if (strcmp(all.items[i].path, path) == 0)
			agent_make_volumes(agent, &(struct volumes){&all.items[i], 1});
	}
}

void agent_handle_volume_removed(struct agent *agent, const char *path)
{
	struct removal *removal = agent_removal_find(agent, path);
	struct operation *operation;

	if (!removal)
		return;
	operation = removal->ordered ? agent_operation_find(agent, removal->uuid) : NULL;
	agent->batch_class = STORE_SYNCED;
	agent_forget_removal(removal, agent);
	if (operation && operation->removals && --operation->removals == 0)
		agent_operation_settle(agent, operation, MESOS__OPERATION_STATE__OPERATION_FINISHED,
				       NULL);
	make_again(agent, removal->path);
	removal_free(agent, removal);
	agent_links_release(agent);
}

/* "<mount|path> <uuid|->" */
int agent_load_removal(struct agent *agent, const char *path, const char *text, struct err *err)
{
	char kind[8], id[UUID_TEXT];
	struct removal *removal;

	if (sscanf(text, "%7s %36s", kind, id) != 2 || path[0] != '/')
		return err_set(err, ERR_INVALID, "it holds no volume to remove");
	removal = removal_add(agent, path, strcmp(kind, "mount") == 0);
	removal->ordered = uuid_parse(id, removal->uuid);
	return 0;
}
