/* Bodies that come and go in parts: requests that are read as they come, answers that last or
 * wait for the client. See net/http.h for the rest. */
#ifndef NET_HTTP_PARTS_H
#define NET_HTTP_PARTS_H

#include "net/http.h"

struct http_stream;

/* -- requests -- */

struct http_body_reader {
	/* Never empty; as sent, whatever Content-Encoding says. Its length has no limit. */
	void (*part)(void *context, struct slice part);
	/* The body is whole, or its client is gone. Once, and not after the answer. */
	void (*ended)(void *context, bool whole);
};
/* Of a request for which `streams` said yes; nothing of its body is taken from the client before
 * this. The request may be answered at any time: what is still to come is dropped then, and the
 * connection with it. `reader` must last. False: the client is gone, nothing will be called. */
bool http_body_read(struct http_request *request, const struct http_body_reader *reader,
		    void *context);
/* No more is taken from the client until the opposite is said; what came already may still be
 * handed over. */
void http_body_pause(struct http_request *request, bool paused);

/* -- answers -- */

/* Opens a chunked answer that lasts. `closed` is called once, when the client
 * went away, did not read for too long (more than `limit` bytes waiting), or the
 * server closes; not after http_stream_end. The stream is gone after it. */
struct http_stream *http_stream_open(struct http_request *request, const char *content_type,
				     const char *const *extra, size_t limit,
				     void (*closed)(void *context, struct http_stream *stream),
				     void *context);
/* Opens an answer of so many bytes that come in parts. `drained` is called from the loop when
 * little of what was written waits: once, and once more after each write. So who writes a part then
 * holds no more than that, however slowly the client reads; one that takes nothing for too long
 * is gone (`closed`, as above). If the stream is ended before all was written, the connection is.
 */
struct http_stream *http_body_open(struct http_request *request, const char *content_type,
				   const char *const *extra, uint64_t length,
				   void (*drained)(void *context, struct http_stream *stream),
				   void (*closed)(void *context, struct http_stream *stream),
				   void *context);
/* Likewise an answer that somebody else has composed, head and all (http_compose). It ends by
 * http_relay_end(); if not all of it came, the connection ends, too. */
struct http_stream *http_relay_open(struct http_request *request,
				    void (*drained)(void *context, struct http_stream *stream),
				    void (*closed)(void *context, struct http_stream *stream),
				    void *context);
void http_relay_end(struct http_stream *stream, bool whole);
/* Queues one chunk (copied); written when the loop turn ends. */
void http_stream_write(struct http_stream *stream, const void *data, size_t len);
/* One RecordIO record ("<length>\n<bytes>") as exactly one chunk. */
void http_stream_record(struct http_stream *stream, const void *data, size_t len);
/* The same in two steps, for a record that many streams get: appends the chunk, and queues chunks
 * as they are, which are offered to the client at once. */
void http_chunk_record(struct buf *out, const void *data, size_t len);
void http_stream_pass(struct http_stream *stream, const void *chunks, size_t len);
/* Has `drained` called once, from the loop, when little of what was written before still waits. */
void http_stream_when_drained(struct http_stream *stream,
			      void (*drained)(void *context, struct http_stream *stream));
/* Bytes that were queued and that the kernel has not taken. */
size_t http_stream_waiting(const struct http_stream *stream);
/* Ends the connection of a client that is too slow; `closed` follows from the loop. */
void http_stream_cut(struct http_stream *stream);
void http_stream_end(struct http_stream *stream); /* last chunk; the handle is dead now */

#endif
