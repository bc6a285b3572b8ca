/* The open event streams of a daemon, by number: what a core calls a stream is a
 * number that is never used again, here it has an HTTP answer and a media type. */
#ifndef NET_EVENT_STREAMS_H
#define NET_EVENT_STREAMS_H

#include <stdint.h>

#include "net/http_parts.h"

struct event_stream; /* private */

struct event_streams {
	struct event_stream *table;
	uint64_t last;	    /* number given out last */
	size_t backlog_max; /* bytes that may wait for a client that does not read */
	struct buf packed;  /* an event on its way out */
	/* The client went away, or is too slow. The stream is forgotten already. */
	void (*closed)(void *context, uint64_t number);
	void *context;
};

/* A number for a stream that may be opened. */
uint64_t event_streams_number(struct event_streams *streams);
/* Answers the request with an endless stream. `extra` as in http_stream_open. */
void event_streams_open(struct event_streams *streams, struct http_request *request,
			uint64_t number, enum http_media media, const char *const *extra);
/* One event, as JSON in v1 spelling or protobuf. A number that is gone is ignored. */
void event_streams_send(struct event_streams *streams, uint64_t number, const void *message);
void event_streams_end(struct event_streams *streams, uint64_t number);
/* Forgets all, after the server was closed. */
void event_streams_free(struct event_streams *streams);

#endif
