/* Log lines in glog's shape. A line is formatted whole and handed to write(2) at once, so
 * lines of threads and processes that share the destination do not mix. A destination
 * that is full or gone loses the line, never the daemon, which does not wait for a slow one either.
 *
 * A daemon that writes many lines gathers them (log_gather) and writes those of a turn of
 * its loop together: formatting and writing one by one would cost it a tenth of its time. */
#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log_limit.h"

#define TEXT_MAX (32 * 1024)
#define LIMITED_TEXT_MAX 2000 /* of what strangers can cause */
#define GATHERED_MAX (64 * 1024)
#define KEPT_MAX (1024 * 1024) /* while nobody reads the log */
#define SHORT_TEXT 512	       /* bytes; longer ones are formatted on the heap */

/* The level may change while threads write. */
static _Atomic enum log_level least_level = LOG_LEVEL_INFO;
static int log_fd = STDERR_FILENO;
static bool gathers;
/* Threads share these. */
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static struct log_limit log_limit;
static struct buf gathered; /* whole lines, but for the first if a part of it was taken */
static uint64_t lost_lines; /* since that was said */
static enum { TO_FILE, TO_PIPE, TO_SOCKET } destination;
static time_t stamped; /* the second that `stamp` spells */
static char stamp[32];
static pthread_once_t watched = PTHREAD_ONCE_INIT;
static _Thread_local pid_t own_thread; /* 0: not asked for yet */

static void write_all(const char *data, size_t len)
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

/* As much as goes without waiting. A pipe that poll() calls writable takes PIPE_BUF bytes. */
static ssize_t write_now(const char *data, size_t len)
{
	struct pollfd ready = {.fd = log_fd, .events = POLLOUT};

	if (destination == TO_SOCKET)
		return send(log_fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (destination == TO_FILE)
		return write(log_fd, data, len);
	if (poll(&ready, 1, 0) <= 0 || !(ready.revents & (POLLOUT | POLLERR))) {
		errno = EAGAIN;
		return -1;
	}
	return write(log_fd, data, len < PIPE_BUF ? len : PIPE_BUF);
}

/* Of what is gathered; what a slow reader does not take stays. A daemon must not wait for it. */
static void write_without_waiting(void)
{
	size_t done = 0;

	while (done < gathered.len) {
		ssize_t written = write_now(gathered.data + done, gathered.len - done);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0 && errno == EAGAIN)
			break;
		if (written <= 0)
			done = gathered.len;
		else
			done += (size_t)written;
	}
	buf_consume(&gathered, done);
}

static void append_lost(void);

/* Under the lock, as lines are. */
static void write_gathered(void)
{
	if (!gathers) {
		write_all(gathered.data, gathered.len);
		buf_clear(&gathered);
		return;
	}
	write_without_waiting();
	if (lost_lines && !gathered.len) {
		append_lost();
		write_without_waiting();
	}
}

void log_setup(enum log_level level, int fd)
{
	struct stat st;

	least_level = level;
	log_fd = fd;
	destination = TO_FILE;
	if (fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode))
		destination = TO_SOCKET;
	else if (fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)))
		destination = TO_PIPE;
}

void log_flush(void)
{
	int saved = errno;

	pthread_mutex_lock(&log_lock);
	if (gathered.len)
		write_gathered();
	pthread_mutex_unlock(&log_lock);
	errno = saved;
}

static void before_fork(void)
{
	pthread_mutex_lock(&log_lock);
}

static void parent_after_fork(void)
{
	pthread_mutex_unlock(&log_lock);
}

/* What is gathered is the parent's to write; the child has no loop that would. */
static void child_after_fork(void)
{
	buf_free(&gathered);
	gathers = false;
	own_thread = 0;
	pthread_mutex_unlock(&log_lock);
}

static void watch_forks(void)
{
	pthread_atfork(before_fork, parent_after_fork, child_after_fork);
}

void log_gather(bool on)
{
	log_flush();
	gathers = on;
	if (!on)
		buf_free(&gathered);
}

static char *digits(char *at, long value, int width)
{
	for (int i = width; i-- > 0; value /= 10)
		at[i] = (char)('0' + value % 10);
	return at + width;
}

/* Its number, as " %5d ". */
static void append_thread(struct buf *line)
{
	char text[NUMBER_TEXT];
	size_t len;

	if (!own_thread) {
		pthread_once(&watched, watch_forks);
		own_thread = gettid();
	}
	len = str_number(text, (unsigned)own_thread, 10);
	buf_append(line, "     ", len < 5 ? 6 - len : 1);
	buf_append(line, text, len);
	buf_putc(line, ' ');
}

static void append_head(struct buf *line, enum log_level level, const char *file, int number)
{
	const char *slash = strrchr(file, '/');
	struct timespec now;
	struct tm tm;
	char micros[8];

	clock_gettime(CLOCK_REALTIME, &now);
	if (now.tv_sec != stamped || !stamp[0]) {
		localtime_r(&now.tv_sec, &tm);
		strftime(stamp, sizeof(stamp), "%m%d %H:%M:%S.", &tm);
		stamped = now.tv_sec;
	}
	*digits(micros, now.tv_nsec / 1000, 6) = '\0';
	buf_putc(line, "DIWE"[level]);
	buf_puts(line, stamp);
	buf_puts(line, micros);
	append_thread(line);
	buf_puts(line, slash ? slash + 1 : file);
	buf_putc(line, ':');
	buf_number(line, (unsigned)number, 10);
	buf_puts(line, "] ");
}

static void append_lost(void)
{
	append_head(&gathered, LOG_LEVEL_WARNING, __FILE__, __LINE__);
	buf_printf(&gathered, "%" PRIu64 " lines of the log were lost: nobody read them\n",
		   lost_lines);
	lost_lines = 0;
}

static void append_special(struct buf *line, unsigned char c)
{
	if (c == '\n')
		buf_puts(line, "\\n");
	else if (c == '\t')
		buf_puts(line, "\\t");
	else if (c == '\r')
		buf_puts(line, "\\r");
	else
		buf_printf(line, "\\x%02x", c);
}

static void append_escaped(struct buf *line, const char *text, size_t len)
{
	for (;;) {
		size_t plain = str_printable(text, len);

		buf_append(line, text, plain);
		if (plain == len)
			return;
		append_special(line, (unsigned char)text[plain]);
		text += plain + 1;
		len -= plain + 1;
	}
}

static bool admitted(const char *file, int number, uint64_t *left_out)
{
	struct timespec now;
	bool admit;

	clock_gettime(CLOCK_MONOTONIC, &now);
	pthread_mutex_lock(&log_lock);
	admit = log_limit_admit(&log_limit, file, number,
				now.tv_sec * INT64_C(1000000000) + now.tv_nsec, left_out);
	pthread_mutex_unlock(&log_lock);
	return admit;
}

static void write_text(enum log_level level, const char *file, int number, const char *text,
		       size_t len, size_t max, uint64_t left_out)
{
	bool cut = len > max;

	pthread_mutex_lock(&log_lock);
	if (gathered.len >= KEPT_MAX) {
		lost_lines++;
		write_gathered();
		pthread_mutex_unlock(&log_lock);
		return;
	}
	append_head(&gathered, level, file, number);
	append_escaped(&gathered, text, cut ? max : len);
	if (cut)
		buf_puts(&gathered, "...");
	if (left_out)
		buf_printf(&gathered, " (after %" PRIu64 " such lines that were left out)",
			   left_out);
	buf_putc(&gathered, '\n');
	/* What is wrong is told at once: it may be the last thing that is. */
	if (!gathers || level >= LOG_LEVEL_WARNING || gathered.len >= GATHERED_MAX)
		write_gathered();
	pthread_mutex_unlock(&log_lock);
}

static bool put_text(char *room, size_t size, size_t *used, const char *text, size_t len)
{
	if (len >= size - *used)
		return false;
	memcpy(room + *used, text, len);
	*used += len;
	return true;
}

/* Most formats have nothing but %s: those are put together in a fraction of printf's time. The
 * length, or -1: it takes printf, or more room. */
static int join_texts(char *room, size_t size, const char *format, va_list args)
{
	size_t used = 0;

	for (;;) {
		const char *percent = strchrnul(format, '%'), *text;

		if (!put_text(room, size, &used, format, (size_t)(percent - format)))
			return -1;
		if (!*percent)
			return (int)used;
		if (percent[1] != 's')
			return -1;
		text = va_arg(args, const char *);
		if (!text || !put_text(room, size, &used, text, strlen(text)))
			return -1;
		format = percent + 2;
	}
}

static void write_format(enum log_level level, const char *file, int number, size_t max,
			 uint64_t left_out, const char *format, va_list args)
{
	char room[SHORT_TEXT], *text = room;
	va_list again;
	int len;

	va_copy(again, args);
	len = join_texts(room, sizeof(room), format, again);
	va_end(again);
	if (len < 0) {
		va_copy(again, args);
		len = vsnprintf(room, sizeof(room), format, args);
		if (len >= (int)sizeof(room))
			len = vasprintf(&text, format, again);
		va_end(again);
	}
	if (len < 0)
		return;
	write_text(level, file, number, text, (size_t)len, max, left_out);
	if (text != room)
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
