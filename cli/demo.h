/* The example of the paper on dominant resource fairness, on the allocator itself: an
 * agent, and frameworks that launch one task from each offer and decline the rest. */
#ifndef CLI_DEMO_H
#define CLI_DEMO_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/memory/buf.h"

#define DEMO_FRAMEWORKS_MAX 16
#define DEMO_TASKS_MAX 1000 /* of all together: the demo ends there */

struct demo_options {
	const char *agent;	       /* "cpus:9;mem:18432" */
	const char *const *frameworks; /* "A=cpus:1;mem:4096": its name and role, its tasks */
	size_t framework_count;
	const char *weights; /* "A=2,B=1.5", or NULL */
	bool json;	     /* an object a step and one for the end, a line each */
};

/* Writes what happens, step by step. Fails before it writes, or not at all. */
int demo_run(const struct demo_options *options, struct buf *out, struct err *err);

#endif
