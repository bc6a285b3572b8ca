/* Sets of numbers as text: "3,17,40-42"; "none" is the empty one. */
#ifndef LAB_WORLD_NUMBERS_H
#define LAB_WORLD_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory/buf.h"

#define NUMBERS_MAX 10000000

struct numbers {
	uint64_t *items; /* heap, ascending */
	size_t count;
};

/* False if the text is none, or of too many. */
bool numbers_parse(const char *text, struct numbers *out);
void numbers_print(const struct numbers *n, struct buf *out);
bool numbers_have(const struct numbers *n, uint64_t number);
/* first .. last */
void numbers_fill(struct numbers *n, uint64_t first, uint64_t last);
/* All of `n` but those at [from, to). */
void numbers_without(const struct numbers *n, size_t from, size_t to, struct numbers *out);
void numbers_free(struct numbers *n);

#endif
