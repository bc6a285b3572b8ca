/* What control groups count, in the fields that Mesos has for it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/containers/cgroups/cgroups_internal.h"

#define PUT(statistics, field, value)                                                              \
	do {                                                                                       \
		(statistics)->has_##field = 1;                                                     \
		(statistics)->field = (value);                                                     \
	} while (0)

/* ---- processors --------------------------------------------------------------------- */

static void put_throttling(const char *text, const char *time_key, double second,
			   Mesos__ResourceStatistics *s)
{
	uint64_t value;

	if (!cgroups_line_number(text, "nr_periods", &value) || !value)
		return;
	PUT(s, cpus_nr_periods, (uint32_t)value);
	if (cgroups_line_number(text, "nr_throttled", &value))
		PUT(s, cpus_nr_throttled, (uint32_t)value);
	if (cgroups_line_number(text, time_key, &value))
		PUT(s, cpus_throttled_time_secs, (double)value / second);
}

static void measure_cpus_v1(const struct cgroups *cgroups, const char *id,
			    Mesos__ResourceStatistics *s)
{
	double tick = (double)sysconf(_SC_CLK_TCK);
	char path[PATH_MAX], *text;
	uint64_t value;

	if (cgroups_path(cgroups, CGROUPS_CPUACCT, id, path)) {
		if (cgroups_read_number(path, "cpuacct.stat", "user", &value))
			PUT(s, cpus_user_time_secs, (double)value / tick);
		if (cgroups_read_number(path, "cpuacct.stat", "system", &value))
			PUT(s, cpus_system_time_secs, (double)value / tick);
	}
	text = cgroups_path(cgroups, CGROUPS_CPU, id, path) ? cgroups_read(path, "cpu.stat") : NULL;
	if (text)
		put_throttling(text, "throttled_time", 1e9, s);
	free(text);
}

static void measure_cpus_v2(const struct cgroups *cgroups, const char *id,
			    Mesos__ResourceStatistics *s)
{
	char path[PATH_MAX], *text;
	uint64_t value;

	text = cgroups_path(cgroups, CGROUPS_FREEZER, id, path) ? cgroups_read(path, "cpu.stat")
								: NULL;
	if (!text)
		return;
	if (cgroups_line_number(text, "user_usec", &value))
		PUT(s, cpus_user_time_secs, (double)value / 1e6);
	if (cgroups_line_number(text, "system_usec", &value))
		PUT(s, cpus_system_time_secs, (double)value / 1e6);
	put_throttling(text, "throttled_usec", 1e6, s);
	free(text);
}

/* ---- memory ------------------------------------------------------------------------- */

struct memory_field {
	const char *v1, *v2; /* key in memory.stat; NULL: it has none */
	size_t has, value;
};

#define FIELD(v1, v2, name)                                                                        \
	{                                                                                          \
		v1, v2, offsetof(Mesos__ResourceStatistics, has_##name),                           \
			offsetof(Mesos__ResourceStatistics, name)                                  \
	}

static const struct memory_field memory_fields[] = {
	FIELD("total_rss", "anon", mem_anon_bytes),
	FIELD("total_rss", "anon", mem_rss_bytes),
	FIELD("total_cache", "file", mem_file_bytes),
	FIELD("total_cache", "file", mem_cache_bytes),
	FIELD("total_mapped_file", "file_mapped", mem_mapped_file_bytes),
	FIELD("total_swap", NULL, mem_swap_bytes),
	FIELD("total_unevictable", "unevictable", mem_unevictable_bytes),
	FIELD(NULL, "kernel", mem_kmem_usage_bytes),
	FIELD(NULL, "sock", mem_kmem_tcp_usage_bytes),
};

static void put_memory_stat(const char *text, bool unified, Mesos__ResourceStatistics *s)
{
	for (size_t i = 0; i < sizeof(memory_fields) / sizeof(memory_fields[0]); i++) {
		const struct memory_field *field = &memory_fields[i];
		const char *key = unified ? field->v2 : field->v1;
		uint64_t value;

		if (!key || !cgroups_line_number(text, key, &value))
			continue;
		*(protobuf_c_boolean *)((char *)s + field->has) = 1;
		*(uint64_t *)((char *)s + field->value) = value;
	}
}

static void measure_memory(const struct cgroups *cgroups, const char *id,
			   Mesos__ResourceStatistics *s)
{
	char path[PATH_MAX], *text;
	uint64_t value;

	if (!cgroups_path(cgroups, CGROUPS_MEMORY, id, path))
		return;
	if (cgroups_read_number(path, cgroups->unified ? "memory.current" : "memory.usage_in_bytes",
				NULL, &value))
		PUT(s, mem_total_bytes, value);
	text = cgroups_read(path, "memory.stat");
	if (text)
		put_memory_stat(text, cgroups->unified, s);
	free(text);
	if (cgroups->unified) {
		if (cgroups_read_number(path, "memory.swap.current", NULL, &value))
			PUT(s, mem_swap_bytes, value);
		return;
	}
	if (cgroups->limit_swap &&
	    cgroups_read_number(path, "memory.memsw.usage_in_bytes", NULL, &value))
		PUT(s, mem_total_memsw_bytes, value);
	if (cgroups_read_number(path, "memory.kmem.usage_in_bytes", NULL, &value))
		PUT(s, mem_kmem_usage_bytes, value);
	if (cgroups_read_number(path, "memory.kmem.tcp.usage_in_bytes", NULL, &value))
		PUT(s, mem_kmem_tcp_usage_bytes, value);
}

void cgroups_measure(const struct cgroups *cgroups, const char *id,
		     Mesos__ResourceStatistics *statistics)
{
	char path[PATH_MAX];
	uint64_t value;

	if (!cgroups_has(cgroups, id))
		return;
	if (cgroups->unified)
		measure_cpus_v2(cgroups, id, statistics);
	else
		measure_cpus_v1(cgroups, id, statistics);
	measure_memory(cgroups, id, statistics);
	if (cgroups_path(cgroups, CGROUPS_PIDS, id, path) &&
	    cgroups_read_number(path, "pids.current", NULL, &value))
		PUT(statistics, threads, (uint32_t)value);
}
