/* Measuring. Whatever cannot be measured on a machine is NAN and ends nothing. */
#include "bench/allocator/meter.h"

#include <linux/perf_event.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_DUMP_STATS_AT(name)
#endif

#define PROFILE "bench_allocator.callgrind" /* callgrind's dumps, when it runs us */

void meter_open(struct meter *meter)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	meter->counter = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

void meter_close(struct meter *meter)
{
	if (meter->counter >= 0)
		close(meter->counter);
}

static double read_counter(const struct meter *meter)
{
	uint64_t count;

	if (meter->counter < 0 || read(meter->counter, &count, sizeof(count)) != sizeof(count))
		return NAN;
	return (double)count;
}

/* Callgrind writes the n-th dump of a process to <file>.<n>; the last line has the sum. */
static double read_dump(void)
{
	static int dumps;
	char path[64], line[256];
	double total = NAN;
	FILE *file;

	snprintf(path, sizeof(path), PROFILE ".%d", ++dumps);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "totals: %lf", &total);
	if (file)
		fclose(file);
	unlink(path);
	return total;
}

void meter_begin(struct meter *meter)
{
	if (RUNNING_ON_VALGRIND) {
		CALLGRIND_ZERO_STATS;
	}
	meter->counted = read_counter(meter);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &meter->begin);
}

struct cost meter_end(struct meter *meter)
{
	struct timespec end;
	struct cost cost;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	cost.instructions = read_counter(meter) - meter->counted;
	cost.ms = (double)(end.tv_sec - meter->begin.tv_sec) * 1e3 +
		  (double)(end.tv_nsec - meter->begin.tv_nsec) / 1e6;
	if (RUNNING_ON_VALGRIND) {
		CALLGRIND_DUMP_STATS_AT("meter");
		cost.instructions = read_dump();
	}
	return cost;
}

size_t heap_bytes(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}
