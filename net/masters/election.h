/* Which of several masters leads, by the rules of Mesos' libraries: each is an ephemeral node of a
 * group in ZooKeeper, the one with the lowest number leads.
 *
 * Whoever looks for the leader creates one of these, a master that wants to lead says who it is.
 * A session that ends is followed by another for ever; what makes no sense (credentials that are
 * refused, a member that cannot be read) ends the election: `failed`.
 */
#ifndef NET_MASTERS_ELECTION_H
#define NET_MASTERS_ELECTION_H

#include <stdbool.h>
#include <uv.h>

#include "base/zk/zk_url.h"
#include "proto/proto.h"

#define ELECTION_SESSION_TIMEOUT_MS 10000 /* what drivers of Mesos ask for */

struct election;

struct election_handlers {
	/* Another one leads, or nobody does (NULL) or is known to. The pid is there; `ours`: it is
	 * the candidate. Valid inside the call. */
	void (*leader)(void *context, const Mesos__MasterInfo *leader, bool ours);
	/* The candidate is none any more; it is put up again when that is possible. May be NULL. */
	void (*lost)(void *context);
	/* For good: only election_close() may follow. */
	void (*failed)(void *context, const char *why);
};

/* `candidate` is NULL for those who only look. Both are copied. */
struct election *election_open(uv_loop_t *loop, const struct zk_url *url, int timeout_ms,
			       const Mesos__MasterInfo *candidate,
			       const struct election_handlers *handlers, void *context);
/* A candidate leaves at once, so that another one may lead. No more callbacks; frees itself from
 * the loop. */
void election_close(struct election *election);

#endif
