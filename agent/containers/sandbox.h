/* Sandboxes: the directory of one run of an executor. */
#ifndef AGENT_CONTAINERS_SANDBOX_H
#define AGENT_CONTAINERS_SANDBOX_H

#include <stdatomic.h>
#include <stdbool.h>

#include "agent/containers/user.h"
#include "base/err.h"

/* Makes the directory with mode 0750, owned by `user` (NULL = us). What is above is made as
 * needed. */
int sandbox_create(const char *path, const char *user_name, const struct user *user,
		   struct err *err);
/* Points .../runs/latest at .../runs/<container>. */
int sandbox_link_latest(const char *path, struct err *err);
/* Makes (or empties) a file for output in the sandbox, owned by the user; returns its
 * descriptor, opened for appending. */
int sandbox_open_output(const char *path, const char *name, const struct user *user,
			struct err *err);
/* mkdir -p; mode of all that is made: 0755. */
int sandbox_make_directories(const char *path, struct err *err);
/* Whether a directory is at the path, no link to one, and nobody but us and root can change it or
 * what leads to it. */
bool sandbox_is_ours(const char *path);
/* Removes a file or a directory with all in it, however deep; links are removed, not followed. Also
 * fine if there is none. May take long; ERR_CANCELED soon after *stop (may be NULL) was set. */
int sandbox_remove(const char *path, const atomic_bool *stop, struct err *err);
/* Likewise all that is in a directory (which may be a link to one). */
int sandbox_empty(const char *path, const atomic_bool *stop, struct err *err);

#endif
