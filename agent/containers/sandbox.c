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

#include "base/arena.h"

/* Deeper trees are hostile: each level holds a descriptor while it is removed. */
#define DEPTH_MAX 500

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

static int link_latest(const char *path, struct err *err)
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
	return rv < 0 ? rv : link_latest(path, err);
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

static int remove_at(int parent, const char *name, int depth);

static int remove_content(int fd, int depth)
{
	DIR *dir = fdopendir(fd);
	struct dirent *entry;
	int rv = 0;

	if (!dir) {
		close(fd);
		return -1;
	}
	while ((entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (remove_at(dirfd(dir), entry->d_name, depth))
			rv = -1;
	}
	closedir(dir);
	return rv;
}

static int remove_at(int parent, const char *name, int depth)
{
	int fd;

	if (!unlinkat(parent, name, 0) || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -1;
	if (depth >= DEPTH_MAX) {
		errno = ELOOP;
		return -1;
	}
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == EACCES) {
		/* A task may have locked a directory of its own. */
		fchmodat(parent, name, 0700, 0);
		fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	}
	if (fd < 0 || remove_content(fd, depth + 1))
		return -1;
	return unlinkat(parent, name, AT_REMOVEDIR);
}

int sandbox_remove(const char *path, struct err *err)
{
	if (remove_at(AT_FDCWD, path, 0))
		return err_set(err, ERR_IO, "Failed to remove '%s': %s", path, strerror(errno));
	return 0;
}

int sandbox_empty(const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || remove_content(fd, 0))
		return err_set(err, ERR_IO, "Failed to empty '%s': %s", path, strerror(errno));
	return 0;
}
