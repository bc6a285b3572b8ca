/* The parts of a simulated cluster: the production cores of master and agent with their
 * shells simulated, and models of schedulers, executors and tasks.
 *
 *	master_part.c	 a master on its disk, killed and started again
 *	agent_part.c	 an agent, its disk
 *	agent_containers.c  its containers
 *	agent_volumes.c	 its volumes
 *	executor_part.c	 what runs in a container: the executor and its scripted tasks
 *	scheduler_part.c a framework's scheduler (scheduler_part.h)
 *
 * A part outlives the lives of its process. */
#ifndef LAB_PARTS_PARTS_H
#define LAB_PARTS_PARTS_H

#include "lab/world/wires.h"
#include "proto/proto.h"

#define AGENT_IP "10.0.1.1"
#define AGENT_WORK_DIR "/w"
#define MASTER_ADDRESS "10.0.0.1:5050"
#define MASTER_PID "master@" MASTER_ADDRESS

/* All of them. */
struct cluster {
	struct world *world;
	struct master_part **masters;
	int master_count;
	struct agent_part **agents;
	struct scheduler_part **schedulers;
	int agent_count, scheduler_count;
};

/* The one that acts, or the only one; NULL: nobody does. */
struct master_part *cluster_master(const struct cluster *cluster);

/* ---- master ------------------------------------------------------------------ */

struct ensemble;
/* Alone (NULL, 0), or of several, from 1. */
struct master_part *master_part_create(struct world *w, struct ensemble *ensemble, int number);
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
/* It leads, or is alone, and has begun to act. */
bool master_part_acts(const struct master_part *part);
const char *master_part_address(const struct master_part *part);
/* NULL: what it stores is not on its machine. */
struct disk *master_part_disk(struct master_part *part);
/* Whether it waits for a scheduler that does not come back. */
bool master_part_waits(const struct master_part *part);
/* What its core still has of frameworks that are over. */
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
void agent_part_end_deaf(struct agent_part *part); /* executor_part_end_deaf() of all */

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
/* Somebody ends its process by hand if it has a deaf task: nothing else would, if no scheduler
 * knows of it. */
void executor_part_end_deaf(struct executor_part *part);

/* What a task does is in its name, "<seconds> <end> [<manner>]". Ends:
 *	finish, fail, killed, lost, gone, dropped, error	it says so
 *	crash, signal, exit	its executor does
 *	hang, deaf		when it is killed; or, deaf, its container destroyed
 * Manners: of a shy one nothing is heard for long, a lazy one is starting for long, a sudden
 * one runs without starting, and a gentle one says that it is being killed. */

#endif
