/* Standard base64 with padding (RFC 4648 section 4). */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stddef.h>

#include "base/buf.h"

void base64_encode(struct buf *out, const void *data, size_t len);
/* White space is skipped and padding may be missing, as in Mesos.
 * Returns the decoded length, or -1 for text that is not base64. `out` must
 * hold len / 4 * 3 + 3 bytes. */
long base64_decode(const char *text, size_t len, void *out);

#endif
