/* The allocator written a second time, straight from the rules: no index, no
 * memory of what was tried, every sum computed from scratch, every cycle a scan of
 * agents x roles x frameworks. Takes the same calls; small fixed capacities. */
#ifndef TESTS_UNIT_ALLOCATOR_ORACLE_H
#define TESTS_UNIT_ALLOCATOR_ORACLE_H

#include "allocator/allocator.h"

struct oracle;

struct oracle *oracle_create(struct resource_shapes *shapes, int64_t interval);
void oracle_destroy(struct oracle *o);

void oracle_set_framework(struct oracle *o, const struct allocator_framework *framework);
void oracle_activate_framework(struct oracle *o, const char *id, bool active);
void oracle_remove_framework(struct oracle *o, const char *id);
void oracle_set_agent(struct oracle *o, const char *id, const struct resources *total);
void oracle_activate_agent(struct oracle *o, const char *id, bool active);
void oracle_remove_agent(struct oracle *o, const char *id);
void oracle_forget_filters(struct oracle *o, const char *agent);
void oracle_restore(struct oracle *o, const char *framework, const char *agent,
		    const struct resources *allocated);
void oracle_recover(struct oracle *o, int64_t now, const char *framework, const char *agent,
		    const struct resources *allocated, const struct allocator_filter *filter);
void oracle_convert(struct oracle *o, const char *framework, const char *agent,
		    const struct resources *before, const struct resources *after);
void oracle_suppress(struct oracle *o, const char *framework, const char *role, bool suppress);
bool oracle_pending(const struct oracle *o);
void oracle_cycle(struct oracle *o, int64_t now, bool all, struct allocator_grants *out);

double oracle_framework_share(struct oracle *o, const char *framework, const char *role);
double oracle_role_share(struct oracle *o, const char *role);
size_t oracle_filter_count(const struct oracle *o);
/* Everything held by all frameworks on the agent, without allocation roles. */
struct resources oracle_used(struct oracle *o, const char *agent);
/* What the framework holds on the agent under the role, as allocated. */
const struct resources *oracle_held(struct oracle *o, const char *framework, const char *agent,
				    const char *role);

#endif
