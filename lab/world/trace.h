/* The trace of a simulated world: its decisions, a line each.
 *
 * Millions of lines are logged and a hundred are read, if any. So what is kept is the format
 * and its arguments, and the text is made for who reads it. The hash is of both: worlds with
 * the same hash have the same lines. Formats are literals, of the conversions d, u, x, s, f and
 * g, without `*`. */
#ifndef LAB_WORLD_TRACE_H
#define LAB_WORLD_TRACE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/memory/buf.h"

#define TRACE_KEPT 100 /* the last decisions, for a failure's report */
#define TRACE_TEXT 512 /* bytes of an argument; longer ones are cut */

struct trace_line {
	int64_t when; /* ns since the start */
	const char *format;
	struct buf arguments;
};

struct trace {
	struct trace_line lines[TRACE_KEPT];
	uint64_t count; /* so far */
	uint64_t hash;	/* of all lines */
	bool show;	/* they go to standard output, too */
};

void trace_add(struct trace *trace, int64_t when, const char *format, va_list args);
/* The last ones, with their ends of line. */
void trace_print(const struct trace *trace, struct buf *out);
void trace_free(struct trace *trace);

#endif
