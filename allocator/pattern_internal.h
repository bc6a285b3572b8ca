/* The program that an expression becomes: of Thompson's kind, threads that go through
 * the text side by side. Internal to pattern*.c. */
#ifndef ALLOCATOR_PATTERN_INTERNAL_H
#define ALLOCATOR_PATTERN_INTERNAL_H

#include <stdint.h>

#include "allocator/pattern.h"

#define END UINT32_MAX /* where a text ends there is no character */

enum op {
	OP_CLASS,  /* one character of the ranges */
	OP_SPLIT,  /* go on at x and at y */
	OP_JUMP,   /* go on at x */
	OP_BEGIN,  /* the text begins here */
	OP_FINISH, /* it ends here */
	OP_WORD,   /* a word begins or ends here */
	OP_INNER,  /* it does not */
	OP_MATCH,
};

struct range {
	uint32_t low, high;
};

/* Jumps are relative, so that code can be moved. */
struct instruction {
	enum op op;
	int x, y;
	bool negated;
	uint32_t first, count; /* ranges */
};

struct pattern {
	struct instruction *code;
	size_t count, cap;
	struct range *ranges;
	size_t range_count, range_cap;
};

/* The character at *at, which moves on; END at the end. */
uint32_t pattern_next(const char **at);

static inline bool pattern_letter(uint32_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

#endif
