/* The user database, by way of the C library; see user.h. */
#include "agent/containers/user.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory/arena.h"

#define RECORD_MAX (64 * 1024) /* of the database; far more than a line has */
#define GROUPS_MAX 65536       /* as Linux allows */

static void read_groups(const char *name, struct user *user)
{
	int count = 32;

	user->groups = NULL;
	do {
		user->groups = xrealloc(user->groups, (size_t)count * sizeof(gid_t));
		user->group_count = (size_t)count;
	} while (getgrouplist(name, user->gid, user->groups, &count) < 0 && count <= GROUPS_MAX &&
		 (size_t)count > user->group_count);
	if (count >= 0 && (size_t)count < user->group_count)
		user->group_count = (size_t)count;
}

int user_find(const char *name, struct user *out, struct err *err)
{
	char *data = xmalloc(RECORD_MAX);
	struct passwd record, *found = NULL;
	int rv = getpwnam_r(name, &record, data, RECORD_MAX, &found);

	memset(out, 0, sizeof(*out));
	if (found) {
		out->uid = record.pw_uid;
		out->gid = record.pw_gid;
		if (out->uid != geteuid())
			read_groups(name, out);
	}
	free(data);
	if (found)
		return 0;
	if (!rv || rv == ENOENT || rv == ESRCH || rv == EBADF || rv == EPERM)
		return err_set(err, ERR_NOT_FOUND, "No such user '%s'", name);
	return err_set(err, ERR_IO, "Failed to get user information for '%s': %s", name,
		       strerror(rv));
}

void user_free(struct user *user)
{
	free(user->groups);
	memset(user, 0, sizeof(*user));
}
