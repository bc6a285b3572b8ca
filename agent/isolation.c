/* Names of isolators; see isolation.h. */
#include "agent/isolation.h"

#include <stdlib.h>
#include <string.h>

#include "agent/containers/cgroups/cgroups.h"
#include "base/log/log.h"
#include "base/memory/arena.h"

struct isolator {
	const char *name;
	void (*use)(struct isolation *isolation, unsigned controllers);
	unsigned controllers;
};

static void use_groups(struct isolation *isolation, unsigned controllers)
{
	isolation->groups = true;
	isolation->controllers |= controllers;
}

static void use_all_groups(struct isolation *isolation, unsigned controllers)
{
	use_groups(isolation, controllers);
	isolation->every = true;
}

static void use_disk(struct isolation *isolation, unsigned controllers)
{
	isolation->disk = true;
}

static void use_rlimits(struct isolation *isolation, unsigned controllers)
{
	isolation->rlimits = true;
}

static void use_nnp(struct isolation *isolation, unsigned controllers)
{
	isolation->no_new_privileges = true;
}

static void use_capabilities(struct isolation *isolation, unsigned controllers)
{
	isolation->capabilities = true;
}

static void use_file_systems(struct isolation *isolation, unsigned controllers)
{
	isolation->file_systems = true;
}

static void use_pids(struct isolation *isolation, unsigned controllers)
{
	isolation->pids = true;
}

static void use_ipc(struct isolation *isolation, unsigned controllers)
{
	isolation->ipc = true;
}

static void use_host_paths(struct isolation *isolation, unsigned controllers)
{
	isolation->host_paths = true;
}

static void use_sandbox_paths(struct isolation *isolation, unsigned controllers)
{
	isolation->sandbox_paths = true;
}

static void use_secrets(struct isolation *isolation, unsigned controllers)
{
	isolation->secrets = true;
}

static void use_image_runtime(struct isolation *isolation, unsigned controllers)
{
	isolation->image_runtime = true;
}

static void use_seccomp(struct isolation *isolation, unsigned controllers)
{
	isolation->seccomp = true;
}

/* What containers have in any case. */
static void use_nothing(struct isolation *isolation, unsigned controllers)
{
}

#define CPU (CGROUPS_BIT(CPU) | CGROUPS_BIT(CPUACCT))

static const struct isolator isolators[] = {
	{"cgroups", use_groups, CPU | CGROUPS_BIT(MEMORY)},
	{"cgroups/all", use_all_groups, CPU | CGROUPS_BIT(MEMORY)},
	{"cgroups/blkio", use_groups, CGROUPS_BIT(BLKIO)},
	{"cgroups/cpu", use_groups, CPU},
	{"cgroups/cpuset", use_groups, CGROUPS_BIT(CPUSET)},
	{"cgroups/mem", use_groups, CGROUPS_BIT(MEMORY)},
	{"cgroups/pids", use_groups, CGROUPS_BIT(PIDS)},
	{"disk/du", use_disk, 0},
	{"docker/runtime", use_image_runtime, 0},
	{"filesystem/linux", use_file_systems, 0},
	{"filesystem/posix", use_nothing, 0},
	{"linux/capabilities", use_capabilities, 0},
	{"linux/nnp", use_nnp, 0},
	{"linux/seccomp", use_seccomp, 0},
	{"namespaces/ipc", use_ipc, 0},
	{"namespaces/pid", use_pids, 0},
	{"network/cni", use_nothing, 0},
	{"posix/cpu", use_nothing, 0},
	{"posix/disk", use_disk, 0},
	{"posix/mem", use_nothing, 0},
	{"posix/rlimits", use_rlimits, 0},
	{"process", use_nothing, 0},
	{"volume/host_path", use_host_paths, 0},
	{"volume/sandbox_path", use_sandbox_paths, 0},
	{"volume/secret", use_secrets, 0},
	{NULL, NULL, 0},
};

/* Mesos' isolators that mesita has no part of. */
static const char *const absent_isolators[] = {
	"appc/runtime",	     "cgroups/devices",	     "cgroups/hugetlb",
	"cgroups/net_cls",   "cgroups/net_prio",     "cgroups/perf_event",
	"disk/xfs",	     "docker/volume",	     "environment_secret",
	"filesystem/shared", "filesystem/windows",   "gpu/nvidia",
	"linux/devices",     "network/port_mapping", "network/ports",
	"volume/csi",	     "volume/image",	     NULL,
};

static const struct isolator *find_isolator(const char *name)
{
	for (const struct isolator *i = isolators; i->name; i++)
		if (!strcmp(i->name, name))
			return i;
	return NULL;
}

static bool is_absent(const char *name)
{
	for (const char *const *absent = absent_isolators; *absent; absent++)
		if (!strcmp(*absent, name))
			return true;
	return false;
}

static int use_isolator(const char *name, struct isolation *out, struct err *err)
{
	const struct isolator *isolator = find_isolator(name);

	if (isolator)
		isolator->use(out, isolator->controllers);
	else if (is_absent(name))
		log_warning("--isolation: '%s' is not part of this version of mesita and not "
			    "enforced",
			    name);
	else
		return err_set(err, ERR_INVALID,
			       "Unknown or unsupported isolator '%s' in --isolation", name);
	return 0;
}

/* Whether the name, or another of its kind ("filesystem/", "network/"), was there before. */
static int check_alone(char *const *names, size_t count, const char *name, struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(names[i], name))
			return err_set(err, ERR_INVALID, "Duplicate isolator '%s' in --isolation",
				       name);
		if ((!strncmp(name, "filesystem/", 11) && !strncmp(names[i], name, 11)) ||
		    (!strncmp(name, "network/", 8) && !strncmp(names[i], name, 8)))
			return err_set(err, ERR_INVALID,
				       "--isolation: '%s' and '%s' exclude one another", names[i],
				       name);
	}
	return 0;
}

int isolation_parse(const char *list, const char *launcher, struct isolation *out, struct err *err)
{
	size_t room = strlen(list) / 2 + 1, count = 0;
	char *copy = xstrdup(list), *save = NULL, **names = xcalloc(room, sizeof(*names));
	int rv = 0;

	*out = (struct isolation){.groups = !strcmp(launcher, "linux")};
	for (char *name = strtok_r(copy, ", ", &save); name && !rv;
	     name = strtok_r(NULL, ", ", &save)) {
		rv = check_alone(names, count, name, err);
		if (!rv)
			rv = use_isolator(name, out, err);
		names[count++] = name;
	}
	free(names);
	free(copy);
	return rv;
}
