/* Metrics of Mesos' names in the text format of Prometheus (version 0.0.4): a table of rows says
 * which name becomes which sample of which family, in base units. */
#ifndef NET_PROMETHEUS_H
#define NET_PROMETHEUS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "net/http.h"

#define PROMETHEUS_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum prometheus_kind { PROMETHEUS_GAUGE, PROMETHEUS_COUNTER };

/* What of a table is wanted. */
enum prometheus_group {
	PROMETHEUS_ALWAYS,
	PROMETHEUS_PER_FRAMEWORK = 1,
	PROMETHEUS_PER_ROLE = 2,
};

/* Rows of a family follow each other; the first one's help and kind are the family's. The first
 * row that matches a name has it. */
struct prometheus_row {
	/* Of the name: '*' is any text without '/', '#' any text; one character at least, as few as
	 * can be. */
	const char *pattern;
	const char *family; /* NULL: left out, since another family says it */
	enum prometheus_kind kind;
	enum prometheus_group group;
	double scale;	    /* to the base unit; 0 is 1 */
	const char *labels; /* `a="x",b="$1"`: $1 and so on are what * and # matched; or NULL */
	const char *help;
};

struct prometheus {
	struct arena *arena;
	const struct prometheus_row *rows;
	size_t row_count;
	unsigned groups; /* wanted */
	struct prometheus_sample *samples;
	size_t count, cap;
	size_t unknown; /* names that no row matches */
};

/* Which groups a request wants: per_framework=true, per_role=true. */
unsigned prometheus_groups(struct http_request *request);
/* Appends which version of which daemon this is. */
void prometheus_build(struct buf *out, const char *role, const char *version);
/* The context is a struct prometheus. */
void prometheus_add(void *context, const char *name, double value);
/* Appends all that was added, how much of it no row knew (a fault of the table), and forgets it. */
void prometheus_write(struct prometheus *prometheus, struct buf *out);

/* Durations since the start, by how long they were. */
#define PROMETHEUS_BUCKETS 16
extern const double prometheus_bounds[PROMETHEUS_BUCKETS]; /* seconds; what took as long is below */
struct prometheus_durations {
	uint64_t counts[PROMETHEUS_BUCKETS + 1]; /* the last: longer than all bounds */
	double sum;				 /* seconds */
};
void prometheus_observe(struct prometheus_durations *durations, double seconds);
/* Appends a histogram. */
void prometheus_histogram(struct buf *out, const char *family, const char *help,
			  const struct prometheus_durations *durations);

#endif
