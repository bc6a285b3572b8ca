/* Growable byte buffer: capacity doubles, one byte more than counted holds the NUL. */
#include "base/memory/buf.h"

#include <endian.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/arena.h"

#define FIRST_CAPACITY 64

void buf_free(struct buf *buf)
{
	free(buf->data);
	*buf = BUF_INIT;
}

void buf_clear(struct buf *buf)
{
	buf->len = 0;
	if (buf->data)
		buf->data[0] = '\0';
}

void buf_recycle(struct buf *buf)
{
	if (buf->cap > BUF_KEEP)
		buf_free(buf);
	else
		buf_clear(buf);
}

void buf_reserve(struct buf *buf, size_t more)
{
	size_t need, cap = buf->cap ? buf->cap : FIRST_CAPACITY;

	/* A length that wraps is asked of the heap as it is: refused, with the message. */
	if (__builtin_add_overflow(buf->len, more, &need) || need >= SIZE_MAX / 2)
		need = SIZE_MAX - 1;
	need++;
	if (buf->data && need <= buf->cap)
		return;
	while (cap < need)
		cap = cap > SIZE_MAX / 2 ? need : cap * 2;
	buf->data = xrealloc(buf->data, cap);
	buf->cap = cap;
	buf->data[buf->len] = '\0';
}

void buf_printf(struct buf *buf, const char *format, ...)
{
	va_list args, again;
	size_t room;
	int len;

	buf_reserve(buf, FIRST_CAPACITY - 1);
	room = buf->cap - buf->len;
	va_start(args, format);
	va_copy(again, args);
	len = vsnprintf(buf->data + buf->len, room, format, args);
	if (len >= 0 && (size_t)len >= room) {
		buf_reserve(buf, (size_t)len);
		len = vsnprintf(buf->data + buf->len, (size_t)len + 1, format, again);
	}
	if (len > 0)
		buf->len += (size_t)len;
	buf->data[buf->len] = '\0';
	va_end(again);
	va_end(args);
}

size_t str_number(char *to, uint64_t value, unsigned base)
{
	char reversed[NUMBER_TEXT];
	size_t len = 0;

	/* Apart: what divides by a constant need not divide. */
	if (base == 16)
		for (; value >= 16; value /= 16)
			reversed[len++] = "0123456789abcdef"[value % 16];
	else
		for (; value >= 10; value /= 10)
			reversed[len++] = (char)('0' + value % 10);
	reversed[len++] = "0123456789abcdef"[value];
	for (size_t i = 0; i < len; i++)
		to[i] = reversed[len - 1 - i];
	to[len] = '\0';
	return len;
}

void str_hex16(char to[HEX16_TEXT], uint64_t value)
{
	for (int i = 15; i >= 0; i--, value /= 16)
		to[i] = "0123456789abcdef"[value % 16];
	to[16] = '\0';
}

void buf_number(struct buf *buf, uint64_t value, unsigned base)
{
	char text[NUMBER_TEXT];

	buf_append(buf, text, str_number(text, value, base));
}

void buf_consume(struct buf *buf, size_t len)
{
	if (len > buf->len)
		len = buf->len;
	if (!len)
		return;
	memmove(buf->data, buf->data + len, buf->len - len + 1);
	buf->len -= len;
}

char *buf_take(struct buf *buf)
{
	char *data;

	buf_reserve(buf, 0);
	data = buf->data;
	*buf = BUF_INIT;
	return data;
}

struct slice slice_of(const char *text)
{
	return (struct slice){text ? text : "", text ? strlen(text) : 0};
}

int slice_compare(struct slice a, struct slice b)
{
	size_t common = a.len < b.len ? a.len : b.len;
	int order = common ? memcmp(a.data, b.data, common) : 0;

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

bool slice_eq(struct slice slice, const char *text)
{
	size_t len = strlen(text);

	return slice.len == len && (!len || memcmp(slice.data, text, len) == 0);
}

/* By eights: a byte below ' ', or one that is DEL, sets its highest bit. (So may bytes behind the
 * first, in error.) */
size_t str_printable(const char *text, size_t len)
{
	const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
	size_t at = 0;

	for (; at + 8 <= len; at += 8) {
		uint64_t bytes, last, found;

		memcpy(&bytes, text + at, 8);
		bytes = le64toh(bytes);
		last = bytes ^ ones * 0x7f;
		found = ((bytes - ones * ' ') & ~bytes & tops) | ((last - ones) & ~last & tops);
		if (found)
			return at + (size_t)__builtin_ctzll(found) / 8;
	}
	while (at < len && (unsigned char)text[at] >= ' ' && text[at] != 0x7f)
		at++;
	return at;
}

bool str_same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

bool str_has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool str_has_suffix(const char *text, const char *suffix)
{
	size_t len = strlen(text), tail = strlen(suffix);

	return len >= tail && memcmp(text + len - tail, suffix, tail) == 0;
}
