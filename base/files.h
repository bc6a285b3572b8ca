/* Small files that a daemon is told to read. */
#ifndef BASE_FILES_H
#define BASE_FILES_H

#include <stdbool.h>

#include "base/err.h"
#include "base/memory/buf.h"

/* Appends the whole file. ERR_INVALID: it cannot be read, or has more than `max` bytes. */
int file_read(const char *path, size_t max, struct buf *out, struct err *err);

/* Whether one of the path's steps is "..". */
bool path_climbs(const char *path);

#endif
