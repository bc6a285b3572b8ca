/* The quick way to read requests against http-parser: what comes whole may be taken quickly, the
 * same bytes one by one never are, and both must tell a handler the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/http/http_internal.h"

#define BODY_MAX 4096

static struct buf told;

/* All that a handler may read. */
static void tell(void *context, struct http_request *request)
{
	(void)context;
	buf_printf(&told, "%s %s %s %s %d %zu\n", request->method, request->target, request->path,
		   request->query, request->keep_alive, request->body.len);
	for (size_t i = 0; i < request->header_count; i++)
		buf_printf(&told, "%s=%s\n", request->headers[i].name, request->headers[i].value);
	buf_append(&told, request->body.data, request->body.len + 1);
	http_reply_text(request, 202, NULL);
}

static struct buf hear(struct http_server *server, uv_loop_t *loop, const char *data, size_t len,
		       size_t step)
{
	struct http_connection *connection = http_connection_detached(server);
	struct buf heard;

	for (size_t at = 0; at < len; at += step)
		http_connection_received(connection, data + at, len - at < step ? len - at : step);
	/* Not what was written: who sends a body in pieces is asked for it. */
	buf_printf(&told, "%d %d", connection->in_done, connection->refuse);
	heard = told;
	told = BUF_INIT;
	http_connection_close(connection);
	uv_run(loop, UV_RUN_NOWAIT);
	return heard;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http_server_options options = {
		.ip = "127.0.0.1", .body_max = BODY_MAX, .handler = tell};
	struct http_server *server;
	struct buf whole, pieces;
	uv_loop_t loop;

	if (!size)
		return 0;
	uv_loop_init(&loop);
	options.loop = &loop;
	if (http_server_create(&options, &server, NULL) != 0)
		abort();
	whole = hear(server, &loop, (const char *)data, size, size);
	pieces = hear(server, &loop, (const char *)data, size, 1);
	if (whole.len != pieces.len || memcmp(whole.data, pieces.data, whole.len)) {
		fputs("whole:\n", stderr);
		fwrite(whole.data, 1, whole.len, stderr);
		fputs("\nin pieces:\n", stderr);
		fwrite(pieces.data, 1, pieces.len, stderr);
		fputc('\n', stderr);
		abort();
	}
	buf_free(&whole);
	buf_free(&pieces);
	http_server_close(server, NULL, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	if (uv_loop_close(&loop) != 0)
		abort();
	return 0;
}
