/* The simulated world: virtual time, processes, connections and disks, all from one seed.
 *
 * Nothing here knows masters or agents. Things happen one at a time, in the order of their
 * times and, at the same time, of their making: the same seed gives the same world, byte for
 * byte. All delays and faults come from `rng`.
 *
 *	world.c	  time, and processes (process.h)
 *	trace.c	  the trace
 *	conn.c	  connections: ordered, delayed, partitioned, broken (wires.h)
 *	letter.c  what is on its way, and what it says (letter.h)
 *	echo.c	  letters that arrive twice
 *	pid.c	  streams and libprocess on top (wires.h)
 *	disk.c	  what a process has stored, and what a crash leaves of it
 *	thread.c  threads of processes, for code that blocks
 */
#ifndef LAB_WORLD_WORLD_H
#define LAB_WORLD_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/memory/buf.h"
#include "base/random.h"
#include "base/time/clock.h"
#include "base/time/timer.h"
#include "lab/world/trace.h"
#include "proto/proto.h"

struct process;
struct coverage;
struct conn;
struct letter;
struct content;
struct disk;
struct executor_life;
struct keeper;

/* Something that will happen. The memory is the owner's; what it is part of is found by
 * container_of. */
struct happening {
	struct timer timer;
	void (*run)(struct happening *happening);
	const struct process *held_by; /* it is due, and the process is stopped */
};

enum world_fault {
	FAULT_KILL,	 /* kill -9 of a process */
	FAULT_CRASH,	 /* of its machine: what was not synced is lost */
	FAULT_CUT,	 /* a connection breaks */
	FAULT_PARTITION, /* a host cannot be reached, in one direction or both, for a while */
	FAULT_SLOW_DISK,
	FAULT_HALF_OPEN,  /* a connection breaks, and one end does not learn of it for long */
	FAULT_REPEAT,	  /* a letter arrives twice: what sent it had no answer */
	FAULT_DOOM,	  /* kill -9 right before or after a letter is read */
	FAULT_SYNC,	  /* a disk cannot be synced */
	FAULT_FULL_DISK,  /* nor written */
	FAULT_TORN_WRITE, /* a machine crashes in the middle of a write */
	FAULT_CLOCK,	  /* a host's clock is set; seen by the next life of its process */
	FAULT_PAUSE,	  /* a process is stopped, and continued later: its time jumps */
	FAULT_OPERATOR,	  /* none, but it changes as much: somebody uses the operator API */
	/* Where there are several masters: */
	FAULT_EXPIRY,	   /* a session with ZooKeeper ends, and its owner lives */
	FAULT_SERVERS,	   /* of ZooKeeper: they are down for a while */
	FAULT_SERVERS_CUT, /* one connection to them breaks */
	FAULT_SERVERS_OFF, /* they cannot be reached by one process, which others can */
	FAULT_LEADER,	   /* kill -9, crash, a stop or a partition of the leading master */
	WORLD_FAULTS,
	ALONE_FAULTS = FAULT_EXPIRY, /* those of a single master */
};
extern const char *const world_fault_names[WORLD_FAULTS];

/* Of a volume: it is made, put into a container, removed with its data. */
enum directory_deed { DIRECTORY_MADE, DIRECTORY_USED, DIRECTORY_REMOVED };

/* Somebody who keeps books of what crosses the wires and reaches the disks (books.h). It is
 * called in the middle of things: it may look, remember and call world_fail(). */
struct observer {
	/* Before it is on its way, or lost; the conn is NULL if there is none. `to`: address of
	 * a pid. */
	void (*sent)(struct observer *o, const struct process *from, const struct conn *conn,
		     const char *to, const struct letter *letter);
	/* Before the receiver looks at it. */
	void (*delivered)(struct observer *o, const struct process *to, const struct conn *conn,
			  const struct letter *letter);
	/* Before the process hears that the connection is over. */
	void (*closed)(struct observer *o, const struct process *p, const struct conn *conn);
	void (*started)(struct observer *o, const struct process *p);
	void (*ended)(struct observer *o, const struct process *p);
	/* A value without data: the key is deleted. */
	void (*written)(struct observer *o, struct disk *disk, int line, struct slice key,
			struct slice value);
	void (*synced)(struct observer *o, struct disk *disk, int line);
	/* It is as a crash of its machine left it. */
	void (*crashed)(struct observer *o, struct disk *disk);
	/* An executor's process begins or ends. */
	void (*executor)(struct observer *o, const struct executor_life *life, bool up);
	void (*directory)(struct observer *o, const struct process *agent, const char *path,
			  enum directory_deed deed);
	/* An operator hears that what he asked for (a Mesos.master.Call) is done. `overtaken`: so
	 * much was asked after it and is not answered, which may be stored in its stead: a store
	 * merges what waits. */
	void (*operated)(struct observer *o, const void *call, bool overtaken);
	/* What happened has had all its consequences. */
	void (*stepped)(struct observer *o);
};

struct executor_life {
	const struct process *process;
	const char *agent; /* address */
	const char *framework_id, *executor_id;
	bool checkpoint;
};

struct world {
	uint64_t seed;
	struct rng rng;
	int64_t now;   /* ns since the epoch */
	int64_t begin; /* its first value */
	struct timers timers;
	struct list processes; /* struct process.link */
	struct list conns;     /* struct conn.link */
	uint64_t last_number;  /* of processes' lives and of connections */

	struct trace trace;
	uint64_t faults[WORLD_FAULTS];
	int64_t slow_disks_until;
	int repeats;	       /* letters that are still to arrive twice */
	struct list echoes;    /* struct echo.link: their second copies */
	struct content *spare; /* of letters that are gone */

	char *failure;		   /* the invariant that does not hold, or NULL */
	struct keeper *keeper;	   /* ZooKeeper, if there are several masters; or NULL */
	struct observer *observer; /* or NULL */
	struct coverage *coverage; /* or NULL */
	bool unchecked;		   /* see lab/lab.h */
};

void world_init(struct world *w, uint64_t seed);
/* Processes must be gone. */
void world_free(struct world *w);
/* Processes are gone: their connections and timers must be, too. */
void world_check_empty(struct world *w);
/* Runs the next thing that happens; false when nothing is left to happen by `until`. */
bool world_step(struct world *w, int64_t until);
void world_at(struct world *w, struct happening *h, int64_t when);
void world_after(struct world *w, struct happening *h, int64_t span);
void world_cancel(struct world *w, struct happening *h);
void world_log(struct world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The first failure counts. */
void world_fail(struct world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Uniform in [low, high]. */
int64_t world_between(struct world *w, int64_t low, int64_t high);
bool world_chance(struct world *w, double probability);

#endif
