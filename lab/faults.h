/* The disasters of a simulated cluster. Each fault has a number and random numbers of its
 * own, made of the seed and that number: leaving one out leaves the choices of the others as
 * they are. */
#ifndef LAB_FAULTS_H
#define LAB_FAULTS_H

#include "lab/parts.h"
#include "lab/world.h"

/* The parts that faults may strike. */
struct cluster {
	struct world *world;
	struct master_part *master;
	struct agent_part **agents;
	struct scheduler_part **schedulers;
	int agent_count, scheduler_count;
};

struct faults {
	const struct cluster *cluster;
	struct happening next;
	int64_t every;	/* ns: mean time between two */
	uint64_t count; /* begun so far */
	struct rng rng; /* of the present one */
	/* If set: whether the fault of this number is left out. */
	bool (*skip)(void *context, uint64_t number);
	void *context;
};

void faults_begin(struct faults *faults, const struct cluster *cluster, int64_t every);
/* No more of them; partitions, broken disks and the like are over. */
void faults_end(struct faults *faults);
/* One, now. */
void faults_strike(struct faults *faults, enum world_fault fault);

#endif
