/* The parts of a simulated cluster: the production cores of master and agent with their
 * shells simulated, and models of schedulers, executors and tasks.
 *
 *	master_part.c	 a master on its disk, killed and started again
 *	agent_part.c	 an agent, its disk
 *	agent_containers.c  its containers
 *	agent_volumes.c	 its volumes
 *	executor_part.c	 what runs in a container: the executor and its scripted tasks
 *	scheduler_part.c a framework's scheduler
 *
 * A part outlives the lives of its process. */
#ifndef LAB_PARTS_PARTS_H
#define LAB_PARTS_PARTS_H

#include "lab/world/world.h"
#include "proto/proto.h"

#define AGENT_IP "10.0.1.1"
#define AGENT_WORK_DIR "/w"
#define MASTER_ADDRESS "10.0.0.1:5050"
#define MASTER_PID "master@" MASTER_ADDRESS

/* All of them. */
struct cluster {
	struct world *world;
	struct master_part *master;
	struct agent_part **agents;
	struct scheduler_part **schedulers;
	int agent_count, scheduler_count;
};

/* ---- master ------------------------------------------------------------------ */

struct master_part *master_part_create(struct world *w);
void master_part_destroy(struct master_part *part);
bool master_part_alive(const struct master_part *part);
struct process *master_part_process(struct master_part *part);
/* It comes back by itself. */
void master_part_kill(struct master_part *part, bool crash);
/* A call of the operator API. Its status; 0 = it comes later, and with it `answer` is called
 * once, unless this life ends before. 503 if there is no master. An answer that comes at once
 * goes to `answer`, too. */
int master_part_operate(struct master_part *part, Mesos__Master__Call *call, uint64_t number,
			void (*answer)(void *context, uint64_t number, int status,
				       const char *text),
			void *context);
struct disk *master_part_disk(struct master_part *part);
/* What its core still has of frameworks that are over. */
bool master_part_waits(const struct master_part *part); /* for a scheduler, in vain */
void master_part_left(const struct master_part *part, struct buf *out);
/* Ends its life: the next one sees the clock wrong by `skew`. */
void master_part_set_clock(struct master_part *part, int64_t skew);

/* ---- agents -------------------------------------------------------------------- */

struct agent_part;
struct agent_part *agent_part_create(struct world *w, int number, const char *resources);
void agent_part_destroy(struct agent_part *part);
bool agent_part_alive(const struct agent_part *part);
struct process *agent_part_process(struct agent_part *part);
/* It comes back by itself; executors live on unless the machine crashed. */
void agent_part_kill(struct agent_part *part, bool crash);
const char *agent_part_name(const struct agent_part *part);
/* The id that the master gave it, as it heard last; or NULL. */
const char *agent_part_id(const struct agent_part *part);
/* Those that it had before and will not have again; NULL after the last. */
const char *agent_part_former_id(const struct agent_part *part, int at);
struct disk *agent_part_disk(struct agent_part *part);
/* What it still has of frameworks that are over, in its core and on its disk. */
void agent_part_left(struct agent_part *part, struct buf *out);
void agent_part_set_clock(struct agent_part *part, int64_t skew);
/* What runs there, for a failure's report. */
void agent_part_describe(const struct agent_part *part, struct buf *out);
/* Whether nothing runs there. */
bool agent_part_idle(const struct agent_part *part);

/* -- for executors -- */

struct executor_part;
const char *agent_part_address(const struct agent_part *part);
/* The executor's process ended with this wait status; frees it. */
void agent_part_exited(struct agent_part *part, struct executor_part *executor, int status);

/* ---- executors ------------------------------------------------------------------ */

/* Starts one for a container. `environment` is the process's. */
struct executor_part *executor_part_create(struct world *w, struct agent_part *agent,
					   const char *container, char *const *environment);
/* Gone without a trace: the machine crashed, or the container was destroyed. */
void executor_part_destroy(struct executor_part *part);
const char *executor_part_container(const struct executor_part *part);

/* What a task does is in its name, "<seconds> <end> [<manner>]". Ends:
 *	finish, fail, killed, lost, gone, dropped, error	it says so
 *	crash, signal, exit	its executor does
 *	hang, deaf		when it is killed; or, deaf, its container destroyed
 * Manners: of a shy one nothing is heard for long, a lazy one is starting for long, a sudden
 * one runs without starting, and a gentle one says that it is being killed. */

/* ---- schedulers ------------------------------------------------------------------- */

struct scheduler_options {
	int number;
	const char *role;
	const char *more_roles[2]; /* or NULL */
	bool partition_aware, checkpoint, own_executor;
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
					     const struct scheduler_options *options);
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
