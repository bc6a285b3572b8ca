/* The oracle's parts:
 *
 *	allocator_oracle.c          frameworks; who holds what
 *	allocator_oracle_agents.c   agents; what comes back from them
 *	allocator_oracle_filters.c  what was refused; inverse offers
 *	allocator_oracle_quota.c    quota, weights, headroom, shrinking
 *	allocator_oracle_cycle.c    who is offered what
 *	allocator_oracle_sorter.c   in which order
 *	allocator_oracle_crash.c    the end of a process
 */
#ifndef TESTS_UNIT_ALLOCATOR_ORACLE_INTERNAL_H
#define TESTS_UNIT_ALLOCATOR_ORACLE_INTERNAL_H

#include "allocator_oracle.h"
#include "allocator_oracle_sorter.h"

#define FRAMEWORKS 6
#define ROLES 12
#define FILTERS 256
#define HOSTS 8
#define SETS 3 /* of least amounts */
#define UNLIMITED INT64_MAX

struct oagent {
	char id[16]; /* "" = none */
	char hostname[16], region[16];
	uint64_t arrival;
	bool active, candidate;
	bool multi_role, hierarchical;
	bool window;		      /* of maintenance */
	bool outstanding[FRAMEWORKS]; /* inverse offers */
	struct resources total;
};

/* Any of the sets; none: anything will do. */
struct ominimum {
	struct amounts sets[SETS];
	size_t count;
};

struct oframework {
	char id[16];
	bool active;
	struct allocator_framework info; /* capabilities only */
	bool subscribed[ROLES], suppressed[ROLES];
	bool own_minimum[ROLES];
	struct ominimum minima[ROLES];
	struct resources held[ORACLE_AGENTS][ROLES]; /* allocated */
};

struct ofilter {
	bool used, inverse;
	int framework, agent, role;
	struct resources refused;
	int64_t since, deadline;
	uint64_t born; /* after so many batches */
};

struct oquota {
	struct amounts guarantees, limits;
};

struct oracle {
	struct allocator_options options;
	oracle_excludes *excludes;
	const void *context;
	struct ominimum minimum;
	bool excluded[ORACLE_NAMES];
	char roles[ROLES][ORACLE_PATH];
	struct oquota quotas[ROLES];
	double weights[ROLES];
	bool whitelisted;
	char hosts[HOSTS][16];
	bool held_back; /* until so many agents or this time */
	size_t hold_agents;
	int64_t hold_until;
	struct oagent agents[ORACLE_AGENTS];
	struct oframework frameworks[FRAMEWORKS];
	struct osorter role_sorter;
	struct osorter framework_sorters[ROLES];
	struct ofilter filters[FILTERS];
	uint64_t arrivals, batches;
	bool all_candidates;
};

/* -1: there is none. */
int oracle_agent_index(const struct oracle *o, const char *id);
int oracle_framework_index(const struct oracle *o, const char *id);
int oracle_role_index(struct oracle *o, const char *role);
/* Asks for a cycle over the agent, or over all (-1). */
void oracle_trigger(struct oracle *o, int agent);
/* More is held, or less; `gift` counts as one more. */
void oracle_charge(struct oracle *o, int framework, int agent, int role,
		   const struct resources *more, bool gift);
void oracle_discharge(struct oracle *o, int framework, int agent, int role,
		      const struct resources *less);
/* Clients of the sorters are those that subscribe or hold something: brought up to date for
 * all roles, or for one where some may have come (`add`) or gone. */
void oracle_sync(struct oracle *o);
void oracle_sync_role(struct oracle *o, int role, bool add);
struct resources oracle_free(struct oracle *o, int agent);
struct oscale oracle_scale(struct oracle *o);

/* -- filters; -1 stands for all -- */
void oracle_filters_remove(struct oracle *o, int framework, int agent, int role);
void oracle_inverse_filters_remove(struct oracle *o, int framework, int agent);
void oracle_filter_create(struct oracle *o, int64_t now, int framework, int agent, int role,
			  const struct resources *allocated, double seconds);
bool oracle_filtered(struct oracle *o, int framework, int agent, int role,
		     const struct resources *offer);
bool oracle_inverse_filtered(const struct oracle *o, int framework, int agent);
void oracle_filters_end(struct oracle *o, int64_t now);

/* -- quota -- */
struct amounts amounts_minus(struct amounts a, struct amounts b); /* not below nothing */
bool amounts_empty(struct amounts a);
struct amounts oracle_consumption(struct oracle *o, int role);
/* Guarantees not satisfied yet, of all roles; what there is to satisfy them with. */
struct amounts oracle_required(struct oracle *o);
struct amounts oracle_available(struct oracle *o);
bool oracle_has_limits(const struct oquota *quota);
/* Scalars that nobody reserved and that will not be revoked: what quota is about. */
bool oracle_quota_piece(const struct resource_piece *piece);
/* As much of `from` as the amounts allow, in the order of the list. */
struct resources oracle_shrink(const struct resources *from, struct amounts allow);

#endif
