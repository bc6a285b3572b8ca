/* Errors: what fallible functions return and how they explain it.
 *
 * A fallible function returns 0 (or a count) on success and a negative code of
 * `enum err_code` on failure, and fills the caller's `struct err` with a
 * sentence that says what was wrong with what, in words a client may read.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdarg.h>

enum err_code {
	ERR_INVALID = -1,   /* the input breaks a rule */
	ERR_NOT_FOUND = -2, /* the thing named does not exist */
	ERR_EXISTS = -3,    /* the thing named exists already */
	ERR_IO = -4,	    /* the operating system refused */
	ERR_LIMIT = -5,	    /* a bound of ours was reached */
	ERR_STATE = -6,	    /* not possible in the present state */
	ERR_CANCELED = -7,  /* ended because its owner was closed */
	ERR_CORRUPT = -8,   /* stored bytes are not what was stored */
};

#define ERR_TEXT_MAX 1024 /* longer texts are cut */

struct err {
	char text[ERR_TEXT_MAX]; /* "" when nothing was said */
};

/* Sets the text and returns `code`, so that one can `return err_set(...)`.
 * `err` may be NULL. */
int err_set(struct err *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts "prefix: " (formatted) before the present text. Returns `code`. */
int err_wrap(struct err *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
