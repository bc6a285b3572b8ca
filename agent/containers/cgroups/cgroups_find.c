/* Which control groups the machine has: version 2 where it is mounted at the hierarchy's place,
 * else version 1, whose controllers may be mounted one by one or together. */
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "agent/containers/cgroups/cgroups_internal.h"
#include "base/log/log.h"
#include "base/memory/arena.h"

#define MOUNTS "/proc/self/mountinfo"

struct controller_names {
	const char *v1, *v2; /* NULL: there is none, nor is one needed */
	const char *isolator;
};

static const struct controller_names names[CGROUPS_CONTROLLERS] = {
	[CGROUPS_FREEZER] = {"freezer", NULL, "--launcher=linux"},
	[CGROUPS_CPU] = {"cpu", "cpu", "cgroups/cpu"},
	[CGROUPS_CPUACCT] = {"cpuacct", NULL, "cgroups/cpu"},
	[CGROUPS_MEMORY] = {"memory", "memory", "cgroups/mem"},
	[CGROUPS_PIDS] = {"pids", "pids", "cgroups/pids"},
	[CGROUPS_BLKIO] = {"blkio", "io", "cgroups/blkio"},
	[CGROUPS_CPUSET] = {"cpuset", "cpuset", "cgroups/cpuset"},
};

const char *cgroups_controller_name(const struct cgroups *cgroups,
				    enum cgroups_controller controller)
{
	return cgroups->unified ? names[controller].v2 : names[controller].v1;
}

/* Whether a word is in a list that is parted by `parts`. */
static bool has_word(const char *list, const char *word, const char *parts)
{
	size_t len = strlen(word);

	while (*list) {
		size_t next = strcspn(list, parts);

		if (next == len && !strncmp(list, word, len))
			return true;
		list += next;
		list += *list != 0;
	}
	return false;
}

/* ---- version 1 ------------------------------------------------------------------ */

/* A line of mountinfo: "ID PARENT DEV ROOT PLACE OPTIONS [TAGS...] - TYPE SOURCE SUPER_OPTIONS". */
static void note_mount(struct cgroups *cgroups, char *line, unsigned wanted)
{
	char *rest = strstr(line, " - "), *save = NULL, *place = NULL;
	char type[32], super[1024];

	if (!rest || sscanf(rest, " - %31s %*s %1023s", type, super) != 2 ||
	    strcmp(type, "cgroup") != 0)
		return;
	*rest = '\0';
	place = strtok_r(line, " ", &save);
	for (int i = 0; place && i < 4; i++)
		place = strtok_r(NULL, " ", &save);
	for (int c = 0; place && c < CGROUPS_CONTROLLERS; c++) {
		if ((wanted & (1u << c)) && !cgroups->mounts[c] &&
		    has_word(super, names[c].v1, ","))
			cgroups->mounts[c] = xstrdup(place);
	}
}

static int find_mounts(struct cgroups *cgroups, unsigned wanted, struct err *err)
{
	FILE *file = fopen(MOUNTS, "re");
	char *line = NULL;
	size_t room = 0;

	if (!file)
		return err_set(err, ERR_IO, "Cannot read " MOUNTS ": %s", strerror(errno));
	while (getline(&line, &room, file) > 0)
		note_mount(cgroups, line, wanted);
	free(line);
	fclose(file);
	return 0;
}

/* What is inside of a cpuset has none of its own until it is told so. */
static int prepare_cpuset(const struct cgroups *cgroups, struct err *err)
{
	static const char *const files[] = {"cpuset.cpus", "cpuset.mems"};
	char path[PATH_MAX];
	int rv = 0;

	if (!cgroups_path(cgroups, CGROUPS_CPUSET, NULL, path))
		return 0;
	for (int i = 0; i < 2 && rv == 0; i++) {
		char *all = cgroups_read(cgroups->mounts[CGROUPS_CPUSET], files[i]);

		rv = cgroups_write(path, files[i], all ? all : "0", err);
		free(all);
	}
	return rv == 0 ? cgroups_write(path, "cgroup.clone_children", "1", err) : rv;
}

/* ---- version 2 ------------------------------------------------------------------ */

int cgroups_delegate(const struct cgroups *cgroups, const char *path, struct err *err)
{
	char *there = cgroups_read(path, "cgroup.subtree_control");
	int rv = 0;

	for (int c = 0; c < CGROUPS_CONTROLLERS && rv == 0; c++) {
		char text[32];

		if (!(cgroups->controllers & (1u << c)) || !names[c].v2 ||
		    (there && has_word(there, names[c].v2, " \n")))
			continue;
		snprintf(text, sizeof(text), "+%s", names[c].v2);
		rv = cgroups_write(path, "cgroup.subtree_control", text, err);
	}
	free(there);
	return rv;
}

/* ---- both ------------------------------------------------------------------------- */

static int make_directories(char *path, size_t base, struct err *err)
{
	for (char *c = path + base + 1;; c++) {
		char was = *c;

		if (was && was != '/')
			continue;
		*c = '\0';
		if (mkdir(path, 0755) && errno != EEXIST)
			return err_set(err, ERR_IO, "Cannot make the control group '%s': %s", path,
				       strerror(errno));
		*c = was;
		if (!was)
			return 0;
	}
}

/* Each directory from the hierarchy down to the root hands the controllers on. */
static int delegate_down(const struct cgroups *cgroups, char *path, size_t base, struct err *err)
{
	for (char *c = path + base;; c++) {
		char was = *c;
		int rv;

		if (was && was != '/')
			continue;
		*c = '\0';
		rv = cgroups_delegate(cgroups, path, err);
		*c = was;
		if (rv < 0 || !was)
			return rv;
	}
}

static int make_root(const struct cgroups *cgroups, enum cgroups_controller controller,
		     struct err *err)
{
	size_t base = strlen(cgroups->mounts[controller]);
	char path[PATH_MAX];
	int rv;

	if (!cgroups_path(cgroups, controller, NULL, path))
		return err_set(err, ERR_INVALID, "--cgroups_root is too long");
	rv = make_directories(path, base, err);
	if (rv == 0 && cgroups->unified)
		rv = delegate_down(cgroups, path, base, err);
	return rv;
}

static int missing(const struct cgroups *cgroups, int controller, struct err *err)
{
	return err_set(err, ERR_INVALID,
		       "%s needs the controller '%s' of control groups, which this machine does "
		       "not have: leave it out, or mount it",
		       names[controller].isolator,
		       cgroups_controller_name(cgroups, (enum cgroups_controller)controller));
}

static int find_v1(struct cgroups *cgroups, const struct cgroups_options *options, struct err *err)
{
	unsigned wanted = options->controllers | CGROUPS_BIT(FREEZER);
	int rv = find_mounts(cgroups, options->every ? ~0u : wanted, err);

	for (int c = 0; c < CGROUPS_CONTROLLERS && rv == 0; c++) {
		if (cgroups->mounts[c])
			cgroups->controllers |= 1u << c;
		else if (wanted & (1u << c))
			return missing(cgroups, c, err);
	}
	for (int c = 0; c < CGROUPS_CONTROLLERS && rv == 0; c++) {
		if (cgroups->mounts[c])
			rv = make_root(cgroups, (enum cgroups_controller)c, err);
	}
	return rv == 0 ? prepare_cpuset(cgroups, err) : rv;
}

static int find_v2(struct cgroups *cgroups, const struct cgroups_options *options, struct err *err)
{
	char *top = NULL, *there;
	int rv = cgroups_find_top(options->hierarchy, &top, err);

	there = rv == 0 ? cgroups_read(top, "cgroup.controllers") : NULL;
	for (int c = 0; c < CGROUPS_CONTROLLERS && rv == 0; c++) {
		bool has = names[c].v2 && there && has_word(there, names[c].v2, " \n");

		if (!has && names[c].v2 && (options->controllers & (1u << c)))
			rv = missing(cgroups, c, err);
		if (has && (options->every || (options->controllers & (1u << c))))
			cgroups->controllers |= 1u << c;
		cgroups->mounts[c] = xstrdup(top);
	}
	free(there);
	free(top);
	if (rv == 0 && options->limit_swap)
		rv = err_set(err, ERR_INVALID,
			     "--cgroups_limit_swap does not work with version 2 of control groups: "
			     "leave it out");
	return rv == 0 ? make_root(cgroups, CGROUPS_CPU, err) : rv;
}

int cgroups_find(struct cgroups *cgroups, const struct cgroups_options *options, struct err *err)
{
	struct statfs at;
	int rv;

	cgroups->unified = statfs(options->hierarchy, &at) == 0 &&
			   (unsigned long)at.f_type == CGROUP2_SUPER_MAGIC;
	rv = cgroups->unified ? find_v2(cgroups, options, err) : find_v1(cgroups, options, err);
	if (rv < 0)
		return err_wrap(err, rv, "Cannot use control groups");
	log_info("Containers are in control groups (version %d) below '%s'",
		 cgroups->unified ? 2 : 1, cgroups->root);
	return 0;
}
