#include "agent/containers/image/image_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "agent/containers/image/image_record.h"
#include "agent/containers/sandbox.h"
#include "base/files.h"
#include "base/log/log.h"
#include "base/table.h"
#include "base/time/clock.h"

#define LOCK_SECONDS 10
#define MARK_MAX (1024 * 1024)

int image_lock(const char *store, bool alone, int seconds, struct err *err)
{
	const struct timespec pause = {.tv_nsec = 50000000};
	int64_t deadline = clock_steady() + seconds * SECOND;
	char *path = xprintf("%s/lock", store);
	bool made = sandbox_make_directories(store, err) == 0, locked = false;
	int fd = -1;

	/* The default is below a directory that everybody may write to. */
	if (made && !sandbox_is_ours(store))
		errno = EPERM;
	else if (made)
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	while (fd >= 0 && !(locked = !flock(fd, (alone ? LOCK_EX : LOCK_SH) | LOCK_NB)) &&
	       clock_steady() < deadline)
		nanosleep(&pause, NULL);
	if (fd >= 0 && !locked) {
		err_set(err, ERR_STATE, "Images are being %s; try again later",
			alone ? "pulled" : "removed");
		close(fd);
		fd = ERR_STATE;
	} else if (fd < 0 && made) {
		fd = err_set(err, ERR_IO, "Cannot open '%s': %s%s", path, strerror(errno),
			     errno == EPERM ? "; others could change what is there" : "");
	}
	free(path);
	return fd;
}

/* ---- use ------------------------------------------------------------------------- */

static int write_mark(const char *store, const char *container, const char *home,
		      const struct image *image, struct err *err)
{
	char *directory = xprintf("%s/used", store), *path = xprintf("%s/%s", directory, container);
	struct buf text = BUF_INIT;
	int rv = sandbox_make_directories(directory, err), fd = -1;

	buf_printf(&text, "%s\n", home);
	for (size_t i = 0; i < image->layer_count; i++)
		buf_printf(&text, "%s\n", image->layers[i]);
	if (rv == 0)
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (rv == 0 && (fd < 0 || write(fd, text.data, text.len) != (ssize_t)text.len))
		rv = err_set(err, ERR_IO, "Cannot write '%s': %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	buf_free(&text);
	free(path);
	free(directory);
	return rv;
}

static int check_layers(const char *store, const struct image *image, struct err *err)
{
	int rv = 0;

	for (size_t i = 0; i < image->layer_count && rv == 0; i++) {
		char *path = xprintf("%s/layers/%s", store, image->layers[i]);

		if (strchr(image->layers[i], '/') || access(path, F_OK))
			rv = err_set(err, ERR_NOT_FOUND, "Layer '%s' of the image is not there",
				     path);
		free(path);
	}
	return rv;
}

bool image_is_there(const char *store, const char *name)
{
	struct image image;
	struct arena arena;
	bool there;

	arena_init(&arena);
	there = image_record_read(&arena, image_record_path(&arena, store, name), NULL, &image,
				  NULL) == 0 &&
		check_layers(store, &image, NULL) == 0;
	arena_free(&arena);
	return there;
}

int image_take(const char *store, const char *name, const char *container, const char *home,
	       struct arena *arena, struct image *out, struct err *err)
{
	int lock = image_lock(store, false, LOCK_SECONDS, err), rv;

	if (lock < 0)
		return lock;
	rv = image_record_read(arena, image_record_path(arena, store, name), NULL, out, err);
	if (rv == 0)
		rv = check_layers(store, out, err);
	if (rv == 0)
		rv = write_mark(store, container, home, out, err);
	out->layers_directory = arena_printf(arena, "%s/layers", store);
	close(lock);
	return rv;
}

void image_release(const char *store, const char *container)
{
	char *path = xprintf("%s/used/%s", store, container);

	unlink(path);
	free(path);
}

/* ---- removal ------------------------------------------------------------------------ */

struct kept {
	UT_hash_handle hh;
	char *layer;
};

struct prune {
	const char *store;
	char *const *excluded;
	struct kept *kept; /* layers */
	struct arena arena;
	int images;
	int moved;
};

static bool is_kept(const struct prune *prune, const char *layer)
{
	struct kept *kept;

	HASH_FIND_STR(prune->kept, layer, kept);
	return kept != NULL;
}

static void keep_layer(struct prune *prune, const char *layer)
{
	struct kept *kept;

	if (is_kept(prune, layer))
		return;
	kept = arena_alloc(&prune->arena, sizeof(*kept));
	kept->layer = arena_strdup(&prune->arena, layer);
	HASH_ADD_KEYPTR(hh, prune->kept, kept->layer, strlen(kept->layer), kept);
}

/* Calls for each entry of a directory of the store, with its path. */
static void each_entry(struct prune *prune, const char *name,
		       void (*call)(struct prune *prune, const char *path, const char *entry))
{
	char *directory = arena_printf(&prune->arena, "%s/%s", prune->store, name);
	DIR *dir = opendir(directory);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			call(prune, arena_printf(&prune->arena, "%s/%s", directory, entry->d_name),
			     entry->d_name);
	if (dir)
		closedir(dir);
}

/* Of a container whose directory is gone, nothing is used any more. */
static void read_mark(struct prune *prune, const char *path, const char *container)
{
	struct buf text = BUF_INIT;
	char *save = NULL, *home;

	if (file_read(path, MARK_MAX, &text, NULL) < 0)
		return;
	buf_putc(&text, '\0');
	home = strtok_r(text.data, "\n", &save);
	if (!home || access(home, F_OK))
		unlink(path);
	else
		for (char *layer; (layer = strtok_r(NULL, "\n", &save));)
			keep_layer(prune, layer);
	buf_free(&text);
}

static bool is_excluded(const struct prune *prune, const char *name)
{
	for (char *const *excluded = prune->excluded; *excluded; excluded++)
		if (!strcmp(*excluded, name))
			return true;
	return false;
}

/* With all of its layers in use it costs nothing to keep. */
static bool is_used(const struct prune *prune, const struct image *image)
{
	for (size_t i = 0; i < image->layer_count; i++)
		if (!is_kept(prune, image->layers[i]))
			return false;
	return true;
}

static void prune_record(struct prune *prune, const char *path, const char *entry)
{
	struct image image;
	const char *name;

	if (image_record_read(&prune->arena, path, &name, &image, NULL) == 0 &&
	    (is_excluded(prune, name) || is_used(prune, &image)))
		for (size_t i = 0; i < image.layer_count; i++)
			keep_layer(prune, image.layers[i]);
	else if (!unlink(path))
		prune->images++;
}

static void move_layer(struct prune *prune, const char *path, const char *layer)
{
	if (!is_kept(prune, layer))
		rename(path, arena_printf(&prune->arena, "%s/staging/gc-%d-%d", prune->store,
					  (int)getpid(), prune->moved++));
}

static void remove_moved(struct prune *prune, const char *path, const char *entry)
{
	char prefix[32];
	struct err err = {""};

	snprintf(prefix, sizeof(prefix), "gc-%d-", (int)getpid());
	if (!strncmp(entry, prefix, strlen(prefix)) && sandbox_remove(path, NULL, &err) < 0)
		log_warning("Cannot remove '%s': %s", path, err.text);
}

int image_prune(const char *store, char *const *excluded, struct err *err)
{
	struct prune prune = {.store = store, .excluded = excluded};
	int lock = image_lock(store, true, LOCK_SECONDS, err);

	if (lock < 0)
		return lock;
	arena_init(&prune.arena);
	each_entry(&prune, "used", read_mark);
	each_entry(&prune, "images", prune_record);
	each_entry(&prune, "layers", move_layer);
	close(lock);
	/* Nobody can get at it any more. */
	each_entry(&prune, "staging", remove_moved);
	HASH_CLEAR(hh, prune.kept);
	arena_free(&prune.arena);
	return prune.images;
}

static void sweep_entry(struct prune *prune, const char *path, const char *entry)
{
	const char *dash = strchr(entry, '-');
	long pid = dash ? strtol(dash + 1, NULL, 10) : 0;

	if (pid <= 0 || (kill((pid_t)pid, 0) && errno == ESRCH))
		sandbox_remove(path, NULL, NULL);
}

void image_sweep(const char *store)
{
	struct prune sweep = {.store = store};

	arena_init(&sweep.arena);
	each_entry(&sweep, "staging", sweep_entry);
	arena_free(&sweep.arena);
}
