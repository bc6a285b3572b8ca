/* Files that several containers fetch: downloaded once, kept until others need the room.
 *
 * A container claims all of its URIs with `cache` at once. What nobody has claimed yet it downloads
 * itself; what another container is downloading it waits for: always for one that claimed earlier,
 * so no two wait for each other. Whatever goes wrong, a URI is fetched without the cache.
 *
 *	DIRECTORY/<user>/c<serial>-<name>
 *
 * Each user has files of its own, as the fetcher runs as the user. */
#ifndef AGENT_CONTAINERS_FETCH_FETCH_CACHE_H
#define AGENT_CONTAINERS_FETCH_FETCH_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/containers/user.h"
#include "base/memory/buf.h"
#include "proto/proto.h"

struct slow_pool;
struct fetch_cache;
struct fetch_claim;

/* What an earlier agent left in the directory is removed, on a thread; nothing is kept in one that
 * is not ours. `size`: bytes of all files. */
struct fetch_cache *fetch_cache_create(struct slow_pool *pool, const char *directory,
				       uint64_t size);
/* After all claims were released. What is kept stays, for the next agent to remove. */
void fetch_cache_close(struct fetch_cache *cache);
void fetch_cache_sizes(const struct fetch_cache *cache, uint64_t *total, uint64_t *used);

bool fetch_cache_wanted(const Mesos__CommandInfo *command);
/* Makes the user's directory, if anything is kept; on a thread. `user` NULL: we are it. */
int fetch_cache_prepare(const struct fetch_cache *cache, const char *user_name,
			const struct user *user, struct err *err);

/* `ready` is called once, later, if the claim has to wait: see fetch_claim_waits(). NULL: nothing
 * is kept. */
struct fetch_claim *fetch_cache_claim(struct fetch_cache *cache, const char *user_name,
				      const Mesos__CommandInfo *command,
				      void (*ready)(void *context), void *context);
bool fetch_claim_waits(const struct fetch_claim *claim);
/* For `mesita fetch`: the directory, bytes that a file may have, and "NUMBER:get:NAME" or
 * "NUMBER:fill:NAME" of each, with commas between. Valid while it is claimed. */
const char *fetch_claim_directory(const struct fetch_claim *claim);
uint64_t fetch_claim_space(const struct fetch_claim *claim);
void fetch_claim_list(const struct fetch_claim *claim, struct buf *out);
/* The fetcher has ended, or is not needed any more. NULL is nothing. */
void fetch_claim_release(struct fetch_claim *claim);

#endif
