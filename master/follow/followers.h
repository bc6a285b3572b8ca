/* Standby masters that follow this one, which leads: each is told all that is written behind, first
 * what there is and then what changes, and says how far it is.
 *
 * What may only happen once a batch is stored waits for those that keep up, too, and the note of
 * the registry names them. So whoever leads next, and finds itself in the note, has all that was
 * ever acted on. Who says nothing for FOLLOW_PATIENCE, or leaves, is waited for until the note
 * without it is durable. That never happens if this master does not lead any more, without knowing
 * it: then it waits for ever, and does nothing that the next one does not know.
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
	/* Has the registry's note written; its number, from 1, rising by 1; UINT64_MAX: it is not
	 * written any more. */
	uint64_t (*note)(void *context, const char *text);
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
/* All notes up to this one are durable. */
void followers_noted(struct followers *followers, uint64_t number);
/* The last batch that all have who are waited for; that which was told last if there are none; none
 * as long as it is not this master's note that is durable. */
uint64_t followers_durable(const struct followers *followers);
/* Whether the note names the copy, as following_finish() calls it: then it is complete. */
bool follow_note_names(const char *note, const char *copy);
/* Where people reach those who told; how many of them were put into `out`. */
size_t followers_addresses(const struct followers *followers, const char **out, size_t max);
/* How many the durable note names. */
size_t followers_counted(const struct followers *followers);

#endif
