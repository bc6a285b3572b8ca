/* Regular expressions of strangers, as Mesos has them: RE2's, matched against whole texts in time
 * linear in the text. */
#ifndef ALLOCATOR_PATTERN_H
#define ALLOCATOR_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct pattern;

struct pattern_limits {
	int64_t memory;	  /* bytes that RE2 may use for one, --offer_constraints_re2_max_mem */
	int instructions; /* of its program, --offer_constraints_re2_max_program_size */
};

/* ERR_INVALID with RE2's own text if the expression is wrong or too large. */
int pattern_create(const char *text, const struct pattern_limits *limits, struct pattern **out,
		   struct err *err);
void pattern_destroy(struct pattern *pattern);
bool pattern_matches(const struct pattern *pattern, const char *text);

#endif
