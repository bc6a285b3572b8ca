/* Offer constraints: which agents a framework wants to be
 * offered in a role, by their attributes, host name, region and zone.
 *
 * Groups are alternatives; in a group all constraints must hold. An attribute that is
 * not of type TEXT meets every constraint on texts.
 */
#ifndef ALLOCATOR_CONSTRAINTS_H
#define ALLOCATOR_CONSTRAINTS_H

#include <stdbool.h>

#include "base/err.h"
#include "proto/proto.h"

struct constraints;

/* ERR_INVALID in Mesos' words. `from` NULL or without roles: *out is NULL, which
 * excludes nothing. */
int constraints_create(const Mesos__Scheduler__OfferConstraints *from, struct constraints **out,
		       struct err *err);
void constraints_destroy(struct constraints *constraints);
bool constraints_exclude(const struct constraints *constraints, const char *role,
			 const Mesos__AgentInfo *agent);

#endif
