/* What is written into control groups: Mesos' formulae (docs/operations.md has them as a table). */
#include <math.h>
#include <stdio.h>

#include "agent/containers/cgroups/cgroups_internal.h"

/* Mesos' own minima and units. */
#define SHARES_PER_CPU 1024
#define SHARES_MIN 2
#define REVOCABLE_SHARES_PER_CPU 10
#define WEIGHT_PER_CPU 100
#define WEIGHT_MIN 1
#define WEIGHT_MAX 10000 /* of the kernel */
#define PERIOD_US 100000
#define QUOTA_MIN_US 1000
#define MEMORY_MIN (32.0 * 1024 * 1024)

/* More than any machine has; the kernel rounds to pages. */
#define MEMORY_MAX 9e18

static int write_number(const char *directory, const char *file, double value, struct err *err)
{
	char text[32];

	snprintf(text, sizeof(text), "%.0f", value);
	return cgroups_write(directory, file, text, err);
}

/* ---- processors -------------------------------------------------------------------- */

/* Microseconds of each period; below 0: as many as there are; NAN: not limited, nor was it asked
 * for. */
static double quota_of(const struct cgroups *cgroups, const struct agent_limits *limits)
{
	double cpus = limits->cpus_limit;

	if (isnan(cpus) && cgroups->cfs)
		cpus = limits->cpus;
	if (isnan(cpus))
		return NAN;
	if (isinf(cpus) || cpus > 1e9)
		return -1;
	return fmax(floor(cpus * PERIOD_US + 0.5), QUOTA_MIN_US);
}

static int limit_cpus_v1(const struct cgroups *cgroups, const char *path,
			 const struct agent_limits *limits, struct err *err)
{
	double each = limits->revocable ? REVOCABLE_SHARES_PER_CPU : SHARES_PER_CPU;
	double quota = quota_of(cgroups, limits);
	int rv =
		write_number(path, "cpu.shares", fmax(floor(each * limits->cpus), SHARES_MIN), err);

	if (rv == 0 && !isnan(quota)) {
		rv = write_number(path, "cpu.cfs_period_us", PERIOD_US, err);
		if (rv == 0)
			rv = write_number(path, "cpu.cfs_quota_us", quota, err);
	}
	return rv;
}

static int limit_cpus_v2(const struct cgroups *cgroups, const char *path,
			 const struct agent_limits *limits, struct err *err)
{
	double each = limits->revocable ? 1 : WEIGHT_PER_CPU, quota = quota_of(cgroups, limits);
	double weight = fmin(fmax(floor(each * limits->cpus), WEIGHT_MIN), WEIGHT_MAX);
	char text[48];
	int rv = write_number(path, "cpu.weight", weight, err);

	if (isnan(quota) || quota < 0)
		snprintf(text, sizeof(text), "max %d", PERIOD_US);
	else
		snprintf(text, sizeof(text), "%.0f %d", quota, PERIOD_US);
	return rv == 0 ? cgroups_write(path, "cpu.max", text, err) : rv;
}

/* ---- memory ------------------------------------------------------------------------ */

static double hard_memory(const struct agent_limits *limits)
{
	double bytes = isnan(limits->mem_limit) ? limits->mem : limits->mem_limit;

	return isinf(bytes) || bytes > MEMORY_MAX ? INFINITY : fmax(bytes, MEMORY_MIN);
}

/* False: as much is allowed already. */
static bool raises(const char *path, const char *file, double bytes)
{
	uint64_t now;

	return cgroups_read_number(path, file, NULL, &now) && bytes > (double)now;
}

static int limit_memory_v1(const struct cgroups *cgroups, const char *path,
			   const struct agent_limits *limits, bool first, struct err *err)
{
	double hard = hard_memory(limits), written = isinf(hard) ? -1 : hard;
	int rv = write_number(path, "memory.soft_limit_in_bytes",
			      fmin(fmax(limits->mem, MEMORY_MIN), MEMORY_MAX), err);

	if (rv < 0 || (!first && !raises(path, "memory.limit_in_bytes", hard)))
		return rv;
	/* Memory and swap together are never less than memory. */
	if (cgroups->limit_swap && !first)
		rv = write_number(path, "memory.memsw.limit_in_bytes", written, err);
	if (rv == 0)
		rv = write_number(path, "memory.limit_in_bytes", written, err);
	if (rv == 0 && cgroups->limit_swap && first)
		rv = write_number(path, "memory.memsw.limit_in_bytes", written, err);
	return rv;
}

static int limit_memory_v2(const char *path, const struct agent_limits *limits, bool first,
			   struct err *err)
{
	double hard = hard_memory(limits);
	int rv = write_number(path, "memory.low", fmin(fmax(limits->mem, MEMORY_MIN), MEMORY_MAX),
			      err);

	if (rv < 0 || (!first && !raises(path, "memory.max", hard)))
		return rv;
	rv = isinf(hard) ? cgroups_write(path, "memory.max", "max", err)
			 : write_number(path, "memory.max", hard, err);
	/* All of it ends with the one that the kernel picks, so the executor cannot tell of an
	 * unexplained SIGKILL before the agent tells why. Linux has this since 4.19. */
	if (rv == 0 && first)
		cgroups_write(path, "memory.oom.group", "1", &(struct err){""});
	return rv;
}

int cgroups_limit(const struct cgroups *cgroups, const char *id, const struct agent_limits *limits,
		  bool first, struct err *err)
{
	char path[PATH_MAX];
	int rv = 0;

	if (cgroups_path(cgroups, CGROUPS_CPU, id, path))
		rv = cgroups->unified ? limit_cpus_v2(cgroups, path, limits, err)
				      : limit_cpus_v1(cgroups, path, limits, err);
	if (rv == 0 && cgroups_path(cgroups, CGROUPS_MEMORY, id, path))
		rv = cgroups->unified ? limit_memory_v2(path, limits, first, err)
				      : limit_memory_v1(cgroups, path, limits, first, err);
	return rv;
}
