/* JSON writer. Numbers look as Mesos' writer prints them: the fewest digits that read back
 * as the same double, a fraction always, an exponent only outside 1e-6 .. 1e21. */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 17  /* enough for any double */
#define DIGITS_SAFE 15 /* any decimal of so many digits survives a double */
#define INTEGER_MAX 20 /* bytes of any 64-bit integer with its sign */

/* Values are written through a bare pointer: room for the whole first, the end then. */
static inline char *json_write_room(struct buf *out, size_t len)
{
	if (out->cap - out->len <= len)
		buf_reserve(out, len);
	return out->data + out->len;
}

static inline void json_write_finish(struct buf *out, char *end)
{
	*end = '\0';
	out->len = (size_t)(end - out->data);
}

static inline char *json_write_put(char *to, const void *data, size_t len)
{
	memcpy(to, data, len);
	return to + len;
}

void jw_init(struct json_writer *w, struct buf *out)
{
	w->out = out;
	w->comma = false;
}

/* Where a value of up to `len` bytes begins. */
static inline char *begin_value(struct json_writer *w, size_t len)
{
	char *to = json_write_room(w->out, len + 1);

	if (w->comma)
		*to++ = ',';
	w->comma = true;
	return to;
}

static void begin_container(struct json_writer *w, char bracket)
{
	char *to = begin_value(w, 1);

	*to++ = bracket;
	json_write_finish(w->out, to);
	w->comma = false;
}

static void end_container(struct json_writer *w, char bracket)
{
	char *to = json_write_room(w->out, 1);

	*to++ = bracket;
	json_write_finish(w->out, to);
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

/* How many bytes need no escape, by eights: a byte below ' ', or one that is '"' or '\\', sets
 * its highest bit. (Bytes behind the first may be set in error, which ends the eight earlier.) */
static size_t plain_length(const char *text, size_t len)
{
	const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
	size_t at = 0;

	for (; at + 8 <= len; at += 8) {
		uint64_t bytes, quote, slash;

		memcpy(&bytes, text + at, 8);
		quote = bytes ^ ones * '"';
		slash = bytes ^ ones * '\\';
		if (((bytes - ones * ' ') & ~bytes & tops) | ((quote - ones) & ~quote & tops) |
		    ((slash - ones) & ~slash & tops))
			break;
	}
	while (at < len && (unsigned char)text[at] >= ' ' && text[at] != '"' && text[at] != '\\')
		at++;
	return at;
}

static void append_escaped(struct buf *out, const char *text, size_t len)
{
	buf_putc(out, '"');
	while (len) {
		size_t plain = plain_length(text, len);

		buf_append(out, text, plain);
		if (plain == len)
			break;
		append_escape(out, (unsigned char)text[plain]);
		text += plain + 1;
		len -= plain + 1;
	}
	buf_putc(out, '"');
}

void jw_key(struct json_writer *w, const char *key)
{
	size_t len = strlen(key);
	char *to = begin_value(w, len + 3);

	if (plain_length(key, len) == len) {
		*to++ = '"';
		to = json_write_put(to, key, len);
		*to++ = '"';
		*to++ = ':';
		json_write_finish(w->out, to);
	} else {
		json_write_finish(w->out, to);
		append_escaped(w->out, key, len);
		buf_putc(w->out, ':');
	}
	w->comma = false;
}

void jw_string_n(struct json_writer *w, const char *text, size_t len)
{
	char *to;

	if (!text)
		len = 0;
	to = begin_value(w, len + 2);
	if (len && plain_length(text, len) < len) {
		json_write_finish(w->out, to);
		append_escaped(w->out, text, len);
		return;
	}
	*to++ = '"';
	if (len)
		to = json_write_put(to, text, len);
	*to++ = '"';
	json_write_finish(w->out, to);
}

void jw_string(struct json_writer *w, const char *text)
{
	jw_string_n(w, text, text ? strlen(text) : 0);
}

/* ---- numbers ---------------------------------------------------------------- */

/* The decimal digits, at least `width` of them. */
static char *put_digits(char *to, uint64_t value, int width)
{
	char digits[INTEGER_MAX];
	int len = 0;

	do
		digits[len++] = (char)('0' + value % 10);
	while ((value /= 10) > 0);
	for (; width > len; width--)
		*to++ = '0';
	while (len > 0)
		*to++ = digits[--len];
	return to;
}

void jw_int(struct json_writer *w, int64_t value)
{
	char *to = begin_value(w, INTEGER_MAX);

	if (value < 0)
		*to++ = '-';
	json_write_finish(w->out,
			  put_digits(to, value < 0 ? -(uint64_t)value : (uint64_t)value, 1));
}

void jw_uint(struct json_writer *w, uint64_t value)
{
	json_write_finish(w->out, put_digits(begin_value(w, INTEGER_MAX), value, 1));
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

static const double powers[] = {1e0, 1e1, 1e2,	1e3,  1e4,  1e5,  1e6,	1e7,
				1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

/* 1 to 2^52, with a fraction: F / 2^bits, exactly. Of the decimals with so many digits behind the
 * point the nearest one will do if it is less than half a step of doubles away. */
static char *put_fraction(char *to, double value)
{
	uint64_t whole = (uint64_t)value, power = 1;
	int exponent, bits;
	uint64_t fraction;
	bool even;

	frexp(value, &exponent);
	bits = 53 - exponent;
	fraction = (uint64_t)ldexp(value - (double)whole, bits);
	even = !(fraction & 1);
	for (int digits = 1;; digits++) {
		unsigned __int128 product, rest, half = (unsigned __int128)1 << (bits - 1);
		uint64_t decimal;

		power *= 10;
		product = (unsigned __int128)fraction * power;
		decimal = (uint64_t)(product >> bits);
		rest = product & (2 * half - 1);
		if (rest > half || (rest == half && (decimal & 1))) {
			decimal++;
			rest = 2 * half - rest;
		}
		/* A decimal that rounds up to 1 would be a nearer whole, which is tried first. */
		if (decimal < power && (2 * rest < power || (2 * rest == power && even))) {
			to = put_digits(to, whole, 1);
			*to++ = '.';
			return put_digits(to, decimal, digits);
		}
		if (digits == DIGITS_MAX)
			return NULL;
	}
}

/* Below 1 and of few digits. */
static char *put_small(char *to, double value)
{
	for (int digits = 1; digits <= DIGITS_SAFE; digits++) {
		double decimal = rint(value * powers[digits]);

		/* Both are exact, so this is what reading it back gives. */
		if (decimal >= 1 && decimal / powers[digits] == value) {
			*to++ = '0';
			*to++ = '.';
			return put_digits(to, (uint64_t)decimal, digits);
		}
	}
	return NULL;
}

/* What comes often, without printf; NULL for the rest. Not negative, finite. */
static char *put_usual(char *to, double value)
{
	if (value < 1e15 && value == floor(value)) {
		to = put_digits(to, (uint64_t)value, 1);
		return json_write_put(to, ".0", 2);
	}
	if (value >= 1 && value < 0x1p52)
		return put_fraction(to, value);
	return value >= 1e-5 && value < 1 ? put_small(to, value) : NULL;
}

static void append_double(struct buf *out, double value)
{
	char digits[DIGITS_MAX + 1];
	int len, point;

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
	char *to = begin_value(w, INTEGER_MAX + DIGITS_MAX + 3), *end;

	if (!isfinite(value)) {
		json_write_finish(w->out, to);
		buf_puts(w->out, isnan(value) ? "\"NaN\""
				 : value < 0  ? "\"-Infinity\""
					      : "\"Infinity\"");
		return;
	}
	if (signbit(value))
		*to++ = '-';
	value = fabs(value);
	end = put_usual(to, value);
	json_write_finish(w->out, end ? end : to);
	if (!end)
		append_double(w->out, value);
}

void jw_bool(struct json_writer *w, bool value)
{
	char *to = begin_value(w, 5);

	json_write_finish(w->out,
			  value ? json_write_put(to, "true", 4) : json_write_put(to, "false", 5));
}

void jw_null(struct json_writer *w)
{
	json_write_finish(w->out, json_write_put(begin_value(w, 4), "null", 4));
}

void jw_raw(struct json_writer *w, const char *json, size_t len)
{
	char *to = begin_value(w, len);

	json_write_finish(w->out, len ? json_write_put(to, json, len) : to);
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
