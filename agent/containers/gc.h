/* Garbage collection of sandboxes: removes paths at their time, earlier when the disk fills.
 *
 * A due path is first renamed into <work_dir>/trash, so that its name is free at once
 * whatever the removal takes; removing is a lane of the pool for slow work. */
#ifndef AGENT_CONTAINERS_GC_H
#define AGENT_CONTAINERS_GC_H

#include <stdint.h>
#include <uv.h>

#include "agent/containers/slow.h"

struct gc;

struct gc_options {
	uv_loop_t *loop;
	struct slow_pool *pool;
	const char *work_dir;
	int64_t delay;		/* ns; --gc_delay */
	double headroom;	/* share of the disk to keep free */
	int64_t watch_interval; /* ns; how often the disk is looked at */
	/* A path is no longer there. Never called inside of the functions below. */
	void (*collected)(void *context, const char *path);
	void *context;
};

struct gc_counters {
	uint64_t pending; /* scheduled */
	uint64_t succeeded;
	uint64_t failed;
};

struct gc *gc_create(const struct gc_options *options);
void gc_close(struct gc *gc); /* frees itself from the loop */

/* Schedules (or schedules anew) a path below work_dir for the time `when`; others are
 * refused with a log line. */
void gc_collect(struct gc *gc, const char *path, int64_t when);
void gc_keep(struct gc *gc, const char *path);

/* Nanoseconds that sandboxes are kept with the disk as it is now. */
int64_t gc_max_age(const struct gc *gc);
struct gc_counters gc_counters(const struct gc *gc);

#endif
