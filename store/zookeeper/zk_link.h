/* A blocking link to ZooKeeper for the threads of a store: sessions come and go below it.
 * Internal to store/zookeeper/. */
#ifndef STORE_ZOOKEEPER_ZK_LINK_H
#define STORE_ZOOKEEPER_ZK_LINK_H

#ifndef THREADED
#define THREADED /* zookeeper.h: functions that wait */
#endif
#include <stdatomic.h>
#include <stdint.h>

#include "base/err.h"
#include "base/memory/buf.h"
#include "base/zk/zk_handle.h"

struct zk_link;

/* `given_up`, if it is there, is looked at while servers are waited for: true ends that. */
struct zk_link *zk_link_open(const struct zk_url *url, int timeout_ms, const atomic_bool *given_up);
void zk_link_close(struct zk_link *link);

/* Waits until the servers are reached, in a new session if the last one ended. NULL at the deadline
 * (clock_steady()), or if it was given up, with ERR_IO in `err`. The handle is good until the next
 * call. */
zhandle_t *zk_link_reach(struct zk_link *link, int64_t deadline, struct err *err);

/* Who reads many nodes does not wait for one after the other: this many are asked for at once. */
#define ZK_LINK_ASKED 512

/* Called on a thread of the handle's, one at a time; `index` is that of the path. */
typedef void zk_link_listed(void *context, size_t index, const struct String_vector *names);
typedef void zk_link_got(void *context, size_t index, struct slice data);

/* Reads the children, or the data, of all paths; the first failure ends it: the code. */
int zk_link_list(zhandle_t *handle, char *const *paths, size_t count, zk_link_listed *each,
		 void *context);
int zk_link_get(zhandle_t *handle, char *const *paths, size_t count, zk_link_got *each,
		void *context);
/* What is read from here on holds all that was written anywhere before. A code. */
int zk_link_sync(zhandle_t *handle, const char *path);

#endif
