/* Operators of a simulated cluster: they drain, deactivate and reactivate agents, mark them
 * gone, set quota and weights, plan maintenance and tear frameworks down. In the end all that
 * can be undone is.
 *
 *	operators_calls.c  what they can do
 *	operators.c	   what they do by chance, and undoing it */
#ifndef LAB_PARTS_OPERATORS_H
#define LAB_PARTS_OPERATORS_H

#include "lab/parts/parts.h"

#define OPERATED_ROLES 8

/* What was done to an agent, and is to be undone. */
struct operated_agent {
	char *id; /* that it had then */
	bool closed;
	bool scheduled, down;	  /* for maintenance */
	unsigned closings, stops; /* calls about each, see operators_calls.c */
};

struct operated_role {
	char *name;
	bool quota;
	unsigned quotas; /* calls about it */
};

struct operators {
	const struct cluster *cluster;
	struct operated_agent *agents;
	struct operated_role roles[OPERATED_ROLES];
	int role_count;
	bool schedule;	    /* not empty */
	unsigned schedules; /* calls about it */
	struct happening undo, bury;
	bool burying; /* its calls are shown only if they do something */
};

void operators_init(struct operators *o, const struct cluster *cluster);
void operators_free(struct operators *o);
/* Changes something. */
void operators_act(struct operators *o, struct rng *rng);
/* Begins to undo everything, and goes on until it is. */
void operators_undo(struct operators *o);
bool operators_idle(const struct operators *o);

/* ---- calls: of agents and schedulers that are there, by their numbers ------------------- */

#define NO_GRACE (-1)
#define NO_AGENT (-1)

void operators_deactivate(struct operators *o, int agent);
void operators_drain(struct operators *o, int agent, int64_t grace_seconds, bool gone);
void operators_reactivate(struct operators *o, int agent);
void operators_mark_gone(struct operators *o, int agent);
/* In cpus; none, if `most` is 0. The place of the role is found or made; no more than
 * OPERATED_ROLES are known. */
void operators_set_quota(struct operators *o, const char *role, double least, double most);
void operators_set_weight(struct operators *o, const char *role, double weight);
/* The schedule has all that are down and, unless NO_AGENT, one more from so much later on. */
void operators_schedule(struct operators *o, int more, int64_t later);
void operators_clear_schedule(struct operators *o);
void operators_begin_maintenance(struct operators *o, int agent);
void operators_end_maintenance(struct operators *o, int agent);
void operators_tear_down(struct operators *o, int scheduler);
/* Ends frameworks to which nobody comes back: a master that heard of one from an agent keeps
 * it for ever. And marks agents gone that have another id now: what is on them is
 * unreachable for weeks. */
void operators_bury(struct operators *o);

#endif
