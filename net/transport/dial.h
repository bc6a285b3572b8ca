/* Opens an outbound TCP connection: numeric IPv4 addresses at once, names by the
 * resolver (IPv4 only, as libprocess has nothing else). */
#ifndef NET_DIAL_H
#define NET_DIAL_H

#include <stdbool.h>
#include <uv.h>

struct dial {
	uv_tcp_t *tcp;
	int port;
	bool resolving;
	uv_getaddrinfo_t resolve;
	uv_connect_t connect;
	void (*done)(struct dial *dial, int status);
};

/* `tcp` is initialised. If 0 is returned, `done` is called exactly once from the
 * loop, with UV_ECANCELED after dial_cancel() or when the handle was closed; until
 * then the struct must live. Else it is never called. */
int dial_start(struct dial *dial, uv_tcp_t *tcp, const char *host, int port,
	       void (*done)(struct dial *dial, int status));
/* Call it together with closing the handle. */
void dial_cancel(struct dial *dial);

#endif
