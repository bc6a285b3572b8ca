/* libprocess messages: one-way HTTP POSTs between actors "id@ip:port".
 *
 * Inbound: a daemon's HTTP handler asks libprocess_is_message() first and, if so,
 * libprocess_parse(); it answers 202 when the receiver exists, else 404.
 * Outbound: a `struct messenger` keeps one connection per ip:port, queues while
 * it connects, keeps order, and reports `exited` for linked peers when their
 * connection breaks (never inside a send). Queues are bounded; peers that stop
 * reading are dropped like broken ones.
 */
#ifndef NET_LIBPROCESS_H
#define NET_LIBPROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"
#include "net/http.h"

#define PID_MAX 320 /* longest text of a pid, with NUL */

/* Splits "id@ip:port" (a host name is resolved only by the messenger). False if
 * it is no pid. Any out pointer may be NULL; buffers are PID_MAX bytes. */
bool pid_parse(const char *pid, char *id, char *host, int *port);

struct libprocess_message {
	const char *from; /* sender's pid; "@0.0.0.0:0" if it cannot be parsed */
	const char *to;	  /* receiver's id, percent-decoded */
	const char *name; /* "mesos.internal.PingSlaveMessage" */
	struct slice body;
};

bool libprocess_is_message(const struct http_request *request);
/* Fields point into the request. False: malformed (answer 400). */
bool libprocess_parse(struct http_request *request, struct libprocess_message *out);

struct messenger;
struct tls;

/* `tls` is not owned; NULL: connections are plain. */
struct messenger *messenger_create(uv_loop_t *loop, struct tls *tls,
				   void (*exited)(void *context, const char *pid), void *context);
void messenger_close(struct messenger *messenger); /* frees itself from the loop */

/* Sends one message. `from` and `to` are whole pids. Bytes are copied. */
void messenger_send(struct messenger *messenger, const char *from, const char *to, const char *name,
		    const void *body, size_t len);
/* Opens (or keeps) a persistent connection to the pid's address and reports
 * `exited(pid)` when it breaks. Linking twice is one link. */
void messenger_link(struct messenger *messenger, const char *pid);
/* Forgets the link, without report. */
void messenger_unlink(struct messenger *messenger, const char *pid);
/* Other times than MESSENGER_TICK_MS, _CONNECT_TIMEOUT_MS and _IDLE_MS, for tests. */
void messenger_limit_times(struct messenger *messenger, uint64_t tick_ms, uint64_t connect_ms,
			   uint64_t idle_ms);

#endif
