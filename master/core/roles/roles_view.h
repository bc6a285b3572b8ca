/* What each known role and the roles below it hold, at a moment.
 *
 * Known are the roles that frameworks subscribe to or hold something in, those that
 * resources are reserved for, those with a weight or a quota, and all above them; with
 * --roles exactly the listed ones and all above. */
#ifndef MASTER_CORE_ROLES_ROLES_VIEW_H
#define MASTER_CORE_ROLES_ROLES_VIEW_H

#include "master/core/objects.h"
#include "master/core/roles/amounts.h"

struct role_view {
	const char *name;
	struct amount *allocated;
	struct amount *offered;
	struct amount *reserved;
	struct amount *idle;	/* reserved and not in use: counts against a quota, too */
	struct amount *charged; /* as the allocator has it: scalars that are reserved, or allocated
				   neither reserved nor revocable */
	const char **frameworks;
	size_t framework_count, framework_cap;
	UT_hash_handle hh;
};

struct roles_view {
	struct arena *arena;
	struct role_view *roles; /* table by name, ascending */
	bool closed;		 /* no role is added any more */
};

/* All but the table's own memory is in the arena; names are the master's. */
void roles_view_make(struct roles_view *view, const struct master *m, struct arena *arena);
void roles_view_free(struct roles_view *view);
/* NULL for a role that is not known: nothing is held in it. */
struct role_view *roles_view_find(const struct roles_view *view, const char *role);
/* What counts against the role's quota: allocated, or reserved and idle. */
struct amount *role_view_consumed(const struct role_view *role, struct arena *arena);

#endif
