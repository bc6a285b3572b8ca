/* Output side of a connection, see output.h. */
#include "net/output.h"

void output_init(struct output *output, uv_stream_t *stream,
		 void (*written)(struct output *output, int status))
{
	*output = (struct output){.stream = stream, .written = written};
}

void output_free(struct output *output)
{
	buf_free(&output->queued);
	buf_free(&output->writing);
}

static void on_write(uv_write_t *request, int status)
{
	struct output *output = request->data;

	output->active = false;
	buf_recycle(&output->writing);
	if (!uv_is_closing((uv_handle_t *)output->stream))
		output->written(output, status);
}

int output_flush(struct output *output)
{
	if (output->active || output->queued.len == 0)
		return 0;

	uv_buf_t bytes = {.base = output->queued.data, .len = output->queued.len};
	int sent = uv_try_write(output->stream, &bytes, 1);
	if (sent == UV_EAGAIN)
		sent = 0;
	if (sent < 0)
		return sent;
	if ((size_t)sent == output->queued.len) {
		buf_recycle(&output->queued);
		return 0;
	}

	struct buf empty = output->writing;
	output->writing = output->queued;
	output->queued = empty;
	bytes.base += sent;
	bytes.len -= (size_t)sent;
	output->request.data = output;
	int rv = uv_write(&output->request, output->stream, &bytes, 1, on_write);
	output->active = rv == 0;
	return rv;
}

size_t output_waiting(const struct output *output)
{
	size_t writing = output->active ? uv_stream_get_write_queue_size(output->stream) : 0;

	return output->queued.len + writing;
}

bool output_idle(const struct output *output)
{
	return !output->active && output->queued.len == 0;
}
