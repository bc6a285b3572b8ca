/* Processes of the simulated world: they end at any time, are stopped, cut off and started
 * again. */
#ifndef LAB_WORLD_PROCESS_H
#define LAB_WORLD_PROCESS_H

#include "lab/world/letter.h"

struct process_ops {
	/* The letter stays the caller's. */
	void (*receive)(struct process *p, struct conn *conn, const struct letter *letter);
	/* The other end is gone, or the way to it. The conn is freed after the call. */
	void (*closed)(struct process *p, struct conn *conn);
	/* kill -9 of this life. */
	void (*kill)(struct process *p);
};

enum doom { DOOM_NONE, DOOM_BEFORE, DOOM_AFTER };

/* One life of a program on a host. */
struct process {
	struct list link;
	struct world *world;
	const struct process_ops *ops;
	char *name;	   /* in the trace */
	char *address;	   /* "ip:port" it listens at; NULL = nowhere */
	struct list conns; /* struct conn.of[side].link */
	/* Partitions: letters wait while the time is not over. */
	int64_t deaf_until;   /* nothing reaches it */
	int64_t mute_until;   /* nothing leaves it */
	int64_t paused_until; /* it is stopped, and notices nothing; deaf and mute besides */
	int64_t paused_since;
	enum doom doom; /* with its next letter */
	bool vanishes;	/* its machine goes with it: nobody tells its peers */
	bool killed;	/* it ends by that, and takes leave of nobody */
};

void process_start(struct process *p, struct world *w, const struct process_ops *ops,
		   const char *name, const char *address);
/* Dies at once: what is on its way to it is lost, of what it sent a part may still arrive. */
void process_end(struct process *p);
struct process *process_at(struct world *w, const char *address);
/* Stops it: what it waits for comes when it continues. */
void process_pause(struct process *p, int64_t span);
/* Before its time. */
void process_continue(struct process *p);
/* Whether what is due has to wait, as it is stopped: it runs again then. */
bool process_holds(struct process *p, struct happening *h);
static inline bool process_paused(const struct process *p)
{
	return p->paused_until > p->world->now;
}

#endif
