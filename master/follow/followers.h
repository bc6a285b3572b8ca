/* Standby masters that follow this one, which leads: each is told all that is written behind, first
 * what there is and then what changes, and says how far it is.
 *
 * One that keeps up is counted: what may only happen once a batch is stored waits for it, too. Who
 * says nothing for FOLLOW_PATIENCE is counted no more, until it has caught up, and is told so. From
 * that a follower knows when its copy is all that the leader ever acted on: while it was counted no
 * longer ago than FOLLOW_LEASE, by its own clock, which comes back to it with each heartbeat. The
 * lease is the shorter one: the leader goes on without a follower only after that knows it.
 *
 * Who may: masters of the same --zk. They prove it by the credentials that are in it; without such,
 * anybody may write the registry itself. */
#ifndef MASTER_FOLLOW_FOLLOWERS_H
#define MASTER_FOLLOW_FOLLOWERS_H

#include <stdint.h>
#include <uv.h>

#include "auth/digest.h"
#include "base/random.h"
#include "base/time/clock.h"
#include "master/follow/warm_table.h"
#include "net/http_parts.h"

#define FOLLOW_BEAT (SECOND / 4) /* of the leader's heartbeats, and of words of followers */
#define FOLLOW_LEASE (3 * SECOND / 2)
#define FOLLOW_PATIENCE (2 * SECOND)
#define FOLLOWERS_MAX 16 /* at a time; groups of masters have three or five */
#define FOLLOW_PROOF "X-Mesita-Follow"
#define FOLLOW_ADDRESS "X-Mesita-Master" /* "host:port" at which people reach the follower */

/* What a follower shows in the header FOLLOW_PROOF; `leader`: "host:port" of whom it follows. */
void follow_proof(const char *credentials, const char *leader, char proof[DIGEST_TEXT]);

struct followers;

struct followers_options {
	uv_loop_t *loop;
	struct rng *rng;
	struct warm_table *table; /* the owner's */
	const char *holder;	  /* of the registry; copied */
	/* Something became durable, or nobody is waited for any more. */
	void (*progress)(void *context);
	void *context;
};

struct followers *followers_create(const struct followers_options *options);
/* Once the server's streams are closed. */
void followers_close(struct followers *followers);
/* A request of one that is to be told. */
void followers_add(struct followers *followers, struct http_request *request);
/* A word of one. */
void followers_hear(struct followers *followers, struct http_request *request);
/* The table was changed so. */
void followers_tell(struct followers *followers, const struct store_op *ops, size_t count,
		    uint64_t number);
/* The last batch that all have who are counted; that which was told last if there are none. */
uint64_t followers_durable(const struct followers *followers);
/* Where people reach those who told; how many of them were put into `out`. */
size_t followers_addresses(const struct followers *followers, const char **out, size_t max);
/* How many are counted. */
size_t followers_counted(const struct followers *followers);

#endif
