#include "base/files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int file_read(const char *path, size_t max, struct buf *out, struct err *err)
{
	FILE *file = fopen(path, "re");
	int error = file ? 0 : errno;
	size_t len = 0;

	if (file) {
		buf_reserve(out, max + 1);
		len = fread(out->data + out->len, 1, max + 1, file);
		error = ferror(file) ? errno : 0;
		fclose(file);
	}
	if (error)
		return err_set(err, ERR_INVALID, "Error reading file '%s': %s", path,
			       strerror(error));
	if (len > max)
		return err_set(err, ERR_INVALID, "'%s' is larger than %zu bytes", path, max);
	out->len += len;
	out->data[out->len] = '\0';
	return 0;
}

bool path_climbs(const char *path)
{
	for (size_t len; *path; path += len + (path[len] == '/')) {
		len = strcspn(path, "/");
		if (len == 2 && !memcmp(path, "..", 2))
			return true;
	}
	return false;
}
