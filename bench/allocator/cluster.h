/* A cluster as one of Mesos' allocator benchmarks has it, and an allocator for it. */
#ifndef BENCH_ALLOCATOR_CLUSTER_H
#define BENCH_ALLOCATOR_CLUSTER_H

#include "allocator/allocator.h"
#include "base/random.h"

enum volumes { VOLUMES_NONE, VOLUMES_REGULAR, VOLUMES_SHARED, VOLUMES_MIXED };

/* What all its agents and frameworks look like. Used resources are dealt to the frameworks
 * in turn. */
struct workload {
	const char *name;
	const char *role;
	const char *total; /* of an agent, as text; all static reservations are to `role` */
	const char *used;  /* of that */
	bool revocable;	   /* the frameworks take revocable resources */
	bool labels;	   /* used besides: two reservations of 8 cpus with labels of their own */
	enum volumes volumes;
	int suppressed; /* percent of the frameworks, from the start */
	int rounds;	/* cycles after which offers come back unfiltered */
	int rising;	/* percent of the frameworks that go silent before each of them */
};

struct cluster {
	const struct workload *workload;
	struct resource_shapes *shapes;
	struct allocator *a;
	struct rng rng;
	struct allocator_grants grants; /* of the last cycle */
	int64_t now;
	int agents;
	int frameworks;
	struct alloc_agent **agent_handles; /* by number; grants have places in these */
	struct alloc_framework **framework_handles;
	struct resources *totals, *used; /* between cluster_prepare and cluster_forget */
	int kinds;			 /* of agents */
};

void cluster_open(struct cluster *c, const struct workload *workload, int agents, int frameworks,
		  bool random);
void cluster_close(struct cluster *c);

/* Makes the resources of all agents, which is the clients' work and not the allocator's, and
 * frees them. */
void cluster_prepare(struct cluster *c);
void cluster_forget(struct cluster *c);

void cluster_add_frameworks(struct cluster *c);
void cluster_add_agents(struct cluster *c);
void cluster_use_agents(struct cluster *c);
/* Both, and the cycle that the agent asks for, one agent after the other. Returns how many
 * offers that made. */
size_t cluster_add_one_by_one(struct cluster *c);
void cluster_oversubscribe(struct cluster *c); /* 10 revocable cpus more on each */
/* Tasks end on every n-th agent: what was used there is given back. */
void cluster_end_tasks(struct cluster *c, int n);
/* The frameworks from..to-1. */
void cluster_suppress(struct cluster *c, int from, int to);
void cluster_revive(struct cluster *c, int framework);

/* Frees the grants of the last cycle, which is its caller's work and not the allocator's: to
 * be called before a cycle is measured. */
void cluster_drop_grants(struct cluster *c);
/* A cycle over all a second later, or the one that events ask for. */
void cluster_tick(struct cluster *c);
void cluster_event(struct cluster *c);
/* Gives all grants of the last cycle back; NULL: without a filter. */
void cluster_decline(struct cluster *c, const struct allocator_filter *filter);

/* Ids of the i-th. */
void cluster_agent_id(int i, char out[32]);
void cluster_framework_id(int i, char out[32]);

#endif
