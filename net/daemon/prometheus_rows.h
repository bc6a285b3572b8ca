/* How the rows of a table of metrics (net/daemon/prometheus.h) are written. */
#ifndef NET_PROMETHEUS_ROWS_H
#define NET_PROMETHEUS_ROWS_H

#include "net/daemon/prometheus.h"

#define MEBIBYTE 1048576.0
#define GAUGE(pattern, family, labels, help)                                                       \
	{                                                                                          \
		pattern, "mesita_" family, PROMETHEUS_GAUGE, PROMETHEUS_ALWAYS, 1, labels, help    \
	}
#define SCALED(pattern, family, scale, labels, help)                                               \
	{                                                                                          \
		pattern, "mesita_" family, PROMETHEUS_GAUGE, PROMETHEUS_ALWAYS, scale, labels,     \
			help                                                                       \
	}
#define COUNTER(pattern, family, labels, help)                                                     \
	{                                                                                          \
		pattern, "mesita_" family, PROMETHEUS_COUNTER, PROMETHEUS_ALWAYS, 1, labels, help  \
	}
#define LEFT_OUT(pattern)                                                                          \
	{                                                                                          \
		pattern, NULL, PROMETHEUS_GAUGE, PROMETHEUS_ALWAYS, 1, NULL, NULL                  \
	}

/* Of a resource of agents, both kinds. */
#define RESOURCE(who, here, name, family, unit, scale, what)                                       \
	SCALED(who "/" name "_total", here "_" family "_capacity" unit, scale,                     \
	       "revocable=\"false\"", what " that there are."),                                    \
		SCALED(who "/" name "_revocable_total", here "_" family "_capacity" unit, scale,   \
		       "revocable=\"true\"", ""),                                                  \
		SCALED(who "/" name "_used", here "_" family "_used" unit, scale,                  \
		       "revocable=\"false\"", what " that tasks and executors use."),              \
		SCALED(who "/" name "_revocable_used", here "_" family "_used" unit, scale,        \
		       "revocable=\"true\"", ""),                                                  \
		LEFT_OUT(who "/" name "_percent"), LEFT_OUT(who "/" name "_revocable_percent")

/* Of the machine. */
#define SYSTEM                                                                                     \
	GAUGE("system/cpus_total", "system_cpus", NULL, "Processors of the machine."),             \
		GAUGE("system/load_*min", "system_load", "minutes=\"$1\"",                         \
		      "Load average of the machine."),                                             \
		GAUGE("system/mem_total_bytes", "system_memory_bytes", NULL,                       \
		      "Memory of the machine."),                                                   \
		GAUGE("system/mem_free_bytes", "system_memory_free_bytes", NULL,                   \
		      "Memory of the machine that is free.")

#endif
