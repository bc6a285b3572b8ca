/* What all who use libzookeeper share: the handle with its credentials, who may do what with the
 * nodes, and which failures pass. */
#ifndef BASE_ZK_ZK_HANDLE_H
#define BASE_ZK_ZK_HANDLE_H

#include <stdbool.h>
#include <zookeeper/zookeeper.h>

#include "base/zk/zk_url.h"

/* The watcher is called on a thread of the handle's own. May block while names are looked up. NULL
 * with errno set: EINVAL and ENOENT say that no server's name is known. */
zhandle_t *zk_handle_open(const struct zk_url *url, watcher_fn watcher, int timeout_ms,
			  void *context);
/* Of nodes that are made: everybody does everything, or, with credentials, reads. */
const struct ACL_vector *zk_handle_acl(const struct zk_url *url);
/* Whether the same request may go well later: a connection that was lost, and the like. It may have
 * been carried out. */
bool zk_is_passing(int code);

#endif
