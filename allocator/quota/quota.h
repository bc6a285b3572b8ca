/* Guarantees and limits of roles, and what follows from changes. */
#ifndef ALLOCATOR_QUOTA_QUOTA_H
#define ALLOCATOR_QUOTA_QUOTA_H

#include "allocator/objects.h"

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
bool alloc_quota_wants(struct allocator *a, const struct alloc_agent *agent);
/* At the ends of a cycle; `all` agents were seen. */
void alloc_quota_begin(struct allocator *a);
void alloc_quota_end(struct allocator *a, bool all);
/* Whether blocked agents are to be seen. */
bool alloc_quota_any_loose(struct allocator *a);

#endif
