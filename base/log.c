/* Log lines in glog's shape. A line is formatted whole and handed to write(2) at once, so
 * lines of threads and processes that share the destination do not mix. A destination
 * that is full or gone loses the line, never the daemon. */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"

/* Set by main before it starts threads. */
static enum log_level least_level = LOG_LEVEL_INFO;
static int log_fd = STDERR_FILENO;

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

void log_write(enum log_level level, const char *file, int number, const char *format, ...)
{
	struct buf line = BUF_INIT;
	int saved = errno;
	va_list args;
	char *text;

	if (level < least_level)
		return;
	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	append_head(&line, level, file, number);
	append_escaped(&line, text ? text : format);
	buf_putc(&line, '\n');
	write_line(line.data, line.len);
	buf_free(&line);
	free(text);
	errno = saved;
}
