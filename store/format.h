/* The number of the format in which a directory is written: what its keys and records are like. It
 * is in the file FORMAT; directories without one were written before there were numbers, and have
 * format 1. A mesita reads its own format and all before. */
#ifndef STORE_FORMAT_H
#define STORE_FORMAT_H

#include "base/err.h"

#define STORE_FORMAT 1

/* Before anything else is read there. ERR_INVALID: a newer mesita wrote it. ERR_CORRUPT: the file
 * holds no number. */
int format_check(const char *directory, struct err *err);
/* Says that the directory has this format from now on, durably. */
int format_note(const char *directory, struct err *err);

#endif
