/* HTTP server: bytes of a client, in pieces, into a connection without a socket. The
 * handler reads all that a handler may read, then answers at once, later, or with a
 * stream, as the path says. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/http/http_internal.h"
#include "net/libprocess.h"

#define BODY_MAX 4096

static struct http_request *kept;
static struct http_stream *stream;

static void on_closed(void *context, struct http_stream *closed)
{
	if (closed == stream)
		stream = NULL;
}

static void touch_all(struct http_request *request)
{
	struct libprocess_message message;
	volatile size_t sum = strlen(request->path) + strlen(request->query) +
			      strlen(request->target) + strlen(http_peer(request));

	for (size_t i = 0; i < request->header_count; i++)
		sum += strlen(request->headers[i].name) + strlen(request->headers[i].value);
	if (request->body.len > BODY_MAX || request->body.data[request->body.len] != '\0' ||
	    request->path[0] != '/' || strstr(request->path, "/.."))
		abort();
	http_query(request, "a");
	http_form(request, "a");
	http_accept(request);
	http_content_type(request);
	if (libprocess_is_message(request) && libprocess_parse(request, &message))
		sum += strlen(message.from) + strlen(message.to) + strlen(message.name);
}

/* Bodies in parts: of paths with a "u", answered at an odd part, or at their end. */
static struct http_request *uploaded;
static size_t taken;

static void end_upload(int status)
{
	struct http_request *request = uploaded;

	uploaded = NULL;
	http_reply_text(request, status, NULL);
}

static void on_part(void *context, struct slice part)
{
	if (!uploaded || !part.len)
		abort();
	taken += part.len;
	http_body_pause(uploaded, taken % 5 == 0);
	if (part.data[0] == '!')
		end_upload(409);
}

static void on_ended(void *context, bool whole)
{
	if (!uploaded)
		abort();
	end_upload(whole ? 200 : 400);
}

static const struct http_body_reader reader = {on_part, on_ended};

static bool streams(void *context, struct http_request *request)
{
	return !uploaded && strchr(request->path, 'u');
}

static void on_request(void *context, struct http_request *request)
{
	touch_all(request);
	if (((struct exchange *)request->answer)->streams) {
		uploaded = request;
		http_body_read(request, &reader, NULL);
	} else if (str_has_prefix(request->path, "/l") && !kept) {
		kept = request;
	} else if (str_has_prefix(request->path, "/s") && !stream) {
		stream = http_stream_open(request, "a/b", NULL, 0, on_closed, NULL);
		http_stream_record(stream, "x", 1);
	} else if (str_has_prefix(request->path, "/m")) {
		http_reply_not_allowed(request, "GET, POST");
	} else {
		http_reply(request, 200, "a/b", request->target, strlen(request->target), NULL);
	}
}

static void answer_kept(struct http_connection *connection)
{
	struct http_request *request = kept;

	if (!request)
		return;
	kept = NULL;
	http_reply_text(request, 200, NULL);
	http_connection_received(connection, "", 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http_server_options options = {
		.ip = "127.0.0.1", .body_max = BODY_MAX, .handler = on_request};

	/* An even first byte: as servers are that want no body in parts. */
	if (size && data[0] % 2)
		options.streams = streams;
	struct http_server *server;
	uv_loop_t loop;

	if (size < 2)
		return 0;
	uv_loop_init(&loop);
	options.loop = &loop;
	if (http_server_create(&options, &server, NULL) != 0)
		abort();
	struct http_connection *connection = http_connection_detached(server);
	size_t step = data[0] + 1;
	for (size_t at = 1; at < size; at += step) {
		size_t len = size - at < step ? size - at : step;
		http_connection_received(connection, (const char *)data + at, len);
		if (at % 3 == 0)
			answer_kept(connection);
		if (uploaded && at % 4 == 0)
			http_body_pause(uploaded, false);
		if (stream && at % 7 == 0) {
			http_stream_end(stream);
			stream = NULL;
		}
	}
	answer_kept(connection);
	http_server_close(server, NULL, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	if (kept)
		http_reply_text(kept, 200, NULL);
	kept = NULL;
	uv_run(&loop, UV_RUN_DEFAULT);
	if (uv_loop_close(&loop) != 0 || stream || uploaded)
		abort();
	return 0;
}
