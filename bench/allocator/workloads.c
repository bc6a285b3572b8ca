/* The workloads of HierarchicalAllocator_BENCHMARK_Test and
 * HierarchicalAllocations_BENCHMARK_Test in Apache Mesos, with their parameters. */
#include "bench/allocator/workloads.h"

#include <string.h>

#define PORTS "[31000-32000]"
/* 16 ranges, as 16 tasks may have. */
#define USED_PORTS                                                                                 \
	"[31000-31000,31002-31002,31004-31004,31006-31006,31008-31008,31010-31010,31012-31012,"    \
	"31014-31014,31016-31016,31018-31018,31020-31020,31022-31022,31024-31024,31026-31026,"     \
	"31028-31028,31030-32000]"

const struct workload workloads[] = {
	{
		.name = "add_update",
		.role = "*",
		.total = "cpus:2;mem:1024;disk:4096;ports:" PORTS,
		.used = "cpus:1;mem:128;disk:1024;"
			"ports:[31126-31510,31512-31623,31810-31852,31854-31964]",
		.revocable = true,
	},
	{
		.name = "decline",
		.role = "*",
		.total = "cpus:24;mem:4096;disk:4096;ports:" PORTS,
		.used = "cpus:16;mem:2014;disk:1024;ports:" USED_PORTS,
	},
	{
		.name = "labels",
		.role = "role1",
		.total = "cpus:8;mem:4096;disk:4096;ports:" PORTS,
		.used = "mem:2014;disk:1024;ports:" USED_PORTS,
		.labels = true,
	},
	{
		.name = "suppress",
		.role = "*",
		.total = "cpus:24;mem:4096;disk:4096;ports:" PORTS,
		.used = "cpus:16;mem:1024;disk:1024;ports:" USED_PORTS,
		.rounds = 5,
		.rising = 20,
	},
	{
		.name = "extreme_suppress",
		.role = "*",
		.total = "cpus:24;mem:4096;disk:4096;ports:" PORTS,
		.used = "cpus:16;mem:1024;disk:1024;ports:" USED_PORTS,
		.suppressed = 99,
		.rounds = 5,
	},
#define VOLUMES(name_, volumes_)                                                                   \
	{                                                                                          \
		.name = name_, .role = "test",                                                     \
		.total = "cpus(test):24;mem(test):4096;disk(test):3072;ports(test):" PORTS,        \
		.used = "cpus(test):16;mem(test):1024;disk(test):1024;ports(test):" USED_PORTS,    \
		.volumes = volumes_, .rounds = 6,                                                  \
	}
	VOLUMES("volumes_regular", VOLUMES_REGULAR),
	VOLUMES("volumes_shared", VOLUMES_SHARED),
	VOLUMES("volumes_mixed", VOLUMES_MIXED),
};
const size_t workload_count = sizeof(workloads) / sizeof(*workloads);

const struct workload *workload_find(const char *name)
{
	for (size_t i = 0; i < workload_count; i++) {
		if (strcmp(workloads[i].name, name) == 0)
			return &workloads[i];
	}
	return NULL;
}
