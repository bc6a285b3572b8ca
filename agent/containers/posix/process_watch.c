/* Watching for the end of processes; see process_watch.h. */
#include "agent/containers/posix/process_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/containers/posix/process_tree.h"
#include "base/memory/arena.h"

struct process_watch {
	union {
		uv_handle_t any;
		uv_poll_t poll;
		uv_timer_t timer;
	} handle;
	int fd; /* -1: polled by the timer */
	pid_t pid;
	uint64_t start_ticks;
	void (*ended)(void *context);
	void *context;
};

/* A zombie has ended. */
static bool is_alive(pid_t pid, uint64_t start_ticks)
{
	struct process process;

	return process_read(pid, &process) && process.state != 'Z' &&
	       (!start_ticks || process.start_ticks == start_ticks);
}

static void process_watch_closed_cb(uv_handle_t *handle)
{
	struct process_watch *watch = handle->data;

	if (watch->fd >= 0)
		close(watch->fd);
	free(watch);
}

void process_watch_stop(struct process_watch *watch)
{
	if (watch && !uv_is_closing(&watch->handle.any))
		uv_close(&watch->handle.any, process_watch_closed_cb);
}

static void process_watch_finish(struct process_watch *watch)
{
	process_watch_stop(watch);
	watch->ended(watch->context);
}

static void process_watch_poll_cb(uv_poll_t *poll, int status, int events)
{
	process_watch_finish(poll->data);
}

static void process_watch_timer_cb(uv_timer_t *timer)
{
	struct process_watch *watch = timer->data;

	if (!is_alive(watch->pid, watch->start_ticks))
		process_watch_finish(watch);
}

struct process_watch *process_watch_start(uv_loop_t *loop, pid_t pid, uint64_t start_ticks,
					  void (*ended)(void *context), void *context)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct process_watch *watch;
	struct process process;

	if (fd < 0 && errno == ESRCH)
		return NULL;
	/* Asked after opening: the descriptor is that of the process we look at. */
	if (start_ticks && (!process_read(pid, &process) || process.start_ticks != start_ticks)) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	watch = xcalloc(1, sizeof(*watch));
	watch->fd = fd;
	watch->pid = pid;
	watch->start_ticks = start_ticks;
	watch->ended = ended;
	watch->context = context;
	if (fd >= 0) {
		uv_poll_init(loop, &watch->handle.poll, fd);
		uv_poll_start(&watch->handle.poll, UV_READABLE, process_watch_poll_cb);
	} else {
		uv_timer_init(loop, &watch->handle.timer);
		uv_timer_start(&watch->handle.timer, process_watch_timer_cb, PROCESS_POLL_MS,
			       PROCESS_POLL_MS);
	}
	watch->handle.any.data = watch;
	return watch;
}
