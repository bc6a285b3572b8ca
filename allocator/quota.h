/* Quota and weights: what roles are charged for, their guarantees and limits, what is held
 * back for guarantees, and how much of an offer that leaves.
 *
 * Work follows changes here, too. A leaf may have less of an agent the less its role lacks
 * of its guarantee, the less is left of its limit and the less headroom there is; so what
 * was refused or too small stays so while these fall. An agent where one of them cut an
 * offer is *blocked*, and seen again when
 *
 *	the headroom rose above `low`, the least that any blocked agent was seen with:
 *	all leaves are tried, until that much is used up;
 *
 *	what a role lacks or has left rose (the role is *loose*): its leaves are tried;
 *
 *	anything about quota changed and it has disks that are had whole or not at all (it is
 *	*brittle*): where less is allowed, another disk may fit than before.
 *
 * Top-level roles are in one of three groups. A cycle's first stage walks only those that
 * lack something; those with too little left for any offer are walked only on agents where
 * they may have what quota does not count. Roles change groups between walks, so that a walk
 * keeps the order it started with.
 */
#ifndef ALLOCATOR_QUOTA_H
#define ALLOCATOR_QUOTA_H

#include <stdbool.h>

#include "allocator/quantities.h"
#include "base/list.h"
#include "base/table.h"
#include "proto/resources.h"

struct allocator;
struct agent;
struct leaf;
struct role;
struct sorter_group;
struct visit;

/* What a role and all below it are charged for, and what was said of it. Outlives the
 * role, and needs none. */
struct account {
	UT_hash_handle hh; /* in the parent's children, by component */
	struct account *parent;
	struct account *children;
	char *component;
	struct role *role; /* while there is one */
	double weight;
	struct quantities consumed; /* reservations, and unreserved use */
	struct quota *quota;	    /* of a top-level role, if not the default */
};

struct quota {
	struct account *account;
	struct quantities guarantees;
	struct quantities limits; /* QUOTA_UNLIMITED, and beyond the last: none */
	struct quantities high;	  /* `consumed` at which blocked agents were seen, or above it */
	uint64_t lacking;	  /* names that it is counted for in the allocator's `lacking` */
	struct list loose;	  /* in a list if `consumed` is below `high`, or not long above */
	struct list regroup;	  /* in a list while the role may belong to another group */
};
#define QUOTA_UNLIMITED INT64_MAX
#define QUOTA_NAMES 64 /* in masks; those beyond share the last bit */

/* What can be given without touching what guarantees still need: as of the start of a
 * cycle, less what that gave. */
struct headroom {
	bool needed; /* something is required: else there is no bound */
	struct quantities required;
	struct quantities available;
};

/* How much of one name an offer may hold still. */
struct budget {
	uint64_t mark; /* the cut that it is of */
	int64_t lack, left, headroom;
};

/* -- accounts.c -- */
void alloc_accounts_init(struct allocator *a);
void alloc_accounts_free(struct allocator *a);
/* The account of a role, or of a child of one; created if need be. */
struct account *alloc_account_get(struct allocator *a, const char *role);
struct account *alloc_account_child(struct account *parent, const char *component, size_t len);
/* Frees it, and those above it, that nothing needs. */
void alloc_account_put(struct allocator *a, struct account *account);
void alloc_account_charge(struct allocator *a, struct account *account, uint32_t name,
			  int64_t milli);
/* The reservations on an agent changed with its total. */
void alloc_account_reserve(struct allocator *a, const struct resources *old,
			   const struct resources *new);

/* -- quota.c -- */
void alloc_quota_init(struct allocator *a);
void alloc_quota_end_all(struct allocator *a); /* the roles and accounts are gone */
/* What of the name it lacks of its guarantee; what is left of its limit. */
int64_t alloc_quota_lack(const struct quota *quota, uint32_t name);
int64_t alloc_quota_left(const struct quota *quota, uint32_t name);
bool alloc_quota_lacks(const struct quota *quota);
void alloc_quota_free(struct allocator *a, struct quota *quota);
/* What it consumes of the name was `before`. */
void alloc_quota_moved(struct allocator *a, struct quota *quota, uint32_t name, int64_t before);
bool alloc_quota_loose(const struct quota *quota);
/* Whether a top-level role with quota has too little left for any offer. */
bool alloc_quota_exhausted(struct allocator *a, const struct role *role);
/* The group in which the role is ordered. */
struct sorter_group *alloc_quota_group(struct allocator *a, struct role *role);
/* The role's leaves changed. */
void alloc_quota_touch(struct allocator *a, struct role *role);
void alloc_quota_regroup(struct allocator *a);
/* Whether a role lacks something that the agent has. */
bool alloc_quota_wants(struct allocator *a, const struct agent *agent);
/* At the ends of a cycle; `all` agents were seen. */
void alloc_quota_begin(struct allocator *a);
void alloc_quota_end(struct allocator *a, bool all);
/* Whether blocked agents are to be seen. */
bool alloc_quota_any_loose(struct allocator *a);

/* -- headroom.c -- */
/* What of the agent is free and revocable may have changed; or it goes. */
void alloc_headroom_touch(struct allocator *a, struct agent *agent);
void alloc_headroom_forget(struct allocator *a, struct agent *agent);
void alloc_headroom_begin(struct allocator *a);
void alloc_headroom_spend(struct allocator *a, uint32_t name, int64_t guaranteed, int64_t given);
int64_t alloc_headroom_left(const struct allocator *a, uint32_t name);
/* Whether it is above what some blocked agent was seen with. */
bool alloc_headroom_loose(const struct allocator *a);
/* A blocked agent is seen with what there is now; all of them are. */
void alloc_headroom_lower(struct allocator *a);
void alloc_headroom_settle(struct allocator *a);

/* -- cut.c -- */
/* A scalar that quota counts while it is held: neither reserved nor revocable. */
bool alloc_piece_counts(const struct resource_piece *piece);
/* Whether it cannot be had in part. */
bool alloc_piece_whole(const struct resource_piece *piece);
/* Leaves of the view what the leaf's quota and the headroom allow. In the first stage
 * false when none of it is for the guarantee. */
bool alloc_cut(struct allocator *a, const struct leaf *leaf, bool first_stage,
	       struct resources *view, struct visit *visit);
/* The view that was cut last is given. */
void alloc_cut_given(struct allocator *a, const struct resources *view);
/* Whether amounts are too little for the least of any offer, of names that have a bound;
 * only offers of what quota counts, by the option's minima. */
bool alloc_cut_hopeless(struct allocator *a, const struct quota *quota);

#endif
