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
#ifndef ALLOCATOR_QUOTA_OBJECTS_H
#define ALLOCATOR_QUOTA_OBJECTS_H

#include <stdbool.h>

#include "allocator/quantities.h"
#include "base/list.h"
#include "base/table.h"
#include "proto/resources.h"

struct allocator;
struct alloc_agent;
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

#endif
