/* Finds the master that a text names: host:port, master@host:port, zk://servers/path, or a file
 * ("/path", "file:///path") that holds one of them, read anew at each look. */
#ifndef NET_MASTERS_DETECTOR_H
#define NET_MASTERS_DETECTOR_H

#include <uv.h>

#include "base/err.h"

struct detector;

struct detector_handlers {
	/* The master's pid "master@<numeric ip>:<port>", at once from inside of detector_look() or
	 * later from the loop; NULL: by ZooKeeper there is none. */
	void (*detected)(void *context, const char *pid);
	/* ZooKeeper cannot tell: for good. */
	void (*failed)(void *context, const char *why);
};

/* The source is the caller's and stays; `zk_timeout_ms` is of the session with ZooKeeper. */
struct detector *detector_create(uv_loop_t *loop, const char *source, int zk_timeout_ms,
				 const struct detector_handlers *handlers, void *context);
void detector_close(struct detector *detector); /* frees itself from the loop */

/* Reads and parses, without looking names up: tells an operator's mistake early. */
int detector_check(const struct detector *detector, struct err *err);
/* Looks for the master; retries by itself until it was found. Who leads by ZooKeeper is told again,
 * and then each time that it is another. */
void detector_look(struct detector *detector);

#endif
