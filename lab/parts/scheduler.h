/* A model scheduler, within lab/parts/scheduler_*.c.
 *
 *	scheduler_part.c     its lives
 *	scheduler_calls.c    what it says
 *	scheduler_stream.c   how, on the v1 API
 *	driver_link.c	     how, as a driver of v0; see driver.h
 *	scheduler_books.c    what it launched and has heard of that; scheduler_books.h
 *	scheduler_offers.c   what it does with offers; scheduler_offers.h
 *	scheduler_volumes.c  reservations and volumes
 *	scheduler_operations.c what becomes of those, if it named them
 *	scheduler_misdeeds.c what no scheduler should do */
#ifndef LAB_PARTS_SCHEDULER_H
#define LAB_PARTS_SCHEDULER_H

#include "base/memory/arena.h"
#include "base/table.h"
#include "lab/parts/parts.h"
#include "lab/parts/scheduler_part.h"
#include "lab/seams/seams.h"

#define TASK_CPUS 0.5
#define TASK_MEM 64
#define VOLUME_SIZE 100

#define STATE(name) MESOS__TASK_STATE__TASK_##name
#define CALL(name) MESOS__SCHEDULER__CALL__TYPE__##name

struct book {
	UT_hash_handle hh;
	char *task_id;
	char *agent_id;
	char *executor_id;
	bool over;
	bool by_executor;	/* the end came from the executor: it is final */
	bool by_agent;		/* or from its agent at least */
	bool may_return;	/* what was said is not for good */
	Mesos__TaskState final; /* by_executor: which */
	bool gone;		/* or that it is gone; also when that is said once more */
	Mesos__TaskState last;	/* heard of */
	int64_t launched;
	int64_t kill_sent; /* when first; 0 = not */
	bool hangs;
	bool muddled; /* launched more than once: what is heard may be of any of them */
};

/* An operation that it named. */
struct deed {
	UT_hash_handle hh;
	struct list link; /* of those that are not over */
	char *id, *agent_id;
	bool over;
	bool told;		     /* its end, by its agent */
	Mesos__OperationState state; /* heard of last */
};

struct held_offer {
	struct happening use; /* when it looks at it */
	struct list link;
	struct scheduler_part *part;
	const Mesos__Offer *offer;
	struct content *content; /* has it */
	bool rescinded;
};

struct scheduler_part;
struct scheduler_driver; /* of client/ */
struct driver;		 /* of v0 */

/* How it speaks with the master. */
struct scheduler_wire {
	/* Its process begins, and will end. */
	void (*begin)(struct scheduler_part *part);
	void (*end)(struct scheduler_part *part);
	/* Tries to subscribe, and again if that does not work. */
	void (*connect)(struct scheduler_part *part);
	void (*subscribe)(struct scheduler_part *part, Mesos__Scheduler__Call *message);
	/* Whether it is subscribed, and the master can be reached. */
	bool (*ready)(struct scheduler_part *part);
	/* As another framework, and as somebody else: on a stream, or as an actor, of this name;
	 * NULL = as itself. */
	void (*call)(struct scheduler_part *part, Mesos__Scheduler__Call *message,
		     const char *framework_id, const char *speaker);
	/* Every minute. */
	void (*watch)(struct scheduler_part *part);
};
extern const struct scheduler_wire scheduler_stream_wire, driver_wire;

struct scheduler_part {
	struct world *world;
	struct scheduler_traits options;
	const struct scheduler_wire *wire;
	char *name;
	struct process process;
	bool alive, subscribed, finishing;
	bool leaving, gone; /* wants its framework torn down; heard that it is */
	bool doomed;	    /* an operator may tear it down */
	char **abandoned;   /* ids of frameworks that it had before */
	int abandoned_count;
	char *framework_id;
	struct happening start, connect, reconcile, misdeed;
	struct happening work; /* with a pace: a task came up */
	bool suppressed;
	struct list offers; /* struct held_offer.link */
	struct book *books;
	struct deed *deeds;
	struct list open_deeds; /* struct deed.link: those that are not over */
	int next_task, next_volume, next_deed;
	struct scheduler_counts counts;
	struct rng rng;
	struct driver *driver; /* or NULL */
	/* -- on the v1 API -- */
	struct sim_loop loop; /* of its process */
	struct scheduler_driver *link;
	struct conn *spoofs; /* what is said past the driver */
	char *spoofed;	     /* where; heap */
	uint64_t next_call;
	/* -- misdeeds -- */
	const Mesos__Offer *last_offer; /* answered */
	struct content *last_content;	/* has it */
	Mesos__TaskStatus *last_status; /* heap: acknowledged */
	int64_t silent_until;		/* acknowledges nothing */
};

static inline bool scheduler_chance(struct scheduler_part *part, double probability)
{
	return rng_unit(&part->rng) < probability;
}

/* ---- calls ---------------------------------------------------------------------------- */

void scheduler_subscribe(struct scheduler_part *part);
/* False if it is not subscribed, or cannot reach the master. */
bool scheduler_tell(struct scheduler_part *part, Mesos__Scheduler__Call *message);
/* As another framework, or as somebody else; NULL = as itself. */
void scheduler_tell_as(struct scheduler_part *part, Mesos__Scheduler__Call *message,
		       const char *framework_id, const char *speaker);
void scheduler_acknowledge(struct scheduler_part *part, const Mesos__TaskStatus *status);
void scheduler_send_kill(struct scheduler_part *part, const char *task_id);
void scheduler_send_shutdown(struct scheduler_part *part, const char *executor_id,
			     const char *agent_id);
void scheduler_send_reconcile(struct scheduler_part *part);
void scheduler_send_teardown(struct scheduler_part *part);
/* Of all of its roles. */
void scheduler_suppress(struct scheduler_part *part, bool suppressed);

/* ---- lives ---------------------------------------------------------------------------- */

/* In a letter. */
void scheduler_hear(struct scheduler_part *part, const Mesos__Scheduler__Event *event,
		    const struct letter *letter);
/* The master wants no such framework. */
void scheduler_refused(struct scheduler_part *part, const char *why);
void scheduler_kill_process(struct process *p);

#endif
