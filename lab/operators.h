/* Operators of a simulated cluster: they drain, deactivate and reactivate agents, set quota
 * and weights, and plan maintenance; in the end all of it is undone. */
#ifndef LAB_OPERATORS_H
#define LAB_OPERATORS_H

#include "lab/parts.h"

/* What was done to an agent, and is to be undone. */
struct operated_agent {
	char *id; /* that it had then */
	bool closed;
	bool scheduled, down; /* for maintenance */
};

struct operators {
	const struct cluster *cluster;
	struct operated_agent *agents;
	bool quota[2];
	bool schedule; /* not empty */
	struct happening undo;
};

void operators_init(struct operators *o, const struct cluster *cluster);
void operators_free(struct operators *o);
/* Changes something. */
void operators_act(struct operators *o, struct rng *rng);
/* Begins to undo everything, and goes on until it is. */
void operators_undo(struct operators *o);
bool operators_idle(const struct operators *o);

#endif
