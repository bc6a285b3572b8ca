/* How often one place in the code may write to the log. Strangers can make a daemon
 * warn as fast as they can send; the disk must not fill with that. */
#ifndef BASE_LOG_LOG_LIMIT_H
#define BASE_LOG_LOG_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_LIMIT_BURST 50 /* lines of one place in a span; the rest is counted */
#define LOG_LIMIT_SPAN (10 * INT64_C(1000000000))
#define LOG_LIMIT_SITES 256 /* places remembered; more than there are in the code */

struct log_site {
	const char *file; /* NULL: free */
	int line;
	unsigned written;  /* in the span */
	uint64_t left_out; /* since the last line that was written */
	int64_t since;	   /* begin of the span, ns */
};

/* Zeroed at first. */
struct log_limit {
	struct log_site sites[LOG_LIMIT_SITES];
};

/* May this place write now? If so, *left_out is how many lines were kept back before. */
bool log_limit_admit(struct log_limit *limit, const char *file, int line, int64_t now,
		     uint64_t *left_out);

#endif
