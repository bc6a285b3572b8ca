/* Regular expressions in RE2's syntax, matched against whole texts in time linear in
 * the text: they come from strangers.
 *
 * Literals, `.`, [classes], [[:posix:]] and \d \s \w, groups, alternatives, * + ? {n,m}
 * (greedy or not makes no difference), ^ $ \A \z \b \B, the flags i and s, and escapes. Not
 * known, and errors: \p{unicode classes}, \Q..\E, named groups, the flag m. Texts are UTF-8; a byte
 * that is not is a character of its own.
 */
#ifndef ALLOCATOR_PATTERN_H
#define ALLOCATOR_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct pattern;

/* ERR_INVALID with a text that says what is wrong with the expression. `most`: of
 * instructions, the bound of memory and time. */
int pattern_create(const char *text, size_t most, struct pattern **out, struct err *err);
void pattern_destroy(struct pattern *pattern);
bool pattern_matches(const struct pattern *pattern, const char *text);

#endif
