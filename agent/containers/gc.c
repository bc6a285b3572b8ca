/* Scheduling and removing; see gc.h.
 *
 * Failures: what cannot be renamed stays and is forgotten until the next start of the
 * agent; what cannot be removed from the trash is tried again then, too. */
#include "agent/containers/gc.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agent/containers/sandbox.h"
#include "base/log/log.h"
#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "base/table.h"
#include "base/time/clock.h"
#include "base/time/timer.h"

struct entry {
	UT_hash_handle hh; /* by path */
	struct timer timer;
	char path[];
};

/* Something in the trash, to be removed. */
struct rubbish {
	struct slow_job slow;
	struct gc *gc;
	bool removed;
	char path[];
};

struct gc {
	struct gc_options options;
	char *trash;
	struct entry *table;
	struct timers timers;
	struct gc_counters counters;
	struct slow_lane lane; /* of removals */
	uint64_t next_name;
	int64_t max_age;
	uv_timer_t due;
	uv_timer_t watch;
	int open_handles;
	atomic_bool closing; /* threads look at it */
};

/* ---- removing ------------------------------------------------------------ */

static void gc_free_if_done(struct gc *gc)
{
	if (gc->open_handles || gc->lane.busy)
		return;
	timers_free(&gc->timers);
	free(gc->trash);
	free(gc);
}

/* On a thread of the pool. */
static void rubbish_remove(struct slow_job *slow)
{
	struct rubbish *rubbish = container_of(slow, struct rubbish, slow);
	struct err err;

	rubbish->removed = sandbox_remove(rubbish->path, &rubbish->gc->closing, &err) == 0;
	/* What is left is removed by the next agent. */
	if (!rubbish->removed && !rubbish->gc->closing)
		log_warning("%s", err.text);
}

static void rubbish_done(struct slow_job *slow, bool canceled)
{
	struct rubbish *rubbish = container_of(slow, struct rubbish, slow);
	struct gc *gc = rubbish->gc;

	if (!canceled && rubbish->removed)
		gc->counters.succeeded++;
	else
		gc->counters.failed++;
	free(rubbish);
	if (gc->closing)
		gc_free_if_done(gc);
}

static void add_rubbish(struct gc *gc, const char *path)
{
	struct rubbish *rubbish = xcalloc(1, sizeof(*rubbish) + strlen(path) + 1);

	strcpy(rubbish->path, path);
	rubbish->gc = gc;
	rubbish->slow.work = rubbish_remove;
	rubbish->slow.done = rubbish_done;
	slow_add(gc->options.pool, &gc->lane, &rubbish->slow);
}

/* What an agent before us did not get to. */
static void find_old_rubbish(struct gc *gc)
{
	DIR *dir = opendir(gc->trash);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char *path;

		if (entry->d_name[0] == '.')
			continue;
		path = xprintf("%s/%s", gc->trash, entry->d_name);
		add_rubbish(gc, path);
		free(path);
	}
	if (dir)
		closedir(dir);
}

/* ---- scheduling ---------------------------------------------------------- */

static void gc_forget(struct gc *gc, struct entry *entry)
{
	timers_stop(&gc->timers, &entry->timer);
	HASH_DEL(gc->table, entry);
	free(entry);
}

static bool throw_away(struct gc *gc, const char *path)
{
	char *target = xprintf("%s/%lld-%llu", gc->trash, (long long)clock_now(),
			       (unsigned long long)++gc->next_name);
	bool done = true;

	mkdir(gc->trash, 0700);
	if (!rename(path, target)) {
		add_rubbish(gc, target);
	} else if (errno != ENOENT && errno != ENOTDIR) {
		log_warning("Cannot remove '%s': %s", path, strerror(errno));
		gc->counters.failed++;
		done = false;
	}
	free(target);
	return done;
}

/* Takes the entry out of the schedule and its path away. */
static void collect(struct gc *gc, struct entry *entry)
{
	char *path = xstrdup(entry->path);

	gc_forget(gc, entry);
	if (throw_away(gc, path))
		gc->options.collected(gc->options.context, path);
	free(path);
}

static void gc_arm(struct gc *gc);

static void due_cb(uv_timer_t *timer)
{
	struct gc *gc = timer->data;
	struct timer *due;
	int64_t now = clock_now();

	while ((due = timers_pop(&gc->timers, now)))
		collect(gc, container_of(due, struct entry, timer));
	gc_arm(gc);
}

static void gc_arm(struct gc *gc)
{
	int64_t next = timers_next(&gc->timers), wait;

	if (next == TIME_NEVER || gc->closing) {
		uv_timer_stop(&gc->due);
		return;
	}
	wait = next - clock_now();
	uv_timer_start(&gc->due, due_cb,
		       wait <= 0 ? 0 : (uint64_t)((wait + MILLISECOND - 1) / MILLISECOND), 0);
}

void gc_collect(struct gc *gc, const char *path, int64_t when)
{
	size_t len = strlen(gc->options.work_dir);
	struct entry *entry;

	if (strncmp(path, gc->options.work_dir, len) || path[len] != '/' || !path[len + 1] ||
	    strstr(path, "/../") || str_has_suffix(path, "/..")) {
		log_error("Not going to remove '%s': it is not in the work directory", path);
		return;
	}
	HASH_FIND_STR(gc->table, path, entry);
	if (!entry) {
		entry = xcalloc(1, sizeof(*entry) + strlen(path) + 1);
		strcpy(entry->path, path);
		HASH_ADD_STR(gc->table, path, entry);
	}
	timers_start(&gc->timers, &entry->timer, when);
	gc_arm(gc);
}

void gc_keep(struct gc *gc, const char *path)
{
	struct entry *entry;

	HASH_FIND_STR(gc->table, path, entry);
	if (entry)
		gc_forget(gc, entry);
	gc_arm(gc);
}

/* ---- the disk ------------------------------------------------------------ */

static void look_at_disk(struct gc *gc)
{
	struct statvfs fs;
	double usage = 0, share;

	if (!statvfs(gc->options.work_dir, &fs) && fs.f_blocks)
		usage = 1 - (double)fs.f_bfree / (double)fs.f_blocks;
	share = 1 - gc->options.headroom - usage;
	gc->max_age = share > 0 ? (int64_t)((double)gc->options.delay * share) : 0;
}

static void gc_watch_cb(uv_timer_t *timer)
{
	struct gc *gc = timer->data;
	int64_t now = clock_now(), early;
	struct timer *first;

	look_at_disk(gc);
	early = gc->options.delay - gc->max_age;
	while ((first = timers_pop(&gc->timers, early > INT64_MAX - now ? INT64_MAX : now + early)))
		collect(gc, container_of(first, struct entry, timer));
	gc_arm(gc);
}

int64_t gc_max_age(const struct gc *gc)
{
	return gc->max_age;
}

struct gc_counters gc_counters(const struct gc *gc)
{
	struct gc_counters counters = gc->counters;

	counters.pending = HASH_COUNT(gc->table);
	return counters;
}

/* ---- life ---------------------------------------------------------------- */

struct gc *gc_create(const struct gc_options *options)
{
	struct gc *gc = xcalloc(1, sizeof(*gc));
	uint64_t interval = (uint64_t)(options->watch_interval / MILLISECOND);

	gc->options = *options;
	gc->trash = xprintf("%s/trash", options->work_dir);
	slow_lane_init(&gc->lane);
	uv_timer_init(options->loop, &gc->due);
	uv_timer_init(options->loop, &gc->watch);
	gc->due.data = gc->watch.data = gc;
	gc->open_handles = 2;
	if (!interval)
		interval = 1;
	uv_timer_start(&gc->watch, gc_watch_cb, interval, interval);
	look_at_disk(gc);
	find_old_rubbish(gc);
	return gc;
}

static void gc_closed_cb(uv_handle_t *handle)
{
	struct gc *gc = handle->data;

	gc->open_handles--;
	gc_free_if_done(gc);
}

void gc_close(struct gc *gc)
{
	struct entry *entry, *next;

	gc->closing = true;
	HASH_ITER (hh, gc->table, entry, next)
		gc_forget(gc, entry);
	uv_close((uv_handle_t *)&gc->due, gc_closed_cb);
	uv_close((uv_handle_t *)&gc->watch, gc_closed_cb);
	slow_lane_cancel(&gc->lane);
}
