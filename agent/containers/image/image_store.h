/* Images on the agent's side: pulls what is wanted and not there, by `mesita pull`, once for all
 * who want it; removes what nobody uses. */
#ifndef AGENT_CONTAINERS_IMAGE_IMAGE_STORE_H
#define AGENT_CONTAINERS_IMAGE_IMAGE_STORE_H

#include <stdbool.h>
#include <uv.h>

#include "agent/containers/slow.h"
#include "base/memory/buf.h"

struct image_store;
struct image_want;

struct image_store_options {
	uv_loop_t *loop;
	struct slow_pool *pool;
	const char *program;   /* absolute path of the mesita binary */
	const char *directory; /* absolute */
	const char *registry;  /* URL or directory */
	const char *access;    /* docker's configuration, JSON; or NULL */
	int64_t stall_timeout; /* ns: of downloads */
	/* Images that nobody uses are removed when less than this share of the disk is free, as is
	 * looked after at this interval (ns; 0: never); but not these (NULL-ended). */
	double headroom;
	int64_t interval;
	char *const *excluded;
};

/* The options' strings must outlive it. */
struct image_store *image_store_create(const struct image_store_options *options);
/* After all wants were canceled or answered; kills what pulls, and frees itself from the loop. */
void image_store_close(struct image_store *store);
const char *image_store_directory(const struct image_store *store);
/* Whether the child of this process is one that pulls. */
bool image_store_owns(const struct image_store *store, pid_t pid);

/* `ready` is called once, later: with NULL when the image is there, else with what went wrong.
 * `cached`: one that is there need not be pulled again. `access`: of this image alone; may be
 * empty. */
struct image_want *image_store_want(struct image_store *store, const char *name, bool cached,
				    struct slice access,
				    void (*ready)(void *context, const char *failure),
				    void *context);
/* Without the call; the pull goes on, for others. */
void image_want_cancel(struct image_want *want);

/* `done` is called once, later (not after the store was closed): with NULL, or what went wrong;
 * `count`: how many were removed. `excluded`: NULL-ended, copied; NULL: those of the options. */
void image_store_prune(struct image_store *store, char *const *excluded,
		       void (*done)(void *context, int count, const char *failure), void *context);

#endif
