/* Roots of disks in --resources; see disks.h. */
#include "agent/volumes/disks.h"

#include <errno.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/containers/sandbox.h"
#include "base/memory/arena.h"

static int quote_resource(const Mesos__Resource *resource, const char *what, struct err *err)
{
	struct buf text = BUF_INIT;
	int rv;

	resource_print(resource, &text);
	rv = err_set(err, ERR_INVALID, "%s '%s'", what, text.data);
	buf_free(&text);
	return rv;
}

static char *absolute(const char *work_dir, const char *root)
{
	return *root == '/' ? xstrdup(root) : xprintf("%s/%s", work_dir, root);
}

static int prepare_path(const Mesos__Resource *resource, const char *work_dir, struct err *err)
{
	const Mesos__Resource__DiskInfo__Source__Path *path = resource->disk->source->path;
	char *root;
	int rv;

	if (!path || !path->root || !*path->root)
		return quote_resource(resource, "PATH disk root directory is not specified", err);
	root = absolute(work_dir, path->root);
	rv = sandbox_make_directories(root, err);
	if (rv < 0)
		err_wrap(err, rv, "Failed to create DiskInfo path directory '%s'", path->root);
	free(root);
	return rv;
}

static bool is_mounted(const char *path)
{
	FILE *table = setmntent("/proc/mounts", "re");
	struct mntent *entry;
	bool found = false;

	while (table && !found && (entry = getmntent(table)))
		found = strcmp(entry->mnt_dir, path) == 0;
	if (table)
		endmntent(table);
	return found;
}

static int find_mount(const Mesos__Resource *resource, const char *root, struct err *err)
{
	char real[PATH_MAX];
	struct buf text = BUF_INIT;
	int rv = 0;

	if (!realpath(root, real)) {
		int code = errno;

		resource_print(resource, &text);
		rv = err_set(err, ERR_NOT_FOUND,
			     "Failed to determine `realpath` for DiskInfo mount in resource '%s' "
			     "with path '%s': %s",
			     text.data, root, code == ENOENT ? "no such path" : strerror(code));
		buf_free(&text);
	} else if (!is_mounted(real)) {
		rv = err_set(err, ERR_NOT_FOUND, "Failed to find mount '%s' in /proc/mounts", real);
	}
	return rv;
}

static int prepare_mount(const Mesos__Resource *resource, const char *work_dir, struct err *err)
{
	const Mesos__Resource__DiskInfo__Source__Mount *mount = resource->disk->source->mount;
	char *root;
	int rv;

	if (!mount || !mount->root || !*mount->root)
		return quote_resource(resource, "MOUNT disk root directory is not specified", err);
	root = absolute(work_dir, mount->root);
	rv = find_mount(resource, root, err);
	free(root);
	return rv;
}

static int prepare(const Mesos__Resource *resource, const char *work_dir, struct err *err)
{
	const Mesos__Resource__DiskInfo__Source *source =
		resource->disk ? resource->disk->source : NULL;

	if (!source)
		return 0;
	switch (source->type) {
	case MESOS__RESOURCE__DISK_INFO__SOURCE__TYPE__PATH:
		return prepare_path(resource, work_dir, err);
	case MESOS__RESOURCE__DISK_INFO__SOURCE__TYPE__MOUNT:
		return prepare_mount(resource, work_dir, err);
	default:
		return quote_resource(resource, "Unsupported 'DiskInfo.Source.Type' in", err);
	}
}

int disks_prepare(const struct resources *resources, const char *work_dir, struct err *err)
{
	struct arena arena;
	Mesos__Resource **list;
	size_t count;
	int rv = 0;

	arena_init(&arena);
	resources_to_messages(&arena, resources, &count, &list);
	for (size_t i = 0; i < count && rv == 0; i++)
		rv = prepare(list[i], work_dir, err);
	arena_free(&arena);
	return rv;
}
