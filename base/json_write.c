/* JSON writer. Numbers look as Mesos' writer prints them: the fewest digits that read back
 * as the same double, a fraction always, an exponent only outside 1e-6 .. 1e21. */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 17  /* enough for any double */
#define DIGITS_SAFE 15 /* any decimal of so many digits survives a double */

void jw_init(struct json_writer *w, struct buf *out)
{
	w->out = out;
	w->comma = false;
}

static void begin_value(struct json_writer *w)
{
	if (w->comma)
		buf_putc(w->out, ',');
	w->comma = true;
}

static void begin_container(struct json_writer *w, char bracket)
{
	begin_value(w);
	buf_putc(w->out, bracket);
	w->comma = false;
}

static void end_container(struct json_writer *w, char bracket)
{
	buf_putc(w->out, bracket);
	w->comma = true;
}

void jw_begin_object(struct json_writer *w)
{
	begin_container(w, '{');
}

void jw_end_object(struct json_writer *w)
{
	end_container(w, '}');
}

void jw_begin_array(struct json_writer *w)
{
	begin_container(w, '[');
}

void jw_end_array(struct json_writer *w)
{
	end_container(w, ']');
}

static void append_escape(struct buf *out, unsigned char c)
{
	static const char plain[] = "\"\\\b\f\n\r\t", names[] = "\"\\bfnrt";
	const char *at = c ? strchr(plain, c) : NULL;

	if (at) {
		buf_putc(out, '\\');
		buf_putc(out, names[at - plain]);
	} else {
		buf_printf(out, "\\u%04X", c);
	}
}

static void append_string(struct buf *out, const char *text, size_t len)
{
	size_t start = 0;

	buf_reserve(out, len + 2);
	buf_putc(out, '"');
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c >= ' ' && c != '"' && c != '\\')
			continue;
		buf_append(out, text + start, i - start);
		append_escape(out, c);
		start = i + 1;
	}
	buf_append(out, text + start, len - start);
	buf_putc(out, '"');
}

void jw_key(struct json_writer *w, const char *key)
{
	begin_value(w);
	append_string(w->out, key, strlen(key));
	buf_putc(w->out, ':');
	w->comma = false;
}

void jw_string_n(struct json_writer *w, const char *text, size_t len)
{
	begin_value(w);
	append_string(w->out, text ? text : "", text ? len : 0);
}

void jw_string(struct json_writer *w, const char *text)
{
	jw_string_n(w, text, text ? strlen(text) : 0);
}

void jw_int(struct json_writer *w, int64_t value)
{
	begin_value(w);
	buf_printf(w->out, "%" PRId64, value);
}

void jw_uint(struct json_writer *w, uint64_t value)
{
	begin_value(w);
	buf_printf(w->out, "%" PRIu64, value);
}

/* The fewest significant digits of a finite value > 0: value = 0.DIGITS * 10^point. */
static int shortest_digits(double value, char digits[DIGITS_MAX + 1], int *point)
{
	int precision = value < 0x1p-1022 ? 1 : DIGITS_SAFE; /* subnormals need fewer */
	char text[40];
	int len = 0;

	for (; precision <= DIGITS_MAX; precision++) {
		snprintf(text, sizeof(text), "%.*e", precision - 1, value);
		if (precision == DIGITS_MAX || strtod(text, NULL) == value)
			break;
	}
	digits[len++] = text[0];
	for (const char *c = text + 1; *c && *c != 'e'; c++)
		if (*c != '.')
			digits[len++] = *c;
	while (len > 1 && digits[len - 1] == '0')
		len--;
	digits[len] = '\0';
	*point = atoi(strchr(text, 'e') + 1) + 1;
	return len;
}

static void append_zeros(struct buf *out, int count)
{
	while (count-- > 0)
		buf_putc(out, '0');
}

static void append_double(struct buf *out, double value)
{
	char digits[DIGITS_MAX + 1];
	int len, point;

	if (value < 1e15 && value == floor(value)) {
		buf_printf(out, "%" PRId64 ".0", (int64_t)value);
		return;
	}
	len = shortest_digits(value, digits, &point);
	if (point > 21 || point <= -6) {
		buf_putc(out, digits[0]);
		if (len > 1)
			buf_printf(out, ".%s", digits + 1);
		buf_printf(out, "e%d", point - 1);
	} else if (point <= 0) {
		buf_puts(out, "0.");
		append_zeros(out, -point);
		buf_puts(out, digits);
	} else if (point >= len) {
		buf_puts(out, digits);
		append_zeros(out, point - len);
		buf_puts(out, ".0");
	} else {
		buf_append(out, digits, (size_t)point);
		buf_printf(out, ".%s", digits + point);
	}
}

void jw_double(struct json_writer *w, double value)
{
	begin_value(w);
	if (isnan(value)) {
		buf_puts(w->out, "\"NaN\"");
	} else if (isinf(value)) {
		buf_puts(w->out, value < 0 ? "\"-Infinity\"" : "\"Infinity\"");
	} else {
		if (signbit(value))
			buf_putc(w->out, '-');
		append_double(w->out, fabs(value));
	}
}

void jw_bool(struct json_writer *w, bool value)
{
	begin_value(w);
	buf_puts(w->out, value ? "true" : "false");
}

void jw_null(struct json_writer *w)
{
	begin_value(w);
	buf_puts(w->out, "null");
}

void jw_raw(struct json_writer *w, const char *json, size_t len)
{
	begin_value(w);
	buf_append(w->out, json, len);
}

void jw_kv_string(struct json_writer *w, const char *key, const char *text)
{
	jw_key(w, key);
	jw_string(w, text);
}

void jw_kv_int(struct json_writer *w, const char *key, int64_t value)
{
	jw_key(w, key);
	jw_int(w, value);
}

void jw_kv_double(struct json_writer *w, const char *key, double value)
{
	jw_key(w, key);
	jw_double(w, value);
}

void jw_kv_bool(struct json_writer *w, const char *key, bool value)
{
	jw_key(w, key);
	jw_bool(w, value);
}
