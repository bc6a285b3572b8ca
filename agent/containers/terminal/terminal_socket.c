/* The socket at which a terminal is served: <runtime_dir>/terminals/<container>/socket. It is
 * reached by way of its directory's descriptor, since an address takes 107 bytes only. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/containers/terminal/terminal.h"
#include "base/memory/arena.h"

#define WAITING_MAX 4 /* connections that were not accepted yet */

static char *directory_of(const char *runtime_dir, const char *id)
{
	return xprintf("%s/terminals/%s", runtime_dir, id);
}

static void set_address(struct sockaddr_un *address, int directory)
{
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d/socket",
		 directory);
}

/* Only we may enter, so nobody else can put anything in its place. */
static int make_directory(const char *runtime_dir, const char *path)
{
	char *above = xprintf("%s/terminals", runtime_dir);
	int rv = (mkdir(above, 0700) && errno != EEXIST) || (mkdir(path, 0700) && errno != EEXIST);

	free(above);
	return rv ? -1 : open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int terminal_listen(const char *runtime_dir, const char *id, struct err *err)
{
	char *path = directory_of(runtime_dir, id);
	int directory = make_directory(runtime_dir, path), fd = -1;
	struct sockaddr_un address;

	if (directory >= 0) {
		set_address(&address, directory);
		unlinkat(directory, "socket", 0);
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	}
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(fd, WAITING_MAX)) {
		err_set(err, ERR_IO, "Failed to make a terminal in '%s': %s", path,
			strerror(errno));
		if (fd >= 0)
			close(fd);
		fd = ERR_IO;
	}
	if (directory >= 0)
		close(directory);
	free(path);
	return fd;
}

int terminal_connect(const char *runtime_dir, const char *id)
{
	char *path = directory_of(runtime_dir, id);
	int directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC), fd;
	struct sockaddr_un address;

	free(path);
	if (directory < 0)
		return -1;
	set_address(&address, directory);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		close(fd);
		fd = -1;
	}
	close(directory);
	return fd;
}

void terminal_remove(const char *runtime_dir, const char *id)
{
	char *path = directory_of(runtime_dir, id), *file = xprintf("%s/socket", path);

	unlink(file);
	rmdir(path);
	free(file);
	free(path);
}

void terminal_head(char *out, char type, size_t len)
{
	out[0] = type;
	for (int i = 0; i < 4; i++)
		out[1 + i] = (char)(len >> (8 * i));
}

size_t terminal_size_frame(char out[TERMINAL_HEAD + 4], unsigned rows, unsigned columns)
{
	const unsigned sides[2] = {rows, columns};

	terminal_head(out, TERMINAL_SIZE, 4);
	for (int i = 0; i < 4; i++)
		out[TERMINAL_HEAD + i] = (char)(sides[i / 2] >> (8 * (i % 2)));
	return TERMINAL_HEAD + 4;
}
