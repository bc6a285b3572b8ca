/* A model of a framework's scheduler. It outlives the lives of its process. */
#ifndef LAB_PARTS_SCHEDULER_PART_H
#define LAB_PARTS_SCHEDULER_PART_H

#include "lab/parts/parts.h"

struct scheduler_traits {
	int number;
	const char *role;
	const char *more_roles[2]; /* or NULL */
	bool partition_aware, checkpoint, own_executor;
	bool pods;	   /* with that it launches groups, too */
	bool keeper;	   /* runs its tasks on volumes that it makes */
	double slowness;   /* seconds before it looks at offers */
	double forgetting; /* chance that an update is not acknowledged at first */
	double greed;	   /* chance that an offer is kept for long */
	double lateness;   /* chance that an offer is accepted after it was rescinded */
	double mischief;   /* chance that what it says is spoilt; if not 0, it says more */
	int tasks;	   /* that it wants to run in all */
	double pace;	   /* seconds from one of them coming up to the next; 0 = all at once */
	double refusal;	   /* seconds for which it refuses offers until it finishes; 0 = usual */
	bool names;	   /* its operations: it hears what becomes of them */
	bool gentle;	   /* its tasks say that they are being killed */
	double failover;   /* seconds that its framework waits for it; 0 = longer than any run */
	double desertion;  /* chance that it does not come back when it dies */
	bool driver;	   /* it is one of v0, over libprocess: */
	bool old;	   /* with a message of its own for each call */
	bool implicit;	   /* the driver acknowledges by itself */
	bool plain;	   /* of a framework of one role, as before there were several */
	bool fixed;	   /* always at the same pid; else each life has another */
	double unrest;	   /* mean seconds from one failover within its process to the next */
	const char *end;   /* of all its tasks; NULL = the seed decides */
};

struct scheduler_part;
struct scheduler_part *scheduler_part_create(struct world *w,
					     const struct scheduler_traits *options);
void scheduler_part_destroy(struct scheduler_part *part);
bool scheduler_part_alive(const struct scheduler_part *part);
bool scheduler_part_subscribed(const struct scheduler_part *part);
struct process *scheduler_part_process(struct scheduler_part *part);
void scheduler_part_kill(struct scheduler_part *part);
/* And does not come back, if its framework is not to wait for it for ever. */
void scheduler_part_desert(struct scheduler_part *part);
/* Another driver takes over from its driver, in the same process. */
void scheduler_part_fail_over(struct scheduler_part *part);
/* The id of its framework, or NULL. */
const char *scheduler_part_framework(struct scheduler_part *part);
/* Ids of frameworks to which it will not come back; NULL after the last. */
const char *scheduler_part_abandoned(const struct scheduler_part *part, int at);
/* Of an agent that it waits for with an operation; NULL = none. */
const char *scheduler_part_waits_for(const struct scheduler_part *part);
/* Its framework may be torn down by somebody else from now on. */
void scheduler_part_doom(struct scheduler_part *part);
/* Launches no more. */
void scheduler_part_finish(struct scheduler_part *part);
/* All it launched is over, and it knows. */
bool scheduler_part_done(const struct scheduler_part *part);
/* Tears its framework down. */
void scheduler_part_teardown(struct scheduler_part *part);
bool scheduler_part_gone(const struct scheduler_part *part);
/* The sum of a name over what is offered to it now. */
double scheduler_part_offered(const struct scheduler_part *part, const char *name);
struct scheduler_counts {
	uint64_t launched, finished, failed, killed, lost, reconciled, misdeeds;
};
struct scheduler_counts scheduler_part_counts(const struct scheduler_part *part);
/* What is not over, for a failure's report. */
void scheduler_part_describe(const struct scheduler_part *part, struct buf *out);

#endif
