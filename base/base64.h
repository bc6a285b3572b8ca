/* Base64 (RFC 4648): the standard one with padding (section 4), and the one of URLs (section 5). */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stddef.h>

#include "base/memory/buf.h"

void base64_encode(struct buf *out, const void *data, size_t len);
/* White space is skipped and padding may be missing, as in Mesos.
 * Returns the decoded length, or -1 for text that is not base64. `out` must
 * hold BASE64_DECODED(len) bytes. */
long base64_decode(const char *text, size_t len, void *out);

/* The one of URLs, without padding; the decoder takes nothing else. */
void base64url_encode(struct buf *out, const void *data, size_t len);
long base64url_decode(const char *text, size_t len, void *out);
/* What `out` of a decoder must hold. */
#define BASE64_DECODED(len) ((len) / 4 * 3 + 3)

#endif
