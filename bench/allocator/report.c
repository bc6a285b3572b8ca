#include "bench/allocator/report.h"

#include <math.h>
#include <stdio.h>

static void print_number(double value, const char *absent)
{
	if (isfinite(value))
		printf("%.3f", value);
	else
		printf("%s", absent);
}

void report_figure(const struct report *report, const char *row, const char *figure, double value,
		   const char *unit, double limit)
{
	const char *absent = report->json ? "null" : "n/a";

	if (report->json)
		printf("{\"name\": \"allocator/%s/%s\", \"value\": ", row, figure);
	else
		printf("allocator/%s/%s ", row, figure);
	print_number(value, absent);
	printf(report->json ? ", \"unit\": \"%s\", \"limit\": " : " %s ", unit);
	print_number(limit, absent);
	printf(report->json ? ", \"ratio\": " : " ");
	print_number(value / limit, absent);
	printf(report->json ? "}\n" : "\n");
	fflush(stdout);
}

void report_target(struct report *report, const char *row, const char *what, double value,
		   double bound, const char *unit)
{
	bool missed = !(value < bound);

	if (!report->check)
		return;
	report->missed += missed;
	fprintf(stderr, "%s %s %s: %.3f %s, below %.3f wanted\n", missed ? "MISSED" : "met   ", row,
		what, value, unit, bound);
}
