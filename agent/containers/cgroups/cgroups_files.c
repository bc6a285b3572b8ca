/* Reading and writing the kernel's files of control groups. Each is small, and read at once. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/containers/cgroups/cgroups_internal.h"
#include "base/memory/arena.h"

#define READ_STEP 4096
#define READ_MAX (1024 * 1024)

static int cgroups_open_file(const char *directory, const char *file, int flags)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", directory, file) >= (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return open(path, flags | O_CLOEXEC);
}

int cgroups_write(const char *directory, const char *file, const char *text, struct err *err)
{
	int fd = cgroups_open_file(directory, file, O_WRONLY | O_TRUNC);
	ssize_t put = fd < 0 ? -1 : write(fd, text, strlen(text));
	int error = errno;

	if (fd >= 0)
		close(fd);
	if (put >= 0)
		return 0;
	return err_set(err, ERR_IO, "Failed to write '%s' to '%s/%s': %s", text, directory, file,
		       strerror(error));
}

char *cgroups_read(const char *directory, const char *file)
{
	int fd = cgroups_open_file(directory, file, O_RDONLY);
	struct buf text = BUF_INIT;
	char piece[READ_STEP];
	ssize_t got = -1;

	while (fd >= 0 && text.len < READ_MAX && (got = read(fd, piece, sizeof(piece))) > 0)
		buf_append(&text, piece, (size_t)got);
	if (fd >= 0)
		close(fd);
	if (got < 0) {
		buf_free(&text);
		return NULL;
	}
	buf_putc(&text, '\0');
	return text.data;
}

static bool parse_number(const char *text, uint64_t *value)
{
	char *end;

	if (!strncmp(text, "max", 3)) {
		*value = UINT64_MAX;
		return true;
	}
	errno = 0;
	*value = strtoull(text, &end, 10);
	return end != text && !errno;
}

bool cgroups_line_number(const char *text, const char *key, uint64_t *value)
{
	size_t len = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, len) && line[len] == ' ')
			return parse_number(line + len + 1, value);
	}
	return false;
}

bool cgroups_read_number(const char *directory, const char *file, const char *key, uint64_t *value)
{
	char *text = cgroups_read(directory, file);
	bool found =
		text && (key ? cgroups_line_number(text, key, value) : parse_number(text, value));

	free(text);
	return found;
}
