/* Times that something took, over a window, and their statistics as Mesos' timers
 * export them. */
#ifndef MASTER_TIMING_H
#define MASTER_TIMING_H

#include <stddef.h>
#include <stdint.h>

#include "net/daemon/prometheus.h"

#define TIMING_SAMPLES 1000 /* the latest; older ones go even within the window */

/* Zeroed at first, but for the window. */
struct timing {
	int64_t window; /* ns */
	double last;	/* ms */
	struct timing_sample {
		int64_t at; /* ns, of any clock that does not go back */
		double ms;
	} samples[TIMING_SAMPLES]; /* a ring */
	size_t begin;
	size_t count;
	uint64_t total; /* ever */
	struct prometheus_durations since_start;
};

void timing_add(struct timing *timing, int64_t now, double ms);
/* Calls `each` with "<name>", and from two samples on "<name>/count", "/min", "/p50" ...
 * Nothing is said before the first sample. */
void timing_metrics(const struct timing *timing, int64_t now, const char *name,
		    void (*each)(void *context, const char *name, double value), void *context);

#endif
