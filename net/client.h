/* HTTP/1.1 client on libuv: one connection, requests in order, answers whole or
 * as a stream. Used by schedulers, executors and tools. */
#ifndef NET_CLIENT_H
#define NET_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"
#include "base/memory/buf.h"

struct http_client;
struct tls;

struct http_answer {
	int status;		  /* 0: the connection failed; `error` says why */
	const char *error;	  /* NULL unless status is 0 */
	const char *content_type; /* "" if none */
	const char *stream_id;	  /* Mesos-Stream-Id, "" if none */
	const char *location;	  /* "" if none */
	const char *disposition;  /* Content-Disposition, "" if none */
	struct slice body;	  /* empty for a stream */
};

/* From now on every client of this process connects with TLS (NULL: without), as libprocess has it
 * for a whole process. Not owned. For main(), before it makes clients. */
void http_clients_secure(struct tls *tls);
/* Connects lazily to host (an IPv4 or IPv6 address, or a name) and port. */
struct http_client *http_client_create(uv_loop_t *loop, const char *host, int port);
/* From now on answers (not streams) are read to their end, but come without a body. */
void http_client_drop_bodies(struct http_client *client);
/* From now on up to `depth` requests (1 at first) are on their way at a time; answers come in
 * the order of the requests. A connection that breaks fails all that are on their way. */
void http_client_pipeline(struct http_client *client, int depth);
/* Requests without an answer yet, streams among them. */
size_t http_client_waiting(const struct http_client *client);
/* Bytes of bodies that came so far, dropped or not. */
uint64_t http_client_received(const struct http_client *client);
/* Drops what is in flight (no more callbacks) and frees itself from the loop. */
void http_client_close(struct http_client *client);

/* Sends a request when those before it were answered (see http_client_pipeline()).
 * `headers`: pairs of name and value ended by NULL, or NULL. The answer is valid inside the
 * callback. `timeout_ms` 0 = none. */
void http_client_send(struct http_client *client, const char *method, const char *path,
		      const char *const *headers, const void *body, size_t len, int timeout_ms,
		      void (*answered)(void *context, const struct http_answer *answer),
		      void *context);

/* A POST whose body comes in pieces, on a client of its own: what is given to http_client_put()
 * follows, until a piece of length 0 ends it. An answer may come before that; what is put then goes
 * nowhere. `drained` is called when all that was put is out of our hands. */
void http_client_upload(struct http_client *client, const char *path, const char *const *headers,
			void (*answered)(void *context, const struct http_answer *answer),
			void (*drained)(void *context), void *context);
void http_client_put(struct http_client *client, const void *data, size_t len);
/* Bytes that were put and are still in our hands. */
size_t http_client_unsent(const struct http_client *client);

/* A GET whose answer is passed on as its body comes. `head` is called first, with an answer that
 * has no body yet, and its length, or -1 if that is not told; status 0, as above, is all that
 * follows then. After it `part` for each part of the body, and `ended` once: whether the body was
 * whole. The head must come within `timeout_ms` (0 = no limit). For a client of its own. */
struct http_relay_handlers {
	void (*head)(void *context, const struct http_answer *answer, int64_t length);
	void (*part)(void *context, struct slice part);
	void (*ended)(void *context, bool whole);
};
void http_client_relay(struct http_client *client, const char *path, const char *const *headers,
		       int timeout_ms, const struct http_relay_handlers *handlers, void *context);
/* No more is read from the connection, until the opposite is said. */
void http_client_pause(struct http_client *client, bool paused);

/* A request whose 200 answer is an endless RecordIO stream, whose head must come within
 * `timeout_ms` (0 = no limit). `opened` is called with the head (and the whole body if the status
 * is not 200); then `record` for each record; `ended` once when the stream is over for whatever
 * reason (also after a refusal or failed connection, after `opened`). */
struct http_stream_handlers {
	void (*opened)(void *context, const struct http_answer *answer);
	void (*record)(void *context, struct slice record);
	void (*ended)(void *context, const char *why);
};
void http_client_stream(struct http_client *client, const char *path, const char *const *headers,
			const void *body, size_t len, int timeout_ms,
			const struct http_stream_handlers *handlers, void *context);

#endif
