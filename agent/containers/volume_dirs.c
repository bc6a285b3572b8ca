/* Directories, links and removal of persistent volumes; see volume_dirs.h. */
#include "agent/containers/volume_dirs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/containers/sandbox.h"
#include "base/list.h"
#include "base/log/log.h"
#include "base/memory/arena.h"

#define RETRY_MIN_MS 1000u
#define RETRY_MAX_MS 600000u

struct agent_volumes volumes_copy(struct arena *arena, const struct agent_volumes *list)
{
	struct agent_volumes copy = {arena_alloc(arena, (list->count + 1) * sizeof(*copy.items)),
				     list->count};

	for (size_t i = 0; i < list->count; i++) {
		copy.items[i] = list->items[i];
		copy.items[i].path = arena_strdup(arena, list->items[i].path);
		copy.items[i].name = arena_strdup(arena, list->items[i].name);
	}
	return copy;
}

/* ---- making ---------------------------------------------------------------- */

/* So that the name outlives a crash of the machine, as the record of the volume does. */
static void sync_parent(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *parent = xprintf("%.*s", slash > path ? (int)(slash - path) : 1, path);
	int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
	free(parent);
}

static int make_one(const char *path, bool *made, struct err *err)
{
	struct stat st;
	int rv = 0;

	*made = false;
	if (!stat(path, &st)) {
		if (!S_ISDIR(st.st_mode))
			rv = err_set(err, ERR_IO, "it is not a directory");
	} else {
		rv = sandbox_make_directories(path, err);
		*made = rv == 0;
	}
	if (*made)
		sync_parent(path);
	return rv < 0 ? err_wrap(err, rv, "Failed to create the persistent volume at '%s'", path)
		      : 0;
}

int volume_make(char *const *paths, size_t count, struct err *err)
{
	bool *made = xcalloc(count + 1, sizeof(*made));
	int rv = 0;

	for (size_t i = 0; i < count && rv == 0; i++)
		rv = make_one(paths[i], &made[i], err);
	for (size_t i = 0; i < count && rv < 0; i++) {
		if (made[i])
			rmdir(paths[i]);
	}
	free(made);
	return rv;
}

/* ---- links ----------------------------------------------------------------- */

static bool is_name(const char *name)
{
	return *name && strcmp(name, ".") && strcmp(name, "..") && !strchr(name, '/');
}

static bool links_to(int sandbox, const char *name, const char *path)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(sandbox, name, target, sizeof(target));

	return len >= 0 && (size_t)len == strlen(path) && !memcmp(target, path, len);
}

static int volume_dirs_give(const struct agent_volume *volume, const struct stat *owner,
			    struct err *err)
{
	int fd = open(volume->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	int rv = 0;

	if (fd < 0)
		return err_set(err, ERR_IO, "Failed to open the persistent volume at '%s': %s",
			       volume->path, strerror(errno));
	/* Root may do anything anyhow. */
	if (volume->own && owner->st_uid && !fstat(fd, &st) &&
	    (st.st_uid != owner->st_uid || st.st_gid != owner->st_gid) &&
	    fchown(fd, owner->st_uid, owner->st_gid))
		rv = err_set(err, ERR_IO,
			     "Failed to change the ownership of the persistent volume at '%s' "
			     "with uid %u and gid %u: %s",
			     volume->path, (unsigned)owner->st_uid, (unsigned)owner->st_gid,
			     strerror(errno));
	close(fd);
	return rv;
}

static int link_one(int sandbox, const char *directory, const struct agent_volume *volume,
		    const struct stat *owner, struct err *err)
{
	int rv;

	if (!is_name(volume->name))
		return err_set(err, ERR_INVALID,
			       "'%s' cannot be the container path of a persistent volume",
			       volume->name);
	rv = volume_dirs_give(volume, owner, err);
	if (rv < 0)
		return rv;
	if (!symlinkat(volume->path, sandbox, volume->name) ||
	    (errno == EEXIST && links_to(sandbox, volume->name, volume->path)))
		return 0;
	return err_set(err, ERR_IO, "Failed to symlink persistent volume from '%s' to '%s/%s': %s",
		       volume->path, directory, volume->name, strerror(errno));
}

static int open_sandbox(const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, ERR_IO, "Failed to open the sandbox '%s': %s", path,
			       strerror(errno));
	return fd;
}

int volume_link(const char *sandbox, const struct agent_volumes *volumes, struct err *err)
{
	struct stat owner;
	int fd, rv = 0;

	if (!volumes->count)
		return 0;
	fd = open_sandbox(sandbox, err);
	if (fd < 0)
		return fd;
	if (fstat(fd, &owner))
		rv = err_set(err, ERR_IO, "Failed to get ownership for '%s': %s", sandbox,
			     strerror(errno));
	for (size_t i = 0; i < volumes->count && rv == 0; i++)
		rv = link_one(fd, sandbox, &volumes->items[i], &owner, err);
	close(fd);
	return rv;
}

int volume_unlink(const char *sandbox, const struct agent_volumes *volumes, struct err *err)
{
	int fd, rv = 0;

	if (!volumes->count)
		return 0;
	fd = open_sandbox(sandbox, err);
	if (fd < 0)
		return fd;
	for (size_t i = 0; i < volumes->count; i++) {
		const struct agent_volume *volume = &volumes->items[i];

		if (is_name(volume->name) && links_to(fd, volume->name, volume->path) &&
		    unlinkat(fd, volume->name, 0) && errno != ENOENT)
			rv = err_set(err, ERR_IO,
				     "Failed to remove the symlink for the unneeded persistent "
				     "volume at '%s/%s': %s",
				     sandbox, volume->name, strerror(errno));
	}
	close(fd);
	return rv;
}

/* ---- removal --------------------------------------------------------------- */

struct doomed {
	struct slow_job slow;
	struct volume_remover *remover;
	bool mount, removed;
	char path[];
};

struct volume_remover {
	struct slow_pool *pool;
	struct slow_lane lane;
	void (*removed)(void *context, const char *path);
	void *context;
	struct list failed; /* struct doomed.slow.link: to be tried again */
	unsigned retry;
	uv_timer_t timer;
	bool timer_open;
	atomic_bool closing; /* threads look at it */
};

static void volume_dirs_free_if_done(struct volume_remover *remover)
{
	struct doomed *doomed;

	if (remover->lane.busy || remover->timer_open)
		return;
	while ((doomed = list_first(&remover->failed, struct doomed, slow.link))) {
		list_remove(&doomed->slow.link);
		free(doomed);
	}
	free(remover);
}

/* On a thread of the pool. */
static void volume_dirs_work(struct slow_job *slow)
{
	struct doomed *doomed = container_of(slow, struct doomed, slow);
	const atomic_bool *closing = &doomed->remover->closing;
	struct err err = {""};
	int rv = doomed->mount ? sandbox_empty(doomed->path, closing, &err)
			       : sandbox_remove(doomed->path, closing, &err);

	doomed->removed = rv == 0;
	if (rv < 0 && rv != ERR_CANCELED)
		log_error("The data of a destroyed volume is still there, and is tried again: %s",
			  err.text);
}

static void volume_dirs_try(struct doomed *doomed)
{
	slow_add(doomed->remover->pool, &doomed->remover->lane, &doomed->slow);
}

static void volume_dirs_timer_cb(uv_timer_t *timer)
{
	struct volume_remover *remover = timer->data;
	struct doomed *doomed;

	while ((doomed = list_first(&remover->failed, struct doomed, slow.link))) {
		list_remove(&doomed->slow.link);
		volume_dirs_try(doomed);
	}
}

static void volume_dirs_done(struct slow_job *slow, bool canceled)
{
	struct doomed *doomed = container_of(slow, struct doomed, slow);
	struct volume_remover *remover = doomed->remover;

	if (canceled || remover->closing) {
		free(doomed);
		if (remover->closing)
			volume_dirs_free_if_done(remover);
		return;
	}
	if (doomed->removed) {
		remover->retry = RETRY_MIN_MS;
		remover->removed(remover->context, doomed->path);
		free(doomed);
		return;
	}
	list_append(&remover->failed, &doomed->slow.link);
	if (uv_is_active((uv_handle_t *)&remover->timer))
		return;
	uv_timer_start(&remover->timer, volume_dirs_timer_cb, remover->retry, 0);
	remover->retry = remover->retry * 2 > RETRY_MAX_MS ? RETRY_MAX_MS : remover->retry * 2;
}

struct volume_remover *volume_remover_create(uv_loop_t *loop, struct slow_pool *pool,
					     void (*removed)(void *context, const char *path),
					     void *context)
{
	struct volume_remover *remover = xcalloc(1, sizeof(*remover));

	remover->pool = pool;
	remover->removed = removed;
	remover->context = context;
	remover->retry = RETRY_MIN_MS;
	slow_lane_init(&remover->lane);
	list_init(&remover->failed);
	uv_timer_init(loop, &remover->timer);
	remover->timer.data = remover;
	remover->timer_open = true;
	return remover;
}

void volume_remover_add(struct volume_remover *remover, const char *path, bool mount)
{
	struct doomed *doomed = xcalloc(1, sizeof(*doomed) + strlen(path) + 1);

	strcpy(doomed->path, path);
	doomed->mount = mount;
	doomed->remover = remover;
	doomed->slow.work = volume_dirs_work;
	doomed->slow.done = volume_dirs_done;
	volume_dirs_try(doomed);
}

static void volume_dirs_closed_cb(uv_handle_t *handle)
{
	struct volume_remover *remover = handle->data;

	remover->timer_open = false;
	volume_dirs_free_if_done(remover);
}

void volume_remover_close(struct volume_remover *remover)
{
	remover->closing = true;
	uv_close((uv_handle_t *)&remover->timer, volume_dirs_closed_cb);
	slow_lane_cancel(&remover->lane);
}
