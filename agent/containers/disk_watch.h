/* How much sandboxes hold, as disk/du tells: looked at from time to time, on a thread. */
#ifndef AGENT_CONTAINERS_DISK_WATCH_H
#define AGENT_CONTAINERS_DISK_WATCH_H

#include "agent/containers/slow.h"
#include "agent/core/agent.h"

struct disk_watch;

struct disk_watch_options {
	uv_loop_t *loop;
	struct slow_pool *pool;
	int64_t interval; /* ns */
	bool enforced;	  /* containers must not hold more than their disk */
	/* Calls disk_watch_add() for each container that there is now. */
	void (*list)(void *context, struct disk_watch *watch);
	/* Hears AGENT_CONTAINER_LIMITED of those that hold too much. */
	void (*report)(void *context, const struct agent_event *event);
	void *context;
};

struct disk_watch *disk_watch_create(const struct disk_watch_options *options);
/* Inside of `list` alone. `disk`: bytes that it may hold. */
void disk_watch_add(struct disk_watch *watch, const char *container, const char *sandbox,
		    uint64_t disk);
/* What it held when it was looked at last; false: it was not yet. */
bool disk_watch_used(const struct disk_watch *watch, const char *container, uint64_t *bytes);
/* Frees itself from the loop. NULL is nothing. */
void disk_watch_close(struct disk_watch *watch);

#endif
