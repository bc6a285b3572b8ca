#include "store/format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory/arena.h"

#define DIGITS_MAX 9

static char *format_path(const char *directory, const char *suffix)
{
	return xprintf("%s/FORMAT%s", directory, suffix);
}

/* The number, 0: there is no such file, or an error. */
static int format_read(const char *directory, struct err *err)
{
	char *path = format_path(directory, ""), text[DIGITS_MAX + 2] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC), rv = 0;
	ssize_t len;
	size_t digits;

	if (fd < 0) {
		if (errno != ENOENT)
			rv = err_set(err, ERR_IO, "Failed to open '%s': %s", path, strerror(errno));
		free(path);
		return rv;
	}
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	digits = strspn(text, "0123456789");
	if (len < 0)
		rv = err_set(err, ERR_IO, "Failed to read '%s': %s", path, strerror(errno));
	else if (!digits || digits > DIGITS_MAX || strcmp(text + digits, "\n") != 0 || *text == '0')
		rv = err_set(err, ERR_CORRUPT, "'%s' does not hold the number of a format", path);
	else
		rv = atoi(text);
	free(path);
	return rv;
}

int format_check(const char *directory, struct err *err)
{
	int format = format_read(directory, err);

	if (format <= STORE_FORMAT)
		return format < 0 ? format : 0;
	return err_set(err, ERR_INVALID,
		       "The store '%s' has format %d, which a newer mesita wrote; this one reads "
		       "formats up to %d",
		       directory, format, STORE_FORMAT);
}

/* Written whole or not at all. */
static int format_write(const char *directory, struct err *err)
{
	char *path = format_path(directory, ""), *fresh = format_path(directory, ".new");
	int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool done = fd >= 0 && folder >= 0 && dprintf(fd, "%d\n", STORE_FORMAT) > 0 && !fsync(fd) &&
		    !rename(fresh, path) && !fsync(folder);
	int rv = done ? 0 : err_set(err, ERR_IO, "Failed to write '%s': %s", path, strerror(errno));

	if (fd >= 0)
		close(fd);
	if (folder >= 0)
		close(folder);
	free(path);
	free(fresh);
	return rv;
}

int format_note(const char *directory, struct err *err)
{
	struct err ignored;

	return format_read(directory, &ignored) == STORE_FORMAT ? 0 : format_write(directory, err);
}
