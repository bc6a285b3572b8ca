/* Limits. An offer, an agent or a framework cannot cost less than a piece of memory with its
 * amounts that can be found again; a cycle with nothing to do not less than asking what time
 * it is. */
#include "bench/allocator/limits.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/table.h"

#define READINGS 100 /* of the clock */

struct record {
	UT_hash_handle hh;
	int64_t amounts[4];
	char id[];
};

static struct record *make_record(const char *id, size_t len)
{
	struct record *record = xmalloc(sizeof(*record) + len + 1);

	for (int i = 0; i < 4; i++)
		record->amounts[i] = i;
	memcpy(record->id, id, len + 1);
	return record;
}

struct limit limit_records(struct meter *meter, int count)
{
	struct record *table = NULL, *record, *next;
	size_t before = heap_bytes();
	char id[32];

	meter_begin(meter);
	for (int i = 0; i < count; i++) {
		size_t len = (size_t)snprintf(id, sizeof(id), "agent-%d", i);

		record = make_record(id, len);
		HASH_ADD_KEYPTR(hh, table, record->id, len, record);
	}
	struct cost cost = meter_end(meter);
	double bytes = (double)(heap_bytes() - before);
	HASH_ITER (hh, table, record, next) {
		HASH_DEL(table, record);
		free(record);
	}
	return (struct limit){cost.ms / count, cost.instructions / count, bytes / count};
}

struct cost limit_nothing(struct meter *meter)
{
	struct cost least = {INFINITY, INFINITY}, cost;
	struct timespec now;

	for (int i = 0; i < 20; i++) {
		meter_begin(meter);
		for (int j = 0; j < READINGS; j++)
			clock_gettime(CLOCK_MONOTONIC, &now);
		cost = meter_end(meter);
		if (cost.ms < least.ms)
			least = cost;
	}
	return (struct cost){least.ms / READINGS, least.instructions / READINGS};
}
