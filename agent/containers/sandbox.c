/* Making and removing sandboxes; see sandbox.h. */
#include "agent/containers/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory/arena.h"

/* Of directories that are walked at once: each level holds a descriptor and some stack. */
#define DEPTH_MAX 64

int sandbox_make_directories(const char *path, struct err *err)
{
	bool missing_parent;
	char *copy;
	int rv = 0;

	/* Mostly only the last few are missing, so try from the end. */
	if (!mkdir(path, 0755) || errno == EEXIST)
		return 0;
	missing_parent = errno == ENOENT;
	copy = xstrdup(path);
	if (missing_parent) {
		char *slash = strrchr(copy, '/');

		if (slash && slash != copy) {
			*slash = '\0';
			rv = sandbox_make_directories(copy, err);
			*slash = '/';
		}
		if (rv == 0 && mkdir(copy, 0755) && errno != EEXIST)
			rv = err_set(err, ERR_IO, "Failed to create directory: %s",
				     strerror(errno));
	} else if (access(copy, F_OK)) {
		rv = err_set(err, ERR_IO, "Failed to create directory: %s", strerror(errno));
	}
	free(copy);
	return rv;
}

/* In a directory that all may write to, others cannot rename what is not theirs if it is sticky. */
static bool is_step_ours(const char *path, bool last)
{
	struct stat info;

	return !lstat(path, &info) && (info.st_uid == 0 || info.st_uid == geteuid()) &&
	       (!last || S_ISDIR(info.st_mode)) &&
	       (S_ISLNK(info.st_mode) || !(info.st_mode & S_IWOTH) || (info.st_mode & S_ISVTX));
}

bool sandbox_is_ours(const char *path)
{
	char *copy = xstrdup(path);
	bool ours = true;

	for (size_t len = strlen(copy); len > 1 && copy[len - 1] == '/'; len--)
		copy[len - 1] = 0;

	for (char *at = copy + 1; ours && *copy && *at; at++) {
		if (*at != '/')
			continue;
		*at = 0;
		ours = is_step_ours(copy, false);
		*at = '/';
	}
	ours = ours && is_step_ours(copy, true);
	free(copy);
	return ours;
}

/* By way of a rename, so that "latest" exists at any time once it did. */
static int replace_link(const char *target, const char *link, struct err *err)
{
	char *fresh = xprintf("%s.new", link);
	int rv = 0;

	unlink(fresh);
	if (symlink(target, fresh) || rename(fresh, link))
		rv = err_set(err, ERR_IO, "Failed to symlink '%s' to '%s': %s", target, link,
			     strerror(errno));
	free(fresh);
	return rv;
}

int sandbox_link_latest(const char *path, struct err *err)
{
	const char *slash = strrchr(path, '/');
	char *link = xprintf("%.*s/latest", (int)(slash - path), path);
	int rv = 0;

	if (symlink(path, link))
		rv = replace_link(path, link, err);
	free(link);
	return rv;
}

int sandbox_create(const char *path, const char *user_name, const struct user *user,
		   struct err *err)
{
	int rv = sandbox_make_directories(path, err);

	if (rv == 0 && chmod(path, 0750))
		rv = err_set(err, ERR_IO, "Failed to chmod directory: %s", strerror(errno));
	if (rv == 0 && user && chown(path, user->uid, user->gid)) {
		rv = err_set(err, ERR_IO, "Failed to chown directory to '%s': %s", user_name,
			     strerror(errno));
		rmdir(path);
	}
	return rv;
}

int sandbox_open_output(const char *path, const char *name, const struct user *user,
			struct err *err)
{
	char *file = xprintf("%s/%s", path, name);
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0) {
		err_set(err, ERR_IO, "Failed to create '%s': %s", file, strerror(errno));
	} else if (user && fchown(fd, user->uid, user->gid)) {
		err_set(err, ERR_IO, "Failed to chown '%s': %s", file, strerror(errno));
		close(fd);
		fd = -1;
	}
	free(file);
	return fd < 0 ? ERR_IO : fd;
}

/* ---- removal ------------------------------------------------------------- */

/* A removal. Directories below DEPTH_MAX are moved to the top, for each level on the way holds a
 * descriptor, and are removed from there. */
struct removal {
	int top;	/* -1: not open yet */
	unsigned moved; /* so far */
	const atomic_bool *stop;
};

static int remove_at(struct removal *r, int parent, const char *name, int depth);

static bool is_stopped(const struct removal *r)
{
	return r->stop && atomic_load(r->stop);
}

/* Closes `fd`, which is of a directory. */
static int remove_content(struct removal *r, int fd, int depth)
{
	DIR *dir = fdopendir(fd);
	struct dirent *entry;
	int rv = 0;

	if (!dir) {
		close(fd);
		return -1;
	}
	while (!is_stopped(r) && (entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (remove_at(r, dirfd(dir), entry->d_name, depth))
			rv = -1;
	}
	closedir(dir);
	if (!is_stopped(r))
		return rv;
	errno = ECANCELED;
	return -1;
}

static int move_to_top(struct removal *r, int parent, const char *name)
{
	char fresh[64];
	int tries = 0;

	/* A task may have used the name. */
	do
		snprintf(fresh, sizeof(fresh), ".mesita-deep-%u", r->moved++);
	while (renameat(parent, name, r->top, fresh) &&
	       (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR) && ++tries < 1000);
	return tries < 1000 && faccessat(parent, name, F_OK, AT_SYMLINK_NOFOLLOW) ? 0 : -1;
}

static int open_directory(int parent, const char *name)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(parent, name, flags);

	if (fd >= 0 || errno != EACCES)
		return fd;
	/* A task may have locked a directory of its own. */
	return fchmodat(parent, name, 0700, 0) ? -1 : openat(parent, name, flags);
}

static int remove_at(struct removal *r, int parent, const char *name, int depth)
{
	int fd;

	if (!unlinkat(parent, name, 0) || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -1;
	if (!unlinkat(parent, name, AT_REMOVEDIR))
		return 0;
	if (depth >= DEPTH_MAX)
		return move_to_top(r, parent, name);
	fd = open_directory(parent, name);
	if (fd < 0 || remove_content(r, fd, depth + 1))
		return -1;
	return unlinkat(parent, name, AT_REMOVEDIR);
}

/* All in the directory, also what comes up from below while it is being removed. */
static int empty_top(int top, const atomic_bool *stop)
{
	struct removal r = {.top = top, .stop = stop};
	unsigned moved;
	int rv, fd;

	do {
		moved = r.moved;
		fd = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		rv = fd < 0 ? -1 : remove_content(&r, fd, 0);
	} while (rv == 0 && r.moved > moved);
	return rv;
}

static int removal_failed(struct err *err, const char *what, const char *path)
{
	return err_set(err, errno == ECANCELED ? ERR_CANCELED : ERR_IO, "Failed to %s '%s': %s",
		       what, path, strerror(errno));
}

int sandbox_remove(const char *path, const atomic_bool *stop, struct err *err)
{
	int top, rv;

	if (!unlink(path) || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return removal_failed(err, "remove", path);
	top = open_directory(AT_FDCWD, path);
	rv = top < 0 ? -1 : empty_top(top, stop);
	if (rv == 0)
		rv = rmdir(path);
	if (rv < 0)
		rv = removal_failed(err, "remove", path);
	if (top >= 0)
		close(top);
	return rv;
}

int sandbox_empty(const char *path, const atomic_bool *stop, struct err *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rv = fd < 0 || empty_top(fd, stop) ? removal_failed(err, "empty", path) : 0;

	if (fd >= 0)
		close(fd);
	return rv;
}
