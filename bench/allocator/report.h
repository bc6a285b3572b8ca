/* Figures, each beside its limit, and the targets that they must meet. */
#ifndef BENCH_ALLOCATOR_REPORT_H
#define BENCH_ALLOCATOR_REPORT_H

#include <stdbool.h>

struct report {
	bool json;
	bool check; /* say on standard error how each target was met */
	int missed;
};

/* A line: "allocator/<row>/<figure> value unit limit ratio". NAN prints as n/a (null). */
void report_figure(const struct report *report, const char *row, const char *figure, double value,
		   const char *unit, double limit);
/* The value must be below. */
void report_target(struct report *report, const char *row, const char *what, double value,
		   double bound, const char *unit);

#endif
