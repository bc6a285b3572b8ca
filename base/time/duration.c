/* Durations and byte amounts as Mesos reads and prints them: a plain number followed at
 * once by a unit. Neither signs nor spaces are taken. Errors carry Mesos' wording. */
#include "base/time/duration.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/time/clock.h"

#define NUMBER_TEXT 400 /* more digits than any double has before its point */

static const struct {
	const char *name;
	int64_t size;
} units[] = {
	{"ns", NANOSECOND}, {"us", MICROSECOND}, {"ms", MILLISECOND}, {"secs", SECOND},
	{"mins", MINUTE},   {"hrs", HOUR},	 {"days", DAY},	      {"weeks", WEEK},
};
#define UNIT_COUNT (sizeof(units) / sizeof(*units))

static const struct {
	const char *name;
	uint64_t size;
} byte_units[] = {
	{"B", 1},
	{"KB", UINT64_C(1) << 10},
	{"MB", UINT64_C(1) << 20},
	{"GB", UINT64_C(1) << 30},
	{"TB", UINT64_C(1) << 40},
};
#define BYTE_UNIT_COUNT (sizeof(byte_units) / sizeof(*byte_units))

static int number_error(const char *text, size_t len, struct err *err)
{
	return err_set(err, ERR_INVALID, "Failed to convert '%.*s' to number",
		       (int)(len < ERR_TEXT_MAX ? len : ERR_TEXT_MAX), text);
}

/* The number before the unit; `len` bytes, digits and points only. */
static int duration_parse_number(const char *text, size_t len, double *out, struct err *err)
{
	char number[NUMBER_TEXT];
	char *end;

	if (len >= sizeof(number))
		return number_error(text, len, err);
	memcpy(number, text, len);
	number[len] = '\0';
	*out = strtod(number, &end);
	if (end == number || *end)
		return number_error(text, len, err);
	return 0;
}

int duration_parse(const char *text, int64_t *out, struct err *err)
{
	size_t len = strspn(text, "0123456789.");
	const char *unit = text + len;
	double number, nanoseconds;
	size_t i = 0;

	if (*unit == '\0')
		return err_set(err, ERR_INVALID, "Invalid duration '%s'", text);
	if (duration_parse_number(text, len, &number, err) < 0)
		return ERR_INVALID;
	while (i < UNIT_COUNT && strcmp(units[i].name, unit) != 0)
		i++;
	if (i == UNIT_COUNT)
		return err_set(err, ERR_INVALID,
			       "Unknown duration unit '%s'; supported units are 'ns', 'us', 'ms', "
			       "'secs', 'mins', 'hrs', 'days', and 'weeks'",
			       unit);
	nanoseconds = number * (double)units[i].size;
	if (nanoseconds >= 0x1p63)
		return err_set(err, ERR_INVALID,
			       "Argument out of the range that a Duration can represent due to "
			       "int64_t's size limit");
	*out = (int64_t)nanoseconds;
	return 0;
}

const char *duration_format(int64_t duration, char out[DURATION_TEXT])
{
	const char *sign = duration < 0 ? "-" : "";
	size_t i = UNIT_COUNT - 1;

	/* The least duration has no positive counterpart. */
	if (duration < 0)
		duration = duration == INT64_MIN ? INT64_MAX : -duration;
	while (i > 0 && duration < units[i].size)
		i--;
	if (i > 0 && duration % units[i].size != 0 && duration % units[i - 1].size == 0)
		i--;
	snprintf(out, DURATION_TEXT, "%s%.15g%s", sign, (double)duration / (double)units[i].size,
		 units[i].name);
	return out;
}

int bytes_parse(const char *text, uint64_t *out, struct err *err)
{
	size_t len = strspn(text, "0123456789");
	const char *unit = text + len;
	uint64_t value = 0;

	if (*unit == '\0')
		return err_set(err, ERR_INVALID, "Invalid bytes '%s'", text);
	if (*unit == '.')
		return err_set(err, ERR_INVALID, "Fractional bytes '%s'", text);
	if (len == 0)
		return number_error(text, len, err);
	for (size_t i = 0; i < len; i++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(text[i] - '0'), &value))
			return number_error(text, len, err);
	for (size_t i = 0; i < BYTE_UNIT_COUNT; i++) {
		if (strcasecmp(byte_units[i].name, unit) != 0)
			continue;
		if (__builtin_mul_overflow(value, byte_units[i].size, &value))
			return err_set(err, ERR_INVALID, "Bytes '%s' exceed 64 bits", text);
		*out = value;
		return 0;
	}
	return err_set(err, ERR_INVALID, "Unknown bytes unit '%s'", unit);
}

const char *bytes_format(uint64_t bytes, char out[DURATION_TEXT])
{
	size_t i = 0;

	while (bytes && i + 1 < BYTE_UNIT_COUNT && bytes % byte_units[i + 1].size == 0)
		i++;
	snprintf(out, DURATION_TEXT, "%" PRIu64 "%s", bytes / byte_units[i].size,
		 byte_units[i].name);
	return out;
}
