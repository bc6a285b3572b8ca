/* The disasters of a simulated cluster. Each fault has a number and random numbers of its
 * own, made of the seed and that number: leaving one out leaves the choices of the others as
 * they are. */
#ifndef LAB_SCENARIO_FAULTS_H
#define LAB_SCENARIO_FAULTS_H

#include "lab/parts/operators.h"
#include "lab/parts/parts.h"
#include "lab/world/wires.h"

struct faults {
	const struct cluster *cluster;
	struct happening next;
	int64_t every;	/* ns: mean time between two */
	uint64_t count; /* begun so far */
	struct rng rng; /* of the present one */
	/* If set: whether the fault of this number is left out. */
	bool (*skip)(void *context, uint64_t number);
	void *context;
	struct operators operators;
};

void faults_begin(struct faults *faults, const struct cluster *cluster, int64_t every);
/* No more of them; partitions, broken disks and the like are over, and operators begin to undo
 * what they did. */
void faults_end(struct faults *faults);
void faults_free(struct faults *faults);
/* One, now. */
void faults_strike(struct faults *faults, enum world_fault fault);

#endif
