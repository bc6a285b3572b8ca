#include "agent/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/log/log.h"
#include "base/memory/arena.h"

static char *reserve_path(const char *directory)
{
	return xprintf("%s/.reserve", directory);
}

int64_t reserve_available(const char *directory)
{
	struct statvfs fs;

	return statvfs(directory, &fs) ? INT64_MAX : (int64_t)(fs.f_bavail * fs.f_frsize);
}

void reserve_release(const char *directory, int64_t available)
{
	char *path = reserve_path(directory);

	if (available < RESERVE_BYTES && unlink(path) == 0)
		log_warning("The disk of '%s' is full: '%s' was freed to start, and sandboxes of "
			    "ended executors go soon",
			    directory, path);
	free(path);
}

void reserve_keep(const char *directory, int64_t available)
{
	char *path = reserve_path(directory);
	int fd = -1, rv = 0;

	if (available >= 10 * (int64_t)RESERVE_BYTES && access(path, F_OK))
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0) {
		rv = posix_fallocate(fd, 0, RESERVE_BYTES);
		close(fd);
	}
	if (rv) {
		log_warning("Cannot reserve room in '%s': %s", path, strerror(rv));
		unlink(path);
	}
	free(path);
}
