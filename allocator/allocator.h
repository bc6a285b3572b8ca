/* Allocator: who is offered what. Hierarchical DRF over roles and frameworks,
 * pure: no I/O, no clock; time is handed in and decisions come out as a list of grants.
 *
 * The owner has a handle of each framework and agent that it knows, and gets its own
 * object back with whatever the allocator says of them; roles are texts. The allocator
 * copies what it is given, but for what it says it borrows. A resource of an agent is at any time
 * free, or allocated to one framework under one role (offered or used: the allocator does not care
 * which); the master says so by recover, by grants it accepted silently, and by convert
 * when operations convert resources.
 *
 * Amounts carry their allocation role (resources_allocate) in every call that
 * speaks of allocated resources.
 */
#ifndef ALLOCATOR_ALLOCATOR_H
#define ALLOCATOR_ALLOCATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "proto/proto.h"
#include "proto/resources.h"

struct allocator;
struct alloc_framework; /* handles */
struct alloc_agent;
struct constraints;

struct allocator_options {
	struct resource_shapes *shapes;	       /* shared with the owner, not owned */
	int64_t allocation_interval;	       /* ns; the batch period, also the least filter */
	const char *min_allocatable_resources; /* "cpus:0.01|mem:32", "" = anything; NULL = Mesos'
						  default */
	const char *fair_sharing_excluded;     /* comma-separated names, or NULL */
	bool filter_gpu_resources; /* keep agents with gpus for GPU_RESOURCES frameworks */
	const char *region;	   /* of the master's fault domain; NULL = none */
	/* The random sorter in place of DRF: roles and frameworks in a random order, the
	 * weights being their chances. NULL = DRF. The owner's. */
	struct rng *random;
	bool remembers; /* the owner stores allocator_changes() */
};

/* The least that an offer for `role` must hold, instead of the option's: one of the
 * sets (FrameworkInfo.offer_filters). */
struct allocator_amount {
	const char *name;
	int64_t milli;
};
struct allocator_amounts {
	const struct allocator_amount *items; /* all of them */
	size_t count;
};
struct allocator_minimum {
	const char *role;
	const struct allocator_amounts *any_of;
	size_t count; /* 0: anything will do */
};

/* What the allocator must know of a framework. */
struct allocator_framework {
	const char *id;		  /* that it is added with, and keeps */
	const char *const *roles; /* subscribed */
	size_t role_count;
	const char *const *suppressed_roles; /* subset of roles */
	size_t suppressed_count;
	bool active;
	bool gpu_resources, revocable_resources, shared_resources; /* capabilities */
	bool reservation_refinement, multi_role, region_aware;
	const struct allocator_minimum *minima;
	size_t minimum_count;
	/* Offer constraints, or NULL. Borrowed until something else is said of it. */
	const struct constraints *constraints;
};

/* One offer to make: resources of one agent, allocated to one role. */
struct allocator_grant {
	void *framework; /* the owner's */
	void *agent;
	const char *role;	    /* valid until the next call into the allocator */
	struct resources resources; /* owned by the list */
};

/* One inverse offer to make: an agent with a maintenance window, and a framework that
 * holds something there. */
struct allocator_inverse {
	void *framework; /* the owner's */
	void *agent;
};

struct allocator_grants {
	struct allocator_grant *items;
	size_t count;
	size_t cap;
	struct allocator_inverse *inverse;
	size_t inverse_count;
	size_t inverse_cap;
};

/* Refused: which of a framework's resources should not be offered again soon. */
struct allocator_filter {
	double refuse_seconds; /* as the scheduler said; the allocator clamps (master.md 5.6) */
};
#define ALLOCATOR_REFUSE_DEFAULT 5.0 /* Filters.refuse_seconds' default, seconds */

int allocator_create(const struct allocator_options *options, struct allocator **out,
		     struct err *err);
void allocator_destroy(struct allocator *allocator);

/* A framework that was not there. The handle is valid until it is removed. */
struct alloc_framework *allocator_add_framework(struct allocator *a, void *owner,
						const struct allocator_framework *say);
/* Replaces all that was said (roles, suppressed roles, capabilities, constraints, active). */
void allocator_update_framework(struct allocator *a, struct alloc_framework *framework,
				const struct allocator_framework *say);
void allocator_activate_framework(struct allocator *a, struct alloc_framework *framework,
				  bool active);
/* What it holds goes back to the agents. */
void allocator_remove_framework(struct allocator *a, struct alloc_framework *framework);

/* An agent of which the owner has heard and that takes no part until it is added. The handle is
 * valid until it is removed. */
struct alloc_agent *allocator_meet_agent(struct allocator *a, const char *id, void *owner);
/* It takes part now, active; at its second time just its total changes. `total` has no allocation
 * roles. What is used of it is said for each framework afterwards with allocator_restore. */
void allocator_add_agent(struct allocator *a, struct alloc_agent *agent,
			 const struct resources *total);
void allocator_update_agent(struct allocator *a, struct alloc_agent *agent,
			    const struct resources *total);
void allocator_activate_agent(struct allocator *a, struct alloc_agent *agent, bool active);
void allocator_remove_agent(struct allocator *a, struct alloc_agent *agent);
/* An agent is taken to have both until this says otherwise. */
void allocator_set_agent_capabilities(struct allocator *a, struct alloc_agent *agent,
				      bool multi_role, bool hierarchical_role);
/* What constraints look at: host name, attributes, domain. Borrowed until the next one; it is
 * given before the agent is added. The region of its domain is that of the agent. */
void allocator_set_agent_info(struct allocator *a, struct alloc_agent *agent,
			      const Mesos__AgentInfo *info);
/* The agent's attributes changed: what frameworks refused before says nothing now. */
void allocator_forget_filters(struct allocator *a, struct alloc_agent *agent);

/* Resources that a framework already uses on an agent (reregistration; recovery). */
void allocator_restore(struct allocator *a, struct alloc_framework *framework,
		       struct alloc_agent *agent, const struct resources *allocated);
/* Allocated resources come back, unused or no longer used. `filter` NULL = no filter. */
void allocator_recover(struct allocator *a, int64_t now, struct alloc_framework *framework,
		       struct alloc_agent *agent, const struct resources *allocated,
		       const struct allocator_filter *filter);
/* The framework's `before` on the agent became `after` (reserve, create, ...); the
 * agent's total changes with it. With an empty `before`, `after` is one more copy of a
 * shared volume and the total stays. */
void allocator_convert(struct allocator *a, struct alloc_framework *framework,
		       struct alloc_agent *agent, const struct resources *before,
		       const struct resources *after);

/* -- quota and weights -- */

/* Of a top-level role. Names without an entry: guarantee 0, limit infinite. */
struct allocator_quota {
	struct allocator_amounts guarantees, limits;
};
/* Replaces the role's quota; NULL or both empty removes it. Known or not, the role keeps it.
 * Takes effect at the next cycle; nothing is taken back. A nested role has none: ignored. */
void allocator_set_quota(struct allocator *a, const char *role,
			 const struct allocator_quota *quota);
/* `weight` is positive and finite; 1 is that of roles never named. */
void allocator_set_weight(struct allocator *a, const char *role, double weight);
/* What of the name the role and those below it are charged for, in thousandths:
 * reservations to them, used or not, and what is allocated to them unreserved and not
 * revocable. */
int64_t allocator_quota_consumed(const struct allocator *a, const char *role, const char *name);
/* What of the name is offered or allocated to frameworks in the role and those below it, in
 * thousandths. */
int64_t allocator_role_held(const struct allocator *a, const char *role, const char *name);

/* -- which agents take part -- */

/* Only agents of these hosts are offered from; NULL = all. Takes effect at the next cycle. */
void allocator_set_whitelist(struct allocator *a, const char *const *hostnames, size_t count);
/* Until so many agents were added or this time has come nothing is offered (restart of a
 * master with quota: they could not be kept by the first few agents). 0 agents = no hold. */
void allocator_hold(struct allocator *a, size_t agents, int64_t until);

/* -- maintenance -- */

/* Whether the agent has a window. Ends what is known of inverse offers for it: the owner
 * rescinded them. */
void allocator_set_unavailability(struct allocator *a, struct alloc_agent *agent, bool scheduled);
/* An inverse offer is outstanding no more: answered (with a filter) or rescinded (NULL).
 * The allocator makes no other one for the pair until then. */
void allocator_end_inverse(struct allocator *a, int64_t now, struct alloc_framework *framework,
			   struct alloc_agent *agent, const struct allocator_filter *filter);

/* No roles named = all of the framework's. Revive also clears its filters. */
void allocator_suppress(struct allocator *a, struct alloc_framework *framework,
			const char *const *roles, size_t count);
void allocator_revive(struct allocator *a, struct alloc_framework *framework,
		      const char *const *roles, size_t count);

/* Runs an allocation over the agents that something changed for since the last
 * cycle, or over all (`all`, the periodic batch). Expired filters are dropped
 * first. Grants are appended; the resources count as allocated from now on. Agents are
 * served in order of arrival and their resources as they are listed (Mesos shuffles both),
 * so the same events make the same grants. */
void allocator_cycle(struct allocator *a, int64_t now, bool all, struct allocator_grants *out);
/* The same over all, in parts of `max` agents at most, for who cannot wait until it is done: begins
 * one, or goes on with the one that is under way. False: that was the last part. What changes
 * between two parts is for the cycles after it. `batch`: it ends as one with `all` does, of the
 * last part. */
bool allocator_cycle_part(struct allocator *a, int64_t now, bool batch, size_t max,
			  struct allocator_grants *out);
/* Whether the cycle that should follow is one over all. */
bool allocator_pending_all(const struct allocator *a);
/* True when something happened that should be followed by a cycle at once. */
bool allocator_pending(const struct allocator *a);
void allocator_grants_free(struct allocator_grants *grants);

/* The clock was set by so much: filters and the hold last as long as they would have. */
void allocator_clock_moved(struct allocator *a, int64_t by);

#endif
