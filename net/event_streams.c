/* See event_streams.h. */
#include "net/event_streams.h"

#include <stdlib.h>

#include "base/table.h"
#include "proto/proto.h"

struct event_stream {
	uint64_t number;
	struct http_stream *http;
	enum http_media media;
	struct event_streams *owner;
	UT_hash_handle hh;
};

static struct event_stream *event_streams_find(struct event_streams *streams, uint64_t number)
{
	struct event_stream *stream;

	HASH_FIND(hh, streams->table, &number, sizeof(number), stream);
	return stream;
}

static void event_streams_forget(struct event_stream *stream)
{
	HASH_DEL(stream->owner->table, stream);
	free(stream);
}

static void event_streams_closed_cb(void *context, struct http_stream *http)
{
	struct event_stream *stream = context;
	struct event_streams *owner = stream->owner;
	uint64_t number = stream->number;

	(void)http;
	event_streams_forget(stream);
	owner->closed(owner->context, number);
}

uint64_t event_streams_number(struct event_streams *streams)
{
	return ++streams->last;
}

void event_streams_open(struct event_streams *streams, struct http_request *request,
			uint64_t number, enum http_media media, const char *const *extra)
{
	struct event_stream *stream = xcalloc(1, sizeof(*stream));

	stream->number = number;
	stream->media = media;
	stream->owner = streams;
	HASH_ADD(hh, streams->table, number, sizeof(stream->number), stream);
	stream->http = http_stream_open(request, http_media_name(media), extra,
					streams->backlog_max, event_streams_closed_cb, stream);
}

void event_streams_send(struct event_streams *streams, uint64_t number, const void *message)
{
	struct event_stream *stream = event_streams_find(streams, number);
	struct buf *body = &streams->packed;

	if (!stream)
		return;
	if (stream->media == HTTP_MEDIA_JSON)
		proto_to_json(message, SPELL_V1, body);
	else
		proto_pack(message, body);
	http_stream_record(stream->http, body->data, body->len);
	buf_recycle(body);
}

void event_streams_end(struct event_streams *streams, uint64_t number)
{
	struct event_stream *stream = event_streams_find(streams, number);

	if (!stream)
		return;
	http_stream_end(stream->http);
	event_streams_forget(stream);
}

void event_streams_free(struct event_streams *streams)
{
	struct event_stream *stream, *next;

	HASH_ITER (hh, streams->table, stream, next)
		event_streams_forget(stream);
	buf_free(&streams->packed);
}
