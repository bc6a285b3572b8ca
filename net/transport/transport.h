/* A connection that carries bytes: below the HTTP server, the client and the messenger. TCP, or
 * TLS on it; nobody above touches a socket.
 *
 * Bytes to send are gathered in `out` during a turn of the loop and leave with one
 * transport_flush(); what the kernel does not take goes on in the background.
 */
#ifndef NET_TRANSPORT_H
#define NET_TRANSPORT_H

#include <stdbool.h>
#include <uv.h>

#include "base/memory/buf.h"
#include "net/tls/tls.h"
#include "net/transport/dial.h"

struct secure;

/* All of them get the transport's context, from the loop, until transport_close(); `closed`
 * comes after it. */
struct transport_handlers {
	void (*dialed)(void *context, int status); /* 0, or why there is no connection */
	void (*received)(void *context, const char *data, size_t len);
	void (*ended)(void *context, int status);   /* UV_EOF, or what broke it */
	void (*written)(void *context, int status); /* in the background; there may be more to do */
	void (*closed)(void *context);		    /* the memory may go */
};

struct transport {
	struct buf out; /* to be sent by transport_flush() */

	/* private */
	const struct transport_handlers *handlers;
	void *context;
	char *buffer;
	size_t buffer_size;
	uv_tcp_t tcp;
	struct dial dial;
	uv_shutdown_t shutdown;
	struct buf writing; /* in the hands of libuv while `active` */
	uv_write_t request;
	bool active, dialing, reading, closing, handle_closed;
	bool exclusive;	       /* no other process may write to the socket */
	struct secure *secure; /* TLS; NULL: plain */
};

/* What comes is received into the buffer, which may be shared by many. */
void transport_init(struct transport *t, uv_loop_t *loop, const struct transport_handlers *handlers,
		    void *context, char *buffer, size_t buffer_size);
/* Before it is dialed or accepted: with TLS, if `tls` is not NULL. `dialed` is then called when
 * the other end has proved what it must; what does not is logged here, and is UV_EPROTO. */
void transport_secure(struct transport *t, struct tls *tls);
/* 0 or a libuv error, as below. `dialed` follows if it is 0. */
int transport_dial(struct transport *t, const char *host, int port);
int transport_accept(struct transport *t, uv_stream_t *listener);
int transport_read(struct transport *t);
void transport_pause(struct transport *t); /* no more reading */
/* Sends `out` unless a write is under way. */
int transport_flush(struct transport *t);
/* Bytes not yet taken by the kernel, and those of them that were flushed. */
size_t transport_waiting(const struct transport *t);
size_t transport_underway(const struct transport *t);
bool transport_idle(const struct transport *t); /* nothing waits */
/* Nothing more is sent; the other end hears that. */
int transport_finish(struct transport *t);
void transport_close(struct transport *t);
/* The same, and what the other end did not get until now it never gets. */
void transport_abort(struct transport *t);

/* Whether the other end has broken the connection off, also before that is read from it. */
bool transport_is_reset(const struct transport *t);

#define TRANSPORT_ADDRESS_MAX 64 /* "[ipv6%scope]:port" */
/* "ip:port" of either end. */
void transport_address(const struct transport *t, bool peer, char out[TRANSPORT_ADDRESS_MAX]);
/* The socket, for another process to write to; -1: that cannot be. */
int transport_socket(const struct transport *t);

#endif
