/* A line is formatted whole and handed to write(2) at once, so
 * lines of threads and processes that share the destination do not mix. A destination
 * that is full or gone loses the line, never the daemon, which does not wait for a slow one either.
 *
 * A daemon that writes many lines gathers them (log_gather) and writes those of a turn of
 * its loop together: formatting and writing one by one would cost it a tenth of its time. */
#include "base/log/log.h"

#include <errno.h>
#include <fcntl.h>
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

#include "base/log/log_limit.h"
#include "base/log/log_line.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"

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
static bool as_json;
static char *log_path; /* that log_open() opened; NULL: none */
static pthread_once_t watched = PTHREAD_ONCE_INIT;

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

static void find_destination(void)
{
	struct stat st;

	destination = TO_FILE;
	if (fstat(log_fd, &st) == 0 && S_ISSOCK(st.st_mode))
		destination = TO_SOCKET;
	else if (fstat(log_fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)))
		destination = TO_PIPE;
}

void log_setup(enum log_level level, int fd)
{
	least_level = level;
	log_fd = fd;
	find_destination();
}

void log_set_level(enum log_level level)
{
	least_level = level;
}

void log_set_json(bool json)
{
	as_json = json;
}

static int open_file(const char *path, struct err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

	return fd >= 0 ? fd
		       : err_set(err, ERR_IO, "cannot open the log %s: %s", path, strerror(errno));
}

int log_open(const char *path, struct err *err)
{
	int fd = open_file(path, err);

	if (fd < 0)
		return fd;
	free(log_path);
	log_path = xstrdup(path);
	log_fd = fd;
	find_destination();
	return 0;
}

int log_reopen(struct err *err)
{
	int fd;

	if (!log_path)
		return 0;
	fd = open_file(log_path, err);
	if (fd < 0)
		return fd;
	pthread_mutex_lock(&log_lock);
	if (gathered.len)
		write_gathered();
	/* In one step: a thread never sees it closed. */
	dup3(fd, log_fd, O_CLOEXEC);
	pthread_mutex_unlock(&log_lock);
	close(fd);
	return 0;
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
	log_line_forked();
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

static void append_lost(void)
{
	char text[80];
	int len = snprintf(text, sizeof(text),
			   "%" PRIu64 " lines of the log were lost: nobody read them", lost_lines);
	struct log_line line = {.level = LOG_LEVEL_WARNING,
				.file = __FILE__,
				.number = __LINE__,
				.text = {text, (size_t)len}};

	log_line_append(&gathered, &line, as_json);
	lost_lines = 0;
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

static void write_line(struct log_line *line, size_t max)
{
	line->cut = line->text.len > max;
	if (line->cut)
		line->text.len = max;
	pthread_once(&watched, watch_forks);
	pthread_mutex_lock(&log_lock);
	if (gathered.len >= KEPT_MAX) {
		lost_lines++;
		write_gathered();
		pthread_mutex_unlock(&log_lock);
		return;
	}
	log_line_append(&gathered, line, as_json);
	/* What is wrong is told at once: it may be the last thing that is. */
	if (!gathers || line->level >= LOG_LEVEL_WARNING || gathered.len >= GATHERED_MAX)
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
	write_line(&(struct log_line){.level = level,
				      .file = file,
				      .number = number,
				      .text = {text, (size_t)len},
				      .left_out = left_out},
		   max);
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

void log_write_fields(enum log_level level, const char *file, int number, const char *text,
		      const struct log_field *fields, size_t count)
{
	int saved = errno;
	struct log_line line = {.level = level,
				.file = file,
				.number = number,
				.text = slice_of(text),
				.fields = fields,
				.field_count = count};

	if (level < least_level)
		return;
	write_line(&line, TEXT_MAX);
	errno = saved;
}
