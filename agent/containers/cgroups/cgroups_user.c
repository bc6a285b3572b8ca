/* A part of version 2 that was delegated to a user, by systemd (Delegate=yes) for instance. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/containers/cgroups/cgroups_internal.h"
#include "base/memory/arena.h"

#define OWN_GROUP "mesita-agent" /* below the delegated one: where the agent itself is */
#define MOVE_TRIES 20		 /* rounds: what is moved may fork meanwhile */

/* Where this process is: the path after "0::" of a line in /proc/self/cgroup. Heap; NULL: nowhere.
 */
static char *own_path(void)
{
	char *text = cgroups_read("/proc/self", "cgroup");
	char *at = text ? strstr(text, "0::/") : NULL, *path = NULL;

	if (at && (at == text || at[-1] == '\n'))
		path = xstrndup(at + 3, strcspn(at + 3, "\n"));
	free(text);
	return path;
}

static bool is_ours(const char *directory)
{
	char file[PATH_MAX];

	snprintf(file, sizeof(file), "%s/cgroup.procs", directory);
	if (access(directory, W_OK) || access(file, W_OK))
		return false;
	snprintf(file, sizeof(file), "%s/cgroup.subtree_control", directory);
	return access(file, W_OK) == 0;
}

/* Returns how many processes are left in `from`; or a negative code. */
static int move_processes(const char *from, const char *to, struct err *err)
{
	char *list = cgroups_read(from, "cgroup.procs"), *save = NULL;
	int left = 0;

	for (char *pid = list ? strtok_r(list, "\n", &save) : NULL; pid;
	     pid = strtok_r(NULL, "\n", &save)) {
		struct err why = {""};

		left++;
		/* One that ended meanwhile needs no place. */
		if (cgroups_write(to, "cgroup.procs", pid, &why) < 0)
			err_set(err, ERR_IO, "%s", why.text);
	}
	free(list);
	return left;
}

static int make_room(const char *top, struct err *err)
{
	char own[PATH_MAX];
	int left = 1;

	snprintf(own, sizeof(own), "%s/" OWN_GROUP, top);
	if (mkdir(own, 0755) && errno != EEXIST)
		return err_set(err, ERR_IO, "Cannot make the control group '%s': %s", own,
			       strerror(errno));
	for (int i = 0; left > 0 && i < MOVE_TRIES; i++)
		left = move_processes(top, own, err);
	return left > 0 ? ERR_IO : 0;
}

/* An agent that was started by one that moved itself, as those of `mesita local` are, is there,
 * too. */
static void leave_own_group(char *path)
{
	size_t len = strlen(path), own = strlen("/" OWN_GROUP);

	if (len > own && strcmp(path + len - own, "/" OWN_GROUP) == 0)
		path[len - own] = '\0';
}

int cgroups_find_top(const char *hierarchy, char **top, struct err *err)
{
	char *path;
	int rv = 0;

	if (access(hierarchy, W_OK) == 0) {
		*top = xstrdup(hierarchy);
		return 0;
	}
	path = own_path();
	if (path)
		leave_own_group(path);
	*top = xprintf("%s%s", hierarchy, path ? path : "");
	if (!path || !is_ours(*top))
		rv = err_set(err, ERR_INVALID,
			     "'%s' is not ours to make groups in: run the agent as root, or where "
			     "systemd delegates to you: systemd-run --user --scope -p Delegate=yes "
			     "mesita agent ...",
			     *top);
	else
		rv = make_room(*top, err);
	free(path);
	if (rv == 0)
		return 0;
	free(*top);
	*top = NULL;
	return rv;
}
