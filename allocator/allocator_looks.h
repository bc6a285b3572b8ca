/* Looking into an allocator: audits, figures for metrics, and what tests ask. */
#ifndef ALLOCATOR_ALLOCATOR_LOOKS_H
#define ALLOCATOR_ALLOCATOR_LOOKS_H

#include "allocator/allocator.h"

/* -- audits: they look at everything, and are for tests, the simulator and debug builds -- */

/* Whether all sums are what they are sums of; `why` says which is not. */
bool allocator_audit(const struct allocator *a, struct err *why);
/* What of the agent is offered or allocated, without allocation roles. */
const struct resources *allocator_agent_used(const struct alloc_agent *agent);

/* -- looking in: figures for metrics -- */

enum allocator_figure_kind {
	ALLOCATOR_FIGURE_TOTAL,	  /* of a resource: what all agents have */
	ALLOCATOR_FIGURE_HELD,	  /* and what is offered or allocated to frameworks */
	ALLOCATOR_FIGURE_SHARE,	  /* of a role that frameworks are in, by its weight */
	ALLOCATOR_FIGURE_FILTERS, /* likewise: how many are in force */
	ALLOCATOR_FIGURE_CHARGED, /* of a role and a resource: allocator_quota_consumed(), not 0 */
};
struct allocator_figure {
	enum allocator_figure_kind kind;
	const char *role;     /* NULL: of all */
	const char *resource; /* NULL: of none */
	double value;
};
size_t allocator_role_count(const struct allocator *a); /* that anything is known of */
/* In time proportional to the roles. */
void allocator_figures(const struct allocator *a,
		       void (*each)(void *context, const struct allocator_figure *figure),
		       void *context);

/* -- looking in, for tests -- */
/* The dominant share, divided by the weight. */
double allocator_role_share(const struct allocator *a, const char *role);
double allocator_framework_share(const struct allocator *a, const char *framework,
				 const char *role);
size_t allocator_filter_count(const struct allocator *a);
/* When the next filter expires or the hold ends; TIME_NEVER if neither. Cycles see to it by
 * themselves. */
int64_t allocator_next_timeout(const struct allocator *a);

#endif
