/* What an executor of the HTTP API proves with that it is the one that was launched: a token in its
 * environment that claims its ids and its container's. */
#include "agent/core/objects.h"

#include <string.h>

#include "agent/core/executors/executors.h"
#include "auth/jwt.h"

const char *agent_executor_token(struct arena *arena, struct slice secret,
				 const struct executor *executor)
{
	return jwt_make(arena, secret,
			(const char *const[]){"fid", executor->framework->id, "eid", executor->id,
					      "cid", executor->container, NULL});
}

bool agent_executor_claimed(const struct executor *executor, const struct json *claims)
{
	return claims && !strcmp(json_get_string(claims, "fid"), executor->framework->id) &&
	       !strcmp(json_get_string(claims, "eid"), executor->id) &&
	       !strcmp(json_get_string(claims, "cid"), executor->container);
}
