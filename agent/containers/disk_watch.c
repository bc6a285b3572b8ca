/* Walking through sandboxes; see disk_watch.h.
 *
 * Persistent volumes are links in a sandbox, which are not followed: they do not count for it. What
 * disappears during a walk is not counted. */
#include "agent/containers/disk_watch.h"

#include <fts.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log/log.h"
#include "base/memory/arena.h"
#include "base/table.h"
#include "base/time/clock.h"
#include "base/time/duration.h"

#define BLOCK 512 /* unit of st_blocks */

struct watched {
	UT_hash_handle hh;    /* in known, by container */
	struct watched *next; /* in round */
	char *container, *sandbox;
	uint64_t disk, used; /* bytes */
};

struct disk_watch {
	struct disk_watch_options options;
	struct watched *known; /* as of the last look */
	struct watched *round; /* a thread's, while it looks */
	bool looking;
	atomic_bool closing;
	bool closed; /* the timer is */
	struct slow_job slow;
	struct slow_lane lane;
	uv_timer_t timer;
};

static void watched_free(struct watched *watched)
{
	free(watched->container);
	free(watched->sandbox);
	free(watched);
}

static void forget_known(struct disk_watch *watch)
{
	struct watched *watched, *next;

	HASH_ITER (hh, watch->known, watched, next) {
		HASH_DEL(watch->known, watched);
		watched_free(watched);
	}
}

static void disk_watch_free_if_done(struct disk_watch *watch)
{
	if (!watch->closed || watch->looking)
		return;
	forget_known(watch);
	free(watch);
}

/* ---- on a thread -------------------------------------------------------------------- */

static uint64_t size_of(const struct disk_watch *watch, char *path)
{
	char *const roots[] = {path, NULL};
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	uint64_t sum = 0;
	FTSENT *entry;

	while (walk && !watch->closing && (entry = fts_read(walk))) {
		/* A directory comes twice. A file with several names is counted by each. */
		if (entry->fts_info != FTS_DP && entry->fts_info != FTS_NS && entry->fts_statp)
			sum += (uint64_t)entry->fts_statp->st_blocks * BLOCK;
	}
	if (walk)
		fts_close(walk);
	return sum;
}

static void disk_watch_work(struct slow_job *job)
{
	struct disk_watch *watch = container_of(job, struct disk_watch, slow);

	for (struct watched *at = watch->round; at && !watch->closing; at = at->next)
		at->used = size_of(watch, at->sandbox);
}

/* ---- on the loop --------------------------------------------------------------------- */

static void tell_full(struct disk_watch *watch, const struct watched *watched)
{
	char used[DURATION_TEXT], disk[DURATION_TEXT];
	char *text = xprintf("Disk usage (%s) exceeds quota (%s)",
			     bytes_format(watched->used, used), bytes_format(watched->disk, disk));
	struct agent_event event = {
		.type = AGENT_CONTAINER_LIMITED,
		.container_limited = {
			.container = watched->container,
			.reason = MESOS__TASK_STATUS__REASON__REASON_CONTAINER_LIMITATION_DISK,
			.text = text,
			.resource = "disk",
			.amount = (double)watched->disk / (1024 * 1024),
		}};

	watch->options.report(watch->options.context, &event);
	free(text);
}

static void disk_watch_look(uv_timer_t *timer);

static void disk_watch_done(struct slow_job *job, bool canceled)
{
	struct disk_watch *watch = container_of(job, struct disk_watch, slow);
	struct watched *watched, *next;

	watch->looking = false;
	forget_known(watch);
	for (watched = watch->round; watched; watched = next) {
		next = watched->next;
		HASH_ADD_KEYPTR(hh, watch->known, watched->container, strlen(watched->container),
				watched);
	}
	watch->round = NULL;
	if (watch->closing) {
		disk_watch_free_if_done(watch);
		return;
	}
	HASH_ITER (hh, watch->known, watched, next) {
		if (watch->options.enforced && !canceled && watched->used > watched->disk)
			tell_full(watch, watched);
	}
	uv_timer_start(&watch->timer, disk_watch_look,
		       (uint64_t)(watch->options.interval / MILLISECOND), 0);
}

void disk_watch_add(struct disk_watch *watch, const char *container, const char *sandbox,
		    uint64_t disk)
{
	struct watched *watched = xcalloc(1, sizeof(*watched));

	watched->container = xstrdup(container);
	watched->sandbox = xstrdup(sandbox);
	watched->disk = disk;
	watched->next = watch->round;
	watch->round = watched;
}

static void disk_watch_look(uv_timer_t *timer)
{
	struct disk_watch *watch = timer->data;

	watch->looking = true;
	watch->options.list(watch->options.context, watch);
	slow_add(watch->options.pool, &watch->lane, &watch->slow);
}

bool disk_watch_used(const struct disk_watch *watch, const char *container, uint64_t *bytes)
{
	struct watched *watched;

	HASH_FIND_STR(watch->known, container, watched);
	if (watched)
		*bytes = watched->used;
	return watched != NULL;
}

/* ---- life ------------------------------------------------------------------------------ */

struct disk_watch *disk_watch_create(const struct disk_watch_options *options)
{
	struct disk_watch *watch = xcalloc(1, sizeof(*watch));

	watch->options = *options;
	watch->slow.work = disk_watch_work;
	watch->slow.done = disk_watch_done;
	slow_lane_init(&watch->lane);
	uv_timer_init(options->loop, &watch->timer);
	watch->timer.data = watch;
	uv_timer_start(&watch->timer, disk_watch_look, (uint64_t)(options->interval / MILLISECOND),
		       0);
	return watch;
}

static void disk_watch_closed_cb(uv_handle_t *handle)
{
	struct disk_watch *watch = handle->data;

	watch->closed = true;
	disk_watch_free_if_done(watch);
}

void disk_watch_close(struct disk_watch *watch)
{
	if (!watch)
		return;
	watch->closing = true;
	uv_close((uv_handle_t *)&watch->timer, disk_watch_closed_cb);
}
