/* A cluster of one's own: `mesita local` as a child, for drivers whose master is "local". It ends
 * with its owner, also when that is killed. On the loop's thread. */
#ifndef CLIENT_LIBMESOS_LOCAL_H
#define CLIENT_LIBMESOS_LOCAL_H

#include <uv.h>

struct local_cluster;

/* Starts it; later `ready` is called once with the master's "host:port", or with NULL and why.
 * The program is $MESITA, or `mesita` beside this library, in ../bin, or in the PATH. NULL:
 * `ready` was told why already. */
struct local_cluster *local_cluster_start(uv_loop_t *loop,
					  void (*ready)(void *context, const char *master,
							const char *why),
					  void *context);
/* `ready` is not called any more; `ended` is, once the cluster is gone. */
void local_cluster_stop(struct local_cluster *cluster, void (*ended)(void *context));

#endif
