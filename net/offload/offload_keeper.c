#include "net/offload/offload_keeper.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory/arena.h"

/* The loop reads so much at a time. */
#define PART (64 * 1024)

struct offload_keeper {
	uv_pipe_t pipe;
	struct offload_text *text;
	struct buf bytes;
	bool written; /* all, says the child */
	bool ended;   /* all is here */
};

struct offload_keeper *offload_keeper_create(uv_loop_t *loop, struct offload_text *text, int *fd)
{
	struct offload_keeper *keeper;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
		return NULL;
	keeper = xcalloc(1, sizeof(*keeper));
	keeper->text = text;
	uv_pipe_init(loop, &keeper->pipe, 0);
	keeper->pipe.data = keeper;
	uv_pipe_open(&keeper->pipe, ends[0]);
	*fd = ends[1];
	return keeper;
}

static void keeper_closed_cb(uv_handle_t *handle)
{
	struct offload_keeper *keeper = handle->data;

	buf_free(&keeper->bytes);
	free(keeper);
}

void offload_keeper_free(struct offload_keeper *keeper)
{
	uv_close((uv_handle_t *)&keeper->pipe, keeper_closed_cb);
}

static void tell_if_over(struct offload_keeper *keeper)
{
	if (!keeper->ended || !keeper->written)
		return;
	keeper->text->done(keeper->text, &keeper->bytes);
	offload_keeper_free(keeper);
}

static void keeper_alloc_cb(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
	struct offload_keeper *keeper = handle->data;

	(void)suggested;
	buf_reserve(&keeper->bytes, PART);
	*out = uv_buf_init(keeper->bytes.data + keeper->bytes.len, PART);
}

static void keeper_read_cb(uv_stream_t *pipe, ssize_t count, const uv_buf_t *bytes)
{
	struct offload_keeper *keeper = pipe->data;

	(void)bytes;
	if (count > 0) {
		keeper->bytes.len += (size_t)count;
	} else if (count < 0) {
		uv_read_stop(pipe);
		keeper->ended = true;
		tell_if_over(keeper);
	}
}

void offload_keeper_start(struct offload_keeper *keeper)
{
	uv_read_start((uv_stream_t *)&keeper->pipe, keeper_alloc_cb, keeper_read_cb);
}

void offload_keeper_written(struct offload_keeper *keeper)
{
	keeper->written = true;
	tell_if_over(keeper);
}

void offload_keeper_give_up(struct offload_keeper *keeper)
{
	keeper->text->done(keeper->text, NULL);
	offload_keeper_free(keeper);
}
