/* gzip of whole bodies. */
#ifndef NET_GZIP_H
#define NET_GZIP_H

#include <stddef.h>

#include "base/memory/buf.h"

/* Appends the compressed bytes; speed before ratio. Negative, and nothing
 * appended, when zlib refuses. */
int gzip_compress(struct buf *out, const void *data, size_t len);
/* Appends the inflated bytes. ERR_INVALID: not exactly one gzip stream; ERR_LIMIT:
 * more than `max` bytes (a bomb). */
int gzip_inflate(struct buf *out, const void *data, size_t len, size_t max);

#endif
