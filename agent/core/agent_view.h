/* The one way to read the agent's core: what a principal may see of it. */
#ifndef AGENT_CORE_AGENT_VIEW_H
#define AGENT_CORE_AGENT_VIEW_H

#include "agent/core/agent.h"
#include "auth/acls.h"

struct agent_view {
	const struct agent *agent;
	const char *principal;	 /* NULL: nobody was asked */
	const struct acls *acls; /* NULL: everybody may do everything */
};

bool agent_view_allows(const struct agent_view *v, enum acl_action action, const char *object);
bool agent_view_sees_role(const struct agent_view *v, const char *role);
/* The resources without those of roles that are not to be seen; `scratch` (initialised, the
 * caller's to free) may hold them. */
const struct resources *agent_view_resources(const struct agent_view *v,
					     const struct resources *all,
					     struct resources *scratch);
/* Which actions decide over a call about a container; ACL_ACTIONS: none. */
struct container_rule {
	enum acl_action under;	    /* on the user of the executor that it is inside of */
	enum acl_action as;	    /* on the user that a new one is to run as */
	enum acl_action standalone; /* instead of both, if it is inside of no executor's */
};
/* Whether that may be done to a container of which `root` is the outermost: by the executor itself,
 * whose claims (or NULL) are its token's, inside of its own; else by the rules for its user. For
 * the user `as` whom a new one is to run (NULL: as the executor) the executor is asked, too, if
 * that is somebody else. */
bool agent_view_handles(const struct agent_view *v, const struct json *claims, const char *root,
			const struct container_rule *rule, const char *as);
/* Whether the files of a path, as agent_resolve_path() takes it, may be read: by the user of the
 * executor whose sandbox it is. */
bool agent_view_opens(const struct agent_view *v, const char *path);

#endif
