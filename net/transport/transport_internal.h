/* What transport.c and its TLS know of each other. */
#ifndef NET_TRANSPORT_TRANSPORT_INTERNAL_H
#define NET_TRANSPORT_TRANSPORT_INTERNAL_H

#include "net/transport/transport.h"

/* TLS of one transport. */
struct secure {
	struct tls *tls;
	struct tls_session *session; /* from the first byte on */
	struct buf sealed;	     /* to be sent as it is */
	char *host;		     /* of the one who dials; NULL: who accepts */
	int port;
	bool open;		/* both ends know each other; `dialed` was called */
	bool wanted;		/* transport_read() was called and not taken back */
	bool ended;		/* nothing more is read */
	bool redialing;		/* the handle closes, to be dialed again without TLS */
	uv_getnameinfo_t *name; /* while DNS is asked */
};

/* -- of transport.c -- */

int transport_read_socket(struct transport *t);
/* Sends what of these bytes the kernel takes; the rest goes on in the background. */
int transport_send(struct transport *t, struct buf *bytes);
void transport_free_if_closed(struct transport *t);
int transport_dial_socket(struct transport *t, const char *host, int port);

/* -- of transport_tls.c -- */

/* The connection stands: the handshake begins. */
void secure_connected(struct transport *t);
/* Bytes, or libuv's word that there are no more. */
void secure_received(struct transport *t, const char *data, ssize_t len);
/* Seals and sends `out`. */
int secure_flush(struct transport *t);
void secure_finish(struct transport *t);
/* True: it ends later, with transport_free_if_closed(). */
bool secure_busy(const struct transport *t);
void secure_cancel(struct transport *t);
void secure_free(struct transport *t);

#endif
