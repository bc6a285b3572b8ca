/* The allocator written a second time, straight from the rules: no index, no
 * memory of what was tried, every sum computed from scratch, every cycle a scan of
 * agents x roles x frameworks. Takes the same calls; small fixed capacities; knows the
 * scalars cpus, mem, disk and gpus. What Mesos leaves to chance goes in the order of
 * arrival (agents) or of lists (resources). */
#ifndef TESTS_UNIT_ALLOCATOR_ORACLE_H
#define TESTS_UNIT_ALLOCATOR_ORACLE_H

#include "allocator/allocator.h"

struct oracle;

/* What offer constraints come to, for frameworks that have some. */
typedef bool oracle_excludes(const void *context, const char *framework, const char *role,
			     const char *agent);

/* Of the options all but `random`. */
struct oracle *oracle_create(const struct allocator_options *options, oracle_excludes *excludes,
			     const void *context);
void oracle_destroy(struct oracle *o);

void oracle_set_framework(struct oracle *o, const struct allocator_framework *framework);
void oracle_activate_framework(struct oracle *o, const char *id, bool active);
void oracle_remove_framework(struct oracle *o, const char *id);
void oracle_suppress(struct oracle *o, const char *framework, const char *role, bool suppress);

/* Adds or updates. */
void oracle_set_agent(struct oracle *o, const char *id, const struct resources *total);
void oracle_activate_agent(struct oracle *o, const char *id, bool active);
void oracle_remove_agent(struct oracle *o, const char *id);
void oracle_set_capabilities(struct oracle *o, const char *id, bool multi_role, bool hierarchical);
void oracle_set_region(struct oracle *o, const char *id, const char *region);
void oracle_set_hostname(struct oracle *o, const char *id, const char *hostname);
void oracle_forget_filters(struct oracle *o, const char *agent);

void oracle_restore(struct oracle *o, const char *framework, const char *agent,
		    const struct resources *allocated);
void oracle_recover(struct oracle *o, int64_t now, const char *framework, const char *agent,
		    const struct resources *allocated, const struct allocator_filter *filter);
void oracle_convert(struct oracle *o, const char *framework, const char *agent,
		    const struct resources *before, const struct resources *after);

void oracle_set_quota(struct oracle *o, const char *role, const struct allocator_quota *quota);
void oracle_set_weight(struct oracle *o, const char *role, double weight);
/* NULL = all. */
void oracle_set_whitelist(struct oracle *o, const char *const *hostnames, size_t count);
void oracle_hold(struct oracle *o, size_t agents, int64_t until);
void oracle_set_unavailability(struct oracle *o, const char *agent, bool scheduled);
void oracle_end_inverse(struct oracle *o, int64_t now, const char *framework, const char *agent,
			const struct allocator_filter *filter);

/* As if the allocator's process had ended and `a` were that of the next: tells it all that
 * is known, calls `remember` before there are agents, and goes on. Inverse offers are
 * forgotten, and so are filters that are over. False, and nothing is done: there is a hold. */
bool oracle_crash(struct oracle *o, int64_t now, struct allocator *a,
		  void (*remember)(void *context), void *context);

bool oracle_pending(const struct oracle *o);
void oracle_cycle(struct oracle *o, int64_t now, bool all, struct allocator_grants *out);

/* -- looking in -- */
double oracle_framework_share(struct oracle *o, const char *framework, const char *role);
double oracle_role_share(struct oracle *o, const char *role);
int64_t oracle_consumed(struct oracle *o, const char *role, const char *name);
size_t oracle_filter_count(const struct oracle *o); /* of offers */
bool oracle_inverse_outstanding(struct oracle *o, const char *framework, const char *agent);
/* NULL: there is no such agent. */
const struct resources *oracle_total(struct oracle *o, const char *agent);
/* Everything held by all frameworks on the agent, without allocation roles. */
struct resources oracle_used(struct oracle *o, const char *agent);
/* What the framework holds on the agent under the role, as allocated; NULL: no such pair. */
const struct resources *oracle_held(struct oracle *o, const char *framework, const char *agent,
				    const char *role);

#endif
