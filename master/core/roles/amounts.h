/* Amounts of resources by name, whatever their metadata: what quota is told in and what
 * /roles shows. Lists in an arena, ascending by name, each name once. */
#ifndef MASTER_CORE_ROLES_AMOUNTS_H
#define MASTER_CORE_ROLES_AMOUNTS_H

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "proto/resources.h"

struct amount {
	const char *name; /* not owned */
	double milli;	  /* a sum over many agents may leave int64 */
	struct amount *next;
};

void amounts_add(struct arena *arena, struct amount **list, const char *name, double milli);
/* `sign` -1 takes away; what is not there gets negative. */
void amounts_add_list(struct arena *arena, struct amount **list, const struct amount *more,
		      int sign);
void amounts_add_piece(struct arena *arena, struct amount **list,
		       const struct resource_piece *piece, int sign);
void amounts_add_resources(struct arena *arena, struct amount **list, const struct resources *r,
			   int sign);
double amounts_get(const struct amount *list, const char *name); /* 0 if it is not there */
/* Whether there is as much of each name. */
bool amounts_contain(const struct amount *have, const struct amount *want);
/* Whether no name is above its limit; one without a limit never is. */
bool amounts_within(const struct amount *have, const struct amount *limits);
/* What is wrong with a number that is to be an amount, in Mesos' words; NULL if nothing is. */
const char *amount_fault(double value);
/* "cpus:1; mem:512", "{}" when empty. What is zero is only left in for limits. */
void amounts_print(const struct amount *list, bool zeros, struct buf *out);

#endif
