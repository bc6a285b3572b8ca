/* The exit status of a container's first process, which init (init.h) writes into a file: it
 * is known to an agent that was started after the process ended. */
#include "agent/containers/posix/posix_internal.h"
#include "agent/containers/posix/posix_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log/log.h"

static char *status_directory(const struct posix *posix, const char *id)
{
	return xprintf("%s/containers/%s", posix->options.runtime_dir, id);
}

void posix_status_remove(const struct posix *posix, const char *id)
{
	char *directory = status_directory(posix, id), *file = xprintf("%s/status", directory);

	unlink(file);
	rmdir(directory);
	free(file);
	free(directory);
}

bool posix_status_read(const struct posix *posix, const char *id, int *status)
{
	char *directory = status_directory(posix, id), *file = xprintf("%s/status", directory);
	int fd = open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char text[16] = "", more;
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	free(file);
	free(directory);
	return len > 0 && sscanf(text, "%d%c", status, &more) == 1 && *status >= 0 &&
	       *status <= 0xffff;
}

char *posix_status_make(const struct posix *posix, const char *id, struct posix_start *start)
{
	char *directory = status_directory(posix, id), *argument = NULL;

	if ((mkdir(directory, 0755) && errno != EEXIST) ||
	    (start->switches_user && chown(directory, start->user.uid, start->user.gid)))
		log_warning(
			"Cannot make '%s': %s; the exit status of container %s will not outlive "
			"the agent",
			directory, strerror(errno), id);
	else
		argument = arena_printf(&start->arena, "--status=%s/status", directory);
	free(directory);
	return argument;
}
