/* The simulated world: virtual time, processes, connections and disks, all from one seed.
 *
 * Nothing here knows masters or agents. Things happen one at a time, in the order of their
 * times and, at the same time, of their making: the same seed gives the same world, byte for
 * byte. All delays and faults come from `rng`.
 *
 *	world.c	  time, processes
 *	trace.c	  the trace
 *	conn.c	  connections: ordered, delayed, partitioned, broken
 *	letter.c  what is on its way, and what it says
 *	echo.c	  letters that arrive twice
 *	pid.c	  streams and libprocess on top
 *	disk.c	  what a process has stored, and what a crash leaves of it
 */
#ifndef LAB_WORLD_WORLD_H
#define LAB_WORLD_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/random.h"
#include "base/timer.h"
#include "lab/world/trace.h"
#include "proto/proto.h"

struct process;
struct coverage;
struct conn;
struct letter;
struct content;
struct disk;
struct executor_life;

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
	WORLD_FAULTS,
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

/* ---- processes -------------------------------------------------------------- */

/* What crosses a connection. `bytes` are a packed message. */
enum letter_kind {
	/* libprocess: `type` the message's, `from` the sender's pid; `name` the receiver's if it is
	 * a driver, of which there may be several at an address */
	LETTER_MESSAGE,
	LETTER_CALL,  /* of an API: answered by a REPLY with its number; `name` the stream id */
	LETTER_REPLY, /* `status`; `name` the stream id of a subscription, or the text */
	LETTER_EVENT, /* on the stream that a subscription opened */
};

struct letter {
	enum letter_kind kind;
	uint64_t number; /* of a call */
	int status;
	bool force;				/* of a SUBSCRIBE of v0: a failover */
	const ProtobufCMessageDescriptor *type; /* of a MESSAGE */
	char *name;
	char *from;
	struct buf bytes;
	/* What was packed; for who looks at it before it is on its way. */
	const void *message;
	struct content *content; /* on its way: what letter_open() makes of the bytes */
};
void letter_free(struct letter *letter);
/* The message of a letter that came, in memory that lasts as long as the letter. All who open
 * it share it: the receiver may change it, who looks before may not. NULL if it does not parse;
 * that is a failure. */
void *letter_open(const struct letter *letter, const ProtobufCMessageDescriptor *type);
/* Its message lasts until it is let go. */
struct content *content_hold(struct content *content);
void content_release(struct content *content);

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
	enum doom doom;	      /* with its next letter */
	bool vanishes;	      /* its machine goes with it: nobody tells its peers */
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

/* ---- connections ------------------------------------------------------------- */

enum conn_side { CONN_CLIENT, CONN_SERVER };

struct conn {
	struct list link;
	struct world *world;
	uint64_t number;
	struct conn_end {
		struct conn *conn;
		struct process *process; /* NULL once it left */
		struct list link;	 /* in the process */
		struct list inbox;	 /* struct parcel.link, on the way to it */
		int64_t last;		 /* when the last of them arrives */
	} of[2];
	char *peer;   /* libprocess: the pid's "ip:port" it was opened to, or NULL */
	char *linked; /* libprocess: the pid whose end the client wants to hear of, or NULL */
	char *sender; /* libprocess: pid_sole_sender, or NULL */
	uint64_t tag; /* the owners' use: number of a stream */
	bool broken;
	bool black_hole; /* broken, and nobody answers who sends into it */
};

/* NULL if nobody listens there or it cannot be reached now. */
struct conn *conn_open(struct process *from, const char *address);
/* Takes over the letter's parts. Letters arrive in order, or not at all after a break. */
void conn_send(struct conn *conn, const struct process *from, struct letter *letter);
/* The other end hears of it after all that was sent before. */
void conn_close(struct conn *conn, struct process *by);
/* Both ends hear of it, each in its time; what is on its way is lost. */
void conn_break(struct conn *conn);
/* As conn_break(), but the end `unaware` hears of it after `span` only, or when it sends
 * something and gets no answer; a black hole makes that take longer. */
void conn_half_open(struct conn *conn, enum conn_side unaware, int64_t span, bool black_hole);
void world_drop_echoes(struct world *w);
struct process *conn_other(const struct conn *conn, const struct process *p);

/* ---- streams ------------------------------------------------------------------------ */

/* A subscription's stream is the conn to the process whose `tag` is its number. What goes to
 * one that is no more is lost. */
void stream_send(struct process *p, uint64_t number, const void *event);
void stream_end(struct process *p, uint64_t number);

/* ---- libprocess on top ----------------------------------------------------------- */

#define PID_DRIVER "scheduler" /* their actors' names begin so */
/* From "actor@address" of `from`, or a whole pid, to the pid; lost if it cannot be reached. */
void pid_send(struct process *from, const char *actor, const char *pid, const void *message);
/* Likewise; the letter has a message, and `force`. */
void pid_post(struct process *from, const char *actor, const char *pid, struct letter *letter);
/* `closed` will be called with a conn whose `peer` is the pid's address. */
void pid_link(struct process *from, const char *pid);
void pid_unlink(struct process *from, const char *pid);
/* A message of the pid came by the conn (http_note_sender). */
void pid_note_sender(struct conn *conn, const char *pid);
/* The pid is at the other end: ends others by which messages of it came (http_sole_sender). */
void pid_sole_sender(struct process *to, struct conn *conn, const char *pid);

#endif
