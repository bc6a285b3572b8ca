/* The answer of a child on its way through the loop, where the child cannot write to the client's
 * socket itself. As fast as the client takes it; the child waits meanwhile. Private to net/. */
#ifndef NET_OFFLOAD_OFFLOAD_RELAY_H
#define NET_OFFLOAD_OFFLOAD_RELAY_H

#include "net/http_parts.h"

struct offload_relay;

/* Makes a pair of sockets; `*fd` is the end for the child. NULL: there are none to be had. */
struct offload_relay *offload_relay_create(uv_loop_t *loop, int *fd);
/* The child was made: what it writes answers the request. */
void offload_relay_start(struct offload_relay *relay, struct http_request *request);
/* The child was not made. */
void offload_relay_free(struct offload_relay *relay);
/* The child has written all, or cannot. The relay ends by itself. */
void offload_relay_told(struct offload_relay *relay, bool written);

#endif
