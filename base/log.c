/* Log lines in glog's shape. A line is formatted whole and handed to write(2) at once, so
 * lines of threads and processes that share the destination do not mix. A destination
 * that is full or gone loses the line, never the daemon. */
#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log_limit.h"

#define TEXT_MAX (32 * 1024)
#define LIMITED_TEXT_MAX 2000 /* of what strangers can cause */

/* The level may change while threads write. */
static _Atomic enum log_level least_level = LOG_LEVEL_INFO;
static int log_fd = STDERR_FILENO;
/* Threads share it. */
static struct log_limit log_limit;
static pthread_mutex_t limit_lock = PTHREAD_MUTEX_INITIALIZER;

void log_setup(enum log_level level, int fd)
{
	least_level = level;
	log_fd = fd;
}

static void append_head(struct buf *line, enum log_level level, const char *file, int number)
{
	const char *slash = strrchr(file, '/');
	struct timespec now;
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &tm);
	buf_printf(line, "%c%02d%02d %02d:%02d:%02d.%06ld %5d %s:%d] ", "DIWE"[level],
		   tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, now.tv_nsec / 1000,
		   (int)gettid(), slash ? slash + 1 : file, number);
}

static void append_escaped(struct buf *line, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c >= ' ' && c != 0x7f)
			buf_putc(line, (char)c);
		else if (c == '\n')
			buf_puts(line, "\\n");
		else if (c == '\t')
			buf_puts(line, "\\t");
		else if (c == '\r')
			buf_puts(line, "\\r");
		else
			buf_printf(line, "\\x%02x", c);
	}
}

static void write_line(const char *data, size_t len)
{
	while (len) {
		ssize_t written = write(log_fd, data, len);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return;
		data += written;
		len -= (size_t)written;
	}
}

static bool admitted(const char *file, int number, uint64_t *left_out)
{
	struct timespec now;
	bool admit;

	clock_gettime(CLOCK_MONOTONIC, &now);
	pthread_mutex_lock(&limit_lock);
	admit = log_limit_admit(&log_limit, file, number,
				now.tv_sec * INT64_C(1000000000) + now.tv_nsec, left_out);
	pthread_mutex_unlock(&limit_lock);
	return admit;
}

static void write_text(enum log_level level, const char *file, int number, char *text, size_t max,
		       uint64_t left_out)
{
	struct buf line = BUF_INIT;
	bool cut = strlen(text) > max;

	if (cut)
		text[max] = '\0';
	append_head(&line, level, file, number);
	append_escaped(&line, text);
	if (cut)
		buf_puts(&line, "...");
	if (left_out)
		buf_printf(&line, " (after %" PRIu64 " such lines that were left out)", left_out);
	buf_putc(&line, '\n');
	write_line(line.data, line.len);
	buf_free(&line);
}

static void write_format(enum log_level level, const char *file, int number, size_t max,
			 uint64_t left_out, const char *format, va_list args)
{
	char *text;

	if (vasprintf(&text, format, args) < 0)
		return;
	write_text(level, file, number, text, max, left_out);
	free(text);
}

void log_write(enum log_level level, const char *file, int number, const char *format, ...)
{
	int saved = errno;
	va_list args;

	if (level < least_level)
		return;
	va_start(args, format);
	write_format(level, file, number, TEXT_MAX, 0, format, args);
	va_end(args);
	errno = saved;
}

void log_write_limited(enum log_level level, const char *file, int number, const char *format, ...)
{
	int saved = errno;
	uint64_t left_out;
	va_list args;

	if (level < least_level || !admitted(file, number, &left_out))
		return;
	va_start(args, format);
	write_format(level, file, number, LIMITED_TEXT_MAX, left_out, format, args);
	va_end(args);
	errno = saved;
}
