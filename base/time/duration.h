/* Mesos' texts for durations ("15secs", "1.5mins") and byte amounts ("2GB"). */
#ifndef BASE_TIME_DURATION_H
#define BASE_TIME_DURATION_H

#include <stdint.h>

#include "base/err.h"

#define DURATION_TEXT 48

/* number + unit of ns us ms secs mins hrs days weeks; may be fractional, not negative.
 * Error: ERR_INVALID with Mesos' wording. */
int duration_parse(const char *text, int64_t *out, struct err *err);
/* The largest unit not above the value if whole, else the next smaller one if
 * whole (90 s = "90secs", 60 s = "1mins"); otherwise with a fraction. */
const char *duration_format(int64_t duration, char out[DURATION_TEXT]);
/* whole number + B KB MB GB TB (powers of 1024). */
int bytes_parse(const char *text, uint64_t *out, struct err *err);
/* In the largest unit that loses nothing. */
const char *bytes_format(uint64_t bytes, char out[DURATION_TEXT]);

#endif
