/* A ring of samples; percentiles are computed when somebody asks. */
#include "master/timing.h"

#include <stdio.h>
#include <stdlib.h>

void timing_add(struct timing *timing, int64_t now, double ms)
{
	size_t at = (timing->begin + timing->count) % TIMING_SAMPLES;

	timing->samples[at] = (struct timing_sample){now, ms};
	if (timing->count < TIMING_SAMPLES)
		timing->count++;
	else
		timing->begin = (timing->begin + 1) % TIMING_SAMPLES;
	timing->last = ms;
	timing->total++;
	prometheus_observe(&timing->since_start, ms / 1000);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Between the two nearest samples, linearly. */
static double percentile(const double *sorted, size_t count, double share)
{
	double position = share * (double)(count - 1);
	size_t index = (size_t)position;

	if (index + 1 >= count)
		return sorted[count - 1];
	return sorted[index] + (position - (double)index) * (sorted[index + 1] - sorted[index]);
}

void timing_metrics(const struct timing *timing, int64_t now, const char *name,
		    void (*each)(void *context, const char *name, double value), void *context)
{
	static const struct {
		const char *name;
		double share;
	} points[] = {
		{"min", 0},    {"p50", 0.5},	{"p90", 0.9},	   {"p95", 0.95},
		{"p99", 0.99}, {"p999", 0.999}, {"p9999", 0.9999}, {"max", 1},
	};
	double sorted[TIMING_SAMPLES];
	size_t count = 0;
	char text[128];

	if (!timing->total)
		return;
	each(context, name, timing->last);
	for (size_t i = 0; i < timing->count; i++) {
		const struct timing_sample *sample =
			&timing->samples[(timing->begin + i) % TIMING_SAMPLES];

		if (now - sample->at < timing->window)
			sorted[count++] = sample->ms;
	}
	if (count < 2)
		return;
	qsort(sorted, count, sizeof(*sorted), ascending);
	snprintf(text, sizeof(text), "%s/count", name);
	each(context, text, (double)count);
	for (size_t i = 0; i < sizeof(points) / sizeof(*points); i++) {
		snprintf(text, sizeof(text), "%s/%s", name, points[i].name);
		each(context, text, percentile(sorted, count, points[i].share));
	}
}
