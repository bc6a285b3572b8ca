/* What is written into control groups and read from them, in directories that stand for those of
 * the kernel: both versions, whichever this machine has. */
#include <criterion/criterion.h>
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/containers/cgroups/cgroups_internal.h"
#include "base/memory/arena.h"

#define MB (1024.0 * 1024)

static char top[64];
static struct cgroups groups;

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at)
{
	return remove(path);
}

static void set_up(void)
{
	strcpy(top, "/tmp/mesita-cgroups-XXXXXX");
	cr_assert(mkdtemp(top));
}

static void tear_down(void)
{
	nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

TestSuite(agent_cgroups, .init = set_up, .fini = tear_down, .timeout = 30);

static void put(const char *name, const char *text)
{
	char *path = xprintf("%s/%s", top, name);
	FILE *file;

	for (char *c = strchr(path + strlen(top) + 1, '/'); c; c = strchr(c + 1, '/')) {
		*c = '\0';
		mkdir(path, 0755);
		*c = '/';
	}
	file = fopen(path, "w");
	cr_assert(file, "%s", path);
	fputs(text, file);
	fclose(file);
	free(path);
}

/* The file's text; the caller frees it. */
static char *get(const char *name)
{
	char *text = cgroups_read(top, name);

	cr_assert(text, "%s", name);
	return text;
}

static void expect_file(size_t i, const char *name, const char *expected)
{
	char *text = get(name);

	cr_expect_str_eq(text, expected, "%zu: %s", i, name);
	free(text);
}

/* All controllers in one place, as with version 2. */
static void use(bool unified, bool cfs, bool limit_swap)
{
	groups = (struct cgroups){
		.unified = unified,
		.cfs = cfs,
		.limit_swap = limit_swap,
		.controllers = ~0u,
		.root = (char *)"r",
	};
	for (int c = 0; c < CGROUPS_CONTROLLERS; c++)
		groups.mounts[c] = top;
}

/* ---- limits ------------------------------------------------------------------------- */

#define NO NAN
#define ALL INFINITY

struct limit_case {
	struct agent_limits limits;
	bool cfs;
	const char *share, *quota; /* "was": it is left as it is */
	const char *soft, *hard;   /* bytes */
};

static const struct limit_case v1[] = {
	{{1, 64 * MB, NO, NO, false}, false, "1024", "was", "67108864", "67108864"},
	{{0.6, 96 * MB, NO, NO, false}, true, "614", "60000", "100663296", "100663296"},
	{{0.6, 96 * MB, 1.5, 128 * MB, false}, false, "614", "150000", "100663296", "134217728"},
	{{0.6, 96 * MB, 1.5, 128 * MB, false}, true, "614", "150000", "100663296", "134217728"},
	{{1, 64 * MB, ALL, ALL, false}, true, "1024", "-1", "67108864", "-1"},
	{{0.0001, 1, 0.0001, 1, false}, false, "2", "1000", "33554432", "33554432"},
	{{2, 64 * MB, NO, NO, true}, false, "20", "was", "67108864", "67108864"},
	{{0, 0, NO, NO, false}, true, "2", "1000", "33554432", "33554432"},
};

static const struct limit_case v2[] = {
	{{1, 64 * MB, NO, NO, false}, false, "100", "max 100000", "67108864", "67108864"},
	{{0.6, 96 * MB, NO, NO, false}, true, "60", "60000 100000", "100663296", "100663296"},
	{{0.6, 96 * MB, 1.5, 128 * MB, false},
	 false,
	 "60",
	 "150000 100000",
	 "100663296",
	 "134217728"},
	{{1, 64 * MB, ALL, ALL, false}, true, "100", "max 100000", "67108864", "max"},
	{{0.0001, 1, 0.0001, 1, false}, false, "1", "1000 100000", "33554432", "33554432"},
	{{2, 64 * MB, NO, NO, true}, false, "2", "max 100000", "67108864", "67108864"},
	{{500, 64 * MB, NO, NO, false}, false, "10000", "max 100000", "67108864", "67108864"},
};

static void fresh_v1(void)
{
	put("r/c/cpu.shares", "");
	put("r/c/cpu.cfs_period_us", "was");
	put("r/c/cpu.cfs_quota_us", "was");
	put("r/c/memory.soft_limit_in_bytes", "");
	put("r/c/memory.limit_in_bytes", "0");
	put("r/c/memory.memsw.limit_in_bytes", "was");
}

Test(agent_cgroups, formulae_of_version_1)
{
	struct err err = {""};

	for (size_t i = 0; i < sizeof(v1) / sizeof(v1[0]); i++) {
		fresh_v1();
		use(false, v1[i].cfs, false);
		cr_assert_eq(cgroups_limit(&groups, "c", &v1[i].limits, true, &err), 0, "%s",
			     err.text);
		expect_file(i, "r/c/cpu.shares", v1[i].share);
		expect_file(i, "r/c/cpu.cfs_quota_us", v1[i].quota);
		expect_file(i, "r/c/cpu.cfs_period_us",
			    strcmp(v1[i].quota, "was") ? "100000" : "was");
		expect_file(i, "r/c/memory.soft_limit_in_bytes", v1[i].soft);
		expect_file(i, "r/c/memory.limit_in_bytes", v1[i].hard);
		expect_file(i, "r/c/memory.memsw.limit_in_bytes", "was");
		fresh_v1();
		use(false, v1[i].cfs, true);
		cgroups_limit(&groups, "c", &v1[i].limits, true, &err);
		expect_file(i, "r/c/memory.memsw.limit_in_bytes", v1[i].hard);
	}
}

static void fresh_v2(void)
{
	put("r/c/cpu.weight", "");
	put("r/c/cpu.max", "");
	put("r/c/memory.low", "");
	put("r/c/memory.max", "max");
	put("r/c/memory.oom.group", "0");
}

Test(agent_cgroups, formulae_of_version_2)
{
	struct err err = {""};

	for (size_t i = 0; i < sizeof(v2) / sizeof(v2[0]); i++) {
		fresh_v2();
		use(true, v2[i].cfs, false);
		cr_assert_eq(cgroups_limit(&groups, "c", &v2[i].limits, true, &err), 0, "%s",
			     err.text);
		expect_file(i, "r/c/cpu.weight", v2[i].share);
		expect_file(i, "r/c/cpu.max", v2[i].quota);
		expect_file(i, "r/c/memory.low", v2[i].soft);
		expect_file(i, "r/c/memory.max", v2[i].hard);
		expect_file(i, "r/c/memory.oom.group", "1");
	}
}

/* What is in use could not be taken back. */
Test(agent_cgroups, hard_memory_is_but_raised)
{
	static const struct {
		bool unified;
		const char *before;
		double mem;
		const char *after;
	} cases[] = {
		{false, "100663296", 64 * MB, "100663296"},
		{false, "100663296", 96 * MB, "100663296"},
		{false, "100663296", 97 * MB, "101711872"},
		{false, "100663296", ALL, "-1"},
		{true, "100663296", 64 * MB, "100663296"},
		{true, "100663296", 97 * MB, "101711872"},
		{true, "100663296", ALL, "max"},
		{true, "max", 97 * MB, "max"},
	};
	struct err err = {""};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *name =
			cases[i].unified ? "r/c/memory.max" : "r/c/memory.limit_in_bytes";
		struct agent_limits limits = {1, 64 * MB, NO, cases[i].mem, false};

		fresh_v1();
		fresh_v2();
		put(name, cases[i].before);
		use(cases[i].unified, false, false);
		cr_assert_eq(cgroups_limit(&groups, "c", &limits, false, &err), 0, "%s", err.text);
		expect_file(i, name, cases[i].after);
		expect_file(i, "r/c/memory.oom.group", "0");
	}
}

Test(agent_cgroups, a_limit_that_cannot_be_set)
{
	struct agent_limits limits = {1, 64 * MB, NO, NO, false};
	struct err err = {""};

	use(true, false, false);
	cr_expect_lt(cgroups_limit(&groups, "c", &limits, true, &err), 0);
	cr_expect(strstr(err.text, "Failed to write '100' to '"), "%s", err.text);
}

/* ---- paths ---------------------------------------------------------------------------- */

Test(agent_cgroups, containers_inside_of_others)
{
	char path[PATH_MAX], *expected = xprintf("%s/r/a/mesos/b/mesos/c", top), *long_id;

	use(true, false, false);
	cr_assert(cgroups_path(&groups, CGROUPS_CPU, "a.b.c", path));
	cr_expect_str_eq(path, expected);
	free(expected);
	expected = xprintf("%s/r", top);
	cr_assert(cgroups_path(&groups, CGROUPS_CPU, NULL, path));
	cr_expect_str_eq(path, expected);
	free(expected);
	groups.controllers = 0;
	cr_expect_not(cgroups_path(&groups, CGROUPS_MEMORY, "a", path), "it is not used");
	cr_expect(cgroups_path(&groups, CGROUPS_FREEZER, "a", path), "the group itself");
	long_id = xcalloc(1, 5000);
	memset(long_id, '.', 4999);
	cr_expect_not(cgroups_path(&groups, CGROUPS_FREEZER, long_id, path), "it is too long");
	free(long_id);
}

/* ---- memory, statistics ------------------------------------------------------------------ */

Test(agent_cgroups, out_of_memory)
{
	struct cgroups_oom oom;

	use(true, false, false);
	put("r/c/memory.events.local", "low 0\noom 0\noom_kill 7\n");
	put("r/c/memory.max", "67108864\n");
	put("r/c/memory.stat", "anon 5\nfile 6\n");
	cr_expect_not(cgroups_oom_read(&groups, "c", false, &oom), "a limit of another group");
	cr_expect_not(cgroups_oom_read(&groups, "c", true, &oom), "a limit of another group");
	put("r/c/memory.events.local", "low 0\noom 1\noom_kill 1\n");
	cr_assert(cgroups_oom_read(&groups, "c", false, &oom));
	cr_expect_eq(oom.bytes, 67108864);
	buf_putc(&oom.text, '\0');
	cr_expect_str_eq(
		oom.text.data,
		"Memory limit exceeded: \nMEMORY STATISTICS post-OOM: \nanon: 5\nfile: 6\n");
	buf_free(&oom.text);
	use(false, false, false);
	cr_expect_not(cgroups_oom_read(&groups, "c", false, &oom), "nothing is there");
	put("r/c/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
	cr_expect_not(cgroups_oom_read(&groups, "c", false, &oom));
	cr_expect(cgroups_oom_read(&groups, "c", true, &oom), "the kernel counts later");
	buf_free(&oom.text);
	put("r/c/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
	put("r/c/memory.max_usage_in_bytes", "67108864\n");
	put("r/c/memory.limit_in_bytes", "134217728\n");
	cr_assert(cgroups_oom_read(&groups, "c", false, &oom));
	cr_expect_eq(oom.bytes, 67108864);
	buf_putc(&oom.text, '\0');
	cr_expect_str_eq(oom.text.data,
			 "Memory limit exceeded: Requested: 128MB Maximum Used: 64MB\n\n"
			 "MEMORY STATISTICS: \nanon 5\nfile 6\n");
	buf_free(&oom.text);
}

Test(agent_cgroups, statistics_of_version_2)
{
	Mesos__ResourceStatistics s = MESOS__RESOURCE_STATISTICS__INIT;

	use(true, false, false);
	put("r/c/cpu.stat", "usage_usec 9\nuser_usec 1500000\nsystem_usec 250000\nnr_periods 7\n"
			    "nr_throttled 3\nthrottled_usec 2000000\n");
	put("r/c/memory.current", "1000\n");
	put("r/c/memory.stat",
	    "anon 100\nfile 200\nkernel 30\nsock 4\nfile_mapped 50\nunevictable 6\n"
	    "inactive_anon 77\n");
	put("r/c/memory.swap.current", "9\n");
	put("r/c/pids.current", "12\n");
	cgroups_measure(&groups, "c", &s);
	cr_expect_eq(s.cpus_user_time_secs, 1.5);
	cr_expect_eq(s.cpus_system_time_secs, 0.25);
	cr_expect(s.has_cpus_nr_periods && s.cpus_nr_periods == 7);
	cr_expect(s.has_cpus_nr_throttled && s.cpus_nr_throttled == 3);
	cr_expect_eq(s.cpus_throttled_time_secs, 2);
	cr_expect_eq(s.mem_total_bytes, 1000);
	cr_expect(s.mem_anon_bytes == 100 && s.mem_rss_bytes == 100);
	cr_expect(s.mem_file_bytes == 200 && s.mem_cache_bytes == 200);
	cr_expect_eq(s.mem_kmem_usage_bytes, 30);
	cr_expect_eq(s.mem_kmem_tcp_usage_bytes, 4);
	cr_expect_eq(s.mem_mapped_file_bytes, 50);
	cr_expect_eq(s.mem_unevictable_bytes, 6);
	cr_expect_eq(s.mem_swap_bytes, 9);
	cr_expect(s.has_threads && s.threads == 12);
}

Test(agent_cgroups, statistics_of_version_1)
{
	Mesos__ResourceStatistics s = MESOS__RESOURCE_STATISTICS__INIT;
	double tick = (double)sysconf(_SC_CLK_TCK);

	use(false, false, true);
	put("r/c/cpuacct.stat", "user 150\nsystem 25\n");
	put("r/c/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
	put("r/c/memory.usage_in_bytes", "1000\n");
	put("r/c/memory.memsw.usage_in_bytes", "1100\n");
	put("r/c/memory.kmem.usage_in_bytes", "30\n");
	put("r/c/memory.kmem.tcp.usage_in_bytes", "4\n");
	put("r/c/memory.stat", "rss 1\ntotal_rss 100\ntotal_cache 200\ntotal_mapped_file 50\n"
			       "total_swap 9\ntotal_unevictable 6\n");
	cgroups_measure(&groups, "c", &s);
	cr_expect_eq(s.cpus_user_time_secs, 150 / tick);
	cr_expect_eq(s.cpus_system_time_secs, 25 / tick);
	cr_expect_not(s.has_cpus_nr_periods, "processors are not limited");
	cr_expect_eq(s.mem_total_bytes, 1000);
	cr_expect_eq(s.mem_total_memsw_bytes, 1100);
	cr_expect(s.mem_anon_bytes == 100 && s.mem_rss_bytes == 100);
	cr_expect(s.mem_file_bytes == 200 && s.mem_cache_bytes == 200);
	cr_expect_eq(s.mem_kmem_usage_bytes, 30);
	cr_expect_eq(s.mem_kmem_tcp_usage_bytes, 4);
	cr_expect_eq(s.mem_mapped_file_bytes, 50);
	cr_expect_eq(s.mem_unevictable_bytes, 6);
	cr_expect_eq(s.mem_swap_bytes, 9);
	cr_expect_not(s.has_threads, "that controller tells nothing");
	put("r/c/cpu.stat", "nr_periods 4\nnr_throttled 2\nthrottled_time 3000000000\n");
	cgroups_measure(&groups, "c", &s);
	cr_expect(s.cpus_nr_periods == 4 && s.cpus_nr_throttled == 2);
	cr_expect_eq(s.cpus_throttled_time_secs, 3);
}
