/* Making, entering, killing and removing control groups; see cgroups.h. */
#include "agent/containers/cgroups/cgroups.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/containers/cgroups/cgroups_internal.h"
#include "base/memory/arena.h"

/* Rounds of killing, a pause apart, before what still forks is frozen; and how long freezing may
 * take, which a process that hangs in the kernel prevents. */
#define KILL_TRIES 20
#define FREEZE_TRIES 100
#define PAUSE_NS 1000000

/* ---- places ----------------------------------------------------------------------- */

/* "a.b" is a/mesos/b. */
bool cgroups_path(const struct cgroups *cgroups, enum cgroups_controller controller, const char *id,
		  char path[PATH_MAX])
{
	int len;

	if (cgroups->unified
		    ? controller != CGROUPS_FREEZER && !(cgroups->controllers & (1u << controller))
		    : !cgroups->mounts[controller])
		return false;
	len = snprintf(path, PATH_MAX, "%s/%s%s", cgroups->mounts[controller], cgroups->root,
		       id ? "/" : "");
	for (const char *c = id; c && *c && len < PATH_MAX; c++) {
		if (*c == '.')
			len += snprintf(path + len, (size_t)(PATH_MAX - len), "/mesos/");
		else
			path[len++] = *c;
	}
	if (len >= PATH_MAX)
		return false;
	path[len] = '\0';
	return true;
}

/* With v2 all controllers share one directory, which is that of the freezer. */
static bool is_first_of_mount(const struct cgroups *cgroups, int controller)
{
	if (!cgroups->mounts[controller])
		return false;
	for (int c = 0; c < controller; c++)
		if (cgroups->mounts[c] && !strcmp(cgroups->mounts[c], cgroups->mounts[controller]))
			return false;
	return true;
}

bool cgroups_has(const struct cgroups *cgroups, const char *id)
{
	char path[PATH_MAX];

	return cgroups_path(cgroups, CGROUPS_FREEZER, id, path) && access(path, F_OK) == 0;
}

/* ---- making ------------------------------------------------------------------------ */

static int make_directory(const char *path, struct err *err)
{
	if (mkdir(path, 0755) && errno != EEXIST)
		return err_set(err, ERR_IO, "Failed to create cgroup at '%s': %s", path,
			       strerror(errno));
	return 0;
}

/* Below a container's own group there is one that holds those inside of it. */
static int make_middle(const struct cgroups *cgroups, enum cgroups_controller controller,
		       const char *id, struct err *err)
{
	const char *dot = strrchr(id, '.');
	char parent[PATH_MAX], middle[PATH_MAX + 8], *above;
	int rv;

	if (!dot)
		return 0;
	above = xprintf("%.*s", (int)(dot - id), id);
	rv = cgroups_path(cgroups, controller, above, parent) ? 0 : ERR_INVALID;
	free(above);
	if (rv < 0)
		return err_set(err, rv, "The name of the container's cgroup is too long");
	snprintf(middle, sizeof(middle), "%s/mesos", parent);
	rv = make_directory(middle, err);
	if (rv == 0 && cgroups->unified)
		rv = cgroups_delegate(cgroups, parent, err);
	if (rv == 0 && cgroups->unified)
		rv = cgroups_delegate(cgroups, middle, err);
	return rv;
}

static int make_group(const struct cgroups *cgroups, enum cgroups_controller controller,
		      const char *id, struct err *err)
{
	char path[PATH_MAX], leaf[PATH_MAX + 8];
	int rv;

	if (!cgroups_path(cgroups, controller, id, path))
		return err_set(err, ERR_INVALID, "The name of the container's cgroup is too long");
	rv = make_middle(cgroups, controller, id, err);
	if (rv == 0)
		rv = make_directory(path, err);
	if (rv < 0 || !cgroups->unified)
		return rv;
	snprintf(leaf, sizeof(leaf), "%s/leaf", path);
	return make_directory(leaf, err);
}

int cgroups_make(const struct cgroups *cgroups, const char *id, const struct agent_limits *limits,
		 struct err *err)
{
	int rv = 0;

	for (int c = 0; c < CGROUPS_CONTROLLERS && rv == 0; c++)
		if (is_first_of_mount(cgroups, c))
			rv = make_group(cgroups, (enum cgroups_controller)c, id, err);
	if (rv == 0)
		rv = cgroups_limit(cgroups, id, limits, true, err);
	if (rv < 0)
		cgroups_remove(cgroups, id);
	return rv;
}

int cgroups_update(const struct cgroups *cgroups, const char *id, const struct agent_limits *limits,
		   struct err *err)
{
	return cgroups_limit(cgroups, id, limits, false, err);
}

/* ---- entering ----------------------------------------------------------------------- */

static int open_procs(const struct cgroups *cgroups, enum cgroups_controller controller,
		      const char *id, struct err *err)
{
	char path[PATH_MAX], file[PATH_MAX + 32];
	int fd;

	if (!cgroups_path(cgroups, controller, id, path))
		return err_set(err, ERR_INVALID, "The name of the container's cgroup is too long");
	snprintf(file, sizeof(file), "%s%s/cgroup.procs", path, cgroups->unified ? "/leaf" : "");
	fd = open(file, O_WRONLY | O_CLOEXEC);
	return fd >= 0 ? fd
		       : err_set(err, ERR_IO, "Failed to open '%s': %s", file, strerror(errno));
}

static int open_doors(const struct cgroups *cgroups, const char *id, struct cgroups_door *door,
		      struct err *err)
{
	for (int c = 0; c < CGROUPS_CONTROLLERS; c++) {
		int fd;

		if (!is_first_of_mount(cgroups, c))
			continue;
		fd = open_procs(cgroups, (enum cgroups_controller)c, id, err);
		if (fd < 0) {
			cgroups_close_door(door);
			return fd;
		}
		door->files[door->count++] = fd;
	}
	return 0;
}

int cgroups_open_door(const struct cgroups *cgroups, const char *id, struct cgroups_door *door,
		      struct err *err)
{
	char *at = xstrdup(id), *dot = at;
	int rv = 0;

	door->count = 0;
	while (dot && !cgroups_has(cgroups, at)) {
		dot = strrchr(at, '.');
		if (dot)
			*dot = '\0';
	}
	if (dot)
		rv = open_doors(cgroups, at, door, err);
	free(at);
	return rv;
}

void cgroups_close_door(struct cgroups_door *door)
{
	for (size_t i = 0; i < door->count; i++)
		close(door->files[i]);
	door->count = 0;
}

/* ---- killing ------------------------------------------------------------------------ */

static void pause_a_bit(void)
{
	nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}

static size_t kill_listed(const char *path)
{
	char *text = cgroups_read(path, "cgroup.procs"), *save = NULL;
	size_t count = 0;

	if (!text)
		return 0;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		long pid = strtol(line, NULL, 10);

		/* 0: a process that our namespace of pids does not have. */
		if (pid > 1 && kill((pid_t)pid, SIGKILL) == 0)
			count++;
	}
	free(text);
	return count;
}

static bool is_frozen(const char *path)
{
	char *state = cgroups_read(path, "freezer.state");
	bool frozen = state && !strncmp(state, "FROZEN", 6);

	free(state);
	return frozen;
}

/* Nothing that is frozen forks. But it does not die either, if we are killed before it is thawed:
 * so this is for what does not die otherwise. */
static size_t kill_v1(const char *path)
{
	struct err err = {""};
	size_t count = kill_listed(path);

	for (int i = 0; i < KILL_TRIES && count; i++) {
		pause_a_bit();
		count = kill_listed(path);
	}
	if (!count)
		return 0;
	cgroups_write(path, "freezer.state", "FROZEN", &err);
	for (int i = 0; i < FREEZE_TRIES && !is_frozen(path); i++)
		pause_a_bit();
	count = kill_listed(path);
	cgroups_write(path, "freezer.state", "THAWED", &err);
	return count;
}

typedef size_t visit(const char *path);

/* Those inside first. `each` sees the group itself and all below. */
static size_t walk(const char *path, visit *each)
{
	DIR *directory = opendir(path);
	struct dirent *entry;
	size_t sum = 0;

	while (directory && (entry = readdir(directory))) {
		char inside[PATH_MAX];

		if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
		    snprintf(inside, sizeof(inside), "%s/%s", path, entry->d_name) <
			    (int)sizeof(inside))
			sum += walk(inside, each);
	}
	if (directory)
		closedir(directory);
	return sum + each(path);
}

size_t cgroups_kill(const struct cgroups *cgroups, const char *id)
{
	struct err err = {""};
	char path[PATH_MAX];
	uint64_t populated;

	if (!cgroups_path(cgroups, CGROUPS_FREEZER, id, path) || access(path, F_OK))
		return 0;
	if (!cgroups->unified)
		return walk(path, kill_v1);
	/* Before Linux 5.14 there is no cgroup.kill. */
	if (cgroups_write(path, "cgroup.kill", "1", &err) < 0) {
		cgroups_write(path, "cgroup.freeze", "1", &err);
		walk(path, kill_listed);
		cgroups_write(path, "cgroup.freeze", "0", &err);
	}
	return cgroups_read_number(path, "cgroup.events", "populated", &populated) && populated;
}

static size_t remove_directory(const char *path)
{
	return rmdir(path) && errno != ENOENT;
}

bool cgroups_remove(const struct cgroups *cgroups, const char *id)
{
	size_t left = cgroups_kill(cgroups, id);

	/* The freezer goes last: while it is there, the container has a group. */
	for (int c = CGROUPS_CONTROLLERS - 1; c >= 0 && !left; c--) {
		char path[PATH_MAX];

		if (is_first_of_mount(cgroups, c) &&
		    cgroups_path(cgroups, (enum cgroups_controller)c, id, path) &&
		    access(path, F_OK) == 0)
			left += walk(path, remove_directory);
	}
	return !left;
}

/* ---- life --------------------------------------------------------------------------- */

bool cgroups_unified(const struct cgroups *cgroups)
{
	return cgroups->unified;
}

int cgroups_open(const struct cgroups_options *options, struct cgroups **out, struct err *err)
{
	struct cgroups *cgroups = xcalloc(1, sizeof(*cgroups));
	const char *root = options->root;
	int rv;

	while (*root == '/')
		root++;
	cgroups->root = xstrdup(root);
	cgroups->cfs = options->cfs;
	cgroups->limit_swap = options->limit_swap;
	rv = cgroups_find(cgroups, options, err);
	if (rv < 0)
		cgroups_close(cgroups);
	else
		*out = cgroups;
	return rv;
}

void cgroups_close(struct cgroups *cgroups)
{
	if (!cgroups)
		return;
	for (int c = 0; c < CGROUPS_CONTROLLERS; c++)
		free(cgroups->mounts[c]);
	free(cgroups->root);
	free(cgroups);
}
