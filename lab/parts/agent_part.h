/* An agent of the simulation, within lab/parts/agent_*.c.
 *
 *	agent_part.c	    its lives: the core, what comes in and what goes out
 *	agent_containers.c  its containers, which outlive them
 *	agent_volumes.c	    directories of volumes, which outlive all */
#ifndef LAB_PARTS_AGENT_PART_H
#define LAB_PARTS_AGENT_PART_H

#include "agent/containers/core/containers.h"
#include "agent/core/agent.h"
#include "agent/steps/steps.h"
#include "lab/parts/parts.h"
#include "lab/seams/seams.h"
#include "lab/world/disk.h"

#define AGENT_LINE 0 /* the only one of its disk */

struct agent_part {
	struct world *world;
	int number;
	char *name, *address;
	char *id;      /* as the master says, or NULL */
	char **former; /* ids before that */
	int former_count;
	struct process process;
	bool alive, crashed;
	struct agent_steps steps;      /* with the core, while it is alive */
	struct containers *containers; /* likewise */
	struct rng rng;
	struct disk disk;
	struct resource_shapes *shapes;
	struct resources total;
	struct happening tick, start, detect;
	struct sim_loop loop;	   /* while it is alive, if there are several masters, */
	struct detector *detector; /* and this */
	uint64_t next_call;
	struct happening late;	 /* it continues, and hears of what was stored meanwhile */
	int64_t skew, next_skew; /* of the host's clock: in this life, and in the next one */
	struct list hosted;	 /* struct host_container.link: what runs on its host */
	struct list works;	 /* struct work.link: on volumes, under way */
	int64_t last_pid;
	uint64_t last_stream;
};

/* The core takes a step, with all its consequences; nothing if it is not alive. */
void agent_part_feed(struct agent_part *part, const struct agent_event *event);

/* ---- containers ------------------------------------------------------------------- */

extern const struct container_backend agent_part_host; /* its context is the agent's part */
/* The machine is gone, and they with it. */
void agent_part_drop_containers(struct agent_part *part);

/* ---- volumes ---------------------------------------------------------------------- */

/* They are put into a container that starts. */
void agent_part_use_volumes(struct agent_part *part, const struct agent_volumes *volumes);
/* The agent hears of the end, which may be now. */
void agent_part_make_volumes(struct agent_part *part, const struct agent_action *action);
void agent_part_link_volumes(struct agent_part *part, const struct agent_action *action);
void agent_part_remove_volume(struct agent_part *part, const char *path);
/* This life of the agent is over: what is not done stays as it is. */
void agent_part_end_works(struct agent_part *part);

#endif
