/* A session with ZooKeeper on a libuv loop.
 *
 * Keeps one for ever: a session that ends (the servers say so, or they were not reached for its
 * time, after which they would) is told by `expired`, and another is begun. libzookeeper's threads
 * stay inside; all callbacks run on the loop. Internal to net/masters/.
 */
#ifndef NET_MASTERS_ZK_H
#define NET_MASTERS_ZK_H

#include <uv.h>

#include "base/err.h"
#include "base/memory/buf.h"
#include "base/zk/zk_url.h"

struct zk;

struct zk_handlers {
	/* Reached; `fresh`: in a new session, in which there are no watches and nothing of ours. */
	void (*connected)(void *context, bool fresh);
	/* What the session made is gone, its requests are not answered any more. */
	void (*expired)(void *context);
	/* The children of a node that was asked for are not what they were. */
	void (*changed)(void *context);
	/* For good: the credentials are refused, or no server's name could be resolved for 10
	 * minutes. Only zk_close() may follow. */
	void (*failed)(void *context, const char *why);
};

/* What became of a request. */
struct zk_result {
	int code;	    /* ZOK or another of zookeeper.h */
	const char *name;   /* the node as it was made */
	struct slice data;  /* the node's */
	char *const *names; /* of children, without the path */
	size_t count;
};

typedef void zk_answered(void *context, const struct zk_result *result);

/* `timeout_ms` is what is asked for; the servers may settle on another. */
struct zk *zk_open(uv_loop_t *loop, const struct zk_url *url, int timeout_ms,
		   const struct zk_handlers *handlers, void *context);
/* Ends the session; no more callbacks. Frees itself from the loop. */
void zk_close(struct zk *zk);
/* Ends the session and begins another; `expired` is not told. */
void zk_renew(struct zk *zk);

/* Requests, while connected. `context` is that of the handlers. An answer with a code that
 * zk_is_passing() (base/zk/zk_handle.h) may come for a request that was carried out. */
void zk_create(struct zk *zk, const char *path, struct slice data, int flags,
	       zk_answered *answered);
void zk_get(struct zk *zk, const char *path, zk_answered *answered);
/* Watches them, too. */
void zk_children(struct zk *zk, const char *path, zk_answered *answered);

/* What a code means, for people. */
const char *zk_text(int code);

#endif
