/* What is printed: a line a second while it runs, the figures at the end. */
#ifndef BENCH_LOAD_REPORT_H
#define BENCH_LOAD_REPORT_H

#include "bench/load/load.h"
#include "bench/load/measure/echo.h"

void report_progress(struct load *load, int64_t now);
/* `echo` NULL: was not measured. */
void report_print(const struct load *load, const struct echo *echo);

#endif
