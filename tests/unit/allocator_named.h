/* The allocator's calls with names in place of handles: scripts and cases speak of "fw" and
 * "s1". A name that is not there is ignored; the owners that grants carry are these names. */
#ifndef TESTS_UNIT_ALLOCATOR_NAMED_H
#define TESTS_UNIT_ALLOCATOR_NAMED_H

#include "allocator/allocator_memory.h"

/* Instead of allocator_destroy(). */
void named_destroy(struct allocator *a);
/* Of a grant's framework or agent. */
static inline const char *named_id(const void *owner)
{
	return owner;
}

/* Adds it, or updates it if it is there. */
void named_add_framework(struct allocator *a, const struct allocator_framework *framework);
void named_activate_framework(struct allocator *a, const char *id, bool active);
void named_remove_framework(struct allocator *a, const char *id);
void named_suppress(struct allocator *a, const char *framework, const char *const *roles,
		    size_t count);
void named_revive(struct allocator *a, const char *framework, const char *const *roles,
		  size_t count);

/* Adds it, or updates it if it is there. `region` NULL = none. */
void named_add_agent(struct allocator *a, const char *id, const struct resources *total,
		     const char *region);
void named_update_agent(struct allocator *a, const char *id, const struct resources *total);
void named_activate_agent(struct allocator *a, const char *id, bool active);
void named_remove_agent(struct allocator *a, const char *id);
void named_set_agent_capabilities(struct allocator *a, const char *id, bool multi_role,
				  bool hierarchical_role);
void named_set_agent_region(struct allocator *a, const char *id, const char *region);
void named_set_agent_hostname(struct allocator *a, const char *id, const char *hostname);
/* Its only attribute, "place". */
void named_set_agent_place(struct allocator *a, const char *id, const char *place);
void named_forget_filters(struct allocator *a, const char *id);
void named_set_unavailability(struct allocator *a, const char *agent, bool scheduled);

void named_restore(struct allocator *a, const char *framework, const char *agent,
		   const struct resources *allocated);
void named_recover(struct allocator *a, int64_t now, const char *framework, const char *agent,
		   const struct resources *allocated, const struct allocator_filter *filter);
void named_convert(struct allocator *a, const char *framework, const char *agent,
		   const struct resources *before, const struct resources *after);
void named_end_inverse(struct allocator *a, int64_t now, const char *framework, const char *agent,
		       const struct allocator_filter *filter);
/* Agents that it speaks of are met first. */
bool named_remember(struct allocator *a, int64_t now, const struct allocator_memory *memory);

#endif
