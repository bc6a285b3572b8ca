/* Log lines on standard error, or in a file, in glog's shape:
 *   I1121 09:26:48.123456  4711 master.c:120] text
 * so that eyes and tools trained on Mesos can read them. Control characters of
 * the text (it may quote clients) are escaped. Level and destination are set by main,
 * the level also later; each line is one write(2), unless they are gathered.
 *
 * Warnings, and what log_info_limited says, are things that strangers can cause: one place
 * in the code writes only some of them in a time, and short ones (log_limit.h). */
#ifndef BASE_LOG_LOG_H
#define BASE_LOG_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARNING, LOG_LEVEL_ERROR };

/* `fd` is kept, not owned. */
void log_setup(enum log_level level, int fd);
void log_set_level(enum log_level level);
/* From now on each line is a JSON object: time (UTC), level, thread, file, line, message, and the
 * fields that it has. */
void log_set_json(bool json);
/* From now on lines are appended to the file. ERR_IO. */
int log_open(const char *path, struct err *err);
/* The same file by its name anew, as somebody may have moved it away; nothing without log_open().
 * After a failure lines go where they went. */
int log_reopen(struct err *err);

/* From now on lines wait for log_flush(), which the caller sees to at the end of each turn of
 * its loop and of all; warnings and errors are written at once. What a pipe, terminal or socket
 * cannot take now is kept, 1 MiB of it, and later lines are counted: no write blocks. */
void log_gather(bool on);
void log_flush(void);

void log_write(enum log_level level, const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The same for what strangers can cause. */
void log_write_limited(enum log_level level, const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* A line that machines can take apart, too: " name=value" for each field. What a stranger says has
 * its place in values. */
struct log_field {
	const char *name, *value;
};
void log_write_fields(enum log_level level, const char *file, int line, const char *text,
		      const struct log_field *fields, size_t count);

#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __FILE__, __LINE__, __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, __FILE__, __LINE__, __VA_ARGS__)
#define log_info_limited(...) log_write_limited(LOG_LEVEL_INFO, __FILE__, __LINE__, __VA_ARGS__)
#define log_warning(...) log_write_limited(LOG_LEVEL_WARNING, __FILE__, __LINE__, __VA_ARGS__)
#define log_error(...) log_write(LOG_LEVEL_ERROR, __FILE__, __LINE__, __VA_ARGS__)

#endif
