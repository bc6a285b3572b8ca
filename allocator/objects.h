/* The allocator's objects, and where its parts are. Internal to allocator/.
 *
 *	allocator.c   creation, options, looking in
 *	quantities.c  sums of scalars
 *	memory.c      what must outlive the process
 *	figures.c     figures for metrics
 *	audit.c       whether sums are right
 *	sorting/      names and shares, groups in the order of shares, walks over them
 *	roles/	      the tree of roles, what they are charged for, frameworks in them
 *	agents/	      agents, what is held and was refused there, which of them take part
 *	quota/	      guarantees, limits, what is held back for them
 *	cycle/	      which agents a cycle sees, and who is offered what of them
 *	constraints/  offer constraints, and the expressions in them
 *
 * Work follows changes. An agent whose evaluation gave nothing more is *settled*:
 * as whoever declines a set of resources declines each part of it, nothing can be
 * offered from it until it *changed* (more is free, it was activated), a filter on
 * it went (its stake is *woken*), or a leaf became more *willing* (activated,
 * revived, new capabilities). `willing_clock` counts the latter; an agent remembers
 * its value at its last evaluation, and only leaves that became willing since are
 * tried there again. What quota adds to that is in allocator/quota_objects.h.
 */
#ifndef ALLOCATOR_OBJECTS_H
#define ALLOCATOR_OBJECTS_H

#include "allocator/allocator.h"
#include "allocator/quantities.h"
#include "allocator/quota_objects.h"
#include "allocator/sorting/lottery.h"
#include "base/list.h"
#include "base/memory/buf.h"
#include "base/table.h"
#include "base/time/timer.h"

/* Of a thing that the owner stores a record of. */
struct memory_record {
	struct list changed; /* in the allocator's list while the record is out of date */
	bool stored;	     /* there is one */
};

struct pool_name {
	UT_hash_handle hh;
	uint32_t number;
	bool excluded; /* from shares */
	char text[];
};

/* What all agents have together. */
struct pool {
	struct pool_name *names; /* by text */
	struct pool_name **by_number;
	struct quantities total;
	struct quantities change; /* scratch: all zero */
	double *divisors;	  /* the total, by number of the name; 0: counts for no share */
	uint64_t epoch;		  /* rises when the total changes: then all shares did */
};

/* Something that has a share: a role's subtree, a role itself beside its children,
 * or a framework in a role. */
struct sorter_node {
	struct sorter_group *group; /* NULL while inactive */
	const char *name;	    /* among its siblings; not owned */
	struct quantities sum;	    /* offered or allocated */
	double *values;		    /* the same, to be divided by the pool's */
	uint64_t count;		    /* how often it was given something */
	double weight;
	double key;	    /* share / weight when last sorted */
	uint64_t key_count; /* `count` when last sorted */
	struct list stale;  /* in the group's list while the two above are old */
};

/* A part of a group. */
struct sorter_chunk {
	uint32_t count;
	uint32_t cap;
	struct sorter_node *members[];
};

/* Active siblings, always ordered by their (key, key_count, name), in chunks so that one
 * that moves does not move all. */
struct sorter_group {
	struct sorter_chunk **chunks; /* none is empty */
	uint32_t chunk_count;
	uint32_t chunk_cap;
	uint32_t count; /* members */
	uint64_t epoch; /* of the pool when the keys were computed */
	struct list stale;
};

/* A place in a group. Zero is before the first member. */
struct sorter_cursor {
	uint32_t chunk;
	uint32_t index;
};

/* A role that frameworks are in, or an ancestor of one. With child roles its own
 * frameworks compete with the children as the virtual leaf `self`. */
struct role {
	UT_hash_handle hh; /* in the parent's children, by component */
	struct role *parent;
	struct account *account;
	char *component;
	unsigned depth;
	struct sorter_node node; /* the subtree, among its siblings */
	struct sorter_node self; /* its own frameworks; member of `group` if it has children */
	struct role *children;
	struct sorter_group group;	  /* the active children, and `self` */
	struct sorter_group frameworks;	  /* nodes of leaves */
	size_t leaves;			  /* frameworks tracked */
	size_t active;			  /* active leaves in the subtree */
	size_t own_minima;		  /* leaves that have their own */
	struct sorter_cursor cursor;	  /* of a walk: in `group`, ... */
	struct sorter_cursor leaf_cursor; /* and in `frameworks` */

	/* -- random sorter -- */
	double chance;		/* of its own frameworks, among all active roles */
	double chance_unit;	/* of a member of `group` of weight 1 */
	struct lottery lottery; /* of its active leaves */
	uint64_t lottery_of;	/* the cycle that it was made in */
	double key;		/* its place among a few roles ... */
	uint64_t key_of;	/* and the sort that drew it */

	size_t filters; /* of its own frameworks */
	struct memory_record memory;
};

/* One of the groups at the top of the tree, in a walk that merges them. */
struct walk_source {
	struct sorter_group *group;
	struct sorter_cursor cursor;
	struct sorter_node *next;
};

/* Which roles a walk meets. */
enum walk_kind {
	WALK_ALL,
	WALK_OPEN,  /* but those with too little left */
	WALK_UNMET, /* those that lack something */
	WALK_KINDS
};

struct minima {
	struct allocator_amounts *any_of; /* owned, with the names */
	size_t count;
};

struct alloc_framework {
	UT_hash_handle hh;
	char *id;
	void *owner;
	bool active;
	bool gpu_resources, revocable_resources, shared_resources;
	bool reservation_refinement, multi_role, region_aware;
	const struct constraints *constraints;
	struct leaf *leaves;
	struct list inverse; /* inverse offers and filters */
};

/* A framework in a role: subscribed, or holding something there still. */
struct leaf {
	UT_hash_handle hh; /* in the framework, by role */
	struct alloc_framework *framework;
	char *role_name;
	struct role *role;
	bool subscribed;
	bool suppressed;
	bool own_minima;
	struct minima minima;
	struct sorter_node node;
	struct list stakes;
	size_t holdings; /* stakes that hold something */
	uint64_t willing_at;
	struct list willing; /* in the allocator's list, the latest last */
	uint64_t mark;	     /* the last evaluation that has seen it */
	struct list ghost;   /* in the allocator's list while only its count is known */
	struct memory_record memory;
};

struct alloc_agent {
	UT_hash_handle hh;
	char *id;
	void *owner;
	const Mesos__AgentInfo *info; /* the owner's; NULL: nothing was said */
	char *region;
	uint64_t number; /* order of arrival = order of evaluation */
	bool added;
	bool active;
	bool gpus;
	bool multi_role, hierarchical_role;
	struct resources total;
	struct resources used; /* without allocation roles */
	struct resources free; /* valid if free_known */
	bool free_known;
	struct list stakes;
	size_t filters;
	struct refusal *refusal; /* the latest, while there are filters */

	bool changed;	       /* settled for no leaf */
	struct list woken;     /* stakes whose filters went */
	uint64_t settled;      /* willing_clock at the last evaluation */
	struct list dirty;     /* changed or woken, and active */
	struct list spare;     /* evaluated, with something left */
	struct list candidate; /* an event asks for a cycle over it */
	uint64_t mark;	       /* the last cycle that visited it */
	/* The last cycle in parts that came across it in the list, and that visited it. */
	uint64_t dirty_part, spare_part, visited_part;

	char *hostname;
	bool unlisted;	       /* the whitelist leaves it out */
	bool ghost;	       /* remembered, but not added yet */
	struct list returning; /* was a ghost until now */
	struct list window;    /* in the allocator's list while it has a maintenance window */
	struct list inverse;   /* inverse offers and filters */
	struct memory_record memory;

	/* -- quota -- */
	struct list blocked;		  /* something was cut off an offer */
	bool brittle;			  /* and there are whole disks among what is free */
	bool revocable;			  /* its total has something revocable */
	struct list revocable_stale;	  /* in a list while the next is old */
	struct quantities revocable_free; /* as counted in the allocator's sum */
};

/* Whether it is offered from. */
static inline bool alloc_agent_open(const struct alloc_agent *agent)
{
	return agent->active && !agent->unlisted;
}

struct stake_key {
	struct alloc_agent *agent;
	struct leaf *leaf;
};

/* One leaf's business on one agent; gone when there is none. */
struct stake {
	struct stake_key key;
	struct list of_agent;
	struct list of_leaf;
	struct list woken;
	struct resources held; /* with allocation roles */
	struct list filters;
};

struct stake_slot {
	struct stake *stake; /* NULL = free */
	uint32_t hash;
};

struct stake_table {
	struct stake_slot *slots;
	uint32_t count;
	uint32_t cap; /* 0 or a power of two */
};

/* What was refused. Filters on an agent that refuse the same share it. */
struct refusal {
	uint32_t refs;
	struct resources resources;
};

struct filter {
	struct timer timer;
	struct stake *stake;
	struct list link;    /* in the stake */
	struct list overdue; /* expired, but no batch has met it yet */
	uint64_t born;	     /* batches at creation */
	uint64_t number;
	int64_t since;
	struct memory_record memory;
	struct refusal *refusal;
};

/* The shared volumes of an agent that a node holds: however many copies of one, it
 * counts once. */
struct share_key {
	struct sorter_node *node;
	struct alloc_agent *agent;
};
struct share_use {
	UT_hash_handle hh;
	struct share_key key;
	struct resources volumes; /* the shared part of what it holds */
};

/* An agent in a cycle. */
struct visit {
	struct alloc_agent *agent;
	uint64_t number;	 /* of the agent */
	struct resources shared; /* shared volumes offered in this cycle */
	size_t first_grant;	 /* those of the first stage */
	size_t grants;
	bool full; /* all leaves are tried */
	bool cut;  /* quota cut something off an offer, */
	bool held; /* the headroom did */
};

struct allocator {
	struct resource_shapes *shapes;
	int64_t interval;
	bool filter_gpus;
	char *region;
	struct minima minima;
	size_t own_minima; /* leaves that have their own */

	struct pool pool;
	struct role root;
	size_t role_count; /* below it */
	struct alloc_framework *frameworks;
	struct alloc_agent *agents;
	uint64_t last_agent;
	struct stake_table stakes;
	struct share_use *shares;

	struct timers timers; /* of filters */
	struct list overdue;
	size_t filters;
	uint64_t batches; /* cycles over all that were run, and one */
	uint64_t last_filter;

	struct host *whitelist; /* by name; only if `whitelisted` */
	bool whitelisted;
	bool held;
	size_t hold_agents; /* still to be added */
	int64_t hold_until;
	struct inverse *inverse; /* by agent and framework */
	struct list windows;	 /* agents that have one */
	struct {
		bool on;
		struct list leaves, roles, agents, filters; /* whose records changed */
		struct buf gone;			    /* notes of those to be deleted */
		struct list returning;			    /* since the owner asked last */
		struct list ghost_leaves;
		size_t ghosts; /* agents */
	} memory;

	bool all_candidates;
	struct list candidates;
	struct list dirty;
	struct list spare;
	struct list willing;
	uint64_t willing_clock;
	uint64_t visited; /* willing_clock when all agents were last visited */
	uint64_t cycles;
	/* Of a cycle over all that comes in parts. */
	bool in_parts; /* it is under way */
	uint64_t cycles_in_parts;
	uint64_t willing_before; /* willing_clock when it began */
	uint64_t quota_before;	 /* and quota_version */
	uint64_t evaluations;
	struct visit *visit; /* scratch of the cycle */
	size_t visit_cap;
	struct resource_piece *scratch;
	size_t scratch_cap;
	struct leaf **wakers;
	size_t waker_cap;
	struct role *walk; /* whose group the walk is in; NULL after the last */
	enum walk_kind walk_kind;

	struct rng *random; /* of the random sorter; NULL = DRF */
	struct lottery role_lotteries[WALK_KINDS];
	uint64_t lottery_of[WALK_KINDS]; /* the cycle that they were made in */
	uint64_t chances_of;		 /* the cycle that they were computed in */
	uint64_t random_sorts;
	struct walk_source sources[3]; /* of the walk at the top */
	size_t source_count;

	/* -- quota -- */
	struct account accounts;	  /* the root; charged for nothing itself */
	struct sorter_group unmet;	  /* top-level roles that lack something */
	struct sorter_group exhausted;	  /* those with too little left */
	struct quantities required;	  /* what all roles lack */
	struct quantities reserved;	  /* of the agents' totals */
	struct quantities reserved_held;  /* of what is charged to roles */
	struct quantities revocable_free; /* on all agents */
	struct list revocable_stale;	  /* agents whose part in that is old */
	struct list loose;		  /* quotas */
	struct list regroup;		  /* quotas */
	struct list blocked;		  /* agents */
	size_t lackers;			  /* roles with active leaves that lack something */
	size_t lacking[QUOTA_NAMES];	  /* and those that lack the name */
	size_t quotas;
	struct headroom headroom;
	bool headroom_rose; /* before this cycle */
	bool low_known;	    /* some blocked agent was cut by the headroom */
	struct quantities low;
	uint64_t quota_version; /* rises with whatever quota could see */
	uint64_t quota_begun;	/* as this cycle began */
	uint64_t quota_seen;	/* and the last one over all */
	bool brittle;		/* some agent may be */
	struct budget *budgets; /* scratch, by number of name */
	uint32_t budget_cap;
	uint64_t cuts;
	int64_t *guaranteed; /* scratch, by piece of the offer: the part for the guarantee */
	size_t guaranteed_cap;
};

#endif
