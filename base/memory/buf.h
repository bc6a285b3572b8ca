/* Growable byte buffer and read-only slices. The data is always followed by a
 * NUL that does not count, so a buffer of text can be read as a string. */
#ifndef BASE_MEMORY_BUF_H
#define BASE_MEMORY_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slice {
	const char *data;
	size_t len;
};

struct buf {
	char *data; /* heap; NULL while empty and untouched */
	size_t len;
	size_t cap;
};

#define BUF_INIT ((struct buf){0})
#define SLICE(literal) ((struct slice){(literal), sizeof(literal) - 1})

void buf_free(struct buf *buf);	 /* ready for use again */
void buf_clear(struct buf *buf); /* keeps the memory */
/* Empties it for the next use, for which it keeps BUF_KEEP bytes at most. */
#define BUF_KEEP (16 * 1024)
void buf_recycle(struct buf *buf);
void buf_reserve(struct buf *buf, size_t more);

static inline void buf_append(struct buf *buf, const void *data, size_t len)
{
	if (buf->cap - buf->len <= len) /* also when there is no memory yet */
		buf_reserve(buf, len);
	if (len)
		memcpy(buf->data + buf->len, data, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
}

static inline void buf_puts(struct buf *buf, const char *text)
{
	buf_append(buf, text, strlen(text));
}

static inline void buf_putc(struct buf *buf, char c)
{
	buf_append(buf, &c, 1);
}

void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* As printf's %u (base 10) and %x (16) would, in a fraction of their time. */
void buf_number(struct buf *buf, uint64_t value, unsigned base);
void buf_consume(struct buf *buf, size_t len); /* drops the first bytes */
char *buf_take(struct buf *buf);	       /* the caller owns the heap string; never NULL */

struct slice slice_of(const char *text); /* NULL gives an empty slice */
bool slice_eq(struct slice slice, const char *text);
int slice_compare(struct slice a, struct slice b); /* as strcmp() does with texts */
/* How many of the bytes, from the first on, are no control characters. */
size_t str_printable(const char *text, size_t len);
bool str_same(const char *a, const char *b); /* NULL is the same as NULL alone */
bool str_has_prefix(const char *text, const char *prefix);
bool str_has_suffix(const char *text, const char *suffix);
#define NUMBER_TEXT 21 /* with the NUL; decimal or hexadecimal */
size_t str_number(char *to, uint64_t value, unsigned base); /* returns the length */
#define HEX16_TEXT 17
void str_hex16(char to[HEX16_TEXT], uint64_t value); /* as printf's %016x */

#endif
