#include "net/offload/offload_relay.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory/arena.h"

#define PART (64 * 1024)

struct offload_relay {
	uv_pipe_t pipe;
	struct http_stream *stream; /* NULL: the client is gone, or has all */
	bool told, written;	    /* by the child: whether there will be all */
	bool ended;		    /* there is no more of it */
	char part[PART];
};

struct offload_relay *offload_relay_create(uv_loop_t *loop, int *fd)
{
	struct offload_relay *relay;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
		return NULL;
	relay = xcalloc(1, sizeof(*relay));
	uv_pipe_init(loop, &relay->pipe, 0);
	relay->pipe.data = relay;
	uv_pipe_open(&relay->pipe, ends[0]);
	*fd = ends[1];
	return relay;
}

static void relay_closed_cb(uv_handle_t *handle)
{
	free(handle->data);
}

/* Once nothing comes any more, and it is known whether that was all. */
static void end_if_over(struct offload_relay *relay)
{
	if (relay->stream && (!relay->ended || !relay->told))
		return;
	if (relay->stream)
		http_relay_end(relay->stream, relay->written);
	relay->stream = NULL;
	/* The child may still tell; then it finds that nobody listens. */
	if (relay->told && !uv_is_closing((uv_handle_t *)&relay->pipe))
		uv_close((uv_handle_t *)&relay->pipe, relay_closed_cb);
}

static void relay_alloc_cb(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
	struct offload_relay *relay = handle->data;

	*out = uv_buf_init(relay->part, PART);
}

static void relay_read_cb(uv_stream_t *pipe, ssize_t count, const uv_buf_t *bytes)
{
	struct offload_relay *relay = pipe->data;

	if (count == 0)
		return;
	uv_read_stop(pipe);
	if (count > 0) {
		http_stream_write(relay->stream, bytes->base, (size_t)count);
		return;
	}
	relay->ended = true;
	end_if_over(relay);
}

static void relay_drained(void *context, struct http_stream *stream)
{
	struct offload_relay *relay = context;

	(void)stream;
	uv_read_start((uv_stream_t *)&relay->pipe, relay_alloc_cb, relay_read_cb);
}

static void relay_client_gone(void *context, struct http_stream *stream)
{
	struct offload_relay *relay = context;
	uv_os_fd_t fd;

	(void)stream;
	relay->stream = NULL;
	uv_read_stop((uv_stream_t *)&relay->pipe);
	/* The child finds that it cannot write. */
	if (uv_fileno((uv_handle_t *)&relay->pipe, &fd) == 0)
		shutdown(fd, SHUT_RDWR);
	end_if_over(relay);
}

void offload_relay_start(struct offload_relay *relay, struct http_request *request)
{
	relay->stream = http_relay_open(request, relay_drained, relay_client_gone, relay);
}

void offload_relay_free(struct offload_relay *relay)
{
	uv_close((uv_handle_t *)&relay->pipe, relay_closed_cb);
}

void offload_relay_told(struct offload_relay *relay, bool written)
{
	relay->told = true;
	relay->written = written;
	end_if_over(relay);
}
