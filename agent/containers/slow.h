/* One pool of threads for what may be slow: directories, removals, /proc, the user database. Names
 * of hosts are looked up on libuv's threads, so they never wait for a disk.
 *
 * Jobs of a lane are done one after the other, in their order; a lane takes one thread at most, so
 * the removal of a big tree holds up no launch.
 */
#ifndef AGENT_CONTAINERS_SLOW_H
#define AGENT_CONTAINERS_SLOW_H

#include <stdbool.h>
#include <uv.h>

#include "base/list.h"

/* At most. The agent has eight lanes (removal of volumes, their making, collection, two for files,
 * usage of containers, their disks, removal of images), so one thread is always left for launches.
 */
#define SLOW_THREADS 9

struct slow_pool;

struct slow_lane {
	struct list waiting; /* struct slow_job.link */
	bool busy;
};

/* Part of whatever the job is about. */
struct slow_job {
	struct list link;
	struct slow_lane *lane;
	void (*work)(struct slow_job *job); /* on a thread of the pool */
	/* On the loop; never inside of slow_add(). `canceled`: it was not worked on. May free the
	 * job, and the lane if this was its last one. */
	void (*done)(struct slow_job *job, bool canceled);
	bool canceled; /* private */
};

struct slow_pool *slow_pool_create(uv_loop_t *loop);
/* What was not begun is canceled; frees itself from the loop when the rest is done. */
void slow_pool_close(struct slow_pool *pool);

void slow_lane_init(struct slow_lane *lane);
/* Cancels what waits in the lane, inside of the call; what is under way is done as usual. */
void slow_lane_cancel(struct slow_lane *lane);
/* `lane` may be NULL: then the job waits for a thread alone. */
void slow_add(struct slow_pool *pool, struct slow_lane *lane, struct slow_job *job);

#endif
