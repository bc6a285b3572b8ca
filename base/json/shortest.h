/* The fewest digits that read back as the same double, by the C++ library. Internal to base/. */
#ifndef BASE_JSON_SHORTEST_H
#define BASE_JSON_SHORTEST_H

#define SHORTEST_DIGITS_MAX 17 /* enough for any double */

/* Of a finite value > 0: value = 0.DIGITS * 10^point. Returns how many digits there are; no zero
 * is the last one, and no NUL follows it. */
int shortest_digits(double value, char digits[SHORTEST_DIGITS_MAX], int *point);

#endif
