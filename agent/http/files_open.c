/* Opening what the files API may show.
 *
 * Links inside a sandbox are a task's own work and may point anywhere: the canonical path must be
 * inside of the sandbox, and it is opened without following any link, so that nothing changes
 * between the check and the opening. */
#include "agent/http/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/memory/arena.h"

#define COMPONENT_FLAGS (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define LAST_FLAGS (O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC)

/* Length of the part of `path` that is the sandbox: eight components below work_dir. */
static size_t sandbox_length(const char *work_dir, const char *path)
{
	size_t at = strlen(work_dir);

	for (int i = 0; i < 8; i++) {
		while (path[at] == '/')
			at++;
		if (!path[at])
			return 0;
		at += strcspn(path + at, "/");
	}
	return at;
}

/* Component by component: a task may put links in place at any moment, and openat2() is
 * not everywhere. -1: not there, or a link or ".." is in the way. */
static int open_below(const char *root, const char *below)
{
	int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), dir;
	char name[NAME_MAX + 1];
	bool last = false;

	while (fd >= 0 && !last) {
		size_t len = strcspn(below, "/");

		dir = fd;
		last = !below[len];
		if (len > NAME_MAX || (len == 2 && !memcmp(below, "..", 2))) {
			fd = -1;
			errno = EXDEV;
		} else {
			snprintf(name, sizeof(name), "%.*s", len ? (int)len : 1, len ? below : ".");
			fd = openat(dir, name, last ? LAST_FLAGS : COMPONENT_FLAGS);
		}
		close(dir);
		below += len + !last;
	}
	return fd;
}

/* Heap, or NULL. The kernel follows 40 links at most; realpath() of the C library goes on as long
 * as it meets no circle, which links of links can make take hours. */
static char *canonical(const char *path)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	char link[64], text[PATH_MAX];
	ssize_t len;

	if (fd < 0)
		return NULL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, text, sizeof(text));
	close(fd);
	return len > 0 && len < (ssize_t)sizeof(text) ? xstrndup(text, (size_t)len) : NULL;
}

int files_open_in_sandbox(const char *work_dir, const char *path)
{
	size_t len = sandbox_length(work_dir, path);
	char *sandbox, *root, *real;
	int fd;

	if (!len)
		return ERR_NOT_FOUND;
	sandbox = xstrndup(path, len);
	fd = open_below(sandbox, path + len + (path[len] == '/'));
	if (fd >= 0) {
		/* No link on the way, as mostly. */
		free(sandbox);
		return fd;
	}
	root = canonical(sandbox);
	real = canonical(path);
	free(sandbox);
	fd = ERR_NOT_FOUND;
	if (root && real) {
		len = strlen(root);
		if (strncmp(real, root, len) || (real[len] && real[len] != '/')) {
			fd = ERR_INVALID;
		} else {
			fd = open_below(root, real + len + (real[len] == '/'));
			if (fd < 0)
				fd = errno == ELOOP || errno == EXDEV ? ERR_INVALID : ERR_NOT_FOUND;
		}
	}
	free(root);
	free(real);
	return fd;
}
