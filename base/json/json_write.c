/* JSON writer. Numbers look as Mesos' writer prints them: the fewest digits that read back
 * as the same double, a fraction always, an exponent only outside 1e-6 .. 1e21. */
#include "base/json/json.h"
#include "base/json/shortest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INTEGER_MAX 20	  /* bytes of any 64-bit integer with its sign */
#define DOUBLE_MAX 32	  /* and of any double: sign, "0.", five zeros, 17 digits; or "e-308" */
#define INTEGER_SAFE 1e15 /* whole doubles below have no more digits than they need */

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

static char *put_digits(char *to, uint64_t value)
{
	char digits[INTEGER_MAX];
	int len = 0;

	do
		digits[len++] = (char)('0' + value % 10);
	while ((value /= 10) > 0);
	while (len > 0)
		*to++ = digits[--len];
	return to;
}

void jw_int(struct json_writer *w, int64_t value)
{
	char *to = begin_value(w, INTEGER_MAX);

	if (value < 0)
		*to++ = '-';
	json_write_finish(w->out, put_digits(to, value < 0 ? -(uint64_t)value : (uint64_t)value));
}

void jw_uint(struct json_writer *w, uint64_t value)
{
	json_write_finish(w->out, put_digits(begin_value(w, INTEGER_MAX), value));
}

static char *put_zeros(char *to, int count)
{
	while (count-- > 0)
		*to++ = '0';
	return to;
}

/* Of a finite value >= 0. */
static char *put_double(char *to, double value)
{
	char digits[SHORTEST_DIGITS_MAX];
	int len, point;

	if (value < INTEGER_SAFE && value == floor(value)) {
		to = put_digits(to, (uint64_t)value);
		return json_write_put(to, ".0", 2);
	}
	len = shortest_digits(value, digits, &point);
	if (point > 21 || point <= -6) {
		*to++ = digits[0];
		if (len > 1)
			*to++ = '.';
		to = json_write_put(to, digits + 1, (size_t)len - 1);
		*to++ = 'e';
		if (point < 1)
			*to++ = '-';
		return put_digits(to, (uint64_t)abs(point - 1));
	}
	if (point <= 0) {
		to = put_zeros(json_write_put(to, "0.", 2), -point);
		return json_write_put(to, digits, (size_t)len);
	}
	if (point >= len) {
		to = put_zeros(json_write_put(to, digits, (size_t)len), point - len);
		return json_write_put(to, ".0", 2);
	}
	to = json_write_put(to, digits, (size_t)point);
	*to++ = '.';
	return json_write_put(to, digits + point, (size_t)(len - point));
}

void jw_double(struct json_writer *w, double value)
{
	char *to = begin_value(w, DOUBLE_MAX);

	if (isnan(value)) {
		to = json_write_put(to, "\"NaN\"", 5);
	} else if (isinf(value)) {
		to = value < 0 ? json_write_put(to, "\"-Infinity\"", 11)
			       : json_write_put(to, "\"Infinity\"", 10);
	} else {
		if (signbit(value))
			*to++ = '-';
		to = put_double(to, fabs(value));
	}
	json_write_finish(w->out, to);
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

void jw_value(struct json_writer *w, const struct json *value)
{
	bool object = value->type == JSON_OBJECT;

	switch (value->type) {
	case JSON_NULL:
		jw_null(w);
		return;
	case JSON_BOOL:
		jw_bool(w, value->boolean);
		return;
	case JSON_NUMBER:
		jw_raw(w, value->text.data, value->text.len);
		return;
	case JSON_STRING:
		jw_string_n(w, value->text.data, value->text.len);
		return;
	case JSON_ARRAY:
	case JSON_OBJECT:
		break;
	}
	if (object)
		jw_begin_object(w);
	else
		jw_begin_array(w);
	for (size_t i = 0; i < value->count; i++) {
		if (object)
			jw_key(w, value->keys[i].data);
		jw_value(w, &value->items[i]);
	}
	if (object)
		jw_end_object(w);
	else
		jw_end_array(w);
}
