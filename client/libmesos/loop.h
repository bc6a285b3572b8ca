/* The thread of all drivers of a process: it runs the libuv loop that their connections live
 * on. It is started by the first driver and stays.
 *
 * Any thread may post a task; tasks run on the loop's thread, in order. When memory runs out on
 * that thread, every member is told that it is lost; later members get a thread of their own
 * making. Nothing here knows a JVM. */
#ifndef CLIENT_LIBMESOS_LOOP_H
#define CLIENT_LIBMESOS_LOOP_H

#include <stdbool.h>
#include <uv.h>

#include "base/err.h"
#include "base/list.h"
#include "base/random.h"

struct driver_loop;

struct loop_task {
	struct list link;
	void (*run)(struct loop_task *task);
};

struct loop_member {
	struct list link;
	/* Out of memory: what lives on the loop is lost. On the loop's thread, asks for no
	 * memory. */
	void (*lost)(struct loop_member *member);
};

/* Joins the process' loop. Any thread. */
int driver_loop_join(struct loop_member *member, struct driver_loop **out, struct err *err);
/* On the loop's thread, or when it was lost. */
void driver_loop_leave(struct driver_loop *loop, struct loop_member *member);
/* Any thread. The task is the callee's until it runs; false: the loop is lost, the task is
 * still the caller's. */
bool driver_loop_post(struct driver_loop *loop, struct loop_task *task);
/* Both on the loop's thread only. */
uv_loop_t *driver_loop_uv(struct driver_loop *loop);
struct rng *driver_loop_rng(struct driver_loop *loop);

#endif
