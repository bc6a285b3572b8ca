/* Users to run tasks as. */
#ifndef AGENT_CONTAINERS_USER_H
#define AGENT_CONTAINERS_USER_H

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct user {
	uid_t uid;
	gid_t gid;
	gid_t *groups; /* heap */
	size_t group_count;
};

/* Looks a name up. ERR_NOT_FOUND when there is no such user. The groups are left out for
 * the user that we run as: nobody switches to that one. */
int user_find(const char *name, struct user *out, struct err *err);
void user_free(struct user *user);

#endif
