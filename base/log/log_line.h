/* How a line of the log is spelled: glog's shape for eyes, or JSON for machines. Not for more than
 * one thread at a time. */
#ifndef BASE_LOG_LOG_LINE_H
#define BASE_LOG_LOG_LINE_H

#include "base/log/log.h"
#include "base/memory/buf.h"

struct log_line {
	enum log_level level;
	const char *file; /* shown without its folders */
	int number;
	struct slice text; /* control characters are escaped */
	bool cut;	   /* the text goes on */
	uint64_t left_out; /* such lines before it */
	const struct log_field *fields;
	size_t field_count;
};

/* Appends it, with its end. */
void log_line_append(struct buf *out, const struct log_line *line, bool json);
/* In the child of a fork: it has another number. */
void log_line_forked(void);

#endif
